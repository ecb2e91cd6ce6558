"""Draw the synthetic tokens and interactions of GROWING, Section 7; choices that the paper leaves open are options."""

from dataclasses import dataclass
from typing import Literal, get_args

import jax
import numpy as np
from jaxtyping import Float

from dynsim._core.types import Key
from dynsim._core.validation import choice
from dynsim.systems.growing.flow import Growing, GrowingFlow
from dynsim.systems.growing.rules import GrowthRules
from dynsim.systems.growing.transitions import grow, may_grow
from dynsim.systems.prototypes.losses import GradientMode, PrototypeLoss, Reduction

Law = Literal["isotropic", "aligned"]
"""Tokens are normal with covariance s^2 I, or s^2 |M_a| / lambda_1, whose variance in each plane is its eigenvalue."""


@dataclass(frozen=True)
class Setting:
    """Numbers that Section 7 prints for Experiments 1 to 3.

    Attributes:
        tokens: N.
        dimension: d, even: the eigenvalues of M_a are d/2 conjugate pairs.
        largest: lambda_1.
        decay: rho, the ratio of one pair to the one before.
        threshold: theta_w.
        capacity: H_max; printed for Experiment 2, and for Experiment 1 left open.
        prototypes: K.
        initial_temperature: T_init.
        least_temperature: T_min.
        temperature_rate: eta_T.
    """

    tokens: int = 500
    dimension: int = 64
    largest: float = 2.0
    decay: float = 0.7
    threshold: float = 0.05
    capacity: int = 8
    prototypes: int = 4
    initial_temperature: float = 1.0
    least_temperature: float = 0.1
    temperature_rate: float = 0.01


@dataclass(frozen=True)
class Choices:
    """Choices that Section 7 leaves open; most are fields of `GrowthRules` and `PrototypeLoss`, which define them.

    Attributes:
        law: of the tokens.
        scale: s, their largest standard deviation.
        exact: whether their sample mean and covariance are those of the law exactly.
        prototype_rate: eta_P; 0 keeps the prototypes at their initial places.
        gradient: mode of the gradient of the prototypes.
        reduction: whether losses are sums over tokens, as printed, or means, as sigma in (21).
        dwell: the time between two growths.
        reading: of the residual.
        head_input: input of the heads.
        birth: places of the first prototypes of a head on the line along its direction.
        spread: half the length of that line, in the unit `scaling`.
        scaling: unit of `spread`.
        first: how the first head starts.
        removal: what a new head captures.
        gate: how the direction of a new head is found.
    """

    law: Law = "isotropic"
    scale: float = 1.0
    exact: bool = False
    prototype_rate: float = 1.0
    gradient: GradientMode = "full"
    reduction: Reduction = "mean"
    dwell: float = 1.0
    reading: str = "features"
    head_input: str = "shared"
    birth: str = "line"
    spread: float = 1.0
    scaling: str = "fixed"
    first: str = "grown"
    removal: str = "direction"
    gate: str = "ideal"


def spectrum(setting: Setting) -> Float[np.ndarray, " pairs"]:
    """Compute the moduli of the eigenvalue pairs of M_a, lambda_1 rho^(k-1) for k from 1 to d/2."""
    return setting.largest * setting.decay ** np.arange(setting.dimension // 2)


def planes(key: Key, dimension: int) -> Float[np.ndarray, "d d"]:
    """Draw random orthonormal columns; successive pairs span the planes of M_a."""
    return np.linalg.qr(_rng(key, "planes").normal(size=(dimension, dimension)))[0]


def interaction(basis: Float[np.ndarray, "d d"], values: Float[np.ndarray, " pairs"]) -> Float[np.ndarray, "d d"]:
    """Build the antisymmetric matrix with eigenvalues +-i s in the planes of a basis."""
    block = np.zeros_like(basis)
    first = 2 * np.arange(len(values))
    block[first, first + 1] = values
    return basis @ (block - block.T) @ basis.T


def tokens(
    key: Key, count: int, basis: Float[np.ndarray, "d d"], values: Float[np.ndarray, " pairs"], choices: Choices
) -> Float[np.ndarray, "n d"]:
    """Draw tokens; `Law` has their covariances."""
    law = choice("law", choices.law, get_args(Law))
    drawn = _rng(key, "tokens").normal(size=(count, len(basis)))
    if choices.exact:
        drawn = whitened(drawn)
    deviations = np.ones(len(basis)) if law == "isotropic" else np.repeat(np.sqrt(values / values[0]), 2)
    return choices.scale * (drawn * deviations) @ basis.T


def whitened(points: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
    """Map points linearly to mean 0 and covariance I, divided by n; n must exceed d."""
    away = points - np.mean(points, axis=0)
    return np.sqrt(len(away)) * np.linalg.svd(away, full_matrices=False)[0]


def growing_flow(
    key: Key, setting: Setting, choices: Choices, values: Float[np.ndarray, " pairs"] | None = None
) -> GrowingFlow:
    """Build the flow before the first head, for tokens and an interaction drawn from a key.

    The interaction has a symmetric part too, as a product of two weight matrices does; it must not count. `values` are
    the pairs of eigenvalues of M_a, d/2 in number, by default those of the setting.
    """
    values = spectrum(setting) if values is None else values
    basis = planes(key, setting.dimension)
    symmetric = _rng(key, "symmetric part").normal(size=basis.shape)
    return GrowingFlow(
        tokens(key, setting.tokens, basis, values, choices),
        interaction(basis, values) + (symmetric + symmetric.T) / 2,
        rules=_rules(setting, choices),
        loss=PrototypeLoss(choices.gradient, reduction=choices.reduction),
        prototype_rate=choices.prototype_rate,
        temperature_rate=setting.temperature_rate,
    )


def all_heads(flow: GrowingFlow, x: Growing) -> tuple[GrowingFlow, Growing]:
    """Apply all growth that the rules allow at once; growth depends on no temperature.

    NumPy: not for `jit`.
    """
    while bool(may_grow(flow)):
        flow, x = grow(flow, 0.0, x)
    return flow, x


def _rng(key: Key, purpose: str) -> np.random.Generator:
    """Seed NumPy's generator by a key and a word, so that draws for different purposes are independent."""
    return np.random.default_rng([*np.asarray(jax.random.key_data(key)), *purpose.encode()])


def _rules(setting: Setting, choices: Choices) -> GrowthRules:
    return GrowthRules(
        setting.threshold,
        capacity=setting.capacity,
        prototypes=setting.prototypes,
        initial_temperature=setting.initial_temperature,
        least_temperature=setting.least_temperature,
        dwell=choices.dwell,
        first=choices.first,
        removal=choices.removal,
        gate=choices.gate,
        reading=choices.reading,
        head_input=choices.head_input,
        birth=choices.birth,
        spread=choices.spread,
        scaling=choices.scaling,
    )
