"""Integrate a trajectory until its speed is small, and test by the linearisation whether it has reached its limit."""

from typing import NamedTuple

import jax
import numpy as np

from analysis.dynamics.equilibria.newton import displaced, max_speed, newton, step_to_rest
from analysis.dynamics.equilibria.sliding import rest_by_sliding
from analysis.dynamics.linearisation import NEAR_ZERO, eigenvalues, tangent_basis, tangent_jacobian
from analysis.dynamics.scaling.flat import flat_state, flat_states
from analysis.dynamics.scaling.samples import largest, sample_units
from analysis.dynamics.scaling.units import Units, made_units
from analysis.tokens.clusters import clusters, drift
from dynsim._core.placement import on_host_by_default
from dynsim._core.printing import one_line, report
from dynsim._core.types import State
from dynsim.errors import ArgumentError
from dynsim.integrators import AbstractIntegrator, Diffrax
from dynsim.integrators.switched_field import switched_field
from dynsim.simulation.checks import double_state
from dynsim.simulation.simulate import simulate
from dynsim.systems.base import AbstractFlow

# Speed, relative to the initial one or in units of the trajectory, below which stationarity is tested.
SLOW = 1e-8
# Distance from an equilibrium, in tolerances of the solver, within which its errors may keep a state moving.
ERRORS = 100.0
# Number of saved times in a window.
FRAMES = 17
# Length of the step along a null direction of the linearisation.
STEP = 1e-3
# Rounding errors of a field, relative to the terms of its linearisation.
ROUNDING = 64 * float(np.finfo(float).eps)
# Pulls that cancel to this fraction leave only errors of the solver.
BALANCED = 1e-6
# Number of e-foldings after which a rounding error along an unstable direction would have reached size one.
ESCAPE = 60.0


class Rest(NamedTuple):
    """Stationarity of a slow state: `verdict` as in `Limit`, and the growth `rate` of perturbations per time unit."""

    verdict: str
    rate: float


class Limit(NamedTuple):
    """Final state of a trajectory, its time and speed, and whether it is a limit.

    `verdict` is one of

    - `stationary`: every direction decays or is tangent to a manifold of equilibria,
    - `metastable`: nearly stationary, but perturbations grow or clusters merge at `rate` per time unit,
    - `undecided`: nearly stationary, but the linearisation does not decide,
    - `moving`: not slow within the longest time.
    """

    state: State
    time: float
    speed: float
    verdict: str
    rate: float

    __repr__ = one_line
    __str__ = report

    @property
    def settled(self) -> bool:
        """Whether the state is the limit of the trajectory; true for `stationary` only."""
        return self.verdict == "stationary"


@on_host_by_default
def settle(
    flow: AbstractFlow,
    y0: State,
    *,
    first_time: float = 16.0,
    max_time: float = 2.0**15,
    integrator: AbstractIntegrator = Diffrax(),
) -> Limit:
    """Integrate a flow over doubling horizons until its speed is small, and test whether the state is stationary.

    A small speed is not sufficient: saddles, antipodal tokens and separate clusters at low temperature are slow, too.
    The test uses the eigenvalues of the linearisation. For flows that define pulls (tokens with U = c I), it also uses
    the drift between clusters, which may be far below rounding error. If the verdict is `undecided`, compute `spectrum`
    with the symmetries of the flow. For a field that depends on time, the test decides only if the linearisation is
    constant, or if its symmetric part is negative definite. Tolerances are relative to `sample_units` of the
    trajectory, computed from its largest states and rates. Where errors of the solver keep a state moving, as in states
    of 1e-6 or far from zero, it has settled if it stays within a hundred tolerances of an equilibrium.

    Args:
        flow: the system.
        y0: initial state, a point of the flow's space; it is solved in float64.
        first_time: first horizon, in the flow's time unit.
        max_time: last time, at which the verdict need not be `stationary`.
        integrator: `Diffrax()` or `Scipy()`.

    Raises:
        ValueError: unless 0 < first_time <= max_time.
        IntegrationError: if the integration fails.

    Example:
        >>> import dynsim as ds
        >>> from analysis.dynamics import settle
        >>> limit = settle(ds.FunctionFlow(lambda t, x: x - x**3), [0.1])
        >>> limit.verdict, round(float(limit.state[0]), 4)
        ('stationary', 1.0)
    """
    if not 0 < first_time <= max_time:
        raise ArgumentError("first_time", f"lie in (0, max_time = {max_time}]", f"is {first_time}")
    x, t, window, start, stays = double_state("y0", y0), 0.0, first_time, None, False
    while True:
        path = simulate(flow, x, np.linspace(t, t + window, FRAMES), integrator=integrator)
        x, t = path.final, t + window
        start = path.initial if start is None else start
        ys = jax.tree.map(np.asarray, path.ys)  # NumPy arrays, so that slicing them compiles nothing
        passed = jax.tree.map(lambda first, y: np.concatenate([np.asarray(first)[None], y[1:]]), start, ys)
        units = sample_units(flow, passed, sizes=largest, rate=np.max)
        ts = np.asarray(path.ts)
        late = [(float(ts[k]), jax.tree.map(lambda y, k=k: y[k], ys)) for k in range(FRAMES - 4, FRAMES)]
        speed, slow, slow_in_units = _slow(units, start, late)
        if _rests_by_sliding(flow, x, t, passed):
            return Limit(x, t, 0.0, "stationary", 0.0)
        was_near, stays = stays, not (slow and slow_in_units) and _is_near_rest(flow, late, integrator)
        slow, slow_in_units = (slow, slow_in_units) if not (was_near and stays) else (True, True)
        rest, times = Rest("moving", 0.0), [when for when, _ in late]
        if slow and slow_in_units:
            rest = look(flow, x, times, units)
        elif slow and (merging := _merging(flow, x, times)) > 0:
            rest = Rest("metastable", merging)
        if rest.verdict == "stationary" or t >= max_time:
            return Limit(x, t, speed, *rest)
        if rest.verdict == "metastable" and (rest.rate * (max_time - t) < 1 or rest.rate * window > ESCAPE):
            return Limit(x, t, speed, *rest)  # it could not escape before `max_time`, or has not in the time it had
        window = min(t, max_time - t)


def _rests_by_sliding(flow: AbstractFlow, x: State, t: float, passed: State) -> bool:
    """Test whether a state is at rest on a surface on which the field jumps, and not at an unstable point there.

    `passed` are states of the trajectory, whose extents are the sizes of the components.
    """
    if (field := switched_field(flow, x)) is None:
        return False
    extents = np.ptp(flat_states(passed), axis=0)
    found = rest_by_sliding(field, t, flat_state(x), np.where(extents > 0, extents, np.max(extents) or 1.0))
    return found is not None and found[1] == "stable"


def _slow(units: Units, start: State, late: list[tuple[float, State]]) -> tuple[float, bool, bool]:
    """Compute the largest speed at late states; test whether it is small in the flow's units and in rescaled ones."""
    flow = units.given(units.system)
    own, begin = max(max_speed(flow, x, t) for t, x in late), max_speed(flow, start, 0.0)
    slow = own <= SLOW * max(1.0, begin)
    if units.are_given:
        return own, slow, slow
    begin = max_speed(units.system, units.rescaled(start), 0.0)
    fastest = max(max_speed(units.system, units.rescaled(x), t / units.time) for t, x in late)
    return own, slow, fastest <= SLOW * max(1.0, begin)


def _is_near_rest(flow: AbstractFlow, late: list[tuple[float, State]], integrator: AbstractIntegrator) -> bool:
    """Test whether Newton's method leads from late states to equilibria within errors of the solver."""
    rtol, atol = (float(np.max(getattr(integrator, name, 0.0))) for name in ("rtol", "atol"))
    for t, x in late:
        step = step_to_rest(flow, double_state("x", x), t)
        if not np.all(np.abs(step) <= ERRORS * (rtol * np.abs(flat_state(x)) + atol)):
            return False
    return True


def look(flow: AbstractFlow, x: State, times: list[float] | None = None, units: Units | None = None) -> Rest:
    """Classify a slow state by cluster drift and by the eigenvalues of the linearisation at each of `times`.

    Tolerances of the eigenvalues hold in `units`; the default is the flow's own.
    """
    times = [0.0] if times is None else times
    merging = _merging(flow, x, times)
    if merging > 0:
        return Rest("metastable", merging)
    units = made_units(flow) if units is None else units
    found = _linearised(units.system, units.rescaled(x), [t / units.time for t in times])
    return found._replace(rate=found.rate / units.time)


def _linearised(flow: AbstractFlow, x: State, times: list[float]) -> Rest:
    """Classify a slow state by the eigenvalues of a field whose rates are of order one."""
    x, speed = newton(flow, x, times[0])
    basis = tangent_basis(flow.space, x)
    jacobians = [tangent_jacobian(flow, x, t) for t in times]
    tolerance = NEAR_ZERO * max(1.0, *(float(np.linalg.norm(J, 2)) for J in jacobians))
    rounding = ROUNDING * max(float(np.max(np.abs(basis @ J @ basis.T) @ np.abs(flat_state(x)))) for J in jacobians)
    if max(max_speed(flow, x, t) for t in times) > max(1e-3 * SLOW, rounding):
        return Rest("undecided", 0.0)
    if max(float(np.max(np.abs(J - jacobians[0]))) for J in jacobians) > tolerance:
        norm = max(float(np.linalg.eigvalsh((J + J.T) / 2)[-1]) for J in jacobians)
        return Rest("stationary", 0.0) if norm < -tolerance else Rest("undecided", 0.0)
    values = np.real(eigenvalues(jacobians[0]))
    if values.size and values[0] > tolerance:
        return Rest("metastable", float(values[0]))
    neutral = int(np.sum(np.abs(values) <= tolerance))
    _, sizes, right = np.linalg.svd(jacobians[0])
    flat = right[sizes <= tolerance]
    manifold = len(flat) == neutral and all(leads_on(flow, x, basis @ v, times[0]) for v in flat)
    return Rest("stationary" if manifold else "undecided", 0.0)


def _merging(flow: AbstractFlow, x: State, times: list[float]) -> float:
    """Compute the largest rate at which clusters merge, even below rounding of the field; 0 if it is unknown."""
    if not flow.pulls(times[0], x).size:
        return 0.0
    radius = 1e-4
    if len(set(clusters(np.asarray(x), radius))) == 1:
        return 0.0
    found = [drift(flow, np.asarray(x), t, radius=radius) for t in times]
    return max([0.0, *(d.rate for d in found if d.imbalance > BALANCED)])


def leads_on(flow: AbstractFlow, x: State, direction: np.ndarray, t: float) -> bool:
    """Test whether equilibria exist on both sides of a state along a direction, to second order in the step."""
    for step in (STEP, -STEP):
        aim = displaced(flow.space, x, step * direction)
        reached, speed = newton(flow, aim, t)
        off = float(np.linalg.norm(flat_state(reached) - flat_state(aim)))
        if speed > 1e-3 * SLOW or off > 0.1 * STEP:
            return False
    return True
