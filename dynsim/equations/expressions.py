"""Parse expressions by operator precedence into instructions for a stack, without recursion."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from dynsim.equations.characters import PlainText
from dynsim.equations.functions import ALIASES, ARGUMENTS, COMPARING, SIGN, USUAL, Grouping
from dynsim.equations.tokens import Token

DEEPEST = 8
"""Most sums inside each other."""

LARGEST_RANGE = 100_000
"""Most entries of a family, and most terms of a sum."""


class Instruction(NamedTuple):
    """One step of a stack machine: what it does, with how many values from the stack, and its place in the text.

    `kind` is number, name, element, call, operator or sum. A sum comes before its term, and `count` is the number of
    instructions of the term.
    """

    kind: str
    value: object
    count: int
    at: int


class Span(NamedTuple):
    """An index with its lowest and highest value."""

    index: str
    low: int
    high: int


class _Open(NamedTuple):
    """What waits on the stack of the parser: an operator, a bracket, a function or a sum."""

    kind: str
    value: object
    binds: int
    at: int
    arguments: int = 0
    begin: int = 0


def expression(
    text: PlainText, words: Sequence[Token], end: int, grouping: Grouping = USUAL
) -> tuple[Instruction, ...]:
    """Parse an expression; `end` is where the text goes on after it.

    Raises:
        ArgumentError: for anything that is not an expression, with its place and what was expected there.
    """
    return _Parser(text, words, end, grouping).parsed()


class _Parser:
    def __init__(self, text: PlainText, words: Sequence[Token], end: int, grouping: Grouping):
        self.text, self.words, self.end, self.grouping = text, words, end, grouping
        self.found: list[Instruction] = []
        self.stack: list[_Open] = []
        self.k = 0

    def parsed(self) -> tuple[Instruction, ...]:
        wanted = True  # whether an operand is expected, and not an operator
        while self.k < len(self.words):
            wanted = self.operand() if wanted else self.operator()
        if wanted:
            raise self.expected("a name, a number or `(`", None)
        while self.stack:
            self.emit(self.stack.pop())
        return tuple(self.found)

    def look(self, ahead: int = 0) -> str:
        """The text of a following token, or ""."""
        return self.words[self.k + ahead].text if self.k + ahead < len(self.words) else ""

    def expected(self, what: str, token: Token | None) -> Exception:
        at = self.end if token is None else token.at
        return self.text.error(at, f"have {what} here", "ends" if token is None else "has something else")

    def operand(self) -> bool:
        """Read what may begin an operand; return whether one is still expected."""
        token = self.words[self.k]
        if token.kind == "number":
            if math.isinf(float(token.text)):
                raise self.text.error(token.at, "have finite numbers", "has one that is too large")
            self.k += 1
            self.found.append(Instruction("number", float(token.text), 0, token.at))
            return False
        if token.kind == "name":
            return self.name(token)
        if token.text in ("(", "-", "+", "not"):
            self.k += 1
            if token.text == "(":
                self.stack.append(_Open("(", None, 0, token.at))
            elif token.text != "+":
                name, binds = ("not", self.grouping.negation) if token.text == "not" else ("neg", SIGN)
                self.stack.append(_Open("operator", name, binds, token.at, 1))
            return True
        what = "a name, a number or `(`"
        raise self.expected(f"{what} (an absolute value is `abs(x)`)" if token.text == "or" else what, token)

    def name(self, token: Token) -> bool:
        after, self.k = self.look(1), self.k + 1
        if after == "(":
            self.k += 1
            if token.text == "sum" and self.look(1) == "=":
                self.stack.append(self.summed(token))
            elif self.look() == ")":
                raise self.expected(f"an argument of `{token.text}`", self.words[self.k])
            else:
                self.stack.append(_Open("call", token.text, 0, token.at, 1))
            return True
        if after == "[":
            self.k += 1
            self.stack.append(_Open("[", token.text, 0, token.at, 1))
            return True
        primes = 0
        while self.look() == "'":
            primes, self.k = primes + 1, self.k + 1
        self.found.append(Instruction("name", token.text + "'" * primes, 0, token.at))
        return False

    def summed(self, token: Token) -> _Open:
        """Read the index of a sum, as in `sum(j=1..5, x[j])`."""
        span, self.k = read_span(self.text, self.words, self.k, self.end)
        if self.look() != ",":
            raise self.expected("`,` after the index of a sum", self.words[self.k] if self.look() else None)
        self.k += 1
        depth = 1 + sum(one.kind == "sum" for one in self.stack)
        if depth > DEEPEST:
            raise self.text.error(token.at, f"hold at most {DEEPEST} sums inside each other", "holds more")
        self.found.append(Instruction("sum", span, 0, token.at))
        return _Open("sum", span, 0, token.at, 1, len(self.found))

    def operator(self) -> bool:
        """Read what may follow an operand; return whether another operand is expected."""
        token = self.words[self.k]
        operator = self.grouping.binary.get(token.text)
        if operator is not None:
            self.k += 1
            stack = self.stack
            while stack and (
                stack[-1].binds > operator.binds or stack[-1].binds == operator.binds and not operator.right
            ):
                if operator.binds == COMPARING and stack[-1].binds == COMPARING:
                    must = "compare two values at a time, as in `0 < x and x < 1`"
                    raise self.text.error(token.at, must, "has another comparison")
                self.emit(stack.pop())
            stack.append(_Open("operator", operator.name, operator.binds, token.at, 2))
            return True
        if token.text in (")", "]", ","):
            return self.closed(token)
        if token.kind in ("name", "number") or token.text in ("(", "["):
            before = self.words[self.k - 1].text
            if before in ARGUMENTS or before in ALIASES or token.text in ("if", "else"):
                name = "if" if token.text in ("if", "else") else before
                form = "if(x > 0, a, b)" if name == "if" else f"{name}(...)"
                must = f"give the function `{name}` its arguments in parentheses, as in `{form}`"
                raise self.text.error(token.at, must, "does not")
            before = "(...)" if before in (")", "]") else before
            shown = "(...)" if token.text in ("(", "[") else token.text
            must = f"have an operator between factors, as in `{before if len(before) < 20 else '...'}*{shown}`"
            raise self.text.error(token.at, must, "has none")
        raise self.expected("an operator", token)

    def closed(self, token: Token) -> bool:
        """Read a closing bracket or a comma."""
        while self.stack and self.stack[-1].kind == "operator":
            self.emit(self.stack.pop())
        top = self.stack[-1] if self.stack else None
        if top is None or token.text == "," and top.kind != "call":
            raise self.expected("an operator", token)
        self.k += 1
        self.stack.pop()
        if token.text == ",":
            self.stack.append(top._replace(arguments=top.arguments + 1))
            return True
        if top.kind == "[":
            self.found.append(Instruction("element", top.value, 1, top.at))
        elif top.kind == "call":
            self.found.append(Instruction("call", top.value, top.arguments, top.at))
        elif top.kind == "sum":
            begin = top.begin
            self.found[begin - 1] = self.found[begin - 1]._replace(count=len(self.found) - begin)
        return False

    def emit(self, top: _Open) -> None:
        self.found.append(Instruction("operator", top.value, top.arguments, top.at))


def read_span(text: PlainText, words: Sequence[Token], k: int, end: int) -> tuple[Span, int]:
    """Read an index with its range, `i=1..20`, at a place; return it with the place after it."""
    parts = list(words[k : k + 2])
    place = words[k].at if k < len(words) else end
    must = "give an index its range, as in `i=1..20`"
    if len(parts) < 2 or parts[0].kind != "name" or parts[1].text != "=":
        raise text.error(place, must, "gives something else")
    k += 2
    bounds = []
    for _ in range(2):
        sign = 1
        if k < len(words) and words[k].text == "-":
            sign, k = -1, k + 1
        if k >= len(words) or words[k].kind != "number" or not float(words[k].text).is_integer():
            at = words[k].at if k < len(words) else end
            if k < len(words) and words[k].kind == "name":
                must = f"give `{words[k].text}`, which bounds a range, a whole number, as in `{words[k].text} = 20`"
                raise text.error(at, must, "gives it none")
            raise text.error(at, f"{must} of whole numbers", "has no whole number")
        bounds.append(sign * int(float(words[k].text)))
        k += 1
        if len(bounds) == 1:
            if k >= len(words) or words[k].text != "..":
                raise text.error(words[k].at if k < len(words) else end, must, "has no `..`")
            k += 1
    if bounds[1] - bounds[0] >= LARGEST_RANGE:
        raise text.error(place, f"have ranges of at most {LARGEST_RANGE:,} entries", "has a longer one")
    if bounds[0] > bounds[1]:
        raise text.error(place, "have a range that is not empty", f"has {bounds[0]}..{bounds[1]}")
    return Span(parts[0].text, *bounds), k
