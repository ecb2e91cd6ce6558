"""Read the statements `when(...)` of equations as text, which are transitions of a hybrid system."""

from collections.abc import Sequence
from typing import NamedTuple

from dynsim.equations.characters import PlainText, source
from dynsim.equations.expressions import Instruction
from dynsim.equations.tokens import CLOSED, OPEN, Token, statements

DIRECTIONS = {">": 1, ">=": 1, "<": -1, "<=": -1, "==": 0}
STOP = "stop"


class WhenStatement(NamedTuple):
    """A statement `when(guard, name = value, ...)`: its name, direction, what it sets, and whether runs end."""

    name: str
    direction: int
    targets: tuple[str, ...]
    terminal: bool


class TransitionRule(NamedTuple):
    """A transition as expressions: its guard, the direction in which that crosses zero, and the values that it sets."""

    guard: tuple[Instruction, ...]
    direction: int
    sets: dict[str, tuple[Instruction, ...]]
    terminal: bool


class TransitionTexts(NamedTuple):
    """Equations without their statements `when(...)`, and these.

    Attributes:
        text: the equations, with the guards and the values of transitions as quantities such as `when1` and `when1_v`.
        statements: the transitions.
        conditions: the comparison of each transition, as the text has it.
    """

    text: str
    statements: tuple[WhenStatement, ...]
    conditions: tuple[str, ...]


def with_transitions(text: str) -> TransitionTexts:
    """Split equations into those of the flow and transitions; everything keeps its line."""
    plain = source(text)
    found, conditions = list[WhenStatement](), list[str]()
    parts, end = list[str](), 0
    for words in (one.tokens for one in statements(plain)):
        if len(words) > 1 and words[0].text == "when" and words[1].text == "(":
            after = words[-1].at + len(words[-1].text)
            lines = plain.plain.count("\n", words[0].at, after)
            parts += [plain.plain[end : words[0].at], _definitions(plain, words, found, conditions), "\n" * lines]
            end = after
    if not found:
        return TransitionTexts(text, (), ())
    return TransitionTexts("".join([*parts, plain.plain[end:]]), tuple(found), tuple(conditions))


def _definitions(text: PlainText, words: Sequence[Token], found: list[WhenStatement], conditions: list[str]) -> str:
    """The definitions that a statement `when(...)` stands for."""
    guard, *sets = _arguments(words[2:-1])
    name = f"when{len(found) + 1}"
    signs = [k for k, word in enumerate(guard) if word.text in DIRECTIONS]
    if len(signs) != 1 or not 0 < signs[0] < len(guard) - 1 or words[-1].text != ")":
        raise text.error(words[0].at, "give `when` a comparison first, as in `when(v > 1, v = 0)`", "gives another one")
    left, right = (_joined(text, part) for part in (guard[: signs[0]], guard[signs[0] + 1 :]))
    terminal = any([word.text for word in part] == [STOP] for part in sets)
    sets = [part for part in sets if [word.text for word in part] != [STOP]]
    lines, targets = [f"{name} = ({left}) - ({right})"], list[str]()
    for part in sets:
        if len(part) < 3 or part[0].kind != "name" or part[1].text != "=":
            raise text.error(part[0].at if part else words[0].at, "set names, as in `v = 0`, or `stop`", "does not")
        targets.append(part[0].text)
        lines.append(f"{name}_{part[0].text} = {_joined(text, part[2:])}")
    if len(set(targets)) < len(targets):
        raise text.error(words[0].at, "set each name once in a transition", "sets one twice")
    conditions.append(_joined(text, guard))
    found.append(WhenStatement(name, DIRECTIONS[guard[signs[0]].text], tuple(targets), terminal))
    return "; ".join(lines)


def _arguments(words: Sequence[Token]) -> list[list[Token]]:
    """Split tokens at the commas that are not in brackets."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for word in words:
        depth += (word.text in OPEN) - (word.text in CLOSED)
        if word.text == "," and not depth:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def _joined(text: PlainText, words: Sequence[Token]) -> str:
    """The text of some tokens."""
    return text.plain[words[0].at : words[-1].at + len(words[-1].text)].replace("\n", " ")
