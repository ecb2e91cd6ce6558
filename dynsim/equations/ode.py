"""Read `.ode` files of XPPAUT as the text of equations."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dynsim.equations.characters import source
from dynsim.equations.expressions import LARGEST_RANGE, expression
from dynsim.equations.functions import ALIASES, ARGUMENTS, XPPAUT
from dynsim.equations.lines import NUMBER
from dynsim.equations.ode_options import method, option_comments
from dynsim.equations.resolving import Scope
from dynsim.equations.tokens import tokens
from dynsim.equations.writing import PLAIN, written
from dynsim.errors import ArgumentError

REFUSED = {
    "markov": "Markov variables", "boundary": "boundary conditions", "special": "special network functions",
    "solve": "algebraic equations", "volterra": "Volterra equations", "export": "dynamic libraries",
    "vector": "vectors", "group": "groups",
}  # fmt: skip
"""Declarations that have no equation of ours, and what they are."""
KINDS = {
    "p": "par", "n": "number", "i": "init", "w": "wiener", "a": "aux", "gr": "group", "g": "global", "ma": "markov",
    "mk": "solve", "ta": "table", "b": "boundary", "so": "solve", "sp": "special", "se": "", "ve": "vector",
    "v": "volterra", "ex": "export", "o": "", "d": "done",
}  # fmt: skip
"""The declaration that a word begins, by its first letters, as XPPAUT tells them; nothing of ours for some."""
CALLS = {
    **dict.fromkeys(("delay", "del_shft"), "delays"), "ishift": "shifted variables",
    **dict.fromkeys(("ran", "normal", "poisson"), "random numbers"),
    **dict.fromkeys(("besselj", "bessely", "besseli"), "Bessel functions"),
    "hom_bcs": "boundary conditions", "set": "set",
}  # fmt: skip
"""Functions that are refused, and what they are."""
NAME = r"[a-z_]\w*"
PAIR = re.compile(rf"({NAME})\s*(?:\(0\))?\s*(?:=\s*([^\s,;=]+)|(?=[\s,;]|$))")
RANGED = re.compile(r"\[\s*(\d+)\s*\.\.\s*(\d+)\s*\]")
ENTRY = re.compile(r"\[\s*(\d*)\s*\*?\s*j\s*(?:\*\s*(\d+)|([-+]\s*\d+))?\s*\]|\[\s*(\d+)\s*\]")
COMMAND = re.compile(r"([^\s=/'(]+)(?:\s+(?!=|[/'(].*=)(.*))?")
"""A declaration: a word, and what follows it unless that makes it an equation."""
STATE = re.compile(rf"^(?:d({NAME})\s*/\s*dt|({NAME})\s*(?:'|\(t\+1\)))\s*=")
HEAD = re.compile(rf"(?:d(?={NAME}\s*/\s*dt\b))?({NAME})")
DERIVATIVE = re.compile(rf"^(?:({NAME})\s*'|d({NAME})\s*/\s*dt)\s*=")
SUM = re.compile(r"sum\s*\(([^(),]+),([^(),]+)\)\s*of\s*\(")
SHIFT = re.compile(r"\bshift\s*\(")
OF_ENTRY = re.compile(r"\bshift\s*\(\s*([a-z_]\w*?)(\d+)\s*,")
GROUPED = re.compile(r"[<>&|]|[=!]=|\bnot\b|(?:\^|\*\*).*(?:\^|\*\*)")
"""Operators of which XPPAUT has other precedences."""


class _Read(NamedTuple):
    """What the lines of a file declare, as statements of ours with the numbers of their lines."""

    statements: list[tuple[int, str]]
    options: dict[str, str]
    noises: list[str]
    plotted: list[tuple[int, str, str]]
    parameters: list[str]
    events: list[tuple[int, str, str]]


def from_ode(content: str) -> str:
    """The text of equations that an `.ode` file stands for; each statement keeps its line.

    Parameters, initial values, fixed and auxiliary quantities, derived parameters, functions, tables given by a
    formula, arrays `x[1..10]`, Wiener variables and global events are read; names are in lower case. Comparisons bind
    more strongly than sums and products, as in XPPAUT: `t < a + b` is `(t < a) + b`. The limits of the
    plot, of the time (`total`), and of the first parameter in AUTO (`parmin`, `parmax`) become ranges; `dt`, `bounds`
    and stiff methods become defaults of `dynsim simulate`, and the method `discrete` makes a map. A comment names the
    other options. Without initial values a run starts at zero. What has no equation here is refused by its name:
    delays, Markov variables, boundary conditions, tables from files, algebraic equations. `shift(x1, 2)` is the entry
    x3 of an array, also where `i'` of a sum is in the shift.
    """
    found = _Read([], {}, [], [], [], [])
    for number, line in _lines(content):
        if _read(found, number, line):
            break
    found.statements.extend(
        (number, _event(number, line, rest, found.parameters)) for number, line, rest in found.events
    )
    states = {match[1] or match[2] for _, one in found.statements if (match := STATE.match(one))}
    if method(found.options) == "d":  # discrete: x' is the next state
        found.statements[:] = [(k, DERIVATIVE.sub(r"\1\2(t+1) =", one)) for k, one in found.statements]
    found.statements.extend(_named_apart(found))
    if states and not any(re.match(rf"{NAME}\(0\)\s*=", one) for _, one in found.statements):
        last = max(number for number, _ in found.statements)
        found.statements.append((last, f"{min(states)}(0) = 0"))  # XPPAUT starts at zero, and so do the others
    is_map = any("(t+1) =" in one for _, one in found.statements)
    if is_map and found.noises:
        raise ArgumentError("path", "name a file without what dynsim does not have", "it has noise in a map")
    rows = [""] * max((number for number, _ in found.statements), default=0)
    for number, one in found.statements:
        rows[number - 1] += f"{'; ' if rows[number - 1] else ''}{one}"
    body = _renamed("\n".join(rows), found)
    comments = option_comments(found.options, states, found.parameters, is_map=is_map)
    return "\n".join([*([body] if body else []), *comments])


def _lines(content: str) -> Iterator[tuple[int, str]]:
    """Lines with their numbers, continued ones joined, arrays written out, in lower case and without comments."""
    block, begun = list[str](), 0
    span: Sequence[int] | None = None
    for number, row in _rows(content):
        if re.match(r"#include\s", row):
            raise _refused(number, row, "included files")
        if not row or row[0] in '#"':
            continue
        line = (row if row[0] == "@" else row.split("#")[0]).strip().lower()
        opened = re.fullmatch(r"%\s*\[(\d+)\.\.(\d+)\]\s*", line)
        if opened:
            span, block, begun = _span(opened), [], number
        elif line[0] == "%" and span:
            yield from ((begun, _entries(one, j)) for j in span for one in block)
            span = None
        elif line[0] == "%":
            continue  # a comment
        elif span:
            block.append(line)
        else:
            ranged = RANGED.search(line) if line[0] != "@" else None
            places = _span(ranged) if ranged else (None,)
            if line[0] != "@":
                line = re.sub(r"(?<=\w)\[\s*(\d+)\s*\]", r"\1", line)  # x[3] is x3
            yield from ((number, line if j is None else _entries(RANGED.sub(str(j), line), j)) for j in places)


def _rows(content: str) -> Iterator[tuple[int, str]]:
    """Lines with their numbers; what follows a backslash goes on in the next line."""
    joined, begun = "", 0
    for number, raw in enumerate(content.splitlines(), 1):
        line, continued, _ = raw.partition("\\")
        joined, begun = joined + line, begun or number
        if not continued:
            yield begun, joined.strip()
            joined, begun = "", 0
    if joined:
        yield begun, joined.strip()


def _span(ends: re.Match) -> range:
    """The indices of an array, which may run downwards."""
    first, last = int(ends[1]), int(ends[2])
    return range(first, last + 1) if first <= last else range(first, last - 1, -1)


def _entries(line: str, j: int) -> str:
    """Write out the entries of arrays at an index, `x[j-1]` as x3."""

    def at(match: re.Match) -> str:
        if match[4]:
            return match[4]
        return str(int(match[1] or match[2] or 1) * j + int((match[3] or "0").replace(" ", "")))

    return ENTRY.sub(at, line)


def _read(found: _Read, number: int, line: str) -> bool:
    """Read one line; return whether it ends the file."""
    if line[0] == "@":
        found.options.update(re.findall(rf"({NAME})\s*=\s*([^\s,]+)", line))
        return False
    if re.fullmatch(r"[-\d\s.,]+", line):
        raise _refused(number, line, "equations in the old format, which begins with numbers")
    command = COMMAND.fullmatch(re.sub(r"^global(?=[-+\d{])", "global ", line))
    if command is None:
        found.statements.append((number, _equation(number, line, line)))
        return False
    word, rest = command[1], command[2] or ""
    kind = KINDS.get(word[:2], KINDS.get(word[:1]))
    if kind is None:
        raise _refused(number, line, f"an unknown declaration, `{word}`")
    if kind in REFUSED:
        raise _refused(number, line, REFUSED[kind])
    if kind == "wiener":
        found.noises.extend(re.findall(NAME, rest))
    elif kind in ("par", "number", "init"):
        start = "(0)" if kind == "init" else ""
        pairs = _pairs(number, line, rest)
        found.statements.extend((number, f"{name}{start} = {value or '0'}") for name, value in pairs)
        found.parameters.extend(name for name, _ in pairs if kind == "par")
    elif kind == "global":
        found.events.append((number, line, rest))
    elif kind == "table":
        found.statements.append((number, _table(number, line, rest)))
    elif kind == "aux":
        name, _, value = rest.partition("=")
        if name.strip() != value.strip():  # else it is the same quantity, to be plotted
            name = re.sub(r"[^a-z0-9_]", "_", name.strip())
            found.plotted.append((number, name, _equation(number, line, f"{name}={value}")))
    return kind == "done"


def _pairs(number: int, line: str, rest: str) -> list[tuple[str, str]]:
    """Names with their numbers; XPPAUT reads the first digits of anything else, and a name as zero."""
    pairs = PAIR.findall(rest)
    if PAIR.sub("", rest).strip(" \t,;"):
        raise _refused(number, line, "more than names with values, as in `par a=1, b=2`")
    formula = next((value for _, value in pairs if value and not re.fullmatch(NUMBER, value)), None)
    if formula:
        raise _refused(number, line, f"the formula `{formula}` where XPPAUT reads a number only")
    return pairs


def _named_apart(found: _Read) -> list[tuple[int, str]]:
    """Auxiliary quantities; one that has the name of something else, which XPPAUT allows, is called `NAME_aux`."""
    known = {match[1] for _, one in found.statements if (match := HEAD.match(one))}
    written = []
    for number, name, text in dict.fromkeys(found.plotted):
        own = name if name not in known else f"{name}_aux"
        while own in known:
            own += "_"
        known.add(own)
        written.append((number, own + text[len(name) :]))
    return written


def _renamed(body: str, found: _Read) -> str:
    """Statements with names that do not mean anything else in our grammar, and noises as `dW_NAME`."""
    own = {match[1] for _, one in found.statements if (match := HEAD.match(one))}
    functions = {match[1] for _, one in found.statements if (match := re.match(rf"({NAME})\s*\((?!0\)|t\+1\))", one))}
    taken = functions & {*ARGUMENTS, *ALIASES} | (own & {"and", "or"})
    names = {name: f"{name}_" for name in taken} | {name: f"dW_{name}" for name in found.noises}
    if not names:
        return body
    return re.sub(rf"\b({'|'.join(map(re.escape, names))})\b", lambda match: names[match[1]], body)


def _equation(number: int, line: str, text: str) -> str:
    """An equation or a definition, in our notation."""
    if re.match(r"0\s*=", text):
        raise _refused(number, line, "algebraic equations")
    head, equals, body = text.lstrip("!").strip().partition("=")
    head = re.sub(rf"^({NAME})\s*\(\s*t\s*\+\s*1\s*\)\s*$", r"\1(t+1) ", head)
    return f"{head}{equals}{_expression(number, line, body)}"


def _expression(number: int, line: str, text: str) -> str:
    """An expression in our notation, with parentheses where XPPAUT groups in another way."""
    for name, what in CALLS.items():
        if re.search(rf"\b{name}\s*\(", text):
            raise _refused(number, line, what)
    if re.search(r"\bint\s*[\[{]", text):
        raise _refused(number, line, "Volterra integrals")
    text = _without_shifts(number, line, text)
    text = re.sub(r"\)\s*then\s*\(", ", ", re.sub(r"\)\s*else\s*\(", ", ", text))
    if SUM.search(text):
        text = re.sub(r"\bi'", "index_", SUM.sub(r"sum(index_=\1..\2, ", text))
    text = text.replace("{", "(").replace("}", ")")
    if not GROUPED.search(text):
        return text
    plain = source(text)
    try:
        body = expression(plain, tokens(plain), len(text), XPPAUT)
    except ArgumentError:  # the error is raised again with its place when the equations are read
        return text
    return written(body, PLAIN).text


def _without_shifts(number: int, line: str, text: str) -> str:
    """An expression with entries of arrays that are given by a shift, such as x3 for `shift(x1,2)`.

    A sum over such entries is written out.
    """
    if not SHIFT.search(text):
        return text
    begin = 0
    while found := SUM.search(text, begin):
        begin, end = found.end(), _closing(text, found.end())
        term, low, high = text[begin:end], _whole(found[1]), _whole(found[2])
        if SHIFT.search(term):
            if low is None or high is None or high - low >= LARGEST_RANGE:
                raise _refused(number, line, "a sum over shifted variables without whole numbers as its ends")
            terms = [re.sub(r"\bi'", f"({k})", term) for k in range(low, high + 1)]
            text = f"{text[: found.start()]}({' + '.join(f'({one})' for one in terms) or 0}{text[end:]}"
            begin = found.start()
    while found := OF_ENTRY.search(text):
        end = _closing(text, found.end())
        places = _whole(text[found.end() : end])
        if places is None:
            raise _refused(number, line, "a variable that is not shifted by a whole number")
        text = f"{text[: found.start()]}{found[1]}{int(found[2]) + places}{text[end + 1 :]}"
    if SHIFT.search(text):
        raise _refused(number, line, "shifted variables that are no entries of an array")
    return text


def _closing(text: str, begin: int) -> int:
    """The place of the bracket that closes what is open at a place; the end of the text if there is none."""
    depth = 1
    for k in range(begin, len(text)):
        depth += {"(": 1, ")": -1}.get(text[k], 0)
        if not depth:
            return k
    return len(text)


def _whole(text: str) -> int | None:
    """The value of an expression of whole numbers, or None for another."""
    plain = source(text)
    try:
        body = expression(plain, tokens(plain), len(text), XPPAUT)
        if any(one.kind not in ("number", "operator") for one in body):
            return None
        scope = Scope(plain, (), "", noisy=False)
        value = scope.graph.constant(scope.resolved(body))
    except ArgumentError:
        return None
    return None if value is None or not value.is_integer() else int(value)


def _event(number: int, line: str, rest: str, parameters: Sequence[str]) -> str:
    """A global event as a transition; `arret=1` ends the run, and `out_put` and `no_interp` are ours to choose.

    XPPAUT computes the values in order, with the components, but not the parameters, that the event has set before.
    """
    read = re.fullmatch(r"([-+]?[01])\s*(.+?)\s*\{([^{}]*)\}\s*", rest.strip())
    if read is None:
        must = "have events such as `global 1 v-vt {v=c;u=u+d}`"
        raise ArgumentError(
            "path", f"name a file whose lines {must}", f"line {number}, `{line[:40]}`, has another form"
        )
    sign = {"1": ">", "+1": ">", "-1": "<"}.get(read[1], "==")
    guard = _expression(number, line, read[2].strip().removeprefix("{").removesuffix("}"))
    parts = [one.strip() for one in read[3].split(";")]
    parts = [one for one in parts if one and not re.match(r"(out_put|no_interp)\s*=", one)]
    parts = ["stop" if re.match(r"arret\s*=\s*[^0\s]", one) else _equation(number, line, one) for one in parts]
    earlier: dict[str, str] = {}
    for k, (name, equals, value) in enumerate([one.partition("=") for one in parts]):
        if earlier:
            known = "|".join(map(re.escape, earlier))
            value = re.sub(rf"\b({known})\b", lambda match: f"({earlier[match[1]].strip()})", value)
        parts[k] = f"{name}{equals}{value}"
        if equals and name.strip() not in parameters:
            earlier[name.strip()] = value
    return f"when({', '.join([f'{guard} {sign} 0', *parts])})"


def _table(number: int, line: str, rest: str) -> str:
    """A table given by a formula, as a function; other tables are refused."""
    formula = re.fullmatch(rf"({NAME})\s*%\s*\S+\s+\S+\s+\S+\s+(.+)", rest)
    if formula is None:
        raise _refused(number, line, "tables from files")
    body = re.sub(r"\bt\b", "table_", _expression(number, line, formula[2]))
    return f"{formula[1]}(table_) = {body}"


def _refused(number: int, line: str, what: str) -> ArgumentError:
    shown = line if len(line) < 40 else f"{line[:40]}..."
    return ArgumentError(
        "path", "name a file without what dynsim does not have", f"line {number}, `{shown}`, has {what}"
    )
