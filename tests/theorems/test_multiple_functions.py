"""Lyapunov functions of several modes: where switching is shown to be stable, near misses, and bad input."""

import importlib

import numpy as np
import pytest

import dynsim as ds
from analysis import theorems as th
from analysis.theorems import Switch
from analysis.theorems.conditions import known
from analysis.theorems.regions import as_region
from analysis.theorems.subdivision import Decision
from analysis.theorems.switching.parts import RegionPart
from tests.theorems.reports import not_holding

pytest.importorskip("flint")

LINE = [(-1.0, 1.0)]
SQUARE = [(-1.0, 1.0), (-1.0, 1.0)]
ROUND = lambda s: s @ s
FIRST = lambda s: s[0]
SECOND = lambda s: s[1]
SPIRALS = [  # in the quadrants in which they are not active, x^2 + y^2 grows in both
    "x' = -0.6*y - 0.1*x; y' = x - 0.1*y", "x' = -1.4*y - 0.1*x; y' = x - 0.1*y",
]  # fmt: skip


def flows(*texts):
    return [ds.system(text) for text in texts]


def on_line(V=(lambda s: s[0] ** 2, lambda s: 1.5 * s[0] ** 2), texts=("x' = -x", "x' = -2*x + x^3"), **options):
    switches = options.pop("switches", [Switch(0, 1, lambda s: s[0] - 0.5)])
    return th.multiple_lyapunov(flows(*texts), V, LINE, [0.0], switches, **options)


UP = "no larger value after a switch from mode 1 to mode 2"


def test_a_dwell_time_makes_up_for_a_larger_value_after_a_switch():
    """V2 = 1.5 V1 at the switch, and V1 falls like exp(-2 t)."""
    found = on_line(rate=1.9, dwell=0.25)
    assert not_holding(found) == []
    assert found.numbers["c"] == pytest.approx(1.0, rel=0.02)


@pytest.mark.slow
def test_a_difference_below_rounding_errors_is_not_taken_for_zero():
    close = lambda s: s[0] ** 2 + 1e-30 * s[0] ** 2
    assert not_holding(on_line((lambda s: s[0] ** 2, close))) == [(UP, "fails")]


MISSES = {
    "an equilibrium that is not common": ({"texts": ("x' = -x", "x' = 1e-30 - x")}, ("mode 2 rests", "fails")),
    "a function with a slope": (
        {"V": (lambda s: s[0] + 1000 * s[0] ** 2, lambda s: s[0] ** 2)}, ("V1 is stationary there", "fails"),
    ),
    "a mode that leaves its domain": (
        {"V": (ROUND, ROUND), "domains": [(), (lambda s: s[0] + 0.1,)], "texts": ("x' = -x", "x' = -x - 2*x^2")},
        ("mode 2 stays in its domain until it is switched", None),
    ),
    "a guard outside": (
        {"switches": [Switch(0, 1, lambda s: s[0] - 3)], "texts": ("x' = -x", "x' = x")},
        ("V2 falls in mode 2", "fails"),
    ),
    "a larger value": ({}, (UP, "fails")),
    "a dwell time that is too short": ({"rate": 1.9, "dwell": 0.2}, (UP, "fails")),
    "a mode that is unstable": (
        {"V": (ROUND, ROUND), "texts": ("x' = -x", "x' = -x + 4*x^3")}, ("V2 falls in mode 2", "fails"),
    ),
    "a switch into a place where the mode is not active": (
        {"V": (ROUND, ROUND), "domains": [(), (lambda s: 0.4 - s[0],)]},
        ("a switch from mode 1 to mode 2 leads into the domain", "fails"),
    ),
    "a reset that leaves the region": (
        {"V": (ROUND, lambda s: 0.01 * s @ s), "switches": [Switch(0, 1, lambda s: s[0] - 0.5, lambda s: 3 * s)]},
        ("a switch from mode 1 to mode 2 stays in the region", "fails"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", [
    pytest.param(name, marks=() if k < 2 else pytest.mark.slow) for k, name in enumerate(MISSES)
])  # fmt: skip
def test_a_near_miss_names_the_one_condition(name):
    options, (words, status) = MISSES[name]
    if status is None:  # the field points inwards at the end of the domain
        assert words not in [row[0] for row in not_holding(on_line(**options))]
    else:
        assert not_holding(on_line(**options)) == [(words, status)]


def test_each_inequality_that_is_decided_is_that_of_the_theorem(monkeypatch):
    """Their left sides at x = 0.3, the number of inequalities of the part, and whether it is a surface."""
    module, seen, lows = importlib.import_module("analysis.theorems.switching.multiple_lyapunov"), [], []
    at = lambda fn: round(float(np.ravel(fn(np.array([0.3])))[0]), 9)

    class Part(module.RegionPart):
        def positive_off(self, fn, budget, strictly=True):
            seen.append((at(fn), len(self.inside), self.on is not None, strictly))
            return [Decision("holds", 0.0, 0.0, 1, np.zeros((0, 1, 2)))]

        def decide(self, fn, region, strictly, budget):
            return self.positive_off(fn, budget, strictly)[0]

    def least(fn, region, *, on=None, faces=(), budget):
        lows.append((on, faces, len(region.inside)))
        return (2.0 if faces else 0.5), None

    monkeypatch.setattr(module, "RegionPart", Part)
    monkeypatch.setattr(module, "together", lambda words, sense, parts: known(words, sense, True))
    monkeypatch.setattr("analysis.theorems.definite.least_value", least)
    disc, low, high = th.ball([0.0], 0.9), (lambda s: s[0] + 0.5), (lambda s: 0.6 - s[0])
    leap = Switch(0, 1, lambda s: s[0] - 0.5, lambda s: s / 2, 1)
    found = th.multiple_lyapunov(
        flows("x' = -x", "x' = -2*x"), [ROUND, lambda s: 3 * s @ s], disc, [0.0], [leap, Switch(1, 0, high)],
        domains=[(low, lambda s: 0.5 - s[0]), (high,)], rate=1.5, dwell=0.1,
    )  # fmt: skip
    growth = np.exp(0.15)
    expected = [
        (0.09, 2, False, True), (0.18 - 0.135, 2, False, True), (-0.3, 1, True, False),  # V1, its fall, the end at -0.5
        (0.27, 1, False, True), (1.08 - 0.405, 1, False, True),  # mode 2, which leaves by its guard
        (growth * 0.09 - 3 * 0.0225, 2, True, True), (0.81 - 0.0225, 2, True, False), (0.45, 2, True, False),
        (growth * 0.27 - 0.09, 1, True, True), (0.8, 1, True, False), (0.2, 1, True, False),  # back
    ]  # fmt: skip
    assert [one[1:] for one in seen] == [one[1:] for one in expected]
    np.testing.assert_allclose([one[0] for one in seen], [one[0] for one in expected], atol=1e-8)
    assert found.numbers["c"] == 0.5
    assert {one[2] for one in lows} == {2, 3}
    ends = as_region([(-1.0, 2.0)]).inequalities
    np.testing.assert_allclose([at(one) for one in ends], [1.3, 1.7])


@pytest.mark.parametrize(
    "part", [{"inside": (lambda x: x[0] * x[1],)}, {"on": lambda x: x[0] - x[1]}], ids=["quadrants", "surface"]
)
def test_what_makes_a_hessian_definite_is_nowhere_larger_on_the_part(part):
    value = lambda x: x @ x + 3 * x[0] * x[1]
    square = as_region(SQUARE)
    helped = RegionPart(square, np.zeros(2), square, **part)._with_multiples(value)
    at = lambda fn, *x: float(fn(np.array(x)))
    assert 0 < at(helped, 1.0, 1.0) <= at(value, 1.0, 1.0) == 5.0
    assert at(helped, 1.0, -1.0) > 0 > at(value, 1.0, -1.0)


def test_a_guard_in_one_direction_is_left_by_its_sign():
    g, guard = (lambda s: 0.5 - s[0]), (lambda s: s[0] - 0.5)
    leaves = [Switch(0, 1, guard, None, way).leaves(g, 1) for way in (1, -1, 0)]
    assert leaves == [True, False, True]
    assert [Switch(0, 1, g, None, way).leaves(g, 1) for way in (1, -1, 0)] == [False, True, True]


@pytest.mark.parametrize(
    ("switches", "checked"),
    [
        ([], ["xy"]), ([(0, FIRST, 0)], ["xy"]), ([(0, FIRST, 1), (0, SECOND, 1)], ["xy"]),
        ([(0, FIRST, 0), (1, SECOND, 0)], ["y"]), ([(0, SECOND, 0), (1, FIRST, 0)], ["x"]),
        ([(0, FIRST, 0), (0, SECOND, 0), (1, FIRST, 0), (1, SECOND, 0)], []),
    ],
    ids=["none", "one", "one_direction", "x", "y", "both"],
)  # fmt: skip
def test_the_boundary_of_a_product_is_crossed_only_by_guards_of_the_mode(switches, checked):
    """What is left to check: the whole boundary, or that of the factor by which the mode does not end."""
    surfaces = []

    class Part(RegionPart):
        def positive_off(self, fn, budget, strictly=True):
            surfaces.append({6.0: "xy", 2.0: "x", 3.0: "y"}[abs(float(self.on(np.array([2.0, 3.0]))))])
            return []

    square, module = as_region(SQUARE), importlib.import_module("analysis.theorems.switching.multiple_lyapunov")
    mode = module._Mode(lambda s: s, ROUND, (lambda s: -s[0] * s[1],), 0.0, 0.0)
    named = [Switch(source, 1 - source, guard, None, way) for source, guard, way in switches]
    module._left_in_time(0, mode, named, Part(square, np.zeros(2), square), 1)
    assert surfaces == checked


@pytest.mark.slow
def test_modes_that_are_stable_only_where_they_are_active():
    """Opposite quadrants: the boundary of a domain is a product of guards, and its quadratic form helps V to fall."""
    domains = [(lambda s: -s[0] * s[1],), (lambda s: s[0] * s[1],)]
    disc = th.ball([0.0, 0.0], 0.5)
    right, wrong = ([Switch(0, 1, one), Switch(1, 0, other)] for one, other in ((SECOND, FIRST), (FIRST, SECOND)))
    found = th.multiple_lyapunov(flows(*SPIRALS), [ROUND, ROUND], disc, [0.0, 0.0], right, domains=domains)
    assert not_holding(found) == []
    turned = th.multiple_lyapunov(flows(*SPIRALS), [ROUND, ROUND], disc, [0.0, 0.0], wrong, domains=domains)
    stays = "stays in its domain until it is switched"
    assert not_holding(turned) == [(f"mode 1 {stays}", "fails"), (f"mode 2 {stays}", "fails")]
    everywhere = th.multiple_lyapunov(flows(*SPIRALS), [ROUND, ROUND], disc, [0.0, 0.0], right)
    assert not_holding(everywhere) == [("V1 falls in mode 1", "fails"), ("V2 falls in mode 2", "fails")]


@pytest.mark.slow
def test_functions_that_are_compared_only_on_a_curved_guard():
    """Finsler's lemma: V2 - V1 = x^2 - y^2 is positive on the guard y = x^3 / 2, but not everywhere."""
    modes = flows("x' = -x - 2*y; y' = x - y^3 - y", "x' = -x - y; y' = 2*x - y")
    V = [lambda s: s[0] ** 2 + 2 * s[1] ** 2, lambda s: 2 * s[0] ** 2 + s[1] ** 2]
    curved = lambda s: s[1] - s[0] ** 3 / 2
    down, up = [Switch(1, 0, curved)], [Switch(0, 1, curved)]
    assert not_holding(th.multiple_lyapunov(modes, V, SQUARE, [0.0, 0.0], down)) == []
    assert not_holding(th.multiple_lyapunov(modes, V, SQUARE, [0.0, 0.0], up)) == [(UP, "fails")]


def test_the_modes_of_a_text_with_transitions():
    text = "x' = -k*x; when(x > 1, k = 2); when(x < 0.5, k = 1, x = x/2); when(x > 9, stop)"
    modes, switches = th.hybrid_modes(ds.hybrid_system(text, k=1.0))
    assert [float(np.asarray(flow.parameters["k"])) for flow in modes] == [1.0, 2.0]
    assert [(one.source, one.target, one.direction) for one in switches] == [(0, 1, 1), (0, 0, -1), (1, 0, -1)]
    assert switches[0].reset is None
    assert float(switches[2].reset(np.array([0.5]))[0]) == 0.25
    assert abs(float(switches[0].guard(np.array([1.25])))) == 0.25
    with pytest.raises(ValueError, match="`hybrid` must set parameters to numbers"):
        th.hybrid_modes(ds.hybrid_system("x' = -k*x; when(x > 1, k = x)", k=1.0))
    with pytest.raises(ValueError, match="`hybrid` must have guards and values without time"):
        th.hybrid_modes(ds.hybrid_system("x' = -k*x; when(x > t, k = 2)", k=1.0))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"V": [ROUND]}, "`V` must have one entry for each of 2 modes"),
        ({"switches": []}, "`switches` must be one or more"),
        ({"switches": [Switch(0, 2, FIRST)]}, "`target` must be the index of one of 2 modes"),
        ({"rate": -1.0}, "`rate` must be at least 0"),
    ],
)
def test_bad_input_is_named(options, said):
    with pytest.raises(ValueError, match=said):
        on_line(**options)
