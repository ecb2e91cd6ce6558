"""Normal form coefficients of published models, printed or computed by hand.

First Lyapunov coefficients are those for a critical vector q of length one and <p, q> = 1.
"""

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.normal_forms.flows import lyapunov_coefficient
from dynsim import FunctionFlow


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
