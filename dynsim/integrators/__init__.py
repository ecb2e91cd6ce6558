"""The two integrators, diffrax and SciPy as the independent second opinion; what is built on them for special flows."""

from dynsim.integrators.base import AbstractIntegrator, Event, Stats
from dynsim.integrators.diffrax_backend import Diffrax
from dynsim.integrators.implicit import stiff
from dynsim.integrators.in_span import InSpan
from dynsim.integrators.scipy_backend import Scipy

__all__ = ["AbstractIntegrator", "Diffrax", "Event", "InSpan", "Scipy", "Stats", "stiff"]
