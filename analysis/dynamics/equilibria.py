"""Equilibria of a flow, by least squares and Newton inside its space, from many starts."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import optimistix as optx
from jaxtyping import Array

from analysis.dynamics.linearisation import Generator, Spectrum, spectrum, tangent_basis, tangent_jacobian
from dynsim._types import Key, State, Time
from dynsim.errors import argument_error
from dynsim.simulation import start_on
from dynsim.systems.base import AbstractFlow

AT_REST = 1e-10  # a speed below this, in units of the field on the starts, is rest up to rounding


class Equilibrium(NamedTuple):
    """A point at which the field vanishes up to `speed`, its spectrum, and how many starts led to it."""

    state: State
    speed: float
    spectrum: Spectrum
    times_found: int

    @property
    def kind(self) -> str:
        """`stable`, `saddle`, `unstable` or `undecided`."""
        return self.spectrum.kind


def equilibria(
    flow: AbstractFlow,
    starts: State,
    t: Time = 0.0,
    *,
    symmetries: Sequence[Generator] = (),
    invariant: Callable[[State], Array] | None = None,
    radius: float = 1e-6,
) -> list[Equilibrium]:
    """Return the equilibria that Newton's method finds from `starts`, classified, the stable ones first.

    Nothing says that these are all: more starts may find more. What is no equilibrium (a minimum of the speed that is
    not zero) is left out. NumPy: not for `jit`.

    Args:
        flow: the system; a time-dependent field is frozen at `t`.
        starts: points near which to look, first axis of every array; `spread(flow, key, shape, num_starts)` makes some.
        t: the time at which the field is taken.
        symmetries: generators of symmetries, whose zero modes say nothing on stability; see `spectrum`.
        invariant: two equilibria within `radius` in this function are one; by default in their states. With symmetries
            give a function that they do not change, such as the Gram matrix, sorted.
        radius: of duplicates.

    Raises:
        ValueError: for starts without a first axis or not finite.
    """
    starts = jax.tree.map(lambda y: jnp.asarray(y, float), starts)
    counts = {y.shape[0] if y.ndim else 0 for y in jax.tree.leaves(starts)}
    if len(counts) != 1 or 0 in counts:
        raise argument_error(
            "starts", "have the starts on the first axis of every array", f"has lengths {sorted(counts)}"
        )
    if not all(bool(jnp.all(jnp.isfinite(y))) for y in jax.tree.leaves(starts)):
        raise argument_error("starts", "be finite", "has an entry that is not")
    when = jnp.asarray(t, float)
    near, scale = _nearest_rests(flow, starts, when)
    found: list[tuple[State, np.ndarray, float, int]] = []
    for k in range(counts.pop()):
        x, speed = newton(flow, jax.tree.map(lambda y, k=k: y[k], near), when)
        if not speed <= AT_REST * max(1.0, float(scale)):
            continue
        mark = _flat(x if invariant is None else invariant(x))
        for place, (_, other, _, _) in enumerate(found):
            if np.max(np.abs(mark - other), initial=0.0) <= radius:
                found[place] = (*found[place][:3], found[place][3] + 1)
                break
        else:
            found.append((x, mark, speed, 1))
    result = [Equilibrium(x, v, spectrum(flow, x, t, symmetries=symmetries), many) for x, _, v, many in found]
    order = {"stable": 0, "saddle": 1, "unstable": 2, "undecided": 3}
    return sorted(result, key=lambda e: (order[e.kind], e.spectrum.index))


def spread(flow: AbstractFlow, key: Key, shape: tuple[int, ...], num_starts: int) -> State:
    """Return `num_starts` random points of the flow's space, each of `shape`, on a new first axis."""
    if num_starts < 1:
        raise argument_error("num_starts", "be at least 1", f"is {num_starts}")
    return jax.vmap(lambda k: flow.space.sample(k, shape))(jax.random.split(key, num_starts))


def newton(flow: AbstractFlow, x: State, t: Time = 0.0, *, max_steps: int = 20) -> tuple[State, float]:
    """Return an equilibrium near `x`, and the speed left there, by Newton steps of least norm in the tangent space.

    Least norm: along the orbit of a symmetry, where the Jacobian is zero, nothing moves. It stops when a step no longer
    lowers the speed. NumPy: not for `jit`.
    """
    when = jnp.asarray(t, float)
    speed = float(_speed(flow, x, when))
    for _ in range(max_steps):
        basis, J = tangent_basis(flow.space, x), tangent_jacobian(flow, x, when)
        field = basis.T @ _flat(flow.vector_field(when, x))
        step = basis @ np.linalg.lstsq(J, -field, rcond=1e-9)[0]
        moved = _moved(flow, x, jnp.asarray(step))
        after = float(_speed(flow, moved, when))
        if not after < speed:
            break
        x, speed = moved, after
    return x, speed


def _flat(x: State) -> np.ndarray:
    return np.asarray(jax.flatten_util.ravel_pytree(x)[0], float)


@eqx.filter_jit
def _speed(flow: AbstractFlow, x: State, t: Array) -> Array:
    return jnp.max(jnp.abs(jax.flatten_util.ravel_pytree(flow.vector_field(t, x))[0]))


@eqx.filter_jit
def _moved(flow: AbstractFlow, x: State, step: Array) -> State:
    flat, unravel = jax.flatten_util.ravel_pytree(x)
    return flow.space.project(unravel(flat + step))


@eqx.filter_jit
def _nearest_rests(flow: AbstractFlow, starts: State, t: Array) -> tuple[State, Array]:
    """Return for each start a point at which the speed is least nearby, and the median speed on the starts."""

    def field(x: State) -> Array:
        return jax.flatten_util.ravel_pytree(flow.vector_field(t, x))[0]

    def nearest(start: State) -> State:
        flat, unravel = jax.flatten_util.ravel_pytree(start_on(flow.space, start))
        solver = optx.LevenbergMarquardt(1e-12, 1e-14)
        solution = optx.least_squares(lambda y, args: field(unravel(y)), solver, flat, max_steps=100, throw=False)
        return flow.space.project(unravel(solution.value))

    speeds = jax.vmap(lambda x: jnp.max(jnp.abs(field(x))))(starts)
    return jax.vmap(nearest)(starts), jnp.nanmedian(speeds)
