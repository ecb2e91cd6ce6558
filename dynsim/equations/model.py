"""The system of equations that a text stands for: components, operations of the right-hand side, and noise."""

import graphlib
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from dynsim.equations.characters import PlainText, source
from dynsim.equations.expressions import Span
from dynsim.equations.graph import Graph
from dynsim.equations.lines import EquationLine, lines
from dynsim.equations.resolving import Elements, Scope, noise_split
from dynsim.errors import ArgumentError

ROOM = 256  # most texts whose operations are remembered


class Model(NamedTuple):
    """A text as operations.

    Attributes:
        is_map: whether the equations give the next state, and not a derivative.
        names: names of the components.
        graph: all operations.
        outputs: for each part of the right-hand side its number in the graph, and its number of components.
        noise: for each part the number of the amplitude of each noise, by name.
        quantities: numbers of auxiliary quantities, by name.
        spelled: the components as the text names them, such as `x[3]` for x_3.
    """

    is_map: bool
    names: tuple[str, ...]
    graph: Graph
    outputs: tuple[tuple[int, int], ...]
    noise: tuple[dict[str, int], ...]
    quantities: dict[str, int]
    spelled: tuple[str, ...]


_known: OrderedDict[tuple[str, tuple[str, ...]], Model] = OrderedDict()


def model(text: str, parameters: tuple[str, ...]) -> Model:
    """The operations of a text whose parameters have these names; equal texts are read once."""
    key = (text, parameters)
    if key not in _known:
        text_read = source(text)
        remember(key, built(text_read, lines(text_read)[0], parameters))
    return _known[key]


def remember(key: tuple[str, tuple[str, ...]], made: Model) -> None:
    """Keep the operations of a text; the oldest are forgotten first."""
    _known[key] = made
    while len(_known) > ROOM:
        _known.popitem(last=False)


def built(text: PlainText, parts: Sequence[EquationLine], parameters: Sequence[str]) -> Model:
    """Look up all names, and list the operations of the right-hand side.

    Raises:
        ArgumentError: for a name without a meaning, a name with two, definitions in a circle, and equations of two
            kinds; it says where in the text.
    """
    equations = [line for line in parts if line.kind in ("derivative", "next")]
    _check_kinds(text, parts, equations)
    is_map = equations[0].kind == "next"
    scope = Scope(text, parameters, equations[0].step if is_map else "t", not is_map)
    names, spelled = _components(text, scope, equations)
    definitions = [line for line in parts if line.kind in ("definition", "function")]
    _check_once(text, scope, [*equations, *definitions])
    for line in ordered(text, [line for line in definitions if line.name not in parameters]):
        _define(scope, line)
    outputs, noise = [], []
    for line in equations:
        size = line.index.high - line.index.low + 1 if isinstance(line.index, Span) else 1
        for k in range(1, line.order):
            family = scope.families.get(line.name + "'" * k)
            outputs.append((_states(scope, line, k) if family else scope.scalars[line.name + "'" * k], size))
            noise.append({})
        value = scope.resolved(line.body, line.index if isinstance(line.index, Span) else None)
        drift, amplitudes = noise_split(text, scope.graph, _as_number(scope.graph, value), line.at)
        outputs.append((drift, size))
        noise.append(amplitudes)
    quantities = {
        line.name: scope.scalars[line.name]
        for line in definitions
        if line.kind == "definition" and line.index is None and line.name not in parameters
    }
    return Model(is_map, names, scope.graph, tuple(outputs), tuple(noise), quantities, spelled)


def _as_number(graph: Graph, k: int) -> int:
    return graph.add("truth", None, [k]) if graph.is_truth(k) else k


def _states(scope: Scope, line: EquationLine, order: int) -> int:
    """The components of a family's derivative of some order."""
    span: Span = line.index  # pyright: ignore[reportAssignmentType]
    first = scope.families[line.name + "'" * order].places[span.low][1]
    return scope.graph.add("slice", (first, first + span.high - span.low + 1))


def _check_kinds(text: PlainText, parts: Sequence[EquationLine], equations: Sequence[EquationLine]) -> None:
    if not equations:
        at = parts[0].at if parts else 0
        raise text.error(at, "have an equation such as `x' = ...` or `x[n+1] = ...`", "has none")
    kinds = {line.kind for line in equations}
    if len(kinds) > 1:
        other = next(line for line in equations if line.kind != equations[0].kind)
        raise text.error(other.at, "be a flow or a map, and not both", "has an equation of the other kind")


def _components(text: PlainText, scope: Scope, equations: Sequence[EquationLine]) -> tuple[tuple[str, ...], ...]:
    """Number the components in the order of their equations, and give their names a meaning."""
    names, spelled = list[str](), list[str]()
    for line in equations:
        for k in range(max(1, line.order)):
            name = line.name + "'" * k
            if line.index is None:
                if name in scope.scalars:
                    raise text.error(line.at, "have one equation for each variable", f"has a second one for `{name}`")
                scope.scalars[name] = scope.graph.add("state", len(names))
                names.append(name)
                spelled.append(name)
                continue
            span = line.index if isinstance(line.index, Span) else Span("", line.index, line.index)
            family = scope.family(name)
            for place in range(span.low, span.high + 1):
                if place in family.places:
                    must = "have one equation for each variable"
                    raise text.error(line.at, must, f"has a second one for `{name}[{place}]`")
                family.places[place] = None, len(names)
                names.append(f"{name}_{place}")
                spelled.append(f"{name}[{place}]")
    both = scope.scalars.keys() & scope.families.keys()
    if both:
        line = next(line for line in equations if line.name in both)
        raise text.error(line.at, f"use `{line.name}` with an index always or never", "does both")
    if len(set(names)) < len(names):
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        raise ArgumentError("text", "name components differently", f"`{twice}` is an entry of a family, too")
    return tuple(names), tuple(spelled)


def _check_once(text: PlainText, scope: Scope, parts: Sequence[EquationLine]) -> None:
    """Raise `ArgumentError` for a name that is defined twice."""
    seen: dict[str, EquationLine] = {}
    for line in parts:
        if line.kind in ("derivative", "next"):
            seen[line.key] = line
            continue
        state = line.index is None and (line.name in scope.scalars or line.name in scope.families)
        inside = isinstance(line.index, int) and line.name in scope.families
        inside = inside and line.index in scope.families[line.name].places
        if line.key in seen or state or inside:
            raise text.error(line.at, "define each name once", f"defines `{line.key}` again")
        seen[line.key] = line


def ordered(text: PlainText, definitions: Sequence[EquationLine]) -> list[EquationLine]:
    """Definitions after those that they use.

    Entries of one family are in the order of the text, ranges first, because one may be a copy of another.
    """
    groups: dict[str, list[EquationLine]] = {}
    for line in definitions:
        groups.setdefault(line.name, []).append(line)
    uses = {
        name: {
            str(one.value)
            for line in many
            for one in line.body
            if one.kind in ("name", "element", "call")
            and one.value in groups
            and one.value not in line.arguments
            and (one.value != name or line.index is None)
        }
        for name, many in groups.items()
    }
    try:
        order = list(graphlib.TopologicalSorter(uses).static_order())
    except graphlib.CycleError as error:
        circle = [str(name) for name in error.args[1]][::-1]
        line = groups[circle[0]][0]
        shown = ", ".join(f"`{name}`" for name in circle[:6])
        raise text.error(
            line.at, "have definitions that do not depend on themselves", f"has a circle of {shown}"
        ) from None
    return [line for name in order for line in sorted(groups[name], key=lambda one: isinstance(one.index, int))]


def _define(scope: Scope, line: EquationLine) -> None:
    if line.kind == "function":
        scope.functions[line.name] = scope.template(line.arguments, line.body)
        return
    span = line.index if isinstance(line.index, Span) else None
    value = _as_number(scope.graph, scope.resolved(line.body, span))
    if line.index is None:
        scope.scalars[line.name] = value
    elif span is None:
        scope.family(line.name).single[int(line.index)] = value  # pyright: ignore[reportArgumentType]
    else:
        size = span.high - span.low + 1
        vector = scope.graph.add("spread", size, [value])
        family: Elements = scope.family(line.name)
        family.places.update({place: (vector, place - span.low) for place in range(span.low, span.high + 1)})
