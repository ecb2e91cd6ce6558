"""Continue tori in a parameter from a Neimark-Sacker point, by the size of their section."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from analysis.dynamics.continuation.bifurcations import Bifurcation
from analysis.dynamics.continuation.orbit_curve import Cycle, moved_states
from analysis.dynamics.continuation.scaling import curve_units, orbit_units
from analysis.dynamics.continuation.steps import LEAST, Limits, Steps
from analysis.dynamics.periodic_orbits.maps import phases
from analysis.dynamics.scaling.flat import flat_state, flat_states, states_like
from analysis.dynamics.tori.circles import resampled
from analysis.dynamics.tori.section_map import SectionMap, check_section
from analysis.dynamics.tori.solver import (
    FEWEST,
    CircleCondition,
    CorrectedCircle,
    LockedOrbit,
    SectionCircle,
    corrected,
    locked_near,
)
from analysis.dynamics.tori.torus import InvariantTorus, section_at, torus_of
from dynsim._core.checked import checked
from dynsim._core.placement import on_host_by_default
from dynsim._core.printing import one_line
from dynsim._core.validation import integer, number
from dynsim.errors import ArgumentError, counted, shown
from dynsim.notebook import picture, plot
from dynsim.systems.base import AbstractFlow
from dynsim.systems.parameter import Parameter

if TYPE_CHECKING:
    from figures.artists import Artists

# Default of the largest number of tori of a branch.
POINTS = 100
# Default of the largest error of a circle, relative to its extent, and the share of it that the solver may cause.
TOLERANCE, SHARE = 1e-7, 1e-3
# Numbers of Newton steps up to which the next step grows, and above which it shrinks.
EASY, HARD = 4, 6
# Factors of steps that are easy, hard or failed.
GROW, SHRINK = 1.5, 0.5
# Step, relative to the first one, below which a curve ends unless longer ones pass a locked torus.
SMALLEST = 1 / 32
# Steps, relative to the first one, that are tried beyond a locked torus.
BEYOND = (0.25, 1.0, 4.0)
# Times in a turn, and angles, at which the extremes of a torus are looked for.
TURNS, ANGLES = 33, 129
# Extent of a circle, relative to the one before, below which it is a point.
POINT = 1e-3


class TorusBranch(NamedTuple):
    """Tori along a curve in a parameter.

    Attributes:
        name: the name of the parameter.
        tori: the tori, in order along the curve.
        ends: why the branch begins and ends: `Neimark-Sacker point`, `bounds`, `steps`, `locked p:q`, `accuracy` where
            as many values as are allowed do not resolve the circle, or `lost` where none is found nearby.
        locked: periodic orbits on locked tori that the branch has passed, or at which it ends.
    """

    name: str
    tori: tuple[InvariantTorus, ...]
    ends: tuple[str, str]
    locked: tuple[LockedOrbit, ...] = ()

    __repr__ = one_line
    _repr_png_ = picture

    @property
    def parameters(self) -> Float[np.ndarray, " tori"]:
        """Values of the parameter."""
        return np.array([one.parameter for one in self.tori])

    @property
    def rotations(self) -> Float[np.ndarray, " tori"]:
        """Rotation numbers."""
        return np.array([one.rotation for one in self.tori])

    @property
    def without_system(self) -> "TorusBranch":
        """The branch without the system, of which files hold none."""
        return self._replace(tori=tuple(one._replace(section=None) for one in self.tori))

    def plot(self, ax: Any = None, **options: Any) -> "Artists":
        """Draw the rotation number, or the range of a component on the circle, against the parameter into axes.

        Args:
            ax: axes of matplotlib; without any, a figure is made; see `figures.plot`.
            options: those of `figures.plot`, of the part `lines`, solid where the torus attracts; `colour`;
                `component`, a name or an index, whose least and largest values are drawn.
        """
        return plot(self, ax, **options)

    def __str__(self) -> str:
        """Describe the number of tori, the ranges of parameter and rotation number, locked tori and the end."""
        values, turns = self.parameters, self.rotations
        ranges = f"{self.name} from {values.min():.8g} to {values.max():.8g}"
        kinds = " and ".join(dict.fromkeys(one.kind for one in self.tori))
        passed = f"; locked {', '.join(dict.fromkeys(one.ratio for one in self.locked))}" if self.locked else ""
        about = f"rotation numbers {turns.min():.8g} to {turns.max():.8g}"
        count = counted(len(self.tori), f"{kinds} torus", f"{kinds} tori")
        return f"{count}, {ranges}, {about}{passed}; ends: {' and '.join(self.ends)}"


@checked
@on_host_by_default
def tori_from_neimark_sacker(
    parameter: Parameter,
    at: Bifurcation,
    *,
    iterate: int = 1,
    forcing: Callable[[Any], Any] | None = None,
    steps: Steps = Steps(),
    tolerance: float = TOLERANCE,
) -> TorusBranch:
    r"""Continue the tori that begin at a Neimark-Sacker point of a periodic orbit, or of fixed points of a map.

    A torus is given by a circle $K$ that the flow over one turn, or the map, takes to itself with a shift of its angle,

    $$ F(K(\theta)) = K(\theta + \rho), $$

    at equal shares of the angle (a Fourier series). Unknown are the circle, the rotation number $\rho$, the time of an
    autonomous flow, and the parameter; Newton's method needs no attraction. The number of values follows the error,
    which is measured between them. A branch passes narrow intervals in which the motion locks to a periodic orbit, and
    lists those that it meets; in a wide one it ends with `locked p:q`.

    >>> import jax.numpy as jnp
    >>> import dynsim as ds
    >>> from analysis.dynamics import continue_equilibria, tori_from_neimark_sacker
    >>> def delayed(k, x, r=1.9):
    ...     return jnp.stack([r * x[0] * (1 - x[1]), x[0]])
    >>> r = ds.Parameter(ds.FunctionMap(delayed, parameters={"r": 1.9}), "r", 1.5, 2.05)
    >>> (point,) = continue_equilibria(r, [0.47, 0.47]).bifurcations
    >>> tori = tori_from_neimark_sacker(r, point)
    >>> round(tori.tori[-1].rotation, 6), tori.ends
    (0.161772, ('Neimark-Sacker point', 'bounds'))

    Args:
        parameter: the parameter, and its range.
        at: the Neimark-Sacker point.
        iterate: of a map, that of the branch on which the point was found.
        forcing: of a forced flow, the period as a function of the flow, as in `continue_orbits`.
        steps: the steps along the curve, in the root mean square of the states over the circle and the parameter.
        tolerance: the largest error of a circle, relative to its extent.

    Raises:
        ValueError: for bad input, a bifurcation of another kind, or if no torus is found nearby.

    Source: F. Schilder, H. M. Osinga and W. Vogt, Continuation of quasi-periodic invariant tori, SIAM J. Appl. Dyn.
    Syst. 4 (2005).
    """
    if at.kind != "Neimark-Sacker point":
        raise ArgumentError("at", "be a Neimark-Sacker point", f"is a {at.kind}")
    if at.resonance:
        raise ArgumentError("at", "have no strong resonance, beside which there is no circle", f"is {at}")
    _check_steps(steps)
    repeats = integer("iterate", iterate, least=1)
    section, start = _at_bifurcation(parameter, at, repeats, forcing, SHARE * number("tolerance", tolerance))
    limits = steps.limits(section.parameter, POINTS, section.units.parameters[0])
    centre, tangent = _emerging(section, start)
    first = min(limits.step, limits.largest)
    guess = centre.moved(tangent, first)
    found = corrected(section, guess, guess, CircleCondition(tangent, guess), tolerance)
    while not found.converged and first > LEAST * limits.step:
        first *= SHRINK
        guess = centre.moved(tangent, first)
        found = corrected(section, guess, guess, CircleCondition(tangent, guess), tolerance)
    if not found.converged:
        raise ArgumentError("at", "be a point near which there are tori", "is one near which none is found")
    circles, end, locked = _followed(section, centre, found, limits, tolerance)
    if not circles:
        raise ArgumentError("at", "be a point whose tori lie in the range of the parameter", "has them beyond it")
    return _branch(section, parameter, circles, ("Neimark-Sacker point", end), locked)


@checked
@on_host_by_default
def continue_tori(
    parameter: Parameter,
    torus: InvariantTorus,
    *,
    forcing: Callable[[Any], Any] | None = None,
    iterate: int = 1,
    steps: Steps = Steps(),
    tolerance: float = TOLERANCE,
) -> TorusBranch:
    """Continue a torus in a parameter in both directions, as `tori_from_neimark_sacker` does.

    >>> import jax.numpy as jnp
    >>> import dynsim as ds
    >>> from analysis.dynamics import continue_tori, invariant_torus
    >>> def turn(k, x, mu=0.04):  # a circle of radius sqrt(mu), which is turned by 2 radians
    ...     grown, c, s = (1 + mu - x @ x) * x, jnp.cos(2.0), jnp.sin(2.0)
    ...     return jnp.stack([c * grown[0] - s * grown[1], s * grown[0] + c * grown[1]])
    >>> mu = ds.Parameter(ds.FunctionMap(turn, parameters={"mu": 0.04}), "mu", -0.1, 0.1)
    >>> branch = continue_tori(mu, invariant_torus(mu, [0.2, 0.0]))
    >>> branch.ends, round(float(branch.tori[-1].circle()[0] @ branch.tori[-1].circle()[0]), 8)
    (('Neimark-Sacker point', 'bounds'), 0.1)

    Args:
        parameter: the parameter of the system, at whose own value the torus is, and its range.
        torus: what `invariant_torus` returned, or a torus of a branch.
        forcing: of a forced flow, the period as a function of the flow.
        iterate: of a map, how often it is applied.
        steps: the steps along the curve.
        tolerance: the largest error of a circle, relative to its extent.

    Raises:
        ValueError: for bad input, or if no torus is found near the first one.
    """
    _check_steps(steps)
    if not parameter.low <= parameter.value <= parameter.high:
        must = f"have the system's own value, {parameter.value:g}, in its range"
        raise ArgumentError("parameter", must, f"goes from {parameter.low:g} to {parameter.high:g}")
    section = section_at(parameter, torus.states, torus.period, integer("iterate", iterate, least=1), forcing,
                         SHARE * number("tolerance", tolerance))  # fmt: skip
    limits = steps.limits(section.parameter, POINTS, section.units.parameters[0])
    first = SectionCircle(
        flat_states(torus.states) / section.units.flat(section.like), torus.rotation,
        torus.period / section.units.time, section.parameter.value,
    )  # fmt: skip
    found = corrected(section, first, first, CircleCondition(None, first), tolerance)
    if not found.converged:
        raise ArgumentError("torus", "be near one of the system at the parameter's own value", "leads to none there")
    locked: list[LockedOrbit] = []
    sides, ends = [], []
    for sense in (-1.0, 1.0):
        ahead = SectionCircle(np.zeros_like(found.circle.nodes), 0.0, 0.0, sense)
        circles, end, passed = _followed(section, found.circle.moved(ahead, -1.0), found, limits, tolerance)
        sides.append(circles)
        ends.append(end)
        locked += passed
    return _branch(section, parameter, [*sides[0][:0:-1], *sides[1]], (ends[0], ends[1]), locked)


def torus_ranges(parameter: Parameter, found: TorusBranch, component: int) -> Float[np.ndarray, "tori curves"]:
    """Find the least and the largest value of a component on each torus of a branch.

    On tori of an iterate of a map these are two columns for each of its circles. Time and angle are sampled, so that
    errors are of second order in the distances of the samples.

    Args:
        parameter: the parameter in which the branch was continued, of a map or of an autonomous flow.
        found: the branch.
        component: index of the component.
    """
    rows = []
    for one in found.tori:
        iterate = 1 if isinstance(parameter.system, AbstractFlow) else round(one.period)
        if not isinstance(parameter.system, AbstractFlow):
            like = jax.tree.map(lambda part: np.asarray(part)[0], one.states)
            states = states_like(like, one.circle(ANGLES))
            circles = phases(parameter, states, np.full(ANGLES, one.parameter), iterate)
            values = [flat_states(circle)[:, component] for circle in circles]
        else:
            section = one.section or section_at(parameter, one.states, one.period, 1, None, SHARE * TOLERANCE)
            values = [one._replace(section=section).surface(TURNS, ANGLES)[..., component]]
        rows.append([end(value) for value in values for end in (np.min, np.max)])
    return np.array(rows)


def _branch(
    section: SectionMap,
    parameter: Parameter,
    circles: Sequence[CorrectedCircle],
    ends: tuple[str, str],
    locked: Sequence[LockedOrbit],
) -> TorusBranch:
    unit = section.units.parameters[0]
    tori = tuple(torus_of(section, one.circle, one.error, parameter.name) for one in circles)
    return TorusBranch(
        parameter.name, tori, ends, tuple(one._replace(parameter=one.parameter * unit) for one in locked)
    )


def _check_steps(steps: Steps) -> None:
    if steps.marks or steps.stops:
        raise ArgumentError("steps", "have no marks and stops", f"has {shown([*steps.marks, *steps.stops])}")


class _Start(NamedTuple):
    """The solution at a bifurcation: a state on it, the time, the parameter, and the angle of the multipliers."""

    state: np.ndarray
    period: float
    parameter: float
    frequency: float


def _at_bifurcation(
    parameter: Parameter, at: Bifurcation, iterate: int, forcing: Any, rtol: float
) -> tuple[SectionMap, _Start]:
    """Set up the map beside a bifurcation, in units near the sizes there."""
    of_orbit = isinstance(at.state, Cycle)
    is_flow = isinstance(parameter.system, AbstractFlow)
    if of_orbit != is_flow:
        must = "be one of periodic orbits of this flow" if is_flow else "be one of fixed points of this map"
        raise ArgumentError("at", must, "is of another kind")
    cycle: Any = at.state
    states = cycle.nodes if of_orbit else jax.tree.map(lambda part: np.asarray(part)[None], at.state)
    check_section(parameter.at(at.parameter), states, float(cycle.period) if of_orbit else 1.0, iterate, forcing)
    if of_orbit:
        units = orbit_units(parameter.system, cycle, (parameter,), at=(at.parameter,))
        state = jax.tree.map(lambda part: part[0], cycle.nodes)
        period = float(moved_states(units, cycle, -1).period)
    else:
        state, period = at.state, float(iterate)
        units = curve_units((parameter,), state, at=(at.parameter,))
    section = SectionMap(units, state, iterate, forcing, rtol)
    own = flat_state(state) / units.flat(state)
    return section, _Start(own, period, at.parameter / units.parameters[0], at.frequency)


def _emerging(section: SectionMap, start: _Start) -> tuple[SectionCircle, SectionCircle]:
    """Build the circle of size zero at a bifurcation, and the unit tangent of the branch there."""
    images = section.images(start.state[None], start.period, start.parameter)
    values, vectors = np.linalg.eig(images.maps[0])
    k = int(np.argmin(np.abs(values - np.exp(1j * start.frequency))))
    angles = 2 * np.pi * np.arange(FEWEST) / FEWEST
    wave = np.real(np.exp(1j * angles)[:, None] * vectors[:, k])
    turn = float(np.angle(values[k])) / (2 * np.pi)
    centre = SectionCircle(np.tile(start.state, (FEWEST, 1)), turn, start.period, start.parameter)
    tangent = SectionCircle(wave, 0.0, 0.0, 0.0)
    return centre, tangent._replace(nodes=wave / tangent.length)


def _followed(
    section: SectionMap, centre: SectionCircle, first: CorrectedCircle, limits: Limits, tolerance: float
) -> tuple[list[CorrectedCircle], str, list[LockedOrbit]]:
    """Continue circles from the first one; give them, why they end, and what is locked."""
    low, high = limits.bounds
    found, locked, size = [first], list[LockedOrbit](), min(limits.step, limits.largest)
    before = centre
    while len(found) < limits.points:
        here = found[-1].circle
        if not low <= here.parameter <= high:
            return _at_bound(section, found, before, limits, tolerance), "bounds", locked
        ahead = here.minus(before)
        step = _step(section, here, ahead, size, tolerance)
        if not step.converged:
            size *= SHRINK
            if size > SMALLEST * limits.step and np.isinf(step.error):
                continue
            step, end = _beyond(section, here, ahead, limits.step, tolerance, locked)
            if not step.converged:
                return found, end, locked
            size = limits.step
        if _vanishes(here, step.circle):
            return found, "Neimark-Sacker point", locked
        before = here
        found.append(step)
        factor = GROW if step.steps <= EASY else SHRINK if step.steps > HARD else 1.0
        size = min(factor * size, limits.largest)
    return found, "steps", locked


def _vanishes(here: SectionCircle, there: SectionCircle) -> bool:
    """Tell whether a circle has shrunk to a point between two: then its angle is turned by half a turn."""
    other = resampled(there.nodes, len(here.nodes))
    product = np.sum((here.nodes - np.mean(here.nodes, axis=0)) * (other - np.mean(other, axis=0)))
    return bool(product < 0) or there.extent < POINT * here.extent


def _step(
    section: SectionMap, here: SectionCircle, ahead: SectionCircle, size: float, tolerance: float
) -> CorrectedCircle:
    """Step along the chord through the last two circles."""
    share = size / ahead.length
    guess = here.moved(ahead, share)
    unit = SectionCircle(ahead.nodes / ahead.length, 0.0, 0.0, ahead.parameter / ahead.length)
    return corrected(section, guess, here, CircleCondition(unit, guess), tolerance)


def _beyond(
    section: SectionMap,
    here: SectionCircle,
    ahead: SectionCircle,
    first: float,
    tolerance: float,
    locked: list[LockedOrbit],
) -> tuple[CorrectedCircle, str]:
    """Try longer steps where short ones fail; a locked torus before them is added to the list, or ends the branch."""
    known = len(locked)
    for share in BEYOND:
        step = _step(section, here, ahead, share * first, tolerance)
        if step.converged:
            return step, ""
        if len(locked) == known:
            orbit = locked_near(section, here.moved(ahead, share * first / ahead.length))
            locked += [] if orbit is None else [orbit]
    if len(locked) > known:
        return step, f"locked {locked[-1].ratio}"
    return step, "lost" if np.isinf(step.error) else "accuracy"


def _at_bound(
    section: SectionMap, found: Sequence[CorrectedCircle], before: SectionCircle, limits: Limits, tolerance: float
) -> list[CorrectedCircle]:
    """Replace the last circle, beyond a bound of the parameter, by that at the bound; leave it out if there is none."""
    beyond, kept = found[-1].circle, list(found[:-1])
    edge = limits.bounds[0] if beyond.parameter < limits.bounds[0] else limits.bounds[1]
    share = (edge - before.parameter) / (beyond.parameter - before.parameter)
    guess = before.moved(beyond.minus(before), share)
    guess = guess._replace(parameter=edge)
    if guess.extent <= POINT * beyond.extent:
        return kept
    last = corrected(section, guess, guess, CircleCondition(None, guess), tolerance)
    return [*kept, last] if last.converged else kept
