"""`dynsim symbolic`: exact results for a flow or a map, as formulas of its parameters."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from dynsim.cli.parsing.options import Force, say
from dynsim.cli.parsing.system import SystemOptions, parse_system
from dynsim.errors import ArgumentError
from dynsim.io.outputs import check_output


@dataclass(frozen=True)
class Symbolic(SystemOptions):
    """Derive exact results: dynsim symbolic "x' = a - x + x^2*y; y' = b - x^2*y" --a 0.1 --b 0.6 --curve a b.

    It prints the equations, all equilibria with numbers and as formulas of the parameters, the nullclines and the first
    Lyapunov coefficient of a planar flow, polynomials that are conserved, and the Routh-Hurwitz conditions. What a
    system does not have, or what exceeds a limit, is said in a sentence. Without values of all parameters of equations,
    equilibria are given as formulas alone.

    SYSTEM is a text of equations, a file with one, a name that `dynsim list systems` shows, or `file.py:name` of yours.
    """

    curve: tuple[str, ...] = ()
    """names of two parameters, in which to derive the Hopf and the fold curves of equilibria"""
    degree: int = 4
    """largest degree of conserved polynomials"""
    to: Literal["text", "latex"] = "text"
    """text, or latex for displays"""
    out: Path | None = None
    """the file to write; printed if it is not given"""
    force: Force = False


def main(words: Sequence[str]) -> int:
    """Print the results in the chosen format, or write them to a file."""
    o = parse_system(Symbolic, words, "symbolic")
    if len(o.curve) not in (0, 2):
        raise ArgumentError("curve", "name two parameters", f"names {len(o.curve)}")
    if o.out is not None:
        check_output("out", o.out, force=o.force)
    from dynsim.cli.building.systems import found

    free = _without_values(o)
    made = found(dataclasses.replace(o, parameters=(*o.parameters, *(f"{name}=1" for name in free))), "symbolic")
    text = "\n\n".join(_sections(o, made.system, made.start, numbers=not free))
    if o.out is None:
        say(text)
        return 0
    from dynsim.io.whole_files import whole_file

    with whole_file(o.out) as part:
        part.write_text(f"{text}\n", encoding="utf-8")
    say(f"file {o.out}")
    return 0


def _without_values(o: Symbolic) -> list[str]:
    """The parameters of equations that have no value, for which any number will do."""
    from dynsim.cli.building.equations import has_value, is_equations, names
    from dynsim.cli.building.systems import by_name

    if not is_equations(o.system):
        return []
    given = by_name(o.parameters)
    return [name for name in names(o.system) if name not in given and not has_value(o.system, name)]


def _sections(o: Symbolic, system: Any, start: Any, *, numbers: bool) -> Iterator[str]:
    """The text of each result, or the sentence why there is none."""
    from analysis.dynamics.symbolic import curves, equilibria, fields, invariants, lyapunov_coefficient, nullclines
    from analysis.dynamics.symbolic.stability import routh_hurwitz_conditions

    state = None if getattr(system, "names", ()) else start
    field = fields.symbolic_field(system, state=state)
    planar = len(field.names) == 2 and not field.is_map
    yield _shown(o, "equations", lambda: field)
    points = "fixed points" if field.is_map else "equilibria"
    if numbers:
        yield _shown(o, points, lambda: equilibria.exact_equilibria(system, state=state))
    yield _shown(o, f"{points} in the parameters", lambda: equilibria.formulas(field))
    places = _places(field)
    for place in places:
        yield _shown(o, "stability", lambda place=place: routh_hurwitz_conditions(system, place, state=state))
    if planar:
        yield _shown(o, "nullclines", lambda: nullclines.Nullclines(nullclines.nullclines(field)))
    yield _shown(o, "conserved polynomials", lambda: invariants.conserved_polynomials(system, o.degree, state=state))
    for place in places if planar else ():
        yield _shown(o, "Hopf points", lambda place=place: lyapunov_coefficient.coefficient(field, place))
    if o.curve:
        yield _shown(o, "folds", lambda: curves.fold_formulas(system, o.curve, state=state))
    if o.curve and len(field.names) > 1:
        yield _shown(o, "Hopf points", lambda: curves.hopf_formulas(system, o.curve, state=state))


def _places(field: Any) -> list[Any]:
    """Formulas of equilibria without further equations, or None for the components themselves."""
    from analysis.dynamics.symbolic.equilibria import formulas

    try:
        found = formulas(field).found
    except ArgumentError:
        return [None]
    return [one.state for one in found if one.polynomial is None] or [None]


def _shown(o: Symbolic, name: str, derive: Callable[[], Any]) -> str:
    """The text of a result, or the sentence why there is none."""
    try:
        result = derive()
    except ArgumentError as error:
        if "parameters" in error.names:
            raise
        return f"{name}: {error}"
    return f"% {name}\n{result.latex or '% none'}" if o.to == "latex" else str(result)
