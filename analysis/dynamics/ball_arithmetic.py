"""Functions of JAX evaluated in ball arithmetic: every result encloses the exact one. Needs python-flint.

The function is traced once, and its program, a jaxpr, is run over arrays whose entries are balls. Floating-point
constants count as the binary fractions that they are.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.extend.core
import jax.numpy as jnp
import numpy as np

from dynsim.errors import UnavailableError, argument_error

Balls = Any
"""A NumPy array of objects, balls of python-flint."""

MOVES = (
    "broadcast_in_dim", "reshape", "squeeze", "transpose", "slice", "concatenate", "pad", "rev", "gather", "copy",
    "dynamic_slice", "dynamic_update_slice", "scatter", "expand_dims", "copy_p", "split", "stack", "unstack", "tile",
)  # fmt: skip
"""Primitives that move entries and compute nothing."""

ENTRYWISE: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b, "add_any": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b, "neg": lambda a: -a, "abs": lambda a: _absolute(a), "square": lambda a: _power(a, 2),
    "sin": lambda a: a.sin(), "cos": lambda a: a.cos(), "tan": lambda a: a.tan(), "asin": lambda a: a.asin(),
    "acos": lambda a: a.acos(), "atan": lambda a: a.atan(), "sinh": lambda a: a.sinh(), "cosh": lambda a: a.cosh(),
    "tanh": lambda a: a.tanh(), "exp": lambda a: a.exp(), "exp2": lambda a: (a * _flint().arb(2).log()).exp(),
    "log": lambda a: a.log(), "log1p": lambda a: a.log1p(), "expm1": lambda a: a.expm1(), "sqrt": lambda a: a.sqrt(),
    "rsqrt": lambda a: a.rsqrt(), "erf": lambda a: a.erf(), "logistic": lambda a: 1 / (1 + (-a).exp()),
    "max": lambda a, b: a.max(b), "min": lambda a, b: a.min(b), "pow": lambda a, b: a**b,
    "and": lambda a, b: _both(a, b), "or": lambda a, b: _not(_both(_not(a), _not(b))), "not": lambda a: _not(a),
    "atan2": lambda a, b: _flint().arb.atan2(a, b),
}  # fmt: skip
REDUCED: dict[str, Callable[[Any, Any], Any]] = {
    "reduce_sum": lambda a, b: a + b, "reduce_max": lambda a, b: a.max(b), "reduce_min": lambda a, b: a.min(b),
    "reduce_prod": lambda a, b: a * b, "reduce_and": lambda a, b: _both(a, b),
    "reduce_or": lambda a, b: _not(_both(_not(a), _not(b))),
}  # fmt: skip
COMPARED: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {
    "lt": (lambda a, b: a < b, lambda a, b: a >= b), "le": (lambda a, b: a <= b, lambda a, b: a > b),
    "gt": (lambda a, b: a > b, lambda a, b: a <= b), "ge": (lambda a, b: a >= b, lambda a, b: a < b),
    "eq": (lambda a, b: a == b, lambda a, b: a != b), "ne": (lambda a, b: a != b, lambda a, b: a == b),
    "sign": (lambda a, b: a > b, lambda a, b: a < b),
}  # fmt: skip
"""Comparisons: when they are true, and when they are false, for all points of balls."""
CALLS = (
    "pjit",
    "jit",
    "closed_call",
    "custom_jvp_call",
    "custom_vjp_call",
    "custom_vjp_call_jaxpr",
    "remat",
    "checkpoint",
)


def _flint() -> Any:
    try:
        import flint
    except ImportError:
        said = "Ball arithmetic needs the package python-flint: install `dynsim[rigorous]`."
        raise UnavailableError(said) from None
    return flint


def ball(middle: float, radius: float = 0.0) -> Any:
    """Return the ball about a number."""
    return _flint().arb(middle, radius) if radius else _flint().arb(middle)


def balls(values: Any) -> Balls:
    """Return an array of floating-point numbers as balls of radius zero."""
    array = np.asarray(values, float)
    return np.array([ball(float(v)) for v in array.ravel()] or [], dtype=object).reshape(array.shape)


class BallFunction:
    """A function of one vector in JAX, and its Jacobian, in ball arithmetic.

    Where a function branches within a box, both are enclosed on all sides.
    """

    def __init__(self, fn: Callable[[Any], Any], size: int):
        """Trace the function of vectors of this size and its Jacobian.

        Raises:
            ValueError: if the function uses what ball arithmetic cannot enclose, named.
            UnavailableError: without python-flint.
        """
        _flint()
        example = jnp.zeros(size)
        self._programs = [jax.make_jaxpr(f)(example) for f in (fn, jax.jacfwd(fn))]
        for program in self._programs:
            _check(program.jaxpr)
        self._known: tuple[dict[Any, Any], dict[Any, Any]] = ({}, {})

    def __call__(self, x: Balls) -> Balls:
        """Return balls that enclose the values at every point of a box."""
        return self._evaluated(0, x)

    def jacobian(self, x: Balls) -> Balls:
        """Return balls that enclose the derivatives at every point of a box."""
        return self._evaluated(1, x)

    def _evaluated(self, which: int, x: Balls) -> Balls:
        program = self._programs[which]
        return _run(program.jaxpr, program.consts, [x], self._known[which], (), [True])[0]


def _inner(equation: Any) -> Any:
    """Return the program that an equation calls, with its constants, or None."""
    if equation.primitive.name not in CALLS:
        return None
    for name in ("jaxpr", "call_jaxpr", "fun_jaxpr"):
        if name in equation.params:
            return equation.params[name]
    return None


SUPPORTED = {
    *MOVES,
    *ENTRYWISE,
    *REDUCED,
    "dot_general",
    "integer_pow",
    "convert_element_type",
    "stop_gradient",
    "select_n",
}
EXACT = {"iota", "lt", "le", "gt", "ge", "eq", "ne", "and", "or", "not", "sign", "is_finite", "rem", "clamp", "argmax"}
"""Primitives that are evaluated by JAX, on values that do not depend on the state."""


def _check(program: Any) -> None:
    """Raise `ValueError` for a primitive that has no enclosure."""
    for equation in program.eqns:
        inner = _inner(equation)
        if inner is not None:
            _check(getattr(inner, "jaxpr", inner))
        elif equation.primitive.name not in SUPPORTED | EXACT:
            raise _unsupported(equation.primitive.name)


def _unsupported(name: str) -> ValueError:
    must = "use only operations that ball arithmetic can enclose"
    return argument_error("flow", must, f"uses `{name}`")


def _run(
    program: Any, constants: Any, arguments: list[Any], known: dict[Any, Any], place: tuple, wanted: list[bool]
) -> list[Any]:
    """Return the outputs of a program. Values are arrays of balls, or of numbers, which do not depend on the state.

    `known` keeps what does not depend on the state, by the place of the operation: numbers, and where entries move.
    What no wanted output needs is left out; an output that is not wanted is None.
    """
    live, used = _live(program, wanted)
    values: dict[Any, Any] = {}

    def read(variable: Any) -> Any:
        return np.asarray(variable.val) if hasattr(variable, "val") else values[variable]

    values.update(zip(program.constvars, [np.asarray(c) for c in constants], strict=True))
    values.update(zip(program.invars, arguments, strict=True))
    for k, equation in enumerate(program.eqns):
        if k not in used:
            continue
        given = [read(v) for v in equation.invars]
        inner, here = _inner(equation), (*place, k)
        if inner is not None:
            closed = hasattr(inner, "jaxpr")
            found = _run(inner.jaxpr if closed else inner, inner.consts if closed else (), given, known, here,
                         [v in live for v in equation.outvars])  # fmt: skip
        elif all(v.dtype != object for v in given):
            if here not in known:
                known[here] = _bound(equation, [jnp.asarray(v) for v in given])
            found = known[here]
        elif equation.primitive.name in MOVES:
            found = _moved(equation, given, known, here)
        else:
            found = [np.asarray(_apply(equation, given), dtype=object)]  # of no dimension, too
        values.update(zip(equation.outvars, found, strict=True))
    return [read(v) if want else None for v, want in zip(program.outvars, wanted, strict=True)]


def _live(program: Any, wanted: list[bool]) -> tuple[set[Any], set[int]]:
    """Return the variables that the wanted outputs of a program need, and the numbers of its operations that do."""
    live = {v for v, want in zip(program.outvars, wanted, strict=True) if want and not hasattr(v, "val")}
    used: set[int] = set()
    for k in range(len(program.eqns) - 1, -1, -1):
        if any(v in live for v in program.eqns[k].outvars):
            used.add(k)
            live |= {v for v in program.eqns[k].invars if not hasattr(v, "val")}
    return live, used


def _bound(equation: Any, given: list[Any]) -> list[np.ndarray]:
    found = equation.primitive.bind(*given, **equation.params)
    return [np.asarray(v) for v in (found if equation.primitive.multiple_results else [found])]


def _apply(equation: Any, given: list[Any]) -> Any:
    """Return the output of one operation some of whose inputs are balls."""
    name, params = equation.primitive.name, equation.params
    if name in ENTRYWISE:
        parts = np.broadcast_arrays(*[_as_balls(v) for v in given])
        return _mapped(ENTRYWISE[name], *parts)
    if name in REDUCED:
        return _reduced(REDUCED[name], given[0], params["axes"])
    if name == "dot_general":
        return _product(_as_balls(given[0]), _as_balls(given[1]), params["dimension_numbers"])
    if name == "integer_pow":
        return _mapped(lambda a: _power(a, params["y"]), given[0])
    if name in ("convert_element_type", "stop_gradient"):
        return _mapped(lambda a: ball(float(a)) if isinstance(a, bool) else a, given[0])
    if name == "select_n":
        return _mapped(_selected, *np.broadcast_arrays(*[_as_balls(v) for v in given]))
    if name in COMPARED:
        return _compared(name, *[_as_balls(v) for v in (*given, np.zeros(()))[:2]])
    raise _unsupported(f"{name} of the state")


def _compared(name: str, left: Balls, right: Balls) -> Any:
    """Return what a comparison says at every point of the boxes, or a ball about [0, 1] where points differ."""
    true, false = COMPARED[name]

    def said(a: Any, b: Any) -> Any:
        yes, no = bool(true(a, b)), bool(false(a, b))
        if name == "sign":
            return ball(1.0 if yes else -1.0) if yes != no else ball(0.0, 1.0)
        return yes if yes != no else ball(0.5, 0.5)

    return _mapped(said, *np.broadcast_arrays(left, right))


def _truth(a: Any) -> Any:
    """Return True or False, or a ball about [0, 1] for what is undecided."""
    if isinstance(a, bool | np.bool_):
        return bool(a)
    return bool(a != 0) if bool(a == 0) != bool(a != 0) else a


def _not(a: Any) -> Any:
    return not _truth(a) if isinstance(_truth(a), bool) else a


def _both(a: Any, b: Any) -> Any:
    first, second = _truth(a), _truth(b)
    if first is False or second is False:
        return False
    return second if first is True else first


def _selected(which: Any, *cases: Any) -> Any:
    """Return a case by its number, or a ball that holds both if a condition is undecided."""
    chosen = _truth(which) if len(cases) == 2 else int(float(which.mid()))
    return cases[int(chosen)] if isinstance(chosen, bool | int) else cases[0].union(cases[1])


def _absolute(a: Any) -> Any:
    return a.abs_lower().union(a.abs_upper())


def _power(a: Any, exponent: int) -> Any:
    """Return an integer power; an even one of a ball about zero is not negative."""
    if exponent < 0:
        return 1 / _power(a, -exponent)
    if exponent == 0:
        return ball(1.0)
    ends = (a.abs_lower(), a.abs_upper()) if exponent % 2 == 0 else (a.lower(), a.upper())
    low, high = (_repeated(end, exponent) for end in ends)  # monotone in between
    return low.union(high)


def _repeated(a: Any, exponent: int) -> Any:
    found = a
    for _ in range(exponent - 1):
        found = found * a
    return found


def _mapped(fn: Callable[..., Any], *parts: Any) -> Balls:
    shape = parts[0].shape
    return np.array([fn(*entries) for entries in zip(*(p.ravel() for p in parts), strict=True)], dtype=object).reshape(
        shape
    )


def _as_balls(value: Any) -> Balls:
    return value if value.dtype == object else balls(value)


def _moved(equation: Any, given: list[Any], known: dict[Any, Any], place: tuple) -> list[Balls]:
    """Return entries where the operation moves them: it is applied once to their numbers in a pool of all entries."""
    data = _data_inputs(equation.primitive.name, len(given))
    pool = [entry for k in sorted(data) for entry in _as_balls(given[k]).ravel()]
    if place not in known:
        ends = np.cumsum([0, *(given[k].size for k in sorted(data))])
        begins = dict(zip(sorted(data), ends.tolist(), strict=False))
        numbered = [
            jnp.arange(begins[k], begins[k] + v.size).reshape(v.shape) if k in data else jnp.asarray(v)
            for k, v in enumerate(given)
        ]
        known[place] = [np.clip(v, -1, len(pool)) for v in _bound(equation, numbered)]
    store = np.array([*pool, ball(float("nan"))], dtype=object)  # the last one for entries out of bounds
    return [np.asarray(store[where], dtype=object) for where in known[place]]


def _data_inputs(name: str, count: int) -> set[int]:
    """Return which inputs of an operation hold entries, not indices."""
    return {"gather": {0}, "dynamic_slice": {0}, "dynamic_update_slice": {0, 1}, "scatter": {0, 2}}.get(
        name, set(range(count))
    )


def _reduced(fn: Callable[[Any, Any], Any], value: Any, axes: Any) -> Balls:
    kept = [k for k in range(value.ndim) if k not in axes]
    size = int(np.prod([value.shape[k] for k in axes], dtype=int))
    flat = np.transpose(value, [*kept, *axes]).reshape(-1, size)
    found = np.empty(len(flat), object)
    for k, row in enumerate(flat):
        total = row[0]
        for entry in row[1:]:
            total = fn(total, entry)
        found[k] = total
    return found.reshape(tuple(value.shape[k] for k in kept))


def _product(left: Balls, right: Balls, numbers: Any) -> Balls:
    """Return the contraction of two arrays of balls."""
    (contracted, batch) = numbers
    free = [[k for k in range(v.ndim) if k not in (*contracted[s], *batch[s])] for s, v in enumerate((left, right))]
    a = np.transpose(left, [*batch[0], *free[0], *contracted[0]])
    b = np.transpose(right, [*batch[1], *free[1], *contracted[1]])
    batches = a.shape[: len(batch[0])]
    outer = [[v.shape[k] for k in f] for v, f in ((left, free[0]), (right, free[1]))]
    size = int(np.prod([left.shape[k] for k in contracted[0]], dtype=int))
    a, b = (
        a.reshape(-1, int(np.prod(outer[0], dtype=int)), size),
        b.reshape(-1, int(np.prod(outer[1], dtype=int)), size),
    )
    zero = ball(0.0)
    found = np.empty((len(a), a.shape[1], b.shape[1]), object)
    for k, i, j in np.ndindex(*found.shape):
        found[k, i, j] = sum((x * y for x, y in zip(a[k, i], b[k, j], strict=True)), zero)
    return found.reshape([*batches, *outer[0], *outer[1]])
