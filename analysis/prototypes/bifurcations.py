"""Equilibria of prototypes as functions of the temperature: branches, stability, and the pitchfork of collapse."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy.typing import ArrayLike

from analysis.dynamics.equilibria import equilibria
from analysis.fast_slow.critical_manifold import Branch, branch
from analysis.prototypes.collapse import collapse, critical_temperature
from dynsim._types import Key, Scalar
from dynsim.conversion import integer
from dynsim.errors import argument_error
from dynsim.systems.fast_slow.flow import FastSlow, FastSlowFlow
from dynsim.systems.prototypes.assignments import Embeddings, Prototypes
from dynsim.systems.prototypes.flow import PrototypeFlow, as_points
from dynsim.systems.prototypes.losses import PrototypeLoss

FLAT = 1e-9  # relative: eigenvalues of the Hessian below it are the zero one at the critical temperature


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


def temperature_system(z: ArrayLike, loss: PrototypeLoss) -> FastSlowFlow:
    """Return the flow of prototypes as a fast subsystem, with the temperature as a slow variable that does not move.

    `branch` and `connected_branches` continue its equilibria in the temperature; eigenvalues are those of the flow at
    the rate 1.
    """
    return FastSlowFlow(_Descent(as_points("z", z), loss), _constant, 1.0)


def branches_in_temperature(
    z: ArrayLike, k: int, loss: PrototypeLoss, temperatures: ArrayLike, key: Key, *, num_starts: int = 16
) -> tuple[Branch, ...]:
    """Return branches of equilibria of k prototypes, continued in the temperature, that of collapse first.

    The other branches begin at equilibria that are found at the first temperature from random starts, one for each set
    of prototypes whatever its order; there may be more, and there may be others that end before this temperature. A
    branch that ends at a pitchfork, where it meets its mirror image, is `lost` there: see `pitchfork`.

    Args:
        z: the embeddings (n, m).
        k: the number of prototypes.
        loss: the loss; with a barrier there is no collapse.
        temperatures: a path of temperatures, monotone.
        key: of the random starts.
        num_starts: their number.

    Raises:
        ValueError: unless there are at least two temperatures, all positive.
    """
    points, path = as_points("z", z), np.asarray(temperatures, float)
    if path.ndim != 1 or len(path) < 2 or not np.all((path > 0) & np.isfinite(path)):
        raise argument_error("temperatures", "be at least two positive numbers", f"are {temperatures}")
    scale = jnp.std(points) + jnp.asarray(1e-3)
    draws = jax.random.normal(
        key, (integer("num_starts", num_starts, least=1), integer("k", k, least=1), points.shape[1])
    )
    starts = jnp.mean(points, axis=0)[None, None] + 1.5 * scale * draws
    found = equilibria(PrototypeFlow(points, path[0], loss=loss), starts, invariant=_unordered)
    # A prototype out of reach of all embeddings moves too slowly to be told from one at rest; it has a zero eigenvalue.
    states = [
        np.asarray(rest.state) for rest in found if np.min(np.abs(rest.spectrum.values)) > rest.spectrum.tolerance
    ]
    if float(loss.barrier) == 0:
        together = collapse(points, k, loss)
        states = [together, *(p for p in states if np.max(np.abs(p - together)) > 1e-6)]
    system = temperature_system(points, loss)
    return tuple(branch(system, FastSlow(p, path[0]), path) for p in states)


def pitchfork(z: ArrayLike, loss: PrototypeLoss) -> Pitchfork:
    r"""Return the bifurcation of collapse of two prototypes at the critical temperature, and its kind.

    By the Lyapunov-Schmidt reduction, $\phi'''' = \Phi_{ssss} - 3 \Phi_{ssw} \Phi_{ww}^{-1} \Phi_{wss}$ with all other
    displacements w. Without a ridge it is $32 \sum_n \langle e, z_n - \bar z \rangle^4 / T^3$ (frozen) or
    $128 \sum_n \langle e, z_n - \bar z \rangle^4 / T^3$ (full), for the sum over embeddings: never negative.

    Raises:
        ValueError: for a loss with a barrier, embeddings that all coincide, or a largest variance that is not simple.
    """
    points = as_points("z", z)
    centre, T = collapse(points, 2, loss), critical_temperature(points, loss)
    away = np.asarray(points) - centre[0]
    variances, axes = np.linalg.eigh(away.T @ away / len(away))
    if not variances[-1] > 0:
        raise argument_error("z", "have two embeddings that differ", "has none")
    if len(variances) > 1 and variances[-1] - variances[-2] <= FLAT * variances[-1]:
        raise argument_error("z", "have a simple largest variance", "has one that belongs to several directions")
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


class _Descent(eqx.Module):
    embeddings: Embeddings
    loss: PrototypeLoss

    def __call__(self, x: Prototypes, y: Scalar) -> Prototypes:
        return -self.loss.gradients(self.embeddings, x, y)[1]


def _constant(x: Prototypes, y: Scalar) -> Scalar:
    del x
    return jnp.zeros_like(y)


def _unordered(p: Prototypes) -> Array:
    """Return numbers that depend on the prototypes and not on their order: sorted projections to two directions."""
    first = jnp.sqrt(1.0 + jnp.arange(p.shape[1], dtype=p.dtype))
    return jnp.concatenate([jnp.sort(p @ axis) for axis in (first, jnp.cos(first))])


@eqx.filter_jit
def _jet(
    z: Embeddings, loss: PrototypeLoss, centre: Prototypes, way: Prototypes, T: Scalar
) -> tuple[Scalar, Array, Array]:
    """Return the fourth derivative along a way, the second along it of the gradient, and the Hessian, at the centre."""
    along = lambda s, p: loss.potential(z, p + s * way, T)
    second = jax.jacfwd(jax.jacfwd(along))
    fourth = jax.jacfwd(jax.jacfwd(lambda s: second(s, centre)))(jnp.zeros(()))
    mixed = jax.grad(lambda p: second(jnp.zeros(()), p))(centre)
    H = jax.hessian(lambda p: loss.potential(z, p.reshape(centre.shape), T))(jnp.ravel(centre))
    return fourth, jnp.ravel(mixed), H
