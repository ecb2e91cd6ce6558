"""Errors in annealing, clipped descent, symmetries and bifurcations of prototypes, and the claims that notice them."""

from tests.quality.mutants import Mutant

MONOTONE = "prototypes/theorem-3-monotone"
EQUAL = "prototypes/claim-equal-rates-collapse/wide-clusters"
ACROSS = "prototypes/proposition-3-sufficient/across-symmetries"
ONSET = "prototypes/claim-collapse-saddle/at-its-onset"

# fmt: off
MUTANTS = (
    Mutant("prototypes: annealing heats", "Annealing.__call__", "-t", "t", (EQUAL,)),
    Mutant("prototypes: annealing has no floor", "Annealing.__call__",
           "jnp.maximum(self.floor, self.start * jnp.exp(-t / self.time_constant))",
           "self.start * jnp.exp(-t / self.time_constant)", (MONOTONE,)),
    Mutant("prototypes: annealing is in units of time", "Annealing.__call__",
           "-t / self.time_constant", "-t", (MONOTONE, EQUAL)),
    Mutant("prototypes: the kink of annealing is a time constant after the start", "Annealing.arrival",
           "float(self.time_constant) * math.log(float(self.start) / float(self.floor))", "float(self.time_constant)",
           (MONOTONE,)),
    Mutant("prototypes: annealing hides its kink", "Annealing.breakpoints",
           "np.array([arrival]) if t0 < arrival < t1 else np.empty(0)", "np.empty(0)", (MONOTONE,)),
    Mutant("prototypes: descent clips the norm before the entries", "DescentMap._clipped",
           "jax.tree.leaves(limited)", "jax.tree.leaves(gradient)", (EQUAL,)),
    Mutant("prototypes: descent clips no entry", "DescentMap._clipped",
           "jax.tree.map(lambda g: jnp.clip(g, *_limits(self.clip_value, g)), gradient)", "gradient", (EQUAL,)),
    Mutant("prototypes: descent clips the norm of each variable by itself", "DescentMap._clipped",
           "factor.astype(g.dtype)", "jnp.minimum(1.0, self.clip_norm / jnp.linalg.norm(g))", (EQUAL,)),
    Mutant("prototypes: the clock of annealing counts batches", "DescentMap.epoch",
           "jnp.asarray(k) // count", "jnp.asarray(k)", (EQUAL,)),
    Mutant("prototypes: every epoch has the batches of the first", "DescentMap._rows_of",
           "k // count % epochs", "0", (EQUAL,)),
    Mutant("prototypes: rotations are shears", "_antisymmetric",
           "np.outer(unit[i], unit[j]) - np.outer(unit[j], unit[i])",
           "np.outer(unit[i], unit[j]) + np.outer(unit[j], unit[i])", (ACROSS,)),
    Mutant("prototypes: a ridge is invariant under translations", "symmetry_modes",
           "float(flow.loss.ridge) > 0", "float(flow.loss.ridge) < 0", (ACROSS,)),
    Mutant("prototypes: parameters move against the motion", "_lifted",
           "[parameters, V[count:]]", "[-parameters, V[count:]]", (ACROSS,)),
    Mutant("prototypes: idle parameters are no symmetries", "symmetry_modes",
           "np.concatenate([idle, moved], axis=1)", "moved", (ACROSS,)),
    Mutant("prototypes: permuted prototypes are sorted by coordinate", "permuted",
           "x.prototypes[jnp.asarray(order)]", "jnp.sort(x.prototypes, axis=0)", (ACROSS,)),
    Mutant("prototypes: the pitchfork is taken above the critical temperature", "pitchfork",
           "jnp.asarray(T)", "jnp.asarray(2 * T)", (ONSET,)),
    Mutant("prototypes: the pitchfork moves one prototype", "pitchfork", "-e", "0 * e", (ONSET,)),
    Mutant("prototypes: a pitchfork with a positive coefficient is subcritical", "pitchfork",
           "coefficient > 0", "coefficient < 0", (ONSET,)),
    Mutant("prototypes: branches in the temperature are followed for the first mode", "branches_in_temperature",
           "loss=loss", 'loss=PrototypeLoss("full")', (ONSET,)),
    Mutant("prototypes: the branch of collapse is not among those in the temperature", "branches_in_temperature",
           "[together, *(p for p in states if np.max(np.abs(p - together)) > 1e-6)]",
           "[*(p for p in states if np.max(np.abs(p - together)) > 1e-6)]", (ONSET,)),
)
# fmt: on
