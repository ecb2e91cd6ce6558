"""Find leaders along a trajectory: tokens that follow only themselves at some layer, and the first such layer."""

from collections.abc import Callable, Iterable

import numpy as np
from jaxtyping import Bool, Int

from dynsim._core.checked import checked
from dynsim._core.validation import real_or_exact
from dynsim.errors import ArgumentError, shown
from dynsim.systems.hardmax.maps import ExactHardmaxMap, HardmaxMap
from dynsim.systems.hardmax.search.follower_sets import FollowerSets

Mask = Callable[[FollowerSets, np.ndarray], np.ndarray]


@checked
def leader_layers(map: HardmaxMap | ExactHardmaxMap, states: Iterable[np.ndarray]) -> Int[np.ndarray, " n"]:
    r"""Find for every token the first layer with $\mathcal{C}_i(Z^k) = \{i\}$; -1 if there is none among `states`.

    Tokens are distinguished by index: two equal tokens follow each other, and neither is a leader. It is not assumed
    that a leader remains one (HARDMAX, Lemma 5.1).

    Args:
        map: the hardmax map, in floats or fractions.
        states: one array of shape (n, d) for each layer, from layer 0 on without a gap, as in `Trajectory.ys`.

    Raises:
        ValueError: if there is no state.

    Source: HARDMAX, Definition 1.1.

    Example:
        >>> import dynsim as ds
        >>> import numpy as np
        >>> from analysis.hardmax import leader_layers
        >>> leader_layers(ds.hardmax.HardmaxMap(1), [np.array([[1.0], [2.0], [-1.0]])]).tolist()
        [-1, 0, 0]
    """
    return _first_layers(map, states, lambda sets, x: sets.leaders)


@checked
def leader_layers_by_value(map: HardmaxMap | ExactHardmaxMap, states: Iterable[np.ndarray]) -> Int[np.ndarray, " n"]:
    """Find for every token the first layer at which it follows only tokens equal to it; -1 if there is none.

    This is `leader_layers` with equal tokens identified.

    Args:
        map: the hardmax map, in floats or fractions.
        states: one array of shape (n, d) for each layer, from layer 0 on without a gap.

    Raises:
        ValueError: if there is no state.

    Source: HARDMAX, Definition 1.1, for tokens that need not be distinct.

    Example:
        >>> import dynsim as ds
        >>> import numpy as np
        >>> from analysis.hardmax import leader_layers_by_value
        >>> leader_layers_by_value(ds.hardmax.HardmaxMap(1), [np.array([[1.0], [2.0], [2.0]])]).tolist()
        [-1, 0, 0]
    """
    return _first_layers(map, states, leaders_by_value)


@checked
def leaders_by_value(sets: FollowerSets, x: np.ndarray) -> Bool[np.ndarray, " n"]:
    """Test which tokens of `x`, shape (n, d), follow only tokens equal to themselves; equality is exact.

    Args:
        sets: follower sets of the tokens, from `follower_sets` of a hardmax map.
        x: the tokens, (n, d).

    Raises:
        ValueError: for tokens of another number.

    Example:
        >>> import dynsim as ds
        >>> import numpy as np
        >>> from analysis.hardmax import leaders_by_value
        >>> x = np.array([[1.0], [2.0], [2.0]])
        >>> leaders_by_value(ds.hardmax.HardmaxMap(1).follower_sets(x), x).tolist()
        [False, True, True]
    """
    given = np.asarray(real_or_exact("x", x))
    if given.ndim != 2 or len(given) != len(sets.which):
        raise ArgumentError("x", f"have shape (n, d), with n = {len(sets.which)}", f"has shape {given.shape}")
    value = value_numbers(given)
    followed, begin = value[sets.members], sets.starts[:-1]
    lowest, highest = np.minimum.reduceat(followed, begin), np.maximum.reduceat(followed, begin)
    return (lowest == highest)[sets.which] & (lowest[sets.which] == value)


def value_numbers(x: np.ndarray) -> Int[np.ndarray, " n"]:
    """Number the values of tokens by first occurrence, and give the number of each token; equality is exact."""
    seen: dict[tuple, int] = {}
    return np.array([seen.setdefault(tuple(row), len(seen)) for row in x.tolist()], int)


def _first_layers(map: HardmaxMap | ExactHardmaxMap, states: Iterable[np.ndarray], mask: Mask) -> np.ndarray:
    first: np.ndarray | None = None
    if not isinstance(states, Iterable):
        raise ArgumentError("states", "be the states of all layers", f"is {shown(states)}")
    for layer, state in enumerate(states):
        x = map.rule.tokens(state)
        first = np.full(len(x), -1) if first is None else first
        first[(first < 0) & mask(map.follower_sets(x), x)] = layer
    if first is None:
        raise ArgumentError("states", "hold at least one layer", "is empty")
    return first
