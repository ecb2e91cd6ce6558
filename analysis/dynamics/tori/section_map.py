"""Maps whose invariant circles are sections of tori: an iterate of a map, and a flow over a time, with derivatives."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from analysis.dynamics.collocation.intervals import CycleField
from analysis.dynamics.continuation.orbit_curve import Cycle
from analysis.dynamics.continuation.orbits import check_forcing
from analysis.dynamics.continuation.parameter_flow import FlatSystem, inside
from analysis.dynamics.flow_maps.numpy_solver import follow, sampled
from analysis.dynamics.scaling.flat import flat_state
from analysis.dynamics.scaling.units import Units
from dynsim._core.types import State
from dynsim._core.validation import function
from dynsim.errors import ArgumentError
from dynsim.spaces.base import nearest
from dynsim.systems.base import AbstractMap
from dynsim.systems.rescaled import is_flat


class SectionImages(NamedTuple):
    """Images of states, with their derivatives by the state, the parameter and the time.

    Attributes:
        ends: the images, (k, n).
        maps: derivatives by the states, (k, n, n).
        by_parameter: derivatives by the parameter, (k, n).
        speeds: derivatives by the time, zero for maps, (k, n).
    """

    ends: Float[np.ndarray, "k n"]
    maps: Float[np.ndarray, "k n n"]
    by_parameter: Float[np.ndarray, "k n"]
    speeds: Float[np.ndarray, "k n"]


def check_section(system: Any, states: State, period: float, iterate: int, forcing: Any) -> None:
    """Raise `ValueError` for a system on a curved space, an iterate of a flow, or a `forcing` that does not fit.

    Args:
        system: the flow or the map.
        states: states on the first axis of every array.
        period: the time of the map of a flow.
        iterate: of a map, how often it is applied.
        forcing: the period as a function of a flow, for one that depends on time.
    """
    if not is_flat(system.space):
        raise ArgumentError("parameter", "be that of a system on a flat space", "is on a curved one")
    if not isinstance(system, AbstractMap):
        if iterate != 1:
            raise ArgumentError("iterate", "be 1 for a flow", f"is {iterate}")
        if forcing is not None:
            function("forcing", forcing, "the flow")
        check_forcing(system, Cycle(jax.tree.map(lambda part: part[:8], states), np.asarray(period)), forcing)
    elif forcing is not None:
        raise ArgumentError("forcing", "be left out for a map", "is given")


class SectionMap:
    """The iterate of a map, or a flow over a time, as a map of flattened states in units of order one."""

    def __init__(self, units: Units, state: State, iterate: int, forcing: Callable[[Any], Any] | None, rtol: float):
        """Store the system in its units.

        Args:
            units: the system with one parameter.
            state: a state, for its structure.
            iterate: of a map, how often it is applied.
            forcing: of a forced flow, the period as a function of the flow in its own units.
            rtol: the relative tolerance of the solver.
        """
        (parameter,) = units.varied
        self.units, self.parameter, self.rtol, self.like = units, parameter, rtol, state
        self.is_map = isinstance(parameter.system, AbstractMap)
        self.size = len(flat_state(state))
        self.angles = flat_state(parameter.system.space.periods(jax.tree.map(jnp.asarray, units.rescaled(state))))
        if self.is_map:
            like = units.rescaled(state)
            flat = FlatSystem(parameter.system, (), jax.tree.map(jnp.asarray, like), iterate)
            self.field = CycleField(flat, inside(parameter.take), np.zeros(self.size))
        else:
            self.field = CycleField(parameter.system, parameter.take, jax.tree.map(jnp.asarray, state))
        self._forced = None
        if forcing is not None:
            own = lambda value: jnp.asarray(forcing(units.given(parameter.at(value)))) / units.time
            self._forced = jax.jit(jax.value_and_grad(own))

    @property
    def has_period(self) -> bool:
        """Whether the time is unknown, as for autonomous flows."""
        return not self.is_map and self._forced is None

    def period_at(self, period: float, parameter: float) -> tuple[float, float]:
        """Compute the time and its derivative by the parameter: those of the forcing, or the given time."""
        if self._forced is None:
            return period, 0.0
        value, slope = self._forced(jnp.asarray(parameter, float))
        return float(value), float(slope)

    def images(self, states: Float[np.ndarray, "k n"], period: float, parameter: float) -> SectionImages:
        """Map states and differentiate their images."""
        n, at = self.size, np.asarray(parameter)
        if self.is_map:
            f, J = self.field.at(np.zeros(()), states, at)
            return SectionImages(states + f, J[..., :n] + np.eye(n), J[..., n], np.zeros_like(f))
        period, slope = self.period_at(period, parameter)
        begin = np.broadcast_to(np.eye(n, n + 1), (len(states), n, n + 1)).reshape(len(states), -1)

        def rates(which: np.ndarray, t: np.ndarray, y: np.ndarray) -> np.ndarray:
            del which
            rows = y.T
            f, J = self.field.at(t, rows[:, :n], at)
            moved = J[:, :, :n] @ rows[:, n:].reshape(-1, n, n + 1)
            moved[:, :, n] += J[:, :, n]
            return np.concatenate([f, moved.reshape(len(rows), -1)], axis=1).T

        ends = self._followed(rates, np.concatenate([states, begin], axis=1), period).ends
        V = ends[:, n:].reshape(-1, n, n + 1)
        speeds = self.speeds(ends[:, :n], period, parameter)
        return SectionImages(ends[:, :n], V[:, :, :n], V[:, :, n] + slope * speeds, speeds)

    def ends(self, states: Float[np.ndarray, "k n"], period: float, parameter: float) -> Float[np.ndarray, "k n"]:
        """Map states."""
        if self.is_map:
            return states + self.field.at(np.zeros(()), states, np.asarray(parameter))[0]
        return self._followed(self._rates(parameter), states, self.period_at(period, parameter)[0]).ends

    def paths(
        self, states: Float[np.ndarray, "k n"], period: float, parameter: float, shares: Float[np.ndarray, " t"]
    ) -> Float[np.ndarray, "k t n"]:
        """Follow states of a flow, and give those at shares of the time, of which the first one is 0."""
        duration, rates = self.period_at(period, parameter)[0], self._rates(parameter)
        followed, zeros = self._followed(rates, states, duration, keep=True), np.zeros(len(states))
        return sampled(rates, followed, states, zeros, shares * duration)

    def speeds(self, states: Float[np.ndarray, "k n"], t: float, parameter: float) -> Float[np.ndarray, "k n"]:
        """Compute the velocities at states and a time; zero for maps."""
        if self.is_map:
            return np.zeros_like(states)
        return self.field.at(np.asarray(t, float), states, np.asarray(parameter))[0]

    def gaps(self, ends: Float[np.ndarray, "k n"], aims: Float[np.ndarray, "k n"]) -> Float[np.ndarray, "k n"]:
        """Subtract states, without whole turns of angles."""
        return nearest(ends - aims, self.angles)

    def _rates(self, parameter: float) -> Callable[..., np.ndarray]:
        return lambda which, t, y: self.field.at(t, y.T, np.asarray(parameter))[0].T

    def _followed(self, rates: Any, starts: np.ndarray, period: float, *, keep: bool = False) -> Any:
        zeros, times = np.zeros(len(starts)), np.full(len(starts), period)
        return follow(rates, starts, zeros, times, rtol=self.rtol, atol=self.rtol / 100, keep=keep)
