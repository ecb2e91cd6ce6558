"""Functions of JAX evaluated in ball arithmetic: every result encloses the exact one. Needs python-flint.

The function is traced once, and its program, a jaxpr, is recorded as a list of scalar operations, which are then
applied to balls or to Taylor series. Floating-point constants count as the binary fractions that they are.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import jax
import jax.extend.core
import jax.numpy as jnp
import numpy as np

from analysis.dynamics.validated.ball_operations import ENTRYWISE, REDUCED, ball, flint, may_jump, power
from dynsim.errors import ArgumentError

Balls = Any
"""A NumPy array of objects, balls of python-flint or Taylor series of balls."""

MOVES = (
    "broadcast_in_dim", "reshape", "squeeze", "transpose", "slice", "concatenate", "pad", "rev", "gather", "copy",
    "dynamic_slice", "dynamic_update_slice", "scatter", "expand_dims", "copy_p", "split", "stack", "unstack", "tile",
)  # fmt: skip
"""Primitives that move entries and compute nothing."""
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
NUMBERS_ONLY = {"iota", "is_finite", "rem", "argmax", "argmin", "floor", "ceil", "round", "sort"}
"""Primitives that have no enclosure, and which the message names as operations of the state."""


def balls(values: Any) -> Balls:
    """Return an array of floating-point numbers as balls of radius zero."""
    array = np.asarray(values, float)
    return entries((ball(float(v)) for v in array.ravel()), array.shape)


def entries(values: Any, shape: tuple[int, ...]) -> Balls:
    """Return values as an array of objects: NumPy would take a series for an array of its coefficients."""
    listed = list(values)
    return np.fromiter(listed, object, len(listed)).reshape(shape)


class BallFunction:
    """A function of one vector in JAX, and its Jacobian, in ball arithmetic, and for Taylor series of balls.

    Where a function branches within a box, both are enclosed on all sides; a series must not branch.
    """

    def __init__(self, fn: Callable[[Any], Any], size: int):
        """Trace the function of vectors of this size and its Jacobian.

        Raises:
            ValueError: if the function uses what ball arithmetic cannot enclose, named.
            UnavailableError: without python-flint.
        """
        flint()
        example = jnp.zeros(size)
        self._values, self._slopes = (
            _recorded(jax.make_jaxpr(f)(example), size, fold) for f, fold in ((fn, False), (jax.jacfwd(fn), True))
        )

    def __call__(self, x: Balls) -> Balls:
        """Return what encloses the values at every point of a box."""
        return entries(self.values(x), self._values.outputs.shape)

    def may_jump(self, x: Balls) -> bool:
        """Return whether the function may jump within a box, where its derivatives say nothing about its changes."""
        return any(may_jump(*step) for step in self._values.taken([*x, *self._values.constants]))

    def jacobian(self, x: Balls) -> Balls:
        """Return what encloses the derivatives at every point of a box; see `may_jump`."""
        return entries(self.slopes(x), self._slopes.outputs.shape)

    def values(self, x: Iterable[Any]) -> list[Any]:
        """Return the entries of the values for balls or for Taylor series."""
        return self._values.run(x)

    def slopes(self, x: Iterable[Any]) -> list[Any]:
        """Return the entries of the derivatives, row by row, for balls or for Taylor series."""
        return self._slopes.run(x)


class _Program(NamedTuple):
    """Scalar operations in order: each takes entries by their numbers, inputs and constants first, and adds one."""

    constants: list[Any]
    steps: list[tuple[Callable[..., Any], tuple[int, ...]]]
    outputs: np.ndarray

    def run(self, x: Iterable[Any]) -> list[Any]:
        """Return the outputs as a list."""
        known = [*x, *self.constants]
        for _ in self.taken(known):
            pass
        return [known[k] for k in self.outputs.ravel().tolist()]

    def taken(self, known: list[Any]) -> Iterator[tuple[Callable[..., Any], list[Any], Any]]:
        """Add results to `known`, the inputs and constants, and yield each operation, its entries and its result."""
        for fn, places in self.steps:
            arguments = [known[k] for k in places]
            known.append(fn(*arguments))
            yield fn, arguments, known[-1]


class _Entries(NamedTuple):
    """An array that depends on the state: the numbers of its entries."""

    where: np.ndarray


class _Recorder:
    """The operations recorded so far. Equal ones are recorded once."""

    def __init__(self, size: int, fold: bool):
        self.size, self.fold = size, fold
        self.operations: list[tuple[str, Callable[..., Any] | None, tuple[int, ...]]] = [("input", None, ())] * size
        self.numbers: dict[int, Any] = {}
        self.seen: dict[Any, int] = {}

    def constant(self, value: Any) -> int:
        """Return the number of a constant: a truth value or a floating-point number."""
        value = bool(value) if isinstance(value, bool | np.bool_) else float(value)
        key = ("constant", repr(value))
        if key not in self.seen:
            self.seen[key] = len(self.operations)
            self.numbers[len(self.operations)] = value
            self.operations.append(("constant", None, ()))
        return self.seen[key]

    def placed(self, value: Any) -> np.ndarray:
        """Return the numbers of the entries of an array."""
        if isinstance(value, _Entries):
            return value.where
        array = np.asarray(value)
        return np.array([self.constant(v) for v in array.ravel()], int).reshape(array.shape)

    def apply(self, name: str, *places: int, fn: Callable[..., Any] | None = None, key: Any = None) -> int:
        """Return the number of the result of an operation; sums with 0 and products with 1 are not recorded.

        In derivatives, neither are products with 0: another entry has the same factor without it.
        """
        given = [self.numbers.get(k) for k in places]
        if name in ("add", "add_any", "mul") and len(places) == 2:
            neutral = 1.0 if name == "mul" else 0.0
            for k in (0, 1):
                if given[k] == neutral and not isinstance(given[k], bool):
                    return places[1 - k]
                if self.fold and name == "mul" and given[k] == 0.0 and not isinstance(given[k], bool):
                    return self.constant(0.0)
        if name == "sub" and given[1] == 0.0 and not isinstance(given[1], bool):
            return places[0]
        found = (name, key, places)
        if found not in self.seen:
            self.seen[found] = len(self.operations)
            self.operations.append((name, fn or ENTRYWISE[name], places))
        return self.seen[found]

    def program(self, outputs: np.ndarray) -> _Program:
        """Return the program of the operations that the outputs need."""
        needed = np.zeros(len(self.operations), bool)
        needed[outputs.ravel()] = True
        for k in range(len(self.operations) - 1, self.size - 1, -1):
            if needed[k]:
                needed[list(self.operations[k][2])] = True
        constants = [k for k in self.numbers if needed[k]]
        steps = [k for k, (name, *_) in enumerate(self.operations) if needed[k] and name not in ("input", "constant")]
        order = [*range(self.size), *constants, *steps]
        new = {old: k for k, old in enumerate(order)}
        values = [v if isinstance(v := self.numbers[k], bool) else ball(v) for k in constants]
        made = [(self.operations[k][1], tuple(new[j] for j in self.operations[k][2])) for k in steps]
        places = np.array([new[k] for k in outputs.ravel()], int).reshape(outputs.shape)
        return _Program(values, made, places)  # pyright: ignore[reportArgumentType]


def _recorded(program: Any, size: int, fold: bool) -> _Program:
    """Return the scalar operations of a traced function of one vector."""
    recorder = _Recorder(size, fold)
    found = _walk(recorder, program.jaxpr, program.consts, [_Entries(np.arange(size))])
    return recorder.program(recorder.placed(found[0]))


def _unsupported(name: str) -> ArgumentError:
    said = f"{name} of the state" if name in NUMBERS_ONLY else name
    return ArgumentError("flow", "use only operations that ball arithmetic can enclose", f"uses `{said}`")


def _inner(equation: Any) -> Any:
    """Return the program that an equation calls, with its constants, or None."""
    if equation.primitive.name not in CALLS:
        return None
    for name in ("jaxpr", "call_jaxpr", "fun_jaxpr"):
        if name in equation.params:
            return equation.params[name]
    return None


def _walk(recorder: _Recorder, program: Any, constants: Any, arguments: list[Any]) -> list[Any]:
    """Return the outputs of a program: entries that depend on the state, or numbers."""
    values: dict[Any, Any] = dict(zip(program.constvars, [np.asarray(c) for c in constants], strict=True))
    values.update(zip(program.invars, arguments, strict=True))
    read = lambda variable: np.asarray(variable.val) if hasattr(variable, "val") else values[variable]
    for equation in program.eqns:
        name, given = equation.primitive.name, [read(v) for v in equation.invars]
        inner = _inner(equation)
        if inner is not None:
            closed = hasattr(inner, "jaxpr")
            found = _walk(recorder, inner.jaxpr if closed else inner, inner.consts if closed else (), given)
        elif not any(isinstance(v, _Entries) for v in given):
            found = _bound(equation, [jnp.asarray(v) for v in given])
        elif name == "scan":
            found = _scanned(recorder, equation.params, given)
        elif name in MOVES:
            found = _moved(recorder, equation, given)
        else:
            found = [_Entries(_applied(recorder, equation, given))]
        values.update(zip(equation.outvars, found, strict=True))
    return [read(v) for v in program.outvars]


def _bound(equation: Any, given: list[Any]) -> list[np.ndarray]:
    found = equation.primitive.bind(*given, **equation.params)
    return [np.asarray(v) for v in (found if equation.primitive.multiple_results else [found])]


def _applied(recorder: _Recorder, equation: Any, given: list[Any]) -> np.ndarray:
    """Return the entries of the output of one operation on the state."""
    name, params = equation.primitive.name, equation.params
    places = [recorder.placed(v) for v in given]
    if name in REDUCED:
        return _reduced(recorder, REDUCED[name], places[0], params["axes"])
    if name == "dot_general":
        return _product(recorder, places[0], places[1], params["dimension_numbers"])
    if name == "integer_pow":
        exponent = params["y"]
        raised = lambda a: power(a, exponent)
        return _mapped(lambda k: recorder.apply(name, k, fn=raised, key=exponent), places[0])
    if name not in ENTRYWISE:
        raise _unsupported(name)
    return _mapped(lambda *parts: recorder.apply(name, *parts), *np.broadcast_arrays(*places))


def _mapped(fn: Callable[..., int], *parts: np.ndarray) -> np.ndarray:
    found = [fn(*(int(k) for k in one)) for one in zip(*(p.ravel() for p in parts), strict=True)]
    return np.array(found, int).reshape(parts[0].shape)


def _moved(recorder: _Recorder, equation: Any, given: list[Any]) -> list[_Entries]:
    """Return entries where the operation moves them: it is applied to their numbers."""
    data = {"gather": {0}, "dynamic_slice": {0}, "dynamic_update_slice": {0, 1}, "scatter": {0, 2}}.get(
        equation.primitive.name, set(range(len(given)))
    )
    if any(isinstance(v, _Entries) for k, v in enumerate(given) if k not in data):
        raise _unsupported(f"{equation.primitive.name} at an index that depends on the state")
    numbered = [jnp.asarray(recorder.placed(v) if k in data else v) for k, v in enumerate(given)]
    outside, count = recorder.constant(float("nan")), len(recorder.operations)
    moved = _bound(equation, numbered)
    return [_Entries(np.where((v >= 0) & (v < count), v, outside)) for v in moved]  # fills of entries out of bounds


def _reduced(recorder: _Recorder, name: str, value: np.ndarray, axes: Any) -> np.ndarray:
    kept = [k for k in range(value.ndim) if k not in axes]
    size = math.prod([value.shape[k] for k in axes])
    flat = np.transpose(value, [*kept, *axes]).reshape(-1, size)
    found = [_chain(recorder, name, [int(k) for k in row]) for row in flat]
    return np.array(found, int).reshape(tuple(value.shape[k] for k in kept))


def _chain(recorder: _Recorder, name: str, places: list[int]) -> int:
    total = places[0]
    for k in places[1:]:
        total = recorder.apply(name, total, k)
    return total


def _product(recorder: _Recorder, left: np.ndarray, right: np.ndarray, numbers: Any) -> np.ndarray:
    """Return the contraction of two arrays."""
    contracted, batch = numbers
    free = [[k for k in range(v.ndim) if k not in (*contracted[s], *batch[s])] for s, v in enumerate((left, right))]
    a = np.transpose(left, [*batch[0], *free[0], *contracted[0]])
    b = np.transpose(right, [*batch[1], *free[1], *contracted[1]])
    batches = a.shape[: len(batch[0])]
    outer = [[v.shape[k] for k in f] for v, f in ((left, free[0]), (right, free[1]))]
    size = math.prod([left.shape[k] for k in contracted[0]])
    rows, columns = (math.prod(shape) for shape in outer)
    a, b = a.reshape(-1, rows, size), b.reshape(-1, columns, size)
    found = np.empty((len(a), rows, columns), int)
    for k, i, j in np.ndindex(*found.shape):
        terms = [recorder.apply("mul", int(x), int(y)) for x, y in zip(a[k, i], b[k, j], strict=True)]
        found[k, i, j] = _chain(recorder, "add", [recorder.constant(0.0), *terms])
    return found.reshape([*batches, *outer[0], *outer[1]])


def _scanned(recorder: _Recorder, params: dict[str, Any], given: list[Any]) -> list[Any]:
    """Return the carry and the stacked outputs of a scan, whose passes are recorded one after the other."""
    inner, fixed, carried = params["jaxpr"], params["num_consts"], params["num_carry"]
    constants, carry, rows = given[:fixed], given[fixed : fixed + carried], given[fixed + carried :]
    at = lambda v, k: _Entries(v.where[k]) if isinstance(v, _Entries) else v[k]
    passes = []
    turns = range(params["length"])
    for k in reversed(turns) if params["reverse"] else turns:
        found = _walk(recorder, inner.jaxpr, inner.consts, [*constants, *carry, *(at(v, k) for v in rows)])
        carry = found[:carried]
        passes.append(found[carried:])
    passes = passes[::-1] if params["reverse"] else passes
    stacked = [_Entries(np.stack([recorder.placed(v) for v in parts])) for parts in zip(*passes, strict=True)]
    return [*carry, *stacked]
