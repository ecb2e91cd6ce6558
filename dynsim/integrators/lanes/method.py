"""One step of a Runge-Kutta or Rosenbrock method with its step control, for one member: what all lanes do.

The functions are recorded as lists of scalar operations, from which the lanes of JAX and the text of a kernel are made.
Steps are those of diffrax with its default controller, up to rounding.
"""

import functools
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import diffrax as dfx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from dynsim.integrators.lanes.rosenbrock import Rodas5P, by_elimination, by_inverse, stages

MOST_REJECTIONS = 100  # in a row; a healthy run was never seen to need more than a dozen
SAFETY, LEAST, MOST = 0.9, 0.2, 10.0  # diffrax's bounds on the factor between a step and the next
RUNNING, DONE, STUCK, SPENT = 0, 1, 2, 3  # what became of a member


class Lane(NamedTuple):
    """State of a member between two steps.

    `t` and `end` are the ends of the next step, `y` and `f` the state and the field at `t` as (d,) arrays, `steps` and
    `rejected` counts, `in_a_row` the rejections since the last accepted step, `passed` the number of jumps of the field
    before `t`, `finite` whether the last trial step was finite, and `status` what became of the member. After a jump
    `f` has to be computed anew.
    """

    t: Any
    end: Any
    y: Any
    f: Any
    steps: Any
    rejected: Any
    in_a_row: Any
    passed: Any
    finite: Any
    status: Any


class Settings(NamedTuple):
    """What all members share: the ends of the integration, the tolerances, the longest step, and the cap on steps."""

    t0: Any
    t1: Any
    rtol: Any
    atol: Any
    longest: Any
    max_steps: Any


class TrialStep(NamedTuple):
    """A trial step: whether it is accepted, its ends, the state at both, and the stages times its length (s, d)."""

    accepted: Any
    t: Any
    end: Any
    y: Any
    y1: Any
    ks: Any


class Walls(NamedTuple):
    """The times of the next jump of the field and of the one after it; infinity where there is none."""

    here: Any
    beyond: Any


Field = Callable[[Any, Any], Any]
"""The right-hand side f(t, y) for a state (d,)."""


def suits(solver: Any) -> bool:
    """Whether a solver of diffrax is one that lanes step with: an explicit method with one tableau, or `Rodas5P`."""
    if isinstance(solver, Rodas5P):
        return True
    plain = isinstance(solver, dfx.AbstractERK) and type(solver).step is dfx.AbstractERK.step
    return plain and isinstance(solver.tableau, dfx.ButcherTableau) and type(solver).func is dfx.AbstractERK.func


def begun(
    solver: Any, field: Field, y: Array, settings: Settings, passed: Any = np.int32(0),
    walls: Walls | None = None,
) -> Lane:  # fmt: skip
    """Start a member; the first step is that of Hairer, Norsett and Wanner (Solving ODEs I, Section II.4)."""
    kind = y.dtype.type
    t0, t1, rtol, atol, longest, _ = settings
    f = field(t0, y)
    scale = atol + jnp.abs(y) * rtol
    d0, d1 = _rms(y / scale), _rms(f / scale)
    small = (d0 < 1e-5) | (d1 < 1e-5)
    h0 = jnp.where(small, kind(1e-6), kind(0.01) * (d0 / jnp.where(small, kind(1), d1)))
    d2 = _rms((field(t0 + h0, y + h0 * f) - f) / scale) / h0
    largest = jnp.maximum(d1, d2)
    order = _order(solver)
    h1 = _power(kind(0.01) / largest, 1 / order)
    h1 = jnp.where(largest <= 1e-15, jnp.maximum(kind(1e-6), h0 * kind(1e-3)), h1)
    h = jnp.minimum(jnp.minimum(kind(100) * h0, h1), longest)
    h = jnp.where(jnp.isfinite(h), h, kind(1e-6))  # a field not finite at the start
    none = jnp.zeros((), np.int32)
    status = jnp.where(t0 < t1, np.int32(RUNNING), np.int32(DONE))
    end = jnp.minimum(t0 + h, t1)
    end = end if walls is None else jnp.minimum(end, _before(walls.here))
    return Lane(t0, end, y, f, none, none, none, jnp.asarray(passed), jnp.asarray(True), status)


def stepped(
    solver: Any, field: Field, lane: Lane, settings: Settings, walls: Walls | None = None
) -> tuple[Lane, TrialStep]:
    """Take a trial step, accept or reject it, and choose the next one; a member that has ended stays as it is.

    A step ends just before a jump of the field, and the next one begins just after it.
    """
    t, end, y = lane.t, lane.end, lane.y
    kind, h = y.dtype.type, end - t
    ks, y1, error, last = _trial(solver, field, lane)
    finite = jnp.all(jnp.isfinite(y1), axis=0) & jnp.all(jnp.isfinite(error), axis=0)
    bound = settings.atol + jnp.maximum(jnp.abs(y), jnp.abs(y1)) * settings.rtol
    scaled = jnp.where(finite, _rms(error / bound), kind(np.inf))
    active = lane.status == RUNNING
    keep = active & (scaled < 1)
    factor = kind(SAFETY) * _power(jnp.maximum(scaled, kind(1e-30)), -1 / _order(solver))
    factor = jnp.clip(factor, jnp.where(keep, kind(1), kind(LEAST)), jnp.where(keep, kind(MOST), kind(SAFETY)))
    step = TrialStep(keep, t, end, y, y1, jnp.stack(ks))
    new_t = jnp.where(keep, end, t)
    new_end = new_t + jnp.minimum(h * factor, settings.longest)
    eps = np.finfo(kind).eps
    floor = settings.t1 - kind(100 * eps) * jnp.maximum(jnp.abs(settings.t0), jnp.abs(settings.t1))
    clipped = jnp.where(keep, settings.t1, new_t + kind(0.5) * (settings.t1 - new_t))
    new_end = jnp.where(new_end > floor, clipped, new_end)
    one, passed = np.int32(1), lane.passed
    if walls is not None:
        reached = keep & (new_t >= _before(walls.here))
        new_t = jnp.where(reached, _after(walls.here), new_t)
        following = jnp.where(reached, walls.beyond, walls.here)
        new_end = jnp.minimum(jnp.maximum(new_end, _after(new_t)), _before(following))
        passed = jnp.where(reached, passed + one, passed)
    in_a_row = jnp.where(keep, np.int32(0), lane.in_a_row + one)
    shortest = kind(10 * eps) * jnp.maximum(jnp.abs(t), np.finfo(kind).tiny)
    stuck = (in_a_row >= MOST_REJECTIONS) | (~keep & (h < shortest))
    steps = lane.steps + one
    status = jnp.where(steps >= settings.max_steps, np.int32(SPENT), np.int32(RUNNING))
    status = jnp.where(stuck, np.int32(STUCK), status)
    status = jnp.where(keep & (new_t >= settings.t1), np.int32(DONE), status)
    new = Lane(
        new_t, new_end, jnp.where(keep, y1, y), jnp.where(keep, last, lane.f), steps,
        jnp.where(keep, lane.rejected, lane.rejected + one), in_a_row, passed, finite, status,
    )  # fmt: skip
    return Lane(*(jnp.where(active, a, b) for a, b in zip(new, lane, strict=True))), step


def _trial(solver: Any, field: Field, lane: Lane) -> tuple[list[Array], Array, Array, Array]:
    """Compute the stages of a step, the state at its end, the error estimate, and the field there."""
    tableau: Any = solver.tableau
    t, end, y, f = lane.t, lane.end, lane.y, lane.f
    if isinstance(solver, Rodas5P):
        ks, y1, error = stages(tableau, field, t, end, y, f, by_inverse if y.ndim > 1 else by_elimination)
        return ks, y1, error, field(end, y1)
    kind, h = y.dtype.type, end - t
    ks, last, y1 = [h * f], f, y
    for row, share in zip(tableau.a_lower, tableau.c, strict=True):
        y1 = y + _combined(row, ks)
        last = field(end if share == 1 else t + kind(share) * h, y1)
        ks.append(h * last)
    if not tableau.ssal:
        y1 = y + _combined(tableau.b_sol, ks)
    return ks, y1, _combined(tableau.b_error, ks), last if tableau.fsal else field(end, y1)


def _before(t: Any) -> Any:
    return jnp.nextafter(t, -np.inf).astype(t.dtype)


def _after(t: Any) -> Any:
    return jnp.nextafter(t, np.inf).astype(t.dtype)


def within(solver: Any, step: TrialStep, t: Any) -> Array:
    """The state at a time within a step, by the method's own interpolant; exactly the computed state at its end."""
    share = (t - step.t) / (step.end - step.t)
    terms = [
        _polynomial(row, share) * part
        for row, part in zip(_interpolant(solver), [step.y, step.y1, *step.ks], strict=True)
        if np.any(row)
    ]
    inside = functools.reduce(operator.add, reversed(terms))  # small terms first
    return jnp.where(t == step.end, step.y1, inside)


def _polynomial(row: np.ndarray, x: Any) -> Any:
    """Value of a polynomial with these coefficients, the constant one first."""
    kind, found = x.dtype.type, None
    for a in reversed(np.trim_zeros(row, "b").tolist()):
        found = kind(a) if found is None else found * x + kind(a)
    return found


DEGREE = 12  # largest degree of an interpolant


@functools.lru_cache(16)
def _interpolant(solver: Any) -> np.ndarray:
    """Coefficients (2 + stages, degree + 1) of both ends and of the stages in the interpolated state.

    The weights are polynomials in the share of the step, whose values diffrax's interpolant gives for unit vectors.
    Sums of products with these are faster in lanes than its products of matrices.
    """
    tableau: Any = solver.tableau
    path: Any = solver.interpolation_cls
    unit = np.eye(2 + tableau.num_stages)
    shares = (1 - np.cos(np.pi * np.arange(2 * DEGREE + 1) / (2 * DEGREE))) / 2

    def at(share: Array, t0: Array, t1: Array, y0: Array, y1: Array, ks: Array) -> Array:
        return path(t0=t0, t1=t1, y0=y0, y1=y1, k=ks).evaluate(share)

    with jax.ensure_compile_time_eval():  # one program: operation by operation, twenty would be compiled
        each = jax.jit(jax.vmap(at, in_axes=(0, *[None] * 5)))
        weights = np.asarray(each(shares, 0.0, 1.0, unit[0], unit[1], unit[2:]), float)
    for degree in range(1, DEGREE + 1):
        powers = shares[:, None] ** np.arange(degree + 1)
        found = np.linalg.lstsq(powers, weights)[0]
        if np.max(np.abs(powers @ found - weights)) < 1e-13 * np.max(np.abs(weights)):
            whole = np.round(found)  # a state at the start of the step is not changed by rounding
            return np.where(np.abs(found - whole) < 1e-12 * np.max(np.abs(found)), whole, found).T
    raise TypeError(f"the interpolant of {type(solver).__name__} is no polynomial")


def at_samples(solver: Any, step: TrialStep, samples: int) -> Array:
    """The states (samples, d) at the ends of equal parts of a step: their weights in the interpolant are constants."""
    parts = [step.y, step.y1, *step.ks]
    return jnp.stack([*(_combined(row, parts) for row in _weights(solver, samples)[:-1]), step.y1])


@functools.lru_cache(16)
def _weights(solver: Any, samples: int) -> np.ndarray:
    """Weights (samples, 2 + stages) of both ends and of the stages in the interpolated states."""
    shares = np.arange(1, samples + 1) / samples
    return np.polynomial.polynomial.polyval(shares, _interpolant(solver).T).T


def _order(solver: Any) -> float:
    """Order of the error estimate, from which the exponent of the step control follows."""
    order = solver.error_order(dfx.ODETerm(lambda t, y, args: y))  # pyright: ignore[reportArgumentType]
    return float(order if order is not None else solver.order(None))  # pyright: ignore[reportArgumentType]


def _rms(x: Array) -> Array:
    return jnp.sqrt(jnp.sum(x * x, axis=0) * x.dtype.type(1 / x.shape[0]))


def _power(x: Array, exponent: float) -> Array:
    """A power in single precision, which decides about a step's length well enough and is cheap everywhere."""
    single = np.float32
    return jnp.exp2(single(exponent) * jnp.log2(x.astype(single))).astype(x.dtype)


def _combined(row: Any, ks: list[Array]) -> Array:
    """Linear combination of stages with the entries of a row that are not zero."""
    parts = [k.dtype.type(a) * k for a, k in zip(np.asarray(row, float), ks, strict=False) if a]
    return functools.reduce(operator.add, parts)
