"""Errors in the experiments of `prototypes` and their scores, and the claims that notice them."""

from tests.quality.mutants import Mutant

ERRORS = "prototypes/experiment-7.2-boundary/corrected"
WIDE = "prototypes/claim-equal-rates-collapse/wide-clusters"

# fmt: off
MUTANTS = (
    Mutant("debris: the period goes with the semi-major axis squared", "period", "axis**3", "axis**4", (ERRORS,)),
    Mutant("debris: sine and cosine of the inclination are exchanged", "draw_objects",
           "[a / largest, e, np.sin(i), np.cos(i), np.sin(node), section, period(a) / longest]",
           "[a / largest, e, np.cos(i), np.sin(i), np.sin(node), section, period(a) / longest]", (ERRORS,)),
    Mutant("debris: the noise has the variance in the place of its deviation", "draw_objects",
           "sigma[:, None]", "sigma[:, None] ** 2", (ERRORS,)),
    Mutant("debris: inclinations stay in degrees", "draw_objects", "np.radians", "np.asarray", (ERRORS,)),
    Mutant("debris: errors between two regimes are counted in one direction", "error_share",
           "wrong[j, k] + wrong[k, j]", "wrong[j, k]", (ERRORS,)),
    Mutant("scores: the matching is the worst", "matching", "maximize=True", "", (ERRORS,)),
    Mutant("histories: each point goes to the farthest prototype", "nearest", "jnp.argmin", "jnp.argmax", (ERRORS,)),
    Mutant("learning rates: the loss is summed over images", "descent_map", '"mean"', '"sum"', (WIDE,)),
    Mutant("learning rates: the modes are confused", "descent_map",
           "training.mode", '{"full": "frozen", "frozen": "full"}[training.mode]', (WIDE,)),
    Mutant("learning rates: the annealing forgets its time constant", "descent_map",
           "training.time_constant", "training.start", (WIDE,)),
    Mutant("learning rates: the prototypes start at points of the data in the order of their rows", "first_state",
           "kmeans(key, z, training.clusters, restarts=training.restarts).centroids", "z[: training.clusters]",
           (WIDE,)),
)
# fmt: on
