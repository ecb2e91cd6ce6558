"""Claims of Section 3.3 and Section 1 on the equilibria of (8) for P = I, their stability and basins."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.rational_instances import matrix, rational_unit, tangent_part
from analysis.dynamics.equilibria import Equilibrium, equilibria, random_starts
from analysis.dynamics.linearisation import eigenvalues, rotations, tangent_jacobian
from analysis.ledger.claim import claim
from analysis.ledger.evidence import ROUNDING, SOLVER, Trial, at_least, at_most, holds
from analysis.tokens.consensus import diameter
from dynsim._types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.papers import CONSENSUS
from dynsim.simulation import simulate
from dynsim.systems.tokens.flow import TokenFlow

N, D = 4, 3
FIRST = np.eye(D)[0]


def configurations() -> dict[str, np.ndarray]:
    """Return configurations of four tokens, (4, 3) each; all but the triangle are equilibria for P = I."""
    turn = np.arange(4) * np.pi / 2
    third = np.arange(3) * 2 * np.pi / 3
    triangle = np.stack([np.cos(third), np.sin(third), 0 * third], 1)
    corners = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) / np.sqrt(3)
    return {
        "three against one": np.outer([1, 1, 1, -1], FIRST),
        "two against two": np.outer([1, 1, -1, -1], FIRST),
        "square on a great circle": np.stack([np.cos(turn), np.sin(turn), 0 * turn], 1),
        "square in another order": np.stack([np.cos(turn), np.sin(turn), 0 * turn], 1)[[0, 2, 1, 3]],
        "tetrahedron": corners,
        "triangle about a pole": np.vstack([triangle, [[0.0, 0.0, 1.0]]]),
    }


def _instability_trial(key: Key, value: float) -> Trial:
    names = [name for name in configurations() if name != "triangle about a pole"]
    name = names[int(jax.random.randint(key, (), 0, len(names)))]
    rotation = np.linalg.qr(np.asarray(jax.random.normal(key, (D, D))))[0]
    x = jnp.asarray(configurations()[name] @ rotation.T)
    flow, model = TokenFlow(np.eye(D), value), TokenFlow(np.eye(D))
    speed = float(jnp.max(jnp.abs(model.vector_field(0.0, x))))
    growth = float(np.max(np.real(eigenvalues(tangent_jacobian(flow, x)))))
    found = _searched(flow, key)
    others = [np.real(e.spectrum.values).max() for e in found if float(diameter(e.state)) > 1e-3]
    return Trial(
        hypotheses=(
            at_most("speed at the configuration", speed, ROUNDING, tolerance=0.0),
            at_least("diameter of the configuration", diameter(x), 0.0, tolerance=SOLVER),
        ),
        conclusions=(
            at_least("largest real part of the linearisation", growth, SOLVER, tolerance=ROUNDING),
            at_least(
                "the same at equilibria found by Newton's method", min(others, default=1.0), SOLVER, tolerance=0.0
            ),
        ),
        witness={"configuration": name, "x": np.asarray(x), "others found": len(others)},
    )


def _searched(flow: TokenFlow, key: Key) -> list[Equilibrium]:
    """Return the equilibria found from random tokens, up to rotation and permutation of tokens."""
    gram = lambda x: jnp.sort(jnp.sum(x @ x.T, axis=1))
    return equilibria(flow, random_starts(flow, key, (N, D), 16), symmetries=rotations(D), invariant=gram)


@claim(
    "consensus/claim-identity-stable-equilibria",
    CONSENSUS.at("Section 3.3"),
    num_trials=16,
    note="depends on the equilibria constructed here (antipodal splits, a square, a tetrahedron, randomly rotated) and "
    "on those found by Newton's method; a complete list is not known; by rotation symmetry no single equilibrium is "
    "asymptotically stable anyway",
)
def other_equilibria_are_unstable(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For P = I no equilibrium of (8) other than a consensus equilibrium is asymptotically stable.

    Read: the linearisation has an eigenvalue with positive real part, which excludes stability.
    """
    return _instability_trial(key, 1.0)


@other_equilibria_are_unstable.with_control
def other_equilibria_are_unstable(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The value matrix -I, for which the tetrahedron is attracting."""
    flow, x = TokenFlow(np.eye(D), -1.0), jnp.asarray(configurations()["tetrahedron"])
    growth = float(np.max(np.real(eigenvalues(tangent_jacobian(flow, x)))))
    return Trial(
        hypotheses=(at_least("diameter of the configuration", diameter(x), 0.0, tolerance=SOLVER),),
        conclusions=(at_least("largest real part of the linearisation", growth, SOLVER, tolerance=ROUNDING),),
        witness={"x": np.asarray(x)},
    )


@claim(
    "consensus/claim-identity-consensus-point",
    CONSENSUS.at("Section 3.3"),
    evidence="certified",
    num_trials=8,
    note="no control: there are other equilibria in every neighbourhood, whatever the data; the claim on the set is "
    "its positive case",
)
def consensus_point_is_asymptotically_stable(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For P = I each consensus equilibrium y, as a single point of (S^n)^l, is asymptotically stable.

    Then every initial point in a neighbourhood of y would converge to y. The initial point tried is another consensus
    equilibrium, obtained by a rotation through a rational angle of less than 2^-19, where the field is exactly zero.
    """
    u = rational_unit(key, D)
    s = Fraction(1, 2**20)
    c, t = (1 - s * s) / (1 + s * s), 2 * s / (1 + s * s)
    turned = u.copy()
    turned[0], turned[1] = c * u[0] - t * u[1], t * u[0] + c * u[1]
    turned = turned if any(turned != u) else np.array([c * u[2], t * u[2], Fraction(0)], object)
    eye = matrix(np.eye(D, dtype=int))
    field = tangent_part(eye, turned, turned)  # all tokens equal: the field is a multiple of this
    gap = sum((turned - u) ** 2)
    return Trial(
        hypotheses=(
            holds("both are unit vectors", sum(u * u) == 1 and sum(turned * turned) == 1),
            holds("the initial point is within 2^-19 of y, and not y", 0 < gap <= Fraction(1, 2**38)),
        ),
        conclusions=(holds("the initial point converges to y", any(f != 0 for f in field)),),
        witness={"y": u, "start": turned},
    )


def _attraction_trial(key: Key, integrator: AbstractIntegrator, x0: jax.Array, value: float, within: float) -> Trial:
    flow = TokenFlow(np.eye(D), value)
    path = simulate(flow, x0, [0.0, 100.0, 200.0], integrator=integrator)
    widths = path.along(diameter)
    return Trial(
        hypotheses=(at_most("initial diameter", widths[0], within, tolerance=ROUNDING),),
        conclusions=(
            at_most("diameter at t=100", widths[1], 0.1 * widths[0], tolerance=SOLVER),
            at_most("diameter at t=200", widths[2], 1e-3 * widths[0], tolerance=SOLVER),
        ),
        witness={"x0": np.asarray(x0)},
    )


def _near_consensus(key: Key) -> jax.Array:
    a, b = jax.random.split(key)
    sphere = TokenFlow(np.eye(D)).space
    return sphere.project(sphere.sample(a, (1, D)) + 0.05 * jax.random.normal(b, (N, D)))


@claim(
    "consensus/claim-identity-consensus-point/corrected", CONSENSUS.at("Section 3.3"), variant="corrected", num_trials=8
)
def consensus_set_is_asymptotically_stable(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For P = I the set of consensus equilibria is asymptotically stable. Changed: the set instead of each point."""
    return _attraction_trial(key, integrator, _near_consensus(key), 1.0, 1.0)


@consensus_set_is_asymptotically_stable.with_control
def consensus_set_is_asymptotically_stable(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The value matrix -I."""
    return _attraction_trial(key, integrator, _near_consensus(key), -1.0, 1.0)


@claim(
    "consensus/claim-identity-every-initial-position",
    CONSENSUS.at("Section 1"),
    evidence="certified",
    num_trials=8,
    note="no control: the statement has no hypothesis to drop; almost every initial position is its positive case",
)
def every_start_reaches_consensus(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For P = I the tokens converge to a consensus equilibrium from every initial position.

    The initial position tried is an antipodal pair of rational unit vectors, at which the field is exactly zero for any
    attention weights.
    """
    u = rational_unit(key, D)
    eye = matrix(np.eye(D, dtype=int))
    fields = [tangent_part(eye, y, v) for y in (u, -u) for v in (u, -u)]
    rest = all(f == 0 for field in fields for f in field)
    return Trial(
        hypotheses=(holds("the tokens are on the sphere", sum(u * u) == 1),),
        conclusions=(holds("the tokens converge to one point", not rest or all(u == -u)),),
        witness={"y_1": u, "y_2": -u},
    )


@claim(
    "consensus/claim-identity-every-initial-position/corrected",
    CONSENSUS.at("Section 1"),
    variant="corrected",
    num_trials=16,
)
def almost_every_start_reaches_consensus(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For P = I the tokens converge to a consensus equilibrium from almost every initial position. Added: almost."""
    return _attraction_trial(key, integrator, TokenFlow(np.eye(D)).space.sample(key, (N, D)), 1.0, 2.0 + SOLVER)


@almost_every_start_reaches_consensus.with_control
def almost_every_start_reaches_consensus(key: Key, integrator: AbstractIntegrator) -> Trial:
    """An initial position on the exceptional set, on which the solution stays exactly by symmetry."""
    return _attraction_trial(key, integrator, jnp.asarray(np.outer([1.0, 1, -1, -1], FIRST)), 1.0, 2.0 + SOLVER)
