"""Write expressions with as few parentheses as their operators need, in the notation of some program."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from dynsim.equations.expressions import Instruction, Span
from dynsim.equations.functions import (
    ALIASES,
    BINARY,
    COMPARING,
    COMPARISONS,
    NOT,
    POWER,
    SIGN,
    SUM,
    SYMBOLS,
    TRUTHS,
)

ATOM = 10  # how strongly a number, a name or a call binds
RATIOS = {"sec": "1/cos({0})", "csc": "1/sin({0})", "cot": "1/tan({0})", "sech": "1/cosh({0})", "csch": "1/sinh({0})",
          "coth": "1/tanh({0})"}  # fmt: skip


class Piece(NamedTuple):
    """A part of an expression as text, how strongly its outermost operator binds, and whether it is true or false."""

    text: str
    binds: int = ATOM
    is_truth: bool = False


class Format(NamedTuple):
    """How a program writes names, operators and functions; functions that are not listed keep their name.

    `as_number` makes a number of what is true or false, and `as_truth` the reverse, where a program does not do it.
    `sums` writes a sum of a term over an index, and `explicit` puts parentheses around all operands of comparisons, and
    of `and` and `or`, for programs in which these bind in another way.
    """

    name: Callable[[str], str]
    signs: Mapping[str, str]
    calls: Mapping[str, str]
    as_number: str = ""
    as_truth: str = ""
    sums: str = "sum({index}={low}..{high}, {term})"
    explicit: bool = False


PLAIN = Format(str, {**SYMBOLS, "not": "not "}, {})
"""Our own grammar."""


def number(value: float) -> str:
    """Write a number, without a decimal point if it is whole."""
    return str(int(value)) if value % 1 == 0 and abs(value) < 1e15 else repr(value)


def written(body: Sequence[Instruction], form: Format, *, to_latex: bool = False) -> Piece:
    """Write an expression, with as few parentheses as its operators need."""
    stack: list[Piece] = []
    sums: list[tuple[int, Span]] = []
    for k, one in enumerate(body):
        given = stack[len(stack) - one.count :] if one.count and one.kind != "sum" else []
        del stack[len(stack) - len(given) :]
        if one.kind == "sum":
            sums.append((k + one.count, one.value))  # pyright: ignore[reportArgumentType]
            continue
        stack.append(_piece(one, given, form, to_latex))
        while sums and sums[-1][0] == k:
            _, span = sums.pop()
            term = _as_number(stack.pop(), form)
            inside = _inside(term, SUM + 1, True) if to_latex else term.text
            ends = {"index": span.index, "low": span.low, "high": span.high}
            stack.append(Piece(form.sums.format(term=inside, **ends), SUM + 1 if to_latex else ATOM))
    return _as_number(stack[0], form)


def _as_number(piece: Piece, form: Format) -> Piece:
    return Piece(form.as_number.format(piece.text)) if piece.is_truth and form.as_number else piece


def _as_truth(piece: Piece, form: Format) -> Piece:
    if piece.is_truth or not form.as_truth:
        return piece
    return Piece(form.as_truth.format(_inside(piece, COMPARING + 1, False)), COMPARING, True)


def _inside(piece: Piece, binds: int, to_latex: bool) -> str:
    if piece.binds >= binds:
        return piece.text
    return rf"\left({piece.text}\right)" if to_latex else f"({piece.text})"


def _piece(one: Instruction, given: list[Piece], form: Format, to_latex: bool) -> Piece:
    word: Any = one.value
    if one.kind == "number":
        mantissa, e, exponent = number(word).partition("e")
        if e and to_latex:
            return Piece(rf"{mantissa} \cdot 10^{{{int(exponent)}}}", SIGN)
        return Piece(number(word))
    if one.kind == "name":
        return Piece(form.name(word))
    if one.kind == "element":
        return Piece(f"{form.name(word)}_{{{given[0].text}}}")
    if one.kind == "call":
        name: Any = ALIASES.get(word, word)
        if name == "power":
            return _operated("pow", given, form, to_latex)
        first = _as_truth if name == "if" else _as_number
        texts = [piece.text for piece in (first(given[0], form), *(_as_number(one, form) for one in given[1:]))]
        if name in ("min", "max") and "two" in form.calls:
            nested = texts[0]
            for text in texts[1:]:
                nested = f"{name}({nested},{text})"
            return Piece(nested)
        plain = (
            rf"{form.name(name)}\left({', '.join(texts)}\right)"
            if to_latex
            else f"{form.name(name)}({', '.join(texts)})"
        )
        found = form.calls.get(name)
        text = plain if found is None else found.format(*texts, all=", ".join(texts))
        return Piece(text, SUM + 1 if name in RATIOS and found and "/" in found else ATOM)
    return _operated(word, given, form, to_latex)


def _operated(name: str, given: list[Piece], form: Format, to_latex: bool) -> Piece:
    given = [(_as_truth if name in ("and", "or", "not") else _as_number)(one, form) for one in given]
    if name == "not":  # always with parentheses: some programs apply it to a comparison, others to the next name
        return Piece(f"{form.signs['not']}{_inside(given[0], ATOM + 1, to_latex)}", NOT, True)
    if name == "neg":
        return Piece(f"-{_inside(given[0], SIGN, to_latex)}", SIGN - 1)
    left, right = given
    if to_latex and name == "div":
        return Piece(rf"\frac{{{left.text}}}{{{right.text}}}")
    if to_latex and name == "pow":
        return Piece(f"{_inside(left, ATOM, True)}^{{{right.text}}}", POWER)
    binds = BINARY[SYMBOLS[name]].binds
    sign = form.signs[name]
    if name == "pow":
        return Piece(f"{_inside(left, ATOM, False)}{sign}{_inside(right, ATOM, False)}", binds)
    tight = sign in "*/" and not to_latex
    inner = ATOM if form.explicit and name in TRUTHS else 0
    after = _inside(right, ATOM + 1 if right.text.startswith("-") else max(inner, binds + 1), to_latex)
    before = _inside(left, max(inner, binds + (name in COMPARISONS)), to_latex)  # comparisons are no chains
    return Piece(f"{before}{sign if tight else f' {sign} '}{after}", binds, name in TRUTHS)
