"""Analyse collapse, the equilibrium at which all prototypes coincide: Hessian in closed form, critical temperature."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from dynsim._core.checked import checked
from dynsim._core.printing import one_line, report
from dynsim._core.types import ArrayLike
from dynsim._core.validation import integer, number
from dynsim.errors import ArgumentError
from dynsim.systems.prototypes.flow import as_points
from dynsim.systems.prototypes.losses import PrototypeLoss

FACTORS = {"frozen": 2.0, "full": 4.0}
"""Ratio of the critical temperature to the largest eigenvalue of the covariance, in each mode."""


class CollapseSpectrum(NamedTuple):
    """Eigenvalues of the Hessian by the prototypes at collapse, in units of the loss over a squared length.

    `common` belongs to displacements of all prototypes together; its multiplicity is m. `splitting` are the m
    eigenvalues, ascending, of displacements that sum to zero, each with multiplicity k - 1.
    """

    common: float
    splitting: Float[np.ndarray, " m"]
    count: int

    __repr__ = one_line
    __str__ = report

    @property
    def values(self) -> Float[np.ndarray, " km"]:
        """All k m eigenvalues with their multiplicities, ascending."""
        m = len(self.splitting)
        return np.sort(np.concatenate([np.full(m, self.common), np.repeat(self.splitting, self.count - 1)]))

    @property
    def index(self) -> int:
        """The number of negative eigenvalues: the dimension of the unstable subspace of collapse."""
        return int(np.sum(self.values < 0))


@checked
def collapse(z: ArrayLike, k: int, loss: PrototypeLoss | None = None) -> Float[np.ndarray, "k m"]:
    """Place k prototypes at the collapse point: the mean of the embeddings, drawn towards zero by a ridge.

    It is an equilibrium of the flow with frozen encoder at every temperature, in both modes.

    Args:
        z: embeddings, (n, m).
        k: number of prototypes.
        loss: the loss; by default without ridge.

    Raises:
        ValueError: for a loss with a barrier, which is infinite there.

    Example:
        >>> from analysis.prototypes import collapse
        >>> collapse([[-1.0], [3.0]], 2).tolist()
        [[1.0], [1.0]]
    """
    points, loss = _embeddings(z), PrototypeLoss() if loss is None else loss
    count, stiffness = integer("k", k, least=1), _stiffness(points, k, loss)
    mean = np.mean(points, axis=0) * stiffness / (stiffness + float(loss.ridge))
    return np.tile(mean, (count, 1))


@checked
def collapse_spectrum(z: ArrayLike, k: int, temperature: float, loss: PrototypeLoss) -> CollapseSpectrum:
    r"""Compute the spectrum of the Hessian by the prototypes at collapse, in closed form.

    With the covariance C of the embeddings about the point of collapse (divided by n), its eigenvalues $c_i$, and a = 2
    (frozen) or 4 (full), common displacements have $\frac{2N}{K}$ and splitting ones
    $\frac{2N}{K} (1 - \frac{a}{T} c_i)$, for the sum over embeddings; for the mean N is 1. A ridge is added.

    Args:
        z: embeddings, (n, m).
        k: number of prototypes.
        temperature: temperature T, in the unit of a squared length.
        loss: the loss, without barrier.

    Raises:
        ValueError: for a loss with a barrier, or a temperature that is not positive.

    Example:
        >>> import dynsim as ds
        >>> from analysis.prototypes import collapse_spectrum
        >>> found = collapse_spectrum([[-1.0], [1.0]], 2, 4.0, ds.prototypes.PrototypeLoss("frozen"))
        >>> round(found.common, 4), found.splitting.round(4).tolist()
        (2.0, [1.0])
    """
    points, T = _embeddings(z), number("temperature", temperature)
    stiffness, ridge = _stiffness(points, k, loss), float(loss.ridge)
    spread = _principal_variances(points, collapse(points, k, loss)[0])
    splitting = stiffness * (1 - FACTORS[loss.gradient] * spread / T) + ridge
    return CollapseSpectrum(stiffness + ridge, np.sort(splitting), k)


@checked
def critical_temperature(z: ArrayLike, loss: PrototypeLoss, k: int = 2) -> float:
    r"""Compute the temperature above which collapse is exponentially stable and below which it is a saddle.

    It is $2 \lambda_{max}(C)$ in the mode `frozen` and $4 \lambda_{max}(C)$ in the mode `full`. Only a ridge $\rho$,
    which divides it by $1 + \rho K / (2 N)$, makes it depend on the number `k` of prototypes, which is at least 2.

    Args:
        z: embeddings, (n, m).
        loss: the loss, without barrier.
        k: number of prototypes.

    Raises:
        ValueError: for a loss with a barrier, or fewer than two prototypes, which cannot split.

    Example:
        >>> import dynsim as ds
        >>> from analysis.prototypes import critical_temperature
        >>> round(critical_temperature([[-1.0], [1.0]], ds.prototypes.PrototypeLoss("full")), 4)
        4.0
    """
    points = _embeddings(z)
    integer("k", k, least=2)
    spread = _principal_variances(points, collapse(points, k, loss)[0])
    return float(FACTORS[loss.gradient] * spread[-1] / (1 + float(loss.ridge) / _stiffness(points, k, loss)))


def _embeddings(z: ArrayLike) -> Float[np.ndarray, "n m"]:
    return np.asarray(as_points("z", z), float)


def _stiffness(points: Float[np.ndarray, "n m"], k: int, loss: PrototypeLoss) -> float:
    """Compute 2 N / K, or 2 / K for the mean; raise `ValueError` for a loss with a barrier."""
    if float(loss.barrier) > 0:
        raise ArgumentError("loss", "have no barrier, which is infinite at collapse", f"has {float(loss.barrier):g}")
    return 2 * (len(points) if loss.reduction == "sum" else 1) / integer("k", k, least=1)


def _principal_variances(points: Float[np.ndarray, "n m"], centre: Float[np.ndarray, " m"]) -> Float[np.ndarray, " m"]:
    """Compute the eigenvalues of the covariance about a point, ascending."""
    away = points - centre
    return np.linalg.eigvalsh(away.T @ away / len(points))
