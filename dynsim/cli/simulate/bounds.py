"""End a run of `dynsim simulate` where a component leaves its bounds, as XPPAUT does."""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from dynsim._core.types import Scalar, State, Time
from dynsim.cli.building.flow_options import Simulate
from dynsim.cli.parsing.options import say
from dynsim.errors import ArgumentError, IntegrationError, check_positive
from dynsim.integrators import Diffrax, Scipy
from dynsim.integrators.base import Event
from dynsim.simulation.hybrid import Transition, unchanged
from dynsim.simulation.simulate import simulate_until
from dynsim.simulation.trajectory import Trajectory
from dynsim.systems.named import components

NAME = "bounds"
"""Name of the transition that ends a run at its bounds."""


class Excess(eqx.Module):
    """The size of the largest component less its bound, whose zero ends a run."""

    bounds: float = eqx.field(static=True)

    def __call__(self, t: Time, x: State) -> Scalar:
        """The excess at a time and a state."""
        return jnp.max(jnp.abs(jnp.asarray(x))) - self.bounds


class Bounded(eqx.Module):
    """The transitions of a phase, and one that ends the run at its bounds."""

    transitions: Any
    bounds: float = eqx.field(static=True)

    def __call__(self, flow: Any) -> list[Transition]:
        """The transitions of a phase with this flow."""
        return [*self.transitions(flow), Transition(NAME, Event(Excess(self.bounds), 1), unchanged, terminal=True)]


def check_bounds(o: Simulate, x: jax.Array) -> None:
    """Raise `ArgumentError` unless the bounds are positive and hold the start."""
    check_positive(bounds=o.bounds)
    largest = float(np.max(np.abs(np.asarray(x, float)), initial=0.0))
    if o.bounds is not None and largest >= o.bounds:
        raise ArgumentError("bounds", f"exceed all components of the start, at most {largest:g}", f"is {o.bounds:g}")


def first_beyond(bounds: float | None, path: Trajectory) -> int | None:
    """Number of the first saved state with a component beyond the bounds, or None."""
    if bounds is None:
        return None
    found = np.flatnonzero(~(distances(path) <= bounds))
    return int(found[0]) if found.size else None


def distances(path: Trajectory) -> np.ndarray:
    """Compute the maximum norm of each state, (times,)."""
    return np.max(np.abs(np.asarray(path.ys, float)).reshape(len(path.ts), -1), axis=1)


def times_within(
    bounds: float | None, path: Trajectory | None, system: Any, x: jax.Array, ts: np.ndarray, options: Mapping[str, Any]
) -> np.ndarray | None:
    """Times up to the one at which a run leaves its bounds; None if it does not.

    Args:
        bounds: the largest size of a component, or None.
        path: the run, or None if it has failed.
        system: the flow.
        x: the start.
        ts: the times of the run.
        options: integrator, and random key with noise; with fixed steps only the times `ts` are looked at.
    """
    first = None if path is None else first_beyond(bounds, path)
    if bounds is None or path is not None and first is None:
        return None
    if not isinstance(options["integrator"], Diffrax | Scipy):
        return None if first is None else ts[: first + 1]
    try:
        stop = simulate_until(system, x, ts, [Event(Excess(bounds), 1)], integrator=options["integrator"])
    except IntegrationError:
        return None
    return np.asarray(stop.path.ts) if stop.event >= 0 else None


def tell_bounds(bounds: float | None, path: Trajectory, at: str) -> None:
    """Print that a run ended at its bounds, and which component has left them."""
    largest = int(np.argmax(np.abs(np.ravel(np.asarray(path.final)))))
    vector = np.ndim(path.final) == 1
    name = components(path.system, path.final).names[largest] if vector else "a component"
    say(f"the run ends at {at}, where |{name}| exceeds {bounds:g} (`--bounds`)")
