r"""Grow heads greedily: the planes of an antisymmetric matrix by singular value, and how good this order is.

The residual energy of frames is $\|P M_a P\|_F^2$, P projecting onto what is orthogonal to them. Its least value over k
directions is $2 \sum_{j > k} s_j^2$ by Cauchy's interlacing of the eigenvalues $\pm s_j$ of $i M_a$: one direction
removes one plane at most.
"""

import numpy as np
from jaxtyping import Float

from analysis.growing.residuals import directed_energy, paired_spectrum, squared_norm
from dynsim._core.checked import checked
from dynsim._core.types import ArrayLike
from dynsim._core.validation import integer, number
from dynsim.systems.growing.residual import antisymmetric_part, dominant_plane, dominant_value, residual_matrix

Frames = Float[np.ndarray, "h d"]


@checked
def residual_energy(interaction: ArrayLike, frames: ArrayLike) -> float:
    r"""Compute $\|A_{res}\|_F^2$ after removing the directions of `frames`, orthonormal rows.

    Args:
        interaction: the attention product, (d, d), of which only the antisymmetric part matters.
        frames: the removed directions, orthonormal rows (h, d).

    Raises:
        ValueError: for an interaction that is not square, or frames that are not orthonormal.

    Example:
        >>> from analysis.growing import residual_energy
        >>> interaction = [[0.0, 2.0, 0.0], [-2.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
        >>> residual_energy(interaction, [[0.0, 0.0, 1.0]]), residual_energy(interaction, [[1.0, 0.0, 0.0]])
        (8.0, 0.0)
    """
    return squared_norm(residual_matrix(interaction, frames))


@checked
def least_residual_energy(interaction: ArrayLike, count: int) -> float:
    r"""Compute the smallest residual energy after removing `count` directions, $2 \sum_{j > k} s_j^2$.

    Args:
        interaction: the attention product, (d, d), of which only the antisymmetric part matters.
        count: number of directions k, at least 0.

    Raises:
        ValueError: for an interaction that is not square, or a negative number.

    Example:
        >>> import scipy.linalg
        >>> from analysis.growing import least_residual_energy
        >>> interaction = scipy.linalg.block_diag([[0.0, 2.0], [-2.0, 0.0]], [[0.0, 1.0], [-1.0, 0.0]])
        >>> [round(least_residual_energy(interaction, count), 4) for count in (0, 1, 2)]
        [10.0, 2.0, 0.0]
    """
    values = paired_spectrum(antisymmetric_part(interaction)).values
    return 2 * float(np.sum(values[integer("count", count, least=0) :] ** 2))


@checked
def greedy_growth(interaction: ArrayLike, threshold: float) -> tuple[Float[np.ndarray, " heads"], Frames]:
    r"""Add heads one by one, and list the values $\lambda^{(h)}$ and the directions, as rows, at which they are added.

    Each direction is a unit vector of the top plane of the residual matrix, as long as its top singular value exceeds
    the threshold.

    Args:
        interaction: the attention product, (d, d), of which only the antisymmetric part matters.
        threshold: singular value at or below which no head is added, in the unit of the interaction.

    Raises:
        ValueError: for a threshold that is not positive.

    Source: GROWING, eq. (3), (62).

    Example:
        >>> import scipy.linalg
        >>> from analysis.growing import greedy_growth
        >>> interaction = scipy.linalg.block_diag([[0.0, 2.0], [-2.0, 0.0]], [[0.0, 1.0], [-1.0, 0.0]])
        >>> values, directions = greedy_growth(interaction, 0.5)
        >>> values.round(4).tolist(), directions.shape
        ([2.0, 1.0], (2, 4))
    """
    least = number("threshold", threshold)
    m = antisymmetric_part(interaction)
    values, rows = [], np.zeros((0, m.shape[0]))
    while len(rows) < m.shape[0]:
        a = residual_matrix(m, rows)
        top = float(dominant_value(a))
        if top <= least:
            break
        values.append(top)
        rows = np.vstack([rows, np.asarray(dominant_plane(a))[:1]])
    return np.array(values, float), rows


@checked
def coverage(interaction: ArrayLike, values: ArrayLike) -> float:
    r"""Compute the printed coverage $\sum_h \lambda^{(h)} / \|M_a\|_F^2$, which depends on the unit of M_a.

    Args:
        interaction: the attention product, (d, d), of which only the antisymmetric part matters.
        values: the values of the heads, from `greedy_growth`.

    Raises:
        ValueError: for an interaction that is not square, or is symmetric.

    Source: GROWING, eq. (64).

    Example:
        >>> from analysis.growing import coverage
        >>> coverage([[0.0, 1.0], [-1.0, 0.0]], [1.0])
        0.5
    """
    return float(np.sum(np.asarray(values)) / directed_energy(interaction))


@checked
def energy_coverage(interaction: ArrayLike, values: ArrayLike) -> float:
    r"""Compute the share of the energy in the planes of the heads, $2 \sum_h (\lambda^{(h)})^2 / \|M_a\|_F^2$.

    Args:
        interaction: the attention product, (d, d), of which only the antisymmetric part matters.
        values: the values of the heads, from `greedy_growth`.

    Raises:
        ValueError: for an interaction that is not square, or is symmetric.

    Example:
        >>> from analysis.growing import energy_coverage
        >>> energy_coverage([[0.0, 1.0], [-1.0, 0.0]], [1.0])
        1.0
    """
    return float(2 * np.sum(np.asarray(values) ** 2) / directed_energy(interaction))
