"""Read equations as they are printed: Greek letters, subscripts, minus signs and primes become plain characters."""

import functools
import unicodedata
from typing import NamedTuple

from dynsim.errors import ArgumentError

MINUS = "\u2010\u2011\u2012\u2013\u2014\u2212\ufe63\uff0d"
TIMES = "\u00b7\u00d7\u2219\u22c5\u2217\u2022"
SLASHES = "\u00f7\u2044\u2215"
PRIMES = "\u2019\u2032\u02b9\u00b4\u02bc\u2018`"
SPACES = "\u00a0\u00ad\u2061\u2062\u2063\u200b\u200c\u200d\ufeff\u2009\u202f\t\r\f\v"
SPECIAL = {
    **dict.fromkeys(MINUS, "-"), **dict.fromkeys(TIMES, "*"), **dict.fromkeys(SLASHES, "/"),
    **dict.fromkeys(PRIMES, "'"), **dict.fromkeys(SPACES, " "),
    "\u2033": "''", "\u2034": "'''", '"': "''", "\u201d": "''",
    "\u2264": "<=", "\u2265": ">=", "\u2260": "!=", "\u2a7d": "<=", "\u2a7e": ">=", "\u221a": "sqrt ",
    "\u2227": " and ", "\u2228": " or ", "\u00ac": " not ", "\u2026": "..", "\u2028": "\n", "\u2029": "\n",
}  # fmt: skip
DOTS = {
    "\u0307": 1,
    "\u0308": 2,
    "\u20db": 3,
}  # combining dots above a letter, which say how often it is differentiated
EXCERPT = 24  # characters of the text that an error quotes
WIDTH = 76  # characters of the line that is shown below an error, so that it fits a terminal


class PlainText(NamedTuple):
    """A text, the plain characters that it stands for, and the place in the text of each of them."""

    text: str
    plain: str
    places: tuple[int, ...]  # empty if the text is plain already
    argument: str = "text"

    def error(self, at: int, must: str, but: str, near: str = "") -> ArgumentError:
        """An error at a place of the plain characters: its line and column in the text, what stands there, a hint."""
        place = (self.places[at] if at < len(self.places) else len(self.text)) if self.places else at
        before = self.text[:place]
        line, column = before.count("\n") + 1, place - (before.rfind("\n") + 1) + 1
        rest = self.text[place:].split("\n", 1)[0].rstrip()
        rest = rest.encode("utf-8", "replace").decode()
        quoted = f"`{rest[:EXCERPT]}{'...' if len(rest) > EXCERPT else ''}`" if rest else "the end"
        where = f"column {column}" if "\n" not in self.text.rstrip() else f"line {line}, column {column}"
        found = ArgumentError(self.argument, must, f"{but} at {where}, {quoted}{near}")
        if self.text.strip():
            found.add_note(self.pointer(place, column))
        return found

    def pointer(self, place: int, column: int) -> str:
        """The line of a place of the text, at most `WIDTH` characters of it, with a caret below the place."""
        line = self.text[place - column + 1 :].split("\n", 1)[0].encode("utf-8", "replace").decode()
        line = "".join(letter if letter.isprintable() else " " for letter in line)
        first = max(0, column - 1 - WIDTH // 2)
        caret = sum(2 if unicodedata.east_asian_width(c) in "WF" else not unicodedata.combining(c)
                    for c in line[first : column - 1])  # fmt: skip
        return f"  {line[first : first + WIDTH]}\n  {' ' * caret}^"


def source(text: str, argument: str = "text") -> PlainText:
    """Replace the characters of print by plain ones.

    Greek letters are spelled out, and one that touches a Latin letter is a name of its own; a digit as a subscript
    belongs to the name; exponents and dots above letters are understood.
    """
    if text.isascii() and not set('\t\r\f\v"`') & set(text):
        return PlainText(text, text, (), argument)
    found: list[tuple[str, int]] = []
    primes, raised = 0, False
    for place, letter in enumerate(text):
        word, dots, kind = _read(letter)
        if primes and not (kind in ("letter", "below", "greek") or word.isalnum() or word == "_" or dots):
            found.append(("'" * primes, place))
            primes = 0
        if kind == "above":
            word = word if raised else f"^{word}"
        elif kind == "greek" and place and _is_latin(text[place - 1]):
            word = f" {word}"
        if kind == "greek" and _is_latin(text[place + 1 : place + 2]):
            word = f"{word} "
        raised = kind == "above"
        found.append((word, place))
        primes += dots
    found.append(("'" * primes, len(text)))
    places = tuple(place for word, place in found for _ in word)
    return PlainText(text, "".join(word for word, _ in found), places, argument)


def _is_latin(letter: str) -> bool:
    return letter.isalpha() and not _read(letter)[2]


@functools.lru_cache(maxsize=4096)
def _read(letter: str) -> tuple[str, int, str]:
    """The plain characters for one, the number of dots above it, and its kind if that is special."""
    if letter.isascii():
        return SPECIAL.get(letter, letter), 0, ""
    if letter in SPECIAL:
        return SPECIAL[letter], 0, ""
    if letter in DOTS:
        return "", DOTS[letter], ""
    parts = unicodedata.decomposition(letter)
    plain = unicodedata.normalize("NFKC", letter)
    if parts.startswith("<super>"):
        return SPECIAL.get(plain, plain), 0, "above"
    if parts.startswith("<sub>"):
        return plain if plain.isdigit() else SPECIAL.get(plain, f"_{plain}"), 0, "below"
    if parts.startswith("<fraction>"):
        return f"({''.join(SPECIAL.get(one, one) for one in plain)})", 0, ""
    base, *marks = unicodedata.normalize("NFD", letter)
    if marks and marks[0] in DOTS:
        return base, DOTS[marks[0]], "letter"
    words = unicodedata.name(plain[:1] or " ", "").split()
    if words[:1] == ["GREEK"] and "LETTER" in words and len(plain) == 1:
        name = words[words.index("LETTER") + 1].lower().replace("lamda", "lambda")
        name = "sigma" if name == "final" else name
        return name.capitalize() if "CAPITAL" in words else name, 0, "greek"
    return "".join(SPECIAL.get(one, one) for one in plain), 0, ""
