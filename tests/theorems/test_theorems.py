"""Classical theorems: where they apply, near misses of one condition, and cases that rounding gets wrong."""

import json
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import dynsim as ds
from analysis import theorems as th
from tests.theorems.reports import failing, flow

WHEEL = "x' = {a}*x - y - x*(x^2 + y^2); y' = x + {a}*y - y*(x^2 + y^2)"
SWITCH = "x' = y - x; y' = x^2/(1 + x^2) - y"
PAIR = "x' = x*(1 - x - 0.5*y); y' = y*(1 - y - 0.3*x)"
PRODUCT = lambda x: 1 / (x[0] * x[1])
SQUARES = lambda x: jnp.sum(x**2)
BOX = [(-2.0, 2.0), (-2.0, 2.0)]
POSITIVE = [(0.01, 3.0), (0.01, 3.0)]


def lorenz(rho: Any) -> Any:
    return ds.catalogue.Lorenz(rho=rho)


def parameter(text, name, value):
    return ds.Parameter(ds.system(text, **{name: value}), name, -5.0, 50.0)


APPLIES = {
    "bendixson": lambda: th.bendixson_dulac(flow("x' = y; y' = -x - x^3 - 0.5*y"), BOX),
    "dulac": lambda: th.bendixson_dulac(flow(PAIR), POSITIVE, dulac=PRODUCT),
    "bendixson, the middle of the box outside": lambda: th.bendixson_dulac(
        flow("x' = 0.4*x - x^3/3; y' = 0.4*y - y^3/3"),
        th.where([(-2.0, 2.0), (-0.5, 2.0)], lambda x: x @ x - 1), is_simply_connected=True,
    ),
    "dulac, growing": lambda: th.bendixson_dulac(flow("x' = x + y^2; y' = y - x"), BOX),
    "poincare_bendixson": lambda: th.poincare_bendixson(flow(WHEEL.format(a=1)), th.annulus([0, 0], 0.5, 1.5)),
    "poincare_bendixson, backwards": lambda: th.poincare_bendixson(
        flow("x' = -x - y + x*(x^2 + y^2); y' = x - y + y*(x^2 + y^2)"), th.annulus([0, 0], 0.5, 1.5), backwards=True
    ),
    "nagumo": lambda: th.nagumo(flow("x' = x*(1 - x - y); y' = y*(0.5 - y)"), [(0.0, 2.0), (0.0, 2.0)]),
    "nagumo, Lorenz's ellipsoid": lambda: th.nagumo(
        lorenz(28.0), th.ball([0.0, 0.0, 38.0], 40.0), strictly=True
    ),
    "miranda": lambda: th.miranda(flow("x' = 1 - x + 0.1*y; y' = x^2 - y"), [(0.5, 2.0), (0.1, 5.0)]),
    "picard_lindelof": lambda: th.picard_lindelof(flow("x' = x^2"), [(0.0, 2.0)], [1.0]),
    "cooperative": lambda: th.cooperative(flow(SWITCH), [(0.0, 3.0), (0.0, 3.0)]),
    "competitive": lambda: th.cooperative(flow(PAIR), [(0.0, 3.0), (0.0, 3.0)], competitive=True),
    "contraction inf": lambda: th.contraction(
        flow("x' = -2*x + 0.5*sin(y); y' = -y + 0.3*cos(x)"), BOX, norm="inf", rate=0.69
    ),
    "contraction 1": lambda: th.contraction(
        flow("x' = -2*x + 0.5*sin(y); y' = -y + 0.3*cos(x)"), BOX, norm="1", rate=0.49
    ),
    "contraction 2, metric": lambda: th.contraction(
        flow("x' = -x + 3*y; y' = -2*y"), [(-4.0, 4.0), (-1.0, 1.0)], metric=[[1.0, 1.0], [1.0, 10.0]]
    ),
    "lyapunov": lambda: th.lyapunov(flow("x' = -x + y^2; y' = -y"), SQUARES, th.ball([0, 0], 0.9), [0, 0]),
    "lyapunov, semidefinite": lambda: th.lyapunov(
        flow("x' = y; y' = -x - x^3 - 0.5*y"), lambda x: 2 * x[0] ** 2 + x[0] ** 4 + 2 * x[1] ** 2, th.ball([0, 0], 2),
        [0, 0], semidefinite=True,
    ),
    "routh_hurwitz": lambda: th.routh_hurwitz(lorenz(24.7), [7.9, 7.9, 23.7]),
    "fold": lambda: th.fold(parameter("x' = mu - x^2 + y; y' = -y", "mu", 0.1), 0.01, [0.05, 0.0]),
    "hopf": lambda: th.hopf(parameter(WHEEL.format(a="mu"), "mu", 0.1), 0.02, [0.0, 0.0]),
    "li_yorke": lambda: th.li_yorke(flow("x[n+1] = 3.9*x*(1 - x)"), [(0.0, 1.0)]),
    "singer": lambda: th.singer(flow("x[n+1] = 3.5*x*(1 - x)"), [(0.0, 1.0)]),
    "fenichel": lambda: th.fenichel(flow("v' = (v - v^3/3 - w)/0.08; w' = v + 0.7"), [(-2.5, -1.1), (-1.0, 3.0)]),
    "fenichel, two fast": lambda: th.fenichel(
        flow("u' = (-u + v)/0.1; v' = (-u - v + w)/0.1; w' = -w"), [(-1.0, 1.0)] * 3, fast=(0, 1)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", APPLIES)
def test_a_theorem_applies_where_it_is_known_to(name):
    found = APPLIES[name]()
    assert failing(found) == []
    assert found.applies
    assert found.is_certified
    assert found.conclusion in " ".join(str(found).split())


MISSES = {
    "a hole in the region": (
        lambda: th.bendixson_dulac(flow("x' = x - y; y' = x + y"), th.annulus([0, 0], 1, 2)),
        "the region has no holes",
    ),
    "a divergence of two signs": (
        lambda: th.bendixson_dulac(flow(PAIR), POSITIVE), "the divergence has one sign",
    ),
    "an annulus that misses the cycle": (
        lambda: th.poincare_bendixson(flow(WHEEL.format(a=1)), th.annulus([0, 0], 0.5, 0.99)),
        "the field points into the region on its boundary",
    ),
    "an equilibrium in the region": (
        lambda: th.poincare_bendixson(flow(WHEEL.format(a=1)), th.ball([0, 0], 1.5)), "the region has no equilibrium",
    ),
    "a face that is left": (
        lambda: th.nagumo(flow("x' = x*(1 - x - y); y' = y*(0.5 - y) - 0.01"), [(0.0, 2.0), (0.0, 2.0)]),
        "the field points into the region on its boundary",
    ),
    "equal signs on two faces": (
        lambda: th.miranda(flow("x' = 1 - x + 0.1*y; y' = x^2 - y"), [(0.5, 2.0), (0.1, 3.9)]),
        "component 1 of the field has opposite signs on its two faces",
    ),
    "one negative interaction": (
        lambda: th.cooperative(flow("x' = 1/(1 + z^4) - x; y' = x - y; z' = y - z"), [(0.0, 3.0)] * 3),
        "no interaction is negative",
    ),
    "a rate that is too large": (
        lambda: th.contraction(flow("x' = -2*x + 0.5*sin(y); y' = -y + 0.3*cos(x)"), BOX, norm="inf", rate=0.71),
        "the matrix measure of the Jacobian is negative",
    ),
    "a norm that is not the right one": (
        lambda: th.contraction(flow("x' = -x + 3*y; y' = -2*y"), [(-4.0, 4.0), (-1.0, 1.0)], norm="2"),
        "the matrix measure of the Jacobian is negative",
    ),
    "a function that is no minimum": (
        lambda: th.lyapunov(flow("x' = -x; y' = y"), lambda x: x[0] ** 2 - x[1] ** 2, th.ball([0, 0], 1), [0, 0]),
        "V is larger elsewhere",
    ),
    "a basin that ends": (
        lambda: th.lyapunov(flow("x' = -x + x^3; y' = -y"), SQUARES, th.ball([0, 0], 1.05), [0, 0]),
        "V falls along solutions",
    ),
    "a point that is no equilibrium": (
        lambda: th.lyapunov(flow("x' = -x + 0.001; y' = -y"), SQUARES, th.ball([0, 0], 1), [0, 0]),
        "the point is an equilibrium",
    ),
    "a cusp": (
        lambda: th.fold(parameter("x' = mu - x^3; y' = -y", "mu", 0.1), 0.0, [0.0, 0.0]),
        "the quadratic coefficient is not zero",
    ),
    "a transcritical point": (
        lambda: th.fold(parameter("x' = mu*x - x^2; y' = -y", "mu", 0.1), 0.0, [0.0, 0.0]),
        "the parameter unfolds the point",
    ),
    "a linear centre": (
        lambda: th.hopf(parameter("x' = mu*x - y; y' = x + mu*y", "mu", 0.1), 0.0, [0.0, 0.0]),
        "the first Lyapunov coefficient is not zero",
    ),
    "a map that leaves the interval": (
        lambda: th.singer(flow("x[n+1] = 4.01*x*(1 - x)"), [(0.0, 1.0)]), "the map keeps the interval",
    ),
    "a Schwarzian derivative that is positive": (
        lambda: th.singer(flow("x[n+1] = 0.2*x + 0.5*x^3 + 0.1*x^5"), [(-1.0, 1.0)]),
        "the Schwarzian derivative is negative",
    ),
    "a fold of the critical manifold": (
        lambda: th.fenichel(flow("v' = (v - v^3/3 - w)/0.08; w' = v + 0.7"), [(-2.5, -0.95), (-1.0, 3.0)]),
        "the critical manifold attracts in the fast directions",
    ),
    "a saddle of the fast components": (
        lambda: th.fenichel(flow("u' = 2*v - u; v' = 2*u - v + w; w' = -w"), [(-1.0, 1.0)] * 3, fast=(0, 1)),
        "the critical manifold attracts in the fast directions",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISSES)
def test_a_near_miss_names_the_one_condition(name):
    call, words = MISSES[name]
    found = call()
    assert failing(found) == [words]
    assert not found.applies
    assert found.otherwise in " ".join(str(found).split()) or found.status == "undecided"


def test_coefficients_at_a_hopf_point_are_the_known_ones():
    text = "x' = A + x^2*y - B*x - x; y' = B*x - x^2*y"  # Brusselator: l1 = -(A^2 + 2) / (2 A (1 + A^2)) in these units
    found = th.hopf(ds.Parameter(ds.system(text, A=1.0, B=2.1), "B", 1.0, 3.0), 2.02, [1.0, 2.02])
    assert found.numbers["B"] == pytest.approx(2.0, abs=1e-12)
    assert found.numbers["speed"] == pytest.approx(0.5, abs=1e-10)
    assert found.numbers["l1"] == pytest.approx(-0.5, abs=1e-10)


def test_cancellation_that_floats_get_wrong_is_decided_by_algebra():
    energy = lambda x: x[0] ** 2 / 2 + x[1] ** 2 / 2 - jnp.asarray(0.1) * x[0] ** 4
    conserved = flow("x' = y; y' = -x + 4*0.1*x^3")
    found = th.lyapunov(conserved, energy, th.ball([0, 0], 1.0), [0, 0], semidefinite=True)
    assert "V does not grow along solutions" not in failing(found)


@pytest.mark.slow
def test_random_linear_flows_agree_with_their_eigenvalues():
    rng = np.random.default_rng(3)
    for _ in range(12):
        A = rng.integers(-3, 4, (2, 2)) / 2.0
        if abs(np.linalg.det(A)) < 0.1 or abs(np.trace(A)) < 0.1:
            continue
        linear = ds.FunctionFlow(lambda t, x, A=A: jnp.asarray(A) @ x)
        stable = bool(np.all(np.linalg.eigvals(A).real < 0))
        assert th.routh_hurwitz(linear, [0.0, 0.0]).applies == stable
        symmetric = bool(np.all(np.linalg.eigvalsh(A + A.T) < 0))
        falls = th.lyapunov(linear, SQUARES, th.box([(-1, 1), (-1, 1)]), [0, 0], budget=3000)
        assert falls.status == ("holds" if symmetric else "fails")


def test_conditions_are_kept_as_json_with_their_witness():
    found = json.loads(MISSES["a basin that ends"][0]().to_json())
    assert found["status"] == "fails"
    bad = next(one for one in found["hypotheses"] if one["status"] == "fails")
    assert np.hypot(*bad["witness"]) <= 1.05
    assert abs(bad["witness"][0]) >= 1
    assert found["certified"]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: th.bendixson_dulac(flow("x' = -x"), [(0, 1)]), "`flow` must be in the plane for Dulac's criterion"),
        (lambda: th.nagumo(flow("x[n+1] = x/2"), [(0, 1)]), "`flow` must be"),
        (lambda: th.singer(flow("x' = -x"), [(0, 1)]), "`system` must be"),
        (lambda: th.nagumo(flow("x' = -x + sin(t)"), [(0, 1)]), "`flow` must be autonomous"),
        (lambda: th.annulus([0, 0], 2, 1), "`inner` must be smaller than `outer` = 1"),
        (lambda: th.ball([0, 0], -1), "`radius` must be positive"),
        (lambda: th.where([(0, 1)]), "`inside` must be at least one function"),
        (lambda: th.lyapunov(flow("x' = -x"), SQUARES, th.ball([0], 1), [2.0]), "must be inside the region"),
        (lambda: th.lyapunov(flow("x' = -x"), SQUARES, th.ball([0], 1), [0, 0]), "must have 1 components"),
        (lambda: th.picard_lindelof(flow("x' = -x"), [(0, 1)], [1.0]), "`start` must be inside the box"),
        (lambda: th.contraction(flow("x' = -x"), [(0, 1)], norm="1", metric=[[1.0]]), "`metric` must be left out"),
        (lambda: th.contraction(flow("x' = -x"), [(0, 1)], metric=[[-1.0]]), "`metric` must be a symmetric positive"),
        (lambda: th.contraction(flow("x' = -x"), [(0, 1)], norm="inf", weights=[0.0]), "`weights` must be positive"),
        (lambda: th.fenichel(flow("x' = -x; y' = -y"), BOX, fast=(2,)), "`fast` must be one or two different indices"),
        (lambda: th.hopf(parameter("x' = mu - x; y' = -y", "mu", 0.1), 0.0, [0, 0]), "complex pair of eigenvalues"),
        (lambda: th.nagumo(ds.FunctionFlow(lambda t, x: jnp.floor(x)), [(0, 1)]), "operations that intervals can"),
    ],
)  # fmt: skip
def test_bad_input_is_named(call, said):
    with pytest.raises(ValueError, match=said):
        call()
