"""Split the text of equations into words, numbers and signs, and these into statements."""

import re
from typing import NamedTuple

from dynsim.equations.characters import PlainText

LEXEME = re.compile(
    r"(?P<space>[ ]+|\\[ ]*\n)"
    r"|(?P<comment>\#[^\n]*)"
    r"|(?P<number>(?:\d+(?:\.(?!\.)\d*)?|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[^\W\d]\w*)"
    r"|(?P<sign>\*\*|<=|>=|==|!=|&&|\|\||\.\.\.?|[-+*/^<>=(),;\[\]'!&|\n])"
)
SAME = {"**": "^", "&&": "and", "&": "and", "||": "or", "|": "or", "!": "not", "...": ".."}
OPEN, CLOSED = {"(": ")", "[": "]"}, (")", "]")
ADVICE = {
    "{": ": use parentheses", "}": ": use parentheses", "%": ": comments begin with #, a remainder is mod(a, b)",
    ":": "", "\\": "",
}  # fmt: skip
CONTINUED = ("+", "-", "*", "/", "^", "=", "<", ">", "<=", ">=", "==", "!=", "and", "or", "not", ",")
LONGEST_NAME = 100
"""Most characters of a name, so that errors can quote it."""
WORDS = ("and", "or", "not")
WIDE = ("+", "-", "<", ">", "<=", ">=", "==", "!=", "and", "or", "=")
"""Signs that are spelled with spaces around them."""


class Token(NamedTuple):
    """A word, a number or a sign, and its place in the plain text."""

    kind: str
    text: str
    at: int


class StatementTokens(NamedTuple):
    """The tokens between two separators, and the comment at the end of its last line."""

    tokens: list[Token]
    comment: str = ""


def tokens(text: PlainText) -> list[Token]:
    """Split a text into tokens; raise `ArgumentError` at a character that has no meaning."""
    found, at, plain = [], 0, text.plain
    while at < len(plain):
        match = LEXEME.match(plain, at)
        if match is None:
            must = f"consist of names, numbers and operators{ADVICE.get(plain[at], '')}"
            raise text.error(at, must, "has another character")
        kind, word = str(match.lastgroup), match.group()
        if kind == "name" and len(word) > LONGEST_NAME:
            raise text.error(at, f"have names of at most {LONGEST_NAME} characters", "has a longer one")
        if kind != "space":
            word = SAME.get(word, word)
            found.append(Token("sign" if word in WORDS else kind, word, at))
        at = match.end()
    return found


def statements(text: PlainText) -> list[StatementTokens]:
    """Split a text at semicolons, line ends and commas that are not in brackets.

    A line that ends in an operator goes on in the next one.

    Raises:
        ArgumentError: for brackets that do not match.
    """
    found, current, brackets, comment_of = [], [], [], None
    for token in tokens(text):
        if token.kind == "comment":
            goes_on = brackets or current and current[-1].text in CONTINUED
            if current and not goes_on:
                found.append(StatementTokens(current, token.text[1:]))
                current = []
            elif not current:  # a line of its own, or after a semicolon
                same = comment_of is not None and "\n" not in text.plain[comment_of : token.at]
                if same and found and not found[-1].comment:
                    found[-1] = found[-1]._replace(comment=token.text[1:])
                else:
                    found.append(StatementTokens([], token.text[1:]))
            continue
        if token.text in OPEN:
            brackets.append(token)
        elif token.text in CLOSED:
            if not brackets or OPEN[brackets.pop().text] != token.text:
                raise text.error(token.at, "have matching brackets", f"has `{token.text}` without its partner")
        elif not brackets and token.text in (";", ",", "\n"):
            if current and not (token.text == "\n" and current[-1].text in CONTINUED):
                found.append(StatementTokens(current))
                comment_of, current = token.at, []
            continue
        if token.text != "\n":
            current.append(token)
    if brackets:
        raise text.error(brackets[-1].at, "have matching brackets", f"has `{brackets[-1].text}` without its partner")
    return [*found, StatementTokens(current)] if current else found


def spelled(words: list[Token]) -> str:
    """Write tokens in one way, so that texts that differ in spaces only become equal."""
    parts, before, depth, indices = [], "", 0, 0
    for token in words:
        depth += (token.text in OPEN) - (token.text in CLOSED)
        indices += (token.text == "[") - (token.text == "]")
        signed = token.text in ("+", "-") and (before in ("", "(", "[", *CONTINUED))
        tight = signed or indices or token.text == "=" and depth
        if token.text == "not":
            parts.append("not ")
        elif token.text in WORDS or token.text in WIDE and not tight:
            parts.append(f" {token.text} ")
        else:
            parts.append(", " if token.text == "," else token.text)
        before = token.text
    return "".join(parts)
