"""Quasi-periodic tori: their section, an invariant circle, with rotation number, error and growth across them."""

from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from analysis.dynamics.flow_maps.component_sizes import orbit_scale, range_unit, trajectory_units, turn_unit
from analysis.dynamics.flow_maps.time_map import resolving_tolerance
from analysis.dynamics.scaling.flat import flat_states, states_like
from analysis.dynamics.scaling.units import made_units
from analysis.dynamics.tori.circles import evaluated_at, shifted
from analysis.dynamics.tori.section_map import SectionMap, check_section
from analysis.dynamics.tori.solver import SectionCircle, normal_multipliers
from dynsim._core.printing import one_line
from dynsim._core.types import State
from dynsim._core.validation import integer
from dynsim.errors import ArgumentError
from dynsim.integrators.diffrax_backend import Diffrax
from dynsim.notebook import picture, plot
from dynsim.simulation.simulate import simulate
from dynsim.systems.base import AbstractFlow
from dynsim.systems.named import Components, components
from dynsim.systems.parameter import Parameter

if TYPE_CHECKING:
    from figures.artists import Artists

# Distance of the growth across a torus from 1 that counts as none.
NEUTRAL = 1e-6
# Number of states on a turn that give the ranges of the components.
TURN = 17
# Solver of trajectories, and most of its steps over all turns.
SOLVER = Diffrax(max_steps=10_000_000)


class InvariantTorus(NamedTuple):
    """A torus with quasi-periodic motion, by an invariant circle: of a map, or of a flow over one turn of its section.

    Attributes:
        states: states on the circle at equal shares of its angle, on the first axis.
        rotation: the share of a turn by which the map moves the circle, from 0 to 1; with the angle in the other sense
            it is 1 minus this.
        period: the time of the map: of a flow one turn, the period of a forcing or of the orbit at the bifurcation; of
            a map the number of steps.
        parameter: the value of the parameter.
        multipliers: mean factors by which distances from the torus change while the map acts once, largest first.
        error: largest distance of an image from the circle, relative to its extent.
        name: the name of the parameter.
        names: names of the components of a flat state.
        units: their units.
        section: the map, by which pictures are computed.
    """

    states: State
    rotation: float
    period: float
    parameter: float
    multipliers: Float[np.ndarray, " k"]
    error: float
    name: str = ""
    names: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    section: SectionMap | None = None

    __repr__ = one_line
    _repr_png_ = picture

    @property
    def kind(self) -> str:
        """`attracting`, `repelling` or `saddle` by the growth across the torus, or `neutral` if there is none."""
        if np.any(np.abs(np.log(np.maximum(self.multipliers, 1e-300))) <= NEUTRAL):
            return "neutral"
        grow = self.multipliers > 1
        return "repelling" if np.all(grow) and len(grow) else "saddle" if np.any(grow) else "attracting"

    @property
    def frequencies(self) -> tuple[float, float]:
        """Both frequencies, in turns per unit of time or per step: that of the map, and that on the circle."""
        return 1 / self.period, self.rotation / self.period

    def circle(self, count: int = 201) -> Float[np.ndarray, "count n"]:
        """Evaluate the circle at equal shares of its angle, the last of which is the first one, as flattened states."""
        return evaluated_at(flat_states(self.states), np.linspace(0.0, 1.0, integer("count", count, least=2)))

    def surface(self, turns: int = 49, count: int = 65) -> Float[np.ndarray, "turns count n"]:
        """Compute states on the torus of a flow: the section, followed over one turn, at equal shares of both angles.

        Args:
            turns: the number of shares of the turn, from 0 to 1.
            count: the number of shares of the angle on the circle, from 0 to 1.

        Raises:
            ValueError: for a map, or a torus without its system.
        """
        section = self.section
        if section is None or section.is_map:
            but = "is a map" if section is not None else "is not known to this torus"
            raise ArgumentError("system", "be a flow, whose torus is a surface", but)
        shares = np.linspace(0.0, 1.0, integer("turns", turns, least=2))
        around = np.linspace(0.0, 1.0, integer("count", count, least=2))
        nodes = flat_states(section.units.rescaled(self.states))
        period, parameter = self.period / section.units.time, self.parameter / section.units.parameters[0]
        starts = evaluated_at(nodes, np.arange(len(nodes)) / len(nodes))
        paths = section.paths(starts, period, parameter, shares)
        rows = [evaluated_at(shifted(paths[:, k], -share * self.rotation), around) for k, share in enumerate(shares)]
        sizes = section.units.flat(jax.tree.map(lambda part: part[0], self.states))
        return np.stack(rows) * sizes

    def plot(self, ax: Any = None, **options: Any) -> "Artists":
        """Draw the section of the torus, a closed curve, into axes.

        Args:
            ax: axes of matplotlib; without any, a figure is made; see `figures.plot`.
            options: those of `figures.plot`, of the part `curve`; `colour`; `component`, names or indices of the two
                components that are drawn.
        """
        return plot(self, ax, **options)

    def plot_surface(self, ax: Any = None, **options: Any) -> "Artists":
        """Draw the torus of a flow as a surface in three components into axes in three dimensions.

        Args:
            ax: axes of matplotlib with `projection="3d"`; without any, a figure is made.
            options: those of `figures.plot`, of the parts `surface` and `curve`, the section; `colour`; `component`,
                names or indices of three components; with two components the time is the third axis.
        """
        return plot(self, ax, picture="torus", **options)

    def __str__(self) -> str:
        """Describe kind, rotation number, time and error in one line."""
        at = f" at {self.name} = {self.parameter:.8g}" if self.name else ""
        grow = f", {self.kind} (multiplier {self.multipliers[0]:.6g})" if len(self.multipliers) else ""
        count = len(flat_states(self.states))
        about = f"rotation number {self.rotation:.10g}, period {self.period:.8g}"
        return f"torus{at}: {about}{grow}; {count} values on the circle, error {self.error:.1g}"


def section_at(
    parameter: Parameter, states: State, period: float, iterate: int, forcing: Any, rtol: float
) -> SectionMap:
    """Set up the map of a system in units near the ranges of some states on a torus and on a turn, and its period.

    A component may rest on the section of a flow. The tolerance of the solver is smaller for a torus far from zero.

    Raises:
        ValueError: see `check_section`.
    """
    system = parameter.system
    check_section(system, states, period, iterate, forcing)
    time = turn_unit(period) if isinstance(system, AbstractFlow) else 1.0
    first, seen = jax.tree.map(lambda part: np.asarray(part)[0], states), states
    if isinstance(system, AbstractFlow):
        turn = on_path(system, first, np.linspace(0.0, period, TURN))
        seen = jax.tree.map(lambda one, other: np.concatenate([one, other]), states, turn)
    units = made_units(system, (parameter,), orbit_scale(system, seen), time, [range_unit(parameter)])
    rows = flat_states(seen)
    return SectionMap(units, first, iterate, forcing, resolving_tolerance(rtol, rows, np.ptp(rows, axis=0)))


def on_path(flow: AbstractFlow, start: State, ts: Float[np.ndarray, " times"]) -> State:
    """Compute states at times on the trajectory from a state at the first one, with times on the first axis.

    They are computed in units of their components.
    """
    units = made_units(flow, scale=trajectory_units(flow, start).scale)
    begin = jax.tree.map(np.asarray, units.rescaled(start))
    return jax.tree.map(np.asarray, units.restored(simulate(units.system, begin, ts, integrator=SOLVER).ys))


def torus_of(section: SectionMap, circle: SectionCircle, error: float, name: str) -> InvariantTorus:
    """Describe a circle in the units of the given system, with the angle turned so that it moves by 0 to 1."""
    units = section.units
    sizes = units.flat(section.like)
    rows = circle.nodes * sizes
    known: Components = components(units.given(section.parameter.system), section.like)
    turns = circle.rotation % 1.0
    return InvariantTorus(
        states_like(section.like, rows), turns, section.period_at(circle.period, circle.parameter)[0] * units.time,
        circle.parameter * units.parameters[0], normal_multipliers(section, circle), error, name, known.names,
        known.units, section,
    )  # fmt: skip
