"""How fast tokens approach where they end: ratios of successive distances, and a fit that allows for polynomials."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from dynsim.errors import argument_error
from dynsim.exact import Exact, nearest_floats, rationals

FEWEST = 4  # layers that a fit of three numbers needs


class ConvergenceRate(NamedTuple):
    r"""A distance like $C k^{degree} ratio^k$: `error` is the largest relative error of the fit, over `num_layers`."""

    ratio: float
    degree: float
    error: float
    num_layers: int


def distances(states: np.ndarray, limits: np.ndarray, attention: Any = None) -> Float[np.ndarray, "layers n"]:
    r"""Return $|z_i^k - s_i|_A$ for every layer and token.

    Differences of exact states and limits are formed exactly, so that small ones are not lost to rounding.

    Args:
        states: tokens, shape (layers, n, d), fractions or floats.
        limits: where they tend, shape (n, d).
        attention: A, symmetric and positive definite, shape (d, d); the identity by default.
    """
    if states.ndim != 3 or states.shape[1:] != limits.shape:
        raise argument_error("limits", f"have shape {states.shape[1:]}, as each state", f"has shape {limits.shape}")
    factor = np.eye(limits.shape[1]) if attention is None else np.linalg.cholesky(np.asarray(attention, float))
    gaps = [_floats(state - limits) for state in states]
    return np.stack([unit * np.linalg.norm(gap @ factor, axis=1) for gap, unit in gaps])


def _floats(x: np.ndarray | Exact) -> tuple[np.ndarray, float]:
    if x.dtype != object:
        return x, 1.0
    found, unit = nearest_floats(rationals("states", x))
    return found, float(unit)


def ratios(distance: Float[np.ndarray, "layers n"]) -> Float[np.ndarray, "steps n"]:
    """Return the ratio of each distance to that of the layer before, zero once a token has arrived.

    Towards a limit with frozen follower sets it tends to 1/(1 + alpha), from above if a polynomial goes with it.
    """
    before, after = distance[:-1], distance[1:]
    return np.divide(after, before, out=np.zeros_like(after), where=before > 0)


def convergence_rate(distance: Float[np.ndarray, " layers"], *, first_layer: int = 0) -> ConvergenceRate:
    r"""Return the rate of one token's distances, by least squares of $\log C + p \log k + k \log r$.

    Args:
        distance: one for each layer, all positive.
        first_layer: the number of the first one given; later layers only are used, so that a transient can be left out.

    Raises:
        ValueError: for fewer than four layers, or distances that are not positive.
    """
    if len(distance) < FEWEST or not np.all(distance > 0):
        raise argument_error("distance", f"hold {FEWEST} positive values or more", f"holds {np.sum(distance > 0)}")
    k = first_layer + 1.0 + np.arange(len(distance))
    design = np.stack([np.ones_like(k), np.log(k), k], axis=1)
    values = np.log(distance)
    found = np.linalg.lstsq(design, values)[0]
    error = float(np.max(np.abs(np.expm1(design @ found - values))))
    return ConvergenceRate(float(np.exp(found[2])), float(found[1]), error, len(k))


def near_vertices(limits: np.ndarray, corners: np.ndarray) -> Bool[np.ndarray, " n"]:
    """Return which limits, shape (n, d), are vertices of the limit polytope, shape (m, d), by equality.

    The tokens towards vertices and towards other points of the candidate set may then be told apart.
    """
    known = {tuple(corner) for corner in corners.tolist()}
    return np.array([tuple(limit) in known for limit in limits.tolist()])
