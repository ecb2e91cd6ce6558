"""Continue equilibria of prototypes in the temperature: branches, stability, and the pitchfork of collapse."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from analysis.dynamics.continuation.branches import Branch
from analysis.dynamics.continuation.equilibria import continue_equilibria
from analysis.dynamics.continuation.steps import Steps
from analysis.dynamics.equilibria.newton import equilibria
from analysis.dynamics.linearisation import NEAR_ZERO
from analysis.prototypes.collapse import collapse, critical_temperature
from dynsim._core.checked import checked
from dynsim._core.printing import one_line, report
from dynsim._core.types import ArrayLike, Key, Scalar
from dynsim._core.validation import instance, integer, number
from dynsim.errors import ArgumentError, shown
from dynsim.systems.parameter import Parameter
from dynsim.systems.prototypes.assignments import Embeddings, Prototypes
from dynsim.systems.prototypes.flow import PrototypeFlow, as_points
from dynsim.systems.prototypes.losses import PrototypeLoss
from dynsim.systems.prototypes.temperatures import ConstantTemperature

# Eigenvalues of the Hessian below this share of the largest count as the zero one at the critical temperature.
FLAT = 1e-9


class Pitchfork(NamedTuple):
    r"""The bifurcation of collapse of two prototypes, $p_\pm = \bar z \pm s e$ to leading order.

    `temperature` is the critical one, `direction` the principal direction e of the embeddings, and `coefficient` the
    fourth derivative by s of the potential, minimised over all other displacements. `kind` is `supercritical` (positive
    coefficient: below the critical temperature there are stable branches, and at it collapse is still asymptotically
    stable), `subcritical` (negative) or `degenerate`.
    """

    temperature: float
    direction: Float[np.ndarray, " m"]
    coefficient: float
    kind: str

    __repr__ = one_line
    __str__ = report


@checked
def branches_in_temperature(
    z: ArrayLike,
    k: int,
    loss: PrototypeLoss,
    bounds: tuple[float, float],
    key: Key,
    *,
    num_starts: int = 16,
    max_step: float | None = None,
) -> tuple[Branch, ...]:
    """Continue equilibria of k prototypes in the temperature; the branch of collapse comes first.

    The other branches start from equilibria found from random starts at the lowest temperature, one for each set of
    prototypes regardless of order. Equilibria may be missed, as may branches that do not reach this temperature. A
    branch of two prototypes that meets collapse at a pitchfork turns back there (`fold`) to its mirror image; see
    `pitchfork`. Eigenvalues are those of the flow at rate 1.

    Args:
        z: embeddings (n, m).
        k: number of prototypes.
        loss: the loss; with a barrier there is no collapse.
        bounds: lower and upper bound of the temperature.
        key: random key of the starts.
        num_starts: number of random starts; 0 gives the branch of collapse only.
        max_step: largest step along a branch, in the norm of prototypes and temperature together. The default is the
            smaller of a tenth of the embeddings' standard deviation and a 20th of the temperature range.

    Raises:
        ValueError: unless the bounds are positive and increase.

    Example:
        >>> import dynsim as ds
        >>> from analysis.prototypes import branches_in_temperature
        >>> loss, key = ds.prototypes.PrototypeLoss("frozen"), ds.random_key(0, "starts")
        >>> found = branches_in_temperature([[-1.0], [1.0]], 2, loss, (1.0, 3.0), key, num_starts=0)
        >>> round(float(found[0].bifurcations[0].parameter), 4)  # twice the variance of the embeddings
        2.0
    """
    points, (low, high) = as_points("z", z), _temperatures(bounds)
    flow = PrototypeFlow(points, low, loss=loss)
    scale = jnp.std(points) + jnp.asarray(1e-3)
    draws = jax.random.normal(
        key, (integer("num_starts", num_starts, least=0), integer("k", k, least=1), points.shape[1])
    )
    starts = jnp.mean(points, axis=0)[None, None] + 1.5 * scale * draws
    found = equilibria(flow, starts, invariant=_unordered) if num_starts else ()
    # A prototype out of reach of all embeddings moves too slowly to be told from an equilibrium; it has a zero
    # eigenvalue.
    sizes = [np.abs(rest.spectrum.values) for rest in found]
    states = [
        np.asarray(rest.state) for rest, size in zip(found, sizes, strict=True) if min(size) > NEAR_ZERO * max(size)
    ]
    if float(loss.barrier) == 0:
        together = collapse(points, k, loss)
        states = [together, *(p for p in states if np.max(np.abs(p - together)) > 1e-6)]
    largest = min(0.1 * float(scale), (high - low) / 20) if max_step is None else number("max_step", max_step)
    temperature = Parameter(flow, _temperature_of, low, high, name="temperature")
    steps = Steps(first=largest / 4, largest=largest)
    return tuple(branch_in_temperature(temperature, p, steps=steps) for p in states)


@checked
def branch_in_temperature(temperature: Parameter, start: ArrayLike, *, steps: Steps = Steps()) -> Branch:
    """Continue the equilibria near a start in the temperature, from the flow's own value in both directions.

    Args:
        temperature: the temperature of a `PrototypeFlow`, and its range.
        start: prototypes near an equilibrium, (k, m).
        steps: the steps along the curve.

    Raises:
        ValueError: for a parameter of another system, or as `continue_equilibria` does.

    Example:
        >>> import dynsim as ds
        >>> from analysis.prototypes import branch_in_temperature
        >>> loss = ds.prototypes.PrototypeLoss("frozen")
        >>> flow = ds.prototypes.PrototypeFlow([[-1.0], [1.0]], 2.5, loss=loss)
        >>> temperature = ds.Parameter(flow, lambda flow: flow.temperature.value, 1.0, 3.0)
        >>> branch = branch_in_temperature(temperature, [[0.0], [0.0]])
        >>> round(float(branch.bifurcations[0].parameter), 4)  # twice the variance of the embeddings
        2.0
    """
    given = instance("temperature", temperature, Parameter, "a `Parameter`")
    flow: Any = given.system
    if (
        not isinstance(flow, PrototypeFlow)
        or not isinstance(flow.temperature, ConstantTemperature)
        or given.take(flow) is not flow.temperature.value
    ):
        must = "be the constant temperature of a `PrototypeFlow`"
        raise ArgumentError("temperature", must, f"is {shown(given)}")
    return continue_equilibria(given, as_points("start", start), steps=steps)


def _temperature_of(flow: Any) -> Any:
    return flow.temperature.value


def _temperatures(bounds: tuple[float, float]) -> tuple[float, float]:
    found = np.asarray(bounds, float)
    if found.shape != (2,) or not np.all(np.isfinite(found)) or not 0 < found[0] < found[1]:
        raise ArgumentError("bounds", "be a positive temperature and a higher one", f"are {shown(bounds)}")
    return float(found[0]), float(found[1])


@checked
def pitchfork(z: ArrayLike, loss: PrototypeLoss) -> Pitchfork:
    r"""Classify the bifurcation of collapse of two prototypes at the critical temperature.

    By the Lyapunov-Schmidt reduction, $\phi'''' = \Phi_{ssss} - 3 \Phi_{ssw} \Phi_{ww}^{-1} \Phi_{wss}$ with all other
    displacements w. Without a ridge it is $32 \sum_n \langle e, z_n - \bar z \rangle^4 / T^3$ (frozen) or
    $128 \sum_n \langle e, z_n - \bar z \rangle^4 / T^3$ (full), for the sum over embeddings: never negative.

    Args:
        z: embeddings, (n, m).
        loss: the loss, without barrier.

    Raises:
        ValueError: for a loss with a barrier, embeddings that all coincide, or a largest variance that is not simple.

    Example:
        >>> import dynsim as ds
        >>> from analysis.prototypes import pitchfork
        >>> found = pitchfork([[-1.0], [1.0]], ds.prototypes.PrototypeLoss("frozen"))
        >>> round(found.temperature, 4), round(found.coefficient, 4), found.kind  # 32 (1 + 1) / 2**3
        (2.0, 8.0, 'supercritical')
    """
    points = as_points("z", z)
    centre, T = collapse(points, 2, loss), critical_temperature(points, loss)
    away = np.asarray(points) - centre[0]
    variances, axes = np.linalg.eigh(away.T @ away / len(away))
    if not variances[-1] > 0:
        raise ArgumentError("z", "have two embeddings that differ", "has none")
    if len(variances) > 1 and variances[-1] - variances[-2] <= FLAT * variances[-1]:
        raise ArgumentError("z", "have a simple largest variance", "has one that belongs to several directions")
    e = axes[:, -1]
    parts = _jet(points, loss, jnp.asarray(centre), jnp.asarray(np.stack([e, -e])), jnp.asarray(T))
    fourth, mixed, H = (np.asarray(part) for part in parts)
    values, vectors = np.linalg.eigh(H)
    regular = np.abs(values) > FLAT * np.max(np.abs(values))
    along = vectors[:, regular].T @ mixed
    coefficient = float(fourth - 3 * np.sum(along**2 / values[regular]))
    small = abs(coefficient) <= FLAT * abs(float(fourth))
    return Pitchfork(
        T, e, coefficient, "degenerate" if small else "supercritical" if coefficient > 0 else "subcritical"
    )


def _unordered(p: Float[Array | np.ndarray, "k m"]) -> Array:
    """Compute numbers that do not depend on the order of the prototypes: sorted projections to two directions."""
    first = jnp.sqrt(1.0 + jnp.arange(p.shape[1], dtype=p.dtype))
    return jnp.concatenate([jnp.sort(jnp.asarray(p) @ axis) for axis in (first, jnp.cos(first))])


@eqx.filter_jit
def _jet(
    z: Embeddings, loss: PrototypeLoss, centre: Prototypes, way: Prototypes, T: Scalar
) -> tuple[Scalar, Array, Array]:
    """Compute the fourth derivative along a direction, the second one of the gradient, and the Hessian."""
    along = lambda s, p: loss.potential(z, p + s * way, T)
    second = jax.jacfwd(jax.jacfwd(along))
    fourth = jax.jacfwd(jax.jacfwd(lambda s: second(s, centre)))(jnp.zeros(()))
    mixed = jax.grad(lambda p: second(jnp.zeros(()), p))(centre)
    H = jax.hessian(lambda p: loss.potential(z, p.reshape(centre.shape), T))(jnp.ravel(centre))
    return fourth, jnp.ravel(mixed), H
