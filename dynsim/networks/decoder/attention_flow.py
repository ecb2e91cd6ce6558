"""The attention of a trained network as a token flow, with P and U constant in each layer."""

import math

import jax.numpy as jnp

from dynsim._core.checked import checked
from dynsim.networks.decoder.transformer import Transformer
from dynsim.systems.schedules import PiecewiseConstant
from dynsim.systems.tokens.flow import TokenFlow
from dynsim.systems.tokens.interactions.masks import Causal


def attention_schedules(
    transformer: Transformer, *, duration: float = 1.0, periodic: bool = True
) -> tuple[PiecewiseConstant, PiecewiseConstant]:
    r"""P and U of every layer and head, $P_h = W_Q^\top W_K / \sqrt{m}$ and $U_h = W_O W_V$, m the heads' size.

    Each layer lasts for `duration`, in the time unit of the flow; periodic schedules repeat after the last layer.
    Without biases and rotary embedding, $\langle x_i, P_h x_j \rangle$ is the attention score of the normalised tokens
    i and j in the network. The schedules ignore all biases, the rotary embedding (P is taken at relative position 0),
    the normalisation layers with their gains, and the feed-forward layers.

    Source: CONSENSUS, Section 7.5 (repeated passes through the same network).
    """
    layers = [block.attention for block in transformer.blocks]
    scale = math.sqrt(layers[0].query.shape[1])
    P = jnp.stack([jnp.einsum("hma,hmb->hab", a.query, a.key) / scale for a in layers])
    U = jnp.stack([jnp.einsum("ham,hmb->hab", a.output, a.value) for a in layers])
    return PiecewiseConstant(P, duration, periodic=periodic), PiecewiseConstant(U, duration, periodic=periodic)


@checked
def attention_flow(
    transformer: Transformer, *, duration: float = 1.0, periodic: bool = True, scale: float | None = None
) -> TokenFlow:
    r"""Build the flow (7) with the P and U of a network: causal attention on the unit sphere.

    It ignores what `attention_schedules` ignores. Its tokens have norm 1, whereas the normalised tokens in the network
    have norm about $\sqrt d$ (times the gains). `scale` is the factor of the velocity in (7), by default $1/\sqrt d$.

    Args:
        transformer: the network.
        duration: time that each layer lasts, in the time unit of the flow.
        periodic: whether the layers are repeated after the last one.
        scale: factor of the velocity.

    Source: CONSENSUS, eq. (7).

    Example:
        >>> import tempfile
        >>> import dynsim as ds
        >>> import jax.numpy as jnp
        >>> import numpy as np
        >>> sizes = {"h.0.ln_1": (2,), "h.0.ln_2": (2,), "h.0.mlp.c_fc": (2, 8), "h.0.mlp.c_proj": (8, 2), "ln_f": (2,)}
        >>> tensors = {f"{name}.weight": np.ones(size) for name, size in sizes.items()}
        >>> tensors |= {"h.0.attn.c_attn.weight": np.tile(np.eye(2), 3), "h.0.attn.c_proj.weight": np.eye(2)}
        >>> tensors |= {name.replace("weight", "bias"): np.zeros(w.shape[-1]) for name, w in tensors.items()}
        >>> tensors |= {"wte.weight": np.ones((3, 2)), "wpe.weight": np.ones((4, 2))}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     np.savez(f"{folder}/tiny.npz", **tensors)
        ...     network = ds.networks.load_transformer(f"{folder}/tiny.npz", heads=1)
        >>> flow = ds.networks.attention_flow(network, scale=1.0)  # P = I / sqrt(2) and U = I
        >>> velocity = flow.vector_field(0.0, jnp.eye(2))  # the first token attends to itself only
        >>> bool(jnp.all(velocity[0] == 0)), round(float(velocity[1, 0]), 4)  # 1 / (1 + exp(1 / sqrt(2)))
        (True, 0.3302)
    """
    P, U = attention_schedules(transformer, duration=duration, periodic=periodic)
    return TokenFlow(P, U, mask=Causal(), scale=scale)
