"""What the searches of follower sets keep on their way: cones, cells, dominated tokens, and how little is left of them.

Sets of followers are compared exactly in the end, whatever is kept, so that only these parts show an error.
"""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from dynsim.simulation.hardmax import CertainLayers, _exponent, _unrounded, iterate_hardmax
from dynsim.systems.hardmax import reuse
from dynsim.systems.hardmax.maps import ExactHardmaxMap, HardmaxMap
from dynsim.systems.hardmax.reuse import NormBounds, ReusedFollowerSets
from dynsim.systems.hardmax.search import brute_force, choice
from dynsim.systems.hardmax.search import cone_bisection as cones
from dynsim.systems.hardmax.search import direction_grid as cells
from dynsim.systems.hardmax.search.cone_bisection import Margin
from dynsim.systems.hardmax.search.grouping import equal_keys, equal_rows
from dynsim.systems.hardmax.search.leaves import PAIRS, Leaves, _pieces, scored
from dynsim.systems.hardmax.search.scores import Scores
from dynsim.systems.hardmax.search.ties import FloatTies
from tests.support.follower_lists import from_lists


@pytest.fixture
def rng():
    """Return the same numbers in every test, whichever are run before."""
    return np.random.default_rng(12)


def undominated(at, margin):
    """Which tokens of one cone are kept, token by token: none that is below the two best of different value."""
    best = np.argsort(-np.sum(at, axis=0), kind="stable")
    other = next((p for p in best if np.sum(at[:, p]) != np.sum(at[:, best[0]])), None)
    if other is None:
        return [True] * at.shape[1]
    least = np.minimum(at[:, best[0]], at[:, other]) - margin
    return [bool(np.any(token >= least)) for token in at.T]


@pytest.mark.parametrize("margin", [0.0, 0.4])
def test_tokens_below_the_two_best_of_different_value_are_removed(margin, rng):
    groups = [rng.normal(size=(3, size)) for size in (1, 30, 2, 40)]
    groups[1][:, 3] = groups[1][:, np.argmax(np.sum(groups[1], axis=0))]  # the best one twice
    groups.append(np.ones((3, 4)))  # all equal
    at, starts = np.concatenate(groups, axis=1), np.cumsum([0, *(g.shape[1] for g in groups)])
    margins = margin * np.arange(1.0, 6.0)
    expected = [undominated(group, own) for group, own in zip(groups, margins, strict=True)]
    kept, left = cones.undominated(at, starts, margins)
    assert kept.tolist() == sum(expected, [])
    assert np.diff(left).tolist() == [sum(group) for group in expected]
    assert margin or not all(kept)
    same = np.stack([groups[3], groups[3][::-1]], axis=1)
    bounds = cones.domination_bounds(same, margin)
    for c in range(2):
        assert np.any(same[:, c] >= bounds[:, c, None], axis=0).tolist() == undominated(same[:, c], margin)
    assert np.all(cones.domination_bounds(np.ones((3, 1, 4)), margin) == -np.inf)


@pytest.mark.parametrize("d", [2, 3])
def test_bisected_cones_keep_their_queries_and_the_scores_of_their_tokens(d, rng):
    keys, queries = 5.0 + rng.normal(size=(40, d)), rng.normal(size=(90, d))
    margin, found = Margin(1e-13, 0.0), None
    for depth in range(7):
        found = cones._bisected(found) if found else cones._orthants(keys, margin, queries)
        if depth == 4:
            recentred = cones._recentred(found, keys)
            assert np.min(recentred.reach) < 5 < np.max(found.reach)
            found = recentred
        found = cones._pruned(found, margin)
        assert len(found.generators) == 2 ** (d + depth)
        assert sorted(found.query) == list(range(90))
        np.testing.assert_allclose(
            np.einsum("qk,qkd->qd", found.weights, found.generators[found.cone]), queries[found.query], atol=1e-12
        )
        assert np.min(found.weights) >= 0
        np.testing.assert_allclose(np.linalg.norm(found.generators, axis=2), 1.0, rtol=1e-12)
        of = np.repeat(np.arange(len(found.generators)), np.diff(found.starts))
        place = keys[found.token] - found.origin[of]
        np.testing.assert_allclose(found.at, np.einsum("pd,pkd->pk", place, found.generators[of]), atol=1e-12)
        assert np.all(np.linalg.norm(place, axis=1) <= found.reach[of] * (1 + 1e-12))
    assert np.mean(np.diff(found.starts)) < (3.2 if d == 2 else 7)  # of 40
    some = rng.uniform(size=len(found.generators)) < 0.4
    part = cones._some(found, some)
    kept = np.isin(found.cone, np.flatnonzero(some))
    np.testing.assert_array_equal(part.query, found.query[kept])
    np.testing.assert_array_equal(part.generators[part.cone], found.generators[found.cone[kept]])
    own = [found.token[found.starts[c] : found.starts[c + 1]] for c in np.flatnonzero(some)]
    np.testing.assert_array_equal(part.token, np.concatenate(own))


def test_a_cone_is_bisected_at_its_widest_angle():
    found = cones._orthants(np.zeros((1, 3)), Margin(0.0, 0.0), np.empty((0, 3)))
    for _ in range(6):
        found = cones._bisected(found)
    G = found.generators
    cosines = [np.sum(G[:, i] * G[:, j], axis=1) for i, j in itertools.combinations(range(3), 2)]
    assert np.min(cosines) > np.cos(np.radians(46))  # of 90 degrees two bisections of each edge leave 45 at most


@pytest.mark.parametrize("d", [2, 3])
def test_a_query_lies_in_the_cell_that_rounding_gives(d, rng):
    """With the unit vectors for tokens, the scores at the corners of a cell are its corners."""
    shape = cells._corners(d).shape
    first = np.arange(shape[1] + 1) * d
    found = cells.Cells(first, np.tile(np.arange(d), shape[1]), cells._corners(d).reshape(shape[0], -1))
    queries, halvings = rng.normal(size=(300, d)), cells.SHORTEST[d]
    for _ in range(3):
        corners = found.at.reshape(shape[0], -1, d)
        cell, reached = cells._cell_of(queries, halvings), queries / np.max(np.abs(queries), axis=1, keepdims=True)
        low, high = np.min(corners, axis=0)[cell], np.max(corners, axis=0)[cell]
        assert np.all((low - 1e-12 <= reached) & (reached <= high + 1e-12))
        sides = np.sort(np.ptp(corners, axis=0), axis=1)
        np.testing.assert_allclose(sides, [[0.0] + [2.0 / 2**halvings] * (d - 1)] * len(sides), atol=1e-12)
        assert corners.shape[1] == 2 * d * 2 ** (halvings * (d - 1))
        for axis in range(d - 1):
            found = cells._halved(found, axis)
        halvings += 1


@pytest.mark.parametrize("d", [2, 3])
def test_cells_are_halved_until_few_tokens_are_left_or_few_queries(d, rng):
    keys = rng.normal(size=(300, d))
    keys /= np.linalg.norm(keys, axis=1, keepdims=True)
    found, halvings = cells._refined(keys, 1e-12, 10**7)
    assert halvings == cells.SHORTEST[d] + 4
    assert len(found.token) / (len(found.starts) - 1) <= cells.LIGHT
    one, few = cells._refined(keys, 1e-12, 0)
    assert few == cells.SHORTEST[d]
    np.testing.assert_array_equal(one.token, cells._first(keys, 1e-12).token)
    at = np.einsum("kcd,md->kcm", cells._corners(d), keys)
    for c in range(0, len(one.starts) - 1, 7):
        expected = np.flatnonzero(undominated(at[:, c], 1e-12))
        np.testing.assert_array_equal(one.token[one.starts[c] : one.starts[c + 1]], expected)


@pytest.mark.parametrize("origin", [None, np.array([[0.5, -1.0], [2.0, 0.0], [0.0, 0.3]])])
def test_leaves_are_scored_with_the_slack_of_what_is_not_near(origin, rng):
    keys, queries = rng.normal(size=(30, 2)), rng.normal(size=(7, 2))
    sizes, cone = [3, 20, 17], np.array([0, 1, 2, 1, 0, 0, 2])
    starts, token = np.cumsum([0, *sizes]), np.concatenate([rng.permutation(30)[:size] for size in sizes])
    token[1] = token[0]  # a tie
    leaves = Leaves(origin, np.full(3, 4.0), starts, token, np.arange(7)[::-1], cone)
    norms, fixed, seen = np.linalg.norm(queries, axis=1), 1e-3, []
    for near, slack in scored(leaves, queries, keys, norms, fixed):
        for r, row in enumerate(near.rows):
            own = token[starts[cone[6 - row]] :][: sizes[cone[6 - row]]]
            scores = keys[own] @ queries[row]
            error = (16 * 5 * 2.0**-52 * 4.0 + fixed) * norms[row]
            close = scores >= np.max(scores) - error
            assert sorted(near.columns[near.starts[r] : near.starts[r + 1]]) == sorted(own[close])
            rest = np.max(scores[~close], initial=-np.inf)
            np.testing.assert_allclose(slack[r], np.max(scores) - rest - error, rtol=1e-9)
            seen.append(int(row))
    assert sorted(seen) == list(range(7))


def test_pieces_hold_few_pairs_and_every_query_once():
    sizes = np.concatenate([np.full(PAIRS, 2), np.full(9, 3), np.full(40, PAIRS // 8), [17]])
    found = list(_pieces(sizes))
    assert np.array_equal(np.sort(np.concatenate([part for part, _ in found])), np.arange(len(sizes)))
    for part, size in found:
        assert np.all(sizes[part] == size) if size else np.min(sizes[part]) > 16
        assert np.sum(sizes[part]) <= PAIRS + np.max(sizes[part])
    assert len(found) <= 9


@pytest.mark.parametrize(
    ("tokens", "d", "rows", "kind"),
    [
        (200, 2, 200, choice.BruteForce), (201, 2, 201, choice.ConeBisection), (201, 2, 25, choice.BruteForce),
        (201, 2, 26, choice.ConeBisection), (1999, 3, 25, choice.BruteForce), (2000, 3, 25, choice.ConeBisection),
        (5000, 4, 5000, choice.BruteForce), (5000, 3, 5000, choice.ConeBisection),
    ],
)  # fmt: skip
def test_the_search_depends_on_the_dimension_and_the_numbers_of_tokens_and_rows(tokens, d, rows, kind):
    z, one = np.zeros((tokens, d)), np.ones(tokens)
    scores = Scores(z, z, one, one, FloatTies(z, None))
    assert type(choice.search_for(scores, rows)) is kind
    seconds = choice.GRID_SECONDS + choice.TOKEN_SECONDS[2] * 100
    fastest = int(seconds / (choice.SCORE_SECONDS * 100))
    assert [choice._brute_force_is_faster(rows, 100, 2) for rows in (fastest, fastest + 1)] == [True, False]


def test_groups_of_equal_keys_and_their_tokens():
    groups = equal_keys([(1, 2), (0, 0), (1, 2), (3, 1), (0, 0), (1, 2)])
    assert (groups.label.tolist(), groups.first.tolist()) == ([0, 1, 0, 2, 1, 0], [0, 1, 3])
    tokens, place = groups.among(np.array([4, 5, 1, 2]))
    assert (tokens.tolist(), place.tolist()) == ([0, 1], [1, 0, 1, 0])
    inside, bounds = groups.tokens(np.array([2, 0]))
    assert (inside.tolist(), bounds.tolist()) == ([3, 0, 2, 5], [0, 1, 4])


@pytest.mark.parametrize(
    ("map", "recomputed"),
    [
        (HardmaxMap(1.0), [40, 6, 2]), (HardmaxMap(0.3, [[2.0, 1.0], [1.0, 2.0]]), [40]),
        (ExactHardmaxMap(1), [40, 6, 2]), (HardmaxMap(-0.5), [40] * 12),
    ],
)  # fmt: skip
def test_only_sets_that_may_have_changed_are_found_again(map, recomputed, monkeypatch):
    x, rows, search = np.random.default_rng(3).normal(size=(40, 2)), [], reuse.search_for
    monkeypatch.setattr(reuse, "search_for", lambda scores, count: rows.append(count) or search(scores, count))
    assert iterate_hardmax(map, x, 12).certain == 12
    assert rows == recomputed


@pytest.mark.parametrize("attention", [None, [[2.0, 1.0], [-0.5, 3.0]]])
@pytest.mark.parametrize("kind", [HardmaxMap, ExactHardmaxMap])
def test_bounds_of_norms_are_a_few_roundings_apart(kind, attention, rng):
    map, x = kind(1, attention), rng.normal(size=(9, 2)) * 2.0**40
    z = map.rule.tokens(x)
    norms = NormBounds(map.rule, _exponent(z))
    low, high, largest = norms.of(z)
    matrix = np.eye(2) if norms.matrix is None else norms.matrix
    if attention is not None:
        assert 0.5 <= np.max(np.abs(matrix)) <= 1
        np.testing.assert_allclose(matrix / matrix[0, 0], np.array(attention) / attention[0][0], rtol=1e-15)
    u = x * 2.0**-norms.exponent
    assert 0.25 <= np.max(np.abs(u)) <= 1
    exact = np.linalg.norm(u @ matrix.T, axis=1)
    assert np.all((low < exact) & (exact < high))
    np.testing.assert_allclose(high, low, rtol=1e-11)
    assert np.max(np.linalg.norm(u, axis=1)) < largest < (1 + 1e-11) * np.max(np.linalg.norm(u, axis=1))
    assert norms.attention == pytest.approx(1.0 if attention is None else np.linalg.norm(matrix))


@pytest.mark.parametrize("size", [3, 4, 5, 0.75, 1e-300, 2.0**60])
def test_the_exponent_leaves_the_largest_entry_near_one(size):
    for z in (np.array([[0.1, -1.0]]) * size, np.array([[Fraction(1, 10), -Fraction(1)]]) * Fraction(size)):
        assert Fraction(1, 4) <= Fraction(size) / Fraction(2) ** _exponent(z) <= 1


def test_the_error_of_tokens_adds_up_from_the_first_layer_that_rounds(rng):
    map = HardmaxMap(1.0)
    z = np.array([[1.0, 1.0], [-1.0, 1.0], [0.0, 0.5], [0.25, 0.125]])
    reused = ReusedFollowerSets(map.rule, 0.5, NormBounds(map.rule, _exponent(z)), rounding=True)
    proof = CertainLayers(map, z, reused)
    proof.add_layer(z, reused.follower_sets(z))
    assert (proof.certain, proof.error) == (1, 0.0)  # means of one and of two tokens, in halves
    z, expected = rng.normal(size=(9, 2)), 0.0
    reused = ReusedFollowerSets(map.rule, 0.5, NormBounds(map.rule, _exponent(z)), rounding=True)
    proof = CertainLayers(map, z, reused)
    for count in (1, 2, 3):
        sets = reused.follower_sets(z)
        proof.add_layer(z, sets)
        expected += 16 * 2.0**-52 * reused.largest  # each token follows one other
        assert (proof.certain, proof.error) == (count, pytest.approx(expected))
        z = map.moved(z, sets)


def test_layers_round_unless_few_bits_and_powers_of_two_occur():
    pair, three, alone = (
        from_lists([[0, 1]] * 2, np.ones(2)),
        from_lists([[0, 1, 2]] * 3, np.ones(3)),
        from_lists([[0], [1]], np.ones(2)),
    )
    z = np.array([[1.0], [3.0]])
    assert _unrounded(1.0, z, pair)
    assert _unrounded(3.0, z, alone)  # a share of 3/4
    assert not _unrounded(0.5, z, alone)  # of 1/3
    assert not _unrounded(1.0, np.array([[1.0], [3.0], [5.0]]), three)
    long = 1 + 2.0**-45
    assert _unrounded(1.0, z * long, alone)
    assert not _unrounded(1.0, z * (1 + 2.0**-48), pair)
    assert not _unrounded(1.0, z * 2.0**-1074, alone)


@pytest.mark.parametrize("few", [0, 2**18])
def test_the_slack_of_all_scores_is_the_gap_less_the_error(few, rng, monkeypatch):
    """Scores of whole numbers are exact; in single precision they are bounds, sixty-four errors apart at most."""
    monkeypatch.setattr(brute_force, "FEW", few)
    queries, keys = rng.integers(-9, 10, (40, 3)).astype(float), rng.integers(-9, 10, (70, 3)).astype(float)
    queries[np.all(queries == 0, axis=1)] = 1.0
    errors = rng.choice([0.0, 0.5, 1.25], 40) if few else np.full(40, 1e-9)
    near, slack = brute_force.near_best(queries, keys, errors)
    scores = queries @ keys.T
    inside = scores >= scores.max(axis=1, keepdims=True) - errors[:, None]
    found = [near.columns[a:b].tolist() for a, b in itertools.pairwise(near.starts)]
    assert found == [np.flatnonzero(row).tolist() for row in inside]
    gaps = scores.max(axis=1) - np.where(inside, -np.inf, scores).max(axis=1) - errors
    assert np.all(slack <= gaps)
    np.testing.assert_allclose(slack, gaps, atol=0.0 if few else 0.02)
    assert np.any(slack < gaps) == (not few)  # so that scores of single precision were taken


def test_tokens_are_removed_by_more_than_the_rounding_of_scores(rng, monkeypatch):
    """The margin has a part that grows with the largest distance of a token, and in cells with that of a corner."""
    keys, queries = 3.0 * rng.normal(size=(20, 3)), rng.normal(size=(5, 3))
    wanted, seen = 0.25 * np.max(np.linalg.norm(keys, axis=1)) + 0.5, []

    def noted(at, starts, margin):
        seen.append(margin)
        return np.ones(at.shape[1], bool), starts

    monkeypatch.setattr(cones, "undominated", noted)
    cones._orthants(keys, Margin(0.25, 0.5), queries)
    np.testing.assert_allclose(seen[0], np.full(8, wanted))

    def ended(keys, margin, count):
        seen.append(margin)
        raise KeyError

    monkeypatch.setattr(cells, "_refined", ended)
    with pytest.raises(KeyError):
        cells.near_best_by_cells(queries, keys, np.ones(5), Margin(0.25, 0.5))
    assert seen[1] == pytest.approx(cells.STRETCH * wanted)


@pytest.mark.parametrize("d", [2, 5])
def test_bounds_of_queries_that_vanish_are_their_rounding_error(d):
    """In exact numbers the query is zero; its error is that of a sum of d products, relative to the sizes of both."""
    map = HardmaxMap(1, np.outer(np.arange(1.0, d + 1), np.append(np.ones(d - 1), 1.0 - d)))
    x = np.array([np.ones(d), 0.5 * np.ones(d)])
    norms = NormBounds(map.rule, 0)
    low, high, _ = norms.of(map.rule.tokens(x))
    assert norms.matrix is not None
    lost = 8 * d * 2.0**-52 * np.linalg.norm(norms.matrix) * np.linalg.norm(x, axis=1)
    np.testing.assert_allclose(high, lost, rtol=1e-9)
    assert low.tolist() == [0.0, 0.0]


def test_rows_whose_hashes_collide_are_told_apart():
    """The second entry of the other row makes up for the first one in the hash."""
    factor, shift = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)
    mixed = lambda bits: (hashed := bits * factor) ^ (hashed >> shift)
    one = np.array([0.3, 0.7]).view(np.uint64)
    for first in np.linspace(1.0, 2.0, 1000):
        other = np.array([first, 0.0]).view(np.uint64)
        with np.errstate(over="ignore"):
            other[1] = one[1] ^ mixed(one[0]) ^ mixed(other[0])
        if np.isfinite(other.view(float)).all():
            break
    rows = np.stack([one, other] * 20).view(float)
    label, tokens = equal_rows(rows)
    assert np.array_equal(label == label[0], np.arange(40) % 2 == 0)
    assert sorted(tokens.tolist()) == [0, 1]
