r"""Growth rates of perturbations of the uniform density, in the limit of many tokens.

For P = $\beta I$, U = I on the unit sphere of $\mathbb R^d$, d = 2 or 3, the field of a density $\mu$ is
$\frac{s}{\beta} \nabla \log \int e^{\beta x \cdot y} d\mu(y)$, s being the `scale` of the flow. For
$\mu = (1 + \varepsilon Y_l)\sigma$ and $\sigma$ uniform the integral is
$K_0(\beta) + \varepsilon K_l(\beta) Y_l(x)$ (Funk-Hecke), $K_l$ the Bessel functions $I_l$ or $i_l$ of the
expansion of the kernel, so that the field is $\varepsilon \frac{s}{\beta} \frac{K_l}{K_0} \nabla Y_l$,
and the continuity equation with
$\Delta Y_l = -l(l + d - 2) Y_l$ gives

$$
    \dot\varepsilon = \lambda_l \varepsilon, \qquad
    \lambda_l = \frac{s}{\beta}\, l (l + d - 2)\, \frac{K_l(\beta)}{K_0(\beta)}.
$$
"""

import numpy as np
import scipy.special

from dynsim._core.checked import checked
from dynsim._core.validation import integer, number
from dynsim.errors import ArgumentError

# Largest factor of P whose fastest degree is searched for, among all degrees up to four times its root.
LARGEST = 1e12


@checked
def uniform_growth_rates(beta: float, dimension: int, degrees: int, *, scale: float = 1.0) -> np.ndarray:
    """Compute the growth rates of degrees 0, ..., `degrees` of a perturbation of the uniform density.

    Args:
        beta: positive factor of P = beta I.
        dimension: 2 for the circle, 3 for the sphere.
        degrees: largest degree.
        scale: factor of the vector field, 1 / sqrt(d) in the paper.

    Raises:
        ValueError: for another dimension.

    Example:
        >>> from analysis.tokens import uniform_growth_rates
        >>> uniform_growth_rates(5.0, 2, 3).round(4)
        array([0.    , 0.1787, 0.5141, 0.6827])
    """
    beta, degrees = number("beta", beta), integer("degrees", degrees, least=1)
    if dimension not in (2, 3):
        raise ArgumentError("dimension", "be 2 or 3", f"is {dimension}")
    l = np.arange(degrees + 1)
    sizes = scipy.special.ive(l + (dimension - 2) / 2, beta)
    return scale / beta * l * (l + dimension - 2) * sizes / sizes[0]


@checked
def fastest_degree(beta: float, dimension: int) -> int:
    """Find the degree that grows fastest; on the circle it is the number of clusters that appear first.

    Args:
        beta: positive factor of P = beta I.
        dimension: 2 for the circle, 3 for the sphere.

    Raises:
        ValueError: for a factor that is not positive, or above 1e12, or another dimension.

    Example:
        >>> from analysis.tokens import fastest_degree
        >>> fastest_degree(5.0, 2), fastest_degree(50.0, 2)
        (3, 10)
    """
    if number("beta", beta) > LARGEST:
        raise ArgumentError("beta", f"be at most {LARGEST:g}", f"is {beta:g}")
    most = 16 + int(4 * np.sqrt(beta) + 2)
    return int(np.argmax(uniform_growth_rates(beta, dimension, most)))
