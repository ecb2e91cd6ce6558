r"""Number of harmonics that $e^{v \cdot x}$ needs for a tolerance, with a proved truncation bound.

On the circle $e^{r\cos\theta} = I_0(r) + 2 \sum_k I_k(r) \cos k\theta$, on the sphere
$e^{r\cos\theta} = \sum_l (2l + 1)\, i_l(r) P_l(\cos\theta)$ with $i_l(r) = \sqrt{\pi / 2r}\, I_{l + 1/2}(r)$.
Cosines and Legendre polynomials are at most one, so truncating beyond the degree L changes the kernel by at most the
sum of the remaining coefficients. Relative to the largest value $e^r$ of the kernel, this sum grows with r, because
its derivative is, up to a positive factor, $I_L - I_{L+1}$ or $i_L - i_{L+1}$. The largest r is therefore the worst
case. Each coefficient is bounded by a product of the ratios
$I_{\nu+1}(r) / I_\nu(r) \le r / (\nu + 1/2 + \sqrt{(\nu + 1/2)^2 + r^2})$, for $\nu \ge -1/2$.

Source of the bound on the ratios: D. E. Amos, Computation of modified Bessel functions and their ratios, Math. Comp. 28
(1974), eq. (11).
"""

import math

import numpy as np


def left_out(dimension: int, reach: float, most: int) -> np.ndarray:
    """Bound |kernel - truncated kernel| / e^r for each degree up to `most`, uniformly in r up to `reach`.

    Args:
        dimension: 2 for the circle, 3 for the sphere.
        reach: the largest r, which is the largest norm of a query.
        most: the largest degree.
    """
    r, half = float(reach), (dimension - 2) / 2
    if r == 0:
        return np.zeros(most + 1)
    if r > max(most, 16) ** 2:
        return np.ones(most + 1)  # more degrees than `most` are needed; this bounds the sum of all coefficients
    orders = np.arange(2 * most + 64 + math.ceil(r)) + half
    ratios = r / (orders + 0.5 + np.sqrt((orders + 0.5) ** 2 + r**2))
    import scipy.special

    first = scipy.special.ive(0, r) if dimension == 2 else -math.expm1(-2 * r) / (2 * r)
    sizes = first * np.concatenate([[1.0], np.cumprod(ratios)])
    degrees = np.arange(len(sizes))
    terms = (2.0 if dimension == 2 else 2.0 * degrees + 1) * sizes
    # The ratios of successive terms decrease: those beyond the last one add less than 1e-45 of each sum.
    return np.cumsum(terms[::-1])[::-1][1 : most + 2]


def degree_for(dimension: int, reach: float, tolerance: float, most: int) -> int:
    """Smallest degree whose truncation error is at most `tolerance` times e^r, or -1 if it exceeds `most`.

    For large r the degree is about sqrt(2 r ln(1 / tolerance)).
    """
    enough = np.flatnonzero(left_out(dimension, reach, most) <= tolerance)
    return int(enough[0]) if enough.size else -1
