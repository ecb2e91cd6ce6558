"""Bifurcations of published models: parameters as printed, and coefficients printed or computed by hand.

First Lyapunov coefficients are those for a critical vector q of length one and <p, q> = 1.
"""

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.codim2.curves import critical_curve
from analysis.dynamics.continuation.equilibria import continue_equilibria, switch
from analysis.dynamics.continuation.steps import Steps
from analysis.dynamics.normal_forms.flows import lyapunov_coefficient
from dynsim import FunctionFlow
from dynsim.systems.parameter import Parameter


def adaptive_control(t, x, alpha, beta):
    """A feedback system of Lur'e's type, the first example of MatCont's manual."""
    return jnp.stack([x[1], x[2], -alpha * x[2] - beta * x[1] - x[0] + x[0] ** 2])


@pytest.mark.parametrize("w", [1.0, 0.6, 1.5**0.5])
def test_the_feedback_system_has_the_lyapunov_coefficient_of_its_closed_form(w):
    """Source: Kuznetsov, Elements of Applied Bifurcation Theory, example 5.4; MatCont's manual has -0.3 at w = 1."""
    flow = FunctionFlow(adaptive_control, parameters={"alpha": w**-2, "beta": w**2})
    length = 1 + w**2 + w**4  # of the critical vector (1, i w, -w^2), squared
    expected = -(w**3) * (1 + 8 * w**6) / ((1 + 4 * w**6) * (1 + w**6)) / length
    assert lyapunov_coefficient(flow, jnp.zeros(3), w).value == pytest.approx(expected, rel=1e-10)
    if w == 1:
        assert expected == pytest.approx(-0.3)


@pytest.mark.parametrize(("b", "e"), [(0.8, 0.08), (0.4, 0.3)])
def test_the_fitzhugh_nagumo_equations_have_the_lyapunov_coefficient_of_their_closed_form(b, e):
    """Of x' = x - x^3 / 3 - y + I, y' = e (x + a - b y) at x^2 = 1 - e b, by hand; subcritical for the usual b, e."""
    x, w = np.sqrt(1 - e * b), np.sqrt(e - (e * b) ** 2)
    y, a = 1.3, b * 1.3 - x
    field = lambda t, u, I: jnp.stack([u[0] - u[0] ** 3 / 3 - u[1] + I, e * (u[0] + a - b * u[1])])
    flow = FunctionFlow(field, parameters={"I": y - x + x**3 / 3})
    found = lyapunov_coefficient(flow, jnp.asarray([x, y]), w).value
    expected = (2 * b * (1 - e * b) / (1 - e * b**2) - 1) / (2 * w * (1 + e))
    assert found == pytest.approx(expected, rel=1e-9)
    assert (found > 0) == (b == 0.8)


def reactor(t, u, a, b):
    """The exothermic reaction of AUTO's demo `ab`, with the cooling rate 3 beside the outflow 1."""
    rate = a * (1 - u[0]) * jnp.exp(u[1])
    return jnp.stack([rate - u[0], b * rate - 4 * u[1]])


REACTORS = [(14.0, 0.165042), (16.0, 0.132538), (18.0, 0.111153), (15.0, 0.146882), (17.0, 0.120866)]


@pytest.mark.parametrize(
    ("b", "hopf"), [REACTORS[2], *(pytest.param(*pair, marks=pytest.mark.slow) for pair in REACTORS[:2] + REACTORS[3:])]
)
def test_the_reactor_has_the_first_hopf_points_that_auto_prints(b, hopf):
    flow = FunctionFlow(reactor, parameters={"a": 0.0, "b": b})
    first = continue_equilibria(Parameter(flow, "a", 0.0, 0.25), [0.0, 0.0]).bifurcations[0]
    assert (first.kind, first.parameter) == ("Hopf point", pytest.approx(hopf, abs=6e-7))


def platinum(t, u, q2, k):
    """Oxidation of carbon monoxide on platinum, the model of Bykov, Yablonskii and Kim."""
    x, y, s = u
    z = 1 - x - y - s
    return jnp.stack([5 * z**2 - 2 * x**2 - 10 * x * y, q2 * z - 0.1 * y - 10 * x * y, 0.0675 * (z - k * s)])


def test_the_oxidation_model_has_the_points_that_bifurcationkit_prints():
    """Source: tutorial "CO oxidation" of BifurcationKit.jl, which prints the steps that contain the points."""
    flow = FunctionFlow(platinum, parameters={"q2": 2.0, "k": 0.4})
    branch = continue_equilibria(Parameter(flow, "q2", 0.6, 2.0), [0.0030, 0.7621, 0.1678])
    found = sorted((b.kind, b.parameter) for b in branch.bifurcations)
    assert [kind for kind, _ in found] == ["Hopf point", "Hopf point", "fold", "fold"]
    assert 1.04089208 < found[0][1] < 1.04100305
    assert found[2][1] == pytest.approx(1.04204852, abs=4e-7)
    assert found[3][1] == pytest.approx(1.05220009, abs=1e-6)


@pytest.mark.slow
def test_bazykin_and_khibniks_model_has_the_bogdanov_takens_point_that_auto_prints():
    """At (0.860704, 0.006059); at a Bogdanov-Takens point trace and determinant vanish."""

    def field(t, u, al, de):
        eaten = u[0] * u[1] / (1 + al * u[0])
        return jnp.stack([u[0] - eaten - 0.01 * u[0] ** 2, eaten - u[1] - de * u[1] ** 2])

    flow = FunctionFlow(field, parameters={"al": 0.1, "de": 0.1})
    first = Parameter(flow, "al", 0.01, 1.5)
    trivial = continue_equilibria(first, [100.0, 0.0])
    assert [(b.kind, b.parameter) for b in trivial.bifurcations] == [("branch point", pytest.approx(0.99))]
    folds = [b for one in switch(first, trivial.bifurcations[0]) for b in one.bifurcations if b.kind == "fold"]
    curve = critical_curve((first, Parameter(flow, "de", 0.0, 10.0)), folds[0], steps=Steps())
    points = [d for d in curve.degeneracies if d.kind == "Bogdanov-Takens point"]
    assert len(points) == 2
    assert min(np.hypot(d.first - 0.860704, d.second - 0.006059) for d in points) < 1e-6
