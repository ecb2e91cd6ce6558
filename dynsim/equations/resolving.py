"""Look up the names in expressions, and add their operations to a graph."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from dynsim.equations.characters import PlainText
from dynsim.equations.expressions import Instruction, Span
from dynsim.equations.functions import ALIASES, ARGUMENTS, CONSTANTS
from dynsim.equations.graph import Graph
from dynsim.errors import counted, nearest

HINTS = {
    "e": " (Euler's number is `exp(1)`, and its powers are `exp(...)`)",
    "delay": " (equations with delays are not supported)",
    "inf": " (numbers must be finite)", "nan": " (numbers must be finite)",
}  # fmt: skip


class Template(NamedTuple):
    """A user's function: its operations, the values of the surrounding graph that it uses, and its result."""

    graph: Graph
    names: tuple[str, ...]
    captured: tuple[int, ...]
    result: int


class Elements(NamedTuple):
    """Entries of a family by index: those of the state or of a vector with their positions, and those with a value."""

    places: dict[int, tuple[int | None, int]]  # None for the state, or the number of the vector
    single: dict[int, int]


class Scope:
    """What names mean in a text: scalars, families and functions, in the graph of the whole text."""

    def __init__(self, text: PlainText, parameters: Sequence[str], time: str, noisy: bool):
        """Begin with parameters, the time and constants."""
        self.text, self.graph, self.time, self.noisy = text, Graph(), time, noisy
        self.scalars: dict[str, int] = {}
        self.families: dict[str, Elements] = {}
        self.functions: dict[str, Template] = {}
        self.parameters = tuple(parameters)

    def family(self, name: str) -> Elements:
        """The entries of a family, which is begun if it is new."""
        return self.families.setdefault(name, Elements({}, {}))

    def names(self) -> tuple[str, ...]:
        """All names of values."""
        return (*self.scalars, *self.families, *self.parameters, *((self.time,) if self.time else ()), *CONSTANTS)

    def resolved(self, body: Sequence[Instruction], index: Span | None = None) -> int:
        """Add the operations of an expression, over the index of a family if there is one, and return its number."""
        return _Resolver(self, self.graph, self.of_text, index).run(body)

    def of_text(self, name: str) -> int | None:
        """The value of a name in the whole text."""
        if name in self.scalars:
            return self.scalars[name]
        if name in self.parameters:
            return self.graph.add("parameter", name)
        if name == self.time:
            return self.graph.add("time")
        if name in CONSTANTS:
            return self.graph.number(CONSTANTS[name])
        if self.noisy and (name.startswith("dW") or name.startswith("dB")) and name not in self.families:
            return self.graph.add("noise", name)
        return None

    def template(self, names: tuple[str, ...], body: Sequence[Instruction]) -> Template:
        """The operations of a function of some arguments."""
        graph, captured = Graph(), list[int]()
        for k in range(len(names)):
            graph.add("argument", k)

        def inside(value: int) -> int:
            constant = self.graph.constant(value)
            if constant is not None:
                return graph.number(constant)
            if value not in captured:
                captured.append(value)
            return graph.add("argument", len(names) + captured.index(value))

        def look(name: str) -> int | None:
            if name in names:
                return graph.add("argument", names.index(name))
            value = self.of_text(name)
            return None if value is None else inside(value)

        result = _Resolver(self, graph, look, None, inside).run(body)
        return Template(graph, names, tuple(captured), result)


class _Resolver:
    """The stack machine that adds the operations of one expression to a graph."""

    def __init__(
        self,
        scope: Scope,
        graph: Graph,
        look: Callable[[str], int | None],
        index: Span | None,
        inside: Callable[[int], int] = lambda k: k,
    ):
        """Store where names are looked up, and how a value of the whole text is taken into the graph."""
        self.scope, self.graph, self.look, self.inside = scope, graph, look, inside
        self.text, self.index = scope.text, index
        self.bound: dict[str, int] = {}

    def run(self, body: Sequence[Instruction]) -> int:
        stack: list[int] = []
        k = 0
        while k < len(body):
            one = body[k]
            if one.kind == "sum":
                stack.append(self.summed(one, body[k + 1 : k + 1 + one.count]))
                k += one.count
            else:
                given = stack[len(stack) - one.count :] if one.count else []
                del stack[len(stack) - one.count :]
                stack.append(self.value(one, given))
            k += 1
        return stack[0]

    def value(self, one: Instruction, given: list[int]) -> int:
        word: Any = one.value
        if one.kind == "number":
            return self.graph.number(word)
        if one.kind == "name":
            return self.named(word, one.at)
        if one.kind == "element":
            return self.element(word, given[0], one.at)
        if one.kind == "call":
            return self.called(word, given, one.at)
        if word in ("and", "or", "not"):
            return self.graph.add(word, None, [self.truth(k) for k in given])
        given = [self.numeric(k) for k in given]
        if word == "div" and self.graph.constant(given[1]) == 0:
            raise self.text.error(one.at, "have divisors other than zero", "divides by zero")
        return self.graph.add(word, None, given)

    def truth(self, k: int) -> int:
        """A condition: a number is one unless it is zero."""
        return k if self.graph.is_truth(k) else self.graph.add("ne", None, [k, self.graph.number(0)])

    def numeric(self, k: int) -> int:
        """A number: 1 for true, and 0 for false."""
        return self.graph.add("truth", None, [k]) if self.graph.is_truth(k) else k

    def named(self, name: str, at: int) -> int:
        if name in self.bound:
            return self.graph.number(self.bound[name])
        if self.index is not None and name == self.index.index:
            return self.graph.add("index", (self.index.low, self.index.high + 1))
        found = self.look(name)
        if found is not None:
            return found
        if name in self.scope.families:
            raise self.text.error(at, f"give `{name}` an index, as in `{name}[1]`", "gives none")
        if name in ARGUMENTS or name in self.scope.functions or name in ALIASES:
            raise self.text.error(at, f"give the function `{name}` its arguments in parentheses", "gives none")
        if name.endswith("'"):
            must = f"have derivatives on the left only, unless a higher one is given by an equation for `{name}'`"
            raise self.text.error(at, must, f"has `{name}`")
        near = nearest(name, [*self.scope.names(), *((self.index.index,) if self.index else ()), *self.bound])
        must = f"define `{name}` or give it a value, as in `{name} = 1.0`{HINTS.get(name, '')}"
        raise self.text.error(at, must, "uses it without", near)

    def element(self, name: str, k: int, at: int) -> int:
        base, place = self.place(k, at)
        if name in self.scope.parameters:
            vector = self.inside(self.scope.graph.add("parameter", name))
            if base is None:
                return self.graph.add("state", place - 1, [vector])
            return self.graph.add("slice", (base[0] + place - 1, base[1] + place - 1), [vector])
        if name.startswith(("dW", "dB")) and self.scope.noisy and name not in self.scope.families:
            return self.graph.add("noise", name if base is None else f"{name}[]")
        if name not in self.scope.families:
            if self.look(name) is not None:
                raise self.text.error(at, f"use `{name}` without an index", "uses it with one")
            near = nearest(name, [*self.scope.families, *self.scope.parameters])
            raise self.text.error(at, f"define the family `{name}[i=1..N]` or give it values", "uses it without", near)
        if base is None:
            return self.entries(name, [place], at)[0]
        return self.gathered(self.entries(name, range(base[0] + place, base[1] + place), at))

    def place(self, k: int, at: int) -> tuple[tuple[int, int] | None, int]:
        """An index expression as the index of a family plus a whole number, or as a whole number."""
        offset = 0.0
        while True:
            node = self.graph.nodes[k]
            if node.kind in ("number", "index"):
                if node.kind == "number":
                    offset += node.value
                if not float(offset).is_integer():
                    break
                return (None if node.kind == "number" else node.value), int(offset)
            if node.kind not in ("add", "sub"):
                break
            left, right = node.operands
            a, b = self.graph.constant(left), self.graph.constant(right)
            if b is not None:
                offset, k = offset + (b if node.kind == "add" else -b), left
            elif a is not None and node.kind == "add":
                offset, k = offset + a, right
            else:
                break
        raise self.text.error(at, "have indices that are `i`, `i+1`, `i-1`, ... or whole numbers", "has another index")

    def entries(self, name: str, places: Any, at: int) -> list[int]:
        """Values of single entries, each of which may be part of a vector."""
        family, found = self.scope.families[name], []
        for place in places:
            if place in family.single:
                found.append(self.inside(family.single[place]))
            elif place in family.places:
                vector, position = family.places[place]
                found.append(self.inside(self.scope.graph.add("state", position, () if vector is None else (vector,))))
            else:
                last = max([*family.places, *family.single])
                must = (
                    f"define `{name}[{place}]` by a line of its own, such as `{name}[{place}] = 0` for a fixed end, "
                    f"`{name}[{place}] = {name}[{last if place < 1 else 1}]` for a ring, "
                    f"or `{name}[{place}] = {name}[{place + 1 if place < 1 else place - 1}]` for no flux"
                )
                raise self.text.error(at, must, "uses it without")
        return found

    def gathered(self, many: list[int]) -> int:
        """One vector of entries, in as few slices as possible."""
        pieces: list[list[Any]] = []
        for k in many:
            node = self.graph.nodes[k]
            entry = node.kind == "state"
            if entry and pieces and pieces[-1][0] == node.operands and pieces[-1][2] == node.value:
                pieces[-1][2] += 1
            else:
                pieces.append([node.operands, node.value, node.value + 1] if entry else [None, k, k])
        parts = [b if source is None else self.graph.add("slice", (a, b), source) for source, a, b in pieces]
        return parts[0] if len(parts) == 1 and pieces[0][0] is not None else self.graph.add("join", None, parts)

    def called(self, name: str, given: list[int], at: int) -> int:
        template = self.scope.functions.get(name)
        if template is not None:
            if len(given) != len(template.names):
                must = f"give `{name}` {counted(len(template.names), 'argument')}"
                raise self.text.error(at, must, f"gives {len(given)}")
            captured = map(self.inside, template.captured)
            return self.graph.copied(template.graph, [*map(self.numeric, given), *captured])[template.result]
        name = name if name in ARGUMENTS else ALIASES.get(name, name)
        if name not in ARGUMENTS:
            raise self.unknown_function(name, at)
        least, most = ARGUMENTS[name]
        if not least <= len(given) <= most:
            must = f"give `{name}` {counted(least, 'argument')}{' or more' if most > least else ''}"
            raise self.text.error(at, must, f"gives {len(given)}")
        if name == "if":
            return self.graph.add("if", None, [self.truth(given[0]), *map(self.numeric, given[1:])])
        given = [self.numeric(k) for k in given]
        if name in ("min", "max"):
            found = given[0]
            for k in given[1:]:
                found = self.graph.add(name, None, [found, k])
            return found
        return self.graph.add("pow" if name == "power" else name, None, given)

    def unknown_function(self, name: str, at: int) -> Exception:
        if name in ("delay",):
            return self.text.error(at, "be without delays, which are not supported", "has a delay")
        if (
            name.endswith("'")
            or name in self.scope.scalars
            or name in self.scope.parameters
            or name in self.scope.families
        ):
            rest = self.text.plain[at + len(name) : at + len(name) + 16].lstrip()
            if name in self.scope.scalars and rest.startswith("(") and rest[1:].lstrip().startswith("t"):
                return self.text.error(at, f"use `{name}` at the time t only: delays are not supported", "uses another")
            return self.text.error(at, f"have an operator between factors, as in `{name}*(...)`", "has none")
        near = nearest(name, [*ARGUMENTS, *ALIASES, *self.scope.functions])
        must = f"use functions that exist (`{name}(u) = ...` defines one), and `*` for products"
        return self.text.error(at, must, f"uses the unknown `{name}`", near)

    def summed(self, one: Instruction, body: Sequence[Instruction]) -> int:
        """Add the terms of a sum, one after the other."""
        span: Any = one.value
        if span.index in self.bound or self.index is not None and span.index == self.index.index:
            raise self.text.error(one.at, "give each index a name of its own", f"uses `{span.index}` twice")
        total: int | None = None
        for place in range(span.low, span.high + 1):
            self.bound[span.index] = place
            term = self.numeric(self.run(body))
            total = term if total is None else self.graph.add("add", None, [total, term])
        del self.bound[span.index]
        assert total is not None
        return total


def noise_split(text: PlainText, graph: Graph, output: int, at: int) -> tuple[int, dict[str, int]]:
    """Separate a right-hand side into its drift and the amplitude of each noise, which must enter linearly."""
    zero = graph.number(0)
    found: dict[int, tuple[int | None, dict[str, int]]] = {}
    for k in graph.used([output]):
        node = graph.nodes[k]
        parts = [found[j] for j in node.operands]
        noisy = [j for j, (_, amplitudes) in enumerate(parts) if amplitudes]
        if node.kind == "noise":
            found[k] = None, {node.value: graph.number(1)}
        elif not noisy:
            found[k] = k, {}
        elif node.kind in ("add", "sub", "neg"):
            found[k] = _linear(graph, node.kind, parts)
        elif node.kind == "mul" and len(noisy) == 1 or node.kind == "div" and noisy == [0]:
            drift, amplitudes = parts[noisy[0]]
            other = node.operands[1 - noisy[0]]
            scaled = lambda a, other=other, kind=node.kind: graph.add(kind, None, [a, other])
            found[k] = None if drift is None else scaled(drift), {name: scaled(a) for name, a in amplitudes.items()}
        else:
            must = "have noise as a term that is multiplied by its amplitude, as in `... + sigma*dW1`"
            raise text.error(at, must, "has noise in another place")
    drift, amplitudes = found[output]
    return (zero if drift is None else drift), amplitudes


def _linear(graph: Graph, kind: str, parts: Sequence[Any]) -> tuple[int | None, dict[str, int]]:
    combine: Callable[..., int] = lambda *operands: graph.add(kind, None, operands)
    if kind == "neg":
        drift, amplitudes = parts[0]
        return None if drift is None else combine(drift), {name: combine(a) for name, a in amplitudes.items()}
    second: Callable[[int], int] = (lambda b: b) if kind == "add" else (lambda b: graph.add("neg", None, [b]))

    def both(a: int | None, b: int | None) -> int | None:
        if a is None or b is None:
            return a if b is None else second(b)
        return combine(a, b)

    (drift_a, a), (drift_b, b) = parts
    names: Mapping[str, None] = dict.fromkeys([*a, *b])
    return both(drift_a, drift_b), {name: both(a.get(name), b.get(name)) for name in names}  # pyright: ignore[reportReturnType]
