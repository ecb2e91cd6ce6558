r"""Decide whether an equilibrium in the plane with imaginary eigenvalues is a centre or a weak focus.

It is a centre if the field preserves a density, $\mathrm{div}(M f) = 0$, for then it has a first integral with an
extremum there; or if the field is reversible, $f(R x) = -R f(x)$ for a reflection R. Both are measured at states around
the equilibrium, up to rounding errors; this is evidence and no proof. Otherwise the sign of the first Lyapunov
coefficient decides, if that is not zero.

Source: S. H. Strogatz, Nonlinear Dynamics and Chaos, theorems 6.5.1 and 6.6.1; Y. A. Kuznetsov, Elements of Applied
Bifurcation Theory, section 3.5, for the coefficient.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Complex, Float

from analysis.dynamics.equilibria.field_rows import FieldRows
from analysis.dynamics.equilibrium_types import CENTRE
from analysis.dynamics.normal_forms.flows import lyapunov_coefficient
from dynsim._core.types import State
from dynsim.systems.base import AbstractFlow

# Distances from the equilibrium, in units of the search, at which the field is looked at, and states at each of them.
RADII, STATES = (1 / 4, 1 / 16, 0.15), 32
# Divergence, relative to the sum of the sizes of its terms, that is rounding.
DIVERGENCE = 1e-9
# Error of the reversed field, relative to its terms that are not linear, and to the field, that is rounding.
REVERSED, ROUNDING = 1e-7, 1e-12
# First Lyapunov coefficient, relative to the sizes of its terms, that counts as zero.
ZERO = 1e-6


def centre_type(
    rows: FieldRows, x: Float[np.ndarray, " d"], A: Float[np.ndarray, "d d"], flow: AbstractFlow, state: State
) -> str:
    """Name an equilibrium with imaginary eigenvalues: a centre, a weak focus, or a centre of the linearisation.

    Args:
        rows: the field, in units in which it is of order one.
        x: the equilibrium in these units, flattened.
        A: its Jacobian.
        flow: the flow in these units.
        state: the equilibrium.
    """
    if len(x) != 2 or not rows.is_flat:
        return CENTRE
    angles = 2 * np.pi * (np.arange(STATES) + 0.3) / STATES
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    if density := _preserved(rows, x, np.concatenate([r * ring for r in RADII])):
        return f"centre ({density} is conserved)"
    if _is_reversible(rows, x, A):
        return "centre (the field is reversible)"
    if float(rows.t) != 0:
        return CENTRE
    first = lyapunov_coefficient(flow, state, float(np.max(np.abs(np.imag(np.linalg.eigvals(A))))))
    if not abs(first.value) > ZERO * first.size:
        return CENTRE
    return f"{'stable' if first.value < 0 else 'unstable'} weak focus"


def _preserved(rows: FieldRows, x: np.ndarray, away: np.ndarray) -> str:
    """Name the density that the field preserves around a state: area, or area over the product of components."""
    field, slopes = rows(x + away)
    terms = np.diagonal(slopes, axis1=1, axis2=2)
    with np.errstate(all="ignore"):
        logarithmic = -field / (x + away)
    sizes = np.linalg.norm(slopes, axis=(1, 2))
    for name, more in (("area", 0 * field), ("area in logarithms", logarithmic)):
        total, size = np.sum(terms + more, axis=1), np.sum(np.abs(terms) + np.abs(more), axis=1)
        if _hold(np.abs(total) <= DIVERGENCE * size + ROUNDING * sizes, total):
            return name
    return ""


def _hold(tests: np.ndarray, values: np.ndarray) -> bool:
    """Test whether tests hold at all states at which values are finite, which must be most of them."""
    known = np.isfinite(values)
    return bool(np.mean(known) > 0.75 and np.all(tests[known]))


def _is_reversible(rows: FieldRows, x: np.ndarray, A: np.ndarray) -> bool:
    r"""Test whether a reflection through a state reverses the field.

    In the complex coordinate in which A turns by $i \omega$, the reflections that reverse A are $z \mapsto e^{i \theta}
    \bar z$. On a circle $z = r e^{i \varphi}$ the field $\sum_m c_m e^{i m \varphi}$ is reversed if the number
    $2 \arg c_m + (m - 1) \theta$ is an odd multiple of pi for all m. The largest term that is not linear gives the
    angles that may do.
    """
    values, vectors = np.linalg.eig(A)
    k = int(np.argmax(np.imag(values)))
    frame = np.stack([np.real(vectors[:, k]), -np.imag(vectors[:, k])], axis=1)  # z = u + i v turns by + i omega
    omega, frame = float(np.imag(values[k])), frame / np.linalg.norm(frame, 2)
    back = np.linalg.inv(frame)

    def field(z: Complex[np.ndarray, " points"]) -> Complex[np.ndarray, " points"]:
        found = rows.field(x + np.stack([np.real(z), np.imag(z)], axis=1) @ frame.T) @ back.T
        return found[:, 0] + 1j * found[:, 1]

    circle = np.exp(2j * np.pi * (np.arange(STATES) + 0.3) / STATES)
    found = field(RADII[0] * circle) * circle.conj()
    if not np.all(np.isfinite(found)):
        return False
    orders = np.fft.fftfreq(STATES, 1 / STATES)
    terms = np.fft.fft(found) / STATES * np.exp(-2j * np.pi * 0.3 * orders / STATES)  # of order m - 1
    most = 1 + int(np.argmax(np.abs(terms[1:])))
    order = int(orders[most])
    thetas = (np.pi - 2 * np.angle(terms[most]) + 2 * np.pi * np.arange(abs(order))) / order
    return any(all(_reverses(field, r * circle, theta, omega) for r in RADII) for theta in thetas)


def _reverses(field: Callable[[np.ndarray], np.ndarray], z: np.ndarray, theta: float, omega: float) -> bool:
    turn = np.exp(1j * theta)
    here, there = field(z), field(turn * z.conj())
    error = np.abs(there + turn * here.conj())
    bound = REVERSED * np.max(np.abs(here - 1j * omega * z)) + ROUNDING * np.max(np.abs(here))
    return bool(np.all(error <= bound))
