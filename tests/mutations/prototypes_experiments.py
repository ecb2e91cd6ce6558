"""Errors in the experiments of `prototypes` and their scores, and the claims that notice them."""

from tests.mutants import Mutant

EXPERIMENTS = "analysis.experiments.prototypes."
ORBITS, DEBRIS, RATES = EXPERIMENTS + "orbits", EXPERIMENTS + "debris", EXPERIMENTS + "learning_rates"
ERRORS = "prototypes/experiment-7.2-boundary/corrected"
WIDE = "prototypes/claim-equal-rates-collapse/wide-clusters"

MUTANTS = (
    Mutant(
        "debris: the period goes with the semi-major axis squared",
        ORBITS,
        "np.sqrt(axis**3 / EARTH)",
        "np.sqrt(axis**4 / EARTH)",
        (ERRORS,),
    ),
    Mutant(
        "debris: sine and cosine of the inclination are exchanged",
        ORBITS,
        "np.sin(i), np.cos(i)",
        "np.cos(i), np.sin(i)",
        (ERRORS,),
    ),
    Mutant(
        "debris: the noise has the variance in the place of its deviation",
        ORBITS,
        "noise = sigma[:, None] * rng",
        "noise = sigma[:, None] ** 2 * rng",
        (ERRORS,),
    ),
    Mutant(
        "debris: inclinations stay in degrees",
        ORBITS,
        "np.radians(catalogue.inclinations)",
        "np.asarray(catalogue.inclinations)",
        (ERRORS,),
    ),
    Mutant(
        "debris: the start counts as an epoch",
        DEBRIS,
        "1 + np.argmax(scores[:, 1:, 0], axis=1)",
        "np.argmax(scores[:, :, 0], axis=1)",
        tests=("tests/test_debris.py",),
    ),
    Mutant(
        "debris: errors between two regimes are counted in one direction",
        DEBRIS,
        "(wrong[j, k] + wrong[k, j])",
        "(wrong[j, k])",
        (ERRORS,),
    ),
    Mutant(
        "scores: the matching is the worst",
        EXPERIMENTS + "scores",
        "classes, clusters = linear_sum_assignment(counts, maximize=True)",
        "classes, clusters = linear_sum_assignment(counts)",
        (ERRORS,),
    ),
    Mutant(
        "histories: each point goes to the farthest prototype",
        EXPERIMENTS + "kmeans",
        "return jnp.argmin(squared_distances(z, centroids), axis=-1)",
        "return jnp.argmax(squared_distances(z, centroids), axis=-1)",
        (ERRORS,),
    ),
    Mutant(
        "learning rates: the loss is summed over images",
        RATES,
        'reduction="mean"',
        'reduction="sum"',
        (WIDE,),
    ),
    Mutant(
        "learning rates: the modes are confused",
        RATES,
        "loss=PrototypeLoss(training.mode,",
        'loss=PrototypeLoss({"full": "frozen", "frozen": "full"}[training.mode],',
        (WIDE,),
    ),
    Mutant(
        "learning rates: the annealing forgets its time constant",
        RATES,
        "Annealing(training.start, training.floor, training.time_constant)",
        "Annealing(training.start, training.floor, training.start)",
        (WIDE,),
    ),
    Mutant(
        "learning rates: the prototypes start at points of the data in the order of their rows",
        RATES,
        "kmeans(key, z, training.clusters, restarts=training.restarts).centroids",
        "z[: training.clusters]",
        (WIDE,),
    ),
)
