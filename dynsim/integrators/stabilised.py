"""A stabilised explicit method: Runge-Kutta-Chebyshev of order two, for mildly stiff flows with a real spectrum."""

from typing import Any, ClassVar, NamedTuple

import diffrax as dfx
import equinox as eqx
import equinox.internal as eqxi
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from dynsim._core.types import Scalar, State
from dynsim._core.validation import integer
from dynsim.integrators.any_member import any_member

DAMPING = 2 / 13
REACH = 1.54  # s stages are stable up to (s^2 - 1) / 1.54 of step times spectral radius, and slightly beyond
SAFETY = 1.2  # times the estimate of the spectral radius, which comes from below
EVERY = 25  # accepted steps between two estimates
MOST_ITERATIONS = 50
SETTLED = 0.01  # relative change of the estimate at which the power iteration ends


class _Memory(NamedTuple):
    """The field at the state; the spectral radius, a direction of it, and the accepted steps since both were found.

    `length` is the last accepted step's.
    """

    field: State
    radius: Scalar
    direction: State
    age: Int[Array, ""]
    length: Scalar


class _Polynomial(NamedTuple):
    """The Chebyshev polynomial of one degree at `w0`, with two derivatives, and the coefficients made of them."""

    value: Scalar
    slope: Scalar
    bend: Scalar
    b: Scalar
    time: Scalar


class RKC2(dfx.AbstractAdaptiveSolver):
    r"""The Runge-Kutta-Chebyshev method of order two of Sommeijer, Shampine and Verwer (1998), damping 2/13.

    For flows whose Jacobian has a spectrum near the negative real axis: gradient flows and their like, discretised
    diffusions. It is explicit, needs no Jacobian and takes about $\sqrt{1.5 h \rho}$ evaluations of the field for a
    step of length $h$, $\rho$ being the spectral radius, where other explicit methods take about $h \rho / 3$.
    $\rho$ comes from a power iteration with difference quotients, anew every 25 accepted steps and after rejections.

    Of order two, it is for moderate accuracy: give `Diffrax` an `rtol` of 1e-3 to 1e-6. Measured on the coupled flow of
    encoder and prototypes, whose spectrum is real in both modes of the gradient, as CPU time at the relative error 1e-4
    and $\varepsilon = 10^{-3}$: with 2,368 unknowns a twelfth of Tsit5's and a fourteenth of that of SciPy's RK45. It
    loses
    - at small errors: with 168 unknowns Tsit5 is as fast at the relative error 2e-6, and four times faster at 6e-8;
    - to implicit methods where $\varepsilon$ is small and the unknowns are few: LSODA and Radau are as fast at
      $\varepsilon = 10^{-6}$ with 168 unknowns;
    - on spectra away from the real axis, which it follows by error control alone: eigenvalues $\pm i \omega$ take 17
      times Tsit5's steps at `rtol` 1e-6, and $-50 \pm 1000 i$ three times at 1e-4. The result stays as right as the
      tolerance asks for, and a fast oscillation may need more than `max_steps`.

    `max_stages` bounds the evaluations in a step, and so the rounding errors that the stages accumulate, some
    s^2 roundings; a longer step is rejected at no cost.

    Source: Sommeijer, Shampine and Verwer, J. Comput. Appl. Math. 88 (1998), 315-326.
    """

    max_stages: int = eqx.field(static=True, default=1000)

    term_structure: ClassVar = dfx.AbstractTerm
    interpolation_cls: ClassVar = dfx.ThirdOrderHermitePolynomialInterpolation

    def __check_init__(self):
        integer("max_stages", self.max_stages, least=2)

    def order(self, terms: Any) -> int:
        """Order of the method, two."""
        return 2

    def error_order(self, terms: Any) -> int:
        """Order of the error estimate, three, as for the local error."""
        return 3

    def init(self, terms: Any, t0: Any, t1: Any, y0: State, args: Any) -> _Memory:
        """Evaluate the field; the spectrum is not known yet."""
        radius = jnp.zeros((), jnp.result_type(*jax.tree.leaves(y0)))
        length = jnp.asarray(jnp.inf, jnp.result_type(t0))
        return _Memory(terms.vf(t0, y0, args), radius, _drawn_like(y0), jnp.asarray(EVERY), length)

    def func(self, terms: Any, t0: Any, y0: State, args: Any) -> State:
        """Evaluate the field."""
        return terms.vf(t0, y0, args)

    def step(self, terms: Any, t0: Any, t1: Any, y0: State, args: Any, solver_state: _Memory, made_jump: Any) -> Any:
        """Take as many stages as stability asks for; reject a step that would need more than `max_stages`."""
        memory, h = solver_state, jnp.abs(t1 - t0)
        f0 = _refreshed(memory.field, lambda: terms.vf(t0, y0, args), made_jump)
        stale = made_jump | (memory.age >= EVERY) | (h < 0.89 * memory.length)  # shorter: a step has been rejected
        field = lambda y: terms.vf(t0, y, args)
        # Outside of the `cond` the loop would cost one field even where nothing is stale: its invariants are hoisted.
        anew = lambda: _dominant(field, y0, f0, memory, stale)
        radius, direction = jax.lax.cond(any_member(stale), anew, lambda: (memory.radius, memory.direction))
        stages = _stages(h * radius)
        fits = stages <= self.max_stages

        control = terms.contr(t0, t1)
        k0 = terms.prod(f0, control)
        part = lambda c, change: terms.vf_prod(t0 + c.astype(h.dtype) * (t1 - t0), _sum(y0, change), args, control)
        change = _chebyshev(part, k0, jnp.where(fits, stages, 1), self.max_stages)
        y1 = _sum(y0, change)
        f1 = terms.vf(t1, y1, args)
        k1 = terms.prod(f1, control)
        large = lambda a: jnp.asarray(float(jnp.finfo(a.dtype).max) ** 0.2, a.dtype)
        error = jax.tree.map(lambda d, a, b: jnp.where(fits, 0.4 * (a + b) - 0.8 * d, large(d)), change, k0, k1)
        age = jnp.where(stale, 1, memory.age + 1)
        dense = {"y0": y0, "y1": y1, "k0": k0, "k1": k1}
        return y1, error, dense, _Memory(f1, radius, direction, age, h), dfx.RESULTS.successful


def _drawn_like(y: State) -> State:
    """Draw a reproducible random direction, which almost surely has a component along every eigenvector."""
    leaves, tree = jax.tree.flatten(y)
    keys = jax.random.split(jax.random.key(0), len(leaves))
    drawn = [jax.random.normal(key, leaf.shape, leaf.dtype) for key, leaf in zip(keys, leaves, strict=True)]
    return _scaled(jax.tree.unflatten(tree, drawn))


def _dot(a: State, b: State) -> Scalar:
    return jnp.sum(jnp.stack([jnp.vdot(u, v) for u, v in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)]))


def _scaled(v: State) -> State:
    """Scale a vector to norm one; zero is unchanged."""
    size = jnp.sqrt(_dot(v, v))
    return jax.tree.map(lambda a: a / jnp.where(size > 0, size, 1).astype(a.dtype), v)


def _pushed(y: State, v: State, length: Scalar) -> State:
    return jax.tree.map(lambda a, b: a + length.astype(a.dtype) * b, y, v)


def _sum(a: State, b: State) -> State:
    return jax.tree.map(jnp.add, a, b)


def _refreshed(field: State, evaluate: Any, made_jump: Any) -> State:
    """Reuse the field at the end of the last step, evaluated again if the field has jumped since."""
    if made_jump is False:
        return field
    again = lambda: jax.tree.map(lambda new, old: jnp.where(made_jump, new, old), evaluate(), field)
    return jax.lax.cond(any_member(made_jump), again, lambda: field)


def _stages(z: Scalar) -> Int[Array, ""]:
    """Compute the number of stages that is stable for a step size times the spectral radius."""
    z = jnp.where(jnp.isfinite(z), z, 0)  # of a field that is not finite: the step will be rejected
    most = 1e8
    return jnp.maximum(2, 1 + jnp.floor(jnp.minimum(jnp.sqrt(1 + REACH * z), most)).astype(int))


def _dominant(field: Any, y: State, f: State, known: _Memory, stale: Bool[Array, ""]) -> tuple[Scalar, State]:
    """Estimate the Jacobian's spectral radius and dominant direction, by a power iteration if the known ones are stale.

    If the iteration does not converge, for example for a complex dominant pair, the largest value is used. Under `vmap`
    the loop runs until it has converged for all members with a stale radius.
    """

    def going(carry):
        k, _, _, _, settled = carry
        return ~settled & (k < MOST_ITERATIONS)

    def iterated(carry):
        k, v, last, most, _ = carry
        pushed = jax.lax.stop_gradient(field(_pushed(y, v, push)))  # the field holds parameters, and the time
        w = jax.tree.map(lambda a, b: (a - b) / push.astype(b.dtype), pushed, f)
        size = jnp.sqrt(_dot(w, w))
        done = ~jnp.isfinite(size) | (size == 0)
        v = jax.tree.map(lambda old, new: jnp.where(done, old, new), v, _scaled(w))
        settled = done | ((jnp.abs(size - last) <= SETTLED * size) & (k > 0))
        return k + 1, v, size, jnp.maximum(most, size), settled

    # A difference quotient, as in the original: `jax.jvp` of a prototype flow takes the memory of an array (n, k, m).
    y, f = jax.lax.stop_gradient((y, f))
    size = jnp.sqrt(_dot(y, y))
    push = jnp.sqrt(jnp.finfo(size.dtype).eps) * jnp.where(size > 0, size, 1)
    start = jax.tree.map(lambda a, b: a + 0.1 * jnp.where(jnp.isfinite(b), b, 0), known.direction, _scaled(f))
    v = jax.lax.stop_gradient(_scaled(start))  # the field shows what grows
    zero = jnp.zeros_like(known.radius)
    _, v, size, most, settled = jax.lax.while_loop(going, iterated, (jnp.asarray(0), v, zero, zero, ~stale))
    radius = SAFETY * jnp.where(settled, size, most)
    keep = lambda old, new: jnp.where(stale, new, old)
    return keep(known.radius, radius), jax.tree.map(keep, known.direction, v)


def _chebyshev(part: Any, k0: State, stages: Int[Array, ""], most: int) -> State:
    """Compute the change of the state in a step by the Chebyshev recursion over the stages.

    `part(c, change)` is the step times the field at the time c and the state `change` beyond the start's.
    """
    s = stages.astype(float)
    over = DAMPING / s**2
    w0, square = 1 + over, over * (2 + over)
    arg = s * jnp.log1p(over + jnp.sqrt(square))
    w1 = jnp.sinh(arg) * square / (jnp.cosh(arg) * s * jnp.sqrt(square) - w0 * jnp.sinh(arg))
    one, zero = jnp.ones_like(w0), jnp.zeros_like(w0)
    b = 1 / (4 * w0**2)

    def weighted(*pairs: tuple[Scalar, State]) -> State:
        coefficients, states = zip(*pairs, strict=True)
        return jax.tree.map(
            lambda *a: sum(c.astype(x.dtype) * x for c, x in zip(coefficients, a, strict=True)), *states
        )

    def stage(carry):
        j, last, before, y, x = carry
        value = 2 * w0 * last.value - before.value
        slope = 2 * w0 * last.slope - before.slope + 2 * last.value
        bend = 2 * w0 * last.bend - before.bend + 4 * last.slope
        b = bend / slope**2
        a, mu, nu = 1 - last.value * last.b, 2 * w0 * b / last.b, -b / before.b
        m = mu * w1 / w0
        new = weighted((mu, y), (nu, x), (m, part(last.time, y)), (-m * a, k0))
        return j + 1, _Polynomial(value, slope, bend, b, mu * last.time + nu * before.time + m * (1 - a)), last, new, y

    first = weighted((w1 * b, k0))
    start = jax.tree.map(jnp.zeros_like, first)
    carry = (jnp.asarray(2), _Polynomial(w0, one, zero, b, w1 * b), _Polynomial(one, zero, zero, b, zero), first, start)
    # Equinox has no public loop with derivatives in reverse mode whose length the values decide; JAX has none at all.
    loop = eqxi.while_loop(lambda carry: carry[0] <= stages, stage, carry, max_steps=most, kind="checkpointed")
    return loop[3]
