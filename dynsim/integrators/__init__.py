"""The two integrators: diffrax, and SciPy as the independent second opinion."""

from dynsim.integrators.base import CAUSES, AbstractIntegrator, Event, Stats
from dynsim.integrators.diffrax_backend import Diffrax
from dynsim.integrators.scipy_backend import Scipy

__all__ = ["CAUSES", "AbstractIntegrator", "Diffrax", "Event", "Scipy", "Stats"]
