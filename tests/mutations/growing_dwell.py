"""Errors in sequences of prunings, dwell times and growth, and the claims of Corollaries 4 to 7 and Lemmas 17, 19."""

from tests.mutants import Mutant

TIMES, RESIDUALS, SEPARATION = (f"analysis.growing.{name}" for name in ("temperatures", "residuals", "separation"))
EVENTS, STEPS, GATE = (f"dynsim.systems.growing.{name}" for name in ("transitions", "descent", "gate"))
JOINTLY, KEPT, SAFE = "growing/corollary-4/joint", "growing/corollary-5/corrected", "growing/corollary-6"
ADDED, CLOSE, SETTLED = "growing/corollary-7/corrected", "growing/lemma-17-ii", "growing/lemma-19/corrected"

MUTANTS = (
    Mutant(
        "growing, dwell: a step of temperatures divides by the temperature",
        STEPS,
        "rate * activity / temperature**2",
        "rate * activity / temperature",
        (CLOSE, SETTLED),
    ),
    Mutant(
        "growing, dwell: a step of temperatures is clipped from above",
        STEPS,
        "else max(moved, least)",
        "else min(moved, least)",
        (CLOSE,),
        quick=True,
    ),
    Mutant(
        "growing, dwell: the Algorithm's temperatures follow cubes",
        STEPS,
        "self.temperatures_after(x) ** 3,",
        "self.temperatures_after(x) ** 4,",
        (CLOSE,),
    ),
    Mutant(
        "growing, dwell: the bound of the steps has half the logarithm",
        TIMES,
        "math.log(float(start) / float(least))",
        "math.log(float(start) / float(least)) / 2",
        (SETTLED,),
    ),
    Mutant(
        "growing, dwell: the gate ascends at the rate of the matrix and not of its square",
        GATE,
        "pull = matrix.T @ (matrix @ w)",
        "pull = matrix @ w",
        (SETTLED,),
    ),
    Mutant(
        "growing, dwell: the gate of the Algorithm stays where it is",
        STEPS,
        "return moved / jnp.where(norm > 0, norm, 1.0)",
        "return w",
        (SETTLED,),
    ),
    Mutant(
        "growing, dwell: the printed time has fourth powers of temperatures",
        TIMES,
        "return (start**3 - least**3) / (3 * rate * activity)",
        "return (start**4 - least**4) / (4 * rate * activity)",
        (KEPT, SETTLED),
    ),
    Mutant(
        "growing, prunings: the head of the largest measure goes",
        EVENTS,
        "jnp.argmin(jnp.where(flow.active, head_measures(flow, x), jnp.inf))",
        "jnp.argmax(jnp.where(flow.active, head_measures(flow, x), -jnp.inf))",
        (ADDED,),
    ),
    Mutant(
        "growing, prunings: the banks of survivors shrink",
        EVENTS,
        "prototypes=placed(x.prototypes, head, empty[head])",
        "prototypes=placed(x.prototypes / 2, head, empty[head])",
        (ADDED, SAFE),
    ),
    Mutant(
        "growing, prunings: the force lacks its factor",
        SEPARATION,
        "return 4 * jnp.sum(residual_forces(p, z, temperature) ** 2)",
        "return jnp.sum(residual_forces(p, z, temperature) ** 2)",
        (ADDED,),
    ),
    Mutant(
        "growing, jointly: a growth widens the banks of all heads",
        EVENTS,
        "prototypes=placed(x.prototypes, slot, new_bank(grown, x, slot))",
        "prototypes=placed(2 * x.prototypes, slot, new_bank(grown, x, slot))",
        (JOINTLY,),
        quick=True,
    ),
    Mutant(
        "growing, jointly: the loss is relative to its square",
        RESIDUALS,
        "tokens=tokens, reading=reading)) / whole)",
        "tokens=tokens, reading=reading)) / whole**2)",
        (JOINTLY,),
    ),
    Mutant(
        "growing, jointly: a head is grown below the threshold",
        EVENTS,
        "above = flow.dominant > flow.rules.threshold",
        "above = 3 * flow.dominant > flow.rules.threshold",
        (KEPT,),
    ),
)
