"""NumPy implementations of the JAX primitives that only move array entries (slices, reshapes, gathers)."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jax.lax import GatherScatterMode

Params = dict[str, Any]


def _broadcast(params: Params, x: np.ndarray) -> np.ndarray:
    shape = [1] * len(params["shape"])
    for axis, size in zip(params["broadcast_dimensions"], x.shape, strict=True):
        shape[axis] = size
    return np.broadcast_to(x.reshape(shape), params["shape"])


def _slice(params: Params, x: np.ndarray) -> np.ndarray:
    strides = params["strides"] or (1,) * x.ndim
    return x[tuple(map(slice, params["start_indices"], params["limit_indices"], strides))]


def _reshaped(params: Params, x: np.ndarray) -> np.ndarray:
    order = params.get("dimensions")
    return (x if order is None else np.transpose(x, order)).reshape(params["new_sizes"])


def _squeezed(params: Params, x: np.ndarray) -> np.ndarray:
    return np.squeeze(x, tuple(params["dimensions"]))


def _padded(params: Params, x: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Pad an array before, after and between its entries; negative padding removes entries."""
    config = params["padding_config"]
    spread = [max(0, size + max(0, size - 1) * inner) for size, (_, _, inner) in zip(x.shape, config, strict=True)]
    found = np.full([n + max(0, low) + max(0, high) for n, (low, high, _) in zip(spread, config, strict=True)], value)
    at = [slice(max(0, low), max(0, low) + n, inner + 1) for n, (low, _, inner) in zip(spread, config, strict=True)]
    found[tuple(at)] = x
    kept = [slice(max(0, -low), size - max(0, -high)) for size, (low, high, _) in zip(found.shape, config, strict=True)]
    return found[tuple(kept)]


def _split(params: Params, x: np.ndarray) -> list[np.ndarray]:
    return np.split(x, np.cumsum(params["sizes"])[:-1], params["axis"])


def _unstacked(params: Params, x: np.ndarray) -> list[np.ndarray]:
    return [np.asarray(part) for part in np.moveaxis(x, params["axis"], 0)]


def _begins(at: Sequence[Any], sizes: Sequence[int], shape: Sequence[int]) -> tuple[slice, ...]:
    """Clip the start indices of slices so that they lie in the array, as JAX does."""
    begins = [min(max(int(k), 0), n - size) for k, size, n in zip(at, sizes, shape, strict=True)]
    return tuple(slice(k, k + size) for k, size in zip(begins, sizes, strict=True))


def _dynamic_slice(params: Params, x: np.ndarray, *at: np.ndarray) -> np.ndarray:
    return x[_begins(at, params["slice_sizes"], x.shape)]


def _dynamic_update(params: Params, x: np.ndarray, update: np.ndarray, *at: np.ndarray) -> np.ndarray:
    del params
    found = x.copy()
    found[_begins(at, update.shape, x.shape)] = update
    return found


def _tile(params: Params, x: np.ndarray) -> np.ndarray:
    return np.tile(x, params["reps"])


MOVES: dict[str, Callable[..., Any]] = {
    "broadcast_in_dim": _broadcast, "reshape": _reshaped, "squeeze": _squeezed, "slice": _slice, "pad": _padded,
    "split": _split, "dynamic_slice": _dynamic_slice, "dynamic_update_slice": _dynamic_update, "tile": _tile,
    "transpose": lambda params, x: np.transpose(x, params["permutation"]),
    "rev": lambda params, x: np.flip(x, params["dimensions"]),
    "concatenate": lambda params, *xs: np.concatenate(xs, params["dimension"]),
    "stack": lambda params, *xs: np.stack(xs, params["axis"]), "unstack": _unstacked,
    "expand_dims": lambda params, x: np.expand_dims(x, params["dimensions"]),
    "copy": lambda params, x: x, "copy_p": lambda params, x: x, "stop_gradient": lambda params, x: x,
    "optimization_barrier": lambda params, *xs: list(xs), "name": lambda params, x: x,
    "device_put": lambda params, *xs: list(xs),
}  # fmt: skip
"""Function of each primitive on its parameters and arrays; primitives with several outputs return a list."""

INDICES = {"dynamic_slice": 1, "dynamic_update_slice": 2}
"""Position of the first index operand of the primitives that have index operands."""


def gathered(params: Params, x: np.ndarray, indices: np.ndarray, fill: Any) -> np.ndarray:
    """Gather slices of an array at given indices; the mode says whether slices out of bounds are filled or clipped."""
    numbers, sizes = params["dimension_numbers"], params["slice_sizes"]
    apart = (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)
    batching = (numbers.operand_batching_dims, numbers.start_indices_batching_dims)
    at, valid = places(x.shape, indices, numbers.start_index_map, batching, sizes, apart, params["mode"])
    found = np.asarray(x[at] if np.all(valid) else np.where(valid, x[at], fill))
    count = found.ndim
    batch = [k for k in range(count) if k not in numbers.offset_dims]
    return np.moveaxis(found, range(count), [*batch, *numbers.offset_dims])


def places(
    shape: Sequence[int],
    indices: np.ndarray,
    mapped: Sequence[Any],
    batching: tuple[Sequence[Any], Sequence[Any]],
    sizes: Sequence[Any],
    apart: Sequence[Any],
    mode: Any,
) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """Compute the indices of windows of an array, (batch..., window...), and test whether they are in bounds.

    Args:
        shape: the shape of the array.
        indices: the start of each window, with the index vector on the last axis.
        mapped: the axis of the array that each entry of the index vector belongs to.
        batching: batch axes of the array, and the corresponding axes of the indices.
        sizes: the size of a window along each axis.
        apart: axes of the array that windows do not have.
        mode: what happens to windows out of bounds.
    """
    batch, window = indices.shape[:-1], [k for k in range(len(shape)) if k not in apart]
    begins = [np.zeros(batch, int) for _ in shape]
    for k, axis in enumerate(mapped):
        begins[axis] = np.asarray(indices[..., k], int)
    for axis, along in zip(*batching, strict=True):
        begins[axis] = np.broadcast_to(_along(np.arange(batch[along]), along, len(batch)), batch)
    last = [n - size for n, size in zip(shape, sizes, strict=True)]
    valid = np.ones(batch, bool)
    for begin, end in zip(begins, last, strict=True):
        valid &= (begin >= 0) & (begin <= end)
    if mode != GatherScatterMode.FILL_OR_DROP:
        valid = np.ones(batch, bool)
    total, found = len(batch) + len(window), []
    for axis, (begin, end) in enumerate(zip(begins, last, strict=True)):
        inside = np.clip(begin, 0, max(end, 0)).reshape(batch + (1,) * len(window))
        step = np.arange(sizes[axis]) if axis in window else np.zeros(1, int)
        found.append(inside + _along(step, len(batch) + window.index(axis) if axis in window else 0, total))
    whole = batch + tuple(sizes[k] for k in window)
    broadcast = tuple(np.broadcast_to(one, whole) for one in found)
    return broadcast, np.broadcast_to(valid.reshape(batch + (1,) * len(window)), whole)


def _along(values: np.ndarray, axis: int, count: int) -> np.ndarray:
    """Reshape a vector to lie along one of several axes."""
    return values.reshape([-1 if k == axis else 1 for k in range(count)])


def updated_places(
    params: Params, shape: Sequence[int], indices: np.ndarray, updates: np.ndarray
) -> tuple[tuple[np.ndarray, ...], np.ndarray, np.ndarray]:
    """Compute where a scatter writes its updates, test whether the places are in bounds, and order the updates so."""
    numbers = params["dimension_numbers"]
    windows = numbers.update_window_dims
    batch = [k for k in range(updates.ndim) if k not in windows]
    apart = (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
    widths = iter(updates.shape[k] for k in windows)
    sizes = [1 if k in apart else next(widths) for k in range(len(shape))]
    batching = (numbers.operand_batching_dims, numbers.scatter_indices_batching_dims)
    mapped = numbers.scatter_dims_to_operand_dims
    at, valid = places(shape, indices, mapped, batching, sizes, apart, params["mode"])
    return at, valid, np.transpose(updates, [*batch, *windows])


def fill_value(params: Params, dtype: np.dtype) -> Any:
    """Get the value that a gather fills in for windows out of bounds."""
    if params.get("fill_value") is not None:
        return params["fill_value"]
    if dtype.kind == "b":
        return True
    if dtype.kind in "iu":
        return np.iinfo(dtype).min if dtype.kind == "i" else np.iinfo(dtype).max
    return math.nan
