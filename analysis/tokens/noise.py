r"""Many tokens with noise: stability of the uniform density, and the stationary order parameter.

The flow is $dx_i = P_{x_i} \sum_j A_{ij} x_j\,dt + \sigma P_{x_i} \circ dB_i$ on the sphere $S^{d-1}$ with weights
$A_{ij} \propto e^{\beta \langle x_i, x_j\rangle}$ that sum to one, `TokenFlow(beta * I, scale=1)` with noise of the
amplitude sigma. Its density obeys

$$ \partial_t \rho = -\nabla\cdot\Bigl(\rho\,\nabla \tfrac1\beta \log K\rho\Bigr) + \tfrac{\sigma^2}{2} \Delta\rho,
   \qquad K\rho(x) = \int e^{\beta\langle x, y\rangle} \rho(y)\,dy. $$

For a harmonic $Y_k$ of degree k, $K Y_k = \lambda_k Y_k$ (Funk-Hecke) with $\lambda_k / \lambda_0 = r_k$, and
$\Delta Y_k = -k(k + d - 2) Y_k$: a perturbation $\epsilon Y_k$ of the uniform density grows at the rate
$k(k + d - 2)\,(r_k/\beta - \sigma^2/2)$. Since $r_k$ decreases with k, the first harmonics lose their stability first,
at $\sigma_c^2 = 2 r_1 / \beta$.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from scipy.special import ive

from dynsim._core.checked import checked
from dynsim._core.types import ArrayLike, Scalar, Tokens
from dynsim._core.validation import integer, number

# Number of grid angles on the circle.
GRID = 256


@checked
def polarisation(x: Tokens) -> Scalar:
    """Compute the norm of the mean of the tokens: 1 if all coincide, of order $n^{-1/2}$ if they are independent.

    Example:
        >>> import jax.numpy as jnp
        >>> from analysis.tokens import polarisation
        >>> float(polarisation(jnp.array([[1.0, 0.0], [-1.0, 0.0]]))), float(polarisation(jnp.ones((3, 1))))
        (0.0, 1.0)
    """
    return jnp.linalg.norm(jnp.mean(x, axis=0))


def harmonic_ratio(beta: float, degree: int = 1, dimension: int = 2) -> float:
    r"""Compute the eigenvalue ratio $r_k = I_{k + \nu}(\beta) / I_\nu(\beta)$ of degree k, with $\nu = d/2 - 1$."""
    beta, degree = number("beta", beta), integer("degree", degree, least=0)
    order = integer("dimension", dimension, least=2) / 2 - 1
    return float(ive(degree + order, beta) / ive(order, beta))


@checked
def growth_rate(beta: float, amplitude: float, degree: int = 1, dimension: int = 2) -> float:
    r"""Compute the growth rate of a harmonic of degree k on the uniform density.

    Args:
        beta: positive factor of P = beta I.
        amplitude: sigma, the amplitude of the noise.
        degree: k.
        dimension: d, 2 for the circle.

    Example:
        >>> from analysis.tokens import critical_amplitude, growth_rate
        >>> bool(growth_rate(2.0, 0.9 * critical_amplitude(2.0)) > 0 > growth_rate(2.0, 1.1 * critical_amplitude(2.0)))
        True
    """
    k, r = degree, harmonic_ratio(beta, degree, dimension)
    return k * (k + dimension - 2) * (r / beta - amplitude * amplitude / 2)


@checked
def critical_amplitude(beta: float, dimension: int = 2) -> float:
    r"""Compute the noise amplitude $\sigma_c = \sqrt{2 r_1/\beta}$ above which the uniform density is stable.

    Args:
        beta: positive factor of P = beta I.
        dimension: d, 2 for the circle.

    Example:
        >>> from analysis.tokens import critical_amplitude
        >>> round(critical_amplitude(1e-6), 6)  # 1 for weak attention on the circle
        1.0
    """
    return float(np.sqrt(2 * harmonic_ratio(beta, 1, dimension) / beta))


@checked
def stationary_polarisation(
    betas: ArrayLike, amplitudes: ArrayLike, *, iterations: int = 4000
) -> Float[np.ndarray, "betas amplitudes"]:
    r"""Compute the norm of the mean of the stationary density on the circle with one cluster.

    The density solves $\rho \propto (K\rho)^{2/(\beta\sigma^2)}$. It is iterated from a narrow cluster on `GRID`
    angles, and falls to the uniform one above the threshold. Within a per cent of the threshold it has not converged.

    Args:
        betas: factors of P = beta I.
        amplitudes: of the noise.
        iterations: how often the map is applied.

    Example:
        >>> from analysis.tokens import stationary_polarisation
        >>> stationary_polarisation([2.0], [0.2, 1.5]).round(3)
        array([[0.989, 0.   ]])
    """
    b, s = np.meshgrid(np.asarray(betas, float), np.asarray(amplitudes, float), indexing="ij")
    angles = 2 * np.pi * np.arange(GRID) / GRID
    kernel = np.fft.rfft(np.exp(b[..., None] * (np.cos(angles) - 1)), axis=-1)
    exponent = (2 / (b * s**2))[..., None]
    density = np.broadcast_to(np.exp(20 * (np.cos(angles) - 1)), kernel.shape[:-1] + (GRID,))
    for _ in range(iterations):
        smoothed = np.fft.irfft(kernel * np.fft.rfft(density, axis=-1), GRID, axis=-1)
        log = exponent * np.log(np.maximum(smoothed, 1e-300))
        density = np.exp(log - log.max(axis=-1, keepdims=True))
    return np.abs(np.sum(density * np.exp(1j * angles), axis=-1)) / np.sum(density, axis=-1)
