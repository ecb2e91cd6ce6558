"""Compute where a weak periodic forcing locks an oscillator, by averaging its phase response."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from analysis.dynamics.periodic_orbits.shooting import PeriodicOrbit
from analysis.dynamics.phase.response import Oscillator
from dynsim._core.placement import on_host_by_default
from dynsim._core.printing import one_line
from dynsim._core.validation import function, integer
from dynsim.errors import ArgumentError, shown
from dynsim.notebook import picture, plot
from dynsim.systems.base import AbstractFlow

if TYPE_CHECKING:
    from figures.artists import Artists

# Number of places in a period over which products are averaged; of smooth ones, the mean is exact up to rounding.
PLACES = 512


class LockingRange(NamedTuple):
    """Where a weak forcing locks an oscillator: the averaged effect of the forcing, at shifts of its phase.

    With a forcing of strength e and the shift s, the oscillator has the frequency `frequency * (1 + e * values)`.

    Attributes:
        shifts: shifts of the phase of the forcing, shares of its period in [0, 1].
        values: relative change of the frequency, per strength.
        frequency: angular frequency of the oscillator without forcing.
        ratio: numbers of turns of the forcing and of the oscillator that take the same time.
        time_unit: unit of time.
    """

    shifts: Float[np.ndarray, " shifts"]
    values: Float[np.ndarray, " shifts"]
    frequency: float
    ratio: tuple[int, int]
    time_unit: str = ""

    __repr__ = one_line
    _repr_png_ = picture

    def plot(self, ax: Any = None, **options: Any) -> "Artists":
        """Draw the locking region in the plane of the frequency and the strength of the forcing into axes.

        Args:
            ax: axes of matplotlib; without any, a figure is made; see `figures.plot`.
            options: those of `figures.plot`, of the parts `region` and `lines`; `colour`; `strength`, the largest one
                that is drawn, 1 by default.
        """
        return plot(self, ax, **options)

    def tongue(self, strength: float) -> tuple[float, float]:
        """Compute the least and the largest angular frequency of the forcing that locks, at a strength."""
        if not 0 <= strength < np.inf:
            raise ArgumentError("strength", "be a finite number of at least 0", f"is {shown(strength)}")
        turns, forced = self.ratio
        low, high = (self.frequency * turns / forced * (1 + strength * float(end)) for end in self._extremes())
        return low, high

    def _extremes(self) -> tuple[float, float]:
        """Find the extremes of the values between the shifts, by a periodic spline."""
        from scipy.interpolate import CubicSpline

        spline = CubicSpline(self.shifts, np.append(self.values[:-1], self.values[0]), bc_type="periodic")
        turning = spline.derivative().roots(extrapolate=False)
        found = spline(np.append(turning[np.isfinite(turning)], 0.0))
        return float(np.min(found)), float(np.max(found))

    def __str__(self) -> str:
        """Describe the ratio and the range of frequencies in one line."""
        low, high = (f"{float(end):+.6g} e" for end in self._extremes())
        turns, forced = self.ratio
        middle = self.frequency * turns / forced
        return f"{turns}:{forced} locking at frequencies {middle:.6g} (1 {low}) to {middle:.6g} (1 {high})"


@on_host_by_default
def locking_range(
    flow: AbstractFlow,
    orbit: PeriodicOrbit,
    forcing: Callable[[Any], Any],
    *,
    ratio: tuple[int, int] = (1, 1),
) -> LockingRange:
    """Compute the frequencies of a weak periodic forcing that lock an oscillator, by averaging its phase response.

    The forcing, times its strength e, is added to the velocity. To first order in e the oscillator turns with the
    frequency w (1 + e H(s)), where H is the mean of the product of phase response and forcing at the shift s of their
    phases. Frequencies of the forcing within this range, the Arnold tongue, lock. For a strong forcing, continue the
    folds of the forced orbits in both parameters, by `continue_orbits` and `critical_curve`.

    >>> import jax.numpy as jnp
    >>> import numpy as np
    >>> import dynsim as ds
    >>> from analysis.dynamics import locking_range, periodic_orbit
    >>> def clock(t, x):
    ...     return (1 - x @ x) * x + jnp.stack([-x[1], x[0]])
    >>> flow = ds.FunctionFlow(clock)
    >>> orbit = periodic_orbit(flow, [1.0, 0.0], 2 * np.pi)
    >>> found = locking_range(flow, orbit, lambda s: jnp.array([jnp.cos(2 * jnp.pi * s), 0.0]))
    >>> np.round(found.tongue(0.1), 6).tolist()  # Adler: 1 +- e / 2
    [0.95, 1.05]

    Args:
        flow: the system without forcing.
        orbit: what `periodic_orbit` found for it.
        forcing: the vector that is added to the velocity, with the components of the state in a row, as a function of
            the phase of the forcing, a share of its period.
        ratio: numbers of turns of the forcing and of the oscillator that take the same time.

    Raises:
        ValueError: for bad input, or a flow that depends on time.

    Source: A. Pikovsky, M. Rosenblum and J. Kurths, Synchronization (2001), chapter 7.
    """
    one = Oscillator(flow, orbit)
    function("forcing", forcing, "the phase of the forcing")
    if len(ratio) != 2:
        raise ArgumentError("ratio", "hold two numbers of turns", f"holds {len(ratio)}")
    forced, turns = (integer("ratio", part, least=1) for part in ratio)
    shares = np.arange(PLACES * turns) / PLACES
    response = one.response(shares)
    shifts = np.linspace(0.0, 1.0, PLACES + 1)
    phases = jnp.asarray(shares * forced / turns)
    at = lambda shift: jax.vmap(lambda s: jnp.asarray(forcing(s), float).ravel())(phases + shift)
    first = np.asarray(at(0.0))
    if first.shape != response.shape:
        raise ArgumentError("forcing", f"return {one.field.size} numbers", f"returns {first.shape[1]}")
    every = np.asarray(jax.lax.map(at, jnp.asarray(shifts)))
    values = np.einsum("sai,ai->s", every, response) / len(shares)
    return LockingRange(
        shifts, values, 2 * np.pi / one.period, (forced, turns), str(getattr(flow, "time_unit", ""))
    )  # fmt: skip
