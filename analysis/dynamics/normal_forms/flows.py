"""Compute normal form coefficients of equilibria at folds and at Hopf, cusp, Bogdanov-Takens and other points.

The functions cover the codimension-one points (fold, Hopf) and the codimension-two points (cusp, Bogdanov-Takens,
Bautin, fold-Hopf, double Hopf). Some functions also serve maps and return maps: `fold_coefficient` and
`double_coefficients` take any chart. The coefficient of a cusp is that of `cycles`.
"""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Inexact

from analysis.dynamics.linearisation import eigenvectors_near, null_vectors, tangent_basis, tangent_jacobian
from analysis.dynamics.normal_forms.charts import Chart, FlowChart, Form, second_derivative, series, third_derivative
from analysis.dynamics.sparse.matrices import SparseMatrix, conditioning, pseudo_inverse, solved_beside
from dynsim._core.printing import one_line, report
from dynsim._core.types import State
from dynsim.systems.base import AbstractFlow

# Smallest ratio of singular values at which a matrix counts as invertible; below it a coefficient is not defined.
SINGULAR = 1e-10


class Coefficient(NamedTuple):
    """Normal form coefficient, the sum of the absolute values of its terms in the same unit, and why it is unknown.

    Both scale by the same factor when the units of the state or of time change, so that their ratio measures
    cancellation.
    """

    value: float
    size: float
    why: str = ""

    __repr__ = one_line
    __str__ = report

    @property
    def bounded(self) -> float:
        """Value divided by one plus the size, between -1 and 1, so that a pole of a term appears as a bounded jump."""
        return self.value / (1 + self.size)


UNKNOWN = Coefficient(math.nan, math.nan)


# Reason for the unknown coefficient of a fold.
NO_SLOPE = "the parameter does not move the solutions across the branch, as at a branch point"


def unknown(why: str) -> Coefficient:
    """Build a coefficient that is unknown, with the reason."""
    return Coefficient(math.nan, math.nan, f"coefficient unknown: {why}")


def weighed(p: Inexact[np.ndarray, " d"], *terms: tuple[complex, Form]) -> tuple[complex, float]:
    """Compute the inner product of p with a weighted sum of forms, and the sum of the sizes of its terms."""
    value = sum(factor * complex(np.vdot(p, form.value)) for factor, form in terms)
    return value, sum(abs(factor) * float(np.abs(p) @ form.size) for factor, form in terms)


def lyapunov_coefficient(flow: AbstractFlow, state: State, frequency: float) -> Coefficient:
    r"""Compute the first Lyapunov coefficient of a Hopf point whose critical eigenvalues are +-i `frequency`.

    $$
        \ell_1 = \frac{1}{2 \omega} \mathrm{Re} \left[ \langle p, C(q, q, \bar q) \rangle
            - 2 \langle p, B(q, A^{-1} B(q, \bar q)) \rangle
            + \langle p, B(\bar q, (2 i \omega - A)^{-1} B(q, q)) \rangle \right]
    $$

    Here A q = i omega q, |q| = 1, A^T p = -i omega p and <p, q> = 1. On a curved space, derivatives are taken in the
    coordinates of the retraction. A negative coefficient means a supercritical Hopf point: the periodic orbits that are
    born there are stable on the centre manifold. A positive one means subcritical, with unstable orbits. The result is
    NaN if another eigenvalue is zero.

    The value depends on the length of q: for a vector of length L it is L^2 times as large. Published values for |q| =
    <p, q> = 1, such as those of MatCont's manual, agree; books often take vectors with an entry 1. Without the division
    by omega the value is half of the coefficient of $w |w|^2$ in the Poincare normal form, in the unit of time.

    Source: Y. A. Kuznetsov, Elements of Applied Bifurcation Theory, section 5.4.
    """
    return hopf_coefficient(*flow_chart(flow, state), frequency)


def hopf_coefficient(chart: Chart, A: Float[np.ndarray, "d d"] | SparseMatrix, frequency: float) -> Coefficient:
    """Compute the first Lyapunov coefficient from a vector field and its Jacobian; see `lyapunov_coefficient`."""
    q, p, critical = eigenvectors_near(A, 1j * frequency)
    w = critical.imag
    if w <= 0 or conditioning(A) <= SINGULAR:
        return unknown("another eigenvalue is 0")
    p = p / np.conj(np.vdot(p, q))
    B = lambda u, v: second_derivative(chart, u, v)
    steady = solved_beside(A, 0.0, B(q, q.conj()).value)
    double = -solved_beside(A, 2j * w, B(q, q).value)
    cubic = third_derivative(chart, q, q, q.conj())
    value, size = weighed(p, (1, cubic), (-2, B(q, steady)), (1, B(q.conj(), double)))
    return Coefficient(value.real / (2 * w), size / (2 * w))


def fold_coefficient(
    chart: Chart, J: Float[np.ndarray, "d d"] | SparseMatrix, slope: Float[np.ndarray, " d"]
) -> Coefficient:
    """Compute c of a fold, near which the parameter is lambda_0 + c s^2 at distance s along the branch.

    Where c > 0 the two equilibria exist for larger parameter values. The result is NaN if the derivative by the
    parameter has no component along the left null vector, as at a branch point.

    Args:
        chart: the flow, the iterate of a map or the return map, in tangent coordinates at the fold.
        J: Jacobian of the vector field, or of the displacement G(u) - u for a map G.
        slope: derivative of the same function with respect to the parameter.
    """
    v, w = null_vectors(J)
    across = float(w @ slope)
    if abs(across) <= SINGULAR * float(np.linalg.norm(slope)):
        return unknown(NO_SLOPE)
    value, size = weighed(w, (-1, second_derivative(chart, v, v)))
    return Coefficient(value.real / (2 * across), size / (2 * abs(across)))


# Largest imaginary part, relative to the modulus, of an eigenvalue that still counts as real.
REAL = 1e-6


def bogdanov_takens_coefficients(flow: AbstractFlow, state: State) -> tuple[float, float]:
    r"""Compute the coefficients a >= 0 and b of a Bogdanov-Takens point of a flow.

    On its centre manifold, at the critical parameters, the flow is $\dot w_0 = w_1$, $\dot w_1 = a w_0^2 + b w_0 w_1$.
    Periodic orbits nearby are stable on the centre manifold if b < 0 and unstable if b > 0.

    $$ a = \tfrac12 \langle p_1, B(q_0, q_0) \rangle, \qquad
        b = \langle p_0, B(q_0, q_0) \rangle + \langle p_1, B(q_0, q_1) \rangle $$

    Here A q0 = 0, A q1 = q0, A^T p1 = 0, A^T p0 = p1, |q0| = 1, <q0, q1> = 0, <p1, q1> = <p0, q0> = 1 and <p0, q1> = 0.

    Source: Y. A. Kuznetsov, Elements of Applied Bifurcation Theory, section 8.7.
    """
    return double_coefficients(*flow_chart(flow, state))


def double_coefficients(chart: Chart, A: Float[np.ndarray, "d d"]) -> tuple[float, float]:
    r"""Compute a >= 0 and b at a double eigenvalue zero of a vector field, or a double multiplier 1 of a map.

    A is the Jacobian of the vector field, or the Jacobian of the map minus the identity. To second order, up to a term
    in $w_1^2$, the map on its centre manifold is $w_0 \mapsto w_0 + w_1$, $w_1 \mapsto w_1 + a w_0^2 + b w_0 w_1$.
    """
    q0, p1 = null_vectors(A)
    q1 = pseudo_inverse(A, q0, p1)(q0)
    p1 = p1 / (p1 @ q1)
    p0 = pseudo_inverse(A.T, p1, q0)(p1)
    p0 = p0 - (p0 @ q1) * p1
    square = _real(chart, q0, q0)
    a, b = float(p1 @ square) / 2, float(p0 @ square + p1 @ _real(chart, q0, q1))
    return (a, b) if a >= 0 else (-a, -b)


def fold_hopf_coefficients(flow: AbstractFlow, state: State, frequency: float) -> tuple[float, float]:
    r"""Compute s and theta of a fold-Hopf (zero-Hopf) point, which has a zero and an imaginary pair of eigenvalues.

    On its centre manifold, at the critical parameters and to second order, the flow is $\dot u = u^2 + s |z|^2$,
    $\dot z = i \omega z + (\theta + i \vartheta) u z$ in the scaling with s = 1 or -1. Where s theta < 0, a curve of
    torus bifurcations of periodic orbits starts at the point.

    $$ s = \mathrm{sign} \left[ \langle p_0, B(q_0, q_0) \rangle \langle p_0, B(q_1, \bar q_1) \rangle \right], \qquad
        \theta = \frac{2 \, \mathrm{Re} \langle p_1, B(q_0, q_1) \rangle}{\langle p_0, B(q_0, q_0) \rangle} $$

    Here A q0 = 0, A^T p0 = 0, A q1 = i omega q1, A^T p1 = -i omega p1 and <p0, q0> = <p1, q1> = 1.

    Source: Y. A. Kuznetsov, Elements of Applied Bifurcation Theory, sections 8.5 and 8.7.

    Args:
        flow: the flow.
        state: the equilibrium.
        frequency: omega, in radians per unit of time.
    """
    chart, A = flow_chart(flow, state)
    q0, p0 = null_vectors(A)
    q1, p1, _ = eigenvectors_near(A, 1j * frequency)
    p0, p1 = p0 / (p0 @ q0), p1 / np.conj(np.vdot(p1, q1))
    square = float(p0 @ _real(chart, q0, q0))
    turning = float(np.real(p0 @ second_derivative(chart, q1, q1.conj()).value))
    growth = float(np.real(np.vdot(p1, second_derivative(chart, q0, q1).value)))
    return float(np.sign(square * turning)), 2 * growth / square


def crossing_pair(values: Inexact[np.ndarray, " d"]) -> tuple[float, complex]:
    """Evaluate a test function for Hopf points and neutral saddles: it changes sign where two eigenvalues sum to zero.

    Its modulus is the smallest |a + b| / (|a| + |b|) over all pairs of eigenvalues; its sign is the sign of the product
    of all sums. It is 1 if there are no pairs. The second result is an eigenvalue of the minimising pair.
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
    """Test whether an eigenvalue is not real, up to the relative tolerance `REAL`."""
    return abs(value.imag) > REAL * abs(value)


def without(values: Inexact[np.ndarray, " d"], *critical: complex) -> Inexact[np.ndarray, " rest"]:
    """Remove from a set of eigenvalues those nearest to the given critical ones."""
    for one in critical:
        values = np.delete(values, int(np.argmin(np.abs(values - one))))
    return values


def flow_chart(flow: AbstractFlow, state: State) -> tuple[FlowChart, np.ndarray]:
    """Write a flow in tangent coordinates at a state, with its Jacobian there."""
    return FlowChart(flow, state, tangent_basis(flow.space, state)), tangent_jacobian(flow, state)


def _real(chart: Chart, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np.real(second_derivative(chart, u, v).value)


# Order of the Taylor expansion; the second Lyapunov coefficient needs the terms of order five.
ORDER = 5


ANGLES = 2 * np.pi * np.arange(2 * ORDER + 2) / (2 * ORDER + 2)


# Frequency ratios of a double Hopf point at which additional terms of the normal form are resonant.
STRONG = (1, 2, 3)


# Largest distance from a strong resonance, relative to the larger frequency, that counts as resonant.
RESONANT = 1e-6


def second_lyapunov_coefficient(flow: AbstractFlow, state: State, frequency: float) -> float:
    r"""Compute the second Lyapunov coefficient of a Bautin point whose critical eigenvalues are +-i `frequency`.

    $$ \ell_2 = \frac{\mathrm{Re}\, c_2}{\omega} = \frac{1}{12 \omega} \mathrm{Re}\, G_{32}, \qquad
        \dot w = i \omega w + c_1 w |w|^2 + c_2 w |w|^4, \qquad x = \sum_{j, k} h_{jk} w^j \bar w^k $$

    Here the centre manifold is expanded to fifth order with h10 = q, h01 its conjugate, A q = i omega q, |q| = 1, A^T
    p = -i omega p, <p, q> = 1 and <p, h21> = 0. The coefficients h solve the homological equation

    $$ [A - i \omega (j - k)] h_{jk} = [(j - 1) c_1 + (k - 1) \bar c_1] h_{j-1, k-1} - r_{jk} $$

    where r collects the contributions of lower-order h. If the result is negative, the outer one of the two periodic
    orbits that collide near the point is stable on the centre manifold; if positive, it is unstable. The result is NaN
    if another eigenvalue is zero.

    Source: Y. A. Kuznetsov, Numerical normalization techniques for all codim 2 bifurcations of equilibria in ODE's,
    SIAM J. Numer. Anal. 36 (1999), and Elements of Applied Bifurcation Theory, sections 8.3 and 8.7.
    """
    A = tangent_jacobian(flow, state)
    q, p, w = _critical(A, frequency)
    if w <= 0 or conditioning(A) <= SINGULAR:
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
    r"""Compute p11, p12, p21, p22, theta and delta of a double Hopf point; NaN at a strong resonance.

    On its centre manifold, at the critical parameters and to third order, the amplitudes follow
    $\dot r_j = r_j (p_{j1} r_1^2 + p_{j2} r_2^2)$. Index 1 belongs to the larger frequency; $\theta = p_{12} / p_{22}$
    and $\delta = p_{21} / p_{11}$. The case is simple if p11 p22 > 0, otherwise difficult, with tori that bifurcate in
    turn.

    $$ p_{jj} = \omega_j \ell_1^{(j)}, \qquad p_{jk} = \mathrm{Re} \langle p_j, C(q_j, q_k, \bar q_k)
        + B(h_{jk}, \bar q_k) + B(h_{j \bar k}, q_k) + B(h_{k \bar k}, q_j) \rangle $$

    Here A q_j = i omega_j q_j, |q_j| = 1, A^T p_j = -i omega_j p_j, <p_j, q_j> = 1 and (i (omega_j + omega_k) - A)
    h_jk = B(q_j, q_k). The same holds for the conjugate of q_k, with the frequency -omega_k.

    Source: Y. A. Kuznetsov, Elements of Applied Bifurcation Theory, sections 8.6 and 8.7.
    """
    fast, slow = max(frequencies), min(frequencies)
    if slow <= 0 or min(abs(fast - ratio * slow) for ratio in STRONG) <= RESONANT * fast:
        return (math.nan,) * 6
    p11, p22 = (w * lyapunov_coefficient(flow, state, w).value for w in (fast, slow))
    chart, A = flow_chart(flow, state)
    p12, p21 = _coupling(chart, A, fast, slow), _coupling(chart, A, slow, fast)
    return p11, p12, p21, p22, p12 / p22, p21 / p11


def _coupling(chart: FlowChart, A: np.ndarray, frequency: float, other: float) -> float:
    """Compute how the squared amplitude of one imaginary pair changes the growth rate of another pair."""
    (q, p, w), (r, _, v) = _critical(A, frequency), _critical(A, other)
    B = lambda a, b: second_derivative(chart, a, b).value
    solved = lambda rate, form: np.linalg.solve(1j * rate * np.eye(len(A)) - A, form)
    both, apart, steady = solved(w + v, B(q, r)), solved(w - v, B(q, r.conj())), solved(0.0, B(r, r.conj()))
    cubic = third_derivative(chart, q, r, r.conj()).value
    return float(np.vdot(p, cubic + B(both, r.conj()) + B(apart, r) + B(steady, q)).real)


def _critical(A: np.ndarray, frequency: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Find q, p and w with A q = i w q, A^T p = -i w p, |q| = <p, q> = 1 and w nearest to a frequency."""
    q, p, critical = eigenvectors_near(A, 1j * frequency)
    return q, p / np.conj(np.vdot(p, q)), critical.imag


def _rest(
    flow: AbstractFlow, state: State, h: dict[tuple[int, int], np.ndarray], order: int
) -> dict[tuple[int, int], np.ndarray]:
    """Expand the vector field along the sum of h_jk w^j w̄^k, with h known below `order`; give the terms of that order.

    For w = s e^{i a} the field is a polynomial in s whose coefficients are trigonometric polynomials in a.
    """
    terms = np.zeros((ORDER + 1, len(ANGLES), len(h[1, 0])))
    for (j, k), vector in h.items():
        terms[j + k] += np.real(np.exp(1j * (j - k) * ANGLES)[:, None] * vector)
    found = series(flow, state, tangent_basis(flow.space, state), terms)[order]
    phases = {(j, order - j): np.exp(-1j * (2 * j - order) * ANGLES) for j in range(order + 1)}
    return {pair: phase @ found / len(ANGLES) for pair, phase in phases.items()}
