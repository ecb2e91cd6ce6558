"""Make a flow or a map from equations as text."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dynsim._core.validation import choice, instance, reals
from dynsim.equations.characters import PlainText, source
from dynsim.equations.evaluation import values
from dynsim.equations.expressions import Span
from dynsim.equations.files import text_of
from dynsim.equations.flows import EquationFlow, EquationMap, EquationText, NoisyEquationFlow
from dynsim.equations.functions import CONSTANTS
from dynsim.equations.lines import (
    EquationLine,
    bounds,
    defaults,
    is_constant,
    lines,
    range_in,
    remarks,
    time_range,
    unit_in,
)
from dynsim.equations.model import Model, built, remember
from dynsim.equations.resolving import Scope
from dynsim.errors import ArgumentError, counted, nearest
from dynsim.systems.noisy import CALCULI

LONGEST = 1_000_000
"""Most characters of a text."""


def system(
    text: str | Path,
    parameters: Mapping[str, Any] | None = None,
    *,
    calculus: str = "ito",
    **values: Any,
) -> EquationFlow | EquationMap | NoisyEquationFlow:
    r"""Make a flow or a map from equations as text, in the notation of textbooks.

    ```python
    >>> import numpy as np
    >>> import dynsim as ds
    >>> flow = ds.system("x' = y; y' = mu*(1 - x^2)*y - x", mu=1.0)
    >>> print(flow)
    x' = y
    y' = mu*(1 - x^2)*y - x
    mu = 1
    >>> flow.vector_field(0.0, np.array([2.0, 1.0])).tolist()
    [1.0, -5.0]
    >>> henon = ds.system("x[n+1] = 1 - a*x^2 + y, y[n+1] = b*x, a = 1.4, b = 0.3")
    >>> henon.names
    ('x', 'y')
    ```

    Statements are separated by semicolons, commas or line ends; `#` begins a comment.

    - Equations: `x' = ...`, `dx/dt = ...` and `x'' = ...`, whose components are x and x'; `x[n+1] = ...` or
      `x(n+1) = ...` for a map. The time is `t`, the step of a map is `n`.
    - Definitions: a number is a parameter (`mu = 1.0`), anything else a quantity (`a = x + y`); `f(u) = u/(1 + u)` is a
      function, and `x(0) = 2` a start. Starts that are not given are 0 if another one is.
    - Families: `x[i=1..20]' = x[i-1] - 2*x[i] + x[i+1]`, with a line for each neighbour outside, such as `x[0] = x[20]`
      and `x[21] = x[1]`; `sum(j=1..20, sin(x[j] - x[i]))`.
    - Noise: `+ sigma*dW1`, linear, by independent Brownian motions dW1, dW2, ...; `dW[i]` is one for each entry.
    - A comment gives the unit of a component or a parameter, and a range: `x' = y  # [m] -2..2`, or `# x: [m]` on its
      own line; `# t [s]` gives the unit of time, and `# t: 0..200` the times
      of a run. `# simulate: step_size=0.05, bounds=100, integrator=stiff` gives defaults of `dynsim simulate`.

    Powers are `^` or `**`, and products need `*`. Your own names come before constants (`pi`), so that E, I, lambda and
    t may be variables. Greek letters are spelled out: `μ` is `mu`. `mod` has the sign of its second argument.

    Args:
        text: the equations, or the path of a file with them: `.txt`, `.toml` (tables `parameters`, `start`, `units` and
            `ranges` beside `equations`), `.ode` of XPPAUT, or `.xml` or `.sbml` for a model in SBML.
        parameters: values of parameters by name, for names that are not keywords of Python, such as `lambda`.
        calculus: ito or stratonovich, for equations with noise.
        values: values of parameters by name: numbers, or sequences for families (`omega[i]`, from index 1).

    Returns:
        A flow or a map, whose parameters can be differentiated, swept and continued like those of any other; a flow
        with noise for equations with noise. Equal texts share compiled programs.

    Raises:
        ArgumentError: with line, column and what was expected there. Nothing in a text is ever executed.
    """
    instance("text", text, str | Path, "a text or the path of a file")
    text = text_of(text)
    if len(text) > LONGEST:
        raise ArgumentError("text", f"have at most {LONGEST:,} characters", f"has {len(text):,}")
    choice("calculus", calculus, CALCULI)
    given = _given(
        {**({} if parameters is None else instance("parameters", parameters, Mapping, "a mapping")), **values}
    )
    return _Reading(source(text), given, calculus).made()


def parameter_names(text: str) -> tuple[str, ...]:
    """Names in equations that have a number as their value, or none yet; they are the parameters."""
    parts, _ = lines(source(text))
    own = {line.name for line in parts if not is_constant(line)}
    found = []
    for line in parts:
        if is_constant(line):
            found.append(line.name)
        spans = [line.index, *(one.value for one in line.body)]
        indices = {span.index for span in spans if isinstance(span, Span)}
        for one in line.body:
            known = one.value in indices or one.value in line.arguments or one.value in (line.step or "t", *CONSTANTS)
            noise = str(one.value).startswith(("dW", "dB"))
            if one.kind in ("name", "element") and not known and not noise:
                found.append(str(one.value).rstrip("'"))
    return tuple(name for name in dict.fromkeys(found) if name not in own)


def _given(values: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Parameters by name, with Greek letters spelled out; raise `ArgumentError` unless they are finite numbers."""
    found = {}
    for name, value in values.items():
        numbers = np.asarray(reals(name, value), float)
        if numbers.ndim > 1 or not np.all(np.isfinite(numbers)):
            raise ArgumentError(name, "be a finite number, or a sequence of them", f"is {value}")
        found[source(name).plain.strip()] = numbers
    return found


class _Reading:
    """A text, and the values that are given with it."""

    def __init__(self, text: PlainText, given: dict[str, np.ndarray], calculus: str):
        self.text, self.given, self.calculus = text, given, calculus

    def made(self) -> Any:
        counts = bounds(self.text)
        sizes = {name: int(value) for name, value in self.given.items() if name in counts and value.ndim == 0}
        for name in sizes:
            if self.given[name] != sizes[name]:
                raise ArgumentError(name, "be a whole number, because it bounds a range", f"is {self.given[name]}")
        parts, time_unit = lines(self.text, sizes)
        single = {line.name for line in parts if line.kind == "next" and line.index is None}
        parts = [self.line(line, single) for line in parts]
        self.check_once(parts)
        known = {line.name: self.constant(line) for line in parts if is_constant(line) and line.name not in counts}
        given = {name: value for name, value in self.given.items() if name not in sizes}
        self.check_names(parts, given)
        chosen = {**known, **given}
        order = [name for name in dict.fromkeys(self.words(parts)) if name in chosen]
        chosen = {name: chosen[name] for name in [*order, *(chosen.keys() - set(order))]}
        names = tuple(chosen)
        kept = [line for line in parts if line.kind != "start" and line.name not in known]
        kept = [self.resized(line, sizes) if line.name in sizes and is_constant(line) else line for line in kept]
        made = built(self.text, kept, names)
        chosen = self.with_entries(made, chosen)
        canonical = "\n".join(line.spelled() for line in kept)
        remember((canonical, names), made)
        comments = {line.name: line.comment for line in parts if line.kind != "start" and line.comment}
        given_only = {name: comment for name, comment in remarks(self.text).items() if name in given}
        comments = {**comments, **{name: comments.get(name, comment) for name, comment in given_only.items()}}
        units = {name: unit_in(comments.get(name, "")) for name in chosen}
        found: dict[str, Any] = {
            "parameters": chosen, "start": self.start(parts, made.spelled, chosen), "units": self.units(parts, made),
            "parameter_units": [(name, unit) for name, unit in units.items() if unit],
            "ranges": [(name, *ends) for name, comment in comments.items() if (ends := range_in(comment))],
            "defaults": defaults(self.text),
        }  # fmt: skip
        times = time_range(self.text)
        found["ranges"] += [("t", *times)] if times else []
        rhs = EquationText(canonical, names)
        if made.is_map:
            return EquationMap(rhs, **found)  # pyright: ignore[reportArgumentType]
        flow = EquationFlow(rhs, time_unit=time_unit, **found)  # pyright: ignore[reportArgumentType]
        return NoisyEquationFlow(flow, calculus=self.calculus) if any(made.noise) else flow

    def line(self, line: EquationLine, single: Collection[str]) -> EquationLine:
        """Read `x[0] = 0.1` as a start for one of the `single` components of a map; other steps are refused."""
        if line.kind != "definition" or line.index is None or line.name not in single:
            return line
        if line.index != 0:
            raise self.text.error(line.at, f"give the start of a map as `{line.name}[0] = ...`", "gives another state")
        return line._replace(kind="start", index=None)

    def resized(self, line: EquationLine, sizes: Mapping[str, int]) -> EquationLine:
        """A line that gives the number of entries of a family, with another number."""
        name, equals, number = line.words
        number = number._replace(text=str(sizes[line.name]))
        return line._replace(words=(name, equals, number), body=(line.body[0]._replace(value=float(sizes[line.name])),))

    def check_once(self, parts: Sequence[EquationLine]) -> None:
        """Raise `ArgumentError` for a number that is given to a state, or twice."""
        states = {line.name for line in parts if line.kind in ("derivative", "next")}
        seen = set[str]()
        for line in parts:
            if is_constant(line) and (line.name in states or line.name in seen):
                start = f" (`{line.name}(0) = ...` gives a start)" if line.name in states else ""
                raise self.text.error(line.at, f"define each name once{start}", f"defines `{line.name}` again")
            if is_constant(line):
                seen.add(line.name)

    def words(self, parts: Sequence[EquationLine]) -> list[str]:
        """All words of the text, in order."""
        return [word.text for line in parts for word in line.words if word.kind == "name"]

    def check_names(self, parts: Sequence[EquationLine], given: Mapping[str, Any]) -> None:
        """Raise `ArgumentError` for a value of a name that the text does not use, or computes itself."""
        used = set(self.words(parts))
        computed = {line.name for line in parts if line.kind != "start" and not is_constant(line)}
        for name in given:
            if name in computed:
                raise ArgumentError(
                    name, "be given by the text or as a parameter, but not both", "is computed by the text"
                )
            if name not in used:
                raise ArgumentError(
                    name, "be a parameter of the equations", f"is not in them{nearest(name, used - computed)}"
                )

    def with_entries(self, made: Model, chosen: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters, where a number is the entry 1 if that is all that the text uses.

        Raises:
            ArgumentError: unless each parameter has the entries that the text uses, or is a number.
        """
        nodes = made.graph.nodes
        uses = [(nodes[k], node) for node in nodes for k in node.operands]
        uses += [(nodes[k], None) for k, _ in made.outputs]
        whole, entries = set[str](), dict[str, tuple[int, int]]()
        for name, node in ((one.value, node) for one, node in uses if one.kind == "parameter"):
            if node is None or node.kind not in ("state", "slice"):
                whole.add(name)
                continue
            first, end = (node.value, node.value + 1) if isinstance(node.value, int) else node.value
            known = entries.get(name, (first, end))
            entries[name] = min(first, known[0]), max(end, known[1])
        for name in sorted(whole | entries.keys()):
            size = np.shape(chosen[name])
            if name in whole and (size or name in entries):
                must = f"be a number, because the equations use `{name}` without an index"
                but = f"has {counted(size[0], 'entry', 'entries')}" if size else "has one, too"
                raise ArgumentError(name, must, but)
            first, end = entries.get(name, (0, 0))
            if first < 0 or end > (size[0] if size else 1):
                used = f"an entry {end}" if end == first + 1 else f"the entries {first + 1} to {end}"
                has = counted(size[0], "entry", "entries") if size else ""
                but = f"has {has}, counted from 1" if size else f"is the number {float(chosen[name]):g}"
                raise ArgumentError(name, f"have {used}, which the equations use", but)
        return {
            name: np.reshape(value, (1,)) if name in entries and not np.shape(value) else value
            for name, value in chosen.items()
        }

    def constant(self, line: EquationLine) -> float:
        """The value of a definition that is made of numbers."""
        return float(self.evaluated(line, {})[0])

    def evaluated(self, line: EquationLine, chosen: Mapping[str, Any]) -> np.ndarray:
        """Values of a definition or a start, over its index if it has one."""
        span = line.index if isinstance(line.index, Span) else None
        scope = Scope(self.text, tuple(chosen), "", noisy=False)
        k = scope.resolved(line.body, span)
        constant = scope.graph.constant(k)
        size = span.high - span.low + 1 if span else 1
        found = values(scope.graph, [k], 0.0, np.zeros(1), chosen)[0] if constant is None else constant
        numbers = np.broadcast_to(np.asarray(found, float), (size,))
        if not np.all(np.isfinite(numbers)):
            raise self.text.error(line.at, "give finite numbers", f"gives `{line.name}` another value")
        return numbers

    def start(
        self, parts: Sequence[EquationLine], spelled: Sequence[str], chosen: Mapping[str, Any]
    ) -> tuple[float, ...]:
        """Initial values of all components, or none if the text gives none."""
        found: dict[str, float] = {}
        for line in parts:
            if line.kind != "start":
                continue
            numbers = self.evaluated(line, chosen)
            name = line.name + "'" * line.order
            if line.index is None:
                places = [name]
            elif isinstance(line.index, Span):
                places = [f"{name}[{k}]" for k in range(line.index.low, line.index.high + 1)]
            else:
                places = [f"{name}[{line.index}]"]
            for place, number in zip(places, numbers.tolist(), strict=True):
                if place not in spelled:
                    near = nearest(place, spelled)
                    raise self.text.error(line.at, "give starts of components", f"gives one of `{place}`", near)
                if place in found:
                    raise self.text.error(line.at, "give each start once", f"gives the one of `{place}` again")
                found[place] = number
        return tuple(found.get(name, 0.0) for name in spelled) if found else ()

    def units(self, parts: Sequence[EquationLine], made: Any) -> tuple[str, ...]:
        """Units of the components, or none if the text gives none."""
        of = {line.name: line.unit for line in parts if line.kind in ("derivative", "next")}
        heads = [name.split("[")[0].rstrip("'") for name in made.spelled]
        found = tuple(of.get(head, "") for head in heads)
        found = tuple("" if name.endswith("'") else unit for name, unit in zip(made.spelled, found, strict=True))
        return found if any(found) else ()
