"""What a text of equations means: each is compared with the same function written by hand."""

import math
from collections import OrderedDict

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dynsim as ds
from dynsim.equations import graph, model
from dynsim.equations.characters import source
from dynsim.equations.expressions import LARGEST_RANGE, read_span
from dynsim.equations.functions import ALIASES, ARGUMENTS
from dynsim.equations.graph import Graph
from dynsim.equations.tokens import tokens
from dynsim.errors import ArgumentError
from dynsim.programs import without_compiling


def field(text, state, t=0.0, **parameters):
    """Evaluate a flow at a state."""
    return np.asarray(ds.system(text, parameters).velocity(t, jnp.asarray(state, float)))


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("-x^2", -4.0), ("2^-2", 0.25), ("2^3^2", 512.0), ("x**3/4/2", 1.0), ("-x*-y", 6.0), ("1 - 2 - 3", -4.0),
        ("x^-1", 0.5), ("(y - x)^0.5", 1.0),
        ("(x*x)^0.5 + (x*x)^-0.5 + (x*x)^1.5 + (x*x)^-1.5", 10.625), ("2e-1*.5 + 1.", 1.1), ("+x - -y", 5.0),
        ("x^y", 8.0),
        ("if(x > 1 and not (y < 3 or y == 4), 10, 20)", 10.0), ("(x >= 2)*5 + (x != 2)", 5.0), ("if(x, 1, 2)", 1.0),
        ("mod(-x, 3)", 1.0), ("max(x, y, 1) + min(x, y, 1)", 4.0), ("abs(-x) + sign(-y) + heaviside(0)", 2.0),
        ("ln(exp(x)) + sqrt(x*x) + atan2(0, 1)", 4.0), ("arctan(tan(1)) + cbrt(8) + hypot(3, 4)", 8.0),
        ("sec(0) + sech(0) + power(x, 2) + floor(2.7) + log10(100)", 10.0), ("cos(pi)", -1.0), ("t + x", 3.0),
        ("not x > 5", 1.0), ("if(x, x > 1, 0) + if(x, x > 1, y > 4)", 2.0), ("-(x - y)*2", 2.0),
        ("(x > 1 & y > 4) + 2*(x > 1 | y > 4) + 4*(x > 1 && y > 1)", 6.0), ("w[2] + w[1]^x", 9.0),
        ("sum(j=1..3, j*x)", 12.0), ("sum(j=1..2, sum(k=1..2, j*k))", 9.0), ("erf(0) + round(0.6)", 1.0),
    ],
)  # fmt: skip
def test_expressions_have_the_value_of_arithmetic(expression, value):
    given = {"w": [2.0, 5.0]} if "w[" in expression else {}
    assert field(f"x' = {expression}; y' = 0", [2.0, 3.0], t=1.0, **given)[0] == pytest.approx(value, rel=1e-14)


ONE = {
    **{name: getattr(math, name) for name in (
        "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "atanh", "exp", "log", "log10",
        "log2", "sqrt", "cbrt", "floor", "ceil", "erf", "erfc", "lgamma",
    )}, "acosh": lambda u: math.acosh(1 + u), "sec": lambda u: 1 / math.cos(u), "csc": lambda u: 1 / math.sin(u),
    "cot": lambda u: 1 / math.tan(u), "sech": lambda u: 1 / math.cosh(u), "csch": lambda u: 1 / math.sinh(u),
    "coth": lambda u: 1 / math.tanh(u), "abs": math.fabs, "sign": lambda u: math.copysign(1, u), "round": round,
    "heaviside": lambda u: float(u >= 0),
}  # fmt: skip
TWO = {"atan2": math.atan2, "mod": lambda u, v: u % v, "hypot": math.hypot, "min": min, "max": max, "power": math.pow}


def test_every_function_has_the_value_of_the_standard_library():
    """At 0.7, and at 1.7 where the argument must be above 1; all aliases mean the same."""
    assert ONE.keys() | TWO.keys() | {"if"} == ARGUMENTS.keys()
    texts, expected = [], []
    for name in [*ARGUMENTS, *ALIASES]:
        own = ALIASES.get(name, name)
        if own in ONE:
            texts.append(f"{name}({'1 + ' if own == 'acosh' else ''}x)")
            expected.append(ONE[own](0.7))
        elif own in TWO:
            texts.append(f"{name}(x, y)")
            expected.append(TWO[own](0.7, 0.4))
    text = "; ".join(["x' = 0", "y' = 0", *(f"z{k}' = {text}" for k, text in enumerate(texts))])
    with without_compiling():
        found = field(text, [0.7, 0.4, *[0.0] * len(texts)])[2:]
    np.testing.assert_allclose(found, expected, rtol=1e-13, err_msg=str(texts))


def test_whole_powers_have_all_derivatives_at_zero():
    flow = ds.system("x' = x^2 + x^3")
    slope = lambda f: lambda x: jax.jvp(f, (x,), (1.0,))[1]
    function = lambda x: flow.velocity(0.0, jnp.stack([x]))[0]
    for order, value in enumerate((0.0, 0.0, 2.0, 6.0)):
        assert float(function(0.0)) == value, order
        function = slope(function)


def test_ranges_have_a_largest_number_of_entries():
    largest = LARGEST_RANGE
    span = lambda low, high: read_span(source(text := f"i={low}..{high}"), tokens(source(text)), 0, len(text))[0]
    assert span(1, largest) == ("i", 1, largest)
    assert span(-3, -3) == ("i", -3, -3)
    with pytest.raises(ArgumentError, match="have ranges of at most 100,000 entries"):
        span(0, largest)


def test_the_oldest_texts_are_forgotten_first(monkeypatch):
    monkeypatch.setattr(model, "ROOM", 2)
    monkeypatch.setattr(model, "_known", OrderedDict())
    for text in ("x' = 1", "x' = 2", "x' = 3"):
        model.model(text, ())
    assert [text for text, _ in model._known] == ["x' = 2", "x' = 3"]


@pytest.mark.parametrize(
    "text",
    [
        "x' = y; y' = -x", "x' = y, y' = -x", "dx/dt = y\n\ndy/dt = -x  # spring", "x' = (y # a\n); y' = # b\n -x",
        "x' = y\ny' = -1 *\n  x",
        "x'' = -x", "d^2x/dt^2 = -x", "x'(t) = y(t); dy(t)/dt = -x(t)", "\u1e8b = y; y\u2032 = \u2212x",
        "d\u00b2x/dt\u00b2 = \u2013x",
        "\U0001d465\u2019 = y\ny\u2019 = \u2010\U0001d465", "x'=(\ny\n);;y'=-(x)",
        "\ufeffx'\u00a0=\u2009y; y' = 0\u22c5y\u00d7y \u2212 x",
    ],
)  # fmt: skip
def test_all_ways_to_print_an_oscillator_are_one(text):
    assert field(text, [2.0, 3.0]).tolist() == [3.0, -2.0]


def test_equations_are_written_in_one_way():
    first = lambda text: str(ds.system(text)).split("\n")[0]
    assert first("x'=  -a *x-b+(+x-1)^-2 ; a=1;b=2") == "x' = -a*x - b + (+x - 1)^-2"
    assert first("x[n+1]=x*(1 -x)") == "x[n+1] = x*(1 - x)"
    sums = "sum( j=1..3,x[j]*if(x[i]>0 and not x[j]<=-1,1,2))-x[ i-1 ]"
    written = "sum(j=1..3, x[j]*if(x[i] > 0 and not x[j] <= -1, 1, 2)) - x[i-1]"
    assert first(f"x[i=1..3]'={sums}; x[0]=0") == f"x[i=1..3]' = {written}"


def test_greek_letters_and_subscripts_are_spelled_out():
    flow = ds.system(
        "\u03b8\u2081\u0307 = \u03c9 \u2212 \u00b5\u00b7sin(\u03b8\u2081)\u00b2", {"\u03c9": 2.0, "mu": 1.0}
    )
    assert flow.names == ("theta1",)
    assert float(flow.velocity(0.0, jnp.array([np.pi / 2]))[0]) == pytest.approx(1.0)
    assert field("x\u2081' = x\u2081\u207b\u00b9 + \u221a(4)", [2.0]).tolist() == [2.5]
    assert field("x' = \u00bd*x", [3.0]).tolist() == [1.5]
    assert ds.system("x' = \u03a9 - \u03c9*x", {"Omega": 2.0, "omega": 3.0}).vector_field(
        0.0, jnp.ones(1)
    ).tolist() == [-1.0]


def test_own_names_come_before_constants_and_time():
    text = "lambda' = beta*E; E' = I; I' = t; t' = pi; S' = N; N' = Q; Q' = O; O' = S; beta = 2; pi = 3"
    assert field(text, np.arange(1.0, 9.0)).tolist() == [4.0, 3.0, 4.0, 3.0, 6.0, 7.0, 8.0, 5.0]


def test_definitions_may_stand_in_any_order_and_use_each_other():
    text = "x' = a + f(x, 2); a = b*x; b = 3*k; f(u, v) = u/(k + g(v)); g(u) = u*b; k = 0.5"
    assert field(text, [2.0])[0] == pytest.approx(3.0 + 2 / (0.5 + 3.0))
    flow = ds.system(text)
    assert float(flow.quantity("a", 0.0, [2.0])) == pytest.approx(3.0)
    assert list(flow.parameters) == ["k"]
    assert ds.system("x' = a; a = x > 1").quantity("a", 0.0, [2.0]).dtype == float
    with pytest.raises(ArgumentError, match="name a quantity that the text defines, a, b, but is `c`"):
        flow.quantity("c", 0.0, [2.0])


def test_a_family_has_neighbours_and_sums():
    text = """
    N = 4
    x[i=1..N]' = D*(flux[i-1] - flux[i]) + w[i]*x[i] + K*sum(j=1..N, sin(x[j] - x[i])) + i
    flux[i=0..N] = x[i] - x[i+1]
    x[0] = x[N]; x[5] = x[1]
    x[i=1..N](0) = i^2
    """
    w = np.array([0.1, 0.2, 0.3, 0.4])
    flow = ds.system(text, D=0.5, K=2.0, w=w)
    x = np.array([0.3, -0.2, 1.0, 0.5])
    expected = 0.5 * (np.roll(x, 1) - 2 * x + np.roll(x, -1)) + w * x + np.arange(1, 5)
    expected += 2 * np.sum(np.sin(x[None] - x[:, None]), axis=1)
    assert np.asarray(flow.velocity(0.0, jnp.asarray(x))) == pytest.approx(expected, rel=1e-14)
    assert flow.names == ("x_1", "x_2", "x_3", "x_4")
    assert flow.start == (1.0, 4.0, 9.0, 16.0)
    masses = "x[i=2..4]'' = x[i-1] - x[i] + f[i]; y' = -y; x[1] = 0; f[i=2..4] = 10*i"
    assert field(masses, [1.0, 2.0, 4.0, 5.0, 6.0, 7.0, 8.0]).tolist() == [5.0, 6.0, 7.0, 19.0, 29.0, 38.0, -8.0]


def test_indices_are_counted_from_the_end_of_a_family():
    """Lorenz (1996) on a ring whose neighbours are written with its size; `N` names no step of a map."""
    ring = "x[i=1..N]' = (x[i+1] - x[i-2])*x[i-1] - x[i] + F; x[0] = x[N]; x[-1] = x[N-1]; x[N+1] = x[1]; x[N-4](0) = 9"
    flow, x = ds.system(ring, N=5, F=8.0), np.array([1.0, -2.0, 0.5, 3.0, 2.5])
    expected = (np.roll(x, -1) - np.roll(x, 2)) * np.roll(x, 1) - x + 8.0
    assert flow.vector_field(0.0, x) == pytest.approx(expected, rel=1e-14)
    assert flow.start == (9.0, 0.0, 0.0, 0.0, 0.0)


def test_the_number_of_entries_can_be_given():
    flow = ds.system("N = 2; x[i=1..N]' = x[i+1]; x[4] = 7", N=3)
    assert np.asarray(flow.velocity(0.0, jnp.arange(3.0))).tolist() == [1.0, 2.0, 7.0]
    with pytest.raises(ArgumentError, match="`N` must be a whole number"):
        ds.system("x[i=1..N]' = 1", N=2.5)


def test_both_ends_of_a_range_may_be_names():
    assert field("a = 2; b = 4; x' = sum(i=a..b, i)*x", [1.0]).tolist() == [9.0]


def test_ends_of_a_family_may_have_equations_of_their_own():
    text = "x[1]' = -x[1]; x[i=2..4]' = x[i-1] - x[i]; y' = x[4]"
    assert field(text, [1.0, 2.0, 4.0, 8.0, 0.0]).tolist() == [-1.0, -1.0, -2.0, -4.0, 8.0]


def test_maps_read_all_notations():
    for text in (
        "x[n+1] = 1 - a*x[n]^2 + y[n]; y[n+1] = b*x[n]; x[0] = 0.5",
        "x(k+1) = 1 - a*x(k)^2 + y, y(k+1) = b*x, x(0) = 0.5",
    ):
        henon = ds.system(text, a=1.4, b=0.3)
        assert np.asarray(henon.step(0, jnp.array([0.5, 0.1]))) == pytest.approx([0.75, 0.15])
        assert henon.start == (0.5, 0.0)
    assert np.asarray(ds.system("x[n+1] = x + n").step(3, jnp.array([1.0]))).tolist() == [4.0]
    forced = ds.system("x(n+1) = x(n) + max(n, f(n-1))*f(n+1); f(u) = u^2")
    assert np.asarray(forced.step(3, jnp.array([1.0]))).tolist() == [65.0]


def test_noise_is_separated_from_the_drift():
    flow = ds.system("x' = -a*x + s*dW1 - x*dW2/2; y' = -(y - 2*dW1)*3", a=2.0, s=0.5)
    state = jnp.array([4.0, 1.0])
    assert np.asarray(flow.drift(0.0, state)).tolist() == [-8.0, -3.0]
    assert np.asarray(flow.kick(0.0, state, jnp.array([1.0, 0.0]))).tolist() == [0.5, 6.0]
    assert np.asarray(flow.kick(0.0, state, jnp.array([0.0, 1.0]))).tolist() == [-2.0, 0.0]
    assert flow.calculus == "ito"
    from dynsim.systems.named import changed

    assert np.asarray(changed(flow, {"s": 3.0}).kick(0.0, state, jnp.array([1.0, 0.0]))).tolist() == [3.0, 6.0]
    state = jnp.array([2.0, 3.0, 5.0])
    for equations, expected in (
        ("x' = x*dW1; z[i=1..2]' = -z[i]", [2.0, 0.0, 0.0]),
        ("x' = dW2; z[i=1..2]' = z[i]*dW1", [[1.0, 0.0], [0.0, 3.0], [0.0, 5.0]]),
        ("x' = x*dW1; z[i=1..2]' = z[i]*dW1", [[2.0], [3.0], [5.0]]),
        ("x' = x*dW1; y' = dW1; z' = z*dW1", [[2.0], [1.0], [5.0]]),
        (
            "x' = dW1; z[i=1..2]' = z[i]*dW[i] + x*dW1",
            [[1.0, 0.0, 0.0, 0.0], [2.0, 0.0, 3.0, 0.0], [2.0, 0.0, 0.0, 5.0]],
        ),
    ):
        assert np.asarray(ds.system(equations).amplitude(0.0, state)).tolist() == expected
    own = ds.system("x' = -x + s*dW1; y' = x*dW2; z[i=1..2]' = z[i]*dW[i]", {"s": 0.5}, calculus="stratonovich")
    assert np.asarray(own.kick(0.0, jnp.array([2.0, 3.0, 4.0, 5.0]), jnp.ones(4))).tolist() == [0.5, 2.0, 4.0, 5.0]


def test_units_ranges_and_time_are_read_from_comments():
    flow = ds.system("V' = I - V  # [mV] -80..60\nw' = V\n# w: [] 0 .. 1.5\nI = 2 # 0..200\n# t [ms]")
    assert flow.units == ("mV", "")
    assert flow.time_unit == "ms"
    assert flow.ranges == (("V", -80.0, 60.0), ("w", 0.0, 1.5), ("I", 0.0, 200.0))
    turned = ds.system("x' = a  # 3..-3\na = 1  # 2..2\n# t: 5..1")  # only the time may run backwards
    assert turned.ranges == (("x", -3.0, 3.0), ("t", 5.0, 1.0))


def test_units_of_parameters_are_read_printed_and_drawn():
    text = "x' = a - k*x  # [m]\na = 1  # [m/s] 0..2\nb' = 0\n# k: [1/s] 0..5"
    flow = ds.system(text, k=2.0)
    assert flow.parameter_units == (("a", "m/s"), ("k", "1/s"))
    assert flow.ranges == (("a", 0.0, 2.0), ("k", 0.0, 5.0))
    again = ds.system(str(flow))
    assert (again.parameter_units, again.ranges, str(again)) == (flow.parameter_units, flow.ranges, str(flow))
    a = ds.Parameter(flow, "a", 0.0, 1.0)
    assert (a.label, a.units) == ("a (m/s)", flow.parameter_units)
    assert ds.Parameter(flow, "k", 0.0, 1.0, unit="Hz").units == (("a", "m/s"), ("k", "Hz"))
    assert ds.system("v'' = a  # [m]\na = 1").units == ("m", "")
    assert float(ds.system("x' = k; k = 2", k=3.0).parameters["k"]) == 3.0
    noisy = ds.system("x' = -k*x + s*dW1; k = 1; s = 2  # [m]")
    assert noisy.parameter_units == (("s", "m"),)


def test_a_printed_system_is_read_again():
    text = """
    x' = y[1]*if(x > 0, 1, a) + t  # [m] -1..1
    y[i=1..2]' = f(x) - x^2/3
    f(u) = -(u - 1)*2
    x(0) = 1; y[1](0) = 2
    # t [s]
    """
    flow = ds.system(text, a=1.5)
    again = ds.system(str(flow))
    assert str(again) == str(flow)
    assert again.rhs == flow.rhs
    assert (again.start, again.units, again.ranges) == (flow.start, flow.units, flow.ranges)
    third = ds.system(str(ds.system("x' = k*x; x(0) = k", k=1 / 3)))
    assert [float(third.parameters["k"]), *third.start] == pytest.approx([1 / 3] * 2, rel=1e-11)


def test_equal_texts_share_a_program():
    one = ds.system("x' = -k*x ** 2  # decay", k=1.0)
    other = ds.system("x'=-k*x^2;k=2")
    assert jax.tree.structure(one) == jax.tree.structure(other)
    assert jax.tree.structure(one) != jax.tree.structure(ds.system("x' = -k*x^3", k=1.0))


def test_parameters_can_be_differentiated():
    flow = ds.system("x' = mu*x - x^3", mu=2.0)
    slope = jax.grad(lambda flow: flow.vector_field(0.0, jnp.array([3.0]))[0], allow_int=True)(flow)
    assert float(slope.parameters["mu"]) == 3.0
    assert ds.Parameter(flow, "mu", 0.0, 3.0).at(1.0).parameters["mu"] == 1.0


def test_runs_of_equations_are_stored_and_repeated(tmp_path):
    flow = ds.system("x' = -k*x; k = 2; x(0) = 1")
    run = ds.simulate(flow, flow.start, [0.0, 0.5], integrator=ds.Scipy())
    assert float(run.final[0]) == pytest.approx(np.exp(-1.0), abs=1e-11)
    ds.save(tmp_path / "run.npz", run)
    assert np.array_equal(ds.rerun(tmp_path / "run.npz").ys, run.ys)
    assert str(ds.load(tmp_path / "run.npz").system) == str(flow)


def test_families_of_maps_have_neighbours():
    lattice = ds.system(
        "x[i=1..4](n+1) = (1 - e)*f(x[i](n)) + e/2*(f(x[i-1](n)) + f(x[i+1](n))); x[0] = x[4]; x[5] = x[1];"
        "f(u) = 1 - a*u^2",
        a=1.7, e=0.3,
    )  # fmt: skip
    x = np.array([0.1, -0.4, 0.7, 0.25])
    f = 1 - 1.7 * x**2
    expected = 0.7 * f + 0.15 * (np.roll(f, 1) + np.roll(f, -1))
    assert np.asarray(lattice.step(0, jnp.array(x))) == pytest.approx(expected)


def test_an_error_shows_its_line_with_a_caret():
    with pytest.raises(ValueError, match="at line 2, column 6") as caught:
        ds.system("x' = y\ny' = μ*y  # no value")
    assert caught.value.__notes__ == ["  y' = μ*y  # no value\n       ^"]
    with pytest.raises(ValueError, match="have an operator between factors") as caught:
        ds.system("x' = " + " + ".join(["x"] * 100) + " + 2x")
    line, caret = caught.value.__notes__[0].split("\n")
    assert line[caret.index("^")] == "x"
    assert len(line) < 80


def test_zeros_of_both_signs_overflows_and_the_largest_text_are_kept_apart(monkeypatch):
    made = Graph()
    assert made.number(0.0) != made.number(-0.0)
    large = made.number(1e300)
    assert made.nodes[made.add("mul", operands=[large, large])].kind == "mul"
    monkeypatch.setattr(graph, "MOST", 2)
    small = Graph()
    assert (small.number(1.0), small.number(2.0), small.number(1.0)) == (0, 1, 0)
    with pytest.raises(ArgumentError, match="at most 2 operations"):
        small.number(3.0)


@pytest.mark.parametrize("left", ["d^5x/dt^5", "d^n x/dt^n", "d^2 3/dt^2", "d^2x/dt^3", "d^2x/dt"])
def test_other_derivatives_in_the_notation_of_leibniz_are_refused(left):
    with pytest.raises(ArgumentError, match="have one name or one derivative on the left, .* but has something else"):
        ds.system(f"{left} = 1")


def test_fourth_derivatives_and_neighbours_before_the_first_are_read_and_derivatives_of_functions_are_not():
    assert ds.system("d^4x/dt^4 = -x").names == ("x", "x'", "x''", "x'''")
    chain = ds.system("u[i=0..2]' = u[i-1] - u[i]\nu[-1] = 2")
    assert chain.vector_field(0.0, jnp.array([0.5, 0.0, 0.0])).tolist() == [1.5, 0.5, 0.0]
    with pytest.raises(ArgumentError, match="have one name or one derivative on the left"):
        ds.system("x' = f(x)\nf'(a) = a")
