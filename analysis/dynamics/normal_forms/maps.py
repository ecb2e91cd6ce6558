"""Compute normal form coefficients of maps at points of codimension two.

These are generalised period doublings, Chenciner points and 1:3 and 1:4 resonances. For period doublings and
Neimark-Sacker points themselves see `cycles`, of which a fixed point is one with a single node.
"""

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Complex, Float

from analysis.dynamics.linearisation import eigenvectors_near
from analysis.dynamics.normal_forms.charts import MapChart, chart_series

# Order of the normal form; fifth-order terms decide at generalised period doublings and at Chenciner points.
ORDER = 5


# Largest distance between a product of multipliers and a critical multiplier at which the term counts as resonant.
RESONANT = 1e-4


# Singular values below this share of the largest one count as zero in least-squares solutions.
CONDITIONED = 1e-10


# Exponent of each critical variable in a monomial.
Powers = tuple[int, ...]


def normal_form(chart: MapChart, A: Float[np.ndarray, "d d"], critical: Sequence[complex]) -> dict[Powers, complex]:
    r"""Compute the normal form of a map at a fixed point with simple critical multipliers, to fifth order.

    The result maps exponents to the coefficients of the image of the first critical variable. The centre manifold is
    $x = H(w) = \sum_\alpha h_\alpha w^\alpha$, and the map on it is $w \mapsto G(w)$. Comparing coefficients in
    $F(H(w)) = H(G(w))$ gives

    $$ (A - \lambda^\alpha) h_\alpha = s_\alpha + \sum_i g_{i \alpha} q_i - r_\alpha $$

    where r collects the contributions of lower-order h to F, and s those of lower-order h and g to H(G). A term g is
    kept where $\lambda^\alpha = \lambda_i$; it removes the component of the right-hand side along q_i. The h have no
    such component.

    Source: Y. A. Kuznetsov and H. G. E. Meijer, Numerical normal forms for codim 2 bifurcations of fixed points with at
    most two critical eigenvalues, SIAM J. Sci. Comput. 26 (2005).

    Args:
        chart: an iterate of a map, in tangent coordinates at its fixed point.
        A: Jacobian of the map there.
        critical: the critical multiplier 1 or -1, or a complex one and its conjugate. Eigenvectors have length one.
    """
    count = len(critical)
    pairs = [eigenvectors_near(A, value)[:2] for value in critical]
    if count == 2:  # the second pair of vectors is the complex conjugate of the first
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
    """Compute the terms of one order of the map at the sum of h_a w^a, where h holds lower orders only.

    Along w = s v the map is a polynomial in s. Here v = 1, or v = (e^{ia}, e^{-ia}) for several angles a.
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
    """Compute the terms of one order of the sum of h_a G(w)^a, without the h and G of that order."""
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
    """Multiply two polynomials, truncated at an order."""
    found: dict[Powers, complex] = {}
    for i, x in a.items():
        for j, y in b.items():
            at = tuple(k + m for k, m in zip(i, j, strict=True))
            if sum(at) <= order:
                found[at] = found.get(at, 0) + x * y
    return found


def generalised_flip_coefficient(chart: MapChart, A: Float[np.ndarray, "d d"]) -> float:
    r"""Compute e of a generalised period doubling, where the map on the centre manifold is $w \mapsto -w + e w^5$.

    The value holds at the critical parameters. If e is positive, the outer one of the two doubled cycles that collide
    near the point is stable on the centre manifold; if negative, it is unstable.

    Source: Y. A. Kuznetsov, Elements of Applied Bifurcation Theory, section 9.3.
    """
    return normal_form(chart, A, (-1.0,))[ORDER,].real


def chenciner_coefficient(chart: MapChart, A: Float[np.ndarray, "d d"], angle: float) -> float:
    r"""Compute the second Lyapunov coefficient of a Chenciner point with the multipliers $e^{\pm i \theta}$.

    $$ L_2 = \mathrm{Re}\, d_2 + \tfrac12 (\mathrm{Im}\, d_1)^2, \qquad
        w \mapsto e^{i \theta} w (1 + d_1 |w|^2 + d_2 |w|^4) $$

    The form holds on the centre manifold at the critical parameters, where |w| is multiplied by $1 + L_2 |w|^4$. If the
    result is negative, the outer one of the two invariant curves that collide near the point is stable there; if
    positive, it is unstable. The result is NaN at a strong resonance.

    Source: Y. A. Kuznetsov, Elements of Applied Bifurcation Theory, section 9.4.
    """
    if any(abs(np.exp(1j * k * angle) - 1) <= RESONANT for k in (1, 2, 3, 4)):
        return math.nan
    turn = np.exp(1j * angle)
    form = normal_form(chart, A, (turn, turn.conj()))
    first, second = (form[powers] / turn for powers in ((2, 1), (3, 2)))
    return float(second.real + first.imag**2 / 2)


def third_resonance_coefficient(chart: MapChart, A: Float[np.ndarray, "d d"]) -> float:
    r"""Compute a of a 1:3 resonance; its sign gives the stability of the invariant curve nearby.

    $$ a = \frac{\mathrm{Re}\, C_1}{|B_1|^2}, \qquad B_1 = 3 \bar\lambda b, \qquad C_1 = 3 \bar\lambda c - 3 |b|^2,
        \qquad w \mapsto \lambda w + b \bar w^2 + c w |w|^2 $$

    The form holds on the centre manifold at the critical parameters, with $\lambda = e^{2 \pi i / 3}$. The third
    iterate is nearly the unit-time shift along $\dot w = B_1 \bar w^2 + C_1 w |w|^2$. The invariant curve of a nearby
    Neimark-Sacker point is stable where a < 0. The result is NaN if b = 0.

    Source: Y. A. Kuznetsov, Elements of Applied Bifurcation Theory, section 9.5.3.
    """
    turn = np.exp(2j * np.pi / 3)
    form = normal_form(chart, A, (turn, turn.conj()))
    b, c = form[0, 2], form[2, 1]
    return float(((turn.conj() * c).real / abs(b) ** 2 - 1) / 3) if b else math.nan


def fourth_resonance_coefficient(chart: MapChart, A: Float[np.ndarray, "d d"]) -> tuple[float, float]:
    r"""Compute the real and the imaginary part of the coefficient A of a 1:4 resonance, which select its case.

    $$ A = \frac{C_1}{|D_1|}, \qquad C_1 = -4 i c, \qquad D_1 = -4 i d, \qquad w \mapsto i w + c w |w|^2 + d \bar w^3 $$

    The form holds on the centre manifold at the critical parameters. The fourth iterate is nearly the unit-time shift
    along $\dot w = C_1 w |w|^2 + D_1 \bar w^3$.

    Source: Y. A. Kuznetsov, Elements of Applied Bifurcation Theory, section 9.5.4.
    """
    form = normal_form(chart, A, (1j, -1j))
    c, d = form[2, 1], form[0, 3]
    found = -1j * c / abs(d) if d else complex(math.nan, math.nan)
    return float(found.real), float(found.imag)
