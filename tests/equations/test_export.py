"""Exported equations: read back, executed, or compared with a formula."""

import jax.numpy as jnp
import numpy as np
import pytest

import dynsim as ds
from dynsim.equations.functions import ARGUMENTS
from dynsim.equations.ode import from_ode
from dynsim.errors import ArgumentError
from dynsim.programs import without_compiling

TEXT = """
x' = y*if(x > 0 and not y < 2, 1, -a) + f(x, lambda)/(1 + abs(y))^2 - (x - (y - 1)) - -x^2^0.5 - (a - -3)
y' = -a*sin(pi*x) + sech(x) + max(x, y, 0) + b + mod(x, 3)*heaviside(t - 1) + ln(2)/cos(x)/2 - (2*x)^-2 - 2/(x*y)
v'' = -v + v'*x + (-x)^2 - 2^-x
b = a*x - 2e-3
f(u, k) = u^k/(1 + u^k)
a = 1.5
x(0) = 0.5; y(0) = 0.25; v(0) = 1
"""


@pytest.fixture(scope="module")
def flow():
    return ds.system(TEXT, {"lambda": 2.0})


@pytest.mark.parametrize(("t", "y"), [(0.5, 0.3), (2.0, 3.0)])
def test_exported_python_and_ode_files_have_the_same_field(flow, t, y):
    names = {}
    exec(ds.export(flow, "python").split("solution =")[0], names)
    state = np.array([0.7, y, 0.2, 0.9])
    expected = np.asarray(flow.velocity(t, jnp.asarray(state)))
    assert names["field"](t, state) == pytest.approx(expected, rel=1e-14)
    again = ds.system(from_ode(ds.export(flow, "xpp")))
    assert again.start == flow.start
    assert np.asarray(again.velocity(t, jnp.asarray(state))) == pytest.approx(expected, rel=1e-14)


def test_every_function_is_exported_with_its_value():
    """At 0.7, where the round of 3 x + 0.4 differs from its floor and its ceiling from both; some of two arguments."""
    names = [name for name, (least, _) in ARGUMENTS.items() if least == 1]
    given = {"acosh": "1 + x", "round": "3*x + 0.45", "cbrt": "-x", "abs": "-x"}
    texts = [f"{name}({given.get(name, 'x')})" for name in names]
    texts += ["atan2(x, y)", "mod(-x, y)", "hypot(x, y)", "max(x, y, 0)", "min(x, y, 9)", "if(x > y, x^2, y)", "x^-2^y"]
    texts += ["(x^2)^3", "(x + y)/(x*y)", "x/(y/2)", "-(x - 2)", "not x > y", "2*sec(x)/csc(x)", "x & y > 2 | x < 1"]
    texts += [
        "(not x > 2)*y",
        "-(x > y)",
        "(x > 0) + (sin(y) > 0)",
        "(x and 3)*2",
        "(x < y) < 2",
        "f(y)*2 + (f(x) > 0)",
    ]
    flow = ds.system("; ".join(["x' = 1", "y' = x/1e17 + 123456789012345680000*y", *(f"z{k}' = {t}" for k,
        t in enumerate(texts)), "f(u) = u > 0.5"]))  # fmt: skip
    state = np.array([0.7, 0.4, *[0.0] * len(texts)])
    with without_compiling():
        expected = np.asarray(flow.velocity(0.0, state))
    exec(ds.export(flow, "python").split("solution =")[0], found := {})
    np.testing.assert_allclose(found["field"](0.0, state), expected, rtol=1e-14, err_msg=str(texts))
    with without_compiling():
        again = np.asarray(ds.system(from_ode(ds.export(flow, "xpp"))).velocity(0.0, state))
    np.testing.assert_allclose(again, expected, rtol=1e-13, err_msg=str(texts))


@pytest.mark.parametrize(
    "text",
    [
        "x' = t*x + pi; t = 2; pi = 3; x(0) = 0.5", "t' = -t^2*x; x' = t; x(0) = 2; t(0) = 0.5",
        "x'' = f(x, t); f(u, v) = -u*x' + v; x(0) = 2; x'(0) = 3",
    ],
)  # fmt: skip
def test_own_names_come_before_the_time_and_pi_in_exports_too(text):
    flow = ds.system(text)
    state = np.array([1.25, 0.75][: len(flow.names)])
    expected = np.asarray(flow.velocity(0.3, jnp.asarray(state)))
    script = ds.export(flow, "python")
    exec(script.split("solution =")[0], found := {})
    np.testing.assert_allclose(found["field"](0.3, state), expected, rtol=1e-14)
    assert f"(0.0, 20.0), {list(flow.start)}, " in script
    again = ds.system(from_ode(ds.export(flow, "xpp")))
    assert again.start == flow.start
    np.testing.assert_allclose(again.velocity(0.3, jnp.asarray(state)), expected, rtol=1e-14)


def test_julia_has_the_packages_of_its_functions():
    logic = ds.export(ds.system("x' = if(x, 1, 2)*(not x > 1) + (x or x > 2)"), "julia")
    assert "return [(x != 0 ? 1 : 2)*(!(x > 1)) + (x != 0 || x > 2)]" in logic
    script = ds.export(ds.system("x' = if(x > 0, sqrt(x), gammaln(2 - x)) - k*t; k = 2"), "julia")
    assert script.startswith("using OrdinaryDiffEq, SpecialFunctions\n")
    assert "    k, = parameters\n    return [(x > 0 ? sqrt(x) : loggamma(2 - x)) - k*t]\n" in script
    assert ds.export(ds.system("x[n+1] = x*n"), "julia").startswith("function field(state, parameters, t)\n")


def test_an_exported_script_runs_from_one_where_no_start_is_given(capsys):
    exec(ds.export(ds.system("x' = -0.1*x"), "python"), found := {})
    capsys.readouterr()
    assert found["solution"].y[0, [0, -1]] == pytest.approx([1.0, np.exp(-2.0)], rel=1e-6)


def test_latex_and_julia_read_as_printed():
    flow = ds.system("x' = a*(x - 1)^2/(1 + x) - k_1*sqrt(x)", a=1.0, k_1=2.0)
    assert ds.export(flow, "latex") == (
        "\\begin{aligned}\n  \\frac{\\mathrm{d} x}{\\mathrm{d}t} &= "
        "\\frac{a \\, \\left(x - 1\\right)^{2}}{1 + x} - k_{1} \\, \\sqrt{x}\n\\end{aligned}"
    )
    julia = ds.export(flow, "julia")
    assert "    a, k_1 = parameters\n    return [a*(x - 1)^2/(1 + x) - k_1*sqrt(x)]\nend" in julia
    assert "-1.5 \\cdot 10^{-7} \\, x" in ds.export(ds.system("x' = -1.5e-7*x"), "latex")
    ring = ds.system("x[i=1..3]' = x[i-1] - sum(j=1..3, x[j]); x[0] = x[3]")
    assert "x_{i - 1} - \\sum_{j=1}^{3} x_{j} && i = 1, \\dots, 3" in ds.export(ring, "latex")
    with pytest.raises(ArgumentError, match="`to` must be latex for equations with families"):
        ds.export(ring, "xpp")


def test_names_in_latex_are_greek_letters_and_have_indices():
    text = ds.export(ds.system("lambda_s' = k_on*tau - beta2*lambda_s - mass; k_on=1; tau=2; beta2=3; mass=4"), "latex")
    for name in (r"\lambda_{s}", "k_{on}", r"\tau", r"\beta_{2}", r"\mathrm{mass}"):
        assert name in text


def test_latex_keeps_the_primes_of_names():
    text = ds.export(ds.system("x'' = -x' + z2'; z2'' = mass'; mass'' = -z2"), "latex")
    for shown in ("&= -x' + z'_{2}", "&= \\mathrm{mass}'", "&= -z_{2}"):
        assert shown in text


def test_maps_are_exported_with_their_step():
    text = ds.export(ds.system("x[n+1] = r*x*(1 - x) + n; r = 3.5; x(0) = 0.2"), "xpp")
    assert text == "x(t+1)=r*x*(1-x)+t\npar r=3.5\ninit x=0.2\ndone"


def test_ode_files_have_parentheses_where_xppaut_groups_otherwise():
    text = (
        "x' = if(x + a > 2*set and not x < -a or y, 1, 0); y' = f(3)*sum(j=1..2, j*x); a = 1; set = 2; f(of) = of + x"
    )
    assert ds.export(ds.system(text), "xpp") == (
        "f(of_)=of_+x\nx'=if((((x+a)>(2*set_))&(not (x<(-a))))|y)then(1)else(0)\ny'=f(3)*(1*x+2*x)\n"
        "par a=1\npar set_=2\ndone"
    )
    with pytest.raises(ArgumentError, match="names of more than 10 characters, such as `temperature`"):
        ds.export(ds.system("temperature' = 1"), "xpp")
    with pytest.raises(ArgumentError, match="be latex for equations with families"):
        ds.export(ds.system("x' = sum(j=1..2, w[j]*x)", w=[1.0, 2.0]), "python")
    with pytest.raises(ArgumentError, match="be latex for sums of so many terms"):
        ds.export(ds.system("x' = sum(j=1..9999, j*x)"), "python")


def test_sums_are_written_out():
    flow = ds.system("x' = sum(j=0..2, sum(k=-1..1, if(x > j, k + 2, x^j)))")
    exec(ds.export(flow, "python").split("solution =")[0], found := {})
    expected = 3 * 1.5**2 + 6 + 6
    assert found["field"](0.0, [1.5]) == pytest.approx(expected)
    assert np.asarray(ds.system(from_ode(ds.export(flow, "xpp"))).rhs(0.0, np.array([1.5]))) == pytest.approx(expected)


def test_what_is_not_equations_is_refused():
    with pytest.raises(ArgumentError, match="be equations without noise, but is a Lorenz"):
        ds.export(ds.catalogue.Lorenz(), "latex")
    with pytest.raises(ArgumentError, match="names that differ in capitals only"):
        ds.export(ds.system("x' = X; X = 1"), "xpp")
