"""Times at which a function of time and state switches: its jumps and kinks that do not depend on the state.

A value that depends on time alone is followed as a straight line, from one switch to the next one: comparisons,
`floor`, `mod`, `sign`, `abs`, `max`, `min` and `clip` of such lines switch at times with a formula. Switches of other
functions of time, such as `sin(t) > 0.5`, are found between samples. Where a square, `tanh`, `cosh` or another function
with a centre is taken of such a line, the zero of the line is the centre of a pulse or of a smooth step, which may be
so short that a solver would step over it. Pulses of curved functions are found by interval arithmetic.
"""

import math
from collections.abc import Sequence, Set
from typing import Any, NamedTuple

import numpy as np

from dynsim.errors import ArgumentError
from dynsim.programs.arrays import NUMPY
from dynsim.programs.intervals import WITH_JUMPS, IntervalArray
from dynsim.programs.program import COMPARING, Operation, Program
from dynsim.programs.pulses import short_features

MOST = 100_000
"""Most switches in one interval."""
SAMPLES = 2**12
"""Samples between which switches of curved functions are sought at first; doubled until their number is stable."""
FINEST = 2**17
CLOSE = 8 * float(np.finfo(float).eps)
"""Largest distance from a switch, relative to the operands, that is rounding."""

LINEAR = ("add", "add_any", "sub", "neg")
ROUNDING = ("floor", "ceil", "round")
KINKED = ("abs", "sign", "max", "min", "clamp")
SIDES = tuple(name for name in COMPARING if name not in ("eq", "ne"))  # those two differ at single times only
CENTRED = ("exp", "exp2", "tanh", "cosh", "sinh", "logistic", "erf", "erfc", "atan")
"""Functions that change where their argument is near zero, if that is steep."""
POWERS = ("square", "integer_pow", "pow", "mul")
"""Functions, and products of lines, centred at zeros of their arguments, whose scale is that of what follows."""
STEEP = 20.0
"""Least change of a steep argument in an interval: that of wider pulses is seen by some stage of every step."""
SHARPENING = ("div", "pow", "rsqrt")
"""Further functions that may make a pulse of a curve; integer powers from `SHARP` on do so, too."""
SHARP = 8
INSET = 1e-6
"""Share of a part of the time that is left out at its ends, where functions jump up to rounding."""
SWITCHING = (*SIDES, *ROUNDING, *KINKED, "rem")


class StraightLine(NamedTuple):
    """A function of time a + b t, up to its next switch; `b` is NaN for a curve, whose values are not known."""

    a: Any
    b: float

    def at(self, t: float) -> float:
        """The value at a time."""
        return float(self.a) + self.b * t if self.b else float(self.a)


CURVE = StraightLine(math.nan, math.nan)


class Switches:
    """The switches in time of a program whose first input is the time.

    `moved` marks the entries of the inputs that are not given, as those of the state.
    """

    def __init__(self, program: Program, moved: np.ndarray):
        """Find the operations on time alone."""
        size = program.first_operation + len(program.operations)
        self.program, self.free, self.timed = program, np.zeros(size, bool), np.zeros(size, bool)
        self.free[: program.num_inputs] = moved
        self.timed[0] = True
        self.steps: list[tuple[int, Operation]] = []
        for k, operation in enumerate(program.operations, program.first_operation):
            self.free[k] = any(self.free[j] for j in operation.operands)
            self.timed[k] = not self.free[k] and any(self.timed[j] for j in operation.operands)
            if not self.free[k]:
                self.steps.append((k, operation))
        self.last: dict[bool, tuple[Any, np.ndarray]] = {}  # the last request, which a second run repeats
        self.uses_time = any(0 in o.operands for o in program.operations) or any(0 in o for o in program.outputs)
        self.switching = [k for k, o in self.steps if self.timed[k] and (o.name in SWITCHING or _truncates(o))]
        self.centred = {k for k, o in self.steps if self.timed[k] and o.name in (*CENTRED, *POWERS)}
        self.unbounded: set[int] = set()  # operations on time alone that have no interval arithmetic
        self.sharp = self._sharp()

    def _sharp(self) -> list[int]:
        """List the operations on time alone that may have short pulses at places that the marks of lines do not show.

        Level 1 is straight, up to switches; functions of level 2 change quickly only where lines are zero, as their
        powers and products do; all others, and sums of those, have level 3.
        """
        level, found = np.zeros(len(self.timed), int), []
        for k, operation in self.steps:
            inner, name = [j for j in operation.operands if self.timed[j]], operation.name
            highest = max((int(level[j]) for j in inner), default=0)
            if inner and (name not in WITH_JUMPS or any(j in self.unbounded for j in inner)):
                self.unbounded.add(k)
            straight = name in (*LINEAR, *KINKED, *SWITCHING, "select_n", "convert_element_type")
            centred = name in (*POWERS, *CENTRED, "div")
            alone = len(inner) == 1 and name in ("mul", "div", "neg") and self.timed[operation.operands[0]]
            if highest <= 1:
                level[k] = highest if not inner or straight or alone else 2 if centred else 3
            else:
                level[k] = highest if centred or straight and name not in ("add", "add_any", "sub") else 3
            power = name == "integer_pow" and abs(operation.parameter) >= SHARP
            bent = level[operation.operands[1 if name == "div" else 0]] == 3
            if bent and k not in self.unbounded and (power or name in (*CENTRED, *SHARPENING)):
                found.append(k)
        return found

    @property
    def looks_up_states(self) -> bool:
        """Whether a table is looked up at an index that depends on the state."""
        chosen = [o.operands[0] for o in self.program.operations if o.name == "select_n" and len(o.operands) > 3]
        return any(self.free[k] for k in chosen)

    def times(
        self, inputs: Sequence[Any], begin: float, end: float, first: int | None = None, *, centres: bool = False
    ) -> np.ndarray:
        """Times strictly between two at which the function switches, for the entries of its inputs after the time.

        `first` is the number of times after which the search ends. With `centres` those of smooth pulses are added, and
        of steep ones the times one width before and after them.

        Raises:
            ValueError: for more than 100,000 of them, if `first` is not given.
        """
        if not (self.switching or centres and (self.centred or self.sharp)) or not begin < end:
            return np.empty(0)
        asked = (tuple(inputs), begin, end, first)
        if centres not in self.last or asked != self.last[centres][0]:
            self.last[centres] = asked, self._times(*asked, self.centred if centres else set())
        return self.last[centres][1]

    def _times(
        self, inputs: Sequence[Any], begin: float, end: float, first: int | None, centred: Set[int]
    ) -> np.ndarray:
        known = [None, *inputs, *self.program.constants]
        found, curved, t = [], set(), begin
        while True:
            t, bent = self._next(known, t, end - begin, centred)
            curved |= bent
            if not t < end:
                break
            found.append(t)
            if len(found) == first:
                end = t + 8 * math.ulp(t)  # the flip lies a few floats beside
                break
            if len(found) > MOST:
                must = f"contain at most {MOST:,} jumps of the field in time: solve it in parts"
                raise ArgumentError("ts", must, f"contains more, the last ones {found[-1] - found[-2]:.3g} apart")
        with np.errstate(all="ignore"):
            exact = self._flips(known, np.array(found)) if found and self.switching else np.array(found)
            other = self._sampled(known, sorted(curved), begin, end) if curved else np.empty(0)
            every = np.unique(np.concatenate([exact, other]))
            if centred and self.sharp:
                every = np.unique(np.append(every, self._pulses(known, begin, end, every)))
        return every[(every > begin) & (every < end)]

    def _pulses(self, known: Sequence[Any], begin: float, end: float, every: np.ndarray) -> np.ndarray:
        """Where the pulses of curved values begin, have their middles, and end."""
        edges = np.unique([begin, *every, end])
        bounded = [(k, o) for k, o in self.steps if self.timed[k] and k not in self.unbounded]
        fixed = {k: IntervalArray(a, a) for k, a in self._values(known, edges[:1]).items() if not self.timed[k]}

        def enclosures(low: np.ndarray, high: np.ndarray) -> list[IntervalArray]:
            found = {**fixed, 0: IntervalArray(low, high)}
            for k, operation in bounded:
                extra = [] if operation.parameter is None else [operation.parameter]
                found[k] = WITH_JUMPS[operation.name](*(found[j] for j in operation.operands), *extra)
            return [found[k] for k in self.sharp]

        def values(ts: np.ndarray) -> np.ndarray:
            found = self._values(known, ts)
            return np.stack([np.broadcast_to(found[k], ts.shape) for k in self.sharp])

        return short_features(enclosures, values, edges, inset=INSET if self.switching else 0.0)

    def _next(self, known: Sequence[Any], t: float, span: float, centred: Set[int]) -> tuple[float, set[int]]:
        """The first switch or centre after `t` of values that are straight up to it, and those that are curved."""
        lines: dict[int, StraightLine] = {0: StraightLine(0.0, 1.0)}
        value = lambda k: lines[k] if k in lines else StraightLine(known[k], 0.0)
        first, bent = math.inf, set()
        for k, operation in self.steps:
            if operation.name == "select_n":  # of a table only one entry
                which = value(operation.operands[0])
                lines[k] = CURVE if which.b != 0 else value(operation.operands[1 + int(which.a)])
                continue
            given = [value(j) for j in operation.operands]
            lines[k], switch = followed(operation, given, t)
            if switch is None:
                bent.add(k)
            elif switch < first:
                first = switch
            if k in centred:
                first = min(first, _marks(operation, given, span, t))
        return first, bent

    def _values(self, known: Sequence[Any], ts: np.ndarray) -> dict[int, Any]:
        """Values of all operations on time alone at many times."""
        found: dict[int, Any] = {0: ts}
        for k, operation in self.steps:
            given = [found[j] if j in found else np.asarray(known[j]) for j in operation.operands]
            extra = [] if operation.parameter is None else [operation.parameter]
            found[k] = NUMPY[operation.name](*map(np.asarray, given), *extra)
        for j in range(1, self.program.first_operation):
            found[j] = known[j]
        return found

    def _branches(self, values: dict[int, Any], which: Sequence[int], ts: np.ndarray) -> np.ndarray:
        """Which branch each switching operation takes at many times, (operations, times)."""
        rows = []
        for k in which:
            operation = self.program.operations[k - self.program.first_operation]
            given = [np.broadcast_to(values[j], ts.shape) for j in operation.operands]
            rows.append(np.broadcast_to(_branch(operation, given, values[k]), ts.shape).astype(float))
        return np.stack(rows)

    def _flips(self, known: Sequence[Any], found: np.ndarray) -> np.ndarray:
        """The floats at which the branches change, a few floats away at most from where exact numbers change."""
        near = [found]
        for away in (-np.inf, np.inf):
            side = [found]
            for _ in range(3):
                side.append(np.nextafter(side[-1], away))
            near = [*side[:0:-1], *near] if away < 0 else [*near, *side[1:]]
        ts = np.stack(near)  # (7, switches), increasing
        branches = self._branches(self._values(known, ts.ravel()), self.switching, ts.ravel())
        same = np.all(
            branches.reshape(len(self.switching), *ts.shape) == branches.reshape(-1, *ts.shape)[:, -1:], axis=0
        )
        first = len(ts) - np.argmin(same[::-1], axis=0)  # after the last float with other branches
        place = np.where(np.all(same, axis=0), 3, np.minimum(first, len(ts) - 1))
        return ts[place, np.arange(len(found))]

    def _sampled(self, known: Sequence[Any], which: Sequence[int], begin: float, end: float) -> np.ndarray:
        """Switches of curved values, bisected between samples whose branches differ."""
        count, last = SAMPLES, -1
        while True:
            ts = np.linspace(begin, end, count + 1)
            values = self._values(known, ts)
            ts = np.unique(np.concatenate([ts, *(self._turns(values, k, ts) for k in which)]))
            branches = self._branches(self._values(known, ts), which, ts)
            at = np.flatnonzero(np.any(branches[:, 1:] != branches[:, :-1], axis=0))
            if len(at) == last or 2 * count > FINEST:
                break
            count, last = 2 * count, len(at)
        low, high = ts[at], ts[at + 1]
        start = branches[:, at]
        while np.any(np.nextafter(low, np.inf) < high):
            middle = low + (high - low) / 2
            same = np.all(self._branches(self._values(known, middle), which, middle) == start, axis=0)
            low, high = np.where(same, middle, low), np.where(same, high, middle)
        return high

    def _turns(self, values: dict[int, Any], k: int, ts: np.ndarray) -> np.ndarray:
        """Times at which the difference of the operands turns near zero, by parabolas through three samples."""
        operation = self.program.operations[k - self.program.first_operation]
        given = [np.broadcast_to(np.asarray(values[j], float), ts.shape) for j in operation.operands]
        gap = np.abs(given[0] - (given[1] if len(given) == 2 else 0.0))
        left, here, right = gap[:-2], gap[1:-1], gap[2:]
        bend = left - 2 * here + right
        turns = (here <= left) & (here <= right) & (bend > 0)
        shift = np.where(turns, 0.5 * (left - right) / np.where(turns, bend, 1), 0.0)
        vertex = here - 0.125 * (left - right) ** 2 / np.where(turns, bend, 1)
        near = turns & (vertex < 0.1 * bend)
        return ts[1:-1][near] + (shift * (ts[1] - ts[0]))[near]


def _marks(operation: Operation, given: list[StraightLine], span: float, t: float) -> float:
    """The next time at which the argument of a centred function is zero or, if it is steep, one in size."""
    power = operation.name in POWERS
    lines = given[:1] if operation.name != "mul" else given if all(abs(line.b) > 0 for line in given) else []
    found = []
    for line in lines:
        steep = abs(line.b) * span > STEEP
        sizes = (-1.0, 0.0, 1.0) if steep else (0.0,) if power and line.b else ()
        found += [_side(line, StraightLine(size, 0.0), t)[1] for size in sizes]
    return min(found, default=math.inf)


def _truncates(operation: Operation) -> bool:
    return operation.name == "convert_element_type" and operation.dtype.kind in "iu"


def _branch(operation: Operation, given: list[Any], value: Any) -> Any:
    """The branch that a switching operation takes."""
    if operation.name in ("max", "min"):
        return given[0] > given[1]
    if operation.name == "abs":
        return given[0] > 0
    if operation.name == "clamp":
        return 1.0 * (given[1] > given[0]) + (given[1] > given[2])
    if operation.name == "rem":
        return np.rint((given[0] - value) / given[1])
    return value


def followed(operation: Operation, given: list[StraightLine], t: float) -> tuple[StraightLine, float | None]:
    """The line of a result just after `t`, and the time of its own next switch; None where a curve switches."""
    name, fixed = operation.name, all(line.b == 0 for line in given)
    if fixed:
        extra = [] if operation.parameter is None else [operation.parameter]
        with np.errstate(all="ignore"):
            return StraightLine(NUMPY[name](*(np.asarray(line.a) for line in given), *extra)[()], 0.0), math.inf
    switches = name in SWITCHING or _truncates(operation)
    if any(math.isnan(line.b) for line in given):
        return CURVE, None if switches else math.inf
    if name in LINEAR:
        a, b = given[0], given[-1]
        if name == "neg":
            return StraightLine(-a.a, -a.b), math.inf
        sign = -1 if name == "sub" else 1
        return StraightLine(a.a + sign * b.a, a.b + sign * b.b), math.inf
    if name == "mul" and (given[0].b == 0 or given[1].b == 0):
        scale, line = (given[0], given[1]) if given[0].b == 0 else (given[1], given[0])
        return StraightLine(scale.a * line.a, float(scale.a) * line.b), math.inf
    if name == "div" and given[1].b == 0 and given[1].a != 0:
        return StraightLine(given[0].a / given[1].a, given[0].b / float(given[1].a)), math.inf
    if name == "convert_element_type" and operation.dtype.kind == "f":
        return given[0], math.inf
    if name in COMPARING:
        side, switch = _side(given[0], given[1], t)
        value = StraightLine(np.bool_(NUMPY[name](np.asarray(side), np.asarray(0))), 0.0)
        return value, switch if name in SIDES else math.inf
    if name in ("max", "min"):
        side, switch = _side(given[0], given[1], t)
        return given[0] if (side > 0) == (name == "max") else given[1], switch
    if name in ("abs", "sign"):
        side, switch = _side(given[0], StraightLine(0.0, 0.0), t)
        return StraightLine(side * given[0].a, side * given[0].b) if name == "abs" else StraightLine(
            float(side), 0.0
        ), switch
    if name == "clamp":
        low, line, high = given
        (below, one), (above, other) = _side(line, low, t), _side(line, high, t)
        return low if below < 0 else high if above > 0 else line, min(one, other)
    if name in ROUNDING or _truncates(operation):
        return _rounded(operation, given[0], t)
    if name == "rem" and given[1].b == 0 and given[1].a != 0:
        size = abs(float(given[1].a))
        turns, switch = _whole(StraightLine(given[0].a / size, given[0].b / size), t)
        return StraightLine(given[0].a - size * _towards_zero(turns), given[0].b), switch
    return CURVE, None if switches else math.inf


def _side(left: StraightLine, right: StraightLine, t: float) -> tuple[int, float]:
    """The sign of a difference just after `t`, and the time of its next zero."""
    a, b = float(left.a) - float(right.a), left.b - right.b
    here, size = a + b * t, abs(float(left.a)) + abs(float(right.a)) + abs(b * t)
    if b == 0 or not math.isfinite(here):
        return int(np.sign(here)) if not math.isnan(here) else 0, math.inf
    if abs(here) <= CLOSE * size:
        return int(math.copysign(1, b)), math.inf
    zero = -a / b
    return int(math.copysign(1, here)), zero if zero > t else math.inf


def _whole(line: StraightLine, t: float) -> tuple[float, float]:
    """The largest whole number below a line just after `t`, and the time at which the line reaches the next one."""
    here = line.at(t)
    nearest = round(here)
    if abs(here - nearest) <= CLOSE * (abs(float(line.a)) + abs(line.b * t)):
        below = nearest if line.b > 0 else nearest - 1
    else:
        below = math.floor(here)
    return below, (below + (1 if line.b > 0 else 0) - float(line.a)) / line.b


def _rounded(operation: Operation, line: StraightLine, t: float) -> tuple[StraightLine, float]:
    shift = 0.5 if operation.name == "round" else 0.0
    below, switch = _whole(StraightLine(float(line.a) + shift, line.b), t)
    found = _towards_zero(below) if _truncates(operation) else below + (operation.name == "ceil")
    return StraightLine(operation.dtype.type(found), 0.0), switch


def _towards_zero(below: float) -> float:
    """The whole number that numbers between `below` and the next whole number are truncated to."""
    return below if below >= 0 else below + 1
