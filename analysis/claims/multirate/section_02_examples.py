"""Claims of Section 2.1 on the fast-slow systems that ship: critical manifolds and reduced flows in closed form."""

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from analysis.fast_slow.folds import fast_eigenvalues
from analysis.fast_slow.reductions import first_order_correction
from analysis.ledger.claim import claim
from analysis.ledger.evidence import ROUNDING, Measurement, Trial, at_most
from dynsim._core.types import Key
from dynsim.papers import MULTIRATE
from dynsim.systems.fast_slow import examples
from dynsim.systems.fast_slow.flow import FastSlow, FastSlowFlow, rates
from dynsim.systems.fast_slow.reduced import ReducedFlow


class Point(NamedTuple):
    """A point (x, y) of a critical manifold, with D phi, g and the eigenvalues of D_x f there, all in closed form."""

    fast: float | tuple[float, ...]
    slow: float
    slope: float | tuple[float, ...]
    velocity: float
    eigenvalues: tuple[float, ...]


def _linear(s: float) -> Point:
    return Point(s, s, 1.0, -s, (-1.0,))


def _van_der_pol(s: float) -> Point:
    x = 1.1 + s
    return Point(x, x**3 / 3 - x, 1 / (x * x - 1), -x, (1 - x * x,))


def _van_der_pol_inside(s: float) -> Point:
    """Return a point of the branch between the folds."""
    return _van_der_pol(0.8 * s - 1.0)


def _michaelis_menten(s: float) -> Point:
    y = 0.2 + 2 * s
    root = math.sqrt(y * y + 4)
    x = (y + 2 - root) / 2
    return Point(x, y, (1 - y / root) / 2, -x, (-root,))


def _switching(s: float) -> Point:
    y = 2 * s - 1
    up, down = 1 + math.exp(y), 1 + math.exp(-y)
    total = up + down + 1  # p_3 = 1/3, and p_1 + p_2 = 2/3 relaxes at this rate to p_1 = (2 down + 1) / (3 total)
    p, bend = (2 * down + 1) / (3 * total), up - down
    slope = (-2 * (down - 1) * total - (2 * down + 1) * bend) / (3 * total**2)
    return Point(
        (p, 2 / 3 - p, 1 / 3), y, (slope, -slope, 0.0), 2 * p - 2 / 3 - y / 2, (-min(3.0, total), -max(3.0, total))
    )


def _transcritical(s: float) -> Point:
    return Point(0.0, -0.1 - s, 0.0, 1.0, (-0.1 - s,))


ATTRACTING: dict[str, Callable[[float], Point]] = {
    "linear": _linear,
    "van-der-pol": _van_der_pol,
    "michaelis-menten": _michaelis_menten,
    "switching": _switching,
    "transcritical": _transcritical,
}


def _errors(name: str, flow: FastSlowFlow, known: Point) -> tuple[Measurement, ...]:
    """Measure f, the reduced flow, the eigenvalues of D_x f and the first-order term of the slow manifold."""
    at = FastSlow(jnp.asarray(known.fast), jnp.asarray(known.slow))
    moved = ReducedFlow(flow).vector_field(0.0, at)
    values = fast_eigenvalues(flow, np.asarray(known.fast), np.asarray(known.slow))
    drift = np.asarray(known.slope) * known.velocity
    pairs = {
        "f on the critical manifold": (rates(flow, at).fast, 0.0 * at.fast),
        "slow velocity of the reduced flow": (moved.slow, known.velocity),
        "fast velocity of the reduced flow": (moved.fast, drift),
        "eigenvalues of D_x f": (np.real(values), known.eigenvalues),
    }
    if np.ndim(known.fast) == 0:
        pairs["first-order term"] = (first_order_correction(flow, at), drift / known.eigenvalues[0])
    worst = lambda found, exact: np.max(np.abs(np.asarray(found) - np.asarray(exact)))
    return tuple(
        at_most(f"{name}: error of the {what}", worst(*both), 0.0, tolerance=100 * ROUNDING)
        for what, both in pairs.items()
    )


def _examples_trial(key: Key, points: dict[str, Callable[[float], Point]]) -> Trial:
    """Measure each of the examples at a random point of its branch."""
    shares = dict(zip(points, np.asarray(jax.random.uniform(key, (len(points),))).tolist(), strict=True))
    known = {name: point(shares[name]) for name, point in points.items()}
    given = {name: examples.EXAMPLES[name].flow(1.0) for name in points}
    found = [m for name in points for m in _errors(name, given[name], known[name])]
    s = shares["linear"]
    return Trial(
        hypotheses=(),
        conclusions=(
            *found,
            *_errors("saddle", examples.saddle_flow(1.0), Point((s, s), s, (1.0, 1.0), -s, (1.0, -1.0))),
            *(
                at_most(f"{name}: largest eigenvalue of D_x f", point.eigenvalues[0], 0.0, tolerance=ROUNDING)
                for name, point in known.items()
            ),
        ),
        witness={"points": {name: tuple(point) for name, point in known.items()}},
        parameters={"examples": ", ".join(points)},
    )


reduced_flows_of_the_examples = claim(
    "multirate/claim-qss-reduction/examples",
    MULTIRATE.at("Section 2.1"),
    statement="On the attracting branches of the shipped examples x = phi(y) is the quasi-steady state, which "
    "attracts, and the reduced flow is y' = g(phi(y), y) with x' = D phi(y) g.",
    trial=partial(_examples_trial, points=ATTRACTING),
    # Between the folds of van der Pol's oscillator, where the branch repels.
    control=lambda key: _examples_trial(key, {**ATTRACTING, "van-der-pol": _van_der_pol_inside}),
    variant="special case",
    num_trials=8,
    note="added: the five systems that ship, on their attracting branches. Their reduced flows, and that of the "
    "saddle, are compared with closed forms; their errors are of order epsilon by the claim on the oscillator",
)
