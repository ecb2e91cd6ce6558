"""Members that take a known number of steps: maps, and schemes with fixed steps; in JAX, or as a CUDA kernel."""

import abc
import functools
import math
import weakref
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array

from dynsim.errors import Outcome
from dynsim.integrators.lanes import kernel as kernels
from dynsim.integrators.lanes.kernel import parted, read_numbers
from dynsim.integrators.lanes.plain import widened
from dynsim.integrators.lanes.recorded import LIMIT, FlowForm, System, arrays_of, check_types
from dynsim.programs import Program, ProgramError, scalar_program
from dynsim.programs.c_text import statements, type_name


class March(NamedTuple):
    """A member on its way: the state (d,), its `Outcome` so far, the steps, the largest defect, and the last time."""

    y: Any
    outcome: Any
    steps: Any
    defect: Any
    time: Any


class Moment(NamedTuple):
    """Which step is taken: its number, and the times at both ends."""

    index: Any
    t: Any
    end: Any


class Rule(abc.ABC):
    """How a member steps; rules are compared, and equal ones share a program.

    `words` is how many words of 32 random bits each member has as a key.
    """

    words: ClassVar[int] = 0

    @abc.abstractmethod
    def step(self, form: FlowForm, system: System, run: March, at: Moment, key: Any) -> March:
        """Take a step from the state of a member."""


class Schedule(NamedTuple):
    """The times (rows + 1,) between which members take `counts` (rows,) steps, and the number of the first step."""

    times: Any
    counts: Any
    first: Any


class Marched(NamedTuple):
    """What lanes return, with members on the last axis: states at the times after the first, (rows, d, members)."""

    saved: Array
    run: March


def marched(
    rule: Rule, form: FlowForm, system: Any, axes: Any, starts: Array, schedule: Schedule, keys: Array
) -> Marched:
    """Let all members take their steps, inside a JAX program; members are the last axis.

    Args:
        rule: how a member steps.
        form: the form of the system.
        system: the system, or one with a leading axis of members in some arrays.
        axes: 0 for these arrays, None for the others.
        starts: initial states, shape (d, members).
        schedule: when steps are taken.
        keys: the words of each member's key, shape (words, members).
    """
    given = starts.shape[1]
    (starts, keys), system = widened((starts, keys), system, axes)
    one = lambda system, run, at, key: rule.step(form, system, run, at, key)
    step = eqx.filter_vmap(one, in_axes=(axes, -1, None, -1), out_axes=-1)

    def interval(carry: tuple[March, Any], row: tuple[Any, Any, Any]) -> tuple[tuple[March, Any], Array]:
        run, index = carry
        t0, t1, count = row
        at = lambda j: t0 + j.astype(t0.dtype) / count.astype(t0.dtype) * (t1 - t0)

        def once(j: Any, run: March) -> March:
            end = jnp.where(j + 1 == count, t1, at(j + 1))
            return step(system, run, Moment(index + j, at(j), end), keys)

        run = lax.fori_loop(jnp.zeros_like(count), count, once, run)
        return (run, index + count), run.y

    times, counts = schedule.times.astype(form.dtype), schedule.counts
    begun = _begun(form, starts, times[0])
    (run, _), saved = lax.scan(interval, (begun, schedule.first), (times[:-1], times[1:], counts))
    return Marched(saved[..., :given], March(*(a[..., :given] for a in run)))


def _begun(form: FlowForm, starts: Array, t0: Array) -> March:
    members = starts.shape[1]
    whole = lambda value: jnp.full(members, value, int)
    real = lambda value: jnp.broadcast_to(jnp.asarray(value, form.dtype), (members,))
    return March(starts, whole(int(Outcome.FINISHED)), whole(0), real(0), real(t0))


def recorded(rule: Rule, form: FlowForm) -> Program:
    """Record a step as a list of scalar operations, once for equal rules and forms.

    Raises:
        ProgramError: for a step that is no list of scalar operations, or too long a list, or arrays of other types.
    """
    found = _recorded(rule, form)
    if isinstance(found, ProgramError):
        raise found
    return found


@functools.lru_cache(64)
def _recorded(rule: Rule, form: FlowForm) -> Program | ProgramError:
    step = lambda run, at, key, leaves: rule.step(form, form.system(leaves), run, at, key)
    try:
        check_types(form)
        return scalar_program(step, *described(rule, form), arrays_of(form), limit=LIMIT)
    except ProgramError as error:
        return error


def described(rule: Rule, form: FlowForm) -> tuple[March, Moment, Any]:
    """Shapes and types of what a step takes beside the arrays of the system."""
    shaped = jax.ShapeDtypeStruct
    number, whole = shaped((), form.dtype), shaped((), np.dtype(int))
    run = March(shaped((form.size,), form.dtype), whole, whole, number, number)
    return run, Moment(whole, number, number), shaped((rule.words,), np.dtype(np.uint32))


_kernels: weakref.WeakKeyDictionary[Any, dict[Any, Any]] = weakref.WeakKeyDictionary()


def kernel(program: Program, form: FlowForm, own: tuple[bool, ...]) -> Any:
    """Write the kernel of a recorded step; `own` says which entries of the parameters each member has for itself.

    Raises:
        ProgramError: for a state too large for a thread, or an operation that kernels do not have.
    """
    known = _kernels.setdefault(program, {})
    if own not in known:
        if form.size > kernels.LARGEST:
            raise ProgramError(f"a state of more than {kernels.LARGEST} numbers, the most for a kernel")
        known[own] = kernels.Kernel(text(program, form, own), "fixed_steps")
    return known[own]


def text(program: Program, form: FlowForm, own: tuple[bool, ...]) -> str:
    """Write the C++ text of the kernel; sizes are arguments, so that it does not depend on the number of members."""
    real, d = type_name(form.dtype), form.size
    words = program.shapes[8][0]  # after the five arrays of a `March` and the three of a `Moment`
    run = [*(f"y{k}" for k in range(d)), "outcome", "taken", "defect", "time"]
    keys, numbers = [f"w{k}" for k in range(words)], [f"p{k}" for k in range(len(own))]
    types = program.types[len(run) + 3 + words :]
    between = f"t0 + ({real}) {{}} / ({real}) count * (t1 - t0)"
    lines = [
        f'extern "C" __global__ void fixed_steps(const {real}* __restrict__ starts, const {real}* __restrict__ own,',
        f"    const {real}* __restrict__ shared, const {real}* __restrict__ times,",
        "    const long long* __restrict__ counts, const unsigned* __restrict__ keys, const long long* sizes,",
        f"    {real}* saved, {real}* final, long long* told) {{",
        "const long long n = sizes[0], m = sizes[1];",
        "const long long i = (long long) blockIdx.x * blockDim.x + threadIdx.x;",
        "if (i >= n) return;",
        *read_numbers(numbers, types, own, 0),
        *(f"const unsigned w{k} = keys[{k} * n + i];" for k in range(words)),
        *(f"{real} y{k} = starts[{k} * n + i];" for k in range(d)),
        f"long long outcome = {int(Outcome.FINISHED)}, taken = 0, index = sizes[2];",
        f"{real} defect = 0, time = times[0];",
        "for (long long row = 0; row < m; ++row) {",
        f"const {real} t0 = times[row], t1 = times[row + 1];",
        "const long long count = counts[row];",
        "for (long long j = 0; j < count; ++j, ++index) {",
        f"const {real} t = {between.format('j')}, end = j + 1 == count ? t1 : {between.format('(j + 1)')};",
        statements(program, [*run, "index", "t", "end", *keys, *numbers], run),
        "}",
        *(f"saved[(row * {d} + {k}) * n + i] = y{k};" for k in range(d)),
        "}",
        *(f"final[{j} * n + i] = {name};" for j, name in enumerate([*run[:d], "defect", "time"])),
        "told[i] = outcome; told[n + i] = taken;",
        "}",
    ]
    return "\n".join(lines) + "\n"


def marched_by_kernel(
    program: Program, form: FlowForm, starts: Array, numbers: Any, schedule: Schedule, keys: Array
) -> Marched:
    """Let all members take their steps as `marched` does, on a CUDA device."""
    d, members = starts.shape
    rows = schedule.counts.shape[0]
    own, mine, shared = parted(numbers, form.dtype)
    sizes = jnp.stack([jnp.asarray(k).astype(int) for k in (members, rows, schedule.first)])
    words = keys if keys.size else jnp.zeros((1, 1), np.uint32)
    shape = jax.ShapeDtypeStruct
    results = (
        shape((rows, d, members), form.dtype), shape((d + 2, members), form.dtype), shape((2, members), np.dtype(int)),
    )  # fmt: skip
    saved, final, told = kernel(program, form, own)(
        starts, mine, jnp.stack(shared) if shared else mine, schedule.times.astype(form.dtype),
        schedule.counts.astype(int), words, sizes,
        results=results, grid=(math.ceil(members / kernels.THREADS),), block=(kernels.THREADS,),
    )  # fmt: skip
    return Marched(saved, March(final[:d], told[0], told[1], final[d], final[d + 1]))
