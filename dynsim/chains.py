"""Markov chains in continuous time: master equations, and generators from rates, potentials and attention."""

from dynsim.systems.master_equation.checks import check_generator
from dynsim.systems.master_equation.flow import MasterEquationFlow, MasterEquationMap
from dynsim.systems.master_equation.generators import (
    attention_generator,
    birth_death,
    generator_from_rates,
    random_generator,
    walk_in_potential,
)
from dynsim.systems.master_equation.rates import DrivenRates

__all__ = [
    "DrivenRates",
    "MasterEquationFlow",
    "MasterEquationMap",
    "attention_generator",
    "birth_death",
    "check_generator",
    "generator_from_rates",
    "random_generator",
    "walk_in_potential",
]
