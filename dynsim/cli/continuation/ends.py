"""Explain why the branches of `dynsim continue` end."""

from typing import TYPE_CHECKING, Any

import numpy as np

from dynsim._core.printing import ROUNDING, printed
from dynsim.cli.parsing.options import say
from dynsim.errors import ArgumentError

if TYPE_CHECKING:
    from analysis.dynamics.continuation.branches import Branch
    from analysis.dynamics.diagrams import Diagram

ENDS = {
    "steps": (
        "at the largest number of points (`--max-points`, or `--max-orbit-points` for periodic orbits, sets it, and "
        "`--resume` goes on from there)"
    ),
    "corner": "at a point where the vector field is not smooth",
    "lost": "where no step converges, however small (other units of state and parameter may help)",
    "period": "at the longest period (`--max-period` sets it)",
    "accuracy": "where a solve with ten times tighter tolerance does not reproduce the orbits (try more `--segments`, "
    "or a smaller `--atol` for components that come close to zero)",
}
"""Explanations of the values of `Branch.ends`."""
ON_MESH = (
    "where no mesh of up to 400 intervals resolves the orbits and their multipliers, as inside a canard explosion in a "
    "range of the parameter below rounding errors (in Python, orbits beyond it are continued from one of them, by "
    '`continue_orbits` from a `periodic_orbit` with `method="collocation"`)'
)
"""Explanation of the end `accuracy` of orbits by collocation."""


def say_ends(parameter: str, diagram: "Diagram") -> None:
    """Print why branches end away from bounds and bifurcations, and which branches are vertical."""
    branches = (*diagram.branches, *diagram.orbits)
    for end, where in ENDS.items():
        ended = [one for one in branches if end in one.ends]
        words = [ON_MESH if end == "accuracy" and _on_mesh(one) else where for one in ended]
        for why in dict.fromkeys(words):
            say(f"a branch ends {why}")
    for end in dict.fromkeys(end for one in branches for end in one.ends if end.startswith("undefined")):
        say(
            f"a branch ends where the field or its derivative is {end}: x / (1 - exp(-x)), which is 0 / 0 at x = 0, is "
            "written as `small = abs(x) < 1e-2; y = where(small, 1.0, x); where(small, 1 + x / 2 + x**2 / 12, y / (1 - "
            "exp(-y)))`"
        )
    for one in diagram.orbits:
        for side, last in ((0, 0), (1, -1)):
            if one.ends[side] == "homoclinic":
                say(_homoclinic(parameter, one, last))
            elif one.ends[side] == "period" and (limit := _limit(one, last)) is not None:
                say(
                    f"the longest periods of a branch grow as towards a {limit.kind}, at about "
                    f"{parameter} = {limit.parameter:.6g}"
                )
    families = {}  # two branches that leave one point are one family
    for one in branches:
        if one.vertical:
            error = float(np.ptp(one.parameters))
            value = printed(float(np.median(one.parameters)), max(1.0, error / ROUNDING))
            part = ", of which the diagram shows a part" if "family" in one.ends else ""
            families[value] = (
                f"a branch is vertical: it is a family of solutions at the single value {parameter} = {value}{part}"
            )
    for words in families.values():
        say(words)


def _limit(orbits: "Branch", last: int) -> Any:
    """The limit towards which the periods grow, or None where no law fits clearly."""
    from analysis.dynamics.continuation.period_limits import period_limit

    try:
        found = period_limit(orbits, end=last)
    except ArgumentError:
        return None
    kind = "homoclinic or heteroclinic orbit" if found.kind == "homoclinic" else found.kind
    return None if found.kind == "undecided" else found._replace(kind=kind)


def _on_mesh(orbits: "Branch") -> bool:
    """Test whether the orbits of a branch were computed by collocation, at least at its end."""
    return getattr(orbits.states, "times", None) is not None


def _homoclinic(parameter: str, orbits: "Branch", last: int) -> str:
    states: Any = orbits.states
    period = float(states.period[last])
    at = f"{parameter} = {float(orbits.parameters[last]):.8g}"
    return (
        f"a branch of periodic orbits ends near a homoclinic orbit at about {at}: the last orbit passes close to an "
        f"equilibrium with period {period:.4g}, and longer orbits are not reproduced with a ten times tighter tolerance"
    )
