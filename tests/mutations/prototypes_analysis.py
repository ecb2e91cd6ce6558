"""Errors in the measures of prototype flows, and the claims and tests that notice them."""

from tests.mutants import Mutant

COLLAPSE, HESSIAN = "analysis.prototypes.collapse", "analysis.prototypes.hessian"
MANIFOLD = "analysis.prototypes.slow_manifold"
BANK, LYAPUNOV, CERTIFICATES = (f"analysis.prototypes.{name}" for name in ("bank", "lyapunov", "certificates"))
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
    Mutant(
        "slow manifold: the rate is the largest eigenvalue",
        MANIFOLD,
        "return Relaxed(np.asarray(P), float(np.linalg.eigvalsh(H)[0]))",
        "return Relaxed(np.asarray(P), float(np.linalg.eigvalsh(H)[-1]))",
        (LAYER,),
    ),
    Mutant(
        "slow manifold: the effective Hessian is that at fixed prototypes",
        MANIFOLD,
        "    return H.encoder - H.mixed @ np.linalg.solve(H.prototypes, H.mixed.T)\n",
        "    return H.encoder\n",
        ("prototypes/theorem-1/corrected",),
    ),
    Mutant(
        "bank: the entropy has the wrong sign",
        BANK,
        "        entropy(q),\n",
        "        -entropy(q),\n",
        ("prototypes/claim-entropy-decreases/near-collapse",),
    ),
    Mutant(
        "bank: the separation is that of the embeddings",
        BANK,
        "        separation(p),\n",
        "        separation(z),\n",
        ("prototypes/claim-separation-monotone/near-collapse",),
    ),
    Mutant(
        "lyapunov: W forgets barrier and ridge",
        LYAPUNOV,
        '"W": flow.value,',
        '"W": lambda t, x: competitive_loss(*parts(x), flow.temperature(t)),',
        ("prototypes/theorem-2-decrease",),
    ),
    Mutant(
        "lyapunov: the rate forgets that the temperature changes",
        LYAPUNOV,
        "(jnp.ones_like(when), flow.velocity(when, x))",
        "(jnp.zeros_like(when), flow.velocity(when, x))",
        ("prototypes/theorem-3-monotone",),
    ),
    Mutant(
        "lyapunov: the rate is along the field at the start",
        LYAPUNOV,
        "flow.velocity(when, x))",
        "flow.velocity(0 * when, x))",
        ("prototypes/theorem-3-monotone",),
    ),
    Mutant(
        "certificates: the bound by the ridge forgets a factor two",
        CERTIFICATES,
        "np.sqrt(2 * _level(flow, x, t)",
        "np.sqrt(_level(flow, x, t)",
        ("prototypes/fact-1/corrected",),
    ),
    Mutant(
        "certificates: the level of the mode `frozen` is the potential alone",
        CERTIFICATES,
        "level += points * float(flow.temperature(t)) * float(np.log(count))",
        "level += 0.0 * points * float(flow.temperature(t)) * float(np.log(count))",
        ("prototypes/theorem-2-convergence/corrected",),
    ),
    Mutant(
        "two levels: the inputs of level 2 are not detached",
        "dynsim.systems.prototypes.hierarchy",
        "        if not self.detached:\n            more_z",
        "        if True:\n            more_z",
        ("prototypes/claim-no-interference/corrected",),
    ),
    Mutant(
        "bifurcations: prototypes are moved by the inverse of a direction",
        "analysis.prototypes.bifurcations",
        "p + s * way",
        "p + s / way",
        tests=("tests/test_prototype_bifurcations.py::test_the_pitchfork_of_two_prototypes_is_supercritical",),
    ),
    Mutant(
        "hessian: the bound of (14) has the norm of the coupling and not its square",
        "analysis.prototypes.hessian",
        "coupling = float(np.linalg.norm(blocks.mixed, 2)) ** 2",
        "coupling = float(np.linalg.norm(blocks.mixed, 2))",
        ("prototypes/proposition-3-weak-coupling/corrected",),
    ),
    Mutant(
        "hessian: the bound of (14) has the Frobenius norm of the coupling",
        "analysis.prototypes.hessian",
        "coupling = float(np.linalg.norm(blocks.mixed, 2)) ** 2",
        "coupling = float(np.linalg.norm(blocks.mixed)) ** 2",
        ("prototypes/proposition-3-weak-coupling/corrected",),
    ),
    Mutant(
        "collapse: a ridge lowers the critical temperature of every codebook as that of two prototypes",
        "analysis.prototypes.collapse",
        "(1 + float(loss.ridge) / _stiffness(points, k, loss))",
        "(1 + float(loss.ridge) / _stiffness(points, 2, loss))",
        ("prototypes/claim-collapse-saddle/corrected",),
    ),
    Mutant(
        "collapse: with a ridge it is at the mean, too",
        "analysis.prototypes.collapse",
        "mean = np.mean(points, axis=0) * stiffness / (stiffness + float(loss.ridge))",
        "mean = np.mean(points, axis=0)",
        ("prototypes/claim-collapse-saddle/corrected",),
    ),
)
