"""Compute spectra, energy and directional loss of residual matrices, and the alignment of random rows. NumPy.

Directions are orthonormal rows (h, d). The residual is projected to the complement of the "captured" directions.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.integrate import quad
from scipy.special import erfc

from dynsim._core.checked import checked
from dynsim._core.printing import one_line, report
from dynsim._core.types import ArrayLike
from dynsim._core.validation import integer, number, reals
from dynsim.errors import ArgumentError
from dynsim.systems.growing.residual import antisymmetric_part, residual_matrix

Rows = Float[np.ndarray, "h d"]

# Values below this share of the largest are rounding errors of zero.
ZERO = 1e-13


class PairedSpectrum(NamedTuple):
    """Singular values of an antisymmetric matrix, one for each pair, and orthonormal rows that span their planes.

    The values decrease; in odd dimension the single value zero is left out. The matrix maps the second row of a plane
    to its value times the first one. Of equal values, zeros among them, the planes are some choice.
    """

    values: Float[np.ndarray, " pairs"]
    planes: Float[np.ndarray, "pairs 2 d"]

    __repr__ = one_line
    __str__ = report

    def above(self, threshold: float) -> int:
        """Count the pairs whose value exceeds a threshold."""
        return int(np.sum(self.values > threshold))


@checked
def paired_spectrum(matrix: ArrayLike) -> PairedSpectrum:
    """Compute the singular values of an antisymmetric matrix (d, d) in pairs, with their planes.

    They are the positive eigenvalues s of the Hermitian matrix -i A: if A (v + i w) = i s (v + i w), then A w = s v.
    Values below 1e-13 of the largest count as zero.

    Raises:
        ValueError: for anything else than a square matrix that is antisymmetric up to rounding.

    Example:
        >>> from analysis.growing import paired_spectrum
        >>> found = paired_spectrum([[0.0, 2.0, 0.0], [-2.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
        >>> found.values.round(4).tolist(), found.planes.shape
        ([2.0], (1, 2, 3))
    """
    a = _antisymmetric(matrix)
    d = len(a)
    values, vectors = np.linalg.eigh(-1j * a)
    rank = int(np.sum(values > ZERO * max(values[-1], 0.0)))
    top = vectors[:, ::-1][:, :rank].T * np.sqrt(2)
    rows = np.stack([top.real, top.imag], axis=1).reshape(2 * rank, d)
    kernel = np.linalg.svd(rows)[2][2 * rank :] if rank else np.eye(d)
    planes = np.concatenate([rows, kernel])[: 2 * (d // 2)].reshape(d // 2, 2, d)
    return PairedSpectrum(np.append(values[::-1][:rank], np.zeros(d // 2 - rank)), planes)


@checked
def captured_basis(rows: ArrayLike, *, tolerance: float = 1e-10) -> Rows:
    """Compute orthonormal rows that span given rows (h, d); there are fewer if the rows are dependent.

    Args:
        rows: the rows, (h, d).
        tolerance: singular value, relative to the largest, at or below which rows count as dependent.

    Raises:
        ValueError: for anything else than an array of rows.

    Example:
        >>> from analysis.growing import captured_basis
        >>> captured_basis([[1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 3.0, 0.0]]).shape
        (2, 3)
    """
    found = np.asarray(reals("rows", rows), float)
    if found.ndim != 2:
        raise ArgumentError("rows", "be an array of rows (h, d)", f"has shape {found.shape}")
    if not np.all(np.isfinite(found)):
        raise ArgumentError("rows", "be finite", "has an entry that is not")
    _, sizes, basis = np.linalg.svd(found, full_matrices=False)
    return basis[sizes > tolerance * np.max(sizes, initial=0.0)]


def directed_energy(interaction: ArrayLike) -> float:
    """Compute $|M_a|_F^2$ of the antisymmetric part of an interaction; raise `ValueError` if it is zero."""
    found = squared_norm(antisymmetric_part(interaction))
    if found == 0:
        raise ArgumentError("interaction", "have an antisymmetric part", "is symmetric")
    return found


def squared_norm(matrix: ArrayLike) -> float:
    """Compute |A|_F^2; for an antisymmetric matrix it is twice the sum of the squared pair values."""
    return float(np.sum(np.asarray(reals("matrix", matrix), float) ** 2))


@checked
def directional_loss(
    interaction: ArrayLike,
    frames: ArrayLike | None = None,
    *,
    tokens: ArrayLike | None = None,
    reading: str = "features",
) -> float:
    r"""Compute $|A_{res}|_F / |A|_F$, the part of the directed attention outside the captured directions.

    Numerator and denominator are in one of the readings of eq. (3), the denominator with nothing captured. In the
    readings `features` and `data` it lies in [0, 1].

    Args:
        interaction: the attention product, (d, d), of which only the antisymmetric part matters.
        frames: the captured directions, orthonormal rows (h, d); none by default.
        tokens: the tokens, (n, d), for the readings `data` and `tokens`.
        reading: `features`, `data` or `tokens`, see `residual_matrix`.

    Source: GROWING, eq. (26).

    Raises:
        ValueError: for what `residual_matrix` refuses, or if there is no directed attention.

    Example:
        >>> import scipy.linalg
        >>> from analysis.growing import directional_loss
        >>> interaction = scipy.linalg.block_diag([[0.0, 2.0], [-2.0, 0.0]], [[0.0, 1.0], [-1.0, 0.0]])
        >>> round(directional_loss(interaction, [[1.0, 0.0, 0.0, 0.0]]), 4)  # sqrt(2 / 10)
        0.4472
    """
    whole = np.linalg.norm(residual_matrix(interaction, tokens=tokens, reading=reading))
    if whole == 0:
        raise ArgumentError("interaction", "have an antisymmetric part that the reading sees", "has none")
    return float(np.linalg.norm(residual_matrix(interaction, frames, tokens=tokens, reading=reading)) / whole)


@checked
def expected_best_alignment(dimension: int, rows: int, scale: Any = 1.0) -> float:
    r"""Compute $E \max_i \langle v, w_i \rangle^2$ over rows $w_i \sim N(0, \sigma^2 I / d)$ for a unit vector v.

    It is $\frac{\sigma^2}{d} \int_0^\infty 1 - \mathrm{erf}(\sqrt{x / 2})^{rows} dx$, by quadrature; dimensionless.

    Args:
        dimension: d, the number of entries of a row.
        rows: the number of rows.
        scale: sigma, the standard deviation of the length of a row.

    Source: GROWING, Lemma 9.

    Raises:
        ValueError: for a dimension or a number of rows below one, or a scale that is not positive.

    Example:
        >>> from analysis.growing import expected_best_alignment
        >>> round(expected_best_alignment(2, 1), 4)  # for one row sigma**2 / d
        0.5
    """
    d, m = integer("dimension", dimension, least=1), integer("rows", rows, least=1)
    sigma = number("scale", scale)
    beyond = lambda x: -np.expm1(m * np.log1p(-erfc(np.sqrt(x / 2)))) if x > 0 else 1.0
    middle = 2 * np.log(2.0 * m)  # about the median; what is beyond decays like exp(-x / 2)
    ends = (0.0, middle, middle + 80.0)
    parts = [quad(beyond, *pair, epsabs=0, epsrel=1e-11, limit=200)[0] for pair in zip(ends, ends[1:], strict=False)]
    return sigma**2 / d * float(sum(parts))


def _antisymmetric(matrix: ArrayLike) -> Float[np.ndarray, "d d"]:
    a = antisymmetric_part(matrix)
    if np.linalg.norm(a - np.asarray(matrix, float)) > 1e-9 * max(np.linalg.norm(a), 1e-300):
        raise ArgumentError("matrix", "be antisymmetric", "is not")
    return a
