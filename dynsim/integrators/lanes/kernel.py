"""Lanes as a CUDA kernel: one thread for a member, its state in registers, written from the recorded steps."""

import math
import weakref
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from dynsim.integrators.lanes.method import DONE, RUNNING, STUCK
from dynsim.integrators.lanes.plain import Solved
from dynsim.integrators.lanes.recorded import Recorded
from dynsim.kernels import Kernel
from dynsim.programs import ProgramError
from dynsim.programs.c_text import statements, type_name

LARGEST = 32
"""Most entries of a state: more do not fit into the registers of a thread, and JAX is faster."""
THREADS = 64  # of a block: few, so that one slow member keeps few others from ending

_kernels: weakref.WeakKeyDictionary[Any, dict[Any, Kernel]] = weakref.WeakKeyDictionary()


def kernel(programs: Recorded, own: tuple[bool, ...]) -> Any:
    """Write the kernel of recorded steps; `own` says which entries of the parameters each member has for itself.

    Raises:
        ProgramError: for a state too large for a thread, or an operation that kernels do not have.
    """
    known = _kernels.setdefault(programs.step, {})
    if own not in known:
        if programs.form.size > LARGEST:
            raise ProgramError(f"a state of more than {LARGEST} numbers, the most for a kernel")
        known[own] = Kernel(text(programs, own), "lanes")
    return known[own]


def text(programs: Recorded, own: tuple[bool, ...]) -> str:
    """Write the C++ text of the kernel; sizes are arguments, so that it does not depend on the number of members."""
    real, d = type_name(programs.form.dtype), programs.form.size
    stages = programs.inside.shapes[-2][0]  # before the time come the stages of the trial step
    types = programs.step.types
    ignored = 2 if programs.jumping else 0
    lane, watched = [f"lane{k}" for k in range(8 + 2 * d)], len(programs.directions)
    settings = ["t0", "t1", "rtol", "atol", "longest", "max_steps"]
    numbers = [f"p{k}" for k in range(len(own))]
    step = ["accepted", "begin", "end", *(f"y{k}" for k in range(d)), *(f"z{k}" for k in range(d))]
    step += [f"k{j}_{k}" for j in range(stages) for k in range(d)]
    kinds = [type_name(types[k]) for k in range(len(lane))]
    number_types = types[len(lane) + len(settings) + ignored :]
    states = range(2, 2 + d)
    status, counts = lane[-1], (lane[2 + 2 * d], lane[3 + 2 * d], lane[-2], lane[-1], "event")
    passed, walls = lane[-3], ["here", "beyond"] if programs.jumping else []
    ahead = (
        f"here = {passed} < J ? jumps[{passed}] : INFINITY; beyond = {passed} + 1 < J ? jumps[{passed} + 1] : INFINITY;"
    )
    seek = [f"{real} here, beyond;", f"while ({passed} < J && jumps[{passed}] <= t0) ++{passed};", ahead]
    renew = [
        f"if ({passed} != known) {{",
        statements(programs.field, ["lane0", *lane[2 : 2 + d], *numbers], lane[2 + d : 2 + 2 * d]),
        ahead,
        "}",
    ]
    lines = [
        f'extern "C" __global__ void lanes(const {real}* __restrict__ starts, const {real}* __restrict__ own,',
        f"    const {real}* __restrict__ shared, const {real}* __restrict__ times, const long long* sizes,",
        f"    const {real}* __restrict__ signs, const {real}* __restrict__ jumps, {real}* saved, {real}* final,",
        f"    {real}* last, int* counts, {real}* sides) {{",
        "const long long n = sizes[0], m = sizes[1], J = sizes[3];",
        "const long long i = (long long) blockIdx.x * blockDim.x + threadIdx.x;",
        "if (i >= n) return;",
        f"const {real} t0 = starts[{d} * n + i];",
        *(f"const {real} {name} = shared[{k}];" for k, name in enumerate(settings[1:5])),
        "const int max_steps = (int) sizes[2];",
        *read_numbers(numbers, number_types, own, 4),
        *(f"{kind} {name};" for kind, name in zip(kinds, lane, strict=True)),
        *(f"const {real} start{k} = starts[{k} * n + i];" for k in range(d)),
        f"{passed} = 0;",
        *(seek if walls else []),
        statements(programs.begin, [*(f"start{k}" for k in range(d)), *settings, passed, *walls, *numbers], lane),
        *_search_begun(real, watched),
        "long long index = 0;",
        f"{real} due = times[0];",
        f"while ({status} == {RUNNING}) {{",
        "bool accepted;",
        *(f"{real} {name};" for name in step[1:]),
        f"const int known = {passed};",
        statements(programs.step, [*lane, *settings, *walls, *numbers], [*lane, *step]),
        *(renew if walls else []),
        "while (accepted && due <= end) {",
        *(f"{real} w{k};" for k in range(d)),
        statements(programs.inside, [*step, "due"], [f"w{k}" for k in range(d)]),
        *(f"saved[(index * {d} + {k}) * n + i] = w{k};" for k in range(d)),
        f"index += 1; due = index < m ? times[index] : ({real}) INFINITY;",
        "}",
        *(_searched(programs, real, step, numbers, lane) if watched else ()),
        "}",
        *(f"final[{j} * n + i] = lane{k};" for j, k in enumerate(states)),
        "last[i] = lane0;",
        *(f"counts[{j} * n + i] = (int) {name};" for j, name in enumerate(counts)),
        *(f"sides[{k} * n + i] = side{k};" for k in range(watched)),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _search_begun(real: str, watched: int) -> list[str]:
    """Declare the variables of a `Bracket`."""
    return [
        f"{real} left = 0, right = 0, value = 0;",
        "int event = -1;",
        *(f"{real} side{k} = signs[{k} * n + i];" for k in range(watched)),
        *(f"const {real} quiet{k} = signs[{watched + k} * n + i];" for k in range(watched)),
    ]


def _searched(programs: Recorded, real: str, step: list[str], numbers: list[str], lane: list[str]) -> list[str]:
    """Search an accepted step for events, narrow the bracket of one that is found, and end the member there."""
    assert programs.look is not None
    watched, d, count = len(programs.directions), programs.form.size, programs.samples
    variables = lambda quiet: ["left", "right", *(f"side{k}" for k in range(watched)), "event", "value", *quiet]
    given = variables([f"quiet{k}" for k in range(watched)])
    found = variables([f"same{k}" for k in range(watched)])
    status, finite = lane[-1], lane[-2]
    return [
        "if (accepted) {",
        "left = begin; right = end;",
        "while (true) {",
        f"const {real} low = left, high = right;",
        "const int known = event;",
        "event = -1;",
        f"for (int k = {count - 1}; k >= 0 && event < 0; --k) {{",
        f"const {real} now = high - (high - low) * (({real}) k / ({real}) {count});",
        *(f"{real} same{k};" for k in range(watched)),
        statements(programs.look, [*step, *given, "now", *numbers], found),
        "}",
        "if (event < 0) { event = known; break; }",
        f"const {real} middle = left + (right - left) / 2;",
        "if (!(left < middle && middle < right)) break;",
        "}",
        "if (event >= 0) {",
        statements(programs.inside, [*step, "right"], [f"lane{2 + k}" for k in range(d)]),
        f"lane0 = right; {status} = {DONE};",
        f"if (value != value) {{ {status} = {STUCK}; {finite} = false; }}",
        "}",
        "}",
    ]


def read_numbers(names: list[str], types: Any, own: tuple[bool, ...], before: int) -> list[str]:
    """Declare the entries of the parameters, those of a member and those of all after the first `before` ones."""
    own_at, shared_at = _numbered(own), _numbered([not mine for mine in own])
    lines = []
    for k, (name, mine) in enumerate(zip(names, own, strict=True)):
        kind = type_name(types[k])
        place = f"own[{own_at[k]} * n + i]" if mine else f"shared[{before + shared_at[k]}]"
        lines.append(f"const {kind} {name} = ({kind}) {place};")
    return lines


def parted(numbers: Any, dtype: np.dtype) -> tuple[tuple[bool, ...], Array, list[Array]]:
    """Which entries of the parameters each member has for itself, these in columns, and the others, in one type."""
    own = tuple(jnp.ndim(a) > 0 for a in numbers)
    typed = [jnp.asarray(a).astype(dtype) for a in numbers]
    columns = [a for a, mine in zip(typed, own, strict=True) if mine]
    others = [a for a, mine in zip(typed, own, strict=True) if not mine]
    return own, jnp.stack(columns) if columns else jnp.zeros((1, 1), dtype), others


def _numbered(chosen: Any) -> dict[int, int]:
    """Number the chosen places one after another."""
    return {k: j for j, k in enumerate(np.flatnonzero(chosen).tolist())}


def solved(
    programs: Recorded, starts: Array, settings: Any, numbers: Any, times: Array, signs: tuple[Array, Array],
    jumps: Array,
) -> Solved:  # fmt: skip
    """Integrate all members as `plain.solved` does, on a CUDA device."""
    d, members = starts.shape
    dtype, m = starts.dtype, times.shape[0]
    own, mine, others = parted(numbers, dtype)
    work = kernel(programs, own)
    shared = jnp.stack([*(jnp.asarray(a).astype(dtype) for a in settings[1:5]), *others])
    sizes = jnp.stack([jnp.asarray(k).astype(int) for k in (members, m, settings[5], jumps.size)])
    shape = jax.ShapeDtypeStruct
    results = (
        shape((m, d, members), dtype), shape((d, members), dtype), shape((members,), dtype),
        shape((5, members), np.dtype("int32")), shape((max(1, len(signs[0])), members), dtype),
    )  # fmt: skip
    grid = (math.ceil(members / THREADS),)
    watched = jnp.concatenate(signs) if len(signs[0]) else jnp.zeros((1, 1), dtype)
    given = (
        jnp.concatenate([starts, settings.t0[None]]),
        mine,
        shared,
        times,
        sizes,
        watched,
        jumps if jumps.size else times,
    )
    found = Solved(*work(*given, results=results, grid=grid, block=(THREADS,)))
    return found._replace(sides=found.sides[: len(signs[0])])
