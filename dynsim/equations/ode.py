"""Read `.ode` files of XPPAUT as the text of equations."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from dynsim.equations.ode_options import method, option_comments
from dynsim.errors import ArgumentError

REFUSED = {
    "markov": "Markov variables", "bdry": "boundary conditions", "bndry": "boundary conditions",
    "special": "special network functions", "solv": "algebraic equations", "volterra": "Volterra equations",
    "export": "dynamic libraries", "vector": "vectors",
}  # fmt: skip
"""Declarations that have no equation of ours, and what they are."""
CALLS = {
    "delay": "delays", "del_shft": "delays", "shift": "shifted variables", "ran": "random numbers",
    "normal": "random numbers", "poisson": "random numbers", "besselj": "Bessel functions",
    "bessely": "Bessel functions", "int": "Volterra integrals", "hom_bcs": "boundary conditions", "set": "set",
}  # fmt: skip
"""Functions that are refused, and what they are."""
WORDS = {
    **dict.fromkeys(("p", "par", "n", "num", "number"), "par"), **dict.fromkeys(("i", "init"), "init"),
    **dict.fromkeys(("a", "aux"), "aux"), **dict.fromkeys(("w", "wiener"), "wiener"),
    **dict.fromkeys(("table", "tab"), "table"), **dict.fromkeys(("options", "option", "set", "only"), ""),
    "mksol": "solv", "b": "bdry", "done": "done", "d": "done", "global": "global",
    **{name: name for name in REFUSED},
}  # fmt: skip
"""What the first word of a line declares; nothing of ours for some."""
NAME = r"[a-z_]\w*"
PAIR = re.compile(rf"({NAME})\s*(?:\(0\))?\s*(?:=\s*([^\s,=]+)|(?=[\s,]|$))")
RANGED = re.compile(r"\[\s*(\d+)\s*\.\.\s*(\d+)\s*\]")
ENTRY = re.compile(r"\[\s*(\d*)\s*\*?\s*j\s*([-+]\s*\d+)?\s*\]|\[\s*(\d+)\s*\]")
STATE = re.compile(rf"^(?:d({NAME})\s*/\s*dt|({NAME})\s*(?:'|\(n\+1\)))\s*=")
DERIVATIVE = re.compile(rf"^(?:({NAME})\s*'|d({NAME})\s*/\s*dt)\s*=")
SUM = re.compile(r"sum\s*\(([^(),]+),([^(),]+)\)\s*of\s*\(")


class _Read(NamedTuple):
    """What the lines of a file declare, as statements of ours."""

    statements: list[str]
    options: dict[str, str]
    noises: list[str]
    plotted: list[tuple[str, str]]
    parameters: list[str]
    events: list[tuple[int, str, str]]


def from_ode(content: str) -> str:
    """The text of equations that an `.ode` file stands for.

    Parameters, initial values, fixed and auxiliary quantities, derived parameters, functions, tables given by a
    formula, arrays `x[1..10]`, Wiener variables and global events are read; names are in lower case. The limits of the
    plot, of the time (`total`), and of the first parameter in AUTO (`parmin`, `parmax`) become ranges; `dt`, `bounds`
    and stiff methods become defaults of `dynsim simulate`, and the method `discrete` makes a map. A comment names the
    other options. What has no equation here is refused by its name: delays, Markov variables, boundary conditions,
    tables from files, algebraic equations.
    """
    found = _Read([], {}, [], [], [], [])
    for number, line in _lines(content):
        if _read(found, number, line):
            break
    found.statements.extend(_event(number, line, rest, found.parameters) for number, line, rest in found.events)
    states = {match[1] or match[2] for one in found.statements if (match := STATE.match(one))}
    if method(found.options) == "d":  # discrete: x' is the next state
        found.statements[:] = [DERIVATIVE.sub(r"\1\2(n+1) =", one) for one in found.statements]
    found.statements.extend(_named_apart(found))
    noises = "|".join(map(re.escape, found.noises))
    body = [re.sub(rf"\b({noises})\b", r"dW_\1", one) if noises else one for one in found.statements]
    is_map = any("(n+1)" in one for one in body)
    if is_map:
        body = [re.sub(r"\bt\b", "n", one) for one in body]
    return "\n".join([*body, *option_comments(found.options, states, found.parameters, is_map=is_map)])


def _lines(content: str) -> list[tuple[int, str]]:
    """Lines with their numbers, continued ones joined, arrays written out, in lower case and without comments."""
    joined, begun, rows = "", 0, []
    for number, raw in enumerate(content.splitlines(), 1):
        line = raw.rstrip()
        begun = begun or number
        if line.endswith("\\"):
            joined += line[:-1]
            continue
        rows.append((begun, (joined + line).strip()))
        joined, begun = "", 0
    if joined:
        rows.append((begun, joined.strip()))
    found: list[tuple[int, str]] = []
    block: list[tuple[int, str]] = []
    span: tuple[int, int] | None = None
    for number, line in rows:
        if not line or line[0] in '#"':
            continue
        line = (line if line[0] == "@" else line.split("#")[0]).strip().lower()
        opened = re.fullmatch(r"%\s*\[(\d+)\.\.(\d+)\]\s*", line)
        if opened:
            span, block = (int(opened[1]), int(opened[2])), []
        elif line[0] == "%" and span:
            found += [(n, _entries(one, j)) for j in range(span[0], span[1] + 1) for n, one in block]
            span = None
        elif line[0] == "%":
            continue  # a comment
        elif span:
            block.append((number, line))
        else:
            ranged = RANGED.search(line) if line[0] != "@" else None
            places = range(int(ranged[1]), int(ranged[2]) + 1) if ranged else (None,)
            found += [(number, line if j is None else _entries(RANGED.sub(str(j), line), j)) for j in places]
    return found


def _entries(line: str, j: int) -> str:
    """Write out the entries of arrays at an index, `x[j-1]` as x3."""

    def at(match: re.Match) -> str:
        if match[3]:
            return match[3]
        return str(int(match[1] or 1) * j + int((match[2] or "0").replace(" ", "")))

    return ENTRY.sub(at, line)


def _read(found: _Read, number: int, line: str) -> bool:
    """Read one line; return whether it ends the file."""
    if line[0] == "@":
        found.options.update(re.findall(rf"({NAME})\s*=\s*([^\s,]+)", line))
        return False
    if re.fullmatch(r"[-\d\s.,]+", line):
        raise _refused(number, line, "equations in the old format, which begins with numbers")
    word, _, rest = re.sub(r"^global(?=[-+\d{])", "global ", line).partition(" ")
    word = "par" if word.startswith("par") else word
    alone = not rest.strip() or re.match(r"\s*=", rest)
    kind = WORDS.get(word) if not alone or word in ("done", "d") else None
    if kind == "done":
        return True
    if kind in REFUSED:
        raise _refused(number, line, REFUSED[str(kind)])
    if kind == "":
        return False
    if kind == "wiener":
        found.noises.extend(re.findall(NAME, rest))
    elif kind in ("par", "init"):
        start = "(0)" if kind == "init" else ""
        pairs = PAIR.findall(rest)
        found.statements.extend(f"{name}{start} = {value or '0'}" for name, value in pairs)
        found.parameters.extend(name for name, _ in pairs if kind == "par")
    elif kind == "global":
        found.events.append((number, line, rest))
    elif kind == "table":
        found.statements.append(_table(number, line, rest))
    else:
        if kind != "aux":
            found.statements.append(_equation(number, line, line))
            return False
        name, _, value = rest.partition("=")
        if name.strip() != value.strip():  # else it is the same quantity, to be plotted
            name = re.sub(r"[^a-z0-9_]", "_", name.strip())
            found.plotted.append((name, _equation(number, line, f"{name}={value}")))
    return False


def _named_apart(found: _Read) -> list[str]:
    """Auxiliary quantities; one that has the name of something else, which XPPAUT allows, is called `NAME_aux`."""
    heads = (re.match(NAME, re.sub(rf"^d({NAME})/dt", r"\1", one)) for one in found.statements)
    known = {match[0] for match in heads if match}
    written = []
    for name, text in dict.fromkeys(found.plotted):
        own = name if name not in known else f"{name}_aux"
        while own in known:
            own += "_"
        known.add(own)
        written.append(own + text[len(name) :])
    return written


def _equation(number: int, line: str, text: str) -> str:
    """An equation or a definition, in our notation."""
    for name, what in CALLS.items():
        if re.search(rf"\b{name}\s*[(\[{{]", text):
            raise _refused(number, line, what)
    if re.match(r"0\s*=", text):
        raise _refused(number, line, "algebraic equations")
    text = text.lstrip("!").strip()
    text = re.sub(r"\)\s*then\s*\(", ", ", re.sub(r"\)\s*else\s*\(", ", ", text))
    text = re.sub(rf"^({NAME})\s*\(t\s*\+\s*1\)\s*=", r"\1(n+1) =", text)
    if SUM.search(text):
        text = SUM.sub(r"sum(index_=\1..\2, ", text).replace("i'", "index_")
    return text.replace("{", "(").replace("}", ")")


def _event(number: int, line: str, rest: str, parameters: Sequence[str]) -> str:
    """A global event as a transition; `arret=1` ends the run, and `out_put` is ours to choose.

    XPPAUT computes the values in order, with the components, but not the parameters, that the event has set before.
    """
    read = re.fullmatch(r"([-+]?[01])\s*(.+?)\s*\{([^{}]*)\}\s*", rest.strip())
    if read is None:
        must = "have events such as `global 1 v-vt {v=c;u=u+d}`"
        raise ArgumentError(
            "path", f"name a file whose lines {must}", f"line {number}, `{line[:40]}`, has another form"
        )
    sign = {"1": ">", "+1": ">", "-1": "<"}.get(read[1], "==")
    guard = _equation(number, line, read[2].strip().removeprefix("{").removesuffix("}"))
    parts = [one.strip() for one in read[3].split(";") if one.strip() and not one.strip().startswith("out_put")]
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
    body = re.sub(r"\bt\b", "table_", formula[2])
    return f"{formula[1]}(table_) = {body}"


def _refused(number: int, line: str, what: str) -> ArgumentError:
    shown = line if len(line) < 40 else f"{line[:40]}..."
    return ArgumentError(
        "path", "name a file without what dynsim does not have", f"line {number}, `{shown}`, has {what}"
    )
