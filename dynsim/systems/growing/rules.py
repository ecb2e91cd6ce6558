"""The rules of growth: thresholds, and every choice that the paper leaves open."""

from typing import Any, Literal, get_args

import equinox as eqx
from jaxtyping import Array, Float

from dynsim._core.validation import choice, integer, not_negative, real
from dynsim.errors import ArgumentError, shown
from dynsim.systems.growing.residual import Reading

Gate = Literal["ideal", "oja", "exin"]
"""The gate is exact at all times (`ideal`), or follows its own flow and must settle before a head is added."""


class GrowthRules(eqx.Module):
    r"""When heads are added and removed, how a new head is initialised, and what its inputs are.

    Args:
        threshold: theta_w; a head is added only while the dominant value of the residual exceeds it.
        pruning: phi_g; a head is removed when its pruning measure falls below it. With 0 heads are never removed. It
            may exceed `threshold`, against the paper's condition phi_g < theta_w.
        capacity: H_max, the largest number of heads.
        prototypes: K, the number of prototypes of each head.
        initial_temperature: T_init of a new head, in the unit of a squared length.
        least_temperature: T_min, below T_init; a temperature that reaches it stays there.
        dwell: the shortest time between two events (growth or pruning), in the flow's time unit.
        prune_by: `separation` removes a head when S(P_h), the smallest squared distance between two of its prototypes,
            is below phi_g (the Algorithm); `direction` removes it when Gamma_h = |B u_h| is, with B = M_a / |M_a|_F and
            u_h the direction of the head (Section 9).
        release: `retain` keeps the direction of a removed head captured (the Algorithm); `release` makes it available.
        removal: a new head captures only the `direction` u, or the whole dominant `plane`.
        first: with `grown` the first head also takes the dominant direction; with `random` it has random prototypes and
            captures nothing (the Algorithm).
        gate: see `Gate`.
        settled: largest distance of the unit gate from the dominant plane at which the gate counts as settled.
        ordered: add a head only while the dominant value is below its value at the previous growth (Section 7.5).
        reading: which residual matrix of eq. (3) is meant, see `Reading`.
        head_input: heads see the embeddings (`shared`), or their projection on the head's frame (`projected`).
        birth: the prototypes of a new head lie on the line along u through the mean of its inputs, at equal distances
            (`line`), or at the quantiles of the inputs' coordinates (`quantiles`).
        spread: half the length of that line in units of `scaling`, or a factor of the quantiles.
        scaling: the unit of `spread`: 1 (`fixed`), the standard deviation of the inputs along u (`tokens`), or the
            dominant value at the birth (`eigenvalue`). Quantiles have the unit of the inputs and require `fixed`.

    Raises:
        ValueError: for a threshold that is not positive, a `least_temperature` that is not below `initial_temperature`,
            a negative dwell time or pruning threshold, an unknown word, or fewer than one head or prototype.

    Source: GROWING, Algorithm of Section 3.4, Sections 7 and 9.
    """

    threshold: Float[Array, ""]
    pruning: Float[Array, ""]
    initial_temperature: Float[Array, ""]
    least_temperature: Float[Array, ""]
    dwell: Float[Array, ""]
    settled: Float[Array, ""]
    spread: Float[Array, ""]
    capacity: int = eqx.field(static=True)
    prototypes: int = eqx.field(static=True)
    prune_by: Literal["separation", "direction"] = eqx.field(static=True)
    release: Literal["retain", "release"] = eqx.field(static=True)
    removal: Literal["direction", "plane"] = eqx.field(static=True)
    first: Literal["grown", "random"] = eqx.field(static=True)
    gate: Gate = eqx.field(static=True)
    ordered: bool = eqx.field(static=True)
    reading: Reading = eqx.field(static=True)
    head_input: Literal["shared", "projected"] = eqx.field(static=True)
    birth: Literal["line", "quantiles"] = eqx.field(static=True)
    scaling: Literal["fixed", "tokens", "eigenvalue"] = eqx.field(static=True)

    def __init__(
        self,
        threshold: Any = 0.05,
        pruning: Any = 0.0,
        *,
        capacity: int = 8,
        prototypes: int = 4,
        initial_temperature: Any = 1.0,
        least_temperature: Any = 0.1,
        dwell: Any = 1.0,
        prune_by: str = "separation",
        release: str = "retain",
        removal: str = "direction",
        first: str = "grown",
        gate: str = "ideal",
        settled: Any = 1e-3,
        ordered: bool = False,
        reading: str = "features",
        head_input: str = "shared",
        birth: str = "line",
        spread: Any = 1.0,
        scaling: str = "fixed",
    ):
        """Store the rules; the class documents their meaning."""
        self.threshold = real("threshold", threshold, positive=True)
        self.pruning, self.dwell = not_negative("pruning", pruning), not_negative("dwell", dwell)
        self.capacity = integer("capacity", capacity, least=1)
        self.prototypes = integer("prototypes", prototypes, least=1)
        self.initial_temperature = real("initial_temperature", initial_temperature, positive=True)
        self.least_temperature = real("least_temperature", least_temperature, positive=True)
        if float(self.least_temperature) >= float(self.initial_temperature):
            must = f"be below `initial_temperature`, {float(self.initial_temperature):g}"
            raise ArgumentError("least_temperature", must, f"is {float(self.least_temperature):g}")
        self.prune_by = choice("prune_by", prune_by, ("separation", "direction"))
        self.release = choice("release", release, ("retain", "release"))
        self.removal = choice("removal", removal, ("direction", "plane"))
        self.first = choice("first", first, ("grown", "random"))
        self.gate = choice("gate", gate, get_args(Gate))
        self.settled = real("settled", settled, positive=True)
        if not isinstance(ordered, bool):
            raise ArgumentError("ordered", "be True or False", f"is {shown(ordered)}")
        self.ordered = ordered
        self.reading = choice("reading", reading, get_args(Reading))
        self.head_input = choice("head_input", head_input, ("shared", "projected"))
        self.birth = choice("birth", birth, ("line", "quantiles"))
        self.spread = real("spread", spread, positive=True)
        self.scaling = choice("scaling", scaling, ("fixed", "tokens", "eigenvalue"))
        if self.birth == "quantiles" and self.scaling != "fixed":
            raise ArgumentError("scaling", "be `fixed` with quantiles", f"is `{self.scaling}`")

    def say(self) -> str:
        """A sentence about rules that violate the paper's conditions, or the empty string."""
        if float(self.pruning) >= float(self.threshold):
            return (
                f"The pruning threshold, {float(self.pruning):g}, is not below the growth threshold, "
                f"{float(self.threshold):g}, as the paper requires."
            )
        return ""
