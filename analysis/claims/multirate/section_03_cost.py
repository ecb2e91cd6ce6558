"""Claims of Section 3.5: the cost of the network, from the operations of matrix products in its traced program."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from analysis.claims.multirate.instances.networks import SHAPE_KEY
from analysis.ledger.claim import certified
from analysis.ledger.evidence import Trial, at_least, at_most, holds
from dynsim._core.types import Key
from dynsim.keys import numpy_rng
from dynsim.networks.multirate.config import MultirateConfig, layer_equivalent_cost
from dynsim.networks.multirate.flops import layer_equivalents, matmul_flops
from dynsim.networks.multirate.network import draw_multirate

SECTION_9 = MultirateConfig()
LENGTHS = (32, 128, 256)  # multiples of every P that is used


class Cost(NamedTuple):
    """A cost of `linear` n + `quadratic` n^2 operations on n tokens: of a layer, or of a network if P divides n."""

    linear: Fraction
    quadratic: Fraction

    def on(self, n: int) -> Fraction:
        """Return the number of operations on n tokens."""
        return self.linear * n + self.quadratic * n**2


class CountedNetwork(NamedTuple):
    """A network, a number n of tokens, and the costs of one fast layer and of all layers (no embedding, no head).

    `ratio` is their quotient at n tokens by `layer_equivalents`.
    """

    config: MultirateConfig
    n: int
    layer: Cost
    whole: Cost
    ratio: float

    def equivalents(self, slow: Fraction, interface: Fraction = Fraction(0)) -> Fraction:
        """Return L_pre + R (M L_post + L_slow s + i), s and i being the costs of a slow layer and of the interface.

        All in units of a fast layer at n tokens; M is the number of passes.
        """
        c = self.config
        return c.layers_before + c.rounds * (c.passes * c.layers_after + c.slow_layers * slow + interface)

    @property
    def printed(self) -> Fraction:
        """The paper's C = L_pre + R (L_post + L_slow / P^2), with M passes M L_post, by `layer_equivalent_cost`."""
        return Fraction(layer_equivalent_cost(self.config))

    @property
    def written_layer(self) -> Cost:
        """The cost of a fast layer from its matrices: queries, keys, values and outputs, the MLP; scores and sums."""
        c = self.config
        entries = c.width * (2 * c.width + 2 * c.width * c.key_heads // c.query_heads + 2 * c.hidden)
        return Cost(Fraction(2 * entries), Fraction(2 * 2 * c.width))


def count_operations(config: MultirateConfig, n: int) -> CountedNetwork:
    """Return a network with its operations counted in the traced program; weights are irrelevant and not drawn."""
    shapes = eqx.filter_eval_shape(draw_multirate, SHAPE_KEY, config, dtype=jnp.float64)
    model = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
    layer = (*model.before, *model.rounds[0].after)[0]
    costs = (_cost(layer, config.width, n), _cost(model.apply_layers, config.width, n))
    return CountedNetwork(config, n, *costs, layer_equivalents(model, n))


def _cost(function: Callable[[Array], Array], width: int, n: int) -> Cost:
    """Return the cost determined by the counts at n and 2 n tokens."""
    once, twice = (matmul_flops(function, jnp.zeros((length, width))) for length in (n, 2 * n))
    quadratic = Fraction(twice - 2 * once, 2 * n**2)
    return Cost(Fraction(once, n) - quadratic * n, quadratic)


def counted_network(key: Key, *, published: bool = False) -> CountedNetwork:
    """Return the network of Section 9, or one of random depths, P and passes, counted at one of three lengths.

    With `published` it is always that of Section 9.
    """
    rng = numpy_rng(key)
    n = int(rng.choice(LENGTHS))
    if published or rng.integers(2):
        return count_operations(SECTION_9, n)
    depth = {name: int(rng.integers(1, 3)) for name in ("layers_before", "rounds", "slow_layers", "layers_after")}
    passes = {"passes": 2, "equilibrium": str(rng.choice(["passes", "anderson"]))} if rng.integers(2) else {}
    return count_operations(replace(SECTION_9, block=int(rng.choice([2, 4, 8, 16])), **depth, **passes), n)


def _scores_trial(given: CountedNetwork, *, linear: bool = False) -> Trial:
    part = lambda cost: cost.linear if linear else cost.quadratic
    return _trial(given, "the work on scores", part(given.whole) / part(given.layer), given.printed)


def _trial(given: CountedNetwork, what: str, found: Fraction, expected: Fraction) -> Trial:
    c = given.config
    return Trial(
        hypotheses=(
            holds("P divides N", given.n % c.block == 0),
            at_least("P", c.block, 2, tolerance=0.0),
            at_least("number of slow layers", c.rounds * c.slow_layers, 1, tolerance=0.0),
        ),
        conclusions=(
            holds(f"{what} equals the formula", found == expected),
            holds("the cost of a layer is that of its matrices", given.layer == given.written_layer),
            holds("the quotient in floating point is the counted one", given.ratio == float(_in_layers(given))),
        ),
        witness={**_sizes(given), "counted": found, "formula": expected},
        parameters={"n": given.n, "P": c.block, "R": c.rounds, "M": c.passes, "L_slow": c.slow_layers},
    )


def _sizes(given: CountedNetwork) -> dict:
    c = given.config
    depth = {"L_pre": c.layers_before, "R": c.rounds, "L_post": c.passes * c.layers_after, "L_slow": c.slow_layers}
    return {
        "N": given.n,
        "P": c.block,
        "width": c.width,
        "width of keys and values": c.width * c.key_heads // c.query_heads,
        "width of the MLP": c.hidden,
        "layers": depth,
    }


def _in_layers(given: CountedNetwork) -> Fraction:
    return given.whole.on(given.n) / given.layer.on(given.n)


@certified(
    "multirate/proposition-19",
    num_trials=1,
    note="counted in the matrix products of the network of Section 9. The part that is linear in the number of tokens "
    "(queries, keys, values, outputs, MLP) costs 1/P in a slow layer, not 1/P^2, and (20) omits the projector",
)
def cost_has_the_square_of_the_block(key: Key) -> Trial:
    """The work on N tokens, in units of a fast layer at N, is C = L_pre + R (L_post + L_slow / P^2)."""
    given = counted_network(key, published=True)
    return _trial(given, "the work in fast layers", _in_layers(given), given.printed)


scores_have_the_square_of_the_block = certified(
    "multirate/proposition-19/scores",
    statement="Read: the work on attention scores, in units of a fast layer's at N, "
    "is L_pre + R (L_post + L_slow / P^2).",
    trial=lambda key: _scores_trial(counted_network(key)),
    control=lambda key: _scores_trial(counted_network(key), linear=True),  # The part of the work that is linear in N.
    variant="reading",
    num_trials=6,
    note="the part of the count that is quadratic in N: q k^T and the weighted sums of values; P divides N",
)


def _corrected_trial(given: CountedNetwork, *, omitted: str = "") -> Trial:
    """Measure the work in fast layers; of slow ones the part `omitted`, linear or quadratic in N, is not counted."""
    slow = given.layer._replace(**{omitted: Fraction(0)}) if omitted else given.layer
    n, c = given.n, given.config
    share = slow.on(n // c.block) / given.layer.on(n)
    interface = 2 * n * c.width**2 / given.layer.on(n)
    return _trial(given, "the work in fast layers", _in_layers(given), given.equivalents(share, interface))


cost_has_the_quotient = certified(
    "multirate/proposition-19/corrected",
    statement="""If a layer takes a N + b N^2 operations and P divides N, the work in units of a fast layer at N is

    L_pre + R (M L_post + L_slow (a / P + b N / P^2) / (a + b N) + 2 d^2 / (a + b N)), with M passes.
    """,
    trial=lambda key: _corrected_trial(counted_network(key)),
    # Slow layers without the part that is linear in N.
    control=lambda key: _corrected_trial(counted_network(key), omitted="linear"),
    num_trials=6,
    note="changed: 1/P^2 becomes the quotient, between 1/P^2 and 1/P, and the projector is added. With the parameters "
    "of Section 9 and N = 256 a slow layer costs 0.096 instead of 0.016, and C is 3.16 instead of 3.02",
)


def _fewer_layers_trial(given: CountedNetwork, layers: int) -> Trial:
    found = _in_layers(given)
    return Trial(
        hypotheses=(holds("P divides N", given.n % given.config.block == 0),),
        conclusions=(at_most("work in fast layers", found, Fraction(layers), tolerance=0.0),),
        witness={"N": given.n, "counted": found},
        parameters={"n": given.n, "P": given.config.block},
    )


network_costs_less_than_four_layers = certified(
    "multirate/proposition-19/below-four",
    statement="Read: the network of Section 9 takes less work than a dense baseline of four layers.",
    trial=lambda key: _fewer_layers_trial(counted_network(key, published=True), 4),
    # Less work than a dense baseline of three layers.
    control=lambda key: _fewer_layers_trial(counted_network(key, published=True), 3),
    variant="reading",
    num_trials=3,
    note="the number of layers of the dense baseline is missing in the text; four, as in Table 2",
)
