"""Normal forms at degenerate points of curves of Hopf points: Bautin points and double Hopf points."""

import math

import numpy as np
from jaxtyping import Float

from analysis.dynamics.linearisation import eigenvectors_near, tangent_basis, tangent_jacobian
from analysis.dynamics.normal_forms.charts import FlowChart, second_derivative, series, third_derivative
from analysis.dynamics.normal_forms.flows import SINGULAR, lyapunov_coefficient
from dynsim._core.types import State
from dynsim.systems.base import AbstractFlow

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
