"""Closed curves by their values at equal shares of an angle: shifts, derivatives, and other numbers of values."""

import numpy as np
from jaxtyping import Complex, Float

Curve = Float[np.ndarray, "nodes n"]
"""States on a closed curve at equal shares of its angle, an odd number of them."""


def orders(count: int) -> Float[np.ndarray, " count"]:
    """List the orders of the Fourier coefficients of so many values, in the order of NumPy."""
    return np.fft.fftfreq(count) * count


def shifted(nodes: Curve, share: float) -> Curve:
    """Evaluate a curve at angles that are larger by a share of a turn."""
    turned = np.exp(2j * np.pi * share * orders(len(nodes)))[:, None] * np.fft.fft(nodes, axis=0)
    return np.real(np.fft.ifft(turned, axis=0))


def shift_matrices(count: int, share: float) -> tuple[Float[np.ndarray, "c c"], Float[np.ndarray, "c c"]]:
    """Build the matrix by which values are those at angles larger by a share of a turn, and its derivative by it."""
    k = 2j * np.pi * orders(count)[:, None]
    turned = np.exp(share * k) * np.fft.fft(np.eye(count), axis=0)
    return np.real(np.fft.ifft(turned, axis=0)), np.real(np.fft.ifft(k * turned, axis=0))


def derivative(nodes: Curve) -> Curve:
    """Differentiate a curve by its angle, in turns."""
    k = 2j * np.pi * orders(len(nodes))[:, None]
    return np.real(np.fft.ifft(k * np.fft.fft(nodes, axis=0), axis=0))


def coefficients(nodes: Curve) -> Complex[np.ndarray, "nodes n"]:
    """Compute the Fourier coefficients, by their orders in the order of NumPy."""
    return np.fft.fft(nodes, axis=0) / len(nodes)


def resampled(nodes: Curve, count: int) -> Float[np.ndarray, "count n"]:
    """Evaluate a curve at another odd number of angles, without the coefficients that these do not resolve."""
    given, found = coefficients(nodes), np.zeros((count, nodes.shape[1]), complex)
    most = (min(count, len(nodes)) - 1) // 2
    found[: most + 1] = given[: most + 1]
    found[count - most :] = given[len(nodes) - most :]
    return np.real(np.fft.ifft(found, axis=0)) * count


def evaluated_at(nodes: Curve, shares: Float[np.ndarray, " k"]) -> Float[np.ndarray, "k n"]:
    """Evaluate a curve at any shares of a turn."""
    return np.real(np.exp(2j * np.pi * np.outer(shares, orders(len(nodes)))) @ coefficients(nodes))


def needed(nodes: Curve, tolerance: float) -> int:
    """Find the least odd number of values whose Fourier coefficients leave out none above a share of the extent."""
    size = float(np.max(np.ptp(nodes, axis=0)))
    large = np.max(np.abs(coefficients(nodes)), axis=1) > tolerance * size
    return 2 * int(np.max(np.abs(orders(len(nodes)))[large], initial=0.0)) + 1
