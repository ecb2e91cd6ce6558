"""Flatten states to vectors, build grids of them, and measure distances to the chords of a curve."""

import math
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from dynsim._core.types import State
from dynsim.errors import ArgumentError


def flat_states(states: State) -> Float[np.ndarray, "states n"]:
    """Flatten states on the first axis of every array to rows, in the order of `ravel_pytree`."""
    parts = [np.asarray(part) for part in jax.tree.leaves(states)]
    return np.concatenate([part.reshape(len(part), math.prod(part.shape[1:])) for part in parts], axis=1)


def flat_state(state: State) -> Float[np.ndarray, " n"]:
    """Flatten a state to a NumPy vector in the order of `ravel_pytree`, without compiling."""
    if isinstance(state, np.ndarray):  # quickly, since a continuation does this at each point
        return np.array(state, float).ravel()
    return np.concatenate([np.ravel(np.asarray(part)) for part in jax.tree.leaves(state)], dtype=float)


def states_like(state: Any, rows: Float[np.ndarray, "states n"]) -> State:
    """Restore states on the first axis of every array from rows; reverses `flat_states`, without compiling.

    Args:
        state: a state, or its shapes, with the structure of each of them.
        rows: flattened states.
    """
    leaves, tree = jax.tree.flatten(state)
    parts = np.split(rows, np.cumsum([math.prod(np.shape(leaf)) for leaf in leaves])[:-1], axis=1)
    return tree.unflatten([part.reshape(len(rows), *np.shape(leaf)) for part, leaf in zip(parts, leaves, strict=True)])


def extents(rows: Float[np.ndarray, "k n"]) -> Float[np.ndarray, " n"]:
    """Compute the ranges of the components of states, or one for those that are constant."""
    found = np.ptp(rows, axis=0)
    return np.where(found > 0, found, 1.0)


def count_of(name: str, states: State) -> int:
    """Count the states on the common first axis of all arrays.

    Raises:
        ValueError: for arrays without a common first axis.
    """
    counts = {y.shape[0] if y.ndim else 0 for y in jax.tree.leaves(states)}
    if len(counts) != 1 or 0 in counts:
        must = f"have the {name} on the first axis of every array"
        raise ArgumentError(name, must, f"has lengths {sorted(counts)}")
    return counts.pop()


def chord_distances(
    points: Float[np.ndarray, "points n"], at: Float[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, " chords"], Float[np.ndarray, " chords"]]:
    """Compute the distances of a point from the chords between successive points, and the lengths of the chords."""
    begin, chord = points[:-1], np.diff(points, axis=0)
    squares = np.maximum(np.sum(chord**2, axis=1), 1e-300)
    shares = np.clip(np.sum((at - begin) * chord, axis=1) / squares, 0, 1)
    return np.linalg.norm(at - begin - shares[:, None] * chord, axis=1), np.sqrt(squares)


def chord_bends(points: Float[np.ndarray, "points n"]) -> Float[np.ndarray, " chords"]:
    """Compute for each chord the larger one of its angles with the neighbouring chords; pi for a single chord."""
    chords = np.diff(points, axis=0)
    unit = chords / np.maximum(np.linalg.norm(chords, axis=1, keepdims=True), 1e-300)
    if len(unit) < 2:
        return np.full(len(unit), np.pi)
    angles = np.arccos(np.clip(np.sum(unit[1:] * unit[:-1], axis=1), -1.0, 1.0))
    return np.maximum(np.append(0.0, angles), np.append(angles, 0.0))


def grid_states(
    axes: Sequence[Float[np.ndarray, "_"]], flat: Float[np.ndarray, " n"], varied: Sequence[int]
) -> Float[np.ndarray, "points n"]:
    """Build flattened states on a grid of some components, with the other components fixed.

    Args:
        axes: values of each varied component; the last component varies fastest.
        flat: a flattened state with the values of the other components.
        varied: index of each varied component.
    """
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
    states = np.tile(flat, (len(points), 1))
    states[:, list(varied)] = points
    return states
