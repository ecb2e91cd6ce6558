"""Errors in the synthetic experiments of `growing` and their measures, and the claims that notice them."""

from tests.quality.mutants import Mutant

ORDER = "growing/experiment-1-order"
COVERED = "growing/experiment-1-coverage/corrected"
RANK = "growing/experiment-2-rank/aligned"
FORCES = "growing/experiment-3/small-banks"

# fmt: off
MUTANTS = (
    Mutant("synthetic: the largest pair is lambda_1 rho", "spectrum",
           "np.arange(setting.dimension // 2)", "1 + np.arange(setting.dimension // 2)", (ORDER,)),
    Mutant("synthetic: the decay is .75", "Setting.decay", "0.7", "0.75", (ORDER,)),
    Mutant("synthetic: theta_w is .06", "Setting.threshold", "0.05", "0.06", (ORDER,)),
    Mutant("synthetic: aligned tokens have eigenvalues as deviations and not as variances", "tokens",
           "np.sqrt(values / values[0])", "values / values[0]", (FORCES,)),
    Mutant("synthetic: the laws of the tokens are exchanged", "tokens", '"isotropic"', '"aligned"', (RANK, FORCES)),
    Mutant("synthetic: tokens lie along the coordinate axes and not in the planes", "tokens",
           "choices.scale * (drawn * deviations) @ basis.T", "choices.scale * (drawn * deviations)", (RANK, FORCES)),
    Mutant("synthetic: exact tokens are only centred", "whitened",
           "np.sqrt(len(away)) * np.linalg.svd(away, full_matrices=False)[0]", "away", (FORCES,)),
    Mutant("synthetic: the spread of a bank is left out", "_rules", "spread=choices.spread", "", (FORCES,)),
    Mutant("outcomes: a head covers one direction of its plane", "coverages",
           "2 * float(np.sum(found**2))", "float(np.sum(found**2))", (COVERED,)),
    Mutant("outcomes: pairs count once in |M_a|_F^2", "coverages",
           "2 * float(np.sum(values**2))", "float(np.sum(values**2))", (COVERED,)),
    Mutant("outcomes: late heads have the first ranks", "rank_correlation",
           "spearmanr(levels[known], chosen)", "spearmanr(levels[known], -chosen)", (RANK,)),
    Mutant("outcomes: heads that never arrive arrive at once", "outcome",
           "np.inf", "0.0", ("growing/experiment-2-divergence/projected",)),
)
# fmt: on
