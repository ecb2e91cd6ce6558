"""Bifurcations of maps, and of flows with two parameters: known points, near misses, and what rounding gets wrong."""

import jax.numpy as jnp
import numpy as np
import pytest

import dynsim as ds
from analysis import theorems as th
from analysis.dynamics.validated.balls import balls
from analysis.dynamics.validated.enclosures import ball_box, enclosed_eigenvalues
from analysis.theorems.bifurcation.extended import others
from tests.theorems.reports import failing, not_holding

pytest.importorskip("flint")

POLAR = "r2 = x^2 + y^2; x' = {0}*x - y + {1}*x*r2 - {2}*x*r2^2; y' = x + {0}*y + {1}*y*r2 - {2}*y*r2^2"
MAP = "x[n+1] = "


def check(theorem, text, near, values=(0.0, 0.0)):
    """Call a theorem with the parameters a and b, or only a of a map."""
    system = ds.system(text, {"a": 0.25, "b": 0.25} if "b" in text else {"a": 0.25})
    names = ("a", "b") if theorem in (th.cusp, th.bogdanov_takens, th.bautin) else ("a",)
    both = tuple(ds.Parameter(system, name, -5.0, 5.0) for name in names)
    return theorem(both, values, near) if len(both) == 2 else theorem(both[0], values[0], near)


@pytest.mark.parametrize(
    ("theorem", "text", "near", "expected"),
    [
        # Henon's map has a flip at a = 3 (1 - b)^2 / 4; here the parameter is shifted by it
        (th.flip, "x[n+1] = 1 - (a + 0.3675)*x^2 + y; y[n+1] = 0.3*x", [0.9, 0.27], {"a": 0.0}),
        # the delayed logistic map of Kuznetsov, example 4.2: -2 for an eigenvector of squared length 2
        (
            th.neimark_sacker, "x[n+1] = (a + 2)*x*(1 - y); y[n+1] = x", [0.49, 0.49],
            {"a": 0.0, "cubic": -1.0, "speed": 0.5},
        ),
        # the centre manifold is y = x^2 / 2 + ...
        (th.cusp, "x' = a + b*x - x^3 + 3*x*y; y' = x^2 - 2*y", [0.0, 0.1], {"a": 0.0, "b": 0.0, "cubic": 0.5}),
        (
            th.cusp, "x' = a + b*(x - 1/3) - (x - 1/3)^3; y' = x*y - y", [0.3, 0.0],
            {"a": 0.0, "b": 0.0, "cubic": -1.0},
        ),
        # by hand, with the eigenvector (1, 0, 5/9)
        (
            th.bogdanov_takens,
            "x' = y; y' = a + b*(x - 1/3) + (x - 1/3)^2 - x*y + y/3 + 0.1*z; z' = x^2 - z - 1/9", [0.3, 0.0, 0.0],
            {"square": 1.0181361216003795, "mixed": -1.2304746710250571},
        ),
        (th.bautin, POLAR.format("a", "b", 1), [0.01, 0.0], {"a": 0.0, "b": 0.0, "l2": -4.0}),
    ],
)  # fmt: skip
def test_a_point_is_found_with_the_known_coefficients(theorem, text, near, expected):
    found = check(theorem, text, near, (0.01, 0.02))
    assert failing(found) == []
    assert found.is_certified
    for name, value in expected.items():
        assert found.numbers[name] == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(("twist", "expected"), [("", -4.012976069918202), ("1.5", -3.9977891759645385)])
def test_the_second_lyapunov_coefficient_with_quadratic_terms(twist, expected):
    """The values are those of `second_lyapunov_coefficient` at these points, whose first coefficient is 1e-16 there."""
    turns = (f" - {twist}*y*r2", f" + {twist}*x*r2") if twist else ("", "")  # the frequency depends on the amplitude
    x = f"x' = a*x - y + b*x*r2 - x*r2^2 + 0.1*x*y + 0.2*x*z{turns[0]}"
    y = f"y' = x + a*y + b*y*r2 - y*r2^2 + 0.3*x*x - 0.1*z*z + 0.1*z{turns[1]}"
    found = check(th.bautin, f"r2 = x^2 + y^2; {x}; {y}; z' = x*x - z + 0.5*x*y + 0.2 + 0.1*x", [0.0, 0.0, 0.2])
    assert failing(found) == []
    assert found.numbers["l2"] == pytest.approx(expected, abs=1e-12)


CUBIC, UNFOLDS = "the cubic coefficient is not zero", "the parameters unfold the point"


@pytest.mark.parametrize(
    ("theorem", "text", "words"),
    [
        (th.flip, MAP + "-(1 + a)*x + x^2 - x^3", CUBIC),
        (th.flip, MAP + "-x - a^2*x + x^3", "the multiplier crosses -1"),
        (th.flip, MAP + "-(1 + a)*x + x^3; y[n+1] = y + y^3", "no other multiplier is on the unit circle"),
        (th.neimark_sacker, MAP + "-(1 + a)*y*(1 - x^2); y[n+1] = (1 + a)*x", "no strong resonance"),
        (th.neimark_sacker, MAP + "(1 + a)*(0.6*x - 0.8*y); y[n+1] = (1 + a)*(0.8*x + 0.6*y)", CUBIC),
        (th.cusp, "x' = a + b*x + x^5", CUBIC),
        (th.cusp, "x' = a + b*x - x^3 + x*y; y' = x^2 - y", CUBIC),
        (th.cusp, "x' = a + b + (a + b)*x - x^3", UNFOLDS),
        (th.bogdanov_takens, "x' = y; y' = a + b*x + x^3 - x*y", "the coefficient of u^2 is not zero"),
        (th.bogdanov_takens, "x' = y; y' = a + b*y + x^2", "the coefficient of u v is not zero"),
        (th.bogdanov_takens, "x' = y; y' = a + b + x^2 - x*y", UNFOLDS),
        (th.bautin, POLAR.format("a", "b", 0), "the second Lyapunov coefficient is not zero"),
        (th.bautin, POLAR.format("(a + b)", "(a + b)", 1), UNFOLDS),
    ],
)
def test_a_near_miss_names_the_one_condition(theorem, text, words):
    found = check(theorem, text, np.zeros(text.count("' =") + text.count("+1] =")))
    assert failing(found) == [words]


@pytest.mark.parametrize(
    ("theorem", "text"),
    [
        (th.fold, "x' = 1 + a^2 + x^2"),
        (th.transcritical, "x' = (1 + a^2)*(x - 0.1)"),
        (th.hopf, "x' = (1 + a^2)*x - y; y' = x + (1 + a^2)*y"),
        (th.flip, MAP + "(1 + a^2)*x"),
        (th.neimark_sacker, MAP + "-(2 + a^2)*y; y[n+1] = (2 + a^2)*x"),
        (th.cusp, "x' = 1 + a^2 + b*x + x^2"),
        (th.bogdanov_takens, "x' = y; y' = 1 + a^2 + b*x + x^2 - x*y"),
        (th.bautin, "x' = (1 + a^2)*x - y + b*x*y; y' = x + (1 + a^2)*y"),
    ],
)
def test_where_no_point_is_found_nothing_is_decided(theorem, text):
    found = check(theorem, text, np.full(text.count("' =") + text.count("+1] ="), 0.1), (0.1, 0.1))
    assert (found.status, found.numbers) == ("undecided", {})
    assert found.hypotheses[-1].inequality.endswith(" has a regular zero nearby")


def test_a_coefficient_below_rounding_errors_is_not_taken_for_zero():
    """In binary fractions 3 * 0.1 - 0.3 is 2^-55."""
    found = check(th.cusp, "x' = a + b*x - 0.3*x^3 + 0.1*x*y; y' = 3*x^2 - y", [0.0, 0.0])
    assert failing(found) == []
    assert found.numbers["cubic"] == 2.0**-55


def test_a_degenerate_point_without_exact_coordinates_is_undecided():
    found = check(th.cusp, "x' = a + b*(x - 1/3) - (x - 1/3)^5", [0.3])
    assert found.status == "undecided"
    assert "has a regular zero nearby" in found.hypotheses[0].inequality


def test_a_double_eigenvalue_does_not_blur_the_others():
    """The double eigenvalue zero moves by the root of each error, so that all enclosures of eigenvalues are wide."""
    T = np.array([[1.0, 2.0, 0.0], [1.0, 3.0, 2.0], [2.0, 1.0, 1.0]])
    A = np.ravel(T @ [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, -1.0]] @ np.linalg.inv(T))
    J = ball_box(A - 1e-15, A + 1e-15).reshape(3, 3)
    assert not any(bool(value.real != 0) for value in enclosed_eigenvalues(J))
    found = others(J, [0, 0])
    assert found.status == "holds"
    assert found.margin == pytest.approx(1, abs=1e-12)


def test_the_distance_of_other_multipliers_from_the_circle():
    found = others(balls(np.diag([-1.0, 0.5, 3.0])), [1], is_map=True)
    assert found.margin == pytest.approx(0.5, abs=1e-12)


HENON = "x[n+1] = a - x^2 + 0.3*y; y[n+1] = x"
TURNED = "x[n+1] = -y; y[n+1] = -y*(a - x^2 - 0.5*y^2)"


@pytest.mark.parametrize(
    ("theorem", "text", "value", "points", "expected"),
    [
        # the cycle of period two of Henon's map doubles at a = (1 - b)^2 + (1 + b)^2 / 4, here with b = 0.3
        (th.flip, HENON, 0.91, [(1.0154, -0.3154), (-0.3154, 1.0154)], {"a": 0.9125}),
        # minus the map of which a fixed point with 2 x^2 = 1 has a pair on the circle; cubic numbers of two steps add
        (th.neimark_sacker, TURNED, 1.74, [(0.7, 0.7), (-0.7, -0.7)], {"a": 1.75, "cubic": -3.0}),
    ],
)
def test_a_cycle_of_a_map_gives_the_same_numbers_from_each_of_its_points(theorem, text, value, points, expected):
    parameter = ds.Parameter(ds.system(text, a=value), "a", -5.0, 5.0)
    first, second = (theorem(parameter, value, near, period=2) for near in points)
    assert failing(first) == failing(second) == []
    assert first.conclusion.endswith("leaves the cycle of period 2")
    assert first.numbers == pytest.approx(second.numbers, abs=1e-12)
    for name, number in expected.items():
        assert first.numbers[name] == pytest.approx(number, abs=1e-12)


def test_a_fixed_point_is_no_cycle_of_three():
    found = th.flip(ds.Parameter(ds.system("x[n+1] = r*x*(1 - x)", r=3.0), "r", 2.0, 4.0), 3.0, [0.667], period=3)
    assert not_holding(found) == [("the least period is 3", "fails")]


def test_bad_input_is_named():
    one, other = (ds.Parameter(ds.system("x' = a + b*x - x^3", a=0.1, b=0.1), name, -1, 1) for name in "ab")
    with pytest.raises(ValueError, match="`parameters` must be different parameters of one system"):
        th.cusp((one, other), [0.0, 0.0], [0.0])
    with pytest.raises(ValueError, match="`parameters` must be two `Parameter` objects"):
        th.cusp((one,), [0.0, 0.0], [0.0])
    with pytest.raises(ValueError, match="`system` must be a map"):
        th.flip(one, 0.0, [0.0])
    with pytest.raises(ValueError, match="`period` must be"):
        th.flip(ds.Parameter(ds.system(MAP + "a*x", a=1.0), "a", -2, 2), -1.0, [0.0], period=0)
    with pytest.raises(ValueError, match="complex pair of multipliers"):
        check(th.neimark_sacker, MAP + "a*x; y[n+1] = y/2", [0.0, 0.0])


SMALL_UNITS = {
    "fold": (th.fold, False, lambda x, a: [a - x[0] ** 2, x[0] - x[1]], 0.01, [0.05, 0.05]),
    "hopf": (th.hopf, False, lambda x, a: [a * x[0] - x[1] - x[0] ** 3, x[0] + a * x[1] + x[0] ** 2], 0.02, [0, 0]),
    "flip": (th.flip, True, lambda x, a: [a * x[0] * (1 - x[0]), x[1] / 2], 2.98, [0.66, 0.0]),
    "neimark_sacker": (th.neimark_sacker, True, lambda x, a: [x[1], a * x[1] * (1 - x[0])], 2.02, [0.5, 0.5]),
}


@pytest.mark.parametrize("sizes", [(1e-6, 1e-6), (1e-9, 1e6)])
@pytest.mark.parametrize("name", SMALL_UNITS)
def test_points_are_decided_in_any_units(name, sizes):
    """States near zero, where rounding of the units keeps the equations from being exact."""
    holds, is_map, base, value, near = SMALL_UNITS[name]
    unit = np.asarray(sizes)
    scaled = lambda t, x, a: unit * jnp.stack(base(x / unit, a))
    kind = ds.FunctionMap if is_map else ds.FunctionFlow
    system = kind(scaled, parameters={"a": value}, names=("x", "y"))
    assert holds(ds.Parameter(system, "a", value - 1, value + 1), value, unit * np.asarray(near)).applies


def _spiral(x, growth):
    rate = growth(x[0] ** 2 + x[1] ** 2)
    return [rate * x[0] - x[1], x[0] + rate * x[1]]


CORNERS = {
    "cusp": (th.cusp, lambda x, a, b: [a + b * x[0] - x[0] ** 3, -x[1]], {"cubic": lambda u, v: -(u**-2)}),
    "bogdanov_takens": (
        th.bogdanov_takens,
        lambda x, a, b: [x[1], a + b * x[0] + x[0] ** 2 - x[0] * x[1]],
        {"square": lambda u, v: 1 / u, "mixed": lambda u, v: -1 / u},
    ),
    "bautin": (
        th.bautin,
        lambda x, a, b: _spiral(x, lambda s: a + b * s - s**2),
        {"l2": lambda u, v: -16 / (u**2 + v**2) ** 2},
    ),
}


@pytest.mark.parametrize(
    ("name", "sizes"),
    [("cusp", (1e-9, 1e6)), ("cusp", (1e6, 1e6)), ("bogdanov_takens", (1e-6, 1e-6)), ("bautin", (1e-6, 1e-6))],
)
def test_points_of_codimension_two_are_decided_in_any_units(name, sizes):
    """Coefficients by hand; the units of the parameters are far apart, too."""
    holds, base, expected = CORNERS[name]
    unit = np.asarray(sizes)
    scaled = lambda t, x, a, b: unit * jnp.stack(base(x / unit, a / 1e6, b))
    system = ds.FunctionFlow(scaled, parameters={"a": 0.0, "b": 0.0}, names=("x", "y"))
    both = ds.Parameter(system, "a", -1e6, 1e6), ds.Parameter(system, "b", -1.0, 1.0)
    found = holds(both, [1e4, 0.02], unit * np.array([0.05, 0.0]))
    assert found.applies
    for number, value in expected.items():
        assert found.numbers[number] == pytest.approx(value(*sizes), rel=1e-9)
