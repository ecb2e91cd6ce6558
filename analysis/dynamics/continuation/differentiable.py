"""Locations of bifurcations and periods of orbits as functions of a system, which JAX differentiates and vectorises."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from analysis.dynamics.collocation.intervals import rule
from analysis.dynamics.continuation.bifurcations import Bifurcation
from analysis.dynamics.continuation.orbit_curve import Cycle
from analysis.dynamics.linearisation import tangent_basis
from analysis.dynamics.normal_forms.charts import retracted
from analysis.dynamics.periodic_orbits.shooting import PeriodicOrbit
from dynsim._core.printing import one_line
from dynsim._core.types import State
from dynsim._core.validation import instance, integer
from dynsim.errors import ArgumentError
from dynsim.systems.base import AbstractFlow, AbstractMap
from dynsim.systems.named import where, with_parameter
from dynsim.systems.rescaled import is_flat

# Largest number of Newton steps.
STEPS = 20
# Newton step, relative to the solution, at which it counts as converged; the next one would be its square.
CONVERGED = 1e-8
# Gauss points in an interval, so that orbits have order 10, and the number of intervals of an orbit, at least.
STAGES, INTERVALS = 5, 24
# Steps of the Runge-Kutta method for the first guess between two Gauss points.
WITHIN = 4
OF_FLOWS, OF_MAPS = ("fold", "Hopf point"), ("fold", "period doubling", "Neimark-Sacker point")


class BifurcationPoint(NamedTuple):
    """Where a bifurcation is: the parameter, the state, and the frequency of a Hopf point; NaN if none is found.

    At a Neimark-Sacker point the frequency is the angle of its multipliers; it is 0 at folds and period doublings.
    """

    parameter: Float[Array, ""]
    state: State
    frequency: Float[Array, ""]

    __repr__ = one_line


def bifurcation_point(
    system: Any, parameter: str | Callable[[Any], Any], at: Bifurcation, *, iterate: int = 1
) -> BifurcationPoint:
    """Locate a fold, Hopf point, period doubling or Neimark-Sacker point of a system, near a known one, differentiably.

    The point is found by Newton's method, and differentiated implicitly: `jax.grad`, `jax.jacfwd`, `jax.vmap`,
    `jax.jit`, and derivatives of derivatives take this function of the other parameters of the system.

    Args:
        system: a flow or a map; its parameters may be traced.
        parameter: the parameter in which the bifurcation is located, as for `Parameter`.
        at: such a bifurcation of equilibria or fixed points, of a system that is not far from this one.
        iterate: of a map, that of the branch.

    Returns:
        The point; all its numbers are NaN where Newton's method does not converge, so that you can test for them.

    Raises:
        ValueError: for a bifurcation of another kind.

    Example:
        >>> import jax
        >>> import dynsim as ds
        >>> from analysis.dynamics import bifurcation_point, continue_equilibria
        >>> b = ds.Parameter(ds.catalogue.Brusselator(a=1.0, b=1.5), "b", 1.0, 3.0)
        >>> (hopf,) = continue_equilibria(b, [1.0, 1.5]).bifurcations  # at b = 1 + a^2
        >>> place = lambda a: bifurcation_point(ds.catalogue.Brusselator(a=a, b=1.5), "b", hopf).parameter
        >>> round(float(place(1.5)), 6), round(float(jax.grad(place)(1.5)), 6)
        (3.25, 3.0)
    """
    known = instance("system", system, AbstractFlow | AbstractMap, "a flow or a map")
    kinds = OF_MAPS if isinstance(known, AbstractMap) else OF_FLOWS
    if instance("at", at, Bifurcation, "a bifurcation").kind not in kinds or isinstance(at.state, Cycle):
        raise ArgumentError("at", f"be a {', a '.join(kinds)} of equilibria or fixed points", f"is a {at.kind}")
    take = where(system, parameter) if isinstance(parameter, str) else parameter
    known = jax.tree.map(jnp.asarray, (at.state, at.parameter, at.frequency, tangent_basis(system.space, at.state)))
    return _located(system, take, at.kind, known, integer("iterate", iterate, least=1))


@eqx.filter_jit
def _located(
    system: Any, take: Any, kind: str, known: tuple[State, Array, Array, Array], iterate: int
) -> BifurcationPoint:
    """Solve for a bifurcation near a known one, given by its state, parameter, frequency and tangent basis."""
    state, parameter, frequency, basis = known
    k, turns = basis.shape[1], kind in _TURNING
    chart = lambda p: _chart(with_parameter(take, system, p), state, basis, iterate)
    critical = -2.0 if kind == "period doubling" else 0.0

    def shifted(A: Array, turn: Array) -> Array:
        """Subtract the critical eigenvalue; of an imaginary pair, act on real and imaginary parts."""
        if not turns:
            return A - critical * jnp.eye(k)
        real, imaginary = _TURNING[kind](turn)
        diagonal, other = A - real * jnp.eye(k), imaginary * jnp.eye(k)
        return jnp.block([[diagonal, other], [-other, diagonal]])

    J = jax.lax.stop_gradient(jax.jacfwd(chart(parameter))(jnp.zeros(k)))
    reference = jnp.linalg.svd(shifted(J, frequency))[2][-1]
    rows = reference[None]
    if turns:  # the second row, the reference times i, fixes the phase
        rows = jnp.stack([reference, jnp.concatenate([-reference[k:], reference[:k]])])

    def equations(z: Array) -> Array:
        u, p, vector, turn = z[:k], z[k], z[k + 1 : k + 1 + rows.shape[1]], z[-1]
        moved = chart(p)
        fixed = rows @ vector - jnp.eye(len(rows))[0]
        return jnp.concatenate([moved(u), shifted(jax.jacfwd(moved)(u), turn) @ vector, fixed])

    begin = [jnp.zeros(k), parameter[None], reference, *([frequency[None]] if turns else [])]
    z = _root(equations, jnp.concatenate(begin))
    flat, restored = retracted(system, state, basis)(z[:k]), ravel_pytree(state)[1]
    return BifurcationPoint(z[k], restored(flat), z[-1] if turns else 0 * z[k])


_TURNING: dict[str, Callable[[Any], Any]] = {
    "Hopf point": lambda frequency: (0.0, frequency),
    "Neimark-Sacker point": lambda angle: (jnp.cos(angle) - 1, jnp.sin(angle)),
}
"""Real and imaginary part of the critical eigenvalue, or multiplier minus 1, as functions of its frequency or angle."""


def _chart(system: Any, state: State, basis: Array, iterate: int) -> Callable[[Array], Array]:
    """Write the velocity of a flow, or the displacement by an iterate of a map, in tangent coordinates u at a state x.

    The point with coordinates u is the retraction of x + B u, whose derivative D relates both to the coordinates. Where
    they vanish, the eigenvalues of their derivative are those of the flow, and the multipliers of the map minus 1.
    """
    at, restored = retracted(system, state, basis), ravel_pytree(state)[1]

    def moved(u: Array) -> Array:
        x = restored(at(u))
        if isinstance(system, AbstractMap):
            image = x
            for step in range(iterate):
                image = system.step(jnp.asarray(step), image)
            rate = ravel_pytree(image)[0] - at(u)
        else:
            rate = ravel_pytree(system.vector_field(jnp.zeros(()), x))[0]
        if is_flat(system.space):  # D is the identity
            return basis.T @ rate
        return jnp.linalg.solve(jax.jacfwd(lambda w: basis.T @ at(w))(u), basis.T @ rate)

    return moved


def orbit_period(flow: AbstractFlow, orbit: PeriodicOrbit) -> Float[Array, ""]:
    """Compute the period of the orbit of an autonomous flow near a known one, differentiably.

    The orbit is solved by collocation with five Gauss points in an interval, from a guess by the classical Runge-Kutta
    method, and differentiated implicitly, as in `bifurcation_point`; `jax.vmap` and `jax.jit` take it as well.

    Args:
        flow: an autonomous flow; its parameters may be traced.
        orbit: what `periodic_orbit` returned for a flow that is not far from this one; with more segments more
            intervals are used, 24 at least.

    Returns:
        The period; NaN where Newton's method does not converge.

    Example:
        >>> import jax
        >>> import dynsim as ds
        >>> from analysis.dynamics import orbit_period, periodic_orbit
        >>> orbit = periodic_orbit(ds.catalogue.VanDerPol(mu=1.0), [2.0, 0.0], 6.6, segments=4)
        >>> period = lambda mu: orbit_period(ds.catalogue.VanDerPol(mu=mu), orbit)
        >>> round(float(period(1.0)), 6), round(float(jax.grad(period)(1.0)), 4)
        (6.663287, 0.7316)
    """
    known = instance("orbit", orbit, PeriodicOrbit, "a periodic orbit that `periodic_orbit` returned")
    count = len(jax.tree.leaves(known.nodes)[0])
    mesh = np.arange(count + 1) / count if known.times is None else np.append(known.times, 1.0)
    parts = -(-INTERVALS // count)
    nodes = jax.tree.map(jnp.asarray, known.nodes)
    return _period(flow, nodes, jnp.asarray(known.period), jnp.asarray(np.diff(mesh)), parts)


@eqx.filter_jit
def _period(flow: AbstractFlow, known: State, duration: Array, shares: Array, parts: int) -> Array:
    """Solve for the period of an orbit near known nodes, whose intervals are divided into equal parts."""
    restored = ravel_pytree(jax.tree.map(lambda part: part[0], known))[1]
    field = lambda x: ravel_pytree(flow.vector_field(jnp.zeros(()), restored(x)))[0]
    nodes = jax.vmap(lambda x: ravel_pytree(x)[0])(known)
    (c, A, weights), n = rule(STAGES), nodes.shape[1]
    begin = jax.lax.stop_gradient(_guess(field, nodes, duration * shares / parts, parts, c))
    first, rest, lengths = begin[0, 0], 1 - float(np.sum(weights)), jnp.repeat(shares / parts, parts)
    along = jax.lax.stop_gradient(field(first))

    def equations(z: Array) -> Array:
        states, period = z[:-1].reshape(-1, STAGES + 1, n), z[-1]
        starts, stages = states[:, 0], states[:, 1:]
        rates = jax.vmap(jax.vmap(field))(stages)
        gaps = starts[:, None] + period * lengths[:, None, None] * jnp.einsum("ij,kja->kia", A, rates) - stages
        ends = rest * starts + jnp.einsum("j,kja->ka", weights, stages) - jnp.roll(starts, -1, axis=0)
        return jnp.concatenate([gaps.ravel(), ends.ravel(), jnp.stack([along @ (starts[0] - first)])])

    return _root(equations, jnp.append(begin.ravel(), duration))[-1]


def _guess(field: Callable[[Array], Array], nodes: Array, durations: Array, parts: int, c: np.ndarray) -> Array:
    """Integrate from all nodes to the Gauss points of their intervals, (intervals, 1 + stages, n).

    `durations` are those of the parts into which the intervals between nodes are divided.
    """
    places = np.concatenate([np.append(0.0, c) + k for k in range(parts)])
    times = durations[:, None] * np.diff(places)[None] / WITHIN  # (nodes, places - 1)

    def step(x: Array, h: Array) -> tuple[Array, Array]:
        for _ in range(WITHIN):
            one = field(x)
            two = field(x + h / 2 * one)
            three = field(x + h / 2 * two)
            x = x + h / 6 * (one + 2 * two + 2 * three + field(x + h * three))
        return x, x

    rows = jax.vmap(lambda x, h: jnp.concatenate([x[None], jax.lax.scan(step, x, h)[1]]))(nodes, times)
    return rows.reshape(-1, len(c) + 1, nodes.shape[1])


def _root(equations: Callable[[Array], Array], begin: Array) -> Array:
    """Solve equations by Newton's method, with implicit derivatives; NaN where it does not converge."""

    def newton(function: Callable[[Array], Array], z: Array) -> Array:
        def step(carried: Any) -> Any:
            z, _, k = carried
            change = jnp.linalg.solve(jax.jacfwd(function)(z), function(z))
            return z - change, jnp.linalg.norm(change) / jnp.linalg.norm(z), k + 1

        going = lambda carried: (carried[1] > CONVERGED) & (carried[2] < STEPS)
        z, last, _ = jax.lax.while_loop(going, step, (z, jnp.asarray(jnp.inf), 0))
        return jnp.where(last <= CONVERGED, z, jnp.nan)

    linear = lambda function, right: jnp.linalg.solve(jax.jacfwd(function)(jnp.zeros_like(right)), right)
    return jax.lax.custom_root(equations, begin, newton, linear)
