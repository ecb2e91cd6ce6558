"""Coefficients of normal forms at folds and Hopf points, from the second and third derivatives of a system."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Inexact

from analysis.dynamics.linearisation import eigenvectors_near, null_vectors, tangent_basis, tangent_jacobian
from analysis.dynamics.normal_forms.charts import Chart, FlowChart, Form, second_derivative, series, third_derivative
from dynsim._core.printing import one_line, report
from dynsim._core.types import State
from dynsim.systems.base import AbstractFlow

SINGULAR = 1e-10  # relative: with a smaller singular value of the Jacobian a coefficient is not defined


class Coefficient(NamedTuple):
    """A coefficient of a normal form, and the size of the terms whose sum it is, which has the same unit.

    Both change by the same factor where the units of the components of the state or of time change.
    """

    value: float
    size: float

    __repr__ = one_line
    __str__ = report

    @property
    def bounded(self) -> float:
        """The value relative to one and the size, from -1 to 1: it jumps between these where a term has a pole."""
        return self.value / (1 + self.size)


UNKNOWN = Coefficient(math.nan, math.nan)


def weighed(p: Inexact[np.ndarray, " d"], *terms: tuple[complex, Form]) -> tuple[complex, float]:
    """Return <p, sum of the forms with their factors>, and the size of its terms."""
    value = sum(factor * complex(np.vdot(p, form.value)) for factor, form in terms)
    return value, sum(abs(factor) * float(np.abs(p) @ form.size) for factor, form in terms)


def lyapunov_coefficient(flow: AbstractFlow, state: State, frequency: float) -> Coefficient:
    r"""Return the first Lyapunov coefficient of an equilibrium with the eigenvalues +-i `frequency`.

    $$
        \ell_1 = \frac{1}{2 \omega} \mathrm{Re} \left[ \langle p, C(q, q, \bar q) \rangle
            - 2 \langle p, B(q, A^{-1} B(q, \bar q)) \rangle
            + \langle p, B(\bar q, (2 i \omega - A)^{-1} B(q, q)) \rangle \right]
    $$

    with A q = i omega q, |q| = 1, A^T p = -i omega p, <p, q> = 1, in coordinates of the space in which derivatives are
    those of the retraction. It is negative if the periodic orbits that begin here are stable on the centre manifold
    (supercritical), positive if they are unstable. NaN if another eigenvalue is zero.

    Source: Y. A. Kuznetsov, Elements of Applied Bifurcation Theory, section 5.4.
    """
    chart, A = FlowChart(flow, state, tangent_basis(flow.space, state)), tangent_jacobian(flow, state)
    q, p, critical = eigenvectors_near(A, 1j * frequency)
    w = critical.imag
    sizes = np.linalg.svd(A, compute_uv=False)
    if w <= 0 or sizes[-1] <= SINGULAR * sizes[0]:
        return UNKNOWN
    p = p / np.conj(np.vdot(p, q))
    B = lambda u, v: second_derivative(chart, u, v)
    steady = np.linalg.solve(A, B(q, q.conj()).value)
    double = np.linalg.solve(2j * w * np.eye(len(A)) - A, B(q, q).value)
    cubic = third_derivative(chart, q, q, q.conj())
    value, size = weighed(p, (1, cubic), (-2, B(q, steady)), (1, B(q.conj(), double)))
    return Coefficient(value.real / (2 * w), size / (2 * w))


def fold_coefficient(chart: Chart, J: Float[np.ndarray, "d d"], slope: Float[np.ndarray, " d"]) -> Coefficient:
    """Return c of a fold, near which the parameter is that of the fold and c s^2, at the distance s along the branch.

    Where c > 0 the two equilibria exist for larger parameters. NaN if the field does not depend on the parameter there.

    Args:
        chart: the flow, the iterate of a map or the return map, in coordinates at the fold.
        J: the Jacobian of the field, or of the displacement by the map.
        slope: their derivative by the parameter.
    """
    v, w = null_vectors(J)
    across = float(w @ slope)
    if abs(across) <= SINGULAR * float(np.linalg.norm(slope)):
        return UNKNOWN
    value, size = weighed(w, (-1, second_derivative(chart, v, v)))
    return Coefficient(value.real / (2 * across), size / (2 * abs(across)))


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


ORDER = 5  # of the terms that decide at a Bautin point


ANGLES = 2 * np.pi * np.arange(2 * ORDER + 2) / (2 * ORDER + 2)


STRONG = (1, 2, 3)  # ratios of the frequencies of a double Hopf point at which further terms are resonant


RESONANT = 1e-6  # of a frequency: a smaller distance from such a ratio is none


def second_lyapunov_coefficient(flow: AbstractFlow, state: State, frequency: float) -> float:
    r"""Return the second Lyapunov coefficient of a Bautin point with the eigenvalues +-i `frequency`.

    $$ \ell_2 = \frac{\mathrm{Re}\, c_2}{\omega} = \frac{1}{12 \omega} \mathrm{Re}\, G_{32}, \qquad
        \dot w = i \omega w + c_1 w |w|^2 + c_2 w |w|^4, \qquad x = \sum_{j, k} h_{jk} w^j \bar w^k $$

    on the centre manifold to the fifth order, with h10 = q, h01 the conjugate, A q = i omega q, |q| = 1,
    A^T p = -i omega p, <p, q> = 1 and <p, h21> = 0. The coefficients h solve the homological equation

    $$ [A - i \omega (j - k)] h_{jk} = [(j - 1) c_1 + (k - 1) \bar c_1] h_{j-1, k-1} - r_{jk} $$

    in which r is what the h of lower orders give. It is negative if the outer one of two periodic orbits that meet near
    the point is stable on the centre manifold, positive if it is unstable. NaN if another eigenvalue is zero.

    Source: Y. A. Kuznetsov, Numerical normalization techniques for all codim 2 bifurcations of equilibria in ODE's,
    SIAM J. Numer. Anal. 36 (1999), and Elements of Applied Bifurcation Theory, sections 8.3 and 8.7.
    """
    A = tangent_jacobian(flow, state)
    q, p, w = _critical(A, frequency)
    sizes = np.linalg.svd(A, compute_uv=False)
    if w <= 0 or sizes[-1] <= SINGULAR * sizes[0]:
        return math.nan
    h, c = {(0, 0): 0 * q, (1, 0): q, (0, 1): q.conj()}, 0j
    for order in range(2, ORDER):
        rest = _rest(flow, state, h, order)
        for j in range((order + 1) // 2, order + 1):
            k = order - j
            left, right = A - 1j * w * (j - k) * np.eye(len(A)), -rest[j, k]
            if j == k + 1:  # the resonant term
                c = complex(np.vdot(p, rest[j, k]))
                left, right = np.vstack([left, p.conj()]), np.append(right + c * q, 0)
            elif k:
                right = right + ((j - 1) * c + (k - 1) * np.conj(c)) * h[j - 1, k - 1]
            h[j, k] = np.linalg.lstsq(left, right, rcond=None)[0]
            h[k, j] = h[j, k].conj()
    return float(np.vdot(p, _rest(flow, state, h, ORDER)[3, 2]).real) / w


def double_hopf_coefficients(flow: AbstractFlow, state: State, frequencies: tuple[float, float]) -> tuple[float, ...]:
    r"""Return p11, p12, p21, p22, theta and delta of a double Hopf point; NaN at a strong resonance.

    On its centre manifold the amplitudes follow $\dot r_j = r_j (p_{j1} r_1^2 + p_{j2} r_2^2)$ to the third order and
    at the point itself, the first one being that of the larger frequency; $\theta = p_{12} / p_{22}$ and
    $\delta = p_{21} / p_{11}$. The case is simple if p11 p22 > 0, difficult, with tori that bifurcate, else.

    $$ p_{jj} = \omega_j \ell_1^{(j)}, \qquad p_{jk} = \mathrm{Re} \langle p_j, C(q_j, q_k, \bar q_k)
        + B(h_{jk}, \bar q_k) + B(h_{j \bar k}, q_k) + B(h_{k \bar k}, q_j) \rangle $$

    with A q_j = i omega_j q_j, |q_j| = 1, A^T p_j = -i omega_j p_j, <p_j, q_j> = 1,
    (i (omega_j + omega_k) - A) h_jk = B(q_j, q_k), and the same for the conjugate of q_k, whose frequency is -omega_k.

    Source: Y. A. Kuznetsov, Elements of Applied Bifurcation Theory, sections 8.6 and 8.7.
    """
    fast, slow = max(frequencies), min(frequencies)
    if slow <= 0 or min(abs(fast - ratio * slow) for ratio in STRONG) <= RESONANT * fast:
        return (math.nan,) * 6
    p11, p22 = (w * lyapunov_coefficient(flow, state, w).value for w in (fast, slow))
    chart, A = FlowChart(flow, state, tangent_basis(flow.space, state)), tangent_jacobian(flow, state)
    p12, p21 = _coupling(chart, A, fast, slow), _coupling(chart, A, slow, fast)
    return p11, p12, p21, p22, p12 / p22, p21 / p11


def critical_length(A: Float[np.ndarray, "d d"], frequency: float, sizes: Float[np.ndarray, "n d"]) -> float:
    """Return the length that the critical vector of length one has where each coordinate is worth a vector of sizes."""
    return float(np.linalg.norm(sizes @ _critical(A, frequency)[0]))


def _coupling(chart: FlowChart, A: np.ndarray, frequency: float, other: float) -> float:
    """Return the effect of the square of the amplitude of another pair on the growth of the first one."""
    (q, p, w), (r, _, v) = _critical(A, frequency), _critical(A, other)
    B = lambda a, b: second_derivative(chart, a, b).value
    solved = lambda rate, form: np.linalg.solve(1j * rate * np.eye(len(A)) - A, form)
    both, apart, steady = solved(w + v, B(q, r)), solved(w - v, B(q, r.conj())), solved(0.0, B(r, r.conj()))
    cubic = third_derivative(chart, q, r, r.conj()).value
    return float(np.vdot(p, cubic + B(both, r.conj()) + B(apart, r) + B(steady, q)).real)


def _critical(A: np.ndarray, frequency: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Return q and p with A q = i w q, A^T p = -i w p, |q| = <p, q> = 1, and w, which is nearest to a frequency."""
    q, p, critical = eigenvectors_near(A, 1j * frequency)
    return q, p / np.conj(np.vdot(p, q)), critical.imag


def _rest(
    flow: AbstractFlow, state: State, h: dict[tuple[int, int], np.ndarray], order: int
) -> dict[tuple[int, int], np.ndarray]:
    """Return the coefficients of order j + k of the field at the sum of h_jk w^j w̄^k, h being known below that order.

    For w = s e^{i a} the field is a polynomial in s, and its coefficients are trigonometric polynomials in a.
    """
    terms = np.zeros((ORDER + 1, len(ANGLES), len(h[1, 0])))
    for (j, k), vector in h.items():
        terms[j + k] += np.real(np.exp(1j * (j - k) * ANGLES)[:, None] * vector)
    found = series(flow, state, tangent_basis(flow.space, state), terms)[order]
    phases = {(j, order - j): np.exp(-1j * (2 * j - order) * ANGLES) for j in range(order + 1)}
    return {pair: phase @ found / len(ANGLES) for pair, phase in phases.items()}
