"""Claims of Lemmas 5.1 and 6.1 on the flows (16) and (22) of one token with a time-dependent scalar rate."""

import jax
import jax.numpy as jnp
import numpy as np

from analysis.dynamics.monotone import worst_increase
from analysis.ledger.claim import claim
from analysis.ledger.evidence import ROUNDING, SOLVER, Trial, at_least, at_most, equal, holds
from analysis.tokens.energies import alignment_potential
from dynsim._types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.papers import CONSENSUS
from dynsim.simulation import simulate
from dynsim.spaces import Sphere
from dynsim.systems.tokens.scalar_driven import AttractedFlow, OjaFlow, SinusoidalRate

D = 4
TS = np.linspace(0.0, 60.0, 61)


def _rate(key: Key) -> tuple[SinusoidalRate, float]:
    """Return a random rate a(t) = m + s sin(w t + p) and its lower bound c = m - |s| > 0."""
    mean, share, frequency, phase = np.asarray(jax.random.uniform(key, (4,)))
    mean = 0.5 + mean
    return SinusoidalRate(mean, 0.8 * share * mean, 0.5 + 2 * frequency, 6 * phase), float(mean * (1 - 0.8 * share))


def _attracted_trial(key: Key, integrator: AbstractIntegrator, sign: float) -> Trial:
    a, b, c = jax.random.split(key, 3)
    rate, bound = _rate(a)
    target = Sphere().sample(b, (1, D))[0]
    flow = AttractedFlow(sign * np.asarray(target), rate)
    far = Sphere().sample(c, (3, D))
    near = Sphere().project(1e-3 * far[:1] - target[None])  # almost antipodal to y_0, but in its domain of attraction
    close = Sphere().project(1e-3 * far[:1] + target[None])
    x0 = jnp.concatenate([far, near, close])
    path = simulate(flow, x0, TS, integrator=integrator)
    gap, away = (jnp.linalg.norm(path.ys - point[None, None], axis=-1) for point in (target, -target))
    rise = worst_increase(path, lambda x: jnp.max(jax.vmap(alignment_potential)(x @ target)))
    speed = lambda x: float(jnp.linalg.norm(flow.velocity(0.0, x)))
    return Trial(
        hypotheses=(
            at_least("lower bound of the rate", bound, 0.0, tolerance=ROUNDING),
            at_least("least initial distance from -y_0", jnp.min(away[0]), 0.0, tolerance=SOLVER),
        ),
        conclusions=(
            equal("speed at y_0", speed(target), 0.0, tolerance=ROUNDING),
            equal("speed at -y_0", speed(-target), 0.0, tolerance=ROUNDING),
            at_least("least speed at the other initial points", min(speed(x) for x in far), 1e-3, tolerance=ROUNDING),
            at_most("distance from y_0 at t=60", jnp.max(gap[-1]), 1e-4, tolerance=SOLVER),
            at_most(
                "largest distance from y_0, starting near y_0", jnp.max(gap[:, 4]), 2 * gap[0, 4], tolerance=SOLVER
            ),
            at_least("largest distance from -y_0, starting near -y_0", jnp.max(away[:, 3]), 1.0, tolerance=SOLVER),
            at_most(
                "largest increase of V of (17) over all solutions", rise.amount, 0.0, tolerance=rise.error + SOLVER
            ),
        ),
        witness={"y_0": np.asarray(target), "starts": np.asarray(x0), "c": bound},
    )


@claim(
    "consensus/lemma-5.1",
    CONSENSUS.at("Lemma 5.1", "(16), (17)"),
    num_trials=16,
    note="a sinusoidal rate above c > 0; one initial point is 1e-3 from -y_0",
)
def one_token_is_attracted(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For a rate >= c > 0 the equilibria of (16) are y_0 and -y_0; y_0 is asymptotically stable with domain of
    attraction S^n - {-y_0}, -y_0 is unstable, and V(a) of (17), a = y_0^T y, decreases along solutions.
    """
    return _attracted_trial(key, integrator, 1.0)


@one_token_is_attracted.with_control
def one_token_is_attracted(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The flow towards -y_0, while the conclusions are measured for y_0."""
    return _attracted_trial(key, integrator, -1.0)


def _spectral(key: Key) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return U = Q diag Q^T, its eigenvalues and eigenvectors; the top one, of any sign, has a gap of at least 0.5."""
    a, b, c = jax.random.split(key, 3)
    Q = np.linalg.qr(np.asarray(jax.random.normal(a, (D, D))))[0]
    top = float(jax.random.uniform(b, (), minval=-1.0, maxval=1.0))
    values = np.array([top, *(top - 0.5 - np.asarray(jax.random.uniform(c, (D - 1,))))])
    U = Q @ np.diag(values) @ Q.T
    return (U + U.T) / 2, values, Q


def _top_trial(key: Key, integrator: AbstractIntegrator, sign: float) -> Trial:
    a, b, c = jax.random.split(key, 3)
    rate, bound = _rate(a)
    U, values, Q = _spectral(b)
    v = jnp.asarray(Q[:, 0])
    x = Sphere().sample(c, (3, D))
    inside = x * jnp.sign(x @ v)[:, None]
    near = Sphere().project(v[None] + 1e-3 * x[:1])
    x0 = jnp.concatenate([inside, near, -inside])
    path = simulate(OjaFlow(sign * U, rate), x0, TS, integrator=integrator)
    gap = jnp.linalg.norm(path.ys - v[None, None], axis=-1)
    return Trial(
        hypotheses=(
            at_least("spectral gap below the top eigenvalue", values[0] - max(values[1:]), 0.0, tolerance=ROUNDING),
            at_least("lower bound of the rate", bound, 0.0, tolerance=ROUNDING),
            at_least("least initial v^T y in the hemisphere", jnp.min(inside @ v), 0.0, tolerance=ROUNDING),
        ),
        conclusions=(
            at_most(
                "distance from v at t=60, initially in the hemisphere", jnp.max(gap[-1, :4]), 0.05, tolerance=SOLVER
            ),
            at_most("largest distance from v, starting near v", jnp.max(gap[:, 3]), 2 * gap[0, 3], tolerance=SOLVER),
            at_least(
                "distance from v at t=60, initially in the other hemisphere",
                jnp.min(gap[-1, 4:]),
                1.0,
                tolerance=SOLVER,
            ),
        ),
        witness={"U": U, "v": np.asarray(v), "starts": np.asarray(x0)},
    )


@claim("consensus/lemma-6.1-top", CONSENSUS.at("Lemma 6.1 (1)", "(22)"), num_trials=16)
def top_eigenvector_attracts_its_hemisphere(key: Key, integrator: AbstractIntegrator) -> Trial:
    """If the top eigenvalue of U is simple, its unit eigenvectors v and -v are asymptotically stable for (22), with the
    open hemispheres {v^T y > 0} and {v^T y < 0} as domains of attraction.

    The top eigenvalue may have any sign.
    """
    return _top_trial(key, integrator, 1.0)


@top_eigenvector_attracts_its_hemisphere.with_control
def top_eigenvector_attracts_its_hemisphere(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The flow for -U, while the hypotheses are measured on U."""
    return _top_trial(key, integrator, -1.0)


def _lower_trial(key: Key, integrator: AbstractIntegrator, in_plane: bool, unstable: bool) -> Trial:
    """Measure whether y* = e_2 attracts a point for U = diag(3, 2, 1), and whether it is unstable.

    Solutions on the equator v^T y = 0 stay there exactly in floating point, since U is diagonal.
    """
    rate, bound = _rate(key)
    U, target = np.diag([3.0, 2.0, 1.0]), jnp.array([0.0, 1.0, 0.0])
    angle = float(jax.random.uniform(key, (), minval=0.2, maxval=1.2))
    start = jnp.array([0.0 if in_plane else 0.3, np.cos(angle), np.sin(angle)])
    x0 = Sphere().project(jnp.stack([start, target + jnp.array([1e-4, 0.0, 0.0])]))
    path = simulate(OjaFlow(U, rate), x0, TS, integrator=integrator)
    gap = jnp.linalg.norm(path.ys - target[None, None], axis=-1)
    leaves = at_least("largest distance from y*, starting at 1e-4", jnp.max(gap[:, 1]), 1.0, tolerance=SOLVER)
    return Trial(
        hypotheses=(
            holds("y* is an eigenvector of an eigenvalue below the top one", bool(np.all(U @ target == 2.0 * target))),
            at_least("lower bound of the rate", bound, 0.0, tolerance=ROUNDING),
            at_least("initial distance from y*", gap[0, 0], 0.1, tolerance=SOLVER),
        ),
        conclusions=(
            at_least("distance from y* at t=60", gap[-1, 0], 1e-3, tolerance=SOLVER),
            *((leaves,) if unstable else ()),
        ),
        witness={"U": U, "y*": np.asarray(target), "start": np.asarray(x0[0])},
    )


@claim(
    "consensus/lemma-6.1-lower",
    CONSENSUS.at("Lemma 6.1 (2)", "(22)"),
    num_trials=4,
    note="refuted on the equator, on which both integrators stay exactly; that an equilibrium attracts itself is not "
    "counted; no control: the corrected claim is measured by the same function",
)
def lower_eigenvectors_attract_nothing(key: Key, integrator: AbstractIntegrator) -> Trial:
    """A unit eigenvector y* of an eigenvalue below the top one is unstable for (22), with empty domain of attraction.

    Read: no solution other than y* itself converges to y*. The second of three eigenvectors attracts half of the great
    circle through the second and the third.
    """
    return _lower_trial(key, integrator, True, True)


@claim("consensus/lemma-6.1-lower/corrected", CONSENSUS.at("Lemma 6.1 (2)", "(22)"), variant="corrected", num_trials=8)
def lower_eigenvectors_attract_a_null_set(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Such a y* is unstable, and its domain of attraction is contained in {v^T y = 0}.

    Changed: of measure zero instead of empty.
    """
    return _lower_trial(key, integrator, False, True)


@lower_eigenvectors_attract_a_null_set.with_control
def lower_eigenvectors_attract_a_null_set(key: Key, integrator: AbstractIntegrator) -> Trial:
    """An initial point on the equator."""
    return _lower_trial(key, integrator, True, True)
