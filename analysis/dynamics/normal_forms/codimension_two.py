"""Normal forms at degenerate points of curves of folds and Hopf points, and where pairs of eigenvalues cross there."""

import numpy as np
from jaxtyping import Float, Inexact

from analysis.dynamics.linearisation import eigenvectors_near, null_vectors, tangent_basis, tangent_jacobian
from analysis.dynamics.normal_forms.charts import Chart, FlowChart, second_derivative, third_derivative
from dynsim._core.types import State
from dynsim.systems.base import AbstractFlow

REAL = 1e-6  # of the modulus: a smaller imaginary part is that of a real eigenvalue


def cusp_coefficient(flow: AbstractFlow, state: State) -> tuple[float]:
    r"""Return c of a cusp, on whose centre manifold the flow is $\dot w = c w^3$ at the point itself.

    $$ c = \frac16 \langle p, C(q, q, q) + 3 B(q, h) \rangle, \qquad A h = -B(q, q) $$

    with A q = 0, |q| = 1, A^T p = 0, <p, q> = 1. It is negative if the equilibria outside of the wedge are stable on
    the centre manifold.

    Source: Y. A. Kuznetsov, Elements of Applied Bifurcation Theory, section 8.7.
    """
    return (cubic_coefficient(*_chart(flow, state)),)


def cubic_coefficient(chart: Chart, A: Float[np.ndarray, "d d"]) -> float:
    """Return c of a cusp from a field with the derivative A, or from a map whose derivative is A and the identity.

    A map is w to w + c w^3 on its centre manifold, whatever its iterate, or the flow whose return map it is.
    """
    q, p = null_vectors(A)
    p, inverse = p / (p @ q), _inverse(A)
    h = -inverse @ _real(chart, q, q)
    return float(p @ (np.real(third_derivative(chart, q, q, q).value) + 3 * _real(chart, q, h))) / 6


def bogdanov_takens_coefficients(flow: AbstractFlow, state: State) -> tuple[float, float]:
    r"""Return a and b of a Bogdanov-Takens point, with a not negative.

    On its centre manifold the flow is $\dot w_0 = w_1$, $\dot w_1 = a w_0^2 + b w_0 w_1$ at the point itself. Periodic
    orbits nearby are stable on the centre manifold where b < 0, unstable where b > 0.

    $$ a = \tfrac12 \langle p_1, B(q_0, q_0) \rangle, \qquad
        b = \langle p_0, B(q_0, q_0) \rangle + \langle p_1, B(q_0, q_1) \rangle $$

    with A q0 = 0, A q1 = q0, A^T p1 = 0, A^T p0 = p1, |q0| = 1, <q0, q1> = 0, <p1, q1> = <p0, q0> = 1, <p0, q1> = 0.

    Source: Y. A. Kuznetsov, Elements of Applied Bifurcation Theory, section 8.7.
    """
    return double_coefficients(*_chart(flow, state))


def double_coefficients(chart: Chart, A: Float[np.ndarray, "d d"]) -> tuple[float, float]:
    r"""Return a and b of a double eigenvalue zero of a field, or of a double multiplier 1 of a map, a not negative.

    A is the derivative of the field, or that of the map less the identity, and the map on its centre manifold is
    $w_0 \mapsto w_0 + w_1$, $w_1 \mapsto w_1 + a w_0^2 + b w_0 w_1$ to the second order, but for a term in $w_1^2$.
    """
    (q0, p1), inverse = null_vectors(A), _inverse(A)
    q1 = inverse @ q0
    p1 = p1 / (p1 @ q1)
    p0 = inverse.T @ p1
    p0 = p0 - (p0 @ q1) * p1
    square = _real(chart, q0, q0)
    a, b = float(p1 @ square) / 2, float(p0 @ square + p1 @ _real(chart, q0, q1))
    return (a, b) if a >= 0 else (-a, -b)


def fold_hopf_coefficients(flow: AbstractFlow, state: State, frequency: float) -> tuple[float, float]:
    r"""Return s and theta of a fold-Hopf (zero-Hopf) point, where an eigenvalue is zero and a pair is imaginary.

    On its centre manifold the flow is $\dot u = u^2 + s |z|^2$, $\dot z = i \omega z + (\theta + i \vartheta) u z$, to
    the second order and at the point itself, in the scale in which s is 1 or -1. Where s theta < 0 a torus bifurcation
    of periodic orbits begins there.

    $$ s = \mathrm{sign} \left[ \langle p_0, B(q_0, q_0) \rangle \langle p_0, B(q_1, \bar q_1) \rangle \right], \qquad
        \theta = \frac{2 \, \mathrm{Re} \langle p_1, B(q_0, q_1) \rangle}{\langle p_0, B(q_0, q_0) \rangle} $$

    with A q0 = 0, A^T p0 = 0, A q1 = i omega q1, A^T p1 = -i omega p1, <p0, q0> = <p1, q1> = 1.

    Source: Y. A. Kuznetsov, Elements of Applied Bifurcation Theory, sections 8.5 and 8.7.

    Args:
        flow: the flow.
        state: the equilibrium.
        frequency: omega, in radians per unit of time.
    """
    chart, A = _chart(flow, state)
    q0, p0 = null_vectors(A)
    q1, p1, _ = eigenvectors_near(A, 1j * frequency)
    p0, p1 = p0 / (p0 @ q0), p1 / np.conj(np.vdot(p1, q1))
    square = float(p0 @ _real(chart, q0, q0))
    turning = float(np.real(p0 @ second_derivative(chart, q1, q1.conj()).value))
    growth = float(np.real(np.vdot(p1, second_derivative(chart, q0, q1).value)))
    return float(np.sign(square * turning)), 2 * growth / square


def crossing_pair(values: Inexact[np.ndarray, " d"]) -> tuple[float, complex]:
    """Return a number that changes its sign where two eigenvalues have the sum zero, and the first of the nearest two.

    It is the least size of a sum of two, relative to both moduli, with the sign of the product of all sums. It is 1
    where there are no two.
    """
    i, j = np.triu_indices(len(values), 1)
    sizes = np.abs(values[i]) + np.abs(values[j])
    if not np.all(sizes > 0) or not len(i):
        return 1.0, 0.0j
    sums = (values[i] + values[j]) / sizes
    shares = np.abs(sums)
    if np.any(shares == 0):
        return 0.0, complex(values[i[np.argmin(shares)]])
    nearest = int(np.argmin(shares))
    return float(np.sign(np.real(np.prod(sums / shares))) * shares[nearest]), complex(values[i[nearest]])


def turns(value: complex) -> bool:
    """Return whether an eigenvalue is not real."""
    return abs(value.imag) > REAL * abs(value)


def without(values: Inexact[np.ndarray, " d"], *critical: complex) -> Inexact[np.ndarray, " rest"]:
    """Return the eigenvalues but those nearest to critical ones."""
    for one in critical:
        values = np.delete(values, int(np.argmin(np.abs(values - one))))
    return values


def _chart(flow: AbstractFlow, state: State) -> tuple[FlowChart, np.ndarray]:
    return FlowChart(flow, state, tangent_basis(flow.space, state)), tangent_jacobian(flow, state)


def _real(chart: Chart, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np.real(second_derivative(chart, u, v).value)


def _inverse(A: Float[np.ndarray, "d d"]) -> np.ndarray:
    """Return the inverse of a matrix on what is across its null vectors."""
    left, sizes, right = np.linalg.svd(A)
    return right[:-1].T @ np.diag(1 / sizes[:-1]) @ left[:, :-1].T
