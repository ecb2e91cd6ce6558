"""Self-attention as a flow of tokens whose normalisation acts before, after or around attention, or not at all."""

import equinox as eqx

from dynsim._core.types import Time, Tokens
from dynsim._core.validation import choice, instance
from dynsim.errors import ArgumentError
from dynsim.spaces import Ellipsoid, Euclidean, Sphere
from dynsim.systems.tokens.flow import AbstractAttentionFlow, TokenFlow

PLACEMENTS = ("pre", "post", "peri", "none")
"""Where the normalisation acts; see `with_norms`."""


class NormalisedTokenFlow(AbstractAttentionFlow):
    r"""Self-attention of normalised tokens in $R^d$, whose output is added as it is (pre) or normalised, too (peri).

    $$
        \dot x_i = m_i(\pi(x)) \quad \text{(pre)}, \qquad \dot x_i = \pi(m_i(\pi(x))) \quad \text{(peri)}
    $$

    Here m_i is the output of attention before its projection to the tangent space, and $\pi(y) = y / |y|$ for each
    token. The directions of tokens move as on the sphere, but slower by the factor $|x_i|$ (pre), or
    $|x_i|\,|m_i|$ (peri). A token must not be zero, nor with peri its output of attention.

    Source: N. Karagodin, S. Ge, Y. Polyanskiy and P. Rigollet, Normalization in Attention Dynamics, NeurIPS 2025,
    arXiv:2510.22026.
    """

    attention: TokenFlow
    placement: str = eqx.field(static=True)
    space: Euclidean

    def __init__(self, attention: TokenFlow, placement: str = "pre"):
        """Store the flow of attention, on the sphere or an ellipsoid, and the placement, `pre` or `peri`."""
        self.attention = instance("attention", attention, TokenFlow, "a `TokenFlow`")
        if not isinstance(attention.space, Sphere | Ellipsoid):
            is_ = f"is on {type(attention.space).__name__}"
            raise ArgumentError("attention", "be a flow on the sphere or an ellipsoid, which normalises tokens", is_)
        self.placement = choice("placement", placement, ("pre", "peri"))
        self.space = Euclidean()

    def velocity(self, t: Time, x: Tokens) -> Tokens:
        """Output of attention for normalised tokens, which is normalised, too, with peri."""
        normalised = self.attention.space.project
        output = self.attention.velocity(t, normalised(x))
        return normalised(output) if self.placement == "peri" else output


def with_norms(flow: TokenFlow, placement: str) -> TokenFlow | NormalisedTokenFlow:
    r"""The flow of a transformer with layer normalisation elsewhere: the same attention in continuous time.

    With m for the output of attention and $\pi(y) = y / |y|$ for each token, `placement` says where it acts:

    - "post": the flow itself, on the sphere, whose tokens stay normalised;
    - "pre": $\dot x = m(\pi(x))$;
    - "peri": $\dot x = \pi(m(\pi(x)))$;
    - "none": $\dot x = m(x)$, in which norms may grow without bound.

    Args:
        flow: self-attention on the sphere or on an ellipsoid.
        placement: one of these words.

    Raises:
        ValueError: for another flow or another placement.

    Example:
        >>> import dynsim as ds
        >>>         >>> from dynsim.tokens import TokenFlow, with_norms
        >>> flow = with_norms(TokenFlow(np.eye(2), scale=1.0), "pre")
        >>> ds.simulate(flow, [[3.0, 0.0]], [0.0, 2.0]).final.round(6).tolist()
        [[5.0, 0.0]]

    Source: N. Karagodin, S. Ge, Y. Polyanskiy and P. Rigollet, Normalization in Attention Dynamics, NeurIPS 2025 (post,
    pre, peri); M. E. Sander, P. Ablin, M. Blondel and G. Peyré, Sinkformers, AISTATS 2022 (none).
    """
    if choice("placement", placement, PLACEMENTS) in ("pre", "peri"):
        return NormalisedTokenFlow(flow, placement)
    instance("flow", flow, TokenFlow, "a `TokenFlow`")
    if placement == "post":
        return flow
    free = TokenFlow(flow.query_key, flow.value, space=Euclidean(), mask=flow.mask)
    return eqx.tree_at(lambda one: one.scale, free, flow.scale)
