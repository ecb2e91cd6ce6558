"""Leaders along a run: which tokens come to follow only themselves, and from which layer on."""

from collections.abc import Callable, Iterable

import numpy as np
from jaxtyping import Bool, Int

from dynsim.errors import argument_error
from dynsim.systems.hardmax.follower_sets import FollowerSets
from dynsim.systems.hardmax.maps import ExactHardmaxMap, HardmaxMap

Mask = Callable[[FollowerSets, np.ndarray], np.ndarray]


def leader_layers(map: HardmaxMap | ExactHardmaxMap, states: Iterable[np.ndarray]) -> Int[np.ndarray, " n"]:
    r"""Return for every token the first layer with $\mathcal{C}_i(Z^k) = \{i\}$, -1 if there is none among `states`.

    The definition goes by index: two equal tokens follow each other, and neither is a leader. It is applied at every
    layer; that a leader stays one is not assumed.

    Args:
        map: whose follower sets count, in floats or fractions.
        states: one array of shape (n, d) for each layer, from layer 0 on without a gap, as `Trajectory.ys`.

    Raises:
        ValueError: if there is no state.

    Source: HARDMAX, Definition 1.1.
    """
    return _first_layers(map, states, lambda sets, x: sets.leaders)


def leader_layers_by_value(map: HardmaxMap | ExactHardmaxMap, states: Iterable[np.ndarray]) -> Int[np.ndarray, " n"]:
    """Return the same with equal tokens taken as one: the first layer at which token i follows only tokens equal to it.

    Source: HARDMAX, Definition 1.1, for tokens that need not be distinct.
    """
    return _first_layers(map, states, leaders_by_value)


def leaders_by_value(sets: FollowerSets, x: np.ndarray) -> Bool[np.ndarray, " n"]:
    """Return which tokens follow only tokens of their own value in `x`, shape (n, d), exact or not."""
    value = value_numbers(x)
    followed, begin = value[sets.members], sets.starts[:-1]
    lowest, highest = np.minimum.reduceat(followed, begin), np.maximum.reduceat(followed, begin)
    return (lowest == highest)[sets.which] & (lowest[sets.which] == value)


def value_numbers(x: np.ndarray) -> Int[np.ndarray, " n"]:
    """Return the number of each token's value, in the order in which the values first occur; equality is exact."""
    seen: dict[tuple, int] = {}
    return np.array([seen.setdefault(tuple(row), len(seen)) for row in x.tolist()], int)


def _first_layers(map: HardmaxMap | ExactHardmaxMap, states: Iterable[np.ndarray], mask: Mask) -> np.ndarray:
    first: np.ndarray | None = None
    for layer, state in enumerate(states):
        x = map.rule.tokens(state)
        first = np.full(len(x), -1) if first is None else first
        first[(first < 0) & mask(map.follower_sets(x), x)] = layer
    if first is None:
        raise argument_error("states", "hold at least one layer", "is empty")
    return first
