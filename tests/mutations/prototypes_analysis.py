"""Errors in the measures of prototype flows, and the claims of `prototypes` that notice them."""

from tests.mutants import Mutant

COLLAPSE, HESSIAN = "analysis.prototypes.collapse", "analysis.prototypes.hessian"
MANIFOLD = "analysis.prototypes.slow_manifold"
SADDLE = "prototypes/claim-collapse-saddle/corrected"
SPECTRUM = "prototypes/proposition-3-sufficient"
WEAK = "prototypes/proposition-3-weak-coupling/corrected"
REDUCED = "prototypes/appendix-a-7/corrected"
LAYER = "prototypes/appendix-a-6/corrected"

MUTANTS = (
    Mutant(
        "collapse: the covariance is divided by n - 1",
        COLLAPSE,
        "return np.linalg.eigvalsh(away.T @ away / len(points))",
        "return np.linalg.eigvalsh(away.T @ away / (len(points) - 1))",
        (SADDLE,),
    ),
    Mutant(
        "collapse: the critical temperature of the mode `full` is that of the mode `frozen`",
        COLLAPSE,
        'FACTORS = {"frozen": 2.0, "full": 4.0}',
        'FACTORS = {"frozen": 2.0, "full": 2.0}',
        (SADDLE,),
    ),
    Mutant(
        "collapse: the stiffness forgets the number of prototypes",
        COLLAPSE,
        'return 2 * (len(points) if loss.reduction == "sum" else 1) / k',
        'return 2 * (len(points) if loss.reduction == "sum" else 1)',
        (SADDLE,),
    ),
    Mutant(
        "collapse: splitting eigenvalues are those of sums for means",
        COLLAPSE,
        'return 2 * (len(points) if loss.reduction == "sum" else 1) / k',
        "return 2 * len(points) / k",
        (SADDLE,),
    ),
    Mutant(
        "collapse: a splitting eigenvalue has one time too few",
        COLLAPSE,
        "np.repeat(self.splitting, self.count - 1)",
        "np.repeat(self.splitting, self.count - 2)",
        (SADDLE,),
    ),
    Mutant(
        "collapse: the temperature multiplies the covariance",
        COLLAPSE,
        "splitting = stiffness * (1 - FACTORS[loss.gradient] * spread / T) + ridge",
        "splitting = stiffness * (1 - FACTORS[loss.gradient] * spread * T) + ridge",
        (SADDLE,),
    ),
    Mutant(
        "hessian: the rates of encoder and prototypes are exchanged",
        HESSIAN,
        "np.repeat([float(flow.encoder_rate), float(flow.prototype_rate)], counts)",
        "np.repeat([float(flow.prototype_rate), float(flow.encoder_rate)], counts)",
        (SPECTRUM,),
    ),
    Mutant(
        "hessian: the symmetric form has the rates in place of their roots",
        HESSIAN,
        "root = np.sqrt(_rates(flow, blocks))",
        "root = _rates(flow, blocks)",
        (SPECTRUM,),
    ),
    Mutant(
        "hessian: the bound of (14) has the eigenvalues of the prototypes exchanged",
        HESSIAN,
        "return float(fast[0] / ((coupling / slow if coupling > 0 else 0.0) + fast[-1]))",
        "return float(fast[-1] / ((coupling / slow if coupling > 0 else 0.0) + fast[0]))",
        (WEAK,),
    ),
    Mutant(
        "slow manifold: the effective Hessian forgets that prototypes follow",
        MANIFOLD,
        "return H.encoder - H.mixed @ np.linalg.solve(H.prototypes, H.mixed.T)",
        "return H.encoder",
        (REDUCED,),
    ),
    Mutant(
        "slow manifold: prototypes add to the effective Hessian",
        MANIFOLD,
        "return H.encoder - H.mixed @ np.linalg.solve(H.prototypes, H.mixed.T)",
        "return H.encoder + H.mixed @ np.linalg.solve(H.prototypes, H.mixed.T)",
        (REDUCED,),
    ),
    Mutant(
        "slow manifold: the horizon is in the time of the prototypes",
        MANIFOLD,
        "* horizon / float(coupled.encoder_rate)",
        "* horizon / float(coupled.prototype_rate)",
        (LAYER,),
    ),
)
