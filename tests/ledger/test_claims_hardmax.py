"""The instances behind the claims on the hardmax map, held against numbers worked out by hand."""

import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.claims.hardmax import section_01_metastability as metastability
from analysis.claims.hardmax import section_01_zero_tokens as zero_tokens
from analysis.claims.hardmax import section_02_model as model
from analysis.claims.hardmax import section_03_hulls as hulls
from analysis.claims.hardmax import section_05_leaders as leaders
from analysis.claims.hardmax import section_06_training as training
from analysis.claims.hardmax.instances import clouds as instances
from analysis.claims.hardmax.instances import zoo
from analysis.claims.hardmax.instances.certified_limits import CertifiedRun, certified_run
from analysis.claims.rational_instances import identity, matrix
from analysis.experiments import Record
from analysis.hardmax.leaders import leader_layers
from analysis.hardmax.polytopes import contains, polytope
from dynsim.keys import random_key
from dynsim.systems.hardmax.attention import Softmax
from dynsim.systems.hardmax.hypotheses import hypotheses
from dynsim.systems.hardmax.maps import ExactHardmaxMap

pytestmark = pytest.mark.usefixtures("short_draws")

HALF = Fraction(1, 2)


def outcomes(trial):
    return [m.slack > 0 for m in trial.conclusions]


def test_instances_meet_the_hypotheses_of_the_theorem():
    seen = set()
    for index in range(20):
        given = instances.case(random_key(0, "cases", index))
        assert hypotheses(given.map, given.tokens).hold
        assert len(given.tokens) >= 2
        assert hypotheses(given.with_negatives.map, given.with_negatives.tokens).hold
        assert not hypotheses(given.map, given.with_zero.tokens).nonzero
        assert not hypotheses(given.map, given.doubled.tokens).distinct
        assert not hypotheses(given.degenerate_map, given.tokens).definite
        seen.add((given.alpha, len(given.factor), bool(np.all(given.attention == identity(len(given.factor))))))
    assert {d for _, d, _ in seen} == {2, 3}
    assert {plain for *_, plain in seen} == {True, False}
    assert len({alpha for alpha, *_ in seen}) > 3


def test_a_token_of_the_circle_follows_a_longer_one_in_the_norm_of_attention():
    # A = diag(4, 1): (3/5, 4/5) has the score 12/5 for (1, 0) and 36/25 + 16/25 = 52/25 for itself
    z, B = matrix([[1, 0], [Fraction(3, 5), Fraction(4, 5)]]), matrix([[2, 0], [0, 1]])
    given = instances.ClusteringCase(z, B, Fraction(1))
    assert given.map.follower_sets(z).lists() == [[0], [0]]
    assert given.map.step(0, z)[1].tolist() == [Fraction(4, 5), Fraction(2, 5)]  # not on the ray of (3, 4)
    assert model._fixed_trial(given, identity(2)).contradicts
    assert not model._fixed_trial(given.with_identity).contradicts
    given = given._replace(tokens=z / matrix([[2, 1]] * 2))  # B^{-1} z
    assert not model._fixed_trial(given).contradicts


def test_the_weights_in_powers_of_two_are_those_of_the_softmax_map():
    z = matrix([[1, 0], [0, 2], [1, 1], [0, 0]])
    rule = Softmax(1 / (3 * math.log(2)))
    averages = np.stack([model.softmax_weights(row, 3) @ z for row in z @ z.T]).astype(float)
    np.testing.assert_allclose(rule.averages(jnp.asarray(z.astype(float))), averages, rtol=1e-13)


def test_near_a_tie_softmax_is_off_by_a_third_at_every_temperature():
    for m in (64, 2048):
        z = matrix([[HALF, 0], [1, 1], [1 - Fraction(2, m), -1]])
        weights = model.softmax_weights(z @ z[0], m)
        assert weights[2] == weights[1] / 2
        assert 0 < Fraction(2, 3) - weights[1] < Fraction(1, 2**15)
        assert model.similarity(z, identity(2))[0].tolist() == [0, 1, 0]


def test_a_token_may_come_nearer_to_the_origin_unless_attention_is_the_identity():
    # A = diag(4, 1): (1, 2) has the score 8 for itself and 9 for (9/4, 0), half-way to which it is shorter
    z = matrix([[1, 2], [Fraction(9, 4), 0]])
    given = instances.ClusteringCase(z, matrix([[2, 0], [0, 1]]), Fraction(1))
    moved = given.map.step(0, z)[0]
    assert moved.tolist() == [Fraction(13, 8), 1]
    assert moved @ moved == Fraction(233, 64) < 5
    assert hulls._norms_trial(given, euclidean=True).contradicts
    assert not hulls._norms_trial(given).contradicts


def test_opposite_tokens_that_repel_nothing_meet_at_the_origin():
    given = instances.ClusteringCase(matrix([[1, 2], [3, -1]]), identity(2), HALF).with_negatives
    assert given.tokens.tolist() == [[1, 2], [3, -1], [-1, -2], [-3, 1]]
    negated = ExactHardmaxMap(1, -identity(2))
    assert np.sum(np.all(negated.step(0, given.tokens) == 0, axis=1)) >= 2
    assert hulls._distinct_trial(given, negated).contradicts


def test_the_example_is_sensitive_to_each_of_its_numbers(monkeypatch):
    assert outcomes(leaders._example_trial(HALF)) == [True, True, True]
    assert outcomes(leaders._example_trial(Fraction(1, 3)))[0] is False
    monkeypatch.setattr(leaders, "EXAMPLE_SETS", ([[1], [2], [2]], [[0], [1], [2]]))
    assert outcomes(leaders._example_trial(HALF)) == [True, False, True]


@pytest.mark.parametrize("with_identity", [False, True])
def test_the_last_leader_appears_in_the_layer_that_was_worked_out(with_identity):
    layers = set()
    for index in range(12):
        given = zoo.late_leaders(random_key(0, "late", index), with_identity=with_identity)
        found = leader_layers(given.map, instances.run(given.map, given.tokens))
        layers.add(int(np.max(found)))
        assert hypotheses(given.map, given.tokens).hold
    assert layers >= {1, 3}
    assert min(layers) > 0


def ended(name, index):
    found = certified_run(zoo.ZOO[name](random_key(0, name, index)))
    assert isinstance(found, CertifiedRun)
    return found


def test_tokens_in_an_uneven_tie_tend_to_the_weighted_mean():
    given = zoo.uneven_tie(random_key(0, "uneven"))
    found = certified_run(given)
    assert isinstance(found, CertifiedRun)
    ends = found.certificate.limits @ given.factor.T
    assert ends.tolist() == [[3, 1], [3, -2], [3, 0], [3, 0], [-1, HALF], [3, 1]]


def test_points_of_the_boundary_are_those_of_the_theorem():
    half_way = instances.ClusteringCase(matrix([[1, 1], [1, -1], [HALF, 0]]), identity(2), HALF)  # K is a segment
    found = certified_run(half_way)
    assert isinstance(found, CertifiedRun)
    assert found.boundary_candidates == {(1, 1), (1, -1), (1, 0)}
    square = instances.ClusteringCase(matrix([[1, 1], [-1, 1], [-1, -1], [1, -1]]), identity(2), HALF)
    found = certified_run(square)
    assert isinstance(found, CertifiedRun)
    assert {tuple(s) for s in found.candidates.points} - found.boundary_candidates == {(0, 0)}


def test_a_hull_of_the_proof_of_proposition_4_6_contains_another_point_of_s():
    found = certified_run(instances.ClusteringCase(matrix([[2, 1], [-2, 1], [-2, -1], [2, -1]]), identity(2), HALF))
    assert isinstance(found, CertifiedRun)
    assert {tuple(s) for s in found.candidates.points} >= {(2, 0), (-2, 0)}
    longest = found.body.vertex_points  # S_1, so that (2, 0) and (-2, 0) are S_2
    assert contains(polytope(np.concatenate([longest, matrix([[2, 0]])])), [-2, 0])  # against (4.35)


def test_a_balanced_zero_token_moves_after_the_first_layer():
    for index in range(4):
        given = zero_tokens._centred(random_key(0, "centred", index))
        states = instances.run(given.map, given.tokens)
        assert not np.any(np.sum(states[0], axis=0))
        assert not np.any(states[1][-1])
        assert np.any(states[-1][-1])


@pytest.mark.parametrize("index", range(3))
def test_each_hard_instance_is_hard_for_what_it_says(index):
    assert ended("waiting followers", index).certificate.constant_from >= 10
    assert ended("flat", index).body.dimension == 2 < 3
    assert not contains(ended("arc", index).body, [0, 0])
    attained = lambda run: {tuple(s) for s in run.certificate.limits} - run.vertices
    assert [len(attained(ended(name, index))) for name in ("polygon", "spiral", "prism")] == [3, 0, 4]
    spiral = ended("spiral", index)
    assert len(spiral.candidates.points) == 2 * len(spiral.vertices) + 1


def test_a_zero_token_that_moves_leaves_nothing_behind_at_the_origin():
    given = instances.ClusteringCase(matrix([[1, 0], [0, 1], [0, 0]]), identity(2), Fraction(1))
    assert given.map.step(0, given.tokens)[2].tolist() == [Fraction(1, 6), Fraction(1, 6)]  # half the mean of all
    assert not zero_tokens._moved_trial({"corner": given}, doubled=False).contradicts
    assert zero_tokens._moved_trial({"corner": given}, doubled=True).contradicts
    cross = instances.ClusteringCase(matrix([[1, 0], [-1, 0], [0, 1], [0, -1], [0, 0]]), identity(2), Fraction(1))
    assert not zero_tokens._zero_trial({"cross": cross}, origin=True).contradicts
    assert zero_tokens._zero_trial({"cross": cross}, origin=False).contradicts


@pytest.mark.parametrize("layers", [8, 16, 64])
@pytest.mark.parametrize("alpha", ["1/2", "1", "2"])
def test_the_tied_tokens_leave_at_the_layer_worked_out_by_hand(layers, alpha):
    given = metastability.tied_followers(Fraction(alpha), layers)
    e, r, s = given.tokens[2, 0] - 1, 1 / (1 + Fraction(alpha)), Fraction(1, 3)
    # the last token is ((2 - r^k) / 2, 0, -r^k s) while it follows a and b: c is better once (2 - r^k) e / 2 > r^k s
    leaves = next(k for k in range(400) if (2 - r**k) * e / 2 > r**k * s)
    assert leaves > layers
    sets = [given.map.follower_sets(x).lists() for x in instances.run(given.map, given.tokens, leaves + 1)]
    assert [found[4] for found in sets] == [[0, 1]] * leaves + [[2]] * 2
    assert all(found[:3] == [[0], [1], [2]] for found in sets)


def test_tokens_neither_near_nor_apart_form_no_clusters():
    near, apart = metastability.NEAR, metastability.APART
    line = lambda *values: matrix([[v] for v in values])
    assert metastability.clusters(line(0, near, apart + near)) == [[0, 1], [2]]
    assert metastability.clusters(line(0, near, apart)) == []
    assert metastability.clusters(line(0, near, 2 * near)) == []
    assert metastability.clusters(line(0, 1, 2)) == [[0], [1], [2]]


def test_a_stand_ends_where_a_token_moves_or_changes_its_cluster():
    line = lambda *values: matrix([[v] for v in values])
    states = [line(0, 1), line(Fraction(1, 4), 1), *[line(0, 1)] * 5, line(0, HALF), line(0, 0)]
    found = metastability.longest_stationary_interval(states)
    assert (found.first, found.last, found.groups) == (2, 6, [[0], [1]])
    assert found.merged == [([1], [0])]


def test_the_random_cases_follow_one_token_each():
    given = metastability._random_case(jax.random.key(3))
    trial = metastability._leaders_trial(given, single=True)
    assert trial.applies
    assert not trial.contradicts


def test_rows_of_the_similarity_matrix_by_hand():
    z = matrix([[2, 1], [2, -1], [1, 0], [0, 0]])
    quarter = Fraction(1, 4)
    assert model.similarity(z, identity(2)).tolist() == [[1, 0, 0, 0], [0, 1, 0, 0], [HALF, HALF, 0, 0], [quarter] * 4]
    assert ExactHardmaxMap(1).follower_sets(z).lists() == [[0], [1], [0, 1], [0, 1, 2, 3]]


def accuracies(*shares, train=35_000, test=15_000, loss=0.3):
    """Return a record whose classifiers of d = 2, 4, 8, 16 classify these shares of the test reviews correctly."""
    labels = np.arange(test) % 2
    arrays = {"labels": labels, "training labels": np.arange(train) % 2}
    for d, share in zip((2, 4, 8, 16), shares, strict=True):
        right = np.arange(test) < share * test
        arrays |= {f"d={d}: alpha": np.array(1.0), f"d={d}: softmax loss": np.array([0.7, loss])}
        arrays[f"d={d}: hardmax logits"] = np.where(right, 1.0, -1.0) * np.where(labels == 1, 1.0, -1.0)
    return Record("hardmax/reviews-full", "paper", 0, {}, arrays)


@pytest.mark.parametrize(
    ("shares", "met"),
    [
        ((0.79, 0.83, 0.87, 0.9), [True, True, True, True]),
        ((0.79, 0.784, 0.87, 0.9), [True, True, True, True]),  # d = 4 is within three standard errors
        ((0.79, 0.76, 0.87, 0.9), [True, False, True, True]),
        ((0.74, 0.83, 0.87, 0.9), [True, True, False, True]),
        ((0.8, 0.83, 0.85, 0.85), [True, True, True, False]),
        ((0.79, 0.83, 0.9, 0.85), [True, False, True, False]),
        ((0.9, 0.85, 0.85, 0.8), [False, False, False, False]),
        ((0.815, 0.8155, 0.816, 0.817), [False, True, True, False]),  # a growth that is none
    ],
)
def test_accuracies_are_held_against_the_printed_ones(shares, met, monkeypatch):
    monkeypatch.setattr(training, "paper_record", lambda experiment: accuracies(*shares))
    trial = training._printed_accuracy_trial((2, 4, 8, 16))
    assert trial.applies
    assert [not m.fails_clearly for m in trial.conclusions] == met
    monkeypatch.setattr(training, "best_record", lambda experiment: accuracies(*shares, train=2000, test=2000))
    grows = training._growing_accuracy_trial((2, 4, 8, 16))
    assert grows.applies
    assert [not m.fails_clearly for m in grows.conclusions][:1] == met[:1]
    assert training._growing_accuracy_trial((2, 2, 2, 2), learned=False).contradicts


@pytest.mark.parametrize("few", [{"train": 2000}, {"test": 2000}, {"loss": 0.69}])
def test_printed_accuracies_need_the_printed_numbers_of_reviews(few, monkeypatch):
    monkeypatch.setattr(training, "paper_record", lambda experiment: None)
    monkeypatch.setattr(training, "best_record", lambda experiment: accuracies(0.6, 0.6, 0.6, 0.6, **few))
    assert not training._printed_accuracy_trial((2, 4, 8, 16)).applies
    assert training._printed_accuracy_trial((2, 2, 2, 2), printed_sizes=False).contradicts
