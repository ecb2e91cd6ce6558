"""The hardmax map: exact follower sets by every search, in floats and fractions, and how far a run is certain."""

import contextlib
import math
from fractions import Fraction
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynsim.keys import random_key
from dynsim.simulation.hardmax import CertainLayers, iterate_hardmax
from dynsim.simulation.run_files import load, rerun, save
from dynsim.simulation.simulate import iterate
from dynsim.systems.hardmax.attention import ExactHardmax, Hardmax, Softmax
from dynsim.systems.hardmax.examples import EXAMPLE_5_2, REMARK_1_3
from dynsim.systems.hardmax.hypotheses import hypotheses
from dynsim.systems.hardmax.maps import ExactHardmaxMap, HardmaxMap, MultiHeadMap, SoftmaxMap
from dynsim.systems.hardmax.search import brute_force as all_scores
from dynsim.systems.hardmax.search import choice as search
from dynsim.systems.hardmax.search import cone_bisection as cones
from dynsim.systems.hardmax.search import direction_grid as cells
from dynsim.systems.hardmax.search import grouping, ties
from dynsim.systems.hardmax.search.choice import BruteForce, ConeBisection
from dynsim.systems.hardmax.search.ties import binary_extent, float_integers
from tests.support.annotations import unchecked

LAYERS = 6
ALPHAS = (1.0, 0.5, 2.0, 0.1, 7.0, -0.3, -3.0)


MANNERS = {
    "cells as they are": {},
    "cells to the finest": {"QUERIES": 0, "LIGHT": 0.0, "MOST": {2: 6, 3: 3}},
    "no cells": {"CROWD": -1},  # bisected cones for all queries
}


@pytest.fixture(autouse=True, scope="module")
def _cones_are_used():
    """Let `ConeBisection` search where all scores would be faster, as they are for the few tokens of tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "SCORE_SECONDS", 1.0)
        yield


@contextlib.contextmanager
def manner(name):
    """Let `ConeBisection` search in a manner of its own."""
    with pytest.MonkeyPatch.context() as patch:
        for constant, value in MANNERS[name].items():
            patch.setattr(cells, constant, value)
        yield


def normal(name, *shape):
    """Return the first of 2,700 numbers: one program for all shapes."""
    return np.asarray(jax.random.normal(random_key(4, name), (2700,)))[: math.prod(shape)].reshape(shape)


def by_definition(x, attention=None):
    """Return C_1, ..., C_n of (1.1b) in fractions, one comparison after the other."""
    z = [[Fraction(entry) for entry in row] for row in x]
    A = None if attention is None else [[Fraction(entry) for entry in row] for row in attention]
    dot = lambda a, b: sum(p * q for p, q in zip(a, b, strict=True))
    queries = z if A is None else [[dot(row, token) for row in A] for token in z]
    scores = [[dot(q, token) for token in z] for q in queries]
    return [[j for j, score in enumerate(row) if score == max(row)] for row in scores]


@st.composite
def clouds(draw, largest=9):
    """Return tokens and A, of every kind that has gone wrong or might."""
    n, d = draw(st.integers(1, largest)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(
        st.sampled_from(["general", "lattice", "decimal", "line", "plane", "place", "scales", "least", "repeated"])
    )
    lattice = rng.integers(-2, 3, (n, d)).astype(float)
    x = {"general": lambda: rng.normal(size=(n, d)), "lattice": lambda: lattice, "decimal": lambda: lattice * 0.1,
        "line": lambda: rng.normal(size=(n, 1)) * rng.integers(-2, 3, (1, d)),
        "plane": lambda: np.concatenate([lattice[:, 1:], np.full((n, 1), 0.7)], axis=1),
        "place": lambda: 1 + lattice * 2.0**-52,
        "scales": lambda: rng.normal(size=(n, d)) * 10.0 ** rng.integers(-160, 150, (n, 1)),
        "least": lambda: rng.integers(-300, 300, (n, d)) * 5e-324,
        "repeated": lambda: rng.normal(size=(n, d))[rng.integers(0, n, n)]}[kind]()  # fmt: skip
    A = {
        "identity": lambda: None,
        "general": lambda: rng.normal(size=(d, d)),
        "integers": lambda: rng.integers(-1, 2, (d, d)).astype(float),
    }[draw(st.sampled_from(["identity", "general", "integers"]))]()
    return x, A


@pytest.mark.slow
@settings(max_examples=1000, deadline=None, derandomize=True, database=None)
@given(clouds(), st.sampled_from(list(MANNERS)))
@unchecked()
def test_every_search_in_both_arithmetics_finds_the_sets_of_the_definition(cloud, name):
    x, A = cloud
    expected = by_definition(x, A)
    ways = (BruteForce(), ConeBisection()) if x.shape[1] <= 3 else (BruteForce(),)
    for map in (HardmaxMap(1, A), ExactHardmaxMap(1, A)):
        for way in ways:
            with manner(name):
                assert map.follower_sets(x, search=way).lists() == expected


@settings(max_examples=25, deadline=None, derandomize=True, database=None)
@given(clouds(), st.sampled_from(ALPHAS))
@unchecked()
def test_floats_and_fractions_agree_as_far_as_a_run_is_certain(cloud, alpha):
    x, A = cloud
    floats, exact = HardmaxMap(alpha, A), ExactHardmaxMap(alpha, A)
    one, other = iterate_hardmax(floats, x, LAYERS), iterate_hardmax(exact, x, LAYERS)
    assert 1 <= one.certain <= LAYERS
    assert other.certain == LAYERS
    for k in range(one.certain):
        assert floats.follower_sets(one.path.ys[k]).lists() == exact.follower_sets(other.path.ys[k]).lists()


@settings(max_examples=25, deadline=None, derandomize=True, database=None)
@given(clouds(), st.sampled_from(ALPHAS))
@unchecked()
def test_a_recorded_run_has_the_states_of_iterate_to_the_bit(cloud, alpha):
    x, A = cloud
    for map in (HardmaxMap(alpha, A), ExactHardmaxMap(alpha, A)):
        z = map.rule.tokens(x)
        run, plain = iterate_hardmax(map, x, LAYERS), iterate(map, z, LAYERS)
        assert run.path.ys.dtype == plain.ys.dtype
        assert run.path.ys.tolist() == plain.ys.tolist()
        assert np.array_equal(iterate_hardmax(map, x, LAYERS, every=LAYERS).path.ys, plain.ys[[0, -1]])
        for k in range(LAYERS):  # gaps of the record are lower bounds of those found anew
            assert run.gaps[k] <= np.min(map.follower_sets(plain.ys[k]).gaps) * (1 + 1e-9) + 1e-10


@settings(max_examples=20, deadline=None, derandomize=True, database=None)
@given(clouds(6), st.sampled_from(ALPHAS))
@unchecked()
def test_a_run_in_fractions_is_that_of_a_loop_over_the_definition(cloud, alpha):
    x, A = cloud
    share = Fraction(alpha) / (1 + Fraction(alpha))
    z = [[Fraction(entry) for entry in row] for row in x.tolist()]
    run = iterate_hardmax(ExactHardmaxMap(alpha, A), x, 3).path.ys
    for k in range(3):
        assert run[k].tolist() == z
        means = [[sum(z[j][c] for j in near) / len(near) for c in range(len(z[0]))] for near in by_definition(z, A)]
        z = [[a + share * (m - a) for a, m in zip(row, mean, strict=True)] for row, mean in zip(z, means, strict=True)]
    assert run[3].tolist() == z


BIG = {
    "plane": lambda: normal("plane", 900, 2),
    "circle": lambda: normal("circle", 900, 2) / np.linalg.norm(normal("circle", 900, 2), axis=1, keepdims=True),
    "square lattice": lambda: (
        np.stack(np.meshgrid(np.arange(-15.0, 15), np.arange(-15.0, 15)), -1).reshape(-1, 2) * 0.1
    ),
    "line": lambda: normal("line", 900, 1),
    "line in space": lambda: normal("line", 900, 1) * np.array([[1.0, -2.0, 3.0]]),
    "plane in space": lambda: np.concatenate([normal("plane", 900, 2), np.ones((900, 1))], axis=1),
    "space": lambda: normal("space", 900, 3),
    "cubic lattice": lambda: np.stack(np.meshgrid(*[np.arange(-4.0, 5)] * 3), -1).reshape(-1, 3),
    "sphere": lambda: normal("sphere", 900, 3) / np.linalg.norm(normal("sphere", 900, 3), axis=1, keepdims=True),
    "few clusters": lambda: normal("few", 5, 2)[np.arange(900) % 5] * (1 + np.round(normal("last", 900, 2)) * 2.0**-52),
    "clusters in space": lambda: normal("few", 5, 3)[np.arange(900) % 5] * (1 + normal("near", 900, 3) * 1e-15),
}


FEW_CLOUDS = ("plane", "space", "clusters in space")  # on which `make test` has other attention matrices than I
MATRICES = [
    pytest.param(name, attention, marks=[] if attention == "identity" or name in FEW_CLOUDS else [pytest.mark.slow])
    for attention in ("identity", "general", "singular")
    for name in BIG
]


@pytest.mark.parametrize(("name", "attention"), MATRICES)
def test_all_searches_agree_in_sets_and_gaps_on_many_tokens(name, attention, monkeypatch):
    x = BIG[name]()
    d = x.shape[1]
    general = np.asarray(normal("A", d, d))
    A = {"identity": None, "general": general, "singular": np.outer(np.arange(d) + 1.0, np.eye(d)[0])}[attention]
    map = HardmaxMap(1, A)
    single = map.follower_sets(x, search=BruteForce())
    monkeypatch.setattr(all_scores, "FEW", 10**9)
    double = map.follower_sets(x, search=BruteForce())
    assert double.same_as(single)
    for name in MANNERS:
        with manner(name):
            by_cones = map.follower_sets(x, search=ConeBisection())
        assert double.same_as(by_cones)
        np.testing.assert_allclose(by_cones.gaps, double.gaps, rtol=1e-6, atol=1e-10)
    assert np.all(single.gaps <= double.gaps * (1 + 1e-9) + 1e-10)
    assert np.all(single.gaps >= double.gaps / 1.05 - 1e-12)
    assert map.follower_sets(x).same_as(double)


def test_gaps_are_those_of_the_definition():
    x = normal("gaps", 40, 2)
    scores = x @ x.T
    best = np.sort(scores, axis=1)
    expected = (best[:, -1] - best[:, -2]) / np.linalg.norm(x, axis=1) / np.max(np.linalg.norm(x, axis=1))
    for way in (BruteForce(), ConeBisection()):
        for map in (HardmaxMap(1), ExactHardmaxMap(1)):
            found = map.follower_sets(x, search=way).gaps
            assert np.all(found <= expected * (1 + 1e-12))
            np.testing.assert_allclose(found, expected, atol=1e-12)


def test_the_gap_beside_a_tie_is_that_to_the_best_token_outside():
    x = np.array([[1, 3], [-1, 3], [0, 1], [0, 2.5], [5, 0]], float)
    for way in (BruteForce(), ConeBisection()):
        sets = HardmaxMap(1).follower_sets(x, search=way)
        assert sets.of(2).tolist() == [0, 1]
        assert sets.gaps[2] == pytest.approx(0.5 / 5, abs=1e-12)  # |z_2| = 1, the largest token has norm 5


def refuse(*arguments):
    raise AssertionError("this comparison is not needed")


@pytest.mark.parametrize("attention", [None, np.array([[1.0, 0.3], [-0.2, 2.0]])], ids=["identity", "general"])
@pytest.mark.parametrize("spread", [1.0, 1e-11])
def test_exact_comparison_is_for_scores_within_their_rounding_error(attention, spread, monkeypatch):
    """Well apart, floats decide; of tokens that nearly coincide, differences of scores are accurate enough."""
    x = [3.0, 2.0] + spread * normal("apart", 60, 2)
    monkeypatch.setattr(ties.FloatTies, "best" if spread == 1.0 else "exactly_best", refuse)
    z, A = x.astype(np.longdouble), np.eye(2) if attention is None else attention
    expected = np.argmax(z @ A.T @ z.T, axis=1)[:, None].tolist()
    for way in (BruteForce(), ConeBisection()):
        for name in MANNERS:
            with manner(name):
                assert HardmaxMap(1, attention).follower_sets(x, search=way).lists() == expected


def test_a_sample_removes_only_tokens_deep_inside(monkeypatch):
    x = BIG["plane"]()
    monkeypatch.setattr(all_scores, "FEW", 10**9)
    expected = HardmaxMap(1).follower_sets(x, search=BruteForce())
    monkeypatch.setattr(cones, "MANY", 100)
    assert len(cones.possibly_best(x, cones.Margin(1e-12, 0.0))) < 300
    found = HardmaxMap(1).follower_sets(x, search=ConeBisection())
    assert found.same_as(expected)
    np.testing.assert_allclose(found.gaps, expected.gaps, atol=1e-10)


def test_hashes_that_collide_do_not_make_tokens_equal(monkeypatch):
    monkeypatch.setattr(np, "argsort", lambda values: np.arange(len(values)))
    collided = np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]])
    monkeypatch.setattr(grouping, "_collide", lambda rows, hashes: True)
    groups = grouping.equal_rows(collided)
    assert groups.label[0] == groups.label[2] != groups.label[1]


def test_floats_are_integers_times_one_power_of_two():
    for values in ([0.75, -6.0, 0.0], [5e-324, -1e-310], [1e150, 1e-160, -3.0]):
        numbers, (low, high) = float_integers(np.array(values)), binary_extent(np.array(values))
        assert [Fraction(int(N)) * Fraction(2) ** low for N in numbers] == [Fraction(v) for v in values]
        assert all(abs(v) < Fraction(2) ** high for v in values)


@pytest.mark.parametrize("alpha", ["1/7", "1/2", 1, "5/2", 9])
def test_example_5_2_has_a_leader_of_a_later_layer(alpha):
    path = iterate(ExactHardmaxMap(alpha), np.array(EXAMPLE_5_2, object), 1)
    layer = ExactHardmaxMap(alpha).follower_sets
    assert layer(path.ys[0]).lists() == [[1], [2], [2]]
    a = Fraction(alpha)
    assert path.final[0].tolist() == [-1 / (1 + a), (1 + 3 * a) / (1 + a)]


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4], [4, 2, 0, 1, 3], [3, 1, 4, 2, 0]])
def test_remark_1_3_follows_the_ends_and_zero_follows_all(order):
    x = np.array(REMARK_1_3, object)[order]
    sets = ExactHardmaxMap(1).follower_sets(x)
    ends = {-1: order.index(0), 1: order.index(4)}
    for i, place in enumerate(order):
        side = (place > 2) - (place < 2)
        assert sets.of(i).tolist() == (list(range(5)) if side == 0 else [ends[side]])
    assert HardmaxMap(1).follower_sets(x).same_as(sets)
    assert sets.leaders.tolist() == [place in (0, 4) for place in order]


def test_sums_of_decimals_tie_in_fractions_and_not_in_floats():
    exact = np.array([[Fraction("0.1") + Fraction("0.2"), Fraction(0)], [Fraction("0.3"), Fraction(0)]])
    floats = np.array([[0.1 + 0.2, 0.0], [0.3, 0.0]])
    assert ExactHardmaxMap(1).follower_sets(exact).lists() == [[0, 1], [0, 1]]
    assert HardmaxMap(1).follower_sets(floats).lists() == ExactHardmaxMap(1).follower_sets(floats).lists() == [[0], [0]]


def test_a_tie_that_every_product_rounds_away_is_found():
    top = 2.0**27
    query, tie = np.array([top + 1, 1, 1]), np.array([top + 1, -(2.0**54) - 2.0**28, -1])
    products = query * tie
    assert products[0] + products[1] + products[2] == -1.0  # zero in exact arithmetic; BLAS may add in another order
    x = np.array([-query, np.zeros(3), tie])
    for way in (BruteForce(), ConeBisection()):
        assert HardmaxMap(1, -np.eye(3)).follower_sets(x, search=way).of(0).tolist() == [1, 2]


def test_a_tie_is_found_where_the_query_itself_is_rounded():
    """Products of A z have 58 bits, its entries 50: the float query is off by far more than its last bit.

    Exactly, 0 and a vector orthogonal to the query have the score zero, and the token itself a negative one.
    """
    rng = np.random.default_rng(5)
    rounded = 0
    for _ in range(40):
        z, a = (rng.integers(2**28, 2**29, 2).tolist() for _ in range(2))
        rows = [(a[k], -round(a[k] * z[0] / z[1]) + int(rng.integers(2**21, 2**22))) for k in range(2)]
        query = [row[0] * z[0] + row[1] * z[1] for row in rows]  # positive, so that its product with z is
        x, A = np.array([z, [0, 0], [query[1], -query[0]]], float), -np.array(rows, float)
        assert max(query) < 2**53
        rounded += np.any(A @ x[0] != -np.array(query, float))
        for way in (BruteForce(), ConeBisection()):
            assert HardmaxMap(1, A).follower_sets(x, search=way).of(0).tolist() == [1, 2]
    assert rounded > 10


def test_integers_beyond_every_machine_type_neither_wrap_nor_round():
    top = 2**62
    x = np.array([[top, 1], [top - 1, 3], [1 - top, 5]])
    assert x.dtype == np.int64
    assert ExactHardmaxMap(1).follower_sets(x).lists() == [[0], [0], [2]]
    assert ExactHardmaxMap(1, [[0, 1], [top, 0]]).follower_sets(x).lists() == by_integers(
        x.tolist(), [[0, 1], [top, 0]]
    )
    larger = [[10**400, 0], [10**400 - 1, 0], [-(10**400), 7]]
    assert ExactHardmaxMap(1).follower_sets(larger).lists() == [[0], [0], [2]]
    assert HardmaxMap(1).follower_sets([[2**70, 0], [2**70 - 1, 0]]).lists() == [[0, 1], [0, 1]]  # one float


def by_integers(x, A):
    queries = [[sum(a * z for a, z in zip(row, token, strict=True)) for row in A] for token in x]
    scores = [[sum(a * z for a, z in zip(q, token, strict=True)) for token in x] for q in queries]
    return [[j for j, score in enumerate(row) if score == max(row)] for row in scores]


@pytest.mark.parametrize("map", [HardmaxMap(0.5), ExactHardmaxMap("1/2"), HardmaxMap(0.5, [[2.0, 1], [0, 1]])])
def test_a_permutation_of_the_tokens_permutes_the_run(map):
    x = np.round(normal("permuted", 12, 2) * 3)
    order = np.asarray(jax.random.permutation(random_key(4, "order"), 12))
    one, other = iterate_hardmax(map, x, 5), iterate_hardmax(map, x[order], 5)
    place = np.argsort(order)
    for k in range(5):
        sets, permuted = map.follower_sets(one.path.ys[k]), map.follower_sets(other.path.ys[k])
        for i in range(12):
            assert sorted(place[sets.of(int(order[i]))]) == permuted.of(i).tolist()
    np.testing.assert_allclose(other.path.final.astype(float), one.path.final[order].astype(float), atol=1e-14)


@pytest.mark.parametrize("power", [-500, -60, 3, 480])
def test_a_power_of_two_changes_neither_sets_nor_bits(power):
    x, A = normal("scaled", 40, 2), normal("scaled A", 2, 2)
    plain = iterate_hardmax(HardmaxMap(0.5, A), x, 10)
    scaled = iterate_hardmax(HardmaxMap(0.5, A), np.ldexp(x, power), 10)
    assert np.array_equal(scaled.path.ys, np.ldexp(plain.path.ys, power))
    assert scaled.certain == plain.certain
    np.testing.assert_allclose(scaled.gaps, plain.gaps, rtol=1e-12)


def test_leaders_and_equal_tokens_that_follow_themselves_do_not_move():
    sizes = range(3, 30)
    places = normal("places", len(sizes), 2)
    sums = [
        np.add.reduceat(np.repeat(place[None], m, axis=0), [0])[0] / m for place, m in zip(places, sizes, strict=True)
    ]
    assert not np.array_equal(sums, places)  # by a sum the mean of equal floats may be another float
    for place, m in zip(places, sizes, strict=True):
        x = np.concatenate([np.repeat(place[None], m, axis=0), place[None] / 3])
        assert np.array_equal(iterate(HardmaxMap(0.3), x, 3).final[:m], x[:m])
        assert not np.any(HardmaxMap(0.3).follower_sets(x).leaders)
    assert HardmaxMap(0.3).follower_sets(places[:1]).leaders.tolist() == [True]


def test_dyadic_ties_stay_certain_while_nothing_is_rounded():
    x = np.array([[1.0, 1.0], [-1.0, 1.0], [0.0, 0.5], [0.25, 0.125]])
    assert iterate_hardmax(HardmaxMap(1.0), x, 20).certain == 20
    assert iterate_hardmax(HardmaxMap(0.5), x, 20).certain < 20


def test_a_collapsed_run_is_not_called_certain():
    x = normal("collapsed", 30, 2)
    run = iterate_hardmax(HardmaxMap(1.0), x, 80)
    assert 10 < run.certain < 80
    exact = iterate_hardmax(ExactHardmaxMap(1.0), x, run.certain)
    last = run.certain - 1
    map = HardmaxMap(1.0)
    assert map.follower_sets(run.path.ys[last]).same_as(ExactHardmaxMap(1).follower_sets(exact.path.ys[last]))


def test_softmax_tends_to_hardmax_and_shares_a_tie():
    x = np.array([[1.0, 2.0], [-1.0, 2.0], [0.0, 0.5], [3.0, -1.0]])
    hard = HardmaxMap(0.5).step(0, x)
    errors = [
        np.max(np.abs(np.asarray(SoftmaxMap(0.5, tau).step(0, jnp.asarray(x))) - hard)) for tau in (1.0, 0.3, 0.1, 0.01)
    ]
    assert errors[0] > errors[1] > errors[2] > errors[3]
    assert errors[-1] < 1e-15


def test_one_head_with_its_value_is_the_map_up_to_the_factor():
    x = np.round(normal("heads", 9, 2) * 4) / 8
    A = np.array([[2.0, 1.0], [1.0, 3.0]])
    one = MultiHeadMap([Hardmax(A)], np.eye(2)[None], scale=0.5).step(0, x)
    np.testing.assert_allclose(one, HardmaxMap(1.0, A).step(0, x), atol=1e-15)
    half = np.array([[[Fraction(1), Fraction(0)], [Fraction(0), Fraction(1)]]]) / 2
    exact = MultiHeadMap([ExactHardmax(A)], half, scale=Fraction(2, 3))
    z = exact.rules[0].tokens(x)
    assert np.all(exact.step(0, z) == ExactHardmaxMap("1/2", A).step(0, z))
    soft = MultiHeadMap([Softmax(0.3, A)], np.eye(2)[None], scale=0.5).step(0, jnp.asarray(x))
    np.testing.assert_allclose(soft, SoftmaxMap(1.0, 0.3, A).step(0, jnp.asarray(x)), atol=1e-15)


@pytest.mark.parametrize(("alpha", "attention", "x", "failed"), [
    (1, None, [[1, 0], [0, 1]], None),
    (1, [[1, 1], [0, 1]], [[1, 0], [0, 1]], "A is not symmetric"),
    (1, [[1, 2], [2, 1]], [[1, 0], [0, 1]], "A is not positive definite"),
    ("-1/2", None, [[1, 0], [0, 1]], "alpha is not positive"),
    (0, None, [[1, 0], [0, 1]], "alpha is not positive"),
    (1, None, [[1, 0], [1, 0]], "two tokens are equal"),
    (1, None, [[1, 0], [0, 0]], "a token is zero"),
])  # fmt: skip
def test_a_hypothesis_that_fails_is_reported_and_the_map_runs(alpha, attention, x, failed):
    for kind in (HardmaxMap, ExactHardmaxMap):
        map = kind(alpha if kind is ExactHardmaxMap else float(Fraction(alpha)), attention)
        found = hypotheses(map, x)
        assert found.hold == (failed is None)
        assert failed is None or failed in str(found)
        assert iterate_hardmax(map, x, 3).path.ys.shape == (4, 2, 2)


@pytest.mark.parametrize("map", [HardmaxMap(0.5, [[2.0, 1.0], [0.0, 1.0]]), ExactHardmaxMap("1/3")])
def test_a_run_is_saved_loaded_and_made_again(map, tmp_path):
    path = iterate_hardmax(map, normal("saved", 6, 2), 4, every=2).path
    save(tmp_path / "run.npz", path)
    for back in (load(tmp_path / "run.npz"), rerun(tmp_path / "run.npz")):
        assert back.ys.tolist() == path.ys.tolist()
        assert back.ys.dtype == path.ys.dtype
        assert back.system.alpha == map.alpha


@pytest.mark.parametrize("kind", [HardmaxMap, ExactHardmaxMap])
def test_what_is_no_tokens_is_refused_in_one_sentence(kind):
    map = kind(1)
    for x, words in [
        ([[np.nan, 1.0]], "finite"),
        ([[np.inf, 1.0]], "finite"),
        (np.empty((0, 2)), r"shape \(n, d\)"),
        (np.empty((2, 0)), r"shape \(n, d\)"),
        ([1.0, 2.0], r"shape \(n, d\)"),
        (np.ones((2, 2, 2)), r"shape \(n, d\)"),
        ([[True, False]], "hold ints"),
        ([["one", "two"]], "hold finite numbers"),
        ([[None, 1.0]], "hold ints"),
        ([[1.0], [1.0, 2.0]], "Argument `x` must"),
    ]:
        with pytest.raises(ValueError, match=words):
            map.follower_sets(x)
    with pytest.raises(ValueError, match="dimension 3"):
        kind(1, np.eye(3)).follower_sets([[1.0, 2.0]])
    with pytest.raises(ValueError, match=r"shape \(d, d\)"):
        kind(1, np.ones((2, 3)))
    with pytest.raises(ValueError, match="Argument `alpha` must not be -1"):
        kind(-1)
    with pytest.raises(ValueError, match="Argument `alpha` must hold"):
        kind(True)
    with pytest.raises(ValueError, match="Argument `x` must hold "):
        jax.jit(map.follower_sets)(np.eye(2))


def test_values_of_several_heads_are_columns_times_their_matrices():
    """Two tokens that follow the second: each head adds V_h times it to both."""
    z, V = np.array([[0.0, 1.0], [0.0, 2.0]]), np.array([[[1.0, 2.0], [3.0, 4.0]], [[0.0, 5.0], [0.0, 0.0]]])
    found = MultiHeadMap([Hardmax(), Hardmax()], V, scale=0.5).step(0, z)
    np.testing.assert_allclose(found, 0.5 * (z + V.sum(axis=0) @ [0.0, 2.0]), rtol=1e-14)


def test_equal_tokens_have_equal_bytes_and_bounds_hold_for_all_entries_of_the_matrix():
    assert not np.signbit(Hardmax().tokens([[-0.0, 1.0], [0.0, 1.0]])).any()
    scores = Hardmax(np.ones((3, 3))).scores(np.ones((2, 3)))
    assert np.all(scores.norms <= scores.norm_bounds)


def test_floats_too_large_to_add_are_refused():
    with pytest.raises(ValueError, match="Argument `alpha` must lie in the range of floats, but is larger"):
        HardmaxMap(10**400)
    with pytest.raises(ValueError, match="below 1e\\+300"):
        HardmaxMap(1).follower_sets([[1e301, 0.0]])
    with pytest.raises(ValueError, match="below 1e\\+300"):
        HardmaxMap(1).follower_sets([[10**400, 0]])
    with pytest.raises(ValueError, match="below 1e\\+300"):
        HardmaxMap(1, [[np.inf]])


def test_a_run_refuses_other_maps_and_layers_that_do_not_fit():
    with pytest.raises(ValueError, match="HardmaxMap or an ExactHardmaxMap"):
        iterate_hardmax(SoftmaxMap(1.0, 0.1), np.ones((2, 2)), 3)
    with pytest.raises(ValueError, match="multiple of `every` = 2"):
        iterate_hardmax(HardmaxMap(1), np.ones((2, 2)), 3, every=2)
    with pytest.raises(ValueError, match="all hardmax or all softmax"):
        MultiHeadMap([Hardmax(), Softmax(0.1)], np.ones((2, 2, 2)))
    for value in (np.ones((2, 2)), [[[1.0], [1.0, 2.0]]]):
        with pytest.raises(ValueError, match=r"shape \(1, d, d\)"):
            MultiHeadMap([Hardmax()], value)


@pytest.mark.parametrize(("share", "growth", "factor"), [(0.25, 1.0, 1.0), (1.5, 2.0, 1.5), (-0.5, 2.0, 1.0)])
def test_errors_of_tokens_grow_by_the_step_and_the_rounding_of_each_layer(share, growth, factor):
    made = object.__new__(CertainLayers)
    made.map, made.error, made.certain, made.ended = HardmaxMap(0.3), 0.0, 0, False
    made.reused = SimpleNamespace(share=share, rounding_error=lambda sets: 1e-16)
    made._same_sets = lambda z, sets: made.certain < 3
    z = np.array([[1.0, 0.1], [0.3, 0.7]])
    sets, expected = made.map.follower_sets(z), 0.0
    for layer in range(3):
        made.add_layer(z, sets)
        expected = growth * expected + factor * 1e-16
        assert made.error == pytest.approx(expected, rel=1e-12, abs=0)
        assert (made.certain, made.ended) == (layer + 1, False)
    for _ in range(2):
        made.add_layer(z, sets)
        assert (made.certain, made.ended, made.error) == (3, True, pytest.approx(expected, rel=1e-12, abs=0))
