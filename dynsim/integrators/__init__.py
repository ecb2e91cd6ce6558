"""Integrators: diffrax, a stabilised solver for it, SciPy for confirmation, symplectic, token spans, noise."""

from dynsim.integrators.base import AbstractIntegrator, Event, Stats
from dynsim.integrators.diffrax_backend import Diffrax
from dynsim.integrators.fixed_step.stochastic import EulerHeun, EulerMaruyama, StochasticHeun
from dynsim.integrators.fixed_step.symplectic import Symplectic
from dynsim.integrators.in_span import InSpan
from dynsim.integrators.presets import stiff
from dynsim.integrators.scipy_backend import Scipy
from dynsim.integrators.stabilised import RKC2

__all__ = [
    "RKC2",
    "AbstractIntegrator",
    "Diffrax",
    "EulerHeun",
    "EulerMaruyama",
    "Event",
    "InSpan",
    "Scipy",
    "Stats",
    "StochasticHeun",
    "Symplectic",
    "stiff",
]
