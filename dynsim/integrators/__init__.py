"""Integrators: diffrax, SciPy as independent confirmation, and integration in the span of the starting tokens."""

from dynsim.integrators.base import AbstractIntegrator, Event, Stats
from dynsim.integrators.diffrax_backend import Diffrax
from dynsim.integrators.implicit import stiff
from dynsim.integrators.in_span import InSpan
from dynsim.integrators.scipy_backend import Scipy

__all__ = ["AbstractIntegrator", "Diffrax", "Event", "InSpan", "Scipy", "Stats", "stiff"]
