"""Errors in annealing, clipped descent, symmetries and bifurcations of prototypes, and the claims that notice them."""

from tests.mutants import Mutant

TEMPERATURES = "dynsim.systems.prototypes.temperatures"
DESCENT = "dynsim.systems.prototypes.descent"
FLOW = "dynsim.systems.prototypes.flow"
SYMMETRIES = "analysis.prototypes.symmetries"
BIFURCATIONS = "analysis.prototypes.bifurcations"
MONOTONE = "prototypes/theorem-3-monotone"
EQUAL = "prototypes/claim-equal-rates-collapse/wide-clusters"
ACROSS = "prototypes/proposition-3-sufficient/across-symmetries"
ONSET = "prototypes/claim-collapse-saddle/at-its-onset"

MUTANTS = (
    Mutant(
        "prototypes: annealing heats",
        TEMPERATURES,
        "self.start * jnp.exp(-t / self.time_constant))",
        "self.start * jnp.exp(t / self.time_constant))",
        (EQUAL,),
    ),
    Mutant(
        "prototypes: annealing has no floor",
        TEMPERATURES,
        "return jnp.maximum(self.floor, self.start * jnp.exp(-t / self.time_constant))",
        "return self.start * jnp.exp(-t / self.time_constant)",
        (MONOTONE,),
    ),
    Mutant(
        "prototypes: annealing is in units of time",
        TEMPERATURES,
        "self.start * jnp.exp(-t / self.time_constant))",
        "self.start * jnp.exp(-t))",
        (MONOTONE, EQUAL),
    ),
    Mutant(
        "prototypes: the kink of annealing is a time constant after the start",
        TEMPERATURES,
        "return float(self.time_constant) * math.log(float(self.start) / float(self.floor))",
        "return float(self.time_constant)",
        (MONOTONE,),
    ),
    Mutant(
        "prototypes: annealing hides its kink",
        TEMPERATURES,
        "return np.array([arrival]) if t0 < arrival < t1 else np.empty(0)",
        "return np.empty(0)",
        (MONOTONE,),
    ),
    Mutant(
        "prototypes: descent clips the norm before the entries",
        DESCENT,
        "for g in jax.tree.leaves(limited)))",
        "for g in jax.tree.leaves(gradient)))",
        (EQUAL,),
    ),
    Mutant(
        "prototypes: descent clips no entry",
        DESCENT,
        "limited = jax.tree.map(lambda g: jnp.clip(g, *_limits(self.clip_value, g)), gradient)",
        "limited = gradient",
        (EQUAL,),
    ),
    Mutant(
        "prototypes: descent clips the norm of each variable by itself",
        DESCENT,
        "return jax.tree.map(lambda g: g * factor.astype(g.dtype), limited)",
        "return jax.tree.map(lambda g: g * jnp.minimum(1.0, self.clip_norm / jnp.linalg.norm(g)), limited)",
        (EQUAL,),
    ),
    Mutant(
        "prototypes: the clock of annealing counts batches",
        DESCENT,
        "return (jnp.asarray(k) // count).astype(float)",
        "return jnp.asarray(k).astype(float)",
        (EQUAL,),
    ),
    Mutant(
        "prototypes: every epoch has the batches of the first",
        DESCENT,
        "return self.batches[k // count % epochs, k % count]",
        "return self.batches[0, k % count]",
        (EQUAL,),
    ),
    Mutant(
        "prototypes: rotations are shears",
        SYMMETRIES,
        "np.outer(unit[i], unit[j]) - np.outer(unit[j], unit[i])",
        "np.outer(unit[i], unit[j]) + np.outer(unit[j], unit[i])",
        (ACROSS,),
    ),
    Mutant(
        "prototypes: a ridge is invariant under translations",
        SYMMETRIES,
        "shifts = [] if float(flow.loss.ridge) > 0 else",
        "shifts = [] if float(flow.loss.ridge) < 0 else",
        (ACROSS,),
    ),
    Mutant(
        "prototypes: parameters move against the motion",
        SYMMETRIES,
        "np.concatenate([parameters, V[count:]])",
        "np.concatenate([-parameters, V[count:]])",
        (ACROSS,),
    ),
    Mutant(
        "prototypes: idle parameters are no symmetries",
        SYMMETRIES,
        "modes = _basis(np.concatenate([idle, moved], axis=1))",
        "modes = _basis(moved)",
        (ACROSS,),
    ),
    Mutant(
        "prototypes: permuted prototypes are sorted by coordinate",
        SYMMETRIES,
        "return x._replace(prototypes=x.prototypes[jnp.asarray(order)])",
        "return x._replace(prototypes=jnp.sort(x.prototypes, axis=0))",
        (ACROSS,),
    ),
    Mutant(
        "prototypes: the pitchfork is taken above the critical temperature",
        BIFURCATIONS,
        "jnp.asarray(np.stack([e, -e])), jnp.asarray(T))",
        "jnp.asarray(np.stack([e, -e])), jnp.asarray(2 * T))",
        (ONSET,),
    ),
    Mutant(
        "prototypes: the pitchfork moves one prototype",
        BIFURCATIONS,
        "jnp.asarray(np.stack([e, -e]))",
        "jnp.asarray(np.stack([e, 0 * e]))",
        (ONSET,),
    ),
    Mutant(
        "prototypes: a pitchfork with a positive coefficient is subcritical",
        BIFURCATIONS,
        '"supercritical" if coefficient > 0 else "subcritical"',
        '"supercritical" if coefficient < 0 else "subcritical"',
        (ONSET,),
    ),
    Mutant(
        "prototypes: branches in the temperature are followed for the first mode",
        BIFURCATIONS,
        "flow = PrototypeFlow(points, low, loss=loss)\n",
        'flow = PrototypeFlow(points, low, loss=PrototypeLoss("full"))\n',
        (ONSET,),
    ),
    Mutant(
        "prototypes: the branch of collapse is not among those in the temperature",
        BIFURCATIONS,
        "states = [together, *(p for p in states if",
        "states = [*(p for p in states if",
        (ONSET,),
    ),
)
