"""Claims of Section 11.2 on contraction: whether Post, layers with RMSNorm, brings any two states closer."""

from dataclasses import replace
from fractions import Fraction

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from analysis.claims.multirate.instances import numpy_forward_pass
from analysis.claims.multirate.instances.networks import SMALL, network
from analysis.ledger.claim import claim
from analysis.ledger.evidence import ROUNDING, Trial, at_least, at_most, equal
from dynsim._core.orientation import oriented
from dynsim._core.types import Key
from dynsim.keys import numpy_rng
from dynsim.networks.multirate.layers import GroupedLayer
from dynsim.networks.multirate.network import Round
from dynsim.papers import MULTIRATE

STEP = 1e-4  # half the distance of the two states of a near pair
FAR = 1e6  # states of a far pair, in units of x
LARGEST_FACTOR = 0.999  # of a contraction, in the reading of `post_is_a_contraction_under_rms_norm`


def expansion(post: numpy_forward_pass.Field, x: np.ndarray, step: float = STEP) -> tuple[float, np.ndarray]:
    """Return the expansion factor of Post for the pair of states x +- `step` v, and v.

    v is the first right singular vector of the Jacobian at x (central differences), the direction of largest expansion.
    """
    n = x.size
    pair = lambda v: (x + step * v.reshape(x.shape), x - step * v.reshape(x.shape))
    moved = lambda v: np.ravel(np.subtract(*map(post, pair(v)))) / (2 * step)
    J = np.stack([moved(e) for e in np.eye(n)], axis=1)
    v = oriented(np.linalg.svd(J)[2][0])
    return float(np.linalg.norm(moved(v))), v


def contraction_trial(post: numpy_forward_pass.Field, x: np.ndarray, **witness: float) -> Trial:
    """Measure that Post brings two states next to x closer to each other, in the direction of most expansion, and two
    states far apart on the line of x, by a factor of at most `LARGEST_FACTOR`.
    """
    found, _ = expansion(post, x)
    far = FAR * x
    ray = float(np.linalg.norm(post(far) - post(-far)) / np.linalg.norm(2 * far))
    return Trial(
        hypotheses=(at_least("least norm of a token", np.min(np.linalg.norm(x, axis=1)), 0.0, tolerance=ROUNDING),),
        conclusions=(
            at_most("largest expansion factor of a near pair", found, 1.0, tolerance=ROUNDING / STEP),
            at_most("factor of a far pair", ray, LARGEST_FACTOR, tolerance=ROUNDING),
        ),
        witness={"largest expansion": found, "expansion of a far pair": ray, **witness},
        parameters={"n": len(x), "d": x.shape[1], **witness},
    )


@claim(
    "multirate/claim-rmsnorm-contraction",
    MULTIRATE.at("Section 11.2"),
    num_trials=6,
    note="pre-norm layers with small and large random weights; for trained ones see `trained`. It fails for any "
    "weights and any norm: RMSNorm bounds Post(x) - x, so that distances of far pairs are preserved to leading order. "
    "No correction keeps the conclusion; x / 2 passes the same measurement; no control: there is no hypothesis to drop",
)
def post_is_a_contraction_under_rms_norm(key: Key) -> Trial:
    """Post, layers with RMSNorm before attention and MLP, is a contraction.

    Read: with a Lipschitz constant of at most 0.999.
    """
    a, b = jax.random.split(key)
    scale = float(numpy_rng(a).choice([0.1, 0.3, 1.0]))
    r = network(a, scale=scale).rounds[0]
    x = numpy_rng(b).normal(size=(4, SMALL.width))
    post = lambda x: np.asarray(passed(r, x))
    trial = contraction_trial(post, x, scale=scale)
    written = numpy_forward_pass.euler_steps(numpy_forward_pass.fields(numpy_forward_pass.in_numpy(r).after), x)
    same = equal("largest difference of Post from that in NumPy", np.max(abs(post(x) - written)), 0, tolerance=ROUNDING)
    far = [(Fraction(str(LARGEST_FACTOR)), Fraction(int(FAR * np.linalg.norm(x))))]
    witness = {**trial.witness, "tokens": len(x), "layers": [_weights(layer) for layer in r.after], "L and |x|": far}
    return replace(trial, hypotheses=(*trial.hypotheses, same), witness=witness)


def _weights(layer: GroupedLayer) -> dict[str, object]:
    """Return what bounds the displacement by a layer: gains, values, outputs and the MLP."""
    mixing, mlp = layer.attention, layer.feedforward
    return {
        "gains": [layer.attention_norm.gain, layer.feedforward_norm.gain],
        "value": mixing.value,
        "value bias": mixing.value_bias,
        "output": mixing.output,
        "output bias": mixing.output_bias,
        "inner": mlp.inner,
        "inner bias": mlp.inner_bias,
        "outer": mlp.outer,
        "outer bias": mlp.outer_bias,
    }


@eqx.filter_jit
def passed(r: Round, x: Array) -> Array:
    """Return Post(x) of a round, without an injection."""
    return r.fast_map(x, jnp.zeros_like(x))
