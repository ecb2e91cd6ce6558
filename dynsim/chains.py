"""Markov chains in continuous time: master equations, and generators from rates, potentials and attention."""

from dynsim.systems.master_equation.checks import check_generator as check_generator
from dynsim.systems.master_equation.flow import MasterEquationFlow as MasterEquationFlow
from dynsim.systems.master_equation.flow import MasterEquationMap as MasterEquationMap
from dynsim.systems.master_equation.generators import attention_generator as attention_generator
from dynsim.systems.master_equation.generators import birth_death as birth_death
from dynsim.systems.master_equation.generators import generator_from_rates as generator_from_rates
from dynsim.systems.master_equation.generators import random_generator as random_generator
from dynsim.systems.master_equation.generators import walk_in_potential as walk_in_potential
from dynsim.systems.master_equation.rates import DrivenRates as DrivenRates
