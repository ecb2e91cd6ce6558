"""Errors in the synthetic experiments of `growing` and their measures, and the claims that notice them."""

from tests.mutants import Mutant

INSTANCES, OUTCOMES = (f"analysis.experiments.growing.{name}" for name in ("instances", "outcomes"))
ORDER, COVERED = "growing/experiment-1-order", "growing/experiment-1-coverage/corrected"
RANK, FORCES = "growing/experiment-2-rank/aligned", "growing/experiment-3/small-banks"
PROJECTED = "growing/experiment-2-divergence/projected"

MUTANTS = (
    Mutant(
        "synthetic: the largest pair is lambda_1 rho",
        INSTANCES,
        "setting.decay ** np.arange(setting.dimension // 2)",
        "setting.decay ** (1 + np.arange(setting.dimension // 2))",
        (ORDER,),
    ),
    Mutant("synthetic: the decay is .75", INSTANCES, "decay: float = 0.7", "decay: float = 0.75", (ORDER,)),
    Mutant("synthetic: theta_w is .06", INSTANCES, "threshold: float = 0.05", "threshold: float = 0.06", (ORDER,)),
    Mutant(
        "synthetic: aligned tokens have eigenvalues as deviations and not as variances",
        INSTANCES,
        "np.repeat(np.sqrt(values / values[0]), 2)",
        "np.repeat(values / values[0], 2)",
        (FORCES,),
    ),
    Mutant(
        "synthetic: the laws of the tokens are exchanged",
        INSTANCES,
        'np.ones(len(basis)) if law == "isotropic"',
        'np.ones(len(basis)) if law == "aligned"',
        (RANK, FORCES),
    ),
    Mutant(
        "synthetic: tokens lie along the coordinate axes and not in the planes",
        INSTANCES,
        "(drawn * deviations) @ basis.T",
        "(drawn * deviations)",
        (RANK, FORCES),
    ),
    Mutant(
        "synthetic: exact tokens are only centred",
        INSTANCES,
        "return np.sqrt(len(away)) * np.linalg.svd(away, full_matrices=False)[0]",
        "return away",
        (FORCES,),
    ),
    Mutant(
        "synthetic: the spread of a bank is left out",
        INSTANCES,
        "spread=choices.spread,",
        "",
        (FORCES,),
    ),
    Mutant(
        "outcomes: a head covers one direction of its plane",
        OUTCOMES,
        '"2 lambda^2": 2 * float(np.sum(found**2)) / square',
        '"2 lambda^2": float(np.sum(found**2)) / square',
        (COVERED,),
    ),
    Mutant(
        "outcomes: pairs count once in |M_a|_F^2",
        OUTCOMES,
        "found, square = levels[np.isfinite(levels)], 2 * float(np.sum(values**2))",
        "found, square = levels[np.isfinite(levels)], float(np.sum(values**2))",
        (COVERED,),
    ),
    Mutant(
        "outcomes: late heads have the first ranks",
        OUTCOMES,
        "spearmanr(levels[known], chosen)",
        "spearmanr(levels[known], -chosen)",
        (RANK,),
    ),
    Mutant(
        "outcomes: heads that never arrive arrive at once",
        OUTCOMES,
        "np.where(exists & np.isnan(arrivals), np.inf, arrivals)",
        "np.where(exists & np.isnan(arrivals), 0.0, arrivals)",
        (PROJECTED,),
    ),
)
