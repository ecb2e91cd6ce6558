"""Claims of Section 3.3 on the flow (8) for P other than the identity."""

import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.consensus.instances.equilibria import configurations
from analysis.claims.consensus.instances.sizes import number_of_tokens
from analysis.claims.rational_instances import factor_and_points, identity, rational_weights, tangent_part
from analysis.dynamics.linearisation import eigenvalues, tangent_jacobian
from analysis.ledger.claim import certified, rule
from analysis.ledger.evidence import ROUNDING, SOLVER, Trial, at_least, holds
from analysis.ledger.verdict import Verdict
from dynsim._core.types import Key
from dynsim.exact import Exact
from dynsim.integrators import AbstractIntegrator
from dynsim.simulation.simulate import simulate
from dynsim.systems.tokens.flow import gradient_token_flow

D = 3

not_ascertainable = rule(
    "consensus/claim-general-p-not-ascertainable",
    Verdict.ILL_POSED,
    "`easily ascertained` has no measurable meaning; see its reading.",
)


def exact_gap(key: Key, lower: Exact, y: Exact, into: Exact) -> Exact:
    """Return the fields of (8) for P = L L^T, times `into`, minus those for P = I at z_i = `into` y_i, exactly.

    Any weights may stand for the softmax, for both fields the same, if `into` keeps the products y_i^T P y_j.
    """
    P, z, n = lower @ lower.T, y @ into.T, len(y)
    alpha = rational_weights(jax.random.fold_in(key, 2), n, n)
    gaps = []
    for i in range(n):
        field = sum(alpha[i, j] * tangent_part(P, y[i], y[j]) for j in range(n))
        other = sum(alpha[i, j] * tangent_part(identity(D), z[i], z[j]) for j in range(n))
        gaps.append(into @ field - other)
    return np.stack(gaps)


def conjugacy_gaps(key: Key, integrator: AbstractIntegrator, lower: Exact, y: Exact, into: Exact) -> dict[str, float]:
    """Return the gaps between what ships for P = L L^T and for P = I, in the coordinates z_i = `into` y_i.

    They are those of the fields at tokens y, of the trajectories from there at t=5, and of the real parts of the
    eigenvalues at corresponding equilibria.
    """
    L, T = lower.astype(float), into.astype(float)
    general, model = gradient_token_flow(L @ L.T), gradient_token_flow(np.eye(D))
    x = jnp.asarray(y.astype(float))
    z = model.space.project(x @ T.T)
    known = list(configurations().values())
    rest = known[int(jax.random.randint(jax.random.fold_in(key, 3), (), 0, len(known)))]
    image = general.space.project(jnp.asarray(np.linalg.solve(T, rest.T).T))
    pairs = ((general, image), (model, jnp.asarray(rest)))
    spectra = [np.real(eigenvalues(tangent_jacobian(f, s))) for f, s in pairs]
    fields = (general.vector_field(0.0, x) @ T.T, model.vector_field(0.0, z))
    ends = [simulate(f, s, [0.0, 2.5, 5.0], integrator=integrator).final for f, s in ((general, x), (model, z))]
    return {
        "fields": float(jnp.max(jnp.abs(fields[0] - fields[1]))),
        "trajectories": float(jnp.max(jnp.abs(ends[0] @ T.T - ends[1]))),
        "spectra": float(np.max(np.abs(spectra[0] - spectra[1]))),
    }


@certified(
    "consensus/claim-general-p-not-ascertainable/conjugacy",
    variant="reading",
    num_trials=8,
    note="no control: the reading asserts that two fields differ which a change of coordinates takes into each other; "
    "in the coordinates z_i = y_i the same measurement passes (tested)",
)
def general_metric_is_another_problem(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For P other than I the linearisation at equilibria of (8) leads to conditions that are not those for P = I.

    Read: no coordinates z_i = T y_i, with T^T T = P, take (8) with W = P to (8) with P = I. The transpose of the
    Cholesky factor of P does, for fields, trajectories and spectra.
    """
    n = number_of_tokens(key, (2, 4))
    lower, y = factor_and_points(key, D, n)
    P = lower @ lower.T
    exact = exact_gap(key, lower, y, lower.T)
    gaps = conjugacy_gaps(key, integrator, lower, y, lower.T)
    products = [y[i] @ P @ y[j] == (lower.T @ y[i]) @ (lower.T @ y[j]) for i in range(n) for j in range(n)]
    return Trial(
        hypotheses=(
            holds("P is not I", bool(np.any(identity(D) != P))),
            holds("every token is on the ellipsoid, exactly", all(v @ P @ v == 1 for v in y)),
            holds("the coordinates keep y_i^T P y_j, and with them the weights", all(products)),
        ),
        conclusions=(
            holds("the two fields differ, exactly", bool(np.any(exact != 0))),
            at_least("gap between the two fields that ship", gaps["fields"], 1e-6, tolerance=ROUNDING),
            at_least("gap between the two trajectories", gaps["trajectories"], 1e-3, tolerance=SOLVER),
            at_least("gap between the two spectra", gaps["spectra"], 1e-3, tolerance=1e-6),
        ),
        witness={"P": P, "B": lower.T, "tokens": y, **gaps},
        parameters={"n": n, "d": D},
    )
