"""Find rigid motions of embeddings and prototypes that an encoder can follow, which are zero modes of equilibria."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int

from analysis.prototypes.hessian import hessian_blocks
from dynsim._core.checked import checked
from dynsim._core.printing import one_line, report
from dynsim._core.types import State, Time
from dynsim.errors import ArgumentError
from dynsim.systems.prototypes.flow import Coupled, CoupledFlow

# Relative error up to which parameters follow a motion of the embeddings.
LIFTED = 1e-9


class SymmetryModes(NamedTuple):
    r"""Directions in which the loss does not change, because it depends on distances alone.

    `modes` is an orthonormal basis of them, (variables, modes), the variables in the order of `hessian_blocks`.
    `translations` and `rotations` count the independent rigid motions of embeddings and prototypes that the encoder's
    parameters can follow at this state, `redundant` the directions of the parameters that move no embedding.
    `curvature` is the largest $|H v|$ over the basis, relative to the norm of H: at an equilibrium of the flow it is
    zero up to rounding.
    """

    modes: Float[np.ndarray, "variables modes"]
    translations: int
    rotations: int
    redundant: int
    curvature: float

    __repr__ = one_line
    __str__ = report

    @property
    def rank(self) -> int:
        """The number of independent modes: a lower bound of the multiplicity of the eigenvalue 0 at an equilibrium."""
        return self.modes.shape[1]


@checked
def symmetry_modes(flow: CoupledFlow, x: Coupled, t: Time = 0.0) -> SymmetryModes:
    r"""Find the directions in which the loss is invariant at a state, by a least-squares fit of $D_\theta z$.

    Embeddings and prototypes may be translated together, $v = (a, ..., a)$, and rotated, $v = (A z_n, A p_k)$ with A
    antisymmetric, without a change of any distance; but the embeddings move only as the encoder's parameters move them.
    A ridge is not invariant under translations. NumPy: not for `jit`.

    Args:
        flow: the coupled flow of encoder and prototypes.
        x: its state.
        t: time, in the unit of the flow.

    Example:
        >>> import dynsim as ds
        >>> import jax.numpy as jnp
        >>> from analysis.prototypes import symmetry_modes
        >>> flow = ds.prototypes.CoupledFlow([[0.0], [0.0]], ds.prototypes.FreeEmbeddings(2, 1), 1.0)
        >>> found = symmetry_modes(flow, ds.prototypes.Coupled(jnp.array([[1.0], [3.0]]), jnp.array([[2.0]])))
        >>> found.translations, found.rotations, found.modes.shape
        (1, 0, (3, 1))
    """
    D, z, p = np.asarray(_embedding_jacobian(flow, x)), np.asarray(flow.embed(x)), np.asarray(flow.prototypes(x))
    points = np.concatenate([z, p])
    shifts = [] if float(flow.loss.ridge) > 0 else [np.tile(a, (len(points), 1)) for a in np.eye(z.shape[1])]
    turns = [points @ A.T for A in _antisymmetric(z.shape[1])]
    kernel = _kernel(D)
    idle = np.concatenate([kernel, np.zeros((p.size, kernel.shape[1]))])
    shifted, moved = _lifted(D, shifts, z.size), _lifted(D, shifts + turns, z.size)
    modes = _basis(np.concatenate([idle, moved], axis=1))
    H = hessian_blocks(flow, x, t).matrix
    curvature = float(np.max(np.linalg.norm(H @ modes, axis=0), initial=0.0)) / float(np.linalg.norm(H, 2))
    return SymmetryModes(modes, shifted.shape[1], moved.shape[1] - shifted.shape[1], kernel.shape[1], curvature)


@checked
def permuted(x: Coupled, order: Int[np.ndarray, " k"]) -> Coupled:
    """Reorder the prototypes of a state; no loss or flow depends on their order.

    Permutations are discrete and have no zero modes: an equilibrium with k distinct prototypes is one of k! with the
    same spectrum.

    Args:
        x: the state.
        order: for each place the index of the prototype that it gets, (k,).

    Raises:
        ValueError: unless `order` holds each prototype once.

    Example:
        >>> import dynsim as ds
        >>> import jax.numpy as jnp
        >>> import numpy as np
        >>> from analysis.prototypes import permuted
        >>> x = ds.prototypes.Coupled(jnp.zeros(0), jnp.array([[1.0], [2.0]]))
        >>> permuted(x, np.array([1, 0])).prototypes.tolist()
        [[2.0], [1.0]]
    """
    if sorted(np.asarray(order).tolist()) != list(range(len(x.prototypes))):
        raise ArgumentError("order", f"hold each of 0 to {len(x.prototypes) - 1} once", f"is {list(order)}")
    return x._replace(prototypes=x.prototypes[jnp.asarray(order)])


def _lifted(D: np.ndarray, motions: list[np.ndarray], count: int) -> Float[np.ndarray, "variables modes"]:
    """Compute a basis of the combinations of motions of all points that the parameters can follow.

    The first `count` entries of a motion are those of the embeddings.
    """
    if not motions:
        return np.zeros((0, 0))
    V = np.stack([np.ravel(motion) for motion in motions], axis=1)
    parameters = np.linalg.pinv(D, rcond=LIFTED) @ V[:count]
    missed = V[:count] - D @ parameters
    return _basis(np.concatenate([parameters, V[count:]]) @ _kernel(missed, float(np.linalg.norm(V, 2))))


def _antisymmetric(m: int) -> list[np.ndarray]:
    """List the m (m - 1) / 2 generators of rotations in coordinate planes."""
    unit = np.eye(m)
    return [np.outer(unit[i], unit[j]) - np.outer(unit[j], unit[i]) for i in range(m) for j in range(i)]


def _kernel(matrix: np.ndarray, scale: float = 0.0) -> Float[np.ndarray, "columns kernel"]:
    """Compute an orthonormal basis of the null space, up to rounding relative to the norm or a larger scale."""
    _, sizes, right = np.linalg.svd(matrix)
    full = np.append(sizes, np.zeros(len(right) - len(sizes)))
    return right[full <= LIFTED * max(scale, full[0], np.finfo(float).tiny)].T


def _basis(columns: np.ndarray) -> Float[np.ndarray, "rows rank"]:
    """Compute an orthonormal basis of the span of columns."""
    left, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    return left[:, sizes > LIFTED * max(1.0, float(np.max(sizes, initial=0.0)))]


@eqx.filter_jit
def _embedding_jacobian(flow: CoupledFlow, x: State) -> Array:
    theta, restored = ravel_pytree(x.encoder)
    return jax.jacfwd(lambda y: jnp.ravel(flow.embed(Coupled(restored(y), x.prototypes))))(theta)
