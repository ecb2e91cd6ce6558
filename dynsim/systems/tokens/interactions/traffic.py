"""Bytes exchanged between devices, predicted by a formula or read from the text of a compiled program."""

import math
import re
from typing import NamedTuple

import jax.numpy as jnp

from dynsim._core.checked import checked
from dynsim._core.printing import one_line, report
from dynsim.errors import ArgumentError

OPERATIONS = {"collective-permute": 0, "all-reduce": 1, "all-gather": 2}  # fields of `Traffic`
OTHERS = ("all-to-all", "reduce-scatter", "collective-broadcast")
_COMPUTATION = re.compile(r"^(ENTRY )?%?([\w.\-]+) .*\{$")
_OPERATION = re.compile(r"= (\(.*?\)|\S+) ([\w\-]+)\(")
_SHAPE = re.compile(r"\b([a-z]+\d*)\[([\d,]*)\]")
_CALLED = re.compile(r"(?:condition|body|to_apply|calls|true_computation|false_computation)=%([\w.\-]+)")
_BRANCHES = re.compile(r"branch_computations=\{([^}]*)\}")
_TURNS = re.compile(r'"known_trip_count":\{"n":"(\d+)"')


class Traffic(NamedTuple):
    """Bytes that the collective operations of a program deliver to each device.

    `passed` is received from the neighbour in a ring, `reduced` comes from sums and maxima over all devices, and
    `gathered` counts the parts of all devices, including the device's own.
    """

    passed: int = 0
    reduced: int = 0
    gathered: int = 0

    __repr__ = one_line
    __str__ = report

    def sent(self, devices: int) -> float:
        """Bytes sent by each device, assuming ring algorithms for sums and gathers, as used for large arrays."""
        return self.passed + (2 * self.reduced + self.gathered) * (devices - 1) / devices


@checked
def measured_traffic(program: str) -> Traffic:
    """Count the bytes that a compiled CPU program exchanges, from its text `jitted.lower(...).compile().as_text()`.

    Operations in a loop are multiplied by its known trip count. Both branches of a conditional are counted.

    Raises:
        ValueError: for other collective operations, or for one in a loop with an unknown trip count.
    """
    found, called, entry = _read(program)
    total = [0.0, 0.0, 0.0]

    def visit(computation: str, times: float) -> None:
        for kind, size in found.get(computation, ()):
            total[kind] += times * size
        for callee, turns in called.get(computation, ()):
            visit(callee, times * turns)

    visit(entry, 1.0)
    if not all(math.isfinite(size) for size in total):
        must = "have a known number of iterations in every loop with a collective operation"
        raise ArgumentError("program", must, "has a loop without one")
    return Traffic(*(int(size) for size in total))


def _read(program: str) -> tuple[dict[str, list], dict[str, list], str]:
    """Parse the collective operations of each computation, the computations it calls, and the entry's name."""
    found: dict[str, list[tuple[int, int]]] = {}
    called: dict[str, list[tuple[str, float]]] = {}
    here = entry = ""
    for line in program.splitlines():
        if start := _COMPUTATION.match(line):
            here = start[2]
            entry = here if start[1] else entry
            continue
        if not (operation := _OPERATION.search(line)):
            continue
        name = operation[2]
        if name in OPERATIONS:
            found.setdefault(here, []).append((OPERATIONS[name], _size(operation[1])))
        elif name.startswith((*OPERATIONS, *OTHERS)):
            known = f"hold no collective operations but {', '.join(OPERATIONS)}"
            raise ArgumentError("program", known, f"holds `{name}`")
        turns = 1.0
        if name == "while":
            known = _TURNS.search(line)
            turns = float(known[1]) if known else math.inf
        callees = _CALLED.findall(line)
        for names in _BRANCHES.findall(line):
            callees += [callee.strip().lstrip("%") for callee in names.split(",")]
        called.setdefault(here, []).extend((callee, turns) for callee in callees)
    return found, called, entry


def _size(shapes: str) -> int:
    """Bytes of the arrays in a result type such as `(f32[3,4]{1,0}, f32[])`."""
    width = lambda name: 1 if name == "pred" else jnp.dtype(_TYPES[name]).itemsize
    return sum(
        width(name) * math.prod(map(int, filter(None, axes.split(",")))) for name, axes in _SHAPE.findall(shapes)
    )


_TYPES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"} | {
    f"{letter}{bits}": f"{word}{bits}" for letter, word in (("s", "int"), ("u", "uint")) for bits in (8, 16, 32, 64)
}
