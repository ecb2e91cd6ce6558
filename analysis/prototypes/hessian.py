"""Compute second derivatives of the loss of encoder and prototypes, and the linearisation of the coupled flow."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from dynsim._core.checked import checked
from dynsim._core.printing import one_line, report
from dynsim._core.types import State, Time
from dynsim.systems.prototypes.flow import Coupled, CoupledFlow

Matrix = Float[np.ndarray, "a b"]


class HessianBlocks(NamedTuple):
    r"""The blocks $H_{\theta\theta}$, $H_{\theta P}$ and $H_{PP}$ of a Hessian; $H_{P\theta}$ is the transposed second.

    The variables are flat: the encoder's parameters as `ravel_pytree` orders them, then the prototypes row by row.
    """

    encoder: Matrix
    mixed: Matrix
    prototypes: Matrix

    __repr__ = one_line
    __str__ = report

    @property
    def matrix(self) -> Matrix:
        """The whole Hessian."""
        return np.block([[self.encoder, self.mixed], [self.mixed.T, self.prototypes]])


class RateCondition(NamedTuple):
    r"""Both sides of (14): `ratio`, $\eta_\theta / \eta_P$, and `bound`, which is printed for a Hessian > 0.

    `bound` is 0 if $H_{\theta\theta}$ has the eigenvalue 0 and $H_{\theta P}$ is not zero.
    """

    ratio: float
    bound: float

    __repr__ = one_line
    __str__ = report

    @property
    def holds(self) -> bool:
        """Whether the ratio is below the bound."""
        return self.ratio < self.bound


@checked
def hessian_blocks(flow: CoupledFlow, x: Coupled, t: Time = 0.0) -> HessianBlocks:
    r"""Compute the blocks of the Hessian of the flow's `potential` at a state, as the Jacobian of its `gradient`.

    The potential, and with it the Hessian, is that of the mode of the loss: in the mode `frozen` it is the second
    derivative of the free energy, and not the Hessian of $L_q$. NumPy: not for `jit`.

    Args:
        flow: the coupled flow of encoder and prototypes.
        x: its state.
        t: time, in the unit of the flow.

    Source: PROTOTYPES, eq. (13).

    Example:
        >>> import dynsim as ds
        >>> import jax.numpy as jnp
        >>> from analysis.prototypes import hessian_blocks
        >>> flow = ds.prototypes.CoupledFlow([[1.0]], ds.prototypes.LinearEncoder(1, 1), 1.0)  # loss (theta - p)**2
        >>> blocks = hessian_blocks(flow, ds.prototypes.Coupled(jnp.array([[3.0]]), jnp.array([[1.0]])))
        >>> blocks.encoder.tolist(), blocks.mixed.tolist(), blocks.prototypes.tolist()
        ([[2.0]], [[-2.0]], [[2.0]])
    """
    count = ravel_pytree(x.encoder)[0].size
    H = np.asarray(_gradient_jacobian(flow, x, jnp.asarray(t, float)))
    return HessianBlocks(H[:count, :count], H[:count, count:], H[count:, count:])


@checked
def rate_jacobian(flow: CoupledFlow, x: Coupled, t: Time = 0.0) -> Matrix:
    r"""Compute $J^* = \mathrm{diag}(\eta) H$, minus the linearisation of the flow, per unit of its time.

    Args:
        flow: the coupled flow of encoder and prototypes.
        x: its state.
        t: time, in the unit of the flow.

    Source: PROTOTYPES, eq. (13).

    Example:
        >>> import dynsim as ds
        >>> import jax.numpy as jnp
        >>> from analysis.prototypes import rate_jacobian
        >>> flow = ds.prototypes.CoupledFlow([[1.0]], ds.prototypes.LinearEncoder(1, 1), 1.0, prototype_rate=3.0)
        >>> rate_jacobian(flow, ds.prototypes.Coupled(jnp.array([[3.0]]), jnp.array([[1.0]]))).tolist()
        [[2.0, -2.0], [-6.0, 6.0]]
    """
    blocks = hessian_blocks(flow, x, t)
    return _rates(flow, blocks)[:, None] * blocks.matrix


@checked
def rate_spectrum(flow: CoupledFlow, x: Coupled, t: Time = 0.0) -> Float[np.ndarray, " a"]:
    r"""Compute the eigenvalues of $J^*$, ascending; $J^*$ is similar to the symmetric $D^{1/2} H D^{1/2}$.

    Args:
        flow: the coupled flow of encoder and prototypes.
        x: its state.
        t: time, in the unit of the flow.

    Source: PROTOTYPES, Proposition 3.

    Example:
        >>> import dynsim as ds
        >>> import jax.numpy as jnp
        >>> from analysis.prototypes import rate_spectrum
        >>> encoder = ds.prototypes.LinearEncoder(1, 1)
        >>> flow = ds.prototypes.CoupledFlow([[1.0], [-1.0]], encoder, 1.0, prototype_rate=3.0)
        >>> x = ds.prototypes.Coupled(jnp.array([[3.0]]), jnp.array([[1.0]]))
        >>> rate_spectrum(flow, x).round(4).tolist()  # the loss is 2 theta**2 + 2 p**2
        [4.0, 12.0]
    """
    blocks = hessian_blocks(flow, x, t)
    root = np.sqrt(_rates(flow, blocks))
    return np.linalg.eigvalsh(root[:, None] * blocks.matrix * root)


@checked
def rate_condition(flow: CoupledFlow, x: Coupled, t: Time = 0.0) -> RateCondition:
    """Compute both sides of condition (14) on the ratio of the rates of encoder and prototypes at a state.

    Args:
        flow: the coupled flow of encoder and prototypes.
        x: its state.
        t: time, in the unit of the flow.

    Source: PROTOTYPES, eq. (14).

    Example:
        >>> import dynsim as ds
        >>> import jax.numpy as jnp
        >>> from analysis.prototypes import rate_condition
        >>> encoder = ds.prototypes.LinearEncoder(1, 1)
        >>> flow = ds.prototypes.CoupledFlow([[1.0], [-1.0]], encoder, 1.0, prototype_rate=2.0)
        >>> found = rate_condition(flow, ds.prototypes.Coupled(jnp.array([[3.0]]), jnp.array([[1.0]])))
        >>> found.ratio, round(found.bound, 4)
        (0.5, 1.0)
    """
    return RateCondition(float(flow.ratio), condition_bound(hessian_blocks(flow, x, t)))


@checked
def condition_bound(blocks: HessianBlocks) -> float:
    r"""Bound: $\lambda_{min}(H_{PP}) / (\|H_{\theta P}\|^2 / \lambda_{min}(H_{\theta\theta}) + \lambda_{max}(H_{PP}))$.

    Source: PROTOTYPES, eq. (14).

    Example:
        >>> import numpy as np
        >>> from analysis.prototypes import HessianBlocks, condition_bound
        >>> blocks = HessianBlocks(np.array([[2.0]]), np.array([[1.0]]), np.array([[3.0]]))
        >>> round(condition_bound(blocks), 4)  # 3 / (1 / 2 + 3)
        0.8571
    """
    fast = np.linalg.eigvalsh(blocks.prototypes)
    slow = float(np.linalg.eigvalsh(blocks.encoder)[0])
    coupling = float(np.linalg.norm(blocks.mixed, 2)) ** 2
    if coupling > 0 and slow == 0:
        return 0.0
    return float(fast[0] / ((coupling / slow if coupling > 0 else 0.0) + fast[-1]))


def _rates(flow: CoupledFlow, blocks: HessianBlocks) -> Float[np.ndarray, " a"]:
    counts = (len(blocks.encoder), len(blocks.prototypes))
    return np.repeat([float(flow.encoder_rate), float(flow.prototype_rate)], counts)


@eqx.filter_jit
def _gradient_jacobian(flow: CoupledFlow, x: State, t: Array) -> Array:
    theta, restored = ravel_pytree(x.encoder)
    count, shape = theta.size, x.prototypes.shape

    def gradient(y: Array) -> Array:
        by_encoder, by_prototypes = flow.gradient(t, Coupled(restored(y[:count]), y[count:].reshape(shape)))
        return jnp.concatenate([ravel_pytree(by_encoder)[0], jnp.ravel(by_prototypes)])

    return jax.jacfwd(gradient)(jnp.concatenate([theta, jnp.ravel(x.prototypes)]))
