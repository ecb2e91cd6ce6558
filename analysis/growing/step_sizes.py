"""Evaluate the step-size conditions (E1)-(E6) of the growing system in discrete time, with both of their sides."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from analysis.growing.temperatures import printed_step_bound
from dynsim._core.checked import checked
from dynsim._core.printing import one_line, report
from dynsim._core.types import Scalar
from dynsim._core.validation import instance, integer
from dynsim.errors import ArgumentError, shown
from dynsim.systems.prototypes.assignments import Embeddings, Prototypes
from dynsim.systems.prototypes.losses import PrototypeLoss

SEPARATED = 0.1
"""Largest ratio of two rates that the paper's practical rule calls separated."""

SEGMENTS = 9
"""Number of points of a segment at which a Lipschitz constant is evaluated."""


class GateSteps(NamedTuple):
    r"""Step sizes of the gate, $\eta^+_s = c\, (1 + s)^{-a}$: `scale` c and `power` a, 0 for constant ones."""

    scale: float
    power: float

    __repr__ = one_line
    __str__ = report

    def at(self, step: int) -> float:
        """Compute the step size of a step, counted from 0."""
        return self.scale * (1 + step) ** -self.power


class StepSizes(NamedTuple):
    r"""The step sizes $\eta_T$ of the temperatures, $\eta_P$ of the prototypes and $\eta^+_s$ of the gate."""

    temperatures: float
    prototypes: float
    gate: GateSteps

    __repr__ = one_line
    __str__ = report

    def times(self, factor: float) -> "StepSizes":
        """Multiply all step sizes by one factor, which keeps their ratios."""
        gate = GateSteps(factor * self.gate.scale, self.gate.power)
        return StepSizes(factor * self.temperatures, factor * self.prototypes, gate)


class Measured(NamedTuple):
    r"""Quantities that bound the step sizes in the conditions (E1)-(E6).

    `activity` is $\sigma_{max}$, `least_activity` the $\sigma_0 \le \sigma_s$ of the heads that cool; `lipschitz` is
    $L_P$, `gradient` $|\nabla_P L_q|_F$, `curvature` $\phi''(0)$, and `gate_steps` the $N_{gate}$ steps of the gate.
    """

    initial_temperature: float
    least_temperature: float
    activity: float
    least_activity: float
    lipschitz: float
    gradient: float
    curvature: float
    gate_steps: int

    __repr__ = one_line
    __str__ = report


class Condition(NamedTuple):
    """One condition: its name, the limited value, its bound, and whether it is met."""

    name: str
    value: float
    bound: float
    met: bool

    __repr__ = one_line
    __str__ = report


@checked
def step_conditions(
    rates: StepSizes, measured: Measured, *, least_steps: int, num_steps: int = 1, separated: float = SEPARATED
) -> tuple[Condition, ...]:
    r"""Evaluate the conditions (E1)-(E6) for `num_steps` steps with at least `least_steps` between two events.

    (E4), that $\sum_s \eta^+_s$ diverges and $\sum_s (\eta^+_s)^2$ does not, is that the power is above 1/2 and at most
    1. (E5) has two rows, one for each ratio, at the last of the steps, where that to the decreasing step size of the
    gate is largest. Since (E4) has $\eta^+_s \to 0$, it fails for constant $\eta_P$ if there are enough steps.

    Args:
        rates: the step sizes of temperatures, prototypes and gate.
        measured: the quantities that bound them.
        least_steps: smallest number of steps between two events.
        num_steps: number of steps of the run.
        separated: largest ratio of two rates that counts as separated.

    Source: GROWING, Theorem 7.

    Example:
        >>> from analysis.growing import GateSteps, Measured, StepSizes, step_conditions
        >>> measured = Measured(2.0, 1.0, 1.0, 0.5, lipschitz=4.0, gradient=1.0, curvature=1.0, gate_steps=10)
        >>> found = step_conditions(StepSizes(0.005, 0.0625, GateSteps(1.0, 1.0)), measured, least_steps=1000)
        >>> [(c.name, c.value, c.bound) for c in found if c.name in ("E2", "E3")], all(c.met for c in found)
        ([('E2', 0.0625, 0.5), ('E3', 0.0625, 0.5)], True)
    """
    integer("num_steps", num_steps, least=1)
    m, gate = measured, rates.gate
    below = lambda name, value, bound: Condition(name, value, bound, value < bound)
    curvature = max(m.curvature, 0.0) / (m.lipschitz * m.gradient**2)
    wait = max(m.gate_steps, cooling_steps(rates, m))
    ratios = (rates.temperatures / rates.prototypes, rates.prototypes / gate.at(num_steps - 1))
    return (
        below("E1", rates.temperatures, m.least_temperature**3 / (3 * m.activity)),
        below("E2", rates.prototypes, 2 / m.lipschitz),
        below("E3", rates.prototypes, math.sqrt(curvature)),
        Condition("E4", gate.power, 1.0, 0.5 < gate.power <= 1.0),
        Condition("E5, temperatures", ratios[0], separated, ratios[0] <= separated),
        Condition("E5, prototypes", ratios[1], separated, ratios[1] <= separated),
        Condition("E6", float(least_steps), float(wait), least_steps > wait),
    )


@checked
def cooling_steps(rates: StepSizes, measured: Measured) -> int:
    r"""Compute the printed number of steps to the lowest temperature, $s^* = \lceil t^* \rceil + 1$.

    Args:
        rates: the step sizes.
        measured: the quantities that bound them.

    Source: GROWING, Lemma 17 (iii).

    Example:
        >>> from analysis.growing import GateSteps, Measured, StepSizes, cooling_steps
        >>> measured = Measured(2.0, 1.0, 1.0, 0.5, lipschitz=4.0, gradient=1.0, curvature=1.0, gate_steps=10)
        >>> cooling_steps(StepSizes(0.01, 0.1, GateSteps(1.0, 1.0)), measured)  # 7 / (3 * 0.01 * 0.5) = 466.7
        468
    """
    m = measured
    return printed_step_bound(m.initial_temperature, m.least_temperature, rates.temperatures, m.least_activity)


@checked
def common_bound(rates: StepSizes, measured: Measured) -> float:
    """Compute the factor c below which (E1), (E2) and (E3) hold for the step sizes c times `rates`.

    Args:
        rates: the step sizes, of which only the ratios matter.
        measured: the quantities that bound them.

    Example:
        >>> from analysis.growing import GateSteps, Measured, StepSizes, common_bound
        >>> measured = Measured(2.0, 1.0, 1.0, 0.5, lipschitz=4.0, gradient=1.0, curvature=1.0, gate_steps=10)
        >>> common_bound(StepSizes(0.01, 0.125, GateSteps(1.0, 1.0)), measured)  # from E2: 2 / 4 / 0.125
        4.0
    """
    three = step_conditions(rates, measured, least_steps=0)[:3]
    return min(condition.bound / condition.value for condition in three)


@checked
def unmet(conditions: tuple[Condition, ...]) -> str:
    """Describe in one sentence which conditions are not met, with both of their sides.

    Raises:
        ValueError: for anything else than conditions.

    Example:
        >>> from analysis.growing import Condition, unmet
        >>> unmet((Condition("E2", 1.0, 0.5, False), Condition("E3", 0.25, 0.5, True)))
        'Not met: E2 (1 against 0.5).'
    """
    if not all(isinstance(found, Condition) for found in instance("conditions", conditions, Sequence, "conditions")):
        raise ArgumentError("conditions", "be conditions, from `step_conditions`", f"is {shown(conditions)}")
    failed = [f"{c.name} ({c.value:.3g} against {c.bound:.3g})" for c in conditions if not c.met]
    return f"Not met: {', '.join(failed)}." if failed else "All conditions are met."


@eqx.filter_jit
def gradient_lipschitz(
    loss: PrototypeLoss, z: Embeddings, banks: Float[Array, "points k m"], temperature: Scalar
) -> Scalar:
    r"""Compute $L_P$ over some banks of prototypes: the largest spectral norm of the Jacobian of $\nabla_P L_q$.

    Over a segment of banks it is the Lipschitz constant of the gradient along it, up to the spacing of the points.
    """
    size = banks[0].size

    def norm(p: Float[Array, "k m"]) -> Scalar:
        H = jax.jacfwd(lambda p: loss.gradients(z, p, temperature)[1])(p).reshape(size, size)
        return jnp.linalg.norm(H, ord=2)

    return jnp.max(jax.vmap(norm)(banks))


@eqx.filter_jit
def exchange_lipschitz(loss: PrototypeLoss, z: Embeddings, p: Prototypes, temperature: Scalar) -> Scalar:
    r"""Compute $L_P$ over the segments from a bank to the banks in which two of its prototypes are exchanged.

    The gradients of two prototypes differ by at most this times the distance of the two: exchanging them exchanges
    their gradients. So a step of size $\eta$ leaves $(1 - \eta L_P)^2$ of the squared distance if $\eta L_P < 1$, and a
    flow of rate $\eta$ loses it at a rate of at most $2 \eta L_P$.
    """
    pairs = [(j, k) for k in range(len(p)) for j in range(k)]
    swapped = jnp.stack([p.at[jnp.asarray([j, k])].set(p[jnp.asarray([k, j])]) for j, k in pairs])
    shares = jnp.linspace(0.0, 1.0, SEGMENTS)[:, None, None, None]
    between = p[None, None] + shares * (swapped - p[None])[None]
    return gradient_lipschitz(loss, z, between.reshape(-1, *p.shape), temperature)
