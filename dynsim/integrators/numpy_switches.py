"""Times at which a right-hand side in NumPy jumps: its comparisons of the time, and samples where these are hidden.

The function is called with a time that notes what it is compared with. Where the function takes its number out, by
`math` or by writing it into an array, the field is sampled at many times as well.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dynsim.errors import ArgumentError
from dynsim.programs.program import COMPARING, Operation
from dynsim.programs.pulses import SEEN, marks_of_changes
from dynsim.programs.switches import CURVE, MOST, StraightLine, followed

SAMPLES = 4096
"""Times at which a field is sampled: pulses longer than this share of the horizon are found."""
STEEP = 8.0
"""A change between samples that is this many times the median of its neighbours may be a jump."""
JUMPS = 1000
"""Most jumps sought between samples."""
Field = Callable[[Any], np.ndarray]
"""A field of time alone, with the state held."""

FLOAT, TRUTH = np.dtype(float), np.dtype(bool)
NAMES = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "div", "negative": "neg", "absolute": "abs",
    "sign": "sign", "floor": "floor", "ceil": "ceil", "rint": "round", "maximum": "max", "minimum": "min",
    "fmod": "rem", "greater": "gt", "greater_equal": "ge", "less": "lt", "less_equal": "le", "equal": "eq",
    "not_equal": "ne",
}  # fmt: skip
"""Operations of programs that NumPy's functions are."""
SHARPENING = ("exp", "exp2", "tanh", "cosh", "arctan", "power", "float_power", "divide", "reciprocal")
"""NumPy's functions that may make a short pulse of a curve."""


class Notes:
    """The time of one call of a field, and when the branches that it takes end."""

    def __init__(self, now: float):
        """Begin at a time."""
        self.now, self.next, self.hidden, self.used = now, math.inf, False, False
        self.sharpened = False  # whether a function of a curve was taken that may make a short pulse of it

    def until(self, switch: float | None) -> None:
        """Note that a branch ends; None if it is not known when."""
        if switch is None:
            self.hidden = True
        elif self.now < switch < self.next:
            self.next = switch

    @property
    def time(self) -> "NotedTime":
        """The time as a number that writes these notes."""
        return NotedTime(self.now, StraightLine(0.0, 1.0), self)


class NotedTime(np.lib.mixins.NDArrayOperatorsMixin):
    """A number that depends on the time, with its straight line up to the next switch."""

    def __init__(self, value: float, line: StraightLine, notes: Notes):
        """Store the number."""
        self.value, self.line, self.notes = value, line, notes

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Apply a NumPy function, to each entry of arrays."""
        self.notes.used = True
        if method != "__call__" or options:
            self.notes.hidden = True
            return getattr(ufunc, method)(*map(_plain, inputs), **options)
        arrays = [a for a in inputs if not isinstance(a, NotedTime) and np.ndim(a)]
        if not arrays:
            return self._applied(ufunc, inputs)
        shape = np.broadcast_shapes(*(np.shape(a) for a in arrays))
        given = [a if isinstance(a, NotedTime) else np.broadcast_to(a, shape) for a in inputs]
        found = np.empty(shape, object)
        for k in np.ndindex(shape):
            found[k] = self._applied(ufunc, [a if isinstance(a, NotedTime) else a[k] for a in given])
        return found.astype(bool) if NAMES.get(ufunc.__name__) in COMPARING else found

    def _applied(self, ufunc: np.ufunc, inputs: Any) -> Any:
        """Apply a function to numbers."""
        name = ufunc.__name__
        if name in ("remainder", "floor_divide"):
            whole = np.floor(inputs[0] / inputs[1])
            return whole if name == "floor_divide" else inputs[0] - inputs[1] * whole
        value = ufunc(*map(_plain, inputs))
        lines = [a.line if isinstance(a, NotedTime) else StraightLine(float(a), 0.0) for a in inputs]
        constant = all(line.b == 0 for line in lines)
        self.notes.sharpened |= name in SHARPENING and math.isnan(lines[name == "divide"].b)
        if constant and NAMES.get(name) in COMPARING:
            return bool(value)
        if name not in NAMES or constant:
            line = StraightLine(float(value), 0.0) if constant else CURVE
            return NotedTime(value, line, self.notes) if np.ndim(value) == 0 else value
        operation = Operation(NAMES[name], (), TRUTH if NAMES[name] in COMPARING else FLOAT)
        line, switch = followed(operation, lines, self.notes.now)
        self.notes.until(switch)
        if NAMES[name] in COMPARING:
            return bool(value if math.isnan(line.b) else line.a)
        return NotedTime(value if math.isnan(line.b) else line.at(self.notes.now), line, self.notes)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        """Apply a function of arrays: those that select are followed, others get the number."""
        self.notes.used = True
        if function is np.where and len(arguments) == 3 and isinstance(arguments[0], bool | np.bool_):
            return arguments[1] if arguments[0] else arguments[2]
        if function is np.clip and len(arguments) == 3 and not options:
            return np.minimum(np.maximum(*arguments[:2]), arguments[2])
        if function is np.interp and arguments and arguments[0] is self:
            return self._interpolated(*arguments[1:], **options)
        self.notes.hidden = True
        return function(*map(_plain, arguments), **options)

    def _interpolated(self, knots: Any, values: Any, *ends: Any, period: float | None = None, **options: Any) -> Any:
        """Interpolate in a table, whose knots are switches."""
        this: Any = self
        place = this if period is None else np.remainder(this, period)
        inside = np.unique(np.asarray(knots, float) if period is None else np.remainder(knots, period))
        for knot in inside:
            _ = place > knot
        value = np.interp(place.value, knots, values, *ends, period=period, **options)
        return NotedTime(value, CURVE, self.notes)

    def __getattr__(self, name: str) -> Any:
        """The methods that NumPy calls for the entries of an array of objects, such as `exp`."""
        if isinstance(getattr(np, name, None), np.ufunc):
            return lambda: getattr(np, name)(self)
        raise AttributeError(name)

    def __float__(self) -> float:
        """The number alone."""
        self.notes.used = self.notes.hidden = True
        return float(self.value)

    def __bool__(self) -> bool:
        """Whether the number is not zero."""
        return bool(self != 0)

    def __int__(self) -> int:
        """The number without its fraction."""
        return int(_plain(np.floor(self) if self.value >= 0 else np.ceil(self)))

    def __floor__(self) -> int:
        """The next whole number below."""
        return int(_plain(np.floor(self)))

    def __ceil__(self) -> int:
        """The next whole number above."""
        return int(_plain(np.ceil(self)))

    def __round__(self, digits: int = 0) -> Any:
        """The nearest number with some digits."""
        scaled = np.rint(self * 10.0**digits)
        return scaled / 10.0**digits if digits else int(_plain(scaled))

    __trunc__ = __int__
    __hash__ = None  # pyright: ignore[reportAssignmentType]


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, NotedTime) else value


def numpy_switches(field: Field, t0: float, t1: float, first: int | None = None) -> np.ndarray:
    """Times strictly between two at which a NumPy field of time jumps or has a kink, with the state held.

    Comparisons of straight lines in the time are found whatever their distance, also `%`, `//`, `int` and the knots of
    `np.interp`. Others, such as those of `math.sin(t)`, are found if they last for 1/4096 of the interval, and so are
    smooth pulses, where they begin, have their middles, and end.
    `first` is the number of times after which the search ends.

    Raises:
        ValueError: for more than 100,000 of them, if `first` is not given.
    """
    found, t, hidden, sharpened = [], t0, False, False
    with np.errstate(all="ignore"):
        while t < t1:
            notes = Notes(t)
            try:
                field(notes.time)
            except Exception:  # noqa: BLE001  (a function may raise anything for a number that is no float)
                notes.used = notes.hidden = True
            if not notes.used:
                break
            hidden |= notes.hidden
            sharpened |= notes.sharpened or notes.hidden
            t = notes.next
            if t < t1:
                found.append(t)
            if len(found) == first:
                t1 = t + 8 * math.ulp(t)  # the flip lies a few floats beside
                break
            if len(found) > MOST:
                must = f"contain at most {MOST:,} jumps of the field in time: solve it in parts"
                raise ArgumentError("ts", must, f"contains more, the last ones {found[-1] - found[-2]:.3g} apart")
        exact = [_flip(field, one) for one in found]
        other = _between_samples(field, t0, t1, exact) if hidden else []
        every = np.unique(np.array(exact + other, float))
        if sharpened and first is None:
            every = np.unique(np.append(every, _pulses(field, t0, t1, every)))
    return every[(every > t0) & (every < t1)]


def _flip(field: Field, t: float) -> float:
    """The float at which the field jumps, a few floats away at most from where exact numbers switch."""
    near = [t]
    for _ in range(3):
        near = [float(np.nextafter(near[0], -np.inf)), *near, float(np.nextafter(near[-1], np.inf))]
    values = [field(one) for one in near]
    sizes = [_distance(a, b) for a, b in zip(values[:-1], values[1:], strict=True)]
    return near[int(np.argmax(sizes)) + 1] if max(sizes) > 0.5 * _distance(values[0], values[-1]) > 0 else t


def _distance(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.max(np.abs(a - b), initial=0.0))


def _samples(t0: float, t1: float) -> np.ndarray:
    """Times at irregular distances, at which the field is sampled."""
    shift = np.random.default_rng(0).uniform(-0.4, 0.4, SAMPLES)
    return np.concatenate([[t0], t0 + (t1 - t0) * (np.arange(SAMPLES) + 0.5 + shift) / SAMPLES, [t1]])


def _pulses(field: Field, t0: float, t1: float, known: np.ndarray) -> np.ndarray:
    """Where smooth pulses that samples meet begin, have their middles, and end."""
    ts = np.unique(np.concatenate([_samples(t0, t1), known]))
    seen: dict[float, np.ndarray] = {}

    def values(at: np.ndarray) -> np.ndarray:
        for t in at.tolist():
            if t not in seen:
                seen[t] = np.ravel(field(t))
        return np.stack([seen[t] for t in at.tolist()], axis=1)

    return marks_of_changes(values, ts[:-1], ts[1:], SEEN * np.ptp(values(ts), axis=1), known)


def _between_samples(field: Field, t0: float, t1: float, known: list[float]) -> list[float]:
    """Jumps between samples, and where the field begins or ceases to change; without those that are known."""
    ts = _samples(t0, t1)
    values = np.stack([field(t) for t in ts.tolist()])
    change = np.max(np.abs(np.diff(values, axis=0)), axis=1)
    padded = np.pad(change, 3, mode="edge")
    usual = np.median(np.stack([padded[k : k + len(change)] for k in range(7)]), axis=0)
    rests = change == 0
    turns = ~rests & (np.append(rests[1:], False) | np.append(False, rests[:-1]))
    at = np.flatnonzero((change > STEEP * usual) | turns)
    at = at[np.argsort(-change[at])][:JUMPS]
    known_at = set(np.searchsorted(ts, known).tolist())
    found = []
    for k in at.tolist():
        if k + 1 in known_at:
            continue
        low, high, start = float(ts[k]), float(ts[k + 1]), values[k]
        from_rest = k > 0 and bool(rests[k - 1])
        to_rest = k + 1 < len(change) and bool(rests[k + 1])
        end = values[k + 1]
        while (middle := low + (high - low) / 2) not in (low, high):
            value = field(middle)
            left = _distance(value, start) == 0 if from_rest else _distance(value, end) > 0 if to_rest else (
                _distance(value, start) < _distance(value, end)
            )  # fmt: skip
            low, high = (middle, high) if left else (low, middle)
        if from_rest or to_rest or _distance(field(low), field(high)) > 0.5 * change[k]:
            found.append(high)
    return found
