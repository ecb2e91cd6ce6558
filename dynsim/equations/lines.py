"""Read what each statement of a text says: a differential equation, a map, a definition, a function or a start."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from dynsim.equations.characters import PlainText
from dynsim.equations.expressions import Instruction, Span, expression, read_span
from dynsim.equations.functions import ALIASES, ARGUMENTS, CONSTANTS, SPECIAL
from dynsim.equations.tokens import CLOSED, OPEN, StatementTokens, Token, spelled, statements

UNIT = re.compile(r"\[([^\]]*)\]")
NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
RANGE = re.compile(rf"({NUMBER})\s*\.\.\s*({NUMBER})")
DIFFERENTIATED = re.compile(r"(?<!\w)(\w+)[ ]*(?:\(t\))?'|(?<!\w)d(\w+)[ ]*(?:\(t\))?[ ]*/[ ]*dt(?!\w)")
"""The name of a state where its derivative is written."""
DEFAULT = re.compile(rf"\b(step_size|bounds)=({NUMBER})|\b(integrator)=(diffrax|scipy|stiff)\b")
"""An option of `dynsim simulate` in a comment `# simulate: step_size=0.05, bounds=100, integrator=stiff`."""
TIME = re.compile(r"\s*(?:t|time)\s*:?\s*\[([^\]]*)\]")
DESCRIBED = re.compile(r"\s*(\w+)\s*:(.*)")
"""A comment on a line of its own about a name."""
FORMS = "`x' = ...`, `dx/dt = ...`, `x[n+1] = ...`, `a = ...`, `f(u) = ...` or `x(0) = ...`"


class EquationLine(NamedTuple):
    """One statement.

    `kind` is derivative, next, definition, function or start. `order` counts derivatives, `step` is the index of a
    map, and `index` the one of a family: a range, a whole number, or None.
    """

    kind: str
    name: str
    words: tuple[Token, ...]
    body: tuple[Instruction, ...]
    at: int
    order: int = 0
    index: Span | int | None = None
    arguments: tuple[str, ...] = ()
    step: str = ""
    comment: str = ""

    @property
    def unit(self) -> str:
        """The unit in brackets in the comment, or ""."""
        return unit_in(self.comment)

    @property
    def key(self) -> str:
        """The name with derivatives and index, by which two statements about the same are found."""
        index = self.index
        where = "" if index is None else f"[{index}]" if isinstance(index, int) else f"[{index.low}..{index.high}]"
        return f"{self.name}{where}" + "'" * (self.order if self.kind == "start" else 0)

    def spelled(self) -> str:
        """The statement, written in one way."""
        return spelled(list(self.words))


def unit_in(comment: str) -> str:
    """The unit in brackets in a comment, or ""."""
    found = UNIT.search(comment)
    return found[1].strip() if found else ""


def range_in(comment: str) -> tuple[float, float] | None:
    """The range `low..high` in a comment, whose ends may stand in any order, or None."""
    found = RANGE.search(comment)
    low, high = sorted((float(found[1]), float(found[2]))) if found else (0.0, 0.0)
    return (low, high) if low < high else None


def remarks(text: PlainText) -> dict[str, str]:
    """Comments on lines of their own about a name, as in `# x: [m] 0..1`, by this name."""
    found = [DESCRIBED.match(part.comment) for part in statements(text) if not part.tokens]
    return {match[1]: match[2] for match in found if match}


def lines(text: PlainText, sizes: Mapping[str, int] | None = None) -> tuple[list[EquationLine], str]:
    """Read all statements of a text, and the unit of time that a comment may give.

    `sizes` gives whole numbers for names that bound a range, in place of those of the text.
    """
    made, time_unit = [], ""
    parts = statements(text)
    known = {**_counts(parts), **(sizes or {})}
    states = {one or other for one, other in DIFFERENTIATED.findall(text.plain)}
    sized = {name: known[name] for name in bounds(text) & known.keys()}
    steps = [step for part in parts if (step := _step(part.tokens)) and step not in sized]
    if other := next((step for step in steps if step != steps[0]), ""):
        at = next(part.tokens[0].at for part in parts if _step(part.tokens) == other)
        raise text.error(at, f"count steps by one index, `{steps[0]}`", f"has `{other}`")
    functions = {*ARGUMENTS, *ALIASES, *(name for part in parts if (name := _function(part.tokens)))}
    for part in parts:
        found = TIME.match(part.comment)
        if found:
            time_unit = found[1].strip()
        if part.tokens:
            comment = "" if found else part.comment
            words = _indexed(_bounded(part.tokens, known), sized)
            made.append(_line(text, words, comment, next(iter(steps), ""), states, functions))
    known = remarks(text)
    described = lambda line: line.kind in ("derivative", "next", "definition") and line.name in known
    made = [line._replace(comment=known[line.name]) if described(line) else line for line in made]
    return made, time_unit


def time_range(text: PlainText) -> tuple[float, float] | None:
    """The range of the time that a comment gives, as in `# t: 0..200` or `# t [s] 0..200`; None without one."""
    for part in statements(text):
        if re.match(r"\s*(?:t|time)\s*(?::|\[)", part.comment) and (found := RANGE.search(part.comment)):
            return float(found[1]), float(found[2])
    return None


def defaults(text: PlainText) -> tuple[tuple[str, str], ...]:
    """Options of `dynsim simulate` that a comment gives, as in `# simulate: step_size=0.05, bounds=100`."""
    given = [part.comment for part in statements(text) if part.comment.lstrip().startswith("simulate:")]
    return tuple((one[1] or one[3], one[2] or one[4]) for comment in given for one in DEFAULT.finditer(comment))


def _counts(parts: Sequence[StatementTokens]) -> dict[str, int]:
    """Whole numbers that the text defines, as in `N = 20`."""
    found = {}
    for part in parts:
        words = part.tokens
        if len(words) == 3 and words[0].kind == "name" and words[1].text == "=" and words[2].kind == "number":
            value = float(words[2].text)
            if value.is_integer():
                found[words[0].text] = int(value)
    return found


def bounds(text: PlainText) -> set[str]:
    """Names that bound a range in a text, and so decide how many components there are."""
    found = set()
    for part in statements(text):
        for k, word in enumerate(part.tokens):
            if word.kind == "name" and ".." in (
                part.tokens[k - 1].text,
                part.tokens[min(k + 1, len(part.tokens) - 1)].text,
            ):
                found.add(word.text)
    return found


def _bounded(words: list[Token], known: Mapping[str, int]) -> list[Token]:
    """Replace names that bound a range by their numbers."""
    if not any(word.text == ".." for word in words):
        return words
    found = list(words)
    for k, word in enumerate(words):
        beside = ".." in (words[k - 1].text if k else "", words[k + 1].text if k + 1 < len(words) else "")
        if word.kind == "name" and beside and word.text in known:
            found[k] = Token("number", str(known[word.text]), word.at)
    return found


def _indexed(words: list[Token], known: Mapping[str, int]) -> list[Token]:
    """Replace indices such as `N`, `N+1` and `N-1` by their numbers, where N bounds a range."""
    found: list[Token] = []
    k = 0
    while k < len(words):
        found.append(words[k])
        k += 1
        if words[k - 1].text != "[" or k >= len(words) or words[k].text not in known:
            continue
        value, at = known[words[k].text], words[k].at
        after = [word.text for word in words[k + 1 : k + 4]]
        shifted = after[:1] in (["+"], ["-"]) and after[2:] == ["]"] and after[1].isdigit()
        if after[:1] == ["]"] or shifted:
            value += int(after[0] + after[1]) if shifted else 0
            found += [Token("sign", "-", at)] * (value < 0) + [Token("number", str(abs(value)), at)]
            k += 3 if shifted else 1
    return found


def _step(words: Sequence[Token]) -> str:
    """The index of a map whose next state a statement gives, as in `x[n+1] = ...`, or ""."""
    depth = 0
    for k in range(len(words) - 5):
        depth += (words[k].text in OPEN) - (words[k].text in CLOSED)
        if words[k].text == "=" and not depth:
            break
        one, index, plus, number, other = words[k : k + 5]
        shaped = one.text in OPEN and index.kind == "name" and plus.text == "+" and other.text in CLOSED
        if shaped and number.text == "1":
            return index.text
    return ""


def _function(words: Sequence[Token]) -> str:
    """The name of the function that a statement defines, as in `f(u, v) = ...`, or ""."""
    if len(words) < 3 or words[0].kind != "name" or words[1].text != "(":
        return ""
    close = next((k for k, word in enumerate(words) if word.text == ")"), 0)
    listed = all(word.kind == "name" or word.text == "," for word in words[2:close])
    return words[0].text if listed and [word.text for word in words[close + 1 : close + 2]] == ["="] else ""


def _line(
    text: PlainText, words: list[Token], comment: str, step: str, states: Collection[str], functions: Collection[str]
) -> EquationLine:
    depth, equals = 0, []
    for k, word in enumerate(words):
        depth += (word.text in OPEN) - (word.text in CLOSED)
        if word.text == "=" and not depth:
            equals.append(k)
    end = words[-1].at + len(words[-1].text)
    if words[0].text == "when" and len(words) > 1 and words[1].text == "(":
        raise text.error(
            words[0].at, "be read by `hybrid_system` or `dynsim simulate` if it has transitions", "has one"
        )
    if not equals:
        raise text.error(words[0].at, f"consist of equations such as {FORMS}", "has none")
    if len(equals) > 1:
        raise text.error(words[equals[1]].at, "have one `=` in a statement (`==` compares)", "has another one")
    left, right = words[: equals[0]], words[equals[0] + 1 :]
    right = _without_step(text, right, step, functions) if step else _without_time(right, states)
    head = _Left(text, left, words[equals[0]].at, step).read()
    shown = (*left, words[equals[0]], *right)
    return head._replace(body=expression(text, right, end), words=shown, comment=comment)


def _without_time(words: list[Token], states: Collection[str]) -> list[Token]:
    """Read `x(t)` as x where x is a state."""
    found: list[Token] = []
    for word in words:
        found.append(word)
        called = word.text == ")" and [one.text for one in found[-3:-1]] == ["(", "t"] and found[-4:-3]
        if called and found[-4].text in states:
            del found[-3:]
    return found


def _without_step(text: PlainText, words: list[Token], step: str, functions: Collection[str]) -> list[Token]:
    """Read `x[n]` and `x(n)` as x, unless x is a function; refuse other times by name."""
    found: list[Token] = []
    k = 0
    while k < len(words):
        word = words[k]
        follows = found and (found[-1].kind == "name" or found[-1].text == "]")
        called = word.text == "(" and found and found[-1].text in functions
        if follows and not called and word.text in OPEN and k + 2 < len(words) and words[k + 1].text == step:
            if words[k + 2].text == OPEN[word.text]:
                k += 3
                continue
            if words[k + 2].text in ("-", "+") and k + 4 < len(words) and words[k + 4].text in CLOSED:
                must = (
                    f"use states of the step `{step}` only: a delay needs a variable of its own, "
                    f"as in `y[{step}+1] = x[{step}]`"
                )
                raise text.error(found[-1].at, must, "uses another step")
        found.append(word)
        k += 1
    return found


class _Left:
    """The left-hand side of a statement."""

    def __init__(self, text: PlainText, words: list[Token], end: int, step: str):
        self.text, self.words, self.end, self.step, self.k = text, words, end, step, 0

    def texts(self, begin: int, end: int | None = None) -> list[str]:
        return [word.text for word in self.words[begin:end]]

    def wrong(self, at: int | None = None) -> Exception:
        place = self.words[0].at if self.words else self.end
        algebraic = self.words and (self.words[0].kind == "number" or any(w.text in "+-*" for w in self.words))
        must = f"have one name or one derivative on the left, as in {FORMS}"
        but = "has an algebraic equation, or a factor that must be divided out," if algebraic else "has something else"
        return self.text.error(place if at is None else at, must, but)

    def read(self) -> EquationLine:
        if not self.words or self.words[0].kind != "name":
            raise self.wrong()
        leibniz = self.leibniz()
        if leibniz is not None:
            return leibniz
        first = self.words[0]
        line = EquationLine("definition", first.text, (), (), first.at)
        self.k = 1
        line = self.primed(self.bracket(self.primed(line)))
        if self.k < len(self.words) and self.words[self.k].text == "(":
            line = self.primed(self.parentheses(line))
        if self.k < len(self.words):
            raise self.wrong()
        return self.checked(line)

    def checked(self, line: EquationLine) -> EquationLine:
        if line.kind in ("next", "function") and line.order:
            raise self.wrong()
        if line.kind == "definition" and line.order:
            line = line._replace(kind="derivative")
        reserved = line.name in ARGUMENTS or line.name in ALIASES or line.name in SPECIAL
        if line.kind == "function" and reserved:
            raise self.text.error(line.at, f"define functions by new names (`{line.name}` is built in)", "does not")
        return line

    def leibniz(self) -> EquationLine | None:
        """Read dx/dt, or d^2x/dt^2."""
        texts = self.texts(0)
        kinds = [word.kind for word in self.words]
        higher = texts[:2] == ["d", "^"] and texts[4:] == ["/", "dt", "^", *texts[2:3]]
        if higher and kinds[2:4] == ["number", "name"] and texts[2] in ("1", "2", "3", "4"):
            return EquationLine("derivative", texts[3], (), (), self.words[0].at, int(texts[2]))
        if texts[-2:] != ["/", "dt"] or not texts[0].startswith("d") or len(texts[0]) < 2:
            return None
        line = EquationLine("derivative", texts[0][1:], (), (), self.words[0].at, 1)
        self.k = 1
        line = self.bracket(line)
        if self.texts(self.k) not in (["/", "dt"], ["(", "t", ")", "/", "dt"]) or line.step:
            raise self.wrong()
        return line

    def primed(self, line: EquationLine) -> EquationLine:
        while self.k < len(self.words) and self.words[self.k].text == "'":
            line, self.k = line._replace(order=line.order + 1), self.k + 1
        return line

    def bracket(self, line: EquationLine) -> EquationLine:
        """Read an index in brackets: a whole number, a range, or the next step of a map."""
        if self.k >= len(self.words) or self.words[self.k].text != "[":
            return line
        close = next(k for k in range(self.k, len(self.words)) if self.words[k].text == "]")
        inside, at = self.words[self.k + 1 : close], self.words[self.k].at
        texts = [word.text for word in inside]
        self.k = close + 1
        if self.step and texts == [self.step, "+", "1"]:
            return line._replace(kind="next", step=self.step)
        if len(inside) == 1 and inside[0].kind == "number" and float(texts[0]).is_integer():
            return line._replace(index=int(float(texts[0])))
        if len(inside) == 2 and texts[0] == "-" and inside[1].kind == "number":
            return line._replace(index=-int(float(texts[1])))
        span, after = read_span(self.text, inside, 0, at)
        if after != len(inside):
            raise self.text.error(inside[after].at, "give an index one range, as in `i=1..20`", "goes on")
        return line._replace(index=span)

    def parentheses(self, line: EquationLine) -> EquationLine:
        """Read what stands in parentheses: the time, the next step of a map, zero, or arguments of a function."""
        at = self.words[self.k].at
        close = next(k for k in range(self.k, len(self.words)) if self.words[k].text == ")")
        inside = self.words[self.k + 1 : close]
        texts = [word.text for word in inside]
        self.k = close + 1
        if texts == ["t"] and (line.order or self.texts(self.k, self.k + 1) == ["'"]):
            return line
        if self.step and texts == [self.step, "+", "1"]:
            return line._replace(kind="next", step=self.step)
        if texts == ["0"]:
            return line._replace(kind="start")
        names, commas = inside[::2], inside[1::2]
        listed = len(inside) % 2 == 1 and all(w.kind == "name" for w in names) and all(w.text == "," for w in commas)
        if not listed or line.order or line.index is not None:
            raise self.wrong(at)
        arguments = tuple(word.text for word in names)
        if len(set(arguments)) < len(arguments):
            raise self.text.error(at, "name each argument of a function once", "names one twice")
        return line._replace(kind="function", arguments=arguments)


def is_constant(line: EquationLine) -> bool:
    """Whether a definition is made of numbers, functions and constants only."""
    if line.kind != "definition" or line.index is not None:
        return False
    plain = lambda one: one.kind not in ("sum", "element") and (one.kind != "name" or one.value in CONSTANTS)
    built_in = lambda one: one.kind != "call" or one.value in ARGUMENTS or one.value in ALIASES
    return all(plain(one) and built_in(one) for one in line.body)
