"""Base classes of flows and maps, and flows and maps made of a user's own function."""

import abc
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from dynsim._core.types import State, Step, Time
from dynsim._core.validation import function, instance, number, times
from dynsim.errors import ArgumentError, reason
from dynsim.spaces import AbstractSpace, Euclidean
from dynsim.systems.named import declared, declared_parameters


def as_space(space: AbstractSpace | None) -> AbstractSpace:
    """Return a space, by default the Euclidean one; raise `ValueError` for anything else."""
    return Euclidean() if space is None else instance("space", space, AbstractSpace, "a space such as `Sphere()`")


class AbstractFlow(eqx.Module):
    """A system in continuous time, x' = velocity(t, x) on `space`.

    `names` and `units` are those of the components of its state, or of a matrix' columns, for axes and tables.
    """

    space: eqx.AbstractVar[AbstractSpace]
    names: ClassVar[Sequence[str]] = ()
    units: ClassVar[Sequence[str]] = ()
    time_unit: ClassVar[str] = ""

    @abc.abstractmethod
    def velocity(self, t: Time, x: State) -> State:
        """Return the paper's right-hand side at the point `x` of the space, tangent or not."""

    def vector_field(self, t: Time, y: State, args: Any = None) -> State:
        """Return `velocity`, made tangent and extended to the ambient space along `project`."""
        del args
        x = self.space.project(y)
        return self.space.tangent(x, self.velocity(t, x))

    def pulls(self, t: Time, x: State) -> np.ndarray:
        """Return the part of particle i's velocity that is due to particle j, shape (n, n, d), in NumPy.

        Empty, shape (0, 0, 0), for a flow that is no such sum of pairwise interactions, or whose particles move without
        others. `settle` finds in it how fast clusters merge that rounding lets appear at rest.
        """
        del t, x
        return np.empty((0, 0, 0))

    def breakpoints(self, t0: float, t1: float) -> np.ndarray:
        """Return the times strictly between `t0` and `t1` at which the field jumps."""
        del t0, t1
        return np.empty(0)

    def step_limit(self) -> float:
        """Return the longest step that cannot miss an oscillation of the field, in the flow's time unit."""
        return math.inf

    def check_horizon(self, t0: float, t1: float) -> None:
        """Raise `ValueError` if the field is not defined on all of [t0, t1]."""


class AbstractMap(eqx.Module):
    """A system in discrete time, x <- step(k, x); `names` and `units` are those of the components of its state."""

    space: eqx.AbstractVar[AbstractSpace]
    names: ClassVar[Sequence[str]] = ()
    units: ClassVar[Sequence[str]] = ()
    on_host: ClassVar[bool] = False  # True: `step` is NumPy or exact arithmetic, and `iterate` loops over it

    @abc.abstractmethod
    def step(self, k: Step, x: State) -> State:
        """Return the state after layer `k`, exactly as the map gives it."""


def _like(x: State, v: Any, name: str) -> State:
    """Return what a user's function returned, in the types of the state; raise `ValueError` for another shape."""
    if isinstance(v, list) and not isinstance(x, list):  # as SciPy takes it
        v = jnp.stack([jnp.asarray(part) for part in v])
    shapes = [jax.tree.map(jnp.shape, s) for s in (x, v)]
    if shapes[0] != shapes[1]:
        raise ArgumentError(name, f"return the shape of its state, {shapes[0]}", f"returns {shapes[1]}")
    return jax.tree.map(_in_type, x, v)


def _in_type(x: Any, v: Any) -> Any:
    """Return real numbers in the type of a state: parameters are of double precision."""
    if not hasattr(v, "dtype"):
        return jnp.asarray(v, x.dtype)
    return v if v.dtype == x.dtype or jnp.iscomplexobj(v) else v.astype(x.dtype)


def _taking(name: str, fn: Any, parameters: dict[str, jax.Array]) -> dict[str, jax.Array]:
    """Return parameters; raise `ValueError` unless a function takes them by name, after time and state."""
    try:
        taken = inspect.signature(fn)
    except (TypeError, ValueError):  # what is written in C may have no signature
        return parameters
    try:
        taken.bind(None, None, **parameters)
        first, second = [*taken.parameters, "", ""][:2]
        if second in ("t", "k") and first not in ("self", "t", "k"):
            raise ArgumentError(name, "take time first, then the state", f"takes ({first}, {second})")
    except TypeError as error:
        must = f"take time, state and {', '.join(parameters) or 'nothing else'}"
        others = [one.name for one in [*taken.parameters.values()][2:] if one.name not in parameters]
        needed = [one for one in others if taken.parameters[one].default is inspect.Parameter.empty]
        advice = f"; `parameters` gives values to {', '.join(needed)}" if needed else ""
        raise ArgumentError(name, must, f"does not ({reason(error)}{advice})") from None
    return parameters


class Switched(eqx.Module):
    """A function with some of its arguments turned on or off, which are no parameters: `if` may ask for them."""

    function: Callable[..., Any]
    arguments: tuple[tuple[str, bool], ...] = eqx.field(static=True)

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        """The function itself, in which its signature and its line are looked for."""
        return self.function

    def __call__(self, *args: Any, **parameters: Any) -> Any:
        """Return what the function returns."""
        return self.function(*args, **dict(self.arguments), **parameters)


class FunctionFlow(AbstractFlow):
    r"""A flow from a right-hand side of your own, $\dot x = f(t, x)$ on a space.

    `rhs` may be a plain function or a callable PyTree (its arrays are parameters). It need not be tangent. `breaks` are
    the times at which it jumps, `fastest_period` its fastest period, both in its own time unit. `names` and `units` are
    those of the components of the state, `time_unit` that of time. `parameters` are handed to `rhs` by name.
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
        rhs: Any,  # checked here, in one sentence
        space: AbstractSpace | None = None,
        *,
        breaks: Sequence[float] = (),
        fastest_period: float = math.inf,
        names: Sequence[str] = (),
        units: Sequence[str] = (),
        time_unit: str = "",
        parameters: Mapping[str, Any] | None = None,
    ):
        """Store the function, its space, names and parameters, and what a solver must know of its time dependence."""
        self.rhs = function("rhs", rhs, "(t, x)", None)
        self.space = as_space(space)
        self.breaks = times("breaks", breaks)
        self.fastest_period = number("fastest_period", fastest_period, infinite=True)
        self.names, self.units = declared("names", names), declared("units", units)
        self.time_unit = instance("time_unit", time_unit, str, "a word")
        self.parameters = _taking("rhs", rhs, declared_parameters({} if parameters is None else parameters))

    def velocity(self, t: Time, x: State) -> State:
        """Return `rhs(t, x)`, with the parameters if there are any."""
        return _like(x, self.rhs(t, x, **self.parameters), "rhs")

    def breakpoints(self, t0: float, t1: float) -> np.ndarray:
        """Return the given `breaks` inside (t0, t1)."""
        return np.array([b for b in self.breaks if t0 < b < t1])

    def step_limit(self) -> float:
        """Return half of the fastest period."""
        return self.fastest_period / 2


class FunctionMap(AbstractMap):
    """A map from a function of your own, x <- step_function(k, x)."""

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
        parameters: Mapping[str, Any] | None = None,
    ):
        """Store the function, its space, the names and units of components, and parameters, which it takes by name."""
        self.step_function = function("step_function", step_function, "(k, x)", None)
        self.space = as_space(space)
        self.names, self.units = declared("names", names), declared("units", units)
        self.parameters = _taking(
            "step_function", step_function, declared_parameters({} if parameters is None else parameters)
        )

    def step(self, k: Step, x: State) -> State:
        """Return `step_function(k, x)`, with the parameters if there are any."""
        return _like(x, self.step_function(k, x, **self.parameters), "step_function")
