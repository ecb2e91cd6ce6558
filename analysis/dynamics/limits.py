"""Where a trajectory comes to rest, if it does: slow is not stationary."""

from typing import NamedTuple

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np

from analysis.dynamics.equilibria import newton
from analysis.dynamics.linearisation import NEAR_ZERO, eigenvalues, tangent_basis, tangent_jacobian
from analysis.tokens.clusters import clusters, drift
from dynsim._types import State
from dynsim.errors import argument_error
from dynsim.integrators import AbstractIntegrator, Diffrax
from dynsim.simulation import simulate
from dynsim.systems.base import AbstractFlow

SLOW = 1e-8  # the speed, below that of the start, at which rest is looked into
FRAMES = 17
STEP = 1e-3  # along a direction in which the linearised field vanishes
BALANCED = 1e-6  # pulls that cancel to this part leave nothing but errors of the solver
ESCAPE = 60.0  # e-foldings in which rounding error would have grown to size one


class Rest(NamedTuple):
    """What the linearisation says of a state at rest: `verdict` and the growth `rate` of what would leave it."""

    verdict: str
    rate: float


class Limit(NamedTuple):
    """Where a trajectory was followed to.

    `verdict` is `stationary` (every direction decays, or leads along a manifold of equilibria), `metastable` (nearly at
    rest, and it will leave or merge at `rate` per time unit), `undecided` (nearly at rest; the linearisation does not
    tell), or `moving` (the longest time was not enough). `settled` is true only of the first.
    """

    state: State
    time: float
    speed: float
    verdict: str
    rate: float

    @property
    def settled(self) -> bool:
        """Whether the state is the limit."""
        return self.verdict == "stationary"


def settle(
    flow: AbstractFlow,
    y0: State,
    *,
    first_time: float = 16.0,
    max_time: float = 2.0**15,
    integrator: AbstractIntegrator = Diffrax(),
) -> Limit:
    """Follow a flow over doubling horizons until it is at rest, and say whether it really is.

    A speed near zero is not enough: saddles, antipodal tokens and separate clusters at low temperature have it too. At
    rest the spectrum is looked at, and for tokens with U = c I the drift between clusters, which may be far below
    rounding error. Slow is not stationary: where the answer is `undecided`, look at `spectrum` with the symmetries of
    your flow. For a time-dependent field the linearisation must not depend on time, or decay in its symmetric part.

    Args:
        flow: the system.
        y0: a point of its space.
        first_time: the first horizon, in the flow's time unit.
        max_time: where it gives up; the answer is then `moving`, `metastable` or `undecided`.
        integrator: `Diffrax()` or `Scipy()`.

    Raises:
        IntegrationError: if the flow cannot be followed.
    """
    if not 0 < first_time <= max_time:
        raise argument_error("first_time", f"lie in (0, max_time = {max_time}]", f"is {first_time}")
    x, t, window, begin = y0, 0.0, first_time, None
    while True:
        path = simulate(flow, x, np.linspace(t, t + window, FRAMES), integrator=integrator)
        begin = _speed(flow, path.initial, 0.0) if begin is None else begin
        x, t = path.final, t + window
        late = [(float(path.ts[k]), jax.tree.map(lambda y, k=k: y[k], path.ys)) for k in range(FRAMES - 4, FRAMES)]
        speed = max(_speed(flow, state, when) for when, state in late)
        rest = look(flow, x, [when for when, _ in late]) if speed <= SLOW * max(1.0, begin) else Rest("moving", 0.0)
        if rest.verdict == "stationary" or t >= max_time:
            return Limit(x, t, speed, *rest)
        if rest.verdict == "metastable" and (rest.rate * (max_time - t) < 1 or rest.rate * window > ESCAPE):
            return Limit(x, t, speed, *rest)  # it will not leave in time, or has not although it could
        window = min(t, max_time - t)


def look(flow: AbstractFlow, x: State, times: list[float] | None = None) -> Rest:
    """Return what drift and spectrum say of a state at rest, with the field frozen at each of `times`."""
    times = [0.0] if times is None else times
    merging = _merging(flow, x, times)
    if merging > 0:
        return Rest("metastable", merging)
    x, speed = newton(flow, x, times[0])
    basis = tangent_basis(flow.space, x)
    jacobians = [tangent_jacobian(flow, x, t) for t in times]
    tolerance = NEAR_ZERO * max(1.0, *(float(np.linalg.norm(J, 2)) for J in jacobians))
    if max(_speed(flow, x, t) for t in times) > 1e-3 * SLOW:
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
    manifold = len(flat) == neutral and all(_leads_on(flow, x, basis @ v, times[0]) for v in flat)
    return Rest("stationary" if manifold else "undecided", 0.0)


def _speed(flow: AbstractFlow, x: State, t: float) -> float:
    return float(jnp.max(jnp.abs(jax.flatten_util.ravel_pytree(flow.vector_field(t, x))[0])))


def _merging(flow: AbstractFlow, x: State, times: list[float]) -> float:
    """Return the rate at which clusters merge that the field, rounded, may not show; 0 if that is not known."""
    if not flow.pulls(times[0], x).size:
        return 0.0
    radius = 1e-4
    if len(set(clusters(np.asarray(x), radius))) == 1:
        return 0.0
    found = [drift(flow, np.asarray(x), t, radius=radius) for t in times]
    return max([0.0, *(d.rate for d in found if d.imbalance > BALANCED)])


def _leads_on(flow: AbstractFlow, x: State, direction: np.ndarray, t: float) -> bool:
    """Return whether there are equilibria both ways along a direction, as near to it as a curve's second order."""
    flat, unravel = jax.flatten_util.ravel_pytree(x)
    for step in (STEP, -STEP):
        aim = flow.space.project(unravel(flat + step * direction))
        reached, speed = newton(flow, aim, t)
        off = float(jnp.linalg.norm(jax.flatten_util.ravel_pytree(reached)[0] - jax.flatten_util.ravel_pytree(aim)[0]))
        if speed > 1e-3 * SLOW or off > 0.1 * STEP:
            return False
    return True
