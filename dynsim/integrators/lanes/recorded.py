"""The field of a flow for flat states, and the scalar operations of steps, from which kernels are written."""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from dynsim.integrators.lanes.brackets import Bracket, sampled
from dynsim.integrators.lanes.method import Lane, Settings, TrialStep, Walls, begun, stepped, within
from dynsim.integrators.lanes.rosenbrock import Rodas5P
from dynsim.programs import Program, ProgramError, scalar_program

LIMIT = 6000
"""Most scalar operations of a step: more take longer to compile than a kernel saves."""


class System(NamedTuple):
    """A flow or map, and the events that end its members, which has `directions`, `samples`, `values(flow, t, x)`."""

    flow: Any
    watch: Any = None


@dataclasses.dataclass(frozen=True)
class FlowForm:
    """What a system is but for the numbers in its arrays, with the shapes and the type of its state; forms compare.

    Attributes:
        tree: structure of the arrays of the system.
        arrays: shape and type of each.
        rest: structure of its other parts.
        others: these parts, and their types.
        state: structure of a state.
        shapes: the shapes of its arrays.
        dtype: their type.
    """

    tree: Any
    arrays: tuple[Any, ...]
    rest: Any
    others: tuple[Any, ...]
    state: Any
    shapes: tuple[tuple[int, ...], ...]
    dtype: np.dtype

    @property
    def size(self) -> int:
        """Number of entries of a state."""
        return sum(map(math.prod, self.shapes))

    @property
    def numbers(self) -> int:
        """Number of entries of the arrays."""
        return sum(math.prod(shape) for shape, _ in self.arrays)

    def system(self, leaves: Sequence[Any]) -> System:
        """Make the system with these arrays."""
        rest = jax.tree.unflatten(self.rest, [value for value, _ in self.others])
        return eqx.combine(jax.tree.unflatten(self.tree, list(leaves)), rest)

    def restored(self, y: Any) -> Any:
        """Make the state of a flat one (d,)."""
        ends = np.cumsum([math.prod(shape) for shape in self.shapes])[:-1].tolist()
        parts = jnp.split(y, ends)
        return jax.tree.unflatten(self.state, [a.reshape(b) for a, b in zip(parts, self.shapes, strict=True)])

    def velocity(self, system: System, t: Any, y: Any) -> Any:
        """Compute the velocity (d,) of a flat state."""
        moved = system.flow.vector_field(t, self.restored(y))
        return jnp.concatenate([jnp.ravel(part) for part in jax.tree.leaves(moved)])

    def values(self, system: System, t: Any, y: Any) -> Any:
        """Compute the values (events,) of the events at a flat state."""
        return system.watch.values(system.flow, t, self.restored(y)).astype(self.dtype)


def form_of(flow: Any, y0: Any, watch: Any = None, look: "Look | None" = None) -> FlowForm | str:
    """Take the numbers out of a flow or map, or say why forms cannot be compared or members not stepped in lanes.

    Args:
        flow: the flow or map.
        y0: the shapes and types of a state.
        watch: the events that end its members.
        look: finds the shape and the type of what becomes of a state, by default those of its velocity.
    """
    arrays, rest = eqx.partition(System(flow, watch), eqx.is_array)
    leaves, tree = jax.tree.flatten(arrays)
    others, form = jax.tree.flatten(rest)
    starts, structure = jax.tree.flatten(y0)
    types = {np.dtype(leaf.dtype) for leaf in starts}
    if len(types) != 1 or next(iter(types)).name not in ("float32", "float64"):
        return f"the state has the types {', '.join(sorted(t.name for t in types))}"
    given = tuple((leaf.shape, leaf.dtype) for leaf in leaves)
    typed = tuple((value, type(value)) for value in others)
    found = FlowForm(tree, given, form, typed, structure, tuple(leaf.shape for leaf in starts), types.pop())
    try:
        hash(found)
    except TypeError as error:
        return f"the flow has a part that cannot be compared ({error})"
    return _refused(found, _velocity if look is None else look) or found


Look = Callable[[FlowForm, list[Any]], Any]
"""Shape and type of what becomes of a state, from the shapes and types of a system's arrays; looks are compared."""


@functools.lru_cache(256)
def _refused(form: FlowForm, look: Look) -> str:
    """Say what is wrong with the velocity, or ""."""
    try:
        found = look(form, [jax.ShapeDtypeStruct(shape, kind) for shape, kind in form.arrays])
    except Exception as error:  # noqa: BLE001  (of the user's field: whoever solves it in another way says more)
        return f"the field cannot be traced ({type(error).__name__})"
    if found.shape != (form.size,) or found.dtype != form.dtype:
        return f"the velocity has shape {found.shape} and type {found.dtype}"
    return ""


def _velocity(form: FlowForm, arrays: list[Any]) -> Any:
    shaped = jax.ShapeDtypeStruct
    look = lambda leaves, t, y: form.velocity(form.system(leaves), t, y)
    return jax.eval_shape(look, arrays, shaped((), form.dtype), shaped((form.size,), form.dtype))


class Recorded(NamedTuple):
    """The programs of a method for one form of a flow.

    Attributes:
        begin: from a start (d,), the settings, the number of jumps before it and `Walls`, and the arrays of the flow to
            a `Lane`; without jumps there are no `Walls`.
        step: from a `Lane`, the settings, `Walls` and the arrays to the next `Lane` and the `TrialStep`.
        field: from a time, a state and the arrays to the velocity.
        inside: from a `TrialStep` and a time to the state (d,).
        look: from a `TrialStep`, a `Bracket`, a time and the arrays to the `Bracket` after this sample; None without
            events.
        form: the form.
        directions: the direction of each event.
        samples: number of samples of a step that are searched for events.
        jumping: whether the field jumps at given times.
    """

    begin: Program
    step: Program
    field: Program
    inside: Program
    look: Program | None
    form: FlowForm
    directions: tuple[int, ...] = ()
    samples: int = 0
    jumping: bool = False


def recorded(solver: Any, form: FlowForm, jumping: bool = False) -> Recorded:
    """Record the steps of a method for a form of a flow, once for equal ones.

    Args:
        solver: an explicit Runge-Kutta method with one tableau.
        form: the form; its floating-point arrays are taken in the type of the state.
        jumping: whether the field jumps at given times.

    Raises:
        ProgramError: for a field that is no list of scalar operations, or too long a list, or arrays of other types.
    """
    found = _recorded(solver, form, jumping)
    if isinstance(found, ProgramError):
        raise found
    return found


@functools.lru_cache(64)
def _recorded(solver: Any, form: FlowForm, jumping: bool) -> Recorded | ProgramError:
    stages, size, dtype = solver.tableau.num_stages, form.size, form.dtype
    if size * stages * stages > LIMIT:  # already the sums over stages
        return ProgramError(f"more than {LIMIT:,} operations in a step")
    try:
        check_types(form)
    except ProgramError as error:
        return error
    shaped = jax.ShapeDtypeStruct
    number, whole, flag = shaped((), dtype), shaped((), np.int32), shaped((), np.bool_)
    vector, ks = shaped((size,), dtype), shaped((stages, size), dtype)
    settings = Settings(number, number, number, number, number, whole)
    arrays = arrays_of(form)
    lane = Lane(number, number, vector, vector, whole, whole, whole, whole, flag, whole)
    walls = Walls(number, number) if jumping else None
    trial = TrialStep(flag, number, number, vector, vector, ks)
    field = lambda leaves: functools.partial(form.velocity, form.system(leaves))
    begin = lambda y, settings, passed, walls, leaves: begun(solver, field(leaves), y, settings, passed, walls)
    step = lambda lane, settings, walls, leaves: stepped(solver, field(leaves), lane, settings, walls)
    watch = form.system(arrays).watch
    directions, samples = (watch.directions, watch.samples) if watch else ((), 0)
    signs = shaped((len(directions),), dtype)
    bracket = Bracket(number, number, signs, whole, number, signs)

    def look(trial: TrialStep, bracket: Bracket, t: Any, leaves: Any) -> Bracket:
        values = form.values(form.system(leaves), t, within(solver, trial, t))
        return sampled(bracket, directions, t, values)

    derived = isinstance(solver, Rodas5P)  # derivatives have many products with zero
    try:
        return Recorded(
            scalar_program(begin, vector, settings, whole, walls, arrays, limit=LIMIT),
            scalar_program(step, lane, settings, walls, arrays, limit=LIMIT, drop_zeros=derived),
            scalar_program(lambda t, y, leaves: field(leaves)(t, y), number, vector, arrays, limit=LIMIT),
            scalar_program(lambda trial, t: within(solver, trial, t), trial, number, limit=LIMIT),
            scalar_program(look, trial, bracket, number, arrays, limit=LIMIT) if watch else None,
            form, directions, samples, jumping,
        )  # fmt: skip
    except ProgramError as error:
        return error


def check_types(form: FlowForm) -> None:
    """Raise `ProgramError` for arrays of types that kernels do not take: they get all in the type of the state."""
    exact = "fib" if form.dtype == np.float64 else "fb"
    if not all(isinstance(kind, np.dtype) and kind.kind in exact for _, kind in form.arrays):
        raise ProgramError("arrays of complex or whole numbers or random keys")


def arrays_of(form: FlowForm) -> list[jax.ShapeDtypeStruct]:
    """Shapes of the arrays of a system, with the types in which a kernel uses them."""
    return [jax.ShapeDtypeStruct(shape, in_type(kind, form.dtype)) for shape, kind in form.arrays]


def in_type(given: Any, dtype: np.dtype) -> np.dtype:
    """Type in which a kernel uses an array of a flow: floating-point numbers have the type of the state."""
    return dtype if np.dtype(given).kind == "f" else np.dtype(given)
