"""Numbers that change their signs where a multiplier of a return passes a value, or is double."""

import numpy as np
from jaxtyping import Float


def passed(M: Float[np.ndarray, "d d"], multiplier: float) -> float:
    """Return the least singular value of M - m, relative to the largest, with the sign of the determinant.

    It changes its sign where an eigenvalue of M passes the value m.
    """
    shifted = M - multiplier * np.eye(len(M))
    sizes = np.linalg.svd(shifted, compute_uv=False)
    return float(np.linalg.slogdet(shifted)[0]) * float(sizes[-1] / max(float(sizes[0]), np.finfo(float).tiny))


def doubled(M: Float[np.ndarray, "d d"], multiplier: float) -> float:
    r"""Return the derivative of the characteristic polynomial at an eigenvalue m of M, up to a positive factor.

    It is the trace of the adjugate of M - m, with the singular values s_k and their vectors u_k and v_k

    $$ \pm \sum_k \langle v_k, u_k \rangle \prod_{j \ne k} s_j, $$

    and changes its sign where another eigenvalue passes m.
    """
    left, sizes, right = np.linalg.svd(M - multiplier * np.eye(len(M)))
    shares = sizes / max(float(sizes[0]), np.finfo(float).tiny)
    products = [float(np.prod(np.delete(shares, k))) for k in range(len(shares))]
    factor = max(*products, np.finfo(float).tiny)
    return float(np.linalg.det(left) * np.linalg.det(right) * np.sum(np.diag(right @ left) * products)) / factor
