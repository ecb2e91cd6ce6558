"""Record sums, matrix products, cumulative sums and scatters as scalar operations."""

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from dynsim.programs.moves import updated_places
from dynsim.programs.program import ProgramError
from dynsim.programs.recorder import Entries, Recorder

Params = dict[str, Any]

REDUCED = {
    "reduce_sum": "add", "reduce_max": "max", "reduce_min": "min", "reduce_prod": "mul", "reduce_and": "and",
    "reduce_or": "or", "reduce_xor": "xor",
}  # fmt: skip
"""Reductions, with the operation that each one repeats."""
CUMULATED = {"cumsum": "add", "cumprod": "mul", "cummax": "max", "cummin": "min"}
SCATTERED = {
    "scatter": "", "scatter-add": "add", "scatter_add": "add", "scatter-sub": "sub", "scatter_sub": "sub",
    "scatter-mul": "mul", "scatter_mul": "mul", "scatter-min": "min", "scatter_min": "min", "scatter-max": "max",
    "scatter_max": "max",
}  # fmt: skip
"""Scatters, with the operation that combines an entry with its update; "" if the update replaces the entry."""


def _rows(value: np.ndarray, axes: Iterable[int]) -> tuple[list[list[int]], tuple[int, ...]]:
    """Arrange the entries along some axes as rows, with the shape of the other axes."""
    axes = list(axes)
    kept = [k for k in range(value.ndim) if k not in axes]
    size = math.prod(value.shape[k] for k in axes)
    shape = tuple(value.shape[k] for k in kept)
    return np.transpose(value, [*kept, *axes]).reshape(math.prod(shape), size).tolist(), shape


def _neutral(name: str, dtype: np.dtype) -> Any:
    """Get the neutral element of a reduction, its result for no entries."""
    if dtype.kind == "b":
        return name in ("and", "min", "mul")
    if name in ("max", "min"):
        high = name == "min"
        return (
            (math.inf if high else -math.inf)
            if dtype.kind == "f"
            else getattr(np.iinfo(dtype), "max" if high else "min")
        )
    return {"add": 0, "mul": 1, "and": -1}.get(name, 0)


def _reduction(name: str) -> Callable[..., np.ndarray]:
    def reduced(recorder: Recorder, params: Params, given: list[Any], dtype: np.dtype) -> np.ndarray:
        rows, shape = _rows(recorder.placed(given[0]), map(int, params["axes"]))
        empty = lambda: recorder.constant(_neutral(name, dtype), dtype)
        found = [recorder.chain(name, row, dtype)[-1] if row else empty() for row in rows]
        return np.array(found, int).reshape(shape)

    return reduced


def _cumulation(name: str) -> Callable[..., np.ndarray]:
    def cumulated(recorder: Recorder, params: Params, given: list[Any], dtype: np.dtype) -> np.ndarray:
        value, turn = recorder.placed(given[0]), -1 if params["reverse"] else 1
        rows, shape = _rows(value, [int(params["axis"])])
        found = [recorder.chain(name, row[::turn], dtype)[::turn] for row in rows]
        return np.moveaxis(np.array(found, int).reshape(*shape, value.shape[int(params["axis"])]), -1, params["axis"])

    return cumulated


def _extremum(better: str) -> Callable[..., np.ndarray]:
    """Record the index of the first maximum or minimum, as `argmax` does; a NaN counts as the extremum."""

    def found(recorder: Recorder, params: Params, given: list[Any], dtype: np.dtype) -> np.ndarray:
        kind, truth = given[0].dtype, np.dtype(bool)
        ask = lambda name, *k: recorder.apply(name, *k, dtype=truth)
        rows, shape = _rows(given[0].where, map(int, params["axes"]))
        places = []
        for row in rows:
            best, place = row[0], recorder.constant(0, dtype)
            for k, entry in enumerate(row[1:], 1):
                wins = ask(better, entry, best)
                if kind.kind == "f":
                    wins = ask("or", wins, ask("and", ask("ne", entry, entry), ask("eq", best, best)))
                best = recorder.apply("select_n", wins, best, entry, dtype=kind)
                place = recorder.apply("select_n", wins, place, recorder.constant(k, dtype), dtype=dtype)
            places.append(place)
        return np.array(places, int).reshape(shape)

    return found


def _placed_as(recorder: Recorder, value: Any, dtype: np.dtype) -> np.ndarray:
    """Convert the entries of an array to another type, and return their value numbers."""
    if isinstance(value, Entries) and value.dtype != dtype:
        return recorder.each("convert_element_type", value.where, dtype=dtype, parameter=dtype)
    return recorder.placed(value if isinstance(value, Entries) else np.asarray(value, dtype))


def _product(recorder: Recorder, params: Params, given: list[Any], dtype: np.dtype) -> np.ndarray:
    """Record the contraction of two arrays (`dot_general`)."""
    contracted, batch = params["dimension_numbers"]
    left, right = (_placed_as(recorder, v, dtype) for v in given)
    free = [[k for k in range(v.ndim) if k not in (*contracted[s], *batch[s])] for s, v in enumerate((left, right))]
    outer = [[v.shape[k] for k in f] for v, f in ((left, free[0]), (right, free[1]))]
    batches, size = [left.shape[k] for k in batch[0]], math.prod(left.shape[k] for k in contracted[0])
    count, rows, columns = math.prod(batches), math.prod(outer[0]), math.prod(outer[1])
    recorder.check(2 * count * rows * columns * size)
    a = np.transpose(left, [*batch[0], *free[0], *contracted[0]]).reshape(count, rows, size).tolist()
    b = np.transpose(right, [*batch[1], *free[1], *contracted[1]]).reshape(count, columns, size).tolist()
    zero = recorder.constant(0, dtype)
    found = [
        recorder.chain(
            "add", [zero, *(recorder.apply("mul", x, y, dtype=dtype) for x, y in zip(one, other, strict=True))], dtype
        )[-1]
        for k in range(count)
        for one in a[k]
        for other in b[k]
    ]
    return np.array(found, int).reshape([*batches, *outer[0], *outer[1]])


def _scattering(name: str, primitive: str) -> Callable[..., np.ndarray]:
    def scattered(recorder: Recorder, params: Params, given: list[Any], dtype: np.dtype) -> np.ndarray:
        if isinstance(given[1], Entries):
            raise ProgramError(f"`{primitive}` at an index that depends on the input")
        found = recorder.placed(given[0]).copy()
        at, valid, updates = updated_places(params, found.shape, given[1], recorder.placed(given[2]))
        for inside, update, *place in zip(
            valid.ravel(), updates.ravel().tolist(), *(k.ravel() for k in at), strict=True
        ):
            if inside:
                here = int(found[tuple(place)])
                found[tuple(place)] = recorder.apply(name, here, update, dtype=dtype) if name else update
        return found

    return scattered


CONTRACTIONS: dict[str, Callable[[Recorder, Params, list[Any], np.dtype], np.ndarray]] = {
    "dot_general": _product,
    "argmax": _extremum("gt"),
    "argmin": _extremum("lt"),
    **{name: _reduction(repeated) for name, repeated in REDUCED.items()},
    **{name: _cumulation(repeated) for name, repeated in CUMULATED.items()},
    **{name: _scattering(joins, name) for name, joins in SCATTERED.items()},
}
"""Function that records each reduction or contraction, and returns the value numbers of its output."""
