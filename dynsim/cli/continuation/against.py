"""Branches for many values of a second parameter, for `dynsim continue --against NAME=LOW:HIGH:COUNT`."""

from typing import TYPE_CHECKING, Any

from dynsim.cli.continuation.options import Continue, steps_of
from dynsim.cli.parsing.options import refuse_unused, say
from dynsim.cli.parsing.outputs import write_out
from dynsim.cli.parsing.ranges import named_values, parameter_values
from dynsim.errors import ArgumentError, counted

if TYPE_CHECKING:
    import numpy as np

    from analysis.dynamics.continuation.branches import Branch
    from analysis.dynamics.continuation.ensembles import BranchEnsemble
    from dynsim.systems.named import Components
    from dynsim.systems.parameter import Parameter

VALUES = 11  # default number of values, as in `dynsim sweep` and `dynsim basins --against`
ROUNDED = 1e-9  # values of a parameter below this share of its range are rounding errors of zero
UNUSED = (
    "y", "levels", "cycles", "tori", "max_tori", "torus_figure", "cycle", "from_", "point", "method", "segments",
    "max_period", "rtol", "atol", "second", "switch_curves", "counts", "max_orbit_points", "mark", "stop", "resume",
    "movie",
)  # fmt: skip


def check_against(o: Continue) -> None:
    """Raise `ValueError` for options that have no effect on many branches of equilibria."""
    if not o.against:
        return
    refuse_unused(o, UNUSED, "with `--against`, which continues equilibria or fixed points alone")
    if named_values(o.against, VALUES, "against")[0] == o.varied.name:
        raise ArgumentError("against", "name a parameter other than `--parameter`", f"also names `{o.varied.name}`")


def branches_against(o: Continue, parameter: "Parameter", starts: list[Any], parts: "Components", which: int) -> int:
    """Continue the branches through some equilibria for each value of the other parameter, print and draw them."""
    import jax
    import numpy as np

    from analysis.dynamics.continuation.ensembles import continue_ensemble
    from analysis.dynamics.diagrams import bifurcation_diagram

    name, values = parameter_values(o.against, VALUES, parameter.system, "against")
    distinct = bifurcation_diagram(parameter, starts, levels=0, steps=steps_of(o)).branches
    begun = [
        jax.tree.map(lambda part: part[np.argmin(np.abs(one.parameters - parameter.value))], one.states)  # noqa: B023
        for one in distinct
    ]
    found = [_along(parameter, name, values, start) for start in begun]
    missing = sum(len(values) - len(at) for at, _ in found)
    if missing:
        lost = f"{counted(missing, 'value')} of {name} where an equilibrium is not found again"
        say(f"{lost}: its curve in {name} does not reach them")
    over = np.concatenate([at for at, _ in found])
    states: Any = jax.tree.map(lambda *rows: np.concatenate(rows), *(rows for _, rows in found))
    ensemble = continue_ensemble(parameter, states, {name: over}, steps=steps_of(o))
    say(str(ensemble))
    _tell(name, ensemble)
    write_out(o.out, ensemble)
    if o.figure is not None:
        named = ensemble._replace(names=parts.names, units=parts.units)
        window = (o.window[0], o.window[1]) if o.window else None
        named.plot(component=which, window=window).save(o.figure, f"branches in {parameter.name} against {name}")
        say(f"figure {o.figure}")
    return 0


def _along(parameter: "Parameter", name: str, values: list[float], start: Any) -> "tuple[np.ndarray, Any]":
    """Follow an equilibrium in the other parameter; give the values that its curve reaches, with states near them.

    The curve is cut at its first folds on both sides, so that all states are those of one sheet.
    """
    import jax
    import numpy as np

    from analysis.dynamics.continuation.equilibria import continue_equilibria
    from dynsim.systems.parameter import Parameter

    other = Parameter(parameter.system, name, min(values), max(values))
    own = other.value
    low, high = min(*values, own), max(*values, own)
    curve = continue_equilibria(Parameter(parameter.system, name, low, high), start)
    rows = _sheet(curve, own)
    at = np.array(values)
    at = at[(at >= curve.parameters[rows[0]]) & (at <= curve.parameters[rows[-1]])]
    after = np.clip(np.searchsorted(curve.parameters[rows], at), 1, max(len(rows) - 1, 1))
    before, after = rows[after - 1], rows[np.minimum(after, len(rows) - 1)]
    width = curve.parameters[after] - curve.parameters[before]
    share = np.where(width > 0, (at - curve.parameters[before]) / np.where(width > 0, width, 1.0), 0.0)

    def between(part: Any) -> Any:
        weights = share.reshape(-1, *[1] * (np.ndim(part) - 1))
        return (1 - weights) * part[before] + weights * part[after]

    return at, jax.tree.map(between, curve.states)


def _sheet(curve: "Branch", own: float) -> "np.ndarray":
    """List the points of a curve between the folds beside the point at a value, by rising parameter."""
    import numpy as np

    at = int(np.argmin(np.abs(curve.parameters - own)))
    steps = np.diff(curve.parameters)
    sense = 1.0 if np.sum(steps[max(at - 1, 0) : at + 1]) > 0 else -1.0
    turned = np.flatnonzero(sense * steps <= 0)
    first = int(np.max(turned[turned < at] + 1, initial=0))
    last = int(np.min(turned[turned >= at], initial=len(steps)))
    rows = np.arange(first, last + 1)
    return rows if sense > 0 else rows[::-1]


def _tell(name: str, found: "BranchEnsemble") -> None:
    """Print for each kind of bifurcation on how many branches it lies, and the ranges of both parameters there."""
    import numpy as np

    pairs = [(b, value) for one, value in zip(found.branches, found.over[name], strict=True) for b in one.bifurcations]
    for title in dict.fromkeys(b.title for b, _ in pairs):
        of_kind = [(float(b.parameter), float(value)) for b, value in pairs if b.title == title]
        at, over = np.array(of_kind).T
        width = float(np.ptp(np.concatenate([one.parameters for one in found.branches])))
        places = f"{_range(found.name, at, width)}, {_range(name, over, float(np.ptp(found.over[name])))}"
        say(f"  {counted(len(of_kind), title)}: {places}")


def _range(name: str, values: "np.ndarray", width: float) -> str:
    """Describe the least and the largest of some values of a parameter, rounded relative to the width of its range."""
    least, most = (f"{0.0 if abs(end) < ROUNDED * width else end:.6g}" for end in (values.min(), values.max()))
    return f"{name} = {least}" if least == most else f"{name} from {least} to {most}"
