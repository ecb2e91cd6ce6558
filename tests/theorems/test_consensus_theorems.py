"""Theorems on the consensus of tokens: a case of each, and near misses that break one condition alone."""

import json
import math
from typing import Any

import numpy as np
import pytest

import dynsim as ds
from analysis.theorems import consensus_theorems
from analysis.theorems.consensus import (
    _constant,
    _for_all_times,
    _off_the_antipode,
    _positive_definite,
    _remark_5_1,
    _theorem_4_1,
    _top_eigenvector,
)
from dynsim.errors import ArgumentError
from dynsim.spaces import Ellipsoid, Euclidean
from dynsim.systems.schedules import AbstractSchedule, Constant, Modulated, PiecewiseConstant, Resampled
from dynsim.systems.tokens.published import (
    SYMMETRIC_VALUE,
    published_gradient_flow,
    published_hemisphere_flow,
    published_symmetric_flow,
)
from dynsim.tokens import (
    Causal,
    ProjectedValueFlow,
    TokenFlow,
    Window,
    causal_identity_flow,
    causal_symmetric_flow,
    with_norms,
)

P = np.array([[[2.0, 0.5], [0.5, 1.0]]])
TURN = np.array([[[0.0, 1.0], [-1.0, 0.0]]])
WAVE = Modulated(TURN, 1.0, 2.0, 0.0)
JUMPS = PiecewiseConstant(np.stack([P, 2 * P]))
ENDS = PiecewiseConstant(np.stack([P, P]), periodic=False)
U = np.array([[[1.0, 0.25], [0.25, -0.5]]])
NEAR = np.array([[1.0, 0.0], [0.6, 0.8]])
APART = np.array([[1.0, 0.0], [-1.0, 0.0]])
OPPOSITE = np.array([[1.0, 0.0], [0.6, 0.8], [-1.0, 0.0]])


class Unknown(AbstractSchedule):
    """P(t) without a bound, of which nothing else is known."""

    def __call__(self, t: Any) -> Any:
        return P * t

    @property
    def shape(self):
        return (1, 2, 2)


def flow(
    query_key: Any = P, value: Any = 1.0, *, W: Any = None, mask: Any = None, scale: Any = None, space: Any = None
):
    space = Ellipsoid(W) if W is not None else space
    return TokenFlow(query_key, value, space=space, mask=mask, scale=scale)


def gradient(query_key: Any = P, value: Any = 1.0, *, W: Any = P[0], mask: Any = None, scale: Any = None):
    return flow(query_key, value, W=W, mask=mask, scale=scale)


def checked(system: Any, tokens: Any, number: str):
    """The conditions of the theorem of this number; tokens are projected to the space of the flow."""
    W = np.asarray(system.space.matrix) if isinstance(system.space, Ellipsoid) else np.eye(2)
    x = tokens / np.sqrt(np.sum((tokens @ W) * tokens, axis=1, keepdims=True))
    [found] = [one for one in consensus_theorems(system, x).theorems if one.theorem.split(":")[0].endswith(number)]
    return found


TWO = np.concatenate([P, P])
APPLIES: dict[str, tuple[str, Any, Any]] = {
    "3.2": ("3.2", gradient(), APART),
    "3.2, layers that are equal": ("3.2", gradient(PiecewiseConstant(np.stack([P, P]))), NEAR),
    "4.1": ("4.1", flow(np.concatenate([TURN, P]), W=P[0]), NEAR),
    "4.1, a wave": ("4.1", flow(WAVE), NEAR),
    "5.1": ("5.1", flow(JUMPS, mask=Causal()), NEAR),
    "5.1, a window of all": ("5.1", flow(TWO, mask=Window(2)), NEAR),
    "5.1, W = I": ("5.1", flow(W=np.eye(2), mask=Causal()), OPPOSITE[:2]),
    "6.1": ("6.1", causal_symmetric_flow(WAVE, U[0]), NEAR),
    "6.1, at -v": ("6.1", causal_symmetric_flow(JUMPS, U[0]), -NEAR),
    "Remark 5.1": ("Remark 5.1", ProjectedValueFlow(P, [[2.0, 1.0], [0.0, 1.0]]), NEAR),
}


@pytest.mark.parametrize("name", APPLIES)
def test_the_theorem_applies(name):
    number, system, tokens = APPLIES[name]
    found = checked(system, tokens, number)
    assert found.applies, str(found)
    assert all(one.margin > 0 for one in found.hypotheses if not math.isnan(one.margin))


SKEW = P + 1e-9 * TURN
INDEFINITE = np.array([[[1.0, 1.1], [1.1, 1.0]]])
CAUSAL = {"mask": Causal()}
# Each row: the theorem, a flow, tokens, the words of the one condition that does not hold, its status and its margin.
MISSES: dict[str, tuple[str, Any, Any, str, str, float | None]] = {
    "3.2, two heads": ("3.2", gradient(TWO), NEAR, "attention has one head", "fails", None),
    "3.2, causal": ("3.2", gradient(**CAUSAL), NEAR, "every token attends to every token", "fails", None),
    "3.2, U": ("3.2", gradient(value=1.001), NEAR, "the value matrices are the identity", "fails", -0.001),
    "3.2, not symmetric": ("3.2", gradient(SKEW), NEAR, "P is symmetric; P is the matrix", "fails", -2e-9),
    "3.2, W": ("3.2", gradient(W=P[0] + 0.1 * np.eye(2)), NEAR, "P is the matrix of the ellipsoid", "fails", -0.1),
    "3.2, scale": ("3.2", gradient(scale=-1.0), NEAR, "the factor of the velocity", "fails", -1.0),
    "4.1, a window": ("4.1", flow(mask=Window(2)), NEAR, "every token attends to every token", "fails", None),
    "4.1, U": ("4.1", flow(TWO, [1.0 * np.eye(2), 0.9 * np.eye(2)]), NEAR, "the value matrices", "fails", -0.1),
    "4.1, scale": ("4.1", flow(scale=0.0), NEAR, "the factor of the velocity", "fails", 0.0),
    "4.1, an end": ("4.1", flow(ENDS), NEAR, "P and U are given at all times", "fails", None),
    "4.1, jumps": ("4.1", flow(JUMPS), NEAR, "P is uniformly continuous", "fails", None),
    "4.1, unknown": ("4.1", flow(Unknown()), NEAR, "P is bounded; P is uniformly", "undecided", None),
    "4.1, hemisphere": ("4.1", flow(), APART, "an open hemisphere holds all tokens", "fails", None),
    "5.1, full": ("5.1", flow(), NEAR, "tokens attend to themselves", "fails", None),
    "5.1, a window": ("5.1", flow(mask=Window(1)), NEAR, "tokens attend to themselves", "fails", None),
    "5.1, ellipsoid": ("5.1", flow(W=1.1 * np.eye(2), **CAUSAL), NEAR, "tokens move on the unit", "fails", -0.1),
    "5.1, U": ("5.1", flow(value=Constant(U), **CAUSAL), NEAR, "the value matrices", "fails", -1.5),
    "5.1, U moves": ("5.1", flow(value=WAVE, **CAUSAL), NEAR, "the value matrices", "fails", None),
    "5.1, scale": ("5.1", flow(scale=-0.5, **CAUSAL), NEAR, "the factor of the velocity", "fails", -0.5),
    "5.1, an end": ("5.1", flow(ENDS, **CAUSAL), NEAR, "P and U are given at all times", "fails", None),
    "5.1, unknown": ("5.1", flow(Unknown(), **CAUSAL), NEAR, "P is bounded", "undecided", None),
    "5.1, opposite": ("5.1", flow(**CAUSAL), OPPOSITE, "no token is opposite to the first", "fails", None),
    "6.1, two heads": ("6.1", flow(TWO, U, **CAUSAL), NEAR, "attention has one head", "fails", None),
    "6.1, full": ("6.1", flow(P, U), NEAR, "tokens attend to themselves", "fails", None),
    "6.1, ellipsoid": ("6.1", flow(P, U, W=2 * np.eye(2), **CAUSAL), NEAR, "tokens move on the unit", "fails", -1.0),
    "6.1, skew": ("6.1", flow(P, U + 0.01 * TURN, **CAUSAL), NEAR, "U is symmetric", "fails", -0.02),
    "6.1, scale": ("6.1", flow(P, U, scale=-1.0, **CAUSAL), NEAR, "the factor of the velocity", "fails", -1.0),
    "6.1, an end": ("6.1", flow(ENDS, U, **CAUSAL), NEAR, "P and U are given at all times", "fails", None),
    "6.1, unknown": ("6.1", flow(Unknown(), U, **CAUSAL), NEAR, "P is bounded", "undecided", None),
    "6.1, negative": (
        "6.1",
        flow(P, U - 2 * np.eye(2), **CAUSAL),
        NEAR,
        "the largest eigenvalue of U is pos",
        "fails",
        None,
    ),
    "6.1, zero": (
        "6.1",
        flow(P, np.diag([0.0, -1.0]), **CAUSAL),
        np.array([[0.6, 0.8], [1.0, 0.0]]),
        "the largest eigenvalue of U is pos",
        "fails",
        None,
    ),
    "6.1, equator": (
        "6.1",
        flow(P, np.diag([1.0, -1.0]), **CAUSAL),
        np.array([[0.6, 0.8], [-0.6, 0.8]]),
        "the tokens are in a",
        "fails",
        -0.6,
    ),
    "Remark 5.1, opposite": (
        "Remark 5.1",
        ProjectedValueFlow(P, [[2.0, 1.0], [0.0, 1.0]]),
        OPPOSITE,
        "no token",
        "fails",
        None,
    ),
    "Remark 5.1, an end": ("Remark 5.1", ProjectedValueFlow(ENDS, np.eye(2)), NEAR, "P and U are given", "fails", None),
    "Remark 5.1, unknown": (
        "Remark 5.1",
        ProjectedValueFlow(Unknown(), np.eye(2)),
        NEAR,
        "P is bounded",
        "undecided",
        None,
    ),
}


@pytest.mark.parametrize("name", MISSES)
def test_a_near_miss_breaks_one_condition(name):
    number, system, tokens, words, status, margin = MISSES[name]
    found = checked(system, tokens, number)
    broken = [one for one in found.hypotheses if one.status != "holds"]
    expected = words.split("; ")
    assert len(broken) == len(expected), str(found)
    assert all(one.words.startswith(word) for one, word in zip(broken, expected, strict=True)), str(found)
    assert found.status == broken[0].status == status
    assert margin is None or broken[0].margin == pytest.approx(margin, rel=1e-6)


def test_conditions_on_a_matrix_that_moves_or_is_indefinite():
    moving = checked(flow(WAVE), NEAR, "3.2")
    assert [one.status for one in moving.hypotheses[3:7]] == ["fails", "undecided", "undecided", "undecided"]
    indefinite = checked(flow(INDEFINITE), NEAR, "3.2")
    assert indefinite.hypotheses[5].status == "fails"
    assert indefinite.hypotheses[5].margin == pytest.approx(-0.1)
    drawn = checked(flow(Resampled(ds.random_key(0, "P"), (1, 2, 2)), value=JUMPS), NEAR, "4.1")
    assert [one.words for one in drawn.failing] == ["the value matrices are the identity", "P is uniformly continuous"]
    [outside] = [one for one in consensus_theorems(flow(space=Euclidean()), NEAR).theorems if "4.1" in one.theorem]
    assert [one.status for one in outside.hypotheses if one.status != "holds"] == ["fails", "undecided"]


def test_a_double_eigenvalue_has_no_eigenvector_of_its_own():
    found = checked(flow(P, np.eye(2)[None], mask=Causal()), NEAR, "6.1")
    assert [one.status for one in found.hypotheses[-3:]] == ["holds", "fails", "undecided"]


def test_published_flows_meet_their_theorems():
    axis = np.linalg.eigh(SYMMETRIC_VALUE)[1][:, -1]
    spread = np.array([[0.9, 0.3, 0.1], [0.1, 0.8, -0.2], [-0.4, 0.2, 0.7]])
    for system, names in (
        (published_gradient_flow(), ["Theorem 3.2", "Theorem 4.1"]),
        (published_hemisphere_flow(), ["Theorem 4.1"]),
        (published_symmetric_flow(), ["Theorem 6.1"]),
    ):
        W = np.asarray(system.space.matrix) if isinstance(system.space, Ellipsoid) else np.eye(3)
        x = spread / np.sqrt(np.sum((spread @ W) * spread, axis=1, keepdims=True))
        found = consensus_theorems(system, x * np.sign(x @ axis)[:, None])
        assert [one.theorem.split(":")[0] for one in found.applying] == names


def test_conclusions_about_almost_every_start_and_text():
    two, three = (checked(causal_identity_flow(P), x, "5.1") for x in (NEAR, np.array([*NEAR, [0.0, 1.0]])))
    assert "almost every" not in two.conclusion
    assert "almost every" in three.conclusion
    found = consensus_theorems(gradient(), NEAR / np.sqrt(np.sum((NEAR @ P[0]) * NEAR, axis=1, keepdims=True)))
    assert str(found).startswith("2 of 4 theorems apply: Theorem 3.2, Theorem 4.1.\n\nTheorem 3.2")
    assert [one["status"] for one in json.loads(found.to_json())] == ["holds", "holds", "fails", "fails"]
    assert str(consensus_theorems(flow(P, U), NEAR)).startswith("0 of 4 theorems apply.\n")


@pytest.mark.parametrize(
    ("system", "tokens", "message"),
    [
        (
            ds.catalogue.Lorenz(),
            NEAR,
            r"flow.*must be a `NormalisedTokenFlow` or a `ProjectedValueFlow` or a `TokenFlow`",
        ),
        (flow(), NEAR[0], r"tokens.*must have shape \(n, 2\)"),
        (flow(), np.eye(3), r"tokens.*must have shape \(n, 2\)"),
        (flow(), 2 * NEAR, "tokens.*must lie on the space"),
        (flow(), NEAR * np.nan, "tokens.*must be finite"),
    ],
)
def test_bad_input(system: Any, tokens: Any, message: str):
    with pytest.raises(ArgumentError, match=message):
        consensus_theorems(system, tokens)


def test_margins_within_rounding_decide_nothing():
    """The bound of an error grows with the dimension, the largest number, and for an eigenvector with 1 / gap."""
    tiny, turned = 2e-14, np.array([[1.0, 1.0], [1.0, -1.0]]) / np.sqrt(2)
    of = lambda values: turned @ np.diag(values) @ turned
    wide = np.eye(16)[[0, 0]] * [[1.0], [-1.0]] + np.eye(16)[[1, 1]] * [[0.0], [tiny]]
    assert _off_the_antipode(wide).status == "undecided"
    assert _off_the_antipode(wide[:, :2]).status == "holds"
    assert _positive_definite(np.diag([*np.ones(15), tiny])).status == "undecided"
    assert _positive_definite(np.diag([1.0, tiny])).status == "holds"
    for margin, status in ((5e-13, "undecided"), (2e-12, "holds"), (1e-8, "holds")):  # of a hemisphere
        pair = np.array([[math.sin(margin), math.cos(margin)], [math.sin(margin), -math.cos(margin)]])
        assert _theorem_4_1(TokenFlow(np.eye(2)), pair).hypotheses[-1].status == status
    regular = _remark_5_1(ProjectedValueFlow(P, np.diag([1.0, 1e-15])), NEAR).hypotheses[0]
    assert regular.status == "undecided"
    statuses = lambda U, x: [row.status for row in _top_eigenvector(U, x)]
    beside = np.array([[1.0, 0.0], [1e-15, 1.0]])
    assert statuses(np.diag([1.0, 0.0]), beside) == ["holds", "holds", "undecided"]
    assert statuses(of([1.0, 1.0 - 1e-9]), np.array([[1e-6, 1.0]]) @ turned)[2] == "undecided"
    assert statuses(of([1e-8, -1e10]), NEAR)[0] == "undecided"


def test_eigenvalues_are_those_of_symmetric_parts_and_the_second_largest_one_counts():
    for lower in (np.array([[1.0, 4.0], [0.0, 1.0]]), np.array([[1.0, 0.0], [4.0, 1.0]])):
        assert _positive_definite(lower).margin == pytest.approx(-1.0)
        assert _top_eigenvector(lower - 2 * np.eye(2), NEAR)[0].margin == pytest.approx(1.0)
    simple = _top_eigenvector(np.diag([2.0, 1.75, -1.0]), np.eye(3))[1]
    assert simple.margin == pytest.approx(0.25)
    assert _top_eigenvector(np.diag([-0.5, -1.0]), NEAR)[0].margin == -0.5


def test_one_token_is_a_consensus():
    found = consensus_theorems(causal_identity_flow(P), [[0.6, 0.8]])
    assert [one.theorem.split(":")[0] for one in found.applying] == ["Theorem 4.1", "Theorem 5.1"]


def test_schedules_that_end_and_waves_that_stand_still():
    assert [_for_all_times(flow(*pair))[0].status for pair in ((P, 1.0), (ENDS, 1.0), (P, ENDS))] == [
        "holds", "fails", "fails",
    ]  # fmt: skip
    for base, size, rate, fixed in (
        (TURN, 1.0, 0.0, True), (TURN, 0.0, 1.0, True), (0 * TURN, 1.0, 1.0, True), (TURN, 1.0, 1.0, False),
        (0.5 * P, 0.25, 0.5, False),
    ):  # fmt: skip
        assert _constant(Modulated(base, size, rate, 0.5))[0] == fixed


def test_theorems_hold_for_normalisation_after_attention_only():
    plain, x = TokenFlow(np.eye(2)), np.array([[2.0, 0.0], [0.6, 0.8]])
    names = {norm: [one.theorem[:11] for one in consensus_theorems(with_norms(plain, norm), at).applying]
             for norm, at in (("post", x / [[2.0], [1.0]]), ("pre", x), ("peri", x), ("none", x))}  # fmt: skip
    assert names == {"post": ["Theorem 3.2", "Theorem 4.1"], "pre": [], "peri": [], "none": []}
    hemisphere = consensus_theorems(with_norms(plain, "pre"), x).theorems[1]
    failing = [one for one in hemisphere.hypotheses if one.status == "fails"]
    assert [one.words for one in failing] == ["tokens are normalised after attention (post)"]
