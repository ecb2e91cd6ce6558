"""Measure how fast tokens converge to their limits: ratios of successive distances, and a fit of rate and power."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from dynsim._core.checked import checked
from dynsim._core.printing import one_line, report
from dynsim._core.validation import integer
from dynsim.errors import ArgumentError
from dynsim.exact import Exact, nearest_floats, rationals

# Smallest number of layers for a fit, one more than the number of its parameters.
MIN_LAYERS = 4


class ConvergenceRate(NamedTuple):
    r"""Fit $C k^{degree} ratio^k$ to distances at `num_layers` layers k; `error` is its largest relative error."""

    ratio: float
    degree: float
    error: float
    num_layers: int

    __repr__ = one_line
    __str__ = report


def distances(states: np.ndarray, limits: np.ndarray, attention: Any = None) -> Float[np.ndarray, "layers n"]:
    r"""Compute the distances $|z_i^k - s_i|_A$ of all tokens from their limits, shape (layers, n).

    Differences of exact states and limits are computed exactly, so that small ones have full relative precision.

    Args:
        states: tokens, shape (layers, n, d), as fractions or floats.
        limits: limits s_i of the tokens, shape (n, d).
        attention: A, symmetric and positive definite, shape (d, d); the identity by default.

    Raises:
        ValueError: unless `limits` has the shape of each state.
    """
    if states.ndim != 3 or states.shape[1:] != limits.shape:
        raise ArgumentError("limits", f"have shape {states.shape[1:]}, as each state", f"has shape {limits.shape}")
    factor = np.eye(limits.shape[1]) if attention is None else np.linalg.cholesky(np.asarray(attention, float))
    gaps = [_floats(state - limits) for state in states]
    return np.stack([unit * np.linalg.norm(gap @ factor, axis=1) for gap, unit in gaps])


def _floats(x: np.ndarray | Exact) -> tuple[np.ndarray, float]:
    if x.dtype != object:
        return x, 1.0
    found, unit = nearest_floats(rationals("states", x))
    return found, float(unit)


def ratios(distance: Float[np.ndarray, "layers n"]) -> Float[np.ndarray, "steps n"]:
    """Compute the ratio of each distance to the previous layer's; zero if the previous one is zero.

    With constant follower sets it tends to 1/(1 + alpha), from above if the distance has a polynomial factor.
    """
    before, after = distance[:-1], distance[1:]
    return np.divide(after, before, out=np.zeros_like(after), where=before > 0)


@checked
def convergence_rate(distance: Float[np.ndarray, " layers"], *, first_layer: int = 0) -> ConvergenceRate:
    r"""Fit the convergence rate of one token: $\log C + p \log k + k \log r$ by least squares.

    Leave out distances at the level of rounding errors: they do not decay any more, and spoil the fit.

    Args:
        distance: positive distance at each layer.
        first_layer: layer of the first distance; start late to leave out a transient.

    Raises:
        ValueError: for fewer than four layers, or distances that are not positive.

    Example:
        >>> import numpy as np
        >>> from analysis.hardmax import convergence_rate
        >>> found = convergence_rate(0.5 ** np.arange(8.0))
        >>> round(found.ratio, 4), bool(abs(found.degree) < 1e-6)
        (0.5, True)
    """
    if len(distance) < MIN_LAYERS or not np.all(distance > 0):
        raise ArgumentError("distance", f"hold {MIN_LAYERS} positive values or more", f"holds {np.sum(distance > 0)}")
    k = integer("first_layer", first_layer, least=0) + 1.0 + np.arange(len(distance))
    design = np.stack([np.ones_like(k), np.log(k), k], axis=1)
    values = np.log(distance)
    found = np.linalg.lstsq(design, values)[0]
    error = float(np.max(np.abs(np.expm1(design @ found - values))))
    return ConvergenceRate(float(np.exp(found[2])), float(found[1]), error, len(k))


def at_vertices(limits: np.ndarray, vertices: np.ndarray) -> Bool[np.ndarray, " n"]:
    """Test which limits, shape (n, d), are vertices of the limit polytope, shape (m, d), by exact equality.

    This separates tokens that converge to vertices from those that converge to other points of the set S of (4.1).
    """
    known = {tuple(vertex) for vertex in vertices.tolist()}
    return np.array([tuple(limit) in known for limit in limits.tolist()])
