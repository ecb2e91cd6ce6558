"""Vector fields that jump on surfaces of states: smooth pieces, and the functions whose zeros are the surfaces.

Comparisons, `sign`, `floor`, `ceil`, `round` and remainders of the state select the piece. `abs`, `max`, `min` and
`clip` have kinks only, across which the variational equation holds.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array

from dynsim._core.printing import one_line, report
from dynsim.integrators.time_structure import field_program
from dynsim.programs import Program, evaluate
from dynsim.programs.switches import SIDES
from dynsim.systems.rescaled import is_flat

# Most operations of a field that is compiled one by one.
LARGEST = 2000
WHOLE = "have a field without jumps along the trajectory, or be on a flat space with at most 2,000 operations"
SURFACES = (*SIDES, "sign", "floor", "ceil", "round", "rem")
# Halvings of the line between two states to find a jump, and the relative size of a jump.
HALVINGS, JUMP = 60, 1e-6
# Operations of programs whose name in `jax.lax` is another one.
RENAMED = {
    "add_any": "add", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "not": "bitwise_not",
}  # fmt: skip


class SwitchedField(eqx.Module):
    """A vector field as pieces: for each surface a number, its mode, says on which side of it the piece lies."""

    program: Program = eqx.field(static=True)
    surfaces: tuple[int, ...] = eqx.field(static=True)
    size: int = eqx.field(static=True)
    rest: list[Array]

    __repr__ = one_line
    __str__ = report

    def at(self, t: Array, x: Array, modes: Array | None) -> tuple[Array, Array, Array, Array]:
        """The velocity of a piece, its distances from its surfaces, positive inside, and the modes here and beyond.

        Without `modes` the piece is that of the state, and on a surface the velocity is the one that is written there.
        """
        program = self.program
        known: list[Any] = [t, *x, *(entry for leaf in self.rest for entry in jnp.ravel(leaf))]
        known += [jnp.asarray(c) for c in program.constants]
        inside, own, beyond = [], [], []
        for k, operation in enumerate(program.operations, program.first_operation):
            given = [known[j] for j in operation.operands]
            if k not in self.surfaces:
                known.append(_applied(operation, given))
                continue
            mode = None if modes is None else modes[len(own)]
            result, distance, here, there = _held(operation, given, mode)
            known.append(_applied(operation, given) if modes is None else result)
            inside.append(distance)
            own.append(here)
            beyond.append(there)
        velocity = jnp.stack(
            [jnp.asarray(known[k], float) for output in program.outputs for k in output.ravel().tolist()]
        )
        return velocity, jnp.stack(inside), jnp.stack(own), jnp.stack(beyond)

    def ahead(self, t: Array, x: Array) -> Array:
        """The modes of the piece at a state; on surfaces, of the side to which the velocity written there points.

        So a trajectory from a surface that repels on both sides, which is not unique, takes the side of other solvers.
        """
        velocity, inside, modes, beyond = self.at(t, x, None)
        rates = jax.jvp(lambda t, x: self.at(t, x, modes)[1], (t, x), (jnp.ones_like(t), velocity))[1]
        return jnp.where((inside == 0) & (rates < 0), beyond, modes)

    def named(self) -> str:
        """Name the surfaces by the operations and the components of the state that they depend on."""
        return _named(self.program, self.surfaces, self.size)

    def blocked(self, meets: str = "") -> str:
        """Say that a trajectory slides on two surfaces, and what it meets there, without a stop at the end."""
        return f"The trajectory slides on two surfaces at once{meets}, of those where {self.named()}"


def switched_field(system: Any, state: Any) -> SwitchedField | None:
    """The pieces of a flow's field; None if it has no surfaces on which it may jump, or no short program."""
    if not is_flat(system.space):
        return None
    made, rest = field_program(system, state)
    if made is None or len(made.program.operations) > LARGEST:
        return None
    surfaces = _surfaces(made)
    size = sum(int(np.prod(np.shape(leaf))) for leaf in jax.tree.leaves(state))
    return SwitchedField(made.program, surfaces, size, rest) if surfaces else None


def may_leave_out(system: Any, state: Any) -> bool:
    """Whether a field compares states, but has no pieces, as on a curved space or with more than 2,000 operations."""
    made, _ = field_program(system, state)
    return made is not None and bool(_surfaces(made)) and switched_field(system, state) is None


def jumps_left_out(system: Any, states: Any, t: float) -> str:
    """Say where the field jumps between successive states of a trajectory, if it has no pieces; else an empty text.

    It has none on a curved space, or if it takes more than 2,000 operations. `states` have a first axis.
    """
    first = jax.tree.map(lambda leaf: leaf[0], states)
    made, rest = field_program(system, first)
    if made is None or not may_leave_out(system, first):
        return ""
    program, surfaces = made.program, _surfaces(made)
    which = dataclasses.replace(
        program, outputs=(np.array(surfaces),), output_dtypes=(np.dtype(float),),
        output_structure=jax.tree.structure(0),
    )  # fmt: skip
    rows = jax.tree.map(lambda leaf: np.asarray(leaf, float), states)
    at = lambda program, rows: evaluate(program, np.asarray(t), *jax.tree.leaves(rows), *map(np.asarray, rest))
    low, high = jax.tree.map(lambda leaf: leaf[:-1], rows), jax.tree.map(lambda leaf: leaf[1:], rows)
    start = at(which, low)
    for _ in range(HALVINGS):
        middle = jax.tree.map(lambda a, b: (a + b) / 2, low, high)
        same = np.all(at(which, middle) == start, axis=-1)
        pick = lambda new, old, same=same: np.where(same.reshape(-1, *(1,) * (new.ndim - 1)), new, old)
        low, high = (
            jax.tree.map(pick, middle, low),
            jax.tree.map(lambda old, new, pick=pick: pick(old, new), high, middle),
        )
    other = at(which, high) != start
    flat = lambda rows: np.concatenate([np.reshape(a, (len(a), -1)) for a in at(program, rows)], axis=1)
    before, after = flat(low), flat(high)
    apart = np.max(np.abs(after - before), axis=1) > JUMP * np.max(np.abs(flat(rows)))
    passed = np.any(other & apart[:, None], axis=0)
    size = sum(int(np.prod(np.shape(leaf)[1:])) for leaf in jax.tree.leaves(rows))
    return _named(program, tuple(np.array(surfaces)[passed].tolist()), size)


def _named(program: Program, surfaces: tuple[int, ...], size: int) -> str:
    uses: list[set[int]] = [{k} if 0 < k <= size else set() for k in range(program.first_operation)]
    for operation in program.operations:
        uses.append(set().union(*(uses[j] for j in operation.operands)))
    names = {"sign": "the sign changes", "rem": "a remainder jumps"}
    found = []
    for k in surfaces:
        name = program.operations[k - program.first_operation].name
        of = ", ".join(f"x_{j}" for j in sorted(uses[k])) or "time and parameters"
        found.append(f"{names.get(name, 'a comparison changes' if name in SIDES else f'`{name}` jumps')} of {of}")
    return "; ".join(dict.fromkeys(found))


@functools.lru_cache(maxsize=64)
def _surfaces(made: Any) -> tuple[int, ...]:
    program = made.program
    listed = enumerate(program.operations, program.first_operation)
    return tuple(k for k, o in listed if o.name in SURFACES and any(made.free[j] for j in o.operands))


def _applied(operation: Any, given: list[Any]) -> Any:
    name, parameter = str(operation.name), operation.parameter
    if name == "convert_element_type":
        return lax.convert_element_type(given[0], parameter)
    if name == "integer_pow":
        return lax.integer_pow(given[0], parameter)
    if name == "round":
        return lax.round(given[0], lax.RoundingMethod(parameter))
    fn: Callable[..., Any] = getattr(lax, RENAMED.get(name, name))
    return fn(*given)


def _held(operation: Any, given: list[Any], mode: Any) -> tuple[Any, Array, Array, Array]:
    """The result of an operation in a mode, the distance to the end of the mode, and the modes here and beyond it."""
    name, dtype = operation.name, operation.dtype
    if name in SIDES or name == "sign":
        gap = jnp.asarray(given[0] - given[1] if name != "sign" else given[0], float)
        own = jnp.where(gap >= 0, 1.0, -1.0)
        held = lax.stop_gradient(own) if mode is None else mode
        if name == "sign":
            return held.astype(dtype), held * gap, own, -held
        return (held > 0) if name in ("gt", "ge") else (held < 0), held * gap, own, -held
    u = jnp.asarray(given[0] / given[1] if name == "rem" else given[0], float)
    u = u + 0.5 if name == "round" else u
    own = jnp.floor(lax.stop_gradient(u))
    held = own if mode is None else mode
    distance = jnp.minimum(u - held, held + 1 - u)
    beyond = jnp.where(lax.stop_gradient(u) - held > 0.5, held + 1, held - 1)
    if name == "rem":  # truncated towards zero
        turns = jnp.where(held < 0, held + 1, held)
        return given[0] - (turns * jnp.asarray(given[1], float)).astype(dtype), distance, own, beyond
    return (held + 1 if name == "ceil" else held).astype(dtype), distance, own, beyond
