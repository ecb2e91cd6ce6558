"""Find the kind of limit at which the period of a branch of periodic orbits grows without bound."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from analysis.dynamics.continuation.branches import Branch
from analysis.dynamics.continuation.orbit_curve import Cycle
from dynsim._core.printing import one_line
from dynsim._core.validation import instance
from dynsim.errors import ArgumentError

# Number of orbits towards the end of a branch to which periods are fitted, and the fewest.
ORBITS, FEWEST = 10, 5
# Distance of the parameter from its last value, relative to its range and to its size, below which its errors matter.
RESOLVED, ROUNDED = 1e-4, 1e-8
# Ratio of the residuals of both fits from which one of them counts as better.
CLEARLY = 3.0
# Distances of the limit beyond the last parameter that are tried, relative to the range of the fitted ones.
DISTANCES = np.append(0.0, np.geomspace(1e-10, 1.0, 401))


class PeriodLimit(NamedTuple):
    """How the period of a branch of periodic orbits grows towards its end, by a fit.

    Attributes:
        kind: `homoclinic` if the period grows as - scale log |p - p0|, `saddle-node on a cycle` if it grows as
            scale / sqrt |p - p0|, `undecided` if neither fit is clearly better.
        parameter: the limit p0 of the parameter p, as far beyond the last one as the fit says for the last period.
        scale: at a homoclinic orbit to a saddle 1 / u, where u is the leading eigenvalue of the saddle.
        residuals: root mean square errors of both fits, relative to the range of the fitted periods.
    """

    kind: str
    parameter: float
    scale: float
    residuals: tuple[float, float]

    __repr__ = one_line

    def __str__(self) -> str:
        """Describe the limit in one line."""
        return f"{self.kind} at {self.parameter:.8g}"


def period_limit(branch: Branch, *, end: int = -1) -> PeriodLimit:
    """Fit the growth of the period towards an end of a branch: to a homoclinic orbit, or a saddle-node on a cycle.

    Continue the branch to a long period first, by collocation. The last orbits are fitted whose parameters still change
    by more than their errors.

    Args:
        branch: a branch of periodic orbits.
        end: the end, 0 for the first orbit or -1 for the last one.

    Raises:
        ValueError: for a branch of equilibria, or one whose period does not grow towards this end.

    Example:
        >>> import jax.numpy as jnp
        >>> import dynsim as ds
        >>> from analysis.dynamics import continue_orbits, period_limit, periodic_orbit
        >>> def on_circle(t, s, a=2.0):
        ...     growth, speed = 1 - s @ s, a - s[0]
        ...     return growth * s + speed * jnp.stack([-s[1], s[0]])
        >>> a = ds.Parameter(ds.FunctionFlow(on_circle, parameters={"a": 2.0}), "a", 1.0, 2.0)
        >>> orbit = periodic_orbit(a.system, [1.0, 0.0], 3.6, method="collocation")
        >>> limit = period_limit(continue_orbits(a, orbit, method="collocation"), end=0)
        >>> limit.kind, round(limit.parameter, 3), round(limit.scale, 1)  # the period is 2 pi / sqrt(a^2 - 1)
        ('saddle-node on a cycle', 1.0, 4.4)

    Source: S. H. Strogatz, Nonlinear Dynamics and Chaos (1994), section 8.4.
    """
    states = instance("branch", branch, Branch, "a branch of periodic orbits").states
    if not isinstance(states, Cycle):
        raise ArgumentError("branch", "be one of periodic orbits", "is one of equilibria")
    if end not in (0, -1):
        raise ArgumentError("end", "be 0 or -1", f"is {end}")
    order = slice(None, None, 1 if end else -1)
    return fitted_limit(branch.parameters[order], np.asarray(states.period, float)[order])


def fitted_limit(parameters: np.ndarray, periods: np.ndarray) -> PeriodLimit:
    """Fit the growth of periods towards the last one; see `period_limit`."""
    last = float(parameters[-1])
    apart = np.abs(parameters - last)
    turns = np.flatnonzero(np.diff(np.sign(np.diff(periods))) != 0)
    since = int(turns[-1]) + 1 if len(turns) else 0  # the period grows from there on
    least = max(RESOLVED * float(np.max(apart[since:])), ROUNDED * abs(last))
    near = np.flatnonzero((apart > least) & (np.arange(len(apart)) >= since))[-ORBITS:]
    if len(near) < FEWEST or periods[-1] <= periods[near[0]]:
        raise ArgumentError("branch", "have a period that grows towards its end", "has another one, or too few orbits")
    p, T = parameters[near], periods[near]
    side = float(np.sign(last - p[0]))
    spread = float(np.max(np.abs(p - last)))
    fits = []
    for law, inverse in (
        (lambda d: -np.log(d), lambda x: np.exp(-x)),
        (lambda d: 1 / np.sqrt(d), lambda x: 1 / x**2 if x > 0 else np.inf),
    ):
        tried = [_fit(law, np.abs(p - last) + share * spread, T) for share in DISTANCES]
        best = int(np.argmin([one[0] for one in tried]))
        rest, base, scale = tried[best]
        beyond = inverse((periods[-1] - base) / scale) if scale > 0 else np.inf
        fits.append((rest, scale, last + side * min(beyond, DISTANCES[best] * spread)))
    residuals = (float(fits[0][0]), float(fits[1][0]))
    which = int(np.argmin(residuals))
    clear = residuals[which] * CLEARLY < residuals[1 - which]
    kind = ("homoclinic", "saddle-node on a cycle")[which] if clear else "undecided"
    return PeriodLimit(kind, float(fits[which][2]), float(fits[which][1]), residuals)


def _fit(
    law: Callable[[np.ndarray], np.ndarray], distances: np.ndarray, periods: np.ndarray
) -> tuple[float, float, float]:
    """Fit periods by a + b law(distance); give the relative residual, a and b."""
    columns = np.column_stack([np.ones(len(periods)), law(distances)])
    found = np.linalg.lstsq(columns, periods, rcond=None)[0]
    rest = float(np.sqrt(np.mean((columns @ found - periods) ** 2)))
    return rest / float(np.ptp(periods)), float(found[0]), float(found[1])
