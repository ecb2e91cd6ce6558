"""Leaders by index and by value, at the first layer at which they lead."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.hardmax.leaders import leader_layers, leader_layers_by_value, leaders_by_value, value_numbers
from dynsim.simulation.simulate import iterate
from dynsim.systems.hardmax.maps import ExactHardmaxMap, HardmaxMap

EXAMPLE = [[-1, 1], [0, 3], [12, 4]]  # Example 5.2
TOKENS = st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=1, max_size=7)


def exact(tokens):
    return ExactHardmaxMap(Fraction(1, 2)).rule.tokens([list(token) for token in tokens])


@pytest.mark.parametrize("kind", [HardmaxMap, ExactHardmaxMap])
def test_the_first_token_of_example_5_2_leads_from_layer_one_on(kind):
    layer = kind(0.5)
    path = iterate(layer, layer.rule.tokens(EXAMPLE), 5)
    assert leader_layers(layer, path.ys).tolist() == [1, -1, 0]
    assert leader_layers_by_value(layer, path.ys).tolist() == [1, -1, 0]


def test_only_the_layers_given_count():
    layer = HardmaxMap(0.5)
    assert leader_layers(layer, [np.array(EXAMPLE, float)]).tolist() == [-1, -1, 0]


def test_equal_tokens_lead_by_value_and_not_by_index():
    layer = HardmaxMap(1.0)
    states = np.array([[[1.0], [1.0], [-2.0], [0.5]]])
    assert leader_layers(layer, states).tolist() == [-1, -1, 0, -1]
    assert leader_layers_by_value(layer, states).tolist() == [0, 0, 0, -1]


def test_a_token_that_follows_itself_and_others_leads_in_neither_sense():
    layer = ExactHardmaxMap(1)
    x = exact([(0, 1), (-1, 1), (1, 1)])
    sets = layer.follower_sets(x)
    assert sets.of(0).tolist() == [0, 1, 2]
    assert leaders_by_value(sets, x).tolist() == [False, True, True]
    with pytest.raises(ValueError, match=r"`x` must have shape \(n, d\), with n = 3"):
        leaders_by_value(sets, x[:2])


def test_values_are_numbered_in_the_order_of_their_first_occurrence():
    assert value_numbers(np.array([[2.0, 1.0], [0.0, 1.0], [2.0, 1.0], [-0.0, 1.0]])).tolist() == [0, 1, 0, 1]


@settings(max_examples=25, deadline=None)
@given(TOKENS, st.randoms(use_true_random=False))
def test_leaders_go_with_their_tokens_and_distinct_tokens_make_both_senses_agree(tokens, random):
    order = list(range(len(tokens)))
    random.shuffle(order)
    layer, x = ExactHardmaxMap(Fraction(1, 2)), exact(tokens)
    states, moved = iterate(layer, x, 3).ys, iterate(layer, x[order], 3).ys
    by_index, by_value = leader_layers(layer, states), leader_layers_by_value(layer, states)
    assert leader_layers(layer, moved).tolist() == by_index[order].tolist()
    assert leader_layers_by_value(layer, moved).tolist() == by_value[order].tolist()
    single = [tokens.count(token) == 1 for token in tokens]
    assert by_index[single].tolist() == by_value[single].tolist()
    assert np.all(by_index[np.logical_not(single)] == -1)
    assert np.max(by_value) >= 0  # a token of largest norm leads from the start


def test_a_run_without_layers_is_refused():
    with pytest.raises(ValueError, match="`states` must hold at least one layer"):
        leader_layers(HardmaxMap(1.0), [])
