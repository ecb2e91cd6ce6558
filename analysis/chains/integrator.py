"""Integrate a constant generator by its matrix exponential, as an integrator for `simulate`."""

from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from analysis.chains.relaxation import relaxation
from dynsim._core.types import State, Times
from dynsim.errors import ArgumentError, Outcome
from dynsim.integrators import AbstractIntegrator, Event, Stats
from dynsim.integrators.base import on_space
from dynsim.systems.base import AbstractFlow
from dynsim.systems.master_equation.flow import MasterEquationFlow


class Exponential(AbstractIntegrator):
    """Integrator of a `MasterEquationFlow` with a constant generator, by `relaxation` with the given `method`.

    There are no steps and no tolerances: each time is computed from the initial distribution, in float64, also for a
    state in float32. For error estimates call `relaxation` directly.
    """

    method: str = eqx.field(static=True, default="auto")

    def integrate(self, flow: AbstractFlow, y0: State, ts: Times) -> tuple[State, Stats]:
        """Compute the distributions at `ts`, shape (times, k), and statistics.

        Raises:
            ValueError: for another flow or an ensemble of initial distributions, and as `relaxation` does.
            IntegrationError: as `relaxation` does.
        """
        if not isinstance(flow, MasterEquationFlow):
            raise ArgumentError("integrator", "suit the flow", f"is for master equations, not {type(flow).__name__}")
        p0, times, dtype = np.asarray(y0, float), np.asarray(ts, float), np.asarray(y0).dtype
        if p0.ndim != 1:
            raise ArgumentError("y0", "be one distribution", f"has shape {p0.shape}")
        if dtype.itemsize < 8:
            p0 = p0 / p0.sum()  # which is one up to the rounding of float32
        found = relaxation(flow.matrix(), p0, times - times[0], method=self.method)
        ys, defect = on_space(flow.space, jnp.asarray(found.probabilities, dtype))
        stats = Stats(
            succeeded=jnp.asarray(True),
            outcome=jnp.asarray(Outcome.FINISHED),
            num_steps=jnp.asarray(len(times) - 1),
            num_rejected=jnp.asarray(0),
            max_defect=defect,
            last_time=jnp.asarray(times[-1], dtype),
        )
        return ys, stats

    def locate(
        self, flow: AbstractFlow, y0: State, ts: Times, events: Sequence[Event]
    ) -> tuple[State, Stats, float, State, int]:
        """Raise `ValueError`: events are not supported, since there are no steps between which to locate them."""
        raise ArgumentError("integrator", "locate events, as `Diffrax()` does", "is `Exponential()`")
