"""Decide whether prototypes stay bounded or escape to infinity, by certificates and by a growth law."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from analysis.dynamics.equilibria.newton import newton
from analysis.dynamics.linearisation import spectrum
from analysis.prototypes.certificates import Flow, bounding_radius, escaping_prototypes
from dynsim._core.checked import checked
from dynsim._core.printing import one_line, report
from dynsim._core.types import Scalar, State, Time
from dynsim._core.validation import integer, number
from dynsim.errors import ArgumentError
from dynsim.integrators import AbstractIntegrator, stiff
from dynsim.simulation.simulate import simulate
from dynsim.spaces import AbstractSpace
from dynsim.systems.base import AbstractFlow
from dynsim.systems.prototypes.losses import PrototypeLoss
from dynsim.systems.prototypes.temperatures import ConstantTemperature

# Number of saved times per decade.
PER_DECADE = 4
# Largest deviation of the exponents of the last two decades from a quarter.
QUARTER = 0.01
# Largest share of an escaping prototype's velocity that is not due to the barrier.
ALONE = 1e-3
# Largest relative distance from an equilibrium at which a bounded trajectory counts as converged.
MOVED = 1e-6


class Boundedness(NamedTuple):
    r"""Whether prototypes stay bounded, why, and how their largest distance r from the mean embedding grows.

    `verdict` is `bounded`, `escaping` or `undecided`. `reason` is `ridge` or `hull` (certificates of a bound, see
    `bounding_radius`), `equilibrium` (the trajectory converges to an exponentially stable one), `certificate` (see
    `escaping_prototypes`; it holds at the last state), `law` (the barrier alone moves the farthest prototype, with
    r proportional to $t^{1/4}$ in the last two decades), or `none`. `bound` is that of a certificate, else infinite.

    `times` and `radii` are t and r on the trajectory. `exponents` are $d \log r / d \log t$ in its last two decades,
    and `constant` is $d r^4 / d t$ in the last, to be compared with `escape_constant`.
    """

    verdict: str
    reason: str
    bound: float
    times: Float[np.ndarray, " times"]
    radii: Float[np.ndarray, " times"]
    exponents: tuple[float, float]
    constant: float

    __repr__ = one_line
    __str__ = report


class LogTimeFlow(AbstractFlow):
    r"""Flow in logarithmic time $s = \log(1 + t)$, $dx/ds = (1 + t) \dot x$, for power laws over many decades."""

    flow: AbstractFlow
    space: AbstractSpace

    def __init__(self, flow: AbstractFlow):
        """Store the flow."""
        self.flow, self.space = flow, flow.space

    def velocity(self, t: Time, x: State) -> State:
        """Compute the velocity of the flow at the time $e^s - 1$, times $e^s$; `t` is s."""
        when = jnp.expm1(t)
        return jax.tree.map(lambda v: (1 + when).astype(v.dtype) * v, self.flow.velocity(when, x))

    def breakpoints(self, t0: float, t1: float) -> Any:
        """Compute the logarithmic times of the flow's breakpoints."""
        return np.log1p(self.flow.breakpoints(float(np.expm1(t0)), float(np.expm1(t1))))


@checked
def growth(flow: Flow, x: State, *, decades: int = 8, integrator: AbstractIntegrator = stiff(1e-8)) -> Boundedness:
    """Decide whether prototypes stay bounded, from certificates and a trajectory in logarithmic time.

    A finite trajectory alone decides nothing: a distant prototype may turn back after an exponentially long time. The
    verdict is `undecided` if neither a certificate nor a growth law applies.

    Args:
        flow: a flow of prototypes, with or without its encoder.
        x: its initial state.
        decades: the trajectory ends at t = 10^decades, at least 4.
        integrator: for the flow in logarithmic time, which is stiff.

    Raises:
        ValueError: for a state in single precision, which the tolerances of the integrator are below.
        IntegrationError: if the integration fails.

    Example:
        >>> import dynsim as ds
        >>> import jax.numpy as jnp
        >>> from analysis.prototypes import growth
        >>> loss = ds.prototypes.PrototypeLoss("frozen")
        >>> flow = ds.prototypes.PrototypeFlow([[-1.0], [1.0]], 1.0, loss=loss)
        >>> found = growth(flow, jnp.array([[0.5], [-2.0]]), decades=4)
        >>> found.verdict, found.reason, found.bound
        ('bounded', 'hull', 2.0)
    """
    if any(leaf.dtype == jnp.float32 for leaf in map(jnp.asarray, jax.tree.leaves(x))):
        raise ArgumentError("x", "be in double precision", "is in single precision")
    end = integer("decades", decades, least=4)
    saves = np.append(0.0, np.log1p(10.0 ** np.linspace(-1.0, end, PER_DECADE * (end + 1) + 1)))
    path = simulate(LogTimeFlow(flow), x, saves, integrator=integrator)
    times, radii = np.expm1(saves), np.asarray(_radii(flow, path.ys))
    last = radii[[-1 - 2 * PER_DECADE, -1 - PER_DECADE, -1]]
    first, second = np.diff(np.log10(np.maximum(last, np.finfo(float).tiny)))
    exponents = (float(first), float(second))
    constant = float((last[2] ** 4 - last[1] ** 4) / (times[-1] - times[-1 - PER_DECADE]))
    verdict = _verdict(flow, x, path.final, float(times[-1]), exponents)
    return Boundedness(*verdict, times, radii, exponents, constant)


@checked
def escape_constant(loss: PrototypeLoss, k: int, rate: float = 1.0) -> float:
    r"""Compute the limit $8 \lambda \eta_P (K - 1)$ of $r^4 / t$ for one prototype that escapes from k - 1 others.

    The others stay with frozen embeddings, and each repels it with the velocity $2 \lambda \eta_P r^{-3}$.

    Args:
        loss: the loss, with its barrier lambda.
        k: number of prototypes.
        rate: learning rate of the prototypes, eta_P.

    Raises:
        ValueError: for fewer than one prototype, or a rate that is not positive.

    Example:
        >>> import dynsim as ds
        >>> from analysis.prototypes import escape_constant
        >>> escape_constant(ds.prototypes.PrototypeLoss(barrier=0.5), 3)
        8.0
    """
    return 8 * float(loss.barrier) * number("rate", rate) * (integer("k", k, least=1) - 1)


def _verdict(flow: Flow, x: State, final: State, end: float, exponents: tuple[float, float]) -> tuple[str, str, float]:
    """Decide the verdict, its reason, and the bound."""
    bound, reason = bounding_radius(flow, x)
    if np.isfinite(bound):
        return "bounded", reason, bound
    if np.any(escaping_prototypes(flow, final, end)):
        return "escaping", "certificate", np.inf
    if _converges(flow, final, end):
        return "bounded", "equilibrium", np.inf
    lawful = max(abs(value - 0.25) for value in exponents) <= QUARTER
    if lawful and float(flow.loss.barrier) > 0 and _pushed(flow, final, jnp.asarray(end)) <= ALONE:
        return "escaping", "law", np.inf
    return "undecided", "none", np.inf


def _converges(flow: Flow, x: State, t: float) -> bool:
    """Test whether a state is close to an exponentially stable equilibrium of a flow that no longer changes."""
    if not isinstance(flow.temperature, ConstantTemperature) and flow.temperature(t) != flow.temperature.limit():
        return False
    rest, speed = newton(flow, x, t)
    flat, there = (np.asarray(ravel_pytree(state)[0]) for state in (x, rest))
    size = 1 + float(np.max(np.abs(flat)))
    near = float(np.max(np.abs(there - flat))) <= MOVED * size
    return near and speed <= MOVED**2 * size and spectrum(flow, rest, t).kind == "stable"


@eqx.filter_jit
def _pushed(flow: Flow, x: State, t: Array) -> Array:
    """Compute the gradient of the farthest prototype without the barrier, relative to the barrier's part."""
    p, z = flow.prototypes(x), flow.embed(x)
    farthest = jnp.argmax(jnp.sum((p - jnp.mean(z, axis=0)[None]) ** 2, axis=1))
    push = flow.loss.penalty_gradient(p)[farthest]
    pull = flow.loss.gradients(z, p, flow.temperature(t))[1][farthest] - push
    return jnp.linalg.norm(pull) / jnp.linalg.norm(push)


@eqx.filter_jit
def _radii(flow: Flow, states: State) -> Array:
    """Compute the largest distance of a prototype from the mean embedding in each state."""

    def radius(x: State) -> Scalar:
        p, z = flow.prototypes(x), flow.embed(x)
        return jnp.sqrt(jnp.max(jnp.sum((p - jnp.mean(z, axis=0)[None]) ** 2, axis=1)))

    return jax.vmap(radius)(states)
