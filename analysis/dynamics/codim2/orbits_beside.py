"""Find bifurcations of small periodic orbits beside a codimension-two point, from Hopf points near it."""

from typing import Any

import jax
import numpy as np

from analysis.dynamics.codim2.degeneracies import Degeneracy, bifurcation_at, system_at
from analysis.dynamics.continuation.bifurcations import Bifurcation
from analysis.dynamics.continuation.orbits import orbits_from_hopf
from analysis.dynamics.continuation.steps import Steps
from dynsim.errors import ArgumentError
from dynsim.systems.parameter import Parameter

# Distances from the codimension-two point along the curve of Hopf points, relative to the ranges of both parameters,
# at which the orbits of a Hopf point are followed, and for how many points.
DISTANCES, FOLLOWED = (0.03, 0.1, 0.01), 60


def bifurcation_beside(
    parameters: tuple[Parameter, Parameter], at: Degeneracy, hopf: Any, kind: str
) -> tuple[tuple[Parameter, Parameter], Bifurcation]:
    """Find a bifurcation of a kind on the orbits from a Hopf point beside a codimension-two point.

    The orbits are followed in the parameter that crosses the curve of Hopf points; it is the first one of the two that
    are returned.

    Args:
        parameters: both parameters.
        at: the point.
        hopf: the `CriticalCurve` of Hopf points through it.
        kind: of the bifurcation: `fold` or `Neimark-Sacker point`.

    Raises:
        ValueError: if no orbits beside the point have such a bifurcation.
    """
    first, second = parameters
    widths = np.array([one.high - one.low for one in parameters])
    places = np.column_stack([hopf.first - at.first, hopf.second - at.second]) / widths
    far = np.linalg.norm(places, axis=1)
    middle = int(np.argmin(far))
    for distance in DISTANCES:
        for side in (range(middle, len(far)), range(middle, -1, -1)):
            k = next((k for k in side if far[k] >= distance and hopf.frequencies[k] > 0), None)
            if k is None:
                continue
            flow = system_at(parameters, hopf.first[k], hopf.second[k])
            state, next_one = jax.tree.map(lambda a, k=k: a[k], hopf.states), k + 1 if k + 1 < len(far) else k - 1
            crosses = int(np.argmin(np.abs(places[next_one] - places[k])))
            own, other = (one.of(flow) for one in (parameters if crosses == 0 else (second, first)))
            point = bifurcation_at(flow, "Hopf point", state, own.value, float(hopf.frequencies[k]))
            try:
                found = orbits_from_hopf(own, point, steps=Steps(points=FOLLOWED)).bifurcations
            except ArgumentError:  # beyond the range of the first parameter
                continue
            for one in found:
                if one.kind == kind:
                    return (own, other), one
    raise ArgumentError(
        "at", f"have a {kind} of periodic orbits beside it", f"is a {at.kind} beside which none is found"
    )
