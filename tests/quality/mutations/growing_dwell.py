"""Errors in sequences of prunings, dwell times and growth, and the claims of Corollaries 4 to 7 and Lemmas 17, 19."""

from tests.quality.mutants import Mutant

JOINTLY = "growing/corollary-4/joint"
KEPT = "growing/corollary-5/corrected"
ADDED = "growing/corollary-7/corrected"
CLOSE = "growing/lemma-17-ii"
SETTLED = "growing/lemma-19/corrected"

# fmt: off
MUTANTS = (
    Mutant("growing, dwell: a step of temperatures divides by the temperature", "temperature_step",
           "temperature**2", "temperature", (CLOSE, SETTLED)),
    Mutant("growing, dwell: a step of temperatures is clipped from above", "temperature_step",
           "max(moved, least)", "min(moved, least)", (CLOSE,)),
    Mutant("growing, dwell: the Algorithm's temperatures follow cubes", "GrowingStep.step",
           "self.temperatures_after(x) ** 3", "self.temperatures_after(x) ** 4", (CLOSE,)),
    Mutant("growing, dwell: the bound of the steps has half the logarithm", "step_bound",
           "math.log(float(start) / float(least))", "math.log(float(start) / float(least)) / 2", (SETTLED,)),
    Mutant("growing, dwell: the gate ascends at the rate of the matrix and not of its square", "gate_velocity",
           "matrix.T @ (matrix @ w)", "matrix @ w", (SETTLED,)),
    Mutant("growing, dwell: the gate of the Algorithm stays where it is", "GrowingStep._gate",
           "moved / jnp.where(norm > 0, norm, 1.0)", "w", (SETTLED,)),
    Mutant("growing, dwell: the printed time has fourth powers of temperatures", "printed_hitting_time",
           "(start**3 - least**3) / (3 * rate * activity)", "(start**4 - least**4) / (4 * rate * activity)",
           (KEPT, SETTLED)),
    Mutant("growing, prunings: the head of the largest measure goes", "prune",
           "jnp.argmin(jnp.where(flow.active, head_measures(flow, x), jnp.inf))",
           "jnp.argmax(jnp.where(flow.active, head_measures(flow, x), -jnp.inf))", (ADDED,)),
    Mutant("growing, prunings: the banks of survivors shrink", "prune",
           "placed(x.prototypes, head, empty[head])", "placed(x.prototypes / 2, head, empty[head])",
           (ADDED, "growing/corollary-6")),
    Mutant("growing, prunings: the force lacks its factor", "separation_force",
           "4 * jnp.sum(residual_forces(p, z, temperature) ** 2)", "jnp.sum(residual_forces(p, z, temperature) ** 2)",
           (ADDED,)),
    Mutant("growing, jointly: a growth widens the banks of all heads", "grow",
           "x.prototypes", "2 * x.prototypes", (JOINTLY,)),
    Mutant("growing, jointly: the loss is relative to its square", "directional_loss",
           "np.linalg.norm(residual_matrix(interaction, frames, tokens=tokens, reading=reading)) / whole",
           "np.linalg.norm(residual_matrix(interaction, frames, tokens=tokens, reading=reading)) / whole**2",
           (JOINTLY,)),
    Mutant("growing, jointly: a head is grown below the threshold", "may_grow",
           "flow.dominant > flow.rules.threshold", "3 * flow.dominant > flow.rules.threshold", (KEPT,)),
)
# fmt: on
