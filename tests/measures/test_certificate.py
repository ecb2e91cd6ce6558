"""Certified limits: hand-computed cases, exact and float layers, invariances, and the bounds behind the proof."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from analysis.hardmax import certificate
from analysis.hardmax.candidates import candidate_set
from analysis.hardmax.certificate import certify
from analysis.hardmax.constant_follower_sets import (
    Gap,
    Motion,
    closed_form_motion,
    exact_gap,
    least_on_unit_interval,
    product_of_binomials,
    supremum_bound,
)
from analysis.hardmax.convergence import at_vertices, convergence_rate, distances, ratios
from analysis.hardmax.float_score_gaps import FloatMotion, _least
from analysis.hardmax.leaders import leader_layers, leader_layers_by_value, value_numbers
from analysis.hardmax.polytopes import contains, distinct_limits, polytope
from dynsim.exact import rationals
from dynsim.systems.hardmax.maps import ExactHardmaxMap, HardmaxMap
from tests.support.annotations import unchecked
from tests.support.follower_lists import from_lists

HALF = Fraction(1, 2)
ALPHAS = st.sampled_from([Fraction(1, 10), Fraction(1, 3), HALF, Fraction(1), Fraction(7, 2)])
METRICS = st.sampled_from([None, [[2, 1], [1, 1]], [[1, 0], [0, Fraction(1, 3)]], [[3, -2], [-2, 5]]])


def lattice(d=2, high=8, size=4):
    row = st.lists(st.integers(-size, size), min_size=d, max_size=d)
    return st.lists(row, min_size=1, max_size=high)


def layers(map, x, count):
    """Return exact layers 0, ..., count, stacked, without the cost of a `Trajectory`."""
    states = [map.rule.tokens(x)]
    for k in range(count):
        states.append(map.step(k, states[-1]))
    return np.stack(states)


def test_example_5_2_has_its_limits_and_its_leaders():
    found = certify(ExactHardmaxMap(HALF), [[-1, 1], [0, 3], [12, 4]])
    assert found.certified
    assert found.limits.tolist() == [[Fraction(-2, 3), Fraction(5, 3)], [12, 4], [12, 4]]
    assert found.leader_layers.tolist() == [1, -1, 0]
    assert found.constant_from == 1
    assert found.sets.lists() == [[0], [2], [2]]
    assert str(found) == "Certified: the follower sets are constant from layer 1 on."


@pytest.mark.parametrize("alpha", ["1/100", "1/3", 0.1, 1, 40])
def test_remark_1_3_is_decided_in_every_order(alpha):
    tokens = {-1: -1, -HALF: -1, 0: 0, HALF: 1, 1: 1}
    orders = (
        itertools.permutations(tokens) if alpha == 1 else itertools.islice(itertools.permutations(tokens), 0, 120, 7)
    )
    for order in orders:
        found = certify(ExactHardmaxMap(alpha), [[value] for value in order])
        assert found.certified
        assert found.constant_from == 0
        assert found.limits.ravel().tolist() == [tokens[value] for value in order]
        assert found.leader_layers.tolist() == [0 if abs(value) == 1 else -1 for value in order]


def test_a_zero_token_that_moves_is_followed_to_its_end():
    found = certify(ExactHardmaxMap(1), [[-1], [0], [2]])  # the mean is 1/3: the zero token leaves for 1/6
    assert found.limits.ravel().tolist() == [-1, 2, 2]
    assert found.constant_from == 1
    assert found.leader_layers.tolist() == [0, -1, 0]


def test_a_token_on_the_foot_of_an_edge_rests_and_follows_itself_and_others():
    x = [[0, 1], [-1, 1], [1, 1], [0, HALF], [Fraction(1, 3), HALF]]
    found = certify(ExactHardmaxMap(HALF), x)
    assert found.certified
    assert found.limits.tolist() == [[0, 1], [-1, 1], [1, 1], [0, 1], [1, 1]]
    assert found.sets.lists() == [[0, 1, 2], [1], [2], [0, 1, 2], [2]]
    assert found.leader_layers.tolist() == [-1, 0, 0, -1, -1]


def test_equal_tokens_are_merged_with_their_weight():
    found = certify(ExactHardmaxMap(1), [[1], [1], [-1], [0]])
    assert found.limits.ravel().tolist() == [1, 1, -1, 1]  # the zero token leaves towards the heavier side
    assert found.leader_layers.tolist() == [-1, -1, 0, -1]
    assert found.leader_layers_by_value.tolist() == [0, 0, 0, -1]
    balanced = certify(ExactHardmaxMap(1), [[1], [1], [-2], [0]])
    assert balanced.limits.ravel().tolist() == [1, 1, -2, 0]
    one = certify(ExactHardmaxMap(1), [[3, 4], [3, 4]])
    assert one.limits.tolist() == [[3, 4], [3, 4]]
    assert one.leader_layers.tolist() == [-1, -1]


def above_a_square(first, second, last):
    """Return a square as leaders, two tokens on their way to the feet of two edges, and one that follows these two."""
    corners = [[1, 1, 1, 0], [1, -1, 1, 0], [-1, 1, 1, 0], [-1, -1, 1, 0]]
    return [*corners, [HALF, 0, *first], [-HALF, 0, *second], [0, 0, *last]]


def test_a_token_that_follows_moving_tokens_forever_moves_with_a_polynomial():
    layer, quarter = ExactHardmaxMap(HALF), Fraction(1, 4)
    x = above_a_square((1, quarter), (1, quarter), (HALF, quarter / 2))
    found = certify(layer, x)
    assert found.certified
    assert found.constant_from == 0
    assert found.sets.lists()[4:] == [[0, 1], [2, 3], [4, 5]]
    assert found.limits[4:].tolist() == [[1, 0, 1, 0], [-1, 0, 1, 0], [0, 0, 1, 0]]
    assert len(found.motion.terms[6]) == 2
    run = layers(layer, x, 40)
    assert run[40, 6, 3] == Fraction(2, 3) ** 40 * (quarter / 2 + HALF * 40 * quarter) == found.tokens(40)[6, 3]
    rate = convergence_rate(distances(run, found.limits)[10:, 6], first_layer=10)
    assert rate.ratio == pytest.approx(2 / 3, rel=0.02)
    assert rate.degree > 0.3


def test_a_polynomial_times_a_power_has_its_ratio_and_degree_from_any_layer():
    k = np.arange(5.0, 25.0)
    found = convergence_rate(3 * k**2 * 0.7**k, first_layer=4)
    assert found[:3] == pytest.approx((0.7, 2.0, 0.0), abs=1e-9)
    for bump in (1.5, 1 / 1.5):  # the error is the largest one, of a value above or below the fit
        values = 3 * k**2 * 0.7**k * np.where(k == 12, bump, 1.0)
        off = convergence_rate(values, first_layer=4)
        shape = k**off.degree * off.ratio**k
        fit = np.exp(np.mean(np.log(values / shape))) * shape
        assert off.error == pytest.approx(np.max(np.abs(fit / values - 1)))
        assert off.num_layers == 20


def test_a_token_that_would_follow_moving_tokens_overtakes_them_and_leads():
    found = certify(ExactHardmaxMap(HALF), above_a_square(("11/10", 0), ("11/10", 0), (HALF, 0)))
    assert found.certified
    assert (
        found.leader_layers[6] == found.constant_from > 8
    )  # its height is 1 + (2/3)^m (m/20 - 1/2), that of the others less
    assert found.limits[6, 2] > 1


def test_a_lead_of_second_order_that_is_lost_after_28_layers_is_not_certified_before():
    corners = [[1, 1, 1, 0, 0], [1, -1, 1, 0, 0], [-1, 1, 1, 0, 0], [-1, -1, 1, 0, 0]]
    slow = [[sign * HALF, 0, 1, Fraction(1, 16), 0] for sign in (1, -1)]
    fast = [[sign * HALF, 0, 1, Fraction(1, 8), -Fraction(1, 4)] for sign in (1, -1)]
    found = certify(ExactHardmaxMap(HALF), [*corners, *slow, *fast, [0, 0, HALF, Fraction(1, 8), Fraction(1, 4)]])
    assert found.certified
    assert found.constant_from == 29  # until then the last token follows the slow ones, and at layer 28 all four
    assert found.sets.lists()[8] == [6, 7]


def test_a_tie_with_itself_that_lasts_two_layers_by_chance_is_not_taken_for_rest():
    layer, x = ExactHardmaxMap(2), [[0, 1], [1, 1], [3, 0]]
    assert [layer.follower_sets(state).of(0).tolist() for state in layers(layer, x, 1)] == [[0, 1], [0, 1]]
    found = certify(layer, x)
    assert found.certified
    assert found.constant_from == 2
    weights, alone = np.ones(2, int), layer.rule.tokens(x[:2])
    assert not closed_form_motion(alone, layer.follower_sets(alone), weights, Fraction(2), None).valid


def test_distances_are_those_of_the_given_norm():
    A = np.array([[2.0, 1.0], [1.0, 1.0]])
    away = distances(np.array([[[3.0, -1.0]], [[1.0, 0.0]]]), np.zeros((1, 2)), A)
    assert away[:, 0] == pytest.approx([np.sqrt(13), np.sqrt(2)])
    near = rationals("states", [[[1 + Fraction(1, 10**40), 1]]])
    assert distances(near, rationals("limits", [[1, 1]]))[0, 0] == pytest.approx(
        1e-40, abs=0
    )  # in floats it would be zero


def test_tokens_approach_vertices_and_other_points_with_the_ratio_of_the_layer():
    tokens = [[0, 1], [-1, 1], [1, 1], [0, HALF], [Fraction(1, 3), HALF]]
    layer = ExactHardmaxMap(1)
    found, run = certify(layer, tokens), layers(layer, tokens, 60)
    away = distances(run, found.limits)
    assert ratios(away)[-1] == pytest.approx([0, 0, 0, 0.5, 0.5])
    assert convergence_rate(away[:, 4]).ratio == pytest.approx(0.5)
    assert convergence_rate(away[:, 4]).degree == pytest.approx(0, abs=1e-6)
    K = polytope(found.limits)
    assert at_vertices(found.limits, K.vertex_points).tolist() == [False, True, True, False, True]
    assert {tuple(s) for s in distinct_limits(found.limits)[0]} <= {tuple(s) for s in candidate_set(K).points}
    with pytest.raises(ValueError, match="`distance` must hold 4 positive values"):
        convergence_rate(away[:, 0])
    with pytest.raises(ValueError, match="`limits` must have shape"):
        distances(run, found.limits[:2])


@settings(max_examples=20, deadline=None)
@given(lattice(), ALPHAS, METRICS)
@unchecked()
@pytest.mark.slow
def test_certified_runs_go_on_exactly_as_the_certificate_says(tokens, alpha, attention):
    layer = ExactHardmaxMap(alpha, attention)
    found = certify(layer, tokens, max_layers=120)
    assume(found.certified)
    states = layers(layer, tokens, found.num_layers + 12)
    followed = [layer.follower_sets(state) for state in states]
    assert all(sets.same_as(found.sets) for sets in followed[found.constant_from :])
    assert found.constant_from == 0 or not followed[found.constant_from - 1].same_as(found.sets)
    assert np.all(states[-1] == found.tokens(found.num_layers + 12))
    assert leader_layers(layer, states).tolist() == found.leader_layers.tolist()
    assert leader_layers_by_value(layer, states).tolist() == found.leader_layers_by_value.tolist()
    A = rationals("A", np.eye(2, dtype=int) if attention is None else attention)
    late = found.tokens(found.num_layers + 400)
    bound = (1 / (1 + alpha)) ** 400 * 10**4 * 400**2  # the power of the ratio, up to a polynomial
    assert all(gap @ A @ gap <= bound**2 for gap in late - found.limits)


def test_nearly_all_small_lattice_inputs_are_certified():
    rng = np.random.default_rng(5)
    inputs = [rng.integers(-3, 4, (rng.integers(2, 9), rng.integers(1, 4))) for _ in range(150)]
    found = [certify(ExactHardmaxMap(HALF), x, max_layers=100).certified for x in inputs]
    assert sum(found) == 150


def test_four_hundred_float_layers_end_at_the_limits():
    x = np.random.default_rng(6).normal(size=(30, 3))
    A = np.diag([1.0, 2.0, 0.5])
    found = certify(HardmaxMap(0.3, A), x)
    layer = HardmaxMap(0.3, A)
    for k in range(400):
        x = layer.step(k, x)
    assert np.max(np.abs(x - found.limits.astype(float))) < 1e-12
    K = polytope(found.limits)
    assert {tuple(found.limits[i]) for i in np.flatnonzero(found.leader_layers >= 0)} == {
        tuple(v) for v in K.vertex_points
    }
    assert all(contains(K, s) for s in found.limits)


@settings(max_examples=20, deadline=None)
@given(lattice(), ALPHAS, st.randoms(use_true_random=False), st.sampled_from([Fraction(3), Fraction(-2, 7)]))
def test_order_and_scale_of_the_tokens_change_nothing(tokens, alpha, random, factor):
    order = list(range(len(tokens)))
    random.shuffle(order)
    first = certify(ExactHardmaxMap(alpha), tokens)
    other = certify(ExactHardmaxMap(alpha), rationals("x", tokens)[order] * factor)
    assert (first.certified, first.constant_from) == (other.certified, other.constant_from)
    assert np.all(first.limits[order] * factor == other.limits)
    assert first.leader_layers[order].tolist() == other.leader_layers.tolist()


@settings(max_examples=20, deadline=None)
@given(lattice(), ALPHAS, st.sampled_from([[[1, 2], [0, 1]], [[2, 1], [1, Fraction(1, 3)]], [[0, -3], [1, 1]]]))
def test_a_change_of_variables_turns_a_into_the_identity(tokens, alpha, B):
    B = rationals("B", B)
    first = certify(ExactHardmaxMap(alpha, B.T @ B), tokens)
    other = certify(ExactHardmaxMap(alpha), rationals("x", tokens) @ B.T)
    assert (first.certified, first.constant_from) == (other.certified, other.constant_from)
    assert np.all(first.limits @ B.T == other.limits)
    assert first.leader_layers.tolist() == other.leader_layers.tolist()


@settings(max_examples=25, deadline=None)
@given(lattice(d=3, high=6, size=2), ALPHAS, st.randoms(use_true_random=False), st.integers(0, 9))
def test_what_is_called_settled_is_positive_at_every_layer(tokens, alpha, random, shift):
    """Any triangular following will do, whether the scores ask for it or not."""
    x = rationals("x", tokens)
    x = x[np.unique(value_numbers(x), return_index=True)[1]]
    norms, n = np.sum(x * x, axis=1), len(x)
    larger = [[j for j in range(n) if norms[j] > norms[i]] for i in range(n)]
    lists = [random.sample(js, random.randint(1, min(2, len(js)))) if js else [i] for i, js in enumerate(larger)]
    weights = np.array([random.randint(1, 3) for _ in range(n)])
    sets = from_lists(lists, np.zeros(n))
    motion = closed_form_motion(x, sets, weights, alpha, None)
    motion = closed_form_motion(motion.after(shift), sets, weights, alpha, None) if shift < 4 else motion
    i, ahead, behind = (index.ravel() for index in np.indices((n, n, n)))
    s = motion.limits
    fair = [s[u] @ (s[v] - s[w]) >= 0 for u, v, w in zip(i, ahead, behind, strict=True)]  # the others lose in the end
    assert FloatMotion(motion, None).gap_signs(i, ahead, behind).any_negative == (not all(fair))
    i, ahead, behind = i[fair], ahead[fair], behind[fair]
    signs = FloatMotion(motion, None).gap_signs(i, ahead, behind)
    assert not signs.any_negative
    run = np.stack([motion.after(m) for m in (*range(25), 60, 200)])
    scores = np.einsum("mid,mjd->mij", run, run)
    for p, (u, v, w) in enumerate(zip(i.tolist(), ahead.tolist(), behind.tolist(), strict=True)):
        gaps, gap = scores[:, u, v] - scores[:, u, w], exact_gap(motion, None, u, v, w)
        value = [sum(c * binomial(m, t) for t, c in enumerate(level)) for m in (5,) for level in gap.coefficients]
        assert gaps[5] == sum(part * motion.ratio ** (5 * e) for e, part in enumerate(value))
        assert gap.vanishes == all(g == 0 for g in gaps)
        if gap.stays_positive or signs.positive[p]:
            assert min(gaps) > 0


def binomial(m, t):
    return np.prod([Fraction(m - s, s + 1) for s in range(t)]) if t else 1


def test_the_bounds_behind_the_proof_hold():
    for ratio, t, u in itertools.product([Fraction(1, 11), HALF, Fraction(99, 100)], range(4), range(4)):
        power = [float(ratio) ** m * float(binomial(m, t)) * float(binomial(m, u)) for m in range(1200)]
        assert max(power) <= float(supremum_bound(ratio, t, u)) * (1 + 1e-12)
        assert binomial(9, t) * binomial(9, u) == sum(c * binomial(9, k) for k, c in product_of_binomials(t, u))
    abc = list(itertools.product([Fraction(k, 3) for k in range(-5, 6)], repeat=3))
    in_floats = _least(*np.array(abc, float).T)
    np.testing.assert_allclose(in_floats, [float(least_on_unit_interval(*one)) for one in abc], atol=1e-14)
    for a, b, c in abc:
        grid = [a + b * v + c * v * v for v in (Fraction(k, 60) for k in range(61))]
        assert least_on_unit_interval(a, b, c) <= min(grid) <= least_on_unit_interval(a, b, c) + Fraction(1, 100)


def test_a_gap_of_constants_stays_positive_if_its_least_value_is():
    """Of a + b u + c u^2 for u from 0 to 1, without the leading terms that vanish; zeros behind change nothing."""
    numbers = [Fraction(k, 2) for k in range(-3, 4)]
    for a, b, c in itertools.product(numbers, repeat=3):
        rest = itertools.dropwhile(lambda x: not x, (a, b, c))
        leading = [*rest, *[Fraction(0)] * 3][:3]
        wanted = leading[0] > 0 and least_on_unit_interval(*leading) > 0
        for zeros in ([], [Fraction(0)] * 2):
            gap = Gap(([a], [b, *zeros], [c, *zeros]), HALF)
            assert gap.stays_positive == wanted
            assert gap.vanishes == (not (a or b or c))


def test_near_ties_below_rounding_are_decided_by_fractions():
    tiny = Fraction(1, 10**40)
    tokens = [[1, 1], [-1, 1], [tiny, HALF], [-tiny, HALF], [0, HALF]]
    found = certify(ExactHardmaxMap(1), tokens)
    assert found.limits.tolist() == [[1, 1], [-1, 1], [1, 1], [-1, 1], [0, 1]]
    scaled = certify(ExactHardmaxMap(1), [[x * tiny**10 for x in token] for token in tokens])
    assert scaled.limits[4, 1] == tiny**10


@pytest.mark.parametrize("moving", [False, True])
def test_rounding_decides_no_sign(moving):
    """Score gaps of +-1e-40, which rounding hides: of tokens at rest, and of one that moves past a tie."""
    rng, fractions = np.random.default_rng(0), lambda *shape: np.vectorize(Fraction)(rng.integers(-99, 100, shape), 97)
    for k in range(20):
        A, s, above = fractions(2, 2), fractions(2), fractions(2)
        tiny, across = Fraction((-1) ** k, 10**40), np.array([-(A @ s)[1], (A @ s)[0]])
        ahead, behind = above, above - across - (0 if moving else tiny) * (A @ s)
        terms = [[], [], [], [s + tiny * across @ A]] if moving else [[], [], []]
        limits = np.array([s, ahead, behind, s] if moving else [s, ahead, behind])
        query = np.array([len(limits) - 1 if moving else 0])
        signs = FloatMotion(Motion(limits, terms, HALF, True), A).gap_signs(query, np.array([1]), np.array([2]))
        assert (signs.any_negative, bool(signs.positive[0])) == (not moving and tiny < 0, False)


@pytest.mark.parametrize("scale", [1, Fraction(1, 1000)])
@pytest.mark.parametrize("depth", [1, 2])
def test_floats_decide_all_gaps_but_those_near_zero(scale, depth):
    """Among tokens at rest and moving, of equal limits too; terms of second order are small, as are their bounds."""
    rng, n = np.random.default_rng(7), 6
    fractions = lambda *shape: np.vectorize(Fraction)(rng.integers(-99, 100, shape), 97)
    A, limits = fractions(2, 2), fractions(n, 2)
    limits[1], limits[4] = limits[0], limits[3]
    terms = [[*(scale * fractions(2) * size for size in (1, Fraction(1, 10**9))[:depth])] for _ in range(n)]
    terms[2] = []
    motion = Motion(limits, terms, HALF, True)
    gaps = [(*triple, exact_gap(motion, A, *triple)) for triple in itertools.product(range(n), repeat=3)]
    gaps = [row for row in gaps if row[3].coefficients[0][0] >= 0]
    i, ahead, behind = np.array([row[:3] for row in gaps]).T
    signs = FloatMotion(motion, A).gap_signs(i, ahead, behind)
    assert not signs.any_negative
    assert signs.positive.tolist() == [row[3].stays_positive for row in gaps]
    assert np.all(signs.unresolved <= [row[3].coefficients[0] == [0] for row in gaps])


@pytest.mark.parametrize(("gap", "decided"), [(1e-11, True), (1e-12, True), (1e-13, False), (1e-15, False)])
def test_gaps_of_limits_are_decided_beyond_four_error_bounds(gap, decided):
    limits = rationals("limits", [[1.0, 0.0], [1.0 - gap, 0.0]])
    signs = FloatMotion(Motion(limits, [[], []], HALF, True), None).gap_signs(*np.array([[0], [0], [1]]))
    assert (signs.positive[0], signs.unresolved[0], signs.any_negative) == (decided, not decided, False)


def test_of_five_hundred_random_tokens_floats_decide_all_but_few_pairs(monkeypatch):
    x, by_fractions = np.random.default_rng(0).normal(size=(500, 2)), []
    monkeypatch.setattr(certificate, "exact_gap", lambda *a: by_fractions.append(a) or exact_gap(*a))
    found = certify(ExactHardmaxMap(HALF), x)
    assert found.certified
    assert len(by_fractions) < 500  # of 250,000
    assert found.num_layers < 50
    assert np.sum(found.leader_layers >= 0) == len(distinct_limits(found.limits)[0])


def test_giving_up_is_said_and_not_passed_over():
    found = certify(ExactHardmaxMap(HALF), [[-1, 1], [0, 3], [12, 4]], max_layers=1)
    assert not found.certified
    assert (found.constant_from, found.num_layers, len(found.limits)) == (-1, 1, 0)
    assert found.leader_layers.tolist() == [1, -1, 0]
    assert str(found) == "Not certified within 1 layers."
    with pytest.raises(ValueError, match="`layer` must belong to a certified run"):
        found.tokens(7)


def test_maps_outside_the_proof_are_refused():
    x = [[1, 0], [0, 2]]
    with pytest.raises(ValueError, match="positive alpha to be certified, but has -1/3"):
        certify(ExactHardmaxMap(Fraction(-1, 3)), x)
    with pytest.raises(ValueError, match="symmetric A to be certified"):
        certify(HardmaxMap(1.0, [[1.0, 1.0], [0.0, 1.0]]), x)
    with pytest.raises(ValueError, match="positive definite A to be certified"):
        certify(ExactHardmaxMap(1, [[1, 1], [1, 1]]), x)
    with pytest.raises(ValueError, match="`max_layers` must be at least 1"):
        certify(ExactHardmaxMap(1), x, max_layers=0)
    with pytest.raises(ValueError, match="`layer` must be at least 1, but is 0"):
        certify(ExactHardmaxMap(1), x).tokens(0)


def bounds_of(depth=2, **parts):
    """A motion with these sizes for its bounds: an error of 2^-10, a scale and a ratio of 1 / 2."""
    motion = FloatMotion.__new__(FloatMotion)
    motion.error, motion.scale, motion.depth, motion.ratio = 2.0**-10, 0.5, depth, Fraction(1, 2)
    for name, part in parts.items():
        setattr(motion, name, part)
    return motion


ONE = np.zeros(1, int)
row = lambda *values: tuple(np.array([value]) for value in values)


@pytest.mark.parametrize(
    ("b", "c", "later", "bound", "positive", "unresolved"),
    [
        (1.002 * 2**-7, 0.0, 0.0, 0.0, True, False),  # (2 + 8 / 2) errors and half of 2^-8, together 2^-7
        (0.999 * 2**-7, 0.0, 0.0, 0.0, False, True),
        (-1.01 * 2**-7, 0.0, 0.0, 0.0, False, False),
        (0.5 + 1.002 * 2**-7, -1.0, 0.0, 0.0, True, False),
        (0.5 + 0.999 * 2**-7, -1.0, 0.0, 0.0, False, False),
        (1.002 * 2**-7, 1.0, 0.0, 0.0, True, False),
        (1.0, 0.0, 3.1 * 2**-10, 3.0, True, False),
        (1.0, 0.0, 2.9 * 2**-10, 3.0, False, True),
        (1.0, 0.0, -2.9 * 2**-10, 3.0, False, True),
        (1.0, 0.0, -3.1 * 2**-10, 3.0, False, False),
    ],
)
def test_gaps_without_a_limit_are_positive_beyond_all_errors(b, c, later, bound, positive, unresolved):
    motion = bounds_of(
        _linear=lambda i, ahead, behind, t: row(later, bound) if t else row(b, 2.0),
        _quadratic=lambda *given: row(c, 8.0),
        _higher_products=lambda i, ahead, behind, power: np.array([2.0**-8 if power == 1 else 1e3]),
    )
    assert [bool(part[0]) for part in motion._tied_in_the_limit(ONE, ONE, ONE)] == [positive, unresolved]


@pytest.mark.parametrize(("b", "c", "fall"), [(0.0, 0.0, 0.0), (-1.0, 0.0, 0.5), (-1.0, 4.0, 0.0625), (1.0, 0.0, 0.0)])
def test_gaps_with_a_limit_are_positive_beyond_all_errors(b, c, fall):
    """The loss is (4 / 2 + 8 / 4) errors, 2^-8 / 2 for b times the bound 1000 / 1359, and 2^-8 / 4 for c."""
    motion = bounds_of(
        _linear=lambda *given: row(b, 4.0),
        _quadratic=lambda *given: row(c, 8.0),
        _linear_size=lambda i, ahead, behind, t: np.array([2.0**-8 if t == 1 else 1e3]),
        _higher_products=lambda i, ahead, behind, power: np.array([2.0**-8 if power == 2 else 1e3]),
    )
    for share, positive in ((0.999, False), (1.002, True)):
        a = np.array([fall + share * (5 + 2 * 1000 / 1359) * 2.0**-10])
        assert bool(motion._separated_in_the_limit(ONE, ONE, ONE, a)[0]) == positive
