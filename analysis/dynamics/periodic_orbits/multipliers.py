"""Compute the eigenvalues of a product of matrices without forming it, as those of a periodic orbit's segments."""

import functools

import numpy as np
from jaxtyping import Complex, Float
from scipy.linalg import get_lapack_funcs

# Largest number of sweeps over all factors; blocks that are not separated by then have eigenvalues of similar size.
SWEEPS = 40
# Condition of a product up to which its rounding errors do not matter.
HARMLESS = 1e4
# Size of an entry below the diagonal, relative to the rotation, that counts as zero.
SEPARATED = 1e-13
# QR factorisations, in a quarter of the time of `numpy.linalg.qr`.
dgeqrf, dorgqr = get_lapack_funcs(("geqrf", "orgqr"), dtype=float)


def product_eigenvalues(factors: Float[np.ndarray, "m d d"]) -> Complex[np.ndarray, " d"]:
    """Compute the eigenvalues of the product of matrices, by decreasing modulus; the first factor acts first.

    Entries of the product may differ by more than rounding allows: of a periodic orbit beside a homoclinic one, the
    multiplier 1 stands beside intermediate products of 1e20. Orthogonal iteration turns all factors into triangular
    ones, whose diagonals are multiplied. It is the simplest form of the periodic Schur decomposition of A. Bojanczyk,
    G. Golub and P. Van Dooren (1992).

    >>> product_eigenvalues(np.array([[[1e10, 0.0], [0.0, 1.0]], [[1e10, 1e10], [0.0, 1e-20]]])).real.tolist()
    [1e+20, 1e-20]
    """
    d, factors = factors.shape[1], _condensed(factors)
    if len(factors) == 1 or d <= 1:
        return _sorted(np.linalg.eigvals(factors[0]) if d > 1 else np.prod(factors, axis=0).reshape(d))
    Q, turn, R = np.eye(d), np.eye(d), np.zeros_like(factors)

    def of(low: int, high: int) -> np.ndarray:
        uppers = np.triu(R[:, low:high, low:high])
        product = functools.reduce(lambda block, upper: upper @ block, uppers, np.eye(high - low))
        return np.linalg.eigvals(turn[low:high, low:high] @ product)

    blocks: list[tuple[int, int]] = [(0, d)]
    for _ in range(SWEEPS):
        begin = Q
        for k, A in enumerate(factors):
            R[k], reflections, *_ = dgeqrf(A @ Q)
            Q = dorgqr(R[k], reflections)[0]
        turn = begin.T @ Q
        splits = [j for j in range(1, d) if np.max(np.abs(turn[j:, :j])) <= SEPARATED]
        blocks = list(zip([0, *splits], [*splits, d], strict=True))
        if all(high - low < 2 or (high - low == 2 and np.all(np.imag(of(low, high)))) for low, high in blocks):
            break  # no sweep separates complex pairs
    return _sorted(np.concatenate([of(low, high) for low, high in blocks]))


def _condensed(factors: Float[np.ndarray, "m d d"]) -> Float[np.ndarray, "k d d"]:
    """Multiply neighbouring factors where rounding errors of their products do not matter."""
    offset, tried = 0, 0
    while factors.shape[1] > 1 and len(factors) > 1 and tried < 2:
        last = len(factors) - (len(factors) - offset) % 2
        products = factors[offset + 1 : last : 2] @ factors[offset:last:2]
        sizes = np.linalg.svd(products, compute_uv=False)
        fine = sizes[:, 0] <= HARMLESS * sizes[:, -1]
        kept = np.ones(len(factors), bool)
        kept[offset + 1 : last : 2] = ~fine
        factors = factors.copy()
        factors[offset:last:2][fine] = products[fine]
        factors, offset, tried = factors[kept], 1 - offset, 0 if np.any(fine) else tried + 1
    return factors


def _sorted(values: np.ndarray) -> Complex[np.ndarray, " d"]:
    return values.astype(complex)[np.argsort(-np.abs(values), kind="stable")]


def across(velocities: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "m d d-1"]:
    """Compute an orthonormal basis across each of some velocities."""
    return np.swapaxes(np.linalg.svd(velocities[:, None])[2][:, 1:], 1, 2)


def return_factors(
    factors: Float[np.ndarray, "m d d"], velocities: Float[np.ndarray, "m d"]
) -> Float[np.ndarray, "m d-1 d-1"]:
    """Restrict the derivatives of segments of an orbit to directions across the velocities at their beginnings."""
    bases = across(velocities)
    return np.swapaxes(np.roll(bases, -1, axis=0), 1, 2) @ factors @ bases
