"""Compute the spectral gap of a generator, and the step sizes for which forward Euler converges."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg

from analysis.chains.classes import classes_of_pattern, periods
from analysis.chains.reversibility import tree_balance
from analysis.chains.stationary import stationary_distributions
from dynsim._core.printing import one_line, report
from dynsim.errors import ArgumentError
from dynsim.systems.master_equation.checks import Matrix, check_generator, exit_rates, num_states
from dynsim.systems.master_equation.flow import step_bound

# Largest number of states for which all eigenvalues are computed.
DENSE = 1000
# Shift of the sparse eigenvalue solvers, relative to the largest exit rate.
SHIFT = 1e-9
# Number of nonzero eigenvalues computed for large chains that are not reversible.
NUM_NONZERO = 6
EPSILON = float(np.finfo(float).eps)


@dataclass(frozen=True)
class SpectralGap:
    """Spectral gap: -Re of the nonzero `eigenvalue` nearest to the imaginary axis, per time unit.

    The multiplicity of the eigenvalue zero is the number of closed classes. `error` estimates the error of `value`; a
    gap below it is not resolved. With the method `arnoldi` only the eigenvalues of least modulus were computed. The gap
    is infinite if all states are absorbing.
    """

    value: float
    eigenvalue: complex
    error: float
    method: str

    __repr__ = one_line
    __str__ = report

    @property
    def relaxation_time(self) -> float:
        """Relaxation time, in which the slowest mode decays by a factor e."""
        return 1 / self.value if self.value > 0 else math.inf


@dataclass(frozen=True)
class EulerBounds:
    r"""Bounds of the step size of forward Euler, $p \leftarrow (I + \tau Q) p$, in the time unit of Q.

    Up to `nonnegative`, the inverse of the largest exit rate, the iterates are probability distributions. Below
    `convergent`, the least $-2\,\mathrm{Re}\,\lambda / |\lambda|^2$ over the nonzero eigenvalues, they converge from
    every initial distribution; above it they do not. `period` is the largest period of a closed class at the step
    `nonnegative`: if it exceeds 1, the iterates do not converge there, and the two bounds are equal.
    """

    nonnegative: float
    convergent: float
    period: int

    __repr__ = one_line

    def __str__(self) -> str:
        """Describe the bounds, and whether the iterates converge at the first, in one sentence."""
        end = "converges" if self.period == 1 else f"is periodic (period {self.period}) and does not converge"
        return (
            f"Forward Euler keeps probabilities up to the step {self.nonnegative:.6g}, where it {end}; "
            f"it converges below {self.convergent:.6g}."
        )


def spectral_gap(generator: Any) -> SpectralGap:
    """Compute the spectral gap of a generator, shape (k, k), including transient states.

    Up to 1000 states it is computed from all eigenvalues (symmetrised if reversible), above by shift-invert Lanczos or
    Arnoldi iteration.

    Raises:
        ValueError: unless the matrix is a generator.

    Example:
        >>> import numpy as np
        >>> from analysis.chains import spectral_gap
        >>> round(spectral_gap(np.array([[-1.0, 2.0], [1.0, -2.0]])).value, 4)
        3.0
    """
    Q = check_generator(generator)
    closed = classes_of_pattern(Q).num_closed
    if num_states(Q) <= closed:
        return SpectralGap(math.inf, complex(-math.inf), 0.0, "none")
    balance = tree_balance(Q)
    if balance.reversible and np.ptp(balance.log_weights) < 600:
        return _symmetric(_symmetrised(Q, np.exp(balance.log_weights.astype(float))), closed)
    return _all(Q, closed) if num_states(Q) <= DENSE else _nearest(scipy.sparse.csc_array(Q.astype(float)), closed)


def reversibilised_gap(generator: Any) -> float:
    r"""Compute the spectral gap g* of the additive reversibilisation $(Q + Q^*) / 2$; Q* is the time reversal.

    $\chi^2(p, \pi)$ decays at least as fast as $e^{-2g^*t}$. The generator, shape (k, k), must have one closed class;
    the gap is zero if there are transient states.

    Raises:
        ValueError: for several closed classes.

    Example:
        >>> import numpy as np
        >>> from analysis.chains import reversibilised_gap
        >>> cycle = np.array([[-1.0, 0.0, 1.0], [1.0, -1.0, 0.0], [0.0, 1.0, -1.0]])
        >>> round(reversibilised_gap(cycle), 4)  # 1 - cos(120 degrees)
        1.5
    """
    return gap_of_reversibilisation(check_generator(generator)).value


def gap_of_reversibilisation(Q: Matrix) -> SpectralGap:
    """Compute `reversibilised_gap` of a checked generator, with its error."""
    stationary = stationary_distributions(Q).only.probabilities.astype(float)
    if np.min(stationary) == 0:
        return SpectralGap(0.0, 0j, 0.0, "none")
    return _symmetric(_symmetrised(Q, stationary), 1)


def euler_bounds(generator: Any) -> EulerBounds:
    """Compute the step-size bounds of forward Euler for a generator with at most 1000 states, or a reversible one.

    Raises:
        ValueError: for a larger chain that is not reversible: the second bound would need all its eigenvalues.

    Example:
        >>> import numpy as np
        >>> from analysis.chains import euler_bounds
        >>> bounds = euler_bounds(np.array([[-1.0, 2.0], [1.0, -2.0]]))  # exit rates 1 and 2, eigenvalue -3
        >>> round(bounds.nonnegative, 4), round(bounds.convergent, 4), bounds.period
        (0.5, 0.6667, 1)
    """
    Q = check_generator(generator)
    bound = float(step_bound(Q))
    if math.isinf(bound):
        return EulerBounds(math.inf, math.inf, 1)
    k, closed = num_states(Q), classes_of_pattern(Q).num_closed
    I = scipy.sparse.eye_array(k, format="csc") if scipy.sparse.issparse(Q) else np.eye(k)
    step = np.array(I + bound * Q.astype(float)) if isinstance(Q, np.ndarray) else I + bound * Q
    diagonal = exit_rates(Q).astype(float) * bound
    step = _without_rounding(scipy.sparse.csc_array(step), diagonal >= 1 - 4 * EPSILON)
    at_bound = max(periods(step.T))
    return EulerBounds(bound, 2 * _least_ratio(Q, closed), at_bound)


def _without_rounding(step: scipy.sparse.csc_array, left: np.ndarray) -> scipy.sparse.csc_array:
    """Compute I + tau Q at tau = 1 / (largest exit rate), with exact zeros on the diagonal where `left` is true."""
    stays = np.where(left, 0.0, step.diagonal())
    off = step - scipy.sparse.diags_array(step.diagonal())
    found = scipy.sparse.csc_array(off + scipy.sparse.diags_array(stays))
    found.eliminate_zeros()
    return found


def _least_ratio(Q: Matrix, closed: int) -> float:
    """Compute the smallest $-Re(lambda) / |lambda|^2$ over the nonzero eigenvalues."""
    if num_states(Q) <= DENSE:
        dense = Q if isinstance(Q, np.ndarray) else Q.toarray()
        values = np.linalg.eigvals(dense.astype(float))
        values = values[np.argsort(abs(values))][closed:]
        return float(np.min(-values.real / abs(values) ** 2, initial=math.inf))
    balance = tree_balance(Q)
    if not balance.reversible:
        must = f"have at most {DENSE} states or be reversible"
        raise ArgumentError("generator", must, f"has {num_states(Q)} states")
    S = _symmetrised(Q, np.exp(balance.log_weights.astype(float)))
    lowest = scipy.sparse.linalg.eigsh(S, k=1, which="SA", v0=_start(num_states(Q)), return_eigenvectors=False)
    return float(-1 / lowest[0])


def _symmetrised(Q: Matrix, weights: np.ndarray) -> scipy.sparse.csc_array:
    r"""Compute $\pi^{-1/2} Q \pi^{1/2}$, which is symmetric if Q is reversible with respect to the weights $\pi$."""
    root = np.sqrt(weights / np.max(weights))
    middle = scipy.sparse.csc_array(Q.astype(float))
    return scipy.sparse.csc_array(scipy.sparse.diags_array(1 / root) @ middle @ scipy.sparse.diags_array(root))


def _symmetric(S: Any, closed: int) -> SpectralGap:
    S = scipy.sparse.csc_array((S + S.T) / 2)
    size = float(np.max(abs(S.diagonal())))
    if num_states(S) <= DENSE:
        values = np.linalg.eigvalsh(S.toarray())
        value, method = float(-values[-1 - closed]), "all eigenvalues, symmetrised"
        return SpectralGap(max(value, 0.0), complex(-value), 4 * EPSILON * size * math.sqrt(num_states(S)), method)
    values, vectors = scipy.sparse.linalg.eigsh(
        S, k=closed + 1, sigma=SHIFT * size, which="LM", v0=_start(num_states(S))
    )
    place = np.argsort(-values)[closed]
    value, v = float(values[place]), vectors[:, place]
    error = float(np.linalg.norm(S @ v - value * v)) + EPSILON * size
    return SpectralGap(max(-value, 0.0), complex(value), error, "lanczos, shift-invert")


def _all(Q: Matrix, closed: int) -> SpectralGap:
    dense = (Q if isinstance(Q, np.ndarray) else Q.toarray()).astype(float)
    found: Any = scipy.linalg.eig(dense, left=True, right=True)
    values, left, right = found
    order = np.argsort(abs(values))[closed:]
    slowest = order[np.argmax(values[order].real)]
    angle = abs(np.vdot(left[:, slowest], right[:, slowest]))
    error = EPSILON * float(np.linalg.norm(dense, 2)) * math.sqrt(len(dense)) / float(max(angle, EPSILON))
    return SpectralGap(max(float(-values[slowest].real), 0.0), complex(values[slowest]), error, "all eigenvalues")


def _nearest(Q: scipy.sparse.csc_array, closed: int) -> SpectralGap:
    size = float(np.max(exit_rates(Q)))
    found: Any = scipy.sparse.linalg.eigs(Q, k=closed + NUM_NONZERO, sigma=SHIFT * size, v0=_start(num_states(Q)))
    values, vectors = found
    order = np.argsort(abs(values))[closed:]
    slowest = order[np.argmax(values[order].real)]
    v = vectors[:, slowest]
    error = float(np.linalg.norm(Q @ v - values[slowest] * v)) + EPSILON * size
    return SpectralGap(max(float(-values[slowest].real), 0.0), complex(values[slowest]), error, "arnoldi, shift-invert")


def _start(k: int) -> np.ndarray:
    """Build a deterministic initial vector for the eigenvalue solvers, generic with respect to eigenvectors."""
    return 1 + np.cos(np.arange(k) * math.sqrt(2))
