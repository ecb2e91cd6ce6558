r"""Compute when trained temperatures reach their lower limit: by quadrature, the printed bound, and step counts.

The equation is $\dot T = -\eta_T \sigma / T^2$ with the activity $\sigma$ of a head, so that $T^3$ decreases at the
rate $3 \eta_T \sigma$. Temperatures have the unit of a squared length.
"""

import math
from fractions import Fraction
from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dynsim._core.checked import checked
from dynsim._core.types import ArrayLike, Scalar
from dynsim._core.validation import number, reals
from dynsim.errors import ArgumentError
from dynsim.systems.prototypes.assignments import Embeddings, Prototypes, distance_variance

Number = TypeVar("Number", float, Fraction)

# Number of nodes of the Gauss-Legendre rule on each panel.
NODES = 24
# Initial number of panels; it is doubled until two results agree, up to 2^7 times.
PANELS = 16
# Relative difference of two results at which they agree.
AGREEMENT = 1e-13


@checked
def activity(z: Embeddings, p: Prototypes, temperature: Scalar) -> Scalar:
    r"""Compute the activity $\sigma = \frac1N \sum_n \mathrm{Var}_{q_n}(|z_n - p_k|^2)$ of one head, in JAX.

    Args:
        z: embeddings, (n, m).
        p: prototypes of the head, (k, m).
        temperature: temperature T, in the unit of a squared length.

    Source: GROWING, eq. (21).

    Example:
        >>> import jax.numpy as jnp
        >>> from analysis.growing import activity
        >>> T = 1 / jnp.log(3.0)  # assignments 3/4 and 1/4, squared distances 0 and 1
        >>> round(float(activity(jnp.array([[0.0]]), jnp.array([[0.0], [1.0]]), T)), 4)  # 3 / 16
        0.1875
    """
    return distance_variance(z, p, temperature) / z.shape[0]


@jax.jit
def _activities(z: Embeddings, p: Prototypes, temperatures: Float[Array, " times"]) -> Float[Array, " times"]:
    return jax.vmap(activity, (None, None, 0))(z, p, temperatures)


@checked
def hitting_time(z: ArrayLike, p: ArrayLike, *, start: float, least: float, rate: float) -> float:
    r"""Compute the time in which T falls from `start` to `least` while embeddings and prototypes are fixed.

    It is $\int_{T_{min}}^{T_{init}} \frac{T^2}{\eta_T \sigma(T)} dT$, by Gauss-Legendre quadrature in $1/T$, and
    infinite if the activity vanishes, as it does in floating point for gaps of squared distances above 745 T.

    Args:
        z: the embeddings, (n, m).
        p: the prototypes of the head, (k, m).
        start: T_init.
        least: T_min, below `start`.
        rate: eta_T; for a loss summed over embeddings n times that.

    Raises:
        ValueError: for arrays of other shapes, or numbers that are not positive or not in this order.

    Example:
        >>> from analysis.growing import hitting_time
        >>> time = hitting_time([[0.0]], [[0.0], [1.0]], start=20.0, least=10.0, rate=1.0)
        >>> round(time / (4 * (20**3 - 10**3) / 3), 2)  # the activity is nearly 1/4
        1.0
    """
    high, low, eta = _range(start, least, rate)
    points = [jnp.asarray(reals(name, value), float) for name, value in (("z", z), ("p", p))]
    if points[0].ndim != 2 or points[1].ndim != 2 or points[0].shape[1] != points[1].shape[1]:
        raise ArgumentError("p", "be (k, m) for embeddings (n, m)", f"is {points[1].shape} for {points[0].shape}")
    value, panels = math.inf, PANELS
    for _ in range(8):
        last, value = value, _quadrature(points[0], points[1], (1 / high, 1 / low), panels) / eta
        if not math.isfinite(value) or abs(value - last) <= AGREEMENT * value:
            return value
        panels *= 2
    return value


def _quadrature(z: Embeddings, p: Prototypes, ends: tuple[float, float], panels: int) -> float:
    """Integrate u^-4 / sigma(1 / u) over u between two ends, in chunks that share one program."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    edges = np.linspace(*ends, panels + 1)
    half = np.diff(edges)[:, None] / 2
    u = (edges[:-1, None] + half) + half * nodes
    sizes = [np.asarray(_activities(z, p, jnp.asarray(1 / chunk.ravel()))) for chunk in np.split(u, panels // PANELS)]
    sigma = np.concatenate(sizes).reshape(u.shape)
    return float(np.sum(half * weights / (u**4 * sigma))) if np.all(sigma > 0) else math.inf


def printed_hitting_time(start: Number, least: Number, rate: Number, activity: Number) -> Number:
    r"""Compute $t^* = (T_{init}^3 - T_{min}^3) / (3 \eta_T \sigma_0)$, the hitting time for constant activity.

    It is at least the hitting time if `activity` is the least one on the way, and at most that for the largest one. For
    fractions the result is a fraction.

    Source: GROWING, Theorem 3 (proof).

    Raises:
        ValueError: for numbers that are not positive, or a `least` that is not below `start`.
    """
    _range(start, least, rate)
    number("activity", activity)
    return (start**3 - least**3) / (3 * rate * activity)


def printed_step_bound(start: Number, least: Number, rate: Number, activity: Number) -> int:
    r"""Compute the printed step bound $s^* = \lceil t^* \rceil + 1$.

    Source: GROWING, Lemma 17 (iii).

    Raises:
        ValueError: for what `printed_hitting_time` refuses.
    """
    return math.ceil(printed_hitting_time(start, least, rate, activity)) + 1


@checked
def step_bound(start: Number, least: Number, rate: Number, activity: Number) -> int:
    r"""Bound the steps within which T reaches T_min: $\lfloor t^* + \log(T_{init} / T_{min}) \rfloor + 1$.

    It bounds the steps of $T \leftarrow T - \eta_T \sigma_s / T^2$ if all $\sigma_s$ are at least `activity` and
    $\eta_T \sigma_s \le T_{min}^3 / 3$: a step takes $3 \eta_T \sigma_s (1 - \eta_T \sigma_s / T^3)$ off T^3 or more,
    and $\eta_T \sigma_s / T_s^3 \le \log(T_s / T_{s+1})$.

    Args:
        start: T_init, in the unit of a squared length.
        least: T_min, below `start`.
        rate: eta_T, the step size.
        activity: smallest activity sigma of the steps, positive.

    Raises:
        ValueError: for what `printed_hitting_time` refuses.

    Example:
        >>> from analysis.growing import step_bound
        >>> step_bound(2.0, 1.0, 0.01, 0.5)  # 466.7 + log(2)
        468
    """
    ideal = printed_hitting_time(start, least, rate, activity)
    return math.floor(float(ideal) + math.log(float(start) / float(least))) + 1


def _range(start: Number, least: Number, rate: Number) -> tuple[float, float, float]:
    high, low, eta = (number(name, v) for name, v in (("start", start), ("least", least), ("rate", rate)))
    if not low < high:
        raise ArgumentError("least", f"be below `start`, {high:g}", f"is {low:g}")
    return high, low, eta
