"""Step sizes for a head of two prototypes, and what the step-size conditions compare them with."""

import numpy as np

from analysis.claims.growing.instances.two_prototypes import TwoPrototypes
from analysis.growing.step_sizes import Condition, GateSteps, Measured, Rates
from analysis.ledger.evidence import Measurement, holds


def measured_at(head: TwoPrototypes) -> Measured:
    """Return what the conditions compare step sizes with, for a head that cools from its temperature to half of it."""
    flow, x = head.system()
    T, sigma = head.bank().temperature, float(flow.activity(x)[0])
    gradient = float(np.sqrt(2) * abs(head.gradient))
    return Measured(T, T / 2, sigma, sigma / 10, float(head.lipschitz), gradient, float(head.second_derivative.low), 10)


def separated_rates(rate: float, head: TwoPrototypes, steps: int) -> Rates:
    """Return rates with ratios 0.01 and at most 0.1 over some steps, and gate steps that decrease as 1 / s."""
    least = (head.bank().temperature / 2) ** 3 / (6 * float(head.activity))
    return Rates(min(rate / 100, least), rate, GateSteps(10 * rate * steps, 1.0))


def met(conditions: tuple[Condition, ...]) -> tuple[Measurement, ...]:
    """Measure that conditions are met."""
    return tuple(holds(f"({c.name})", c.met) for c in conditions)
