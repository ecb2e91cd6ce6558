"""Find small homoclinic orbits beside a Bogdanov-Takens point, from the folds and Hopf points there."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from analysis.dynamics.boundary_values.connecting import (
    DISTANCE,
    ConnectingOrbit,
    check_connection,
    connection_units,
    linear_part,
    rests_near,
    solved_from,
)
from analysis.dynamics.codim2.curves import Returning, equations_of, units_at
from analysis.dynamics.codim2.degeneracies import Degeneracy, system_at
from analysis.dynamics.codim2.equilibria import DEFECTIVE, FoldCurve, HopfCurve, critical_of
from analysis.dynamics.continuation.orbit_curve import moved_states
from analysis.dynamics.linearisation import null_vectors, tangent_jacobian
from analysis.dynamics.scaling.flat import flat_state
from analysis.dynamics.scaling.units import Units
from dynsim.errors import ArgumentError
from dynsim.systems.parameter import Parameter

# Frequencies of Hopf points that are tried, relative to the norm of the Jacobian. Those of a neuron with variables of
# very different rates are far below it.
SHARES = tuple(0.1 / 2**k for k in range(11))
# Half of the time of a predicted orbit, in units of two over the rates at its saddle, and its samples.
HALF, SAMPLES = 4.0, 401
# Largest error of the states of the orbit, relative to the size of each component.
RTOL = 1e-7
# Range in which the parameter is solved for, relative to its distance from the fold.
ROOM = 3.0
# Largest error of the predicted parameter, relative to that distance, and largest ratio of the predicted to the found
# size of the orbit, either way.
WRONG, RATIO = 0.5, 2.0


class _Beside(NamedTuple):
    """A fold and a Hopf point beside a Bogdanov-Takens point, as rows of both parameters and the state, in units."""

    fold: Float[np.ndarray, " n"]
    hopf: Float[np.ndarray, " n"]
    frequency: float


def homoclinic_beside(parameters: tuple[Parameter, Parameter], at: Degeneracy) -> tuple[Any, ConnectingOrbit]:
    r"""Find a small homoclinic orbit beside a Bogdanov-Takens point: the flow there, and the orbit.

    In the normal form $\dot w_0 = w_1$, $\dot w_1 = \beta_1 + \beta_2 w_1 + a w_0^2 + b w_0 w_1$ homoclinic orbits lie,
    for equal $\beta_2$ and to first order, at 49/25 of the distance in $\beta_1$ from the fold to the Hopf point. With
    the frequency $\omega$ of the latter, $w_0(t)$ is that of the Hopf point times $4.2 / \cosh^2(\epsilon t) - 1.4$,
    $\epsilon^2 = 0.35\,\omega^2$. So no coefficient of the normal form is needed.

    Raises:
        ValueError: if no homoclinic orbit is found.

    Source: Y. A. Kuznetsov, H. G. E. Meijer, B. Al Hdaibat and W. Govaerts, Improved homoclinic predictor for
    Bogdanov-Takens bifurcation, Int. J. Bifurcation Chaos 24 (2014).
    """
    if at.kind != "Bogdanov-Takens point":
        must = "be a connecting orbit or a Bogdanov-Takens point"
        raise ArgumentError("orbit", must, f"is a {at.kind}")
    check_connection(parameters[0], at.state)
    units = units_at(parameters, at.state, (at.first, at.second))
    state = moved_states(units, at.state, -1)
    hopfs, folds = (equations_of(units, kind, state, Returning()) for kind in ("Hopf point", "fold"))
    if not isinstance(hopfs, HopfCurve) or not isinstance(folds, FoldCurve):
        raise ArgumentError("orbit", "be an orbit, of a system with many unknowns", f"is a {at.kind}")
    for share in SHARES:
        beside = _beside((hopfs, folds), units, at, share)
        found = None if beside is None else _solved(parameters, units, at, beside)
        if found is not None:
            return found
    raise ArgumentError("orbit", "have homoclinic orbits beside it", f"is a {at.kind} at which none is found")


def _beside(curves: tuple[HopfCurve, FoldCurve], units: Units, at: Degeneracy, share: float) -> _Beside | None:
    """Find a Hopf point of a small frequency, and the fold beside it at the same place along both curves."""
    state, (hopfs, folds) = moved_states(units, at.state, -1), curves
    own = [value / unit for value, unit in zip((at.first, at.second), units.parameters, strict=True)]
    hopf = hopfs.beside(state, own[0], own[1], (share,))
    if hopf is None or not float(critical_of(hopf).frequency) > 0:
        return None
    first, second = float(critical_of(hopf).parameter), hopf.parameter
    along = np.array([first, second]) - own
    begin = folds.begin(state, own[0], 0.0)._replace(parameter=np.asarray(first))
    across = np.zeros(folds.basis(begin).shape[1] + 1)
    across[-2:] = along / np.linalg.norm(along)
    fold = folds.corrected(begin, second, across)
    if fold is None:
        return None
    rows = [
        np.array([float(critical_of(one).parameter), one.parameter, *flat_state(critical_of(one).state)])
        for one in (fold, hopf)
    ]
    return _Beside(rows[0], rows[1], float(critical_of(hopf).frequency))


def _solved(
    parameters: tuple[Parameter, Parameter], units: Units, at: Degeneracy, beside: _Beside
) -> tuple[Any, ConnectingOrbit] | None:
    """Solve for the predicted homoclinic orbit, in the parameter that changes more from fold to Hopf point."""
    fold, hopf, frequency = beside
    state, sizes = moved_states(units, at.state, -1), np.asarray(units.parameters)
    corner = system_at((units.varied[0], units.varied[1]), at.first / sizes[0], at.second / sizes[1])
    J = np.asarray(tangent_jacobian(corner, state))
    null, away = null_vectors(J)[0], hopf[2:] - fold[2:]
    turning = np.linalg.lstsq(J, null * (null @ away), rcond=DEFECTIVE)[0]
    move = 49 / 25 * (hopf - fold)[:2]
    k, place = int(np.argmax(np.abs(move))), (fold[:2] + move) * sizes
    solved, far = parameters[k], ROOM * abs(float(move[k] * sizes[k]))
    low, high = place[k] - far, place[k] + far
    own = Parameter(system_at(parameters, *place), solved.take, low, high, name=solved.name)
    given = lambda rows: np.array([flat_state(units.restored(row)) for row in rows])
    shares, slow = np.linspace(-HALF, HALF, SAMPLES), 0.35**0.5 * frequency
    pulse = 1 / np.cosh(shares) ** 2
    bend = -8.4 * pulse * np.tanh(shares)
    rough = given(fold[2:] + np.outer(4.2 * pulse - 1.4, away) + np.outer(slow * bend, turning))
    inner = connection_units(own, rough, 2 * HALF * units.time / slow)
    begin, middle, ahead = inner.rescaled(given(fold[2:] + np.array([-1.4 * away, 2.8 * away, turning - 1.4 * away])))
    try:
        field, (rest, _) = rests_near(inner, [inner.restored(begin)] * 2)
        values = np.linalg.eigvals(linear_part(field)(rest)[1]).real
        if not (np.any(values > 0) and np.any(values < 0)):
            return None
        rates = np.where(shares < 0, np.min(values[values > 0]), -np.max(values[values < 0])) / 2
        rows = rest + np.outer(pulse, middle - begin)
        rows += np.outer(rates * units.time / inner.time * bend, ahead - begin)
        times = shares / rates - shares[0] / rates[0]
        orbit = solved_from(inner, field, (times, rows), (rest, rest), DISTANCE, RTOL, by_time=True)
    except ValueError:
        return None
    size = float(np.max(inner.rescaled(np.ptp(orbit.states, axis=0)) / np.max(np.ptp(rows, axis=0))))
    if abs(orbit.parameter - place[k]) > WRONG * far / ROOM or not 1 / RATIO < size < RATIO:
        return None
    place[k] = orbit.parameter
    return system_at(parameters, *place), orbit._replace(parameter=float(place[0]))
