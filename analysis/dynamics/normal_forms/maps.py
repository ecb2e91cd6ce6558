"""Coefficients of normal forms of maps at period doublings and Neimark-Sacker points, from their derivatives."""

import numpy as np
from jaxtyping import Float

from analysis.dynamics.linearisation import eigenvectors_near
from analysis.dynamics.normal_forms.charts import Chart, second_derivative, third_derivative
from analysis.dynamics.normal_forms.flows import SINGULAR, UNKNOWN, Coefficient, weighed


def flip_coefficient(chart: Chart, A: Float[np.ndarray, "d d"]) -> Coefficient:
    r"""Return the coefficient c of a period doubling, on whose centre manifold the map is $u \mapsto -u + c u^3$.

    $$
        c = \frac16 \langle p, C(q, q, q) \rangle - \frac12 \langle p, B(q, (A - I)^{-1} B(q, q)) \rangle
    $$

    with A q = -q, |q| = 1, A^T p = -p, <p, q> = 1. It is positive if the doubled orbits that begin here are stable on
    the centre manifold (supercritical), negative if they are unstable. NaN if another multiplier is 1.

    Source: Y. A. Kuznetsov, Elements of Applied Bifurcation Theory, section 5.4.

    Args:
        chart: an iterate or a return map, in coordinates at a fixed point of it.
        A: its derivative there, with the multiplier -1.
    """
    q, p = (np.real(v) for v in eigenvectors_near(A, -1.0)[:2])
    if _singular(A - np.eye(len(A))) or abs(np.vdot(p, q)) <= SINGULAR:
        return UNKNOWN
    p = p / np.vdot(p, q)
    cubic, square = third_derivative(chart, q, q, q), second_derivative(chart, q, q)
    fixed = np.linalg.solve(A - np.eye(len(A)), np.real(square.value))
    value, size = weighed(p, (1 / 6, cubic), (-1 / 2, second_derivative(chart, q, fixed)))
    return Coefficient(value.real, size)


def neimark_sacker_coefficient(chart: Chart, A: Float[np.ndarray, "d d"], angle: float) -> Coefficient:
    r"""Return the first Lyapunov coefficient of a fixed point with the multipliers $e^{\pm i \theta}$.

    $$
        a = \frac12 \mathrm{Re} \left\{ e^{-i \theta} \left[ \langle p, C(q, q, \bar q) \rangle
            + 2 \langle p, B(q, (I - A)^{-1} B(q, \bar q)) \rangle
            + \langle p, B(\bar q, (e^{2 i \theta} I - A)^{-1} B(q, q)) \rangle \right] \right\}
    $$

    with $A q = e^{i \theta} q$, |q| = 1, $A^T p = e^{-i \theta} p$, <p, q> = 1. It is negative if the invariant curve
    that begins here is stable on the centre manifold (supercritical), positive if it is unstable; at a strong
    resonance, $e^{i k \theta} = 1$ with k at most 4, it decides nothing. NaN at k = 3, or if another multiplier is 1.

    Source: Y. A. Kuznetsov, Elements of Applied Bifurcation Theory, section 5.4.

    Args:
        chart: an iterate or a return map, in coordinates at a fixed point of it.
        A: its derivative there.
        angle: theta, in radians, between 0 and pi.
    """
    turn, one = np.exp(1j * angle), np.eye(len(A))
    q, p, _ = eigenvectors_near(A, turn)
    if _singular(one - A) or _singular(turn**2 * one - A) or abs(np.vdot(p, q)) <= SINGULAR:
        return UNKNOWN
    p = p / np.conj(np.vdot(p, q))
    B = lambda u, v: second_derivative(chart, u, v)
    steady = np.linalg.solve(one - A, B(q, q.conj()).value)
    double = np.linalg.solve(turn**2 * one - A, B(q, q).value)
    cubic = third_derivative(chart, q, q, q.conj())
    value, size = weighed(p, (1, cubic), (2, B(q, steady)), (1, B(q.conj(), double)))
    return Coefficient((value / turn).real / 2, size / 2)


def _singular(matrix: np.ndarray) -> bool:
    sizes = np.linalg.svd(matrix, compute_uv=False)
    return bool(sizes[-1] <= SINGULAR * sizes[0])
