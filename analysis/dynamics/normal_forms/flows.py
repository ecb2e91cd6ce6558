"""Coefficients of normal forms at folds and Hopf points, from the second and third derivatives of a system."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Inexact

from analysis.dynamics.linearisation import eigenvectors_near, null_vectors, tangent_basis, tangent_jacobian
from analysis.dynamics.normal_forms.charts import Chart, FlowChart, Form, second_derivative, third_derivative
from dynsim._core.types import State
from dynsim.systems.base import AbstractFlow

SINGULAR = 1e-10  # relative: with a smaller singular value of the Jacobian a coefficient is not defined


class Coefficient(NamedTuple):
    """A coefficient of a normal form, and the size of the terms whose sum it is, which has the same unit.

    Both change by the same factor where the units of the components of the state or of time change.
    """

    value: float
    size: float

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
