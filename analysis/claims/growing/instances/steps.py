"""Step sizes for a head of two prototypes, and what the step-size conditions compare them with."""

import math
from fractions import Fraction

import numpy as np

from analysis.claims.growing.instances.two_prototypes import TwoPrototypes
from analysis.growing.step_sizes import Condition, GateSteps, Measured, StepSizes
from analysis.ledger.evidence import Measurement, holds


def temperatures(head: TwoPrototypes) -> tuple[Fraction, Fraction]:
    """Return T_init and T_min of a head: rational numbers just above its temperature, and near half of it."""
    T = math.floor(1000 * head.bank().temperature)
    return Fraction(T + 1, 1000), Fraction(T, 2000)


def measured_at(head: TwoPrototypes, mode: str = "frozen") -> Measured:
    """Return what the conditions compare step sizes with, for a head that cools to about half of its temperature."""
    flow, x = head.system()
    (hot, cold), sigma = temperatures(head), float(flow.activity(x)[0])
    gradient, curvature = float(np.sqrt(2) * abs(head.slope(mode).high)), float(head.second_derivative.low)
    return Measured(float(hot), float(cold), sigma, sigma / 10, float(head.steepest(mode)), gradient, curvature, 10)


def slow_rate(rate: Fraction | float, head: TwoPrototypes) -> Fraction:
    """Return a rate of temperatures: a hundredth of that of the prototypes, and half of the bound of (E1) at most."""
    return min(Fraction(rate) / 100, temperatures(head)[1] ** 3 / (6 * head.activity))


def separated_rates(rate: Fraction | float, head: TwoPrototypes, steps: int) -> StepSizes:
    """Return rates with ratios 0.01 and at most 0.1 over some steps, and gate steps that decrease as 1 / s."""
    return StepSizes(float(slow_rate(rate, head)), float(rate), GateSteps(10 * float(rate) * steps, 1.0))


def met(conditions: tuple[Condition, ...]) -> tuple[Measurement, ...]:
    """Measure that conditions are met."""
    return tuple(holds(f"({c.name})", c.met) for c in conditions)
