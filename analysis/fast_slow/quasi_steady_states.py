"""Find quasi-steady states, the points of the critical manifold {f = 0}, from a guess or as fast limits."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optimistix as optx
from jaxtyping import Array

from analysis.dynamics.equilibria.settling import settle
from dynsim._core.checked import checked
from dynsim._core.orientation import oriented
from dynsim._core.types import ArrayLike
from dynsim.errors import ArgumentError
from dynsim.integrators import stiff
from dynsim.simulation.checks import check_start
from dynsim.systems.fast_slow.flow import FastSlow, FastSlowFlow, FastSubsystem, rates
from dynsim.systems.fast_slow.reduced import fast_jacobian, nearby_root, residual

# Singular values below this share of the norm of D_x f are zero up to rounding.
FLAT = 1e-9


@checked
def quasi_steady_state(flow: FastSlowFlow, slow: ArrayLike, guess: ArrayLike) -> FastSlow:
    """Find a quasi-steady state, f(x, y) = 0, at the slow variable `slow` from the guess `guess` of x.

    Powell's dogleg method is followed by Newton's method, in the space of x. Which of several roots is found depends on
    the guess. `fast_limit` finds the root to which the fast subsystem converges, and `equilibria` of a `FastSubsystem`
    searches for all.

    Args:
        flow: the system.
        slow: the slow variable y.
        guess: guess of the fast variable x.

    Raises:
        ValueError: if no root is found, or if f conserves a quantity that is not constant on the space of x.

    Example:
        >>> import dynsim as ds
        >>> from analysis.fast_slow import quasi_steady_state
        >>> flow = ds.fast_slow.FastSlowFlow(lambda x, y: y - x**2, lambda x, y: -y, 0.01)
        >>> round(float(quasi_steady_state(flow, 4.0, 1.0).fast), 4)
        2.0
    """
    if not np.all(np.isfinite(np.asarray(slow, float))):
        raise ArgumentError("slow", "be finite", "has an entry that is not")
    start = _point("guess", flow, guess, slow)
    x, size = _solved(flow, start.fast, start.slow)
    if not bool(jnp.all(jnp.isfinite(x))):
        _check_isolated(flow, start)
        must = "lead to a quasi-steady state, f(x, y) = 0, at this y"
        raise ArgumentError("guess", must, f"the smallest |f| found from it is {float(size):.3g}")
    found = FastSlow(x, start.slow)
    _check_isolated(flow, found)
    return found


@checked
def fast_limit(flow: FastSlowFlow, start: FastSlow) -> FastSlow:
    """Find the quasi-steady state to which the fast subsystem converges from `start`, with y fixed.

    Args:
        flow: the system.
        start: the initial fast variable, and the slow one.

    Raises:
        ValueError: if it does not converge to a stable equilibrium of the fast subsystem.

    Example:
        >>> import dynsim as ds
        >>> from analysis.fast_slow import fast_limit
        >>> flow = ds.fast_slow.FastSlowFlow(lambda x, y: y - x, lambda x, y: -y, 0.01)
        >>> round(float(fast_limit(flow, ds.fast_slow.FastSlow(0.0, 2.0)).fast), 4)
        2.0
    """
    start = _point("start", flow, *start)
    limit = settle(FastSubsystem(flow, start.slow), start.fast, integrator=stiff(1e-10))
    if not limit.settled:
        must = "lead to a stable equilibrium of the fast subsystem"
        raise ArgumentError("start", must, f"its limit at this y is {limit.verdict}")
    return quasi_steady_state(flow, start.slow, limit.state)


def _point(name: str, flow: FastSlowFlow, fast: ArrayLike, slow: ArrayLike) -> FastSlow:
    """Convert a state to arrays; raise `ValueError` unless it is finite, in the space, and f and g have its shape."""
    state = FastSlow(jnp.asarray(fast, float), jnp.asarray(slow, float))
    state = check_start(name, flow, state)
    jax.eval_shape(lambda x: rates(flow, x), state)
    return state


@eqx.filter_jit
def _solved(flow: FastSlowFlow, x: Array, slow: Array) -> tuple[Array, Array]:
    """Find a root from x, NaN if none is found, and the smallest |f| on the way."""
    fast, space = flow.fast, flow.space.parts.fast
    solver = optx.Dogleg(1e-8, 1e-10)
    near = optx.root_find(lambda z, _: residual(fast, space, z, slow), solver, x, max_steps=200, throw=False).value
    root = nearby_root(fast, space, near, slow)
    return root, jnp.max(jnp.abs(residual(fast, space, near, slow)))


def _check_isolated(flow: FastSlowFlow, state: FastSlow) -> None:
    """Raise `ValueError` if f conserves a linear combination of x that is not constant on the space of x.

    Roots are then not isolated. A conserved combination is a left null vector of D_x f at every point; it is tested at
    this one and three others.
    """
    kept, rng = _left_null(np.eye(state.fast.size), _jacobian(flow, state)), np.random.default_rng(0)
    for _ in range(3):
        if not kept.size:
            return
        moved = jax.tree.map(lambda part: part + jnp.asarray(rng.normal(size=part.shape)) / 3, state)
        kept = _left_null(kept, _jacobian(flow, moved))
    if kept.size:
        weights = ", ".join(f"{weight:.6g}" for weight in oriented(kept[:, 0]) / np.max(np.abs(kept[:, 0])))
        must = "have a `fast_space` that fixes the quantities conserved by f, such as `Simplex()`"
        raise ArgumentError("flow", must, f"f conserves the combination ({weights}) of x")


def _left_null(basis: np.ndarray, jacobian: Array) -> np.ndarray:
    """Compute a basis of the subspace of the span of `basis`, (n, k), orthogonal to all columns of a matrix."""
    J = np.asarray(jacobian)
    left, sizes, _ = np.linalg.svd(basis.T @ J)
    full = np.append(sizes, np.zeros(len(left) - len(sizes)))
    return basis @ left[:, full <= FLAT * float(np.linalg.norm(J))]


@eqx.filter_jit
def _jacobian(flow: FastSlowFlow, state: FastSlow) -> Array:
    return fast_jacobian(flow.fast, flow.space.parts.fast, *state)
