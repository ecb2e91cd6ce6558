"""The configuration of a multirate network, and of the dense baseline of about the same cost."""

from dataclasses import dataclass, replace

from dynsim._core.checked import checked
from dynsim._core.validation import integer
from dynsim.errors import ArgumentError


@dataclass(frozen=True)
class MultirateConfig:
    """The configuration of the network of MULTIRATE, Proposition 9.

    Most numbers are missing from the paper's text. The defaults give 775,681 parameters (with biases in the layers, but
    not in the projector); the paper prints 0.78M.

    Attributes:
        vocabulary: the number of symbols; 256 for bytes.
        width: d, the dimension of a token.
        query_heads: the number of query heads of every layer.
        key_heads: the number of key and value heads of every layer; divides `query_heads`.
        hidden: the width of the hidden layer of the feed-forward parts.
        layers_before: L_pre, the number of layers before the first round.
        rounds: R, the number of rounds; 0 for a dense causal network.
        slow_layers: L_slow, the number of layers on the pooled sequence in each round.
        layers_after: L_post, the number of layers on the tokens in each round.
        block: P, the number of tokens that are pooled into one.
        slow_mask: the attention mask of the slow layers: "causal" as in the proof of Proposition 21, or "full" as in
            the abstract.
        shared_rounds: whether all rounds have the same weights.
        tied: whether the unembedding is the embedding.
        projector: "linear", or "learned" for the two-layer map of Section 11.5.
        projector_hidden: the width of the hidden layer of the learned projector.
        equilibrium: how each round approximates its fixed point: "passes" for fixed-point iteration (Sections 11.1 and
            11.2), "anderson" for Anderson acceleration (Section 11.3).
        passes: M, how often each round applies its L_post layers.
        rotary_base: the base of the rotary embedding.

    Source: MULTIRATE, Proposition 9.
    """

    vocabulary: int = 256
    width: int = 128
    query_heads: int = 4
    key_heads: int = 2
    hidden: int = 512
    layers_before: int = 1
    rounds: int = 1
    slow_layers: int = 1
    layers_after: int = 2
    block: int = 8
    slow_mask: str = "causal"
    shared_rounds: bool = False
    tied: bool = True
    projector: str = "linear"
    projector_hidden: int = 128
    equilibrium: str = "passes"
    passes: int = 1
    rotary_base: float = 10000.0

    def __post_init__(self):
        """Raise `ValueError` for numbers that do not define a network."""
        for name in ("vocabulary", "width", "query_heads", "key_heads", "hidden", "block", "projector_hidden"):
            integer(name, getattr(self, name), least=1)
        for name in ("layers_before", "rounds", "slow_layers", "layers_after"):
            integer(name, getattr(self, name), least=0)
        if self.layers_before + self.rounds * self.layers_after < 1:
            raise ArgumentError("layers_before", "leave at least one layer on the tokens", "leaves none")
        if self.width % (2 * self.query_heads):
            must = f"be a multiple of {2 * self.query_heads}, twice the number of heads, for the rotary embedding"
            raise ArgumentError("width", must, f"is {self.width}")
        if self.query_heads % self.key_heads:
            raise ArgumentError("key_heads", f"divide {self.query_heads}, the query heads", f"is {self.key_heads}")
        for name, known in CHOICES.items():
            if not isinstance(getattr(self, name), str) or getattr(self, name) not in known:
                raise ArgumentError(name, f"be {known[0]} or {known[1]}", f"is `{getattr(self, name)}`")
        least = 2 if self.equilibrium == "anderson" else 1
        if self.passes < least:
            raise ArgumentError("passes", f"be at least {least} for `{self.equilibrium}`", f"is {self.passes}")

    @property
    def depth(self) -> int:
        """Number of layers applied to the tokens in one forward pass, without the slow layers."""
        return self.layers_before + self.rounds * self.passes * self.layers_after


CHOICES = {
    "slow_mask": ("causal", "full"),
    "projector": ("linear", "learned"),
    "equilibrium": ("passes", "anderson"),
}


@checked
def layer_equivalent_cost(config: MultirateConfig) -> float:
    r"""Cost of a forward pass in units of a full-attention layer over the tokens, as the paper counts it.

    $$ C = L_{\mathrm{pre}} + R \left( M L_{\mathrm{post}} + \frac{L_{\mathrm{slow}}}{P^2} \right) $$

    The paper has M = 1. The factor P^2 applies only to the attention scores: the rest of a slow layer, and pooling,
    projection and upsampling, cost at least 1/P of a fast layer. `layer_equivalents` counts all matrix products.

    Source: MULTIRATE, Proposition 19, (20), and Section 11.2.

    Example:
        >>> import dynsim as ds
        >>> config = ds.networks.MultirateConfig(layers_before=1, rounds=1, layers_after=2, slow_layers=1, block=4)
        >>> ds.networks.layer_equivalent_cost(config)  # 1 + 2 + 1 / 16
        3.0625
    """
    fast = config.passes * config.layers_after
    return config.layers_before + config.rounds * (fast + config.slow_layers / config.block**2)


def dense(config: MultirateConfig, layers: int | None = None) -> MultirateConfig:
    """Configuration of a dense causal network of the same width, for comparison.

    The number of layers is the rounded `layer_equivalent_cost` by default.
    """
    count = round(layer_equivalent_cost(config)) if layers is None else layers
    if count < 1:
        raise ArgumentError("layers", "be at least 1", f"is {count}")
    return replace(config, layers_before=count, rounds=0)
