"""Normal forms of maps to fifth order, in coordinates in which they are not seen, from exact power series."""

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.normal_forms import maps
from analysis.dynamics.normal_forms.charts import MapChart
from analysis.dynamics.normal_forms.maps import (
    chenciner_coefficient,
    fourth_resonance_coefficient,
    generalised_flip_coefficient,
    normal_form,
    third_resonance_coefficient,
)
from dynsim.systems.base import FunctionMap

TURN = 2 * np.pi


@pytest.fixture(autouse=True)
def exact(monkeypatch):
    """Maps here are functions of power series, (orders, curves, d), so that nothing is compiled."""
    monkeypatch.setattr(maps, "chart_series", lambda chart, terms: chart.system.step_function(0, np.asarray(terms)))


def times(*factors):
    """Multiply power series, (orders, curves), up to their order."""
    first, *others = factors
    for other in others:
        first = np.stack([sum(first[i] * other[n - i] for i in range(n + 1)) for n in range(len(first))])
    return first


def chart_of(step):
    return MapChart(FunctionMap(step), jnp.zeros(2), np.eye(2), 1)


def bent(turn, size=1.0, b=0.0, c=0.0, d=0.0, e=0.0):
    """A number w to w (turn + c |w|^2 + e |w|^4) + b conj(w)^2 + d conj(w)^3, of w = size x_0 + i (x_1 + 0.4 x_0^2)."""

    def step(k, terms):
        x, y = np.moveaxis(terms, -1, 0)
        w = size * x + 1j * (y + 0.4 * times(x, x))
        r, back = times(w, w.conj()), w.conj()
        image = turn * w + c * times(w, r) + e * times(w, r, r) + b * times(back, back) + d * times(back, back, back)
        first = image.real / size
        return np.stack([first, image.imag - 0.4 * times(first, first)], axis=-1)

    return chart_of(step), np.array([[turn.real, -turn.imag / size], [turn.imag * size, turn.real]])


@pytest.mark.parametrize("size", [1.0, 2.0])
def test_terms_of_pairs_of_multipliers_are_those_in_other_coordinates(size):
    turn = np.exp(1j)
    q = np.array([1 / size, -1j]) / np.sqrt(1 + 1 / size**2)
    length = abs(size * q[0] + 1j * q[1])  # of w for x = u q and its conjugate, with |u| = 1
    c, e = (0.2 + 0.3j) * turn, (0.4 + 0.2j) * turn
    form = normal_form(*bent(turn, size, c=c, e=e), (turn, turn.conj()))
    assert (form[2, 1], form[3, 2]) == pytest.approx((c * length**2, e * length**4), rel=1e-9)
    found = chenciner_coefficient(*bent(turn, size, c=0.3j * turn, e=e), 1.0)
    assert found == pytest.approx((0.4 + 0.3**2 / 2) * length**4, rel=1e-9)


def test_strong_resonances_have_coefficients_of_their_own():
    b, c, d = 0.5 + 0.3j, 0.2 - 0.7j, -0.4 + 0.1j
    turn = np.exp(1j * TURN / 3)
    expected = ((turn.conj() * c).real / abs(b) ** 2 - 1) / 3
    assert third_resonance_coefficient(*bent(turn, b=b, c=c)) == pytest.approx(expected, rel=1e-9)
    expected = -1j * c / abs(d)
    assert fourth_resonance_coefficient(*bent(1j, c=c, d=d)) == pytest.approx((expected.real, expected.imag), rel=1e-9)
    for k in (1, 2, 3, 4):
        assert np.isnan(chenciner_coefficient(*bent(np.exp(1j * TURN / k), c=c, e=d), TURN / k))


def straightened(sign, c, e, a=0.0):
    """A map of (u, v) = (2 x_0 + 0.3 x_1^2, x_1): u to sign u + c u^3 + e u^5 + a u v, and v to v / 2 + u^2."""

    def step(k, terms):
        x, v = np.moveaxis(terms, -1, 0)
        u = 2 * x + 0.3 * times(v, v)
        after = v / 2 + times(u, u)
        u = sign * u + c * times(u, u, u) + e * times(u, u, u, u, u) + a * times(u, v)
        return np.stack([(u - 0.3 * times(after, after)) / 2, after], axis=-1)

    return chart_of(step), np.diag([sign, 0.5])


def test_terms_of_real_multipliers_are_those_in_other_coordinates():
    """With a, v is 2 u^2 + 8 (c + 2 a) u^4 on the centre manifold, where u^2 becomes u^2 - 2 (c + 2 a) u^4."""
    assert generalised_flip_coefficient(*straightened(-1.0, 0.0, 0.7)) == pytest.approx(0.7 * 2**4, rel=1e-9)
    form = normal_form(*straightened(-1.0, 0.4, 0.7), (-1.0,))
    assert (form[3,], form[5,]) == pytest.approx((0.4 * 2**2, 0.7 * 2**4), rel=1e-9)
    form = normal_form(*straightened(-1.0, 0.4, 0.7, 0.3), (-1.0,))
    assert (form[3,], form[5,]) == pytest.approx((1.0 * 2**2, (0.7 + 8 * 0.3 * 1.0) * 2**4), rel=1e-9)
