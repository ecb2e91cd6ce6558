"""Base classes of flows and maps, and flows and maps from a user's own function."""

import abc
import contextlib
import functools
import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from dynsim._core.types import State, Step, Time
from dynsim._core.user_code import untraceable
from dynsim._core.validation import function, instance, number, signature_of, times
from dynsim.errors import ArgumentError, reason, shown
from dynsim.spaces import AbstractSpace, Euclidean
from dynsim.systems.angles import with_angles
from dynsim.systems.named import declared, declared_parameters

MISFITS = ("unpack", "0-d array", "indices", "out of bounds", "ncompatible shapes", "could not be broadcast")
"""Words in which Python, NumPy and JAX say that a state has another number of components than a function takes."""

ARRAY = jax.Array | np.ndarray | np.generic
"""Arrays of JAX and NumPy, and NumPy's scalars."""


def as_space(space: AbstractSpace | None) -> AbstractSpace:
    """The given space, or Euclidean space for None; raise `ValueError` for anything else."""
    return Euclidean() if space is None else instance("space", space, AbstractSpace, "a space such as `Sphere()`")


def _explained(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of time and state, whose errors say in one sentence if it cannot take the state.

    Errors of the functions of a user, and of states that are traced, are left to their callers.
    """
    state = [*inspect.signature(method).parameters][2]

    @functools.wraps(method)
    def explained(self: Any, t: Any, *given: Any, **named: Any) -> Any:
        try:
            return method(self, t, *given, **named)
        except (TypeError, ValueError, LookupError, AttributeError) as error:
            leaves = jax.tree.leaves((*given[:1], *named.values()), is_leaf=lambda leaf: leaf is None)
            if isinstance(error, ArgumentError) or any(isinstance(leaf, Tracer) for leaf in leaves):
                raise
            if not all(isinstance(leaf, ARRAY) and leaf.dtype.kind in "biufc" for leaf in leaves):
                odd = shown((*given, *named.values())[0])
                raise ArgumentError(
                    state, "be an array of numbers, or a named tuple of such arrays", f"is {odd}"
                ) from None
            if isinstance(self, FunctionFlow | FunctionMap):
                raise
            shapes = ", ".join(f"{leaf.dtype} of shape {leaf.shape}" for leaf in leaves)
            must = f"be a state that this {type(self).__name__} takes"
            raise ArgumentError(state, must, f"is {shapes} ({reason(error)})") from error

    return explained


def _explain(system: type, *names: str) -> None:
    """Let the methods of a class explain which states they cannot take."""
    for name in names:
        if name in vars(system):
            setattr(system, name, _explained(vars(system)[name]))


class AbstractFlow(eqx.Module):
    """A system in continuous time, x' = velocity(t, x), on `space`.

    `names` and `units` label the components of the state, or the columns of a matrix, in axes and tables.
    """

    space: eqx.AbstractVar[AbstractSpace]
    names: ClassVar[Sequence[str]] = ()
    units: ClassVar[Sequence[str]] = ()
    time_unit: ClassVar[str] = ""

    def __init_subclass__(cls, **options: Any):
        super().__init_subclass__(**options)
        _explain(cls, "velocity", "vector_field")

    @abc.abstractmethod
    def velocity(self, t: Time, x: State) -> State:
        """The right-hand side as printed in the paper at a point `x` of the space, not necessarily tangent."""

    @_explained
    def vector_field(self, t: Time, y: State, args: Any = None) -> State:
        """The tangent component of `velocity` at the projected point, defined on the whole ambient space.

        It is computed in the precision of the state: time and parameters are cast to it.
        """
        flow, t = in_precision_of(y, (self, t))
        x = flow.space.project(y)
        return flow.space.tangent(x, in_types_of(x, flow.velocity(t, x)))

    def pulls(self, t: Time, x: State) -> np.ndarray:
        """Contribution of particle j to the velocity of particle i, shape (n, n, d), as a NumPy array.

        Empty, with shape (0, 0, 0), unless the flow is a sum of pairwise interactions in which a particle does not act
        on itself. `settle` uses it to measure how fast clusters merge when rounding makes them appear at rest.
        """
        return np.empty((0, 0, 0))

    def breakpoints(self, t0: float, t1: float) -> np.ndarray:
        """Times strictly between `t0` and `t1` at which the vector field jumps."""
        return np.empty(0)

    def step_limit(self) -> float:
        """Longest step that cannot miss an oscillation of the vector field, in the flow's time unit."""
        return math.inf

    def check_horizon(self, t0: float, t1: float) -> None:
        """Raise `ValueError` if the vector field is not defined on all of [t0, t1]."""


class AbstractMap(eqx.Module):
    """A system in discrete time, x <- step(k, x).

    `names` and `units` label the components of the state in axes and tables.
    """

    space: eqx.AbstractVar[AbstractSpace]
    names: ClassVar[Sequence[str]] = ()
    units: ClassVar[Sequence[str]] = ()
    # True if `step` uses NumPy or exact arithmetic, not JAX; `iterate` then loops in Python
    on_host: ClassVar[bool] = False

    def __init_subclass__(cls, **options: Any):
        super().__init_subclass__(**options)
        _explain(cls, "step", "image")

    @abc.abstractmethod
    def step(self, k: Step, x: State) -> State:
        """State after step `k`, evaluated without a solver."""

    @_explained
    def image(self, k: Step, x: State) -> State:
        """The state after step `k`, computed in the precision of `x`: parameters are cast to it."""
        return in_types_of(x, in_precision_of(x, self).step(k, x))


def _like(x: State, v: Any, name: str) -> State:
    """The result of a user's function in the dtypes of the state; raise `ValueError` for another shape."""
    if isinstance(v, list | tuple) and hasattr(x, "shape"):  # SciPy accepts lists and tuples, so users return them
        v = stacked(v)
    shapes = [jax.tree.map(jnp.shape, s) for s in (x, v)]
    if shapes[0] != shapes[1]:
        raise ArgumentError(name, f"return the shape of its state, {shapes[0]}", f"returns {shapes[1]}")
    return in_types_of(x, v)


def in_types_of(x: State, v: Any) -> Any:
    """Velocities, or a next state, in the dtypes of a state; unchanged where the structures differ."""
    if jax.tree.structure(x) != jax.tree.structure(v):
        return v
    return jax.tree.map(_in_type, x, v)


def in_precision_of(x: State, system: Any) -> Any:
    """A system, or any tree of arrays, with its real arrays cast to the dtype of a state that is not in float64.

    A system in float64 would promote such a state to float64. Integers, random keys and numbers that are static, or
    held by a function, are left as they are.
    """
    found = {leaf.dtype for leaf in jax.tree.leaves(x) if _is_real(leaf)}
    if len(found) != 1 or found == {np.dtype(float)}:
        return system
    dtype = found.pop()
    return jax.tree.map(lambda leaf: leaf.astype(dtype) if _is_real(leaf) else leaf, system)


def _is_real(leaf: Any) -> bool:
    return isinstance(leaf, ARRAY) and jnp.issubdtype(leaf.dtype, jnp.floating)


def stacked(parts: Sequence[Any]) -> Any:
    """Components that a user's function returns one by one, as one array: of JAX if any of them is."""
    if any(isinstance(part, jax.Array) for part in parts):
        return jnp.stack([jnp.asarray(part) for part in parts])
    return np.stack([np.asarray(part) for part in parts]) if parts else np.empty(0)


@contextlib.contextmanager
def jax_errors() -> Iterator[None]:
    """Raise JAX's own error where NumPy hides it, as it does for `out[0] = x[0]` with `out` in NumPy and `x` traced."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if isinstance(error.__cause__, jax.errors.JAXTypeError):
            raise error.__cause__.with_traceback(error.__traceback__) from None
        raise


def _evaluated(name: str, function: Callable[..., Any], t: Any, x: State, parameters: dict[str, jax.Array]) -> Any:
    """The value of a user's function; the error names the state's shape if the function takes another number of parts.

    Raises:
        ArgumentError: for a function that indexes or unpacks a state which has fewer or more components.
    """
    try:
        with jax_errors():
            return function(t, x, **parameters)
    except jax.errors.JAXTypeError as error:
        error.add_note(f"In {name}: {untraceable(error)}.")
        raise
    except (IndexError, TypeError, ValueError) as error:
        said = reason(error)
        if not any(words in said for words in MISFITS):
            raise
        shapes = jax.tree.map(jnp.shape, x)
        must = f"take the state that it is given, of shape {shapes}"
        raise ArgumentError(name, must, f"raises {type(error).__name__}: {said}") from error


def _in_type(x: Any, v: Any) -> Any:
    """Real numbers cast to the dtype of a state in floating point, because parameters are in double precision."""
    if not jnp.issubdtype(jnp.result_type(x), jnp.floating):
        return v
    if not hasattr(v, "dtype"):
        return jnp.asarray(v, x.dtype)
    return v if v.dtype == x.dtype or jnp.iscomplexobj(v) else v.astype(x.dtype)


def _taking(name: str, fn: Any, parameters: dict[str, jax.Array]) -> dict[str, jax.Array]:
    """Check that a function takes its parameters by name, after time and state, and return them."""
    taken = signature_of(fn)
    try:
        taken.bind(None, None, **parameters)
        first, second = [*taken.parameters, "", ""][:2]
        if second in ("t", "k") and first not in ("self", "t", "k"):
            raise ArgumentError(name, "take time first, then the state", f"takes ({first}, {second})")
    except TypeError as error:
        must = f"take time, state and {', '.join(parameters) or 'nothing else'}"
        needed = [one for one in needed_arguments(fn) if one not in parameters]
        advice = f"; `parameters` gives values to {', '.join(needed)}" if needed else ""
        raise ArgumentError(name, must, f"does not ({reason(error)}{advice})") from None
    return parameters


def needed_arguments(function: Callable[..., Any]) -> list[str]:
    """List the arguments of a function after time and state that have no default."""
    arguments = [*signature_of(function).parameters.values()][2:]
    named = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    return [one.name for one in arguments if one.kind in named and one.default is one.empty]


class Switched(eqx.Module):
    """A function with some boolean arguments fixed, so that it may branch on them with `if`."""

    function: Callable[..., Any]
    arguments: tuple[tuple[str, bool], ...] = eqx.field(static=True)

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        """The function itself, for its signature and source line."""
        return self.function

    def __call__(self, *args: Any, **parameters: Any) -> Any:
        """The value of the function with the fixed arguments filled in."""
        return self.function(*args, **dict(self.arguments), **parameters)


class FunctionFlow(AbstractFlow):
    r"""A flow from your own right-hand side, $\dot x = f(t, x)$ on a space.

    `rhs` may be a plain function or a callable PyTree, whose arrays are parameters. It need not be tangent.

    Example:
        >>> import dynsim as ds
        >>> import jax.numpy as jnp
        >>> flow = ds.FunctionFlow(lambda t, x, rate: -rate * x, parameters={"rate": 2.0})
        >>> flow.vector_field(0.0, jnp.array([1.0, 3.0])).tolist()
        [-2.0, -6.0]
    """

    rhs: Callable[..., State]
    space: AbstractSpace
    parameters: dict[str, jax.Array]
    breaks: tuple[float, ...] = eqx.field(static=True)
    fastest_period: float = eqx.field(static=True)
    names: tuple[str, ...] = eqx.field(static=True)
    units: tuple[str, ...] = eqx.field(static=True)
    time_unit: str = eqx.field(static=True)

    def __init__(
        self,
        rhs: Any,  # the type is checked here, with one sentence
        space: AbstractSpace | None = None,
        *,
        breaks: Sequence[float] = (),
        fastest_period: float = math.inf,
        names: Sequence[str] = (),
        units: Sequence[str] = (),
        time_unit: str = "",
        periods: Any = None,
        parameters: Mapping[str, Any] | None = None,
    ):
        """Store the function, its space and parameters, and what a solver must know of its time dependence.

        Args:
            rhs: the right-hand side, called as `rhs(t, x, **parameters)`.
            space: the state space; Euclidean by default.
            breaks: times at which the right-hand side jumps, in its time unit, so that no solver steps over a pulse.
                Jumps where time and parameters are compared (`jnp.where(t > 50, ...)`, `jnp.mod(t, 5.0) < w`, `floor`,
                `sign`, `clip`) and the knots of `jnp.interp` are found without it, also in functions for NumPy unless
                they depend on the state. It is needed for short smooth pulses, and for others that last for less than
                1/4096 of the run where `math` hides them, unless `longest_step` of the integrator is shorter.
            fastest_period: shortest period of its time dependence, in its time unit; steps are limited to half of it.
            names: names of the components of the state.
            units: units of the components of the state.
            time_unit: the unit of time.
            periods: the components that are angles, by name or index, with their periods: `{"theta": 2 * np.pi}`. They
                make a `Cylinder` of the space. For a state that is a named tuple, give `space=Product(...)` instead.
            parameters: numbers or arrays that are passed to `rhs` by name.
        """
        self.rhs = function("rhs", rhs, "(t, x)", None)
        self.breaks = times("breaks", breaks)
        self.fastest_period = number("fastest_period", fastest_period, infinite=True)
        self.names, self.units = declared("names", names), declared("units", units)
        self.space = with_angles(as_space(space), self.names, {} if periods is None else periods)
        self.time_unit = instance("time_unit", time_unit, str, "a word")
        self.parameters = _taking("rhs", rhs, declared_parameters({} if parameters is None else parameters))

    def velocity(self, t: Time, x: State) -> State:
        """The value of `rhs(t, x)`, with the parameters filled in."""
        return _like(x, _evaluated("rhs", self.rhs, t, x, self.parameters), "rhs")

    def breakpoints(self, t0: float, t1: float) -> np.ndarray:
        """The given `breaks` strictly between `t0` and `t1`."""
        return np.array([b for b in self.breaks if t0 < b < t1])

    def step_limit(self) -> float:
        """Longest step for a solver: half of the fastest period."""
        return self.fastest_period / 2


class FunctionMap(AbstractMap):
    """A map from your own function, x <- step_function(k, x).

    Example:
        >>> import dynsim as ds
        >>> import jax.numpy as jnp
        >>> logistic = ds.FunctionMap(lambda k, x, r: r * x * (1 - x), parameters={"r": 4.0})
        >>> logistic.step(0, jnp.array([0.5])).tolist()
        [1.0]
    """

    step_function: Callable[..., State]
    space: AbstractSpace
    parameters: dict[str, jax.Array]
    names: tuple[str, ...] = eqx.field(static=True)
    units: tuple[str, ...] = eqx.field(static=True)

    def __init__(
        self,
        step_function: Callable[..., State],
        space: AbstractSpace | None = None,
        *,
        names: Sequence[str] = (),
        units: Sequence[str] = (),
        periods: Any = None,
        parameters: Mapping[str, Any] | None = None,
    ):
        """Store the function, its space, names, units and periods of the components, and parameters passed by name.

        `periods` names the components that are angles, as for `FunctionFlow`.
        """
        self.step_function = function("step_function", step_function, "(k, x)", None)
        self.names, self.units = declared("names", names), declared("units", units)
        self.space = with_angles(as_space(space), self.names, {} if periods is None else periods)
        self.parameters = _taking(
            "step_function", step_function, declared_parameters({} if parameters is None else parameters)
        )

    def step(self, k: Step, x: State) -> State:
        """The value of `step_function(k, x)`, with the parameters filled in."""
        after = _evaluated("step_function", self.step_function, k, x, self.parameters)
        return _like(x, after, "step_function")
