"""Nullclines, conserved quantities, Routh-Hurwitz conditions, and curves and coefficients of bifurcations."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp

import dynsim as ds
from analysis import dynamics as ad
from analysis.dynamics.linearisation import tangent_jacobian
from analysis.dynamics.normal_forms.flows import lyapunov_coefficient
from analysis.dynamics.symbolic import invariants
from analysis.dynamics.symbolic.curves import CriticalFormulas, CurvePart
from analysis.dynamics.symbolic.fields import _functions
from analysis.dynamics.symbolic.stability import _conditions

pytestmark = pytest.mark.untraced  # the function that is replaced is none of JAX

MORRIS_LECAR = (
    "V' = (I - gL*(V - VL) - gK*w*(V - VK) - gCa*m*(V - VCa))/C; w' = phi*(k - w)*cosh((V - 2)/60);"
    "m = 0.5*(1 + tanh((V + 1.2)/18)); k = 0.5*(1 + tanh((V - 2)/30));"
    "I = 90; gL = 2; VL = -60; gK = 8; VK = -84; gCa = 4.4; VCa = 120; C = 20; phi = 0.04"
)


def equations(text, **values) -> Any:
    return ds.system(text, **values)


def symbol(name):
    return sp.Symbol(name, real=True)


def test_nullclines_are_zeros_of_the_field():
    flow = equations(MORRIS_LECAR)
    field = ad.symbolic_field(flow)
    first, second = ad.nullcline_formulas(flow).parts
    assert (first.of, second.of, str(first.variable)) == ("V", "w", "w")
    for part, k in ((first, 0), (second, 1)):
        w = float(part.formula.subs(field.values).subs(field.states[0], -13.7))
        assert float(flow.vector_field(0.0, np.array([-13.7, w]))[k]) == pytest.approx(0.0, abs=1e-12)
    texts = str(ad.nullcline_formulas(equations("x' = x*(x^2 + a*y^2 - 1); y' = x^3 - y^3 + x*y", a=0.5))).split("\n")
    assert texts == [
        "x' = 0: x = 0", "x' = 0: y = -sqrt(a*(1 - x)*(x + 1))/a", "x' = 0: y = sqrt(a*(1 - x)*(x + 1))/a",
        "y' = 0: 0 = x^3 + x*y - y^3",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="`flow` must be a flow in the plane, but has 3 components"):
        ad.nullcline_formulas(ds.catalogue.Lorenz())


def test_a_rational_map_keeps_a_polynomial():
    found = ad.conserved_polynomials(equations("x[n+1] = x*y/(x + y); y[n+1] = x + y"), 2)
    assert str(found) == "conserved polynomials up to degree 2: 1\n  x*y"


def test_conserved_polynomials_are_constant_and_independent():
    top = equations("a' = (J - K)/I*b*c; b' = (K - I)/J*c*a; c' = (I - J)/K*a*b; I = 1.3; J = 2.1; K = 3.7")
    found = ad.conserved_polynomials(top, 3)
    assert len(found.found) == 2
    field = ad.symbolic_field(top)
    at = dict(zip(field.states, (0.3, -0.7, 1.9), strict=True))
    rate = np.asarray(top.vector_field(0.0, np.array([0.3, -0.7, 1.9])))
    gradients = [[float(sp.diff(h, x).subs(field.values).subs(at)) for x in field.states] for h in found.found]
    np.testing.assert_allclose(gradients @ rate, 0.0, atol=1e-14)
    assert np.linalg.matrix_rank(gradients) == 2
    assert str(ad.conserved_polynomials(ds.catalogue.HenonHeiles(), 3)).count("\n") == 1
    assert ad.conserved_polynomials(ds.catalogue.Lorenz()).found == ()
    swap = ad.conserved_polynomials(equations("x[n+1] = y; y[n+1] = x"), 2)
    assert str(swap) == "conserved polynomials up to degree 2: 2\n  x + y\n  x*y"
    rest = ad.conserved_polynomials(
        equations("S' = -b*S*I/(S + I + R); I' = b*S*I/(S + I + R) - g*I; R' = g*I", b=2, g=1)
    )
    assert rest.found == (symbol("I") + symbol("R") + symbol("S"),)
    with pytest.raises(ValueError, match="`degree` must be such that 3 components .* is 12, which gives 454"):
        ad.conserved_polynomials(top, 12)


def test_as_many_monomials_as_are_said_are_allowed(monkeypatch):
    monkeypatch.setattr(invariants, "_conserved", lambda *_: [])
    decay = equations("x' = -x")
    assert ad.conserved_polynomials(decay, 300).found == ()
    with pytest.raises(ValueError, match="1 components have at most 300 monomials, but is 301, which gives 301"):
        ad.conserved_polynomials(decay, 301)


def test_conditions_are_the_coefficients_and_every_second_determinant():
    a, b, c, d = map(symbol, "abcd")
    assert _conditions([1, a, b, c]) == [a, b, c, a * b - c]
    assert [sp.expand(e) for e in _conditions([1, a, b, c, d])] == [a, b, c, d, a * b * c - c**2 - a**2 * d]
    flip = ad.routh_hurwitz_conditions(equations("x[n+1] = -x; y[n+1] = y/2"))  # with a multiplier on the circle
    assert 0 in flip.conditions


def test_routh_hurwitz_conditions_decide_as_eigenvalues_do():
    rng = np.random.default_rng(3)
    text = "a' = -a + p*d; b' = a - q*b; c' = b - r*c; d' = c - s*d; p = 1; q = 1; r = 1; s = 1"
    found = ad.routh_hurwitz_conditions(equations(text))
    parameters = [symbol(name) for name in "pqrs"]
    conditions = sp.lambdify(parameters, list(found.conditions))
    verdicts = []
    for p, q, r, s in rng.uniform(-1, 2.5, (60, 4)):
        A = np.array([[-1, 0, 0, p], [1, -q, 0, 0], [0, 1, -r, 0], [0, 0, 1, -s]])
        stable = bool(np.max(np.linalg.eigvals(A).real) < 0)
        assert stable == all(value > 0 for value in conditions(p, q, r, s))
        verdicts.append(stable)
    assert 5 < sum(verdicts) < 55


def test_conditions_of_a_map_are_those_of_the_unit_circle():
    flow = equations("x[n+1] = r*x*(1 - x)", r=3.0)
    found = ad.routh_hurwitz_conditions(flow, ad.equilibrium_formulas(flow).found[1].state)
    said = "all eigenvalues are inside the unit circle if and only if"
    assert str(found) == f"at (1 - 1/r): lambda + r - 2 = 0\n{said}\n  3 - r > 0\n  r - 1 > 0"
    assert r"r - 1 &> 0" in found.latex
    with pytest.raises(ValueError, match="`at` must hold one expression for each of 1 components, but holds 2"):
        ad.routh_hurwitz_conditions(flow, [0, 1])


def check_hopf(flow, formulas, along, part=0):
    """Compare the critical eigenvalues and the frequency at a point of a Hopf curve with those of the Jacobian."""
    one = formulas.parts[part]
    values = {k: v for k, v in formulas.values.items() if k not in formulas.parameters}
    at = lambda e: float(sp.sympify(e).subs(values).subs(one.along, along))
    chosen = dict(zip(map(str, formulas.parameters), formulas.points([along], part)[0].tolist(), strict=True))
    state = [at(one.given.get(x, x)) for x in map(symbol, flow.names)]
    moved = equations(MORRIS_LECAR, **chosen) if flow.names == ("V", "w") else type(flow)(**chosen)
    np.testing.assert_allclose(moved.vector_field(0.0, jnp.array(state)), 0.0, atol=1e-11)
    eigenvalues = np.linalg.eigvals(np.asarray(tangent_jacobian(moved, jnp.array(state))))
    pair = eigenvalues[np.argsort(np.abs(eigenvalues.real))][:2]
    np.testing.assert_allclose(pair.real, 0.0, atol=1e-11)
    assert np.max(pair.imag) ** 2 == pytest.approx(at(one.positive), rel=1e-9)
    return moved, state, float(np.max(pair.imag))


@pytest.mark.slow
def test_hopf_curves_have_imaginary_eigenvalues():
    lorenz = ds.catalogue.Lorenz()
    found = ad.hopf_formulas(lorenz, ["sigma", "rho"])
    assert found.parts[-1].given[symbol("rho")].subs(
        {symbol("sigma"): 10, symbol("beta"): sp.Rational(8, 3)}
    ) == sp.Rational(470, 19)
    check_hopf(lorenz, found, 11.3, len(found.parts) - 1)
    flow = equations(MORRIS_LECAR)
    curve = ad.hopf_formulas(flow, ["I", "phi"])
    check_hopf(flow, curve, -7.9)
    assert np.isnan(curve.points([40.0])).all()  # the square of the frequency is negative there
    nagumo = ad.hopf_formulas(ds.catalogue.FitzHughNagumo(), ["current", "b"])
    assert str(nagumo.parts[0].given[symbol("b")]) in ("-tau*v**2 + tau", "tau*(1 - v**2)")
    assert "current &= " in nagumo.latex


def test_points_of_a_curve_are_real_and_have_a_frequency():
    a, b, c = map(symbol, "abc")
    part, whole = CurvePart(a, {b: sp.sqrt(a) * c}, None, a - 1), CurvePart(None, {}, a**2 - b, None)
    found = CriticalFormulas("Hopf", (a, b), (part, part._replace(positive=None), whole), {a: 7.0, c: 2.0})
    nothing, places = [np.nan, np.nan], [-1.0, 0.25, 4.0]
    np.testing.assert_allclose(found.points(places), [nothing, nothing, [4.0, 4.0]])
    np.testing.assert_allclose(found.points(places, 1), [nothing, [0.25, 1.0], [4.0, 4.0]])
    assert str(found).splitlines()[1:] == [
        "  b = sqrt(a)*c, where a - 1 > 0", "  b = sqrt(a)*c", "  a^2 - b = 0",
    ]  # fmt: skip
    assert found.latex.splitlines()[1:-1] == [
        r"  b &= \sqrt{a} c \\", r"  b &= \sqrt{a} c \\", "  0 &= a^{2} - b",
    ]  # fmt: skip


def test_the_frequency_of_four_components_is_that_of_the_critical_pair():
    flow = equations("x' = m*x - w*y; y' = w*x + m*y; u' = x - u; v' = -2*v", m=0.1, w=1.0)
    assert str(ad.hopf_formulas(flow, ["m", "w"])).endswith("m = 0, x = 0, y = 0, u = 0, v = 0, where w^2 > 0")


def test_fold_curves_are_those_of_the_textbooks():
    cusp = ad.fold_formulas(equations("x' = h + r*x - x^3", h=0.1, r=1.0), ["h", "r"])
    assert str(cusp) == "fold curve in h, r\n  h = -2*x^3, r = 3*x^2"
    np.testing.assert_allclose(cusp.points([0.5, -2.0]), [[-0.25, 0.75], [16.0, 12.0]])
    root = ad.fold_formulas(equations("x' = h^2 + r*x - x^3", h=0.1, r=1.0), ["h", "r"])
    for k in range(len(root.parts)):  # r = 3 x^2 is real, h = +-sqrt(-2 x^3) is not for x > 0
        found = root.points([-2.0, 0.5], k)
        np.testing.assert_allclose(np.abs(found), [[4.0, 12.0], [np.nan, np.nan]])
    sheep = equations("u' = r*u*(1 - u/K) - u*v/(1 + u); v' = v*(u/(1 + u) - m); r = 1; K = 3; m = 0.4")
    assert "m = K/(K + 1), u = K, v = 0" in str(ad.fold_formulas(sheep, ["K", "m"]))
    assert "m = (K - 1)/(K + 1), u = (K - 1)/2" in str(ad.hopf_formulas(sheep, ["K", "m"]))


def test_a_curve_without_a_formula_is_implicit():
    flow = equations("x' = p + q*x + p^3*x^2 + q^3*x^3", p=1.0, q=0.5)
    found = ad.fold_formulas(flow, ["p", "q"])
    (part,) = (k for k, one in enumerate(found.parts) if one.along is None)
    p, q, x = map(symbol, "pqx")
    double = sp.discriminant(p + q * x + p**3 * x**2 + q**3 * x**3, x)
    assert sp.simplify(double / found.parts[part].implicit).is_number
    with pytest.raises(ValueError, match="`part` must be one with formulas"):
        found.points([0.0], part)
    with pytest.raises(ValueError, match="`parameters` must name two parameters, but is 'p'"):
        ad.fold_formulas(flow, "p")


def test_the_lyapunov_coefficient_is_the_one_of_the_normal_form():
    cubic = equations(
        "x' = 0.3*x - 1.7*y + 0.4*x^2 - 0.7*x*y + 1.1*y^2 - 0.5*x^3 + 0.2*x^2*y + 0.9*x*y^2 - 0.3*y^3;"
        "y' = 0.9*x - 0.3*y + 0.6*x^2 + 0.35*x*y - 0.8*y^2 - 0.25*x^3 - 0.15*x^2*y + 0.45*x*y^2 - 0.65*y^3"
    )
    exact = float(ad.first_lyapunov_coefficient(cubic, [0, 0]).at({}))
    assert exact == pytest.approx(lyapunov_coefficient(cubic, jnp.zeros(2), np.sqrt(1.44)).value, rel=1e-10)
    brusselator = ds.catalogue.Brusselator()
    found = ad.hopf_formulas(brusselator, ["a", "b"])
    np.testing.assert_array_equal(
        found.points([0.0, 2.0]), [[np.nan, np.nan], [2.0, 5.0]]
    )  # without frequency at a = 0
    curve = found.parts[0]
    formula = ad.first_lyapunov_coefficient(brusselator)
    along = formula.at(dict(curve.given))
    for a in (1.3, -1.3):
        expected = -(a**2 + 2) / (2 * abs(a) * (2 * a**2 + 1))
        assert float(along.subs(symbol("a"), a)) == pytest.approx(expected, rel=1e-12)
    assert "omega^2 = " in str(formula)
    assert formula.latex.startswith(r"\ell_1 = ")
    with pytest.raises(ValueError, match="must have a Jacobian whose eigenvalues can be imaginary, but has a triang"):
        ad.first_lyapunov_coefficient(equations("x' = x - x^3; y' = x*y"), [0, 0])


def test_stability_is_no_condition_where_the_signs_are_known():
    sink, source = (str(ad.routh_hurwitz_conditions(equations(text), [0])) for text in ("x' = -x^3 - x", "x' = -x^3"))
    assert sink.endswith("\nall eigenvalues have negative real parts")
    assert source.endswith("\nnot all eigenvalues have negative real parts")  # which is stable, by its cubic term


def test_hopf_points_are_told_from_neutral_saddles():
    bogdanov_takens = equations("x' = y; y' = b1 + b2*x + x^2 - x*y", b1=-0.1, b2=0.1)
    parts = ad.hopf_formulas(bogdanov_takens, ["b1", "b2"]).parts
    at = lambda e, b2: float(e.subs({symbol("b1"): 0, symbol("b2"): b2}))
    on_curve = {b2: [one for one in parts if abs(at(one.implicit, b2)) < 1e-12] for b2 in (-1, 1)}
    assert [[at(one.positive, b2) for one in on_curve[b2]] for b2 in (-1, 1)] == [[1.0], [-1.0]]
    prey = equations("x' = x*(1 - x/3) - x*y/(1 + x); y' = 0.5*x*y/(1 + x) - 0.2*y")
    with pytest.raises(ValueError, match="can be imaginary, but has one with the trace 4/45 and the determinant 7/75"):
        ad.first_lyapunov_coefficient(prey, [sp.Rational(2, 3), sp.Rational(35, 27)])


def test_nullclines_are_real():
    (only,) = ad.nullcline_formulas(equations("x' = x^2 + x + 1; y' = y - x")).parts
    assert only.of == "y"


def test_each_function_of_an_expression_has_the_values_of_the_field():
    others = {"log2": np.log2(0.3), "one_minus_square": 0.91, "convert_element_type": 0.3, "integer_pow": 0.3**3}
    others |= {"square": 0.09, "add_any": 0.8}
    pairs = {"add", "add_any", "sub", "mul", "div", "pow"}
    names = _functions()
    for name, function in names.items():
        a = 1.3 if name == "acosh" else 0.3
        given = (a, 0.5) if name in pairs else (a, 3) if name == "integer_pow" else (a,)
        expected = others[name] if name in others else float(getattr(jax.lax, name)(*given))
        assert float(function(*given)) == pytest.approx(expected, rel=1e-12), name
    assert float(names["cbrt"](-8)) == -2
