r"""Compute normal form coefficients of periodic orbits from maps between surfaces across them.

An orbit has m nodes, with coordinates on a surface across the orbit at each. The maps from each surface to the next one
take the critical vectors $v_k$ of the nodes to each other, and the last one to $\mu v_0$ with the critical multiplier
$\mu$. The homological equations are solved for all nodes together, as in multiple shooting: no derivative of the whole
return map appears, whose largest multiplier would hide the critical one. The coefficients are those of the return map
on its centre manifold, whichever node it begins at, for the critical vectors that are returned with them.

Source: Y. A. Kuznetsov, Elements of Applied Bifurcation Theory, section 5.4, for one node.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Inexact

from analysis.dynamics.normal_forms.charts import Chart, Form, second_derivative, third_derivative
from analysis.dynamics.normal_forms.flows import SINGULAR, Coefficient, weighed
from analysis.dynamics.sparse.matrices import conditioning, pseudo_inverse
from dynsim._core.printing import one_line


class Sections(NamedTuple):
    """Maps from the surface at each node to that at the next one, and their derivatives at the nodes, (m, d, d)."""

    maps: Sequence[Chart]
    factors: Float[np.ndarray, "m d d"]


class CriticalForm(NamedTuple):
    """Coefficient, and the critical vectors at all nodes for which it holds, (m, d)."""

    coefficient: Coefficient
    vectors: Inexact[np.ndarray, "m d"]

    __repr__ = one_line


def closed(factors: Float[np.ndarray, "m d d"], multiplier: complex) -> Inexact[np.ndarray, "md md"]:
    """Build the matrix that vanishes on vectors which factors take to the next ones, and to a multiple of the first.

    >>> closed(np.array([[[2.0]], [[3.0]]]), 6.0).tolist()
    [[2.0, -1.0], [-6.0, 3.0]]
    """
    m, d = factors.shape[:2]
    found = np.zeros((m * d, m * d), complex if np.iscomplexobj(multiplier) else float)
    for k, A in enumerate(factors):
        after, rows = (k + 1) % m, slice(k * d, (k + 1) * d)
        found[rows, rows] += A
        found[rows, after * d : (after + 1) * d] -= np.eye(d) * (1.0 if after else multiplier)
    return found


def cycle_flip(at: Sections) -> CriticalForm | None:
    r"""Compute c of a period doubling, where the return map on its centre manifold is $u \mapsto -u + c u^3$.

    If c is positive, the bifurcation is supercritical: the doubled orbits are stable on the centre manifold. The result
    is None if the multiplier -1 is not simple, or another multiplier is 1. For one node, with derivatives A, B and C,
    |q| = 1 and <p, q> = 1,

    $$ c = \frac16 \langle p, C(q, q, q) \rangle - \frac12 \langle p, B(q, (A - I)^{-1} B(q, q)) \rangle. $$
    """
    v, p = _critical(at, -1.0)
    steady = closed(at.factors, 1.0)
    if p is None or conditioning(steady) <= SINGULAR:
        return None
    h = np.linalg.solve(steady, -np.real(_second(at, v, v).value))
    return _form(at, v, weighed(p, (1 / 6, _third(at, v, v, v)), (1 / 2, _second(at, v, h))), 1.0)


def cycle_neimark_sacker(at: Sections, angle: float) -> CriticalForm | None:
    r"""Compute a of a Neimark-Sacker point, where |u| is multiplied by $1 + a |u|^2$ on the centre manifold.

    If a is negative, the bifurcation is supercritical: the invariant curve is stable on the centre manifold. At strong
    resonances its sign decides nothing. The result is None if another multiplier is 1, at the strong resonance 1:3, or
    if the pair is not simple. For one node

    $$
        a = \frac12 \mathrm{Re} \left\{ e^{-i \theta} \left[ \langle p, C(q, q, \bar q) \rangle
            + 2 \langle p, B(q, (I - A)^{-1} B(q, \bar q)) \rangle
            + \langle p, B(\bar q, (e^{2 i \theta} I - A)^{-1} B(q, q)) \rangle \right] \right\}.
    $$
    """
    turn = np.exp(1j * angle)
    v, p = _critical(at, turn)
    steady, double = closed(at.factors, 1.0), closed(at.factors, turn**2)
    if p is None or min(conditioning(steady), conditioning(double)) <= SINGULAR:
        return None
    h11 = np.linalg.solve(steady, -_second(at, v, v.conj()).value)
    h20 = np.linalg.solve(double, -_second(at, v, v).value)
    terms = (1 / 2, _third(at, v, v, v.conj())), (1.0, _second(at, v, h11)), (1 / 2, _second(at, v.conj(), h20))
    return _form(at, v, weighed(p, *terms), turn)


def cycle_fold(at: Sections, slopes: Float[np.ndarray, "m d"]) -> CriticalForm | None:
    """Compute c of a fold, near which the parameter is that of the fold plus c u^2.

    The result is None if the parameter does not move the images along the left null vector, as at a branch point.

    Args:
        at: the maps.
        slopes: their derivatives by the parameter.
    """
    v, p = _null(at, 1.0)
    across = float(p @ slopes.ravel())
    if abs(across) <= SINGULAR * float(np.linalg.norm(slopes)):
        return None
    value, size = weighed(p, (-1 / 2, _second(at, v, v)))
    return _form(at, v, (value / across, size / abs(across)), 1.0)


def cycle_cusp(at: Sections) -> CriticalForm | None:
    r"""Compute c of a cusp, where the return map on its centre manifold is $u \mapsto u + c u^3$.

    The result is None if the multiplier 1 is not simple. A flow has the coefficient of the map $x \mapsto x + f(x)$,
    with $\dot u = c u^3$ on the centre manifold: for one node, with derivatives A - I, B and C, |q| = 1 and <p, q> = 1,

    $$ c = \frac16 \langle p, C(q, q, q) + 3 B(q, h) \rangle, \qquad (A - I) h = -B(q, q). $$

    If c is negative, the single solution outside the cusp wedge is stable on the centre manifold.

    Source: Y. A. Kuznetsov, Elements of Applied Bifurcation Theory, section 8.7.
    """
    v, p = _critical(at, 1.0)
    if p is None:
        return None
    h = -pseudo_inverse(closed(at.factors, 1.0), v, p)(np.real(_second(at, v, v).value))
    return _form(at, v, weighed(p, (1 / 6, _third(at, v, v, v)), (1 / 2, _second(at, v, h))), 1.0)


def _form(at: Sections, v: np.ndarray, found: tuple[complex, float], turn: complex) -> CriticalForm:
    """Divide a coefficient by the critical multiplier if that is complex, and keep its real part."""
    value = (found[0] / turn).real
    return CriticalForm(Coefficient(float(value), float(found[1])), v.reshape(len(at.maps), -1))


def _null(at: Sections, multiplier: complex) -> tuple[np.ndarray, np.ndarray]:
    """Find the right and the left critical vectors of all nodes together, of length one."""
    left, _, right = np.linalg.svd(closed(at.factors, multiplier))
    return right[-1].conj(), left[:, -1]


def _critical(at: Sections, multiplier: complex) -> tuple[np.ndarray, np.ndarray | None]:
    """Find the critical vectors, the left one scaled by its product with the right one; None if that is zero."""
    v, p = _null(at, multiplier)
    d = at.factors.shape[1]
    share = complex(np.vdot(p[-d:], v[:d]))  # the last map ends at the first node
    return v, None if abs(share) <= SINGULAR else p / np.conj(share if np.iscomplexobj(p) else share.real)


def _second(at: Sections, u: np.ndarray, v: np.ndarray) -> Form:
    return _at_all_nodes(second_derivative, at, u, v)


def _third(at: Sections, u: np.ndarray, v: np.ndarray, w: np.ndarray) -> Form:
    return _at_all_nodes(third_derivative, at, u, v, w)


def _at_all_nodes(derivative: Callable[..., Form], at: Sections, *vectors: np.ndarray) -> Form:
    """Evaluate a derivative of every map along its part of each vector."""
    parts = zip(*(v.reshape(len(at.maps), -1) for v in vectors), strict=True)
    found = [derivative(chart, *part) for chart, part in zip(at.maps, parts, strict=True)]
    return Form(*(np.concatenate(rows) for rows in zip(*found, strict=True)))
