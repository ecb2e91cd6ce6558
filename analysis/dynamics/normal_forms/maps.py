"""Coefficients of normal forms of maps at period doublings and Neimark-Sacker points, from their derivatives."""

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Complex, Float

from analysis.dynamics.linearisation import eigenvectors_near
from analysis.dynamics.normal_forms.charts import Chart, MapChart, chart_series, second_derivative, third_derivative
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


ORDER = 5  # of the terms that decide at a generalised period doubling and at a Chenciner point


RESONANT = 1e-4  # the distance of a product of multipliers from a critical one below which their term is resonant


CONDITIONED = 1e-10  # relative: smaller singular values count as zero


Powers = tuple[int, ...]  # of each critical variable in a monomial


def normal_form(chart: MapChart, A: Float[np.ndarray, "d d"], critical: Sequence[complex]) -> dict[Powers, complex]:
    r"""Return the normal form of a map at a fixed point with simple critical multipliers, to the fifth order.

    It holds the coefficients of the image of the first critical variable, by the powers of all of them. With
    $x = H(w) = \sum_\alpha h_\alpha w^\alpha$ on the centre manifold, where the map is $w \mapsto G(w)$, the
    coefficients of $F(H(w)) = H(G(w))$ are

    $$ (A - \lambda^\alpha) h_\alpha = s_\alpha + \sum_i g_{i \alpha} q_i - r_\alpha $$

    in which r is what the h of lower orders give in F, and s what these and the g of lower orders give in H(G). Terms g
    are those with $\lambda^\alpha = \lambda_i$, for which the right-hand side has no part along q_i; the h have none.

    Source: Y. A. Kuznetsov and H. G. E. Meijer, Numerical normal forms for codim 2 bifurcations of fixed points with at
    most two critical eigenvalues, SIAM J. Sci. Comput. 26 (2005).

    Args:
        chart: an iterate of a map, in coordinates at a fixed point of it.
        A: its derivative there.
        critical: the critical multiplier 1 or -1, or a complex one and its conjugate; vectors have the length one.
    """
    count = len(critical)
    pairs = [eigenvectors_near(A, value)[:2] for value in critical]
    if count == 2:  # the second vectors are the conjugates of the first ones
        pairs[1] = (pairs[0][0].conj(), pairs[0][1].conj())
    qs = [q for q, _ in pairs]
    ps = [p / np.conj(np.vdot(p, q)) for q, p in pairs]
    unit = [tuple(int(i == j) for j in range(count)) for i in range(count)]
    h: dict[Powers, np.ndarray] = dict(zip(unit, qs, strict=True))
    G: list[dict[Powers, complex]] = [{unit[i]: complex(critical[i])} for i in range(count)]
    for order in range(2, ORDER + 1):
        rest, known = _of_map(chart, h, order), _composed(h, G, order)
        for powers in _powers(count, order):
            right = known.get(powers, 0) - rest[powers]
            product = complex(np.prod([m**k for m, k in zip(critical, powers, strict=True)]))
            resonant = [i for i in range(count) if abs(product - critical[i]) <= RESONANT]
            for i in resonant:
                G[i][powers] = -complex(np.vdot(ps[i], right))
                right = right + G[i][powers] * qs[i]
            rows = [A - product * np.eye(len(A)), *(ps[i].conj()[None] for i in resonant)]
            full = np.append(right, np.zeros(len(resonant)))
            h[powers] = np.linalg.lstsq(np.vstack(rows), full, rcond=CONDITIONED)[0]
    return G[0]


def _powers(count: int, order: int) -> list[Powers]:
    return [(order,)] if count == 1 else [(j, order - j) for j in range(order, -1, -1)]


def _of_map(chart: MapChart, h: dict[Powers, np.ndarray], order: int) -> dict[Powers, Complex[np.ndarray, " d"]]:
    """Return the coefficients of an order of the map at the sum of h_a w^a, in which h has the lower orders alone.

    For w = s v, with v = 1, or with v = e^{ia} and its conjugate for several a, the map is a polynomial in s.
    """
    count = len(next(iter(h)))
    angles = 2 * np.pi * np.arange(2 * ORDER + 2) / (2 * ORDER + 2)
    ways = np.stack([np.exp(1j * angles), np.exp(-1j * angles)][:count], axis=1) if count > 1 else np.ones((1, 1))
    terms = np.zeros((ORDER + 1, len(ways), len(next(iter(h.values())))))
    for powers, vector in h.items():
        terms[sum(powers)] += np.real(np.prod(ways**powers, axis=1)[:, None] * vector)
    found = chart_series(chart, terms)[order]
    wanted = _powers(count, order)
    matrix = np.stack([np.prod(ways**powers, axis=1) for powers in wanted], axis=1)
    solved = np.linalg.lstsq(matrix, found.astype(complex), rcond=CONDITIONED)[0]
    return dict(zip(wanted, solved, strict=True))


def _composed(
    h: dict[Powers, np.ndarray], G: list[dict[Powers, complex]], order: int
) -> dict[Powers, Complex[np.ndarray, " d"]]:
    """Return the terms of an order of the sum of h_a G(w)^a, without those of h and of G of this order."""
    found: dict[Powers, np.ndarray] = {}
    for powers, vector in h.items():
        product: dict[Powers, complex] = {(0,) * len(powers): 1.0}
        for i, k in enumerate(powers):
            for _ in range(k):
                product = _times(product, G[i], order)
        for at, value in product.items():
            if sum(at) == order:
                found[at] = found.get(at, 0) + value * vector
    return found


def _times(a: dict[Powers, complex], b: dict[Powers, complex], order: int) -> dict[Powers, complex]:
    """Return the product of two polynomials up to an order."""
    found: dict[Powers, complex] = {}
    for i, x in a.items():
        for j, y in b.items():
            at = tuple(k + m for k, m in zip(i, j, strict=True))
            if sum(at) <= order:
                found[at] = found.get(at, 0) + x * y
    return found


def generalised_flip_coefficient(chart: MapChart, A: Float[np.ndarray, "d d"]) -> float:
    r"""Return the coefficient of a generalised period doubling, where the map is $w \mapsto -w + e w^5$.

    It is that of the centre manifold at the point itself. Where it is positive, the outer one of two doubled cycles
    that meet near the point is stable on the centre manifold, where it is negative, unstable.

    Source: Y. A. Kuznetsov, Elements of Applied Bifurcation Theory, section 9.3.
    """
    return normal_form(chart, A, (-1.0,))[ORDER,].real


def chenciner_coefficient(chart: MapChart, A: Float[np.ndarray, "d d"], angle: float) -> float:
    r"""Return the second Lyapunov coefficient of a Chenciner point with the multipliers $e^{\pm i \theta}$.

    $$ L_2 = \mathrm{Re}\, d_2 + \tfrac12 (\mathrm{Im}\, d_1)^2, \qquad
        w \mapsto e^{i \theta} w (1 + d_1 |w|^2 + d_2 |w|^4) $$

    on the centre manifold at the point itself: the modulus of w is multiplied by $1 + L_2 |w|^4$. Where it is negative,
    the outer one of two invariant curves that meet near the point is stable there, where it is positive, unstable. NaN
    at a strong resonance.

    Source: Y. A. Kuznetsov, Elements of Applied Bifurcation Theory, section 9.4.
    """
    if any(abs(np.exp(1j * k * angle) - 1) <= RESONANT for k in (1, 2, 3, 4)):
        return math.nan
    turn = np.exp(1j * angle)
    form = normal_form(chart, A, (turn, turn.conj()))
    first, second = (form[powers] / turn for powers in ((2, 1), (3, 2)))
    return float(second.real + first.imag**2 / 2)


def third_resonance_coefficient(chart: MapChart, A: Float[np.ndarray, "d d"]) -> float:
    r"""Return the coefficient a of a 1:3 resonance, which decides about its invariant curve where it is not zero.

    $$ a = \frac{\mathrm{Re}\, C_1}{|B_1|^2}, \qquad B_1 = 3 \bar\lambda b, \qquad C_1 = 3 \bar\lambda c - 3 |b|^2,
        \qquad w \mapsto \lambda w + b \bar w^2 + c w |w|^2 $$

    on the centre manifold at the point itself, with $\lambda = e^{2 \pi i / 3}$: the third iterate is nearly the unit
    shift of $\dot w = B_1 \bar w^2 + C_1 w |w|^2$. The curve of a nearby Neimark-Sacker point is stable where a < 0.

    Source: Y. A. Kuznetsov, Elements of Applied Bifurcation Theory, section 9.5.3.
    """
    turn = np.exp(2j * np.pi / 3)
    form = normal_form(chart, A, (turn, turn.conj()))
    b, c = form[0, 2], form[2, 1]
    return float(((turn.conj() * c).real / abs(b) ** 2 - 1) / 3) if b else math.nan


def fourth_resonance_coefficient(chart: MapChart, A: Float[np.ndarray, "d d"]) -> tuple[float, float]:
    r"""Return the real and the imaginary part of the coefficient of a 1:4 resonance, which decides about its case.

    $$ A = \frac{C_1}{|D_1|}, \qquad C_1 = -4 i c, \qquad D_1 = -4 i d, \qquad w \mapsto i w + c w |w|^2 + d \bar w^3 $$

    on the centre manifold at the point itself: the fourth iterate is nearly the unit shift of
    $\dot w = C_1 w |w|^2 + D_1 \bar w^3$.

    Source: Y. A. Kuznetsov, Elements of Applied Bifurcation Theory, section 9.5.4.
    """
    form = normal_form(chart, A, (1j, -1j))
    c, d = form[2, 1], form[0, 3]
    found = -1j * c / abs(d) if d else complex(math.nan, math.nan)
    return float(found.real), float(found.imag)
