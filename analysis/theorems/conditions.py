"""The conditions of a theorem, each with its value, its margin and how it was decided, and what follows from them."""

import functools
import inspect
import json
import math
import textwrap
from collections.abc import Callable
from typing import Any, NamedTuple, ParamSpec

import numpy as np
from jaxtyping import Float

from analysis.theorems.regions import Region, written
from analysis.theorems.subdivision import Decision
from dynsim._core.checked import checked
from dynsim._core.printing import one_line
from dynsim.notebook import picture, plot

HOLDS, FAILS, UNDECIDED = "holds", "fails", "undecided"
WIDTH = 100
P = ParamSpec("P")


class Hypothesis(NamedTuple):
    """One condition of a theorem.

    Attributes:
        words: the condition in words.
        inequality: the condition as an inequality.
        status: "holds", "fails" or "undecided".
        margin: by how much it holds, or fails if negative: a proven bound where it is decided by intervals or balls.
        decided: "intervals" or "balls", proved for the field as coded; "algebra", by the form of the field; "floats",
            by numbers with rounding errors; "told", taken from the call.
        error: error of the margin, of floats.
        boxes: number of boxes that were examined.
        left: sides of the boxes that are left undecided, (left, n, 2).
        witness: a point at which it fails, or None.
        signs: functions of a state that are positive where it holds, each with the region in which it counts, for
            figures; empty if it is about other points.
    """

    words: str
    inequality: str
    status: str
    margin: float = math.nan
    decided: str = "intervals"
    error: float = 0.0
    boxes: int = 0
    left: Float[np.ndarray, "left n 2"] = np.empty((0, 0, 2))
    witness: Float[np.ndarray, " n"] | None = None
    signs: tuple[tuple[Callable[[Any], Any], Region], ...] = ()

    __repr__ = one_line

    def __str__(self) -> str:
        """Describe the condition with its status in a few lines."""
        head = f"{self.status:9s} {self.words}: {self.inequality}"
        return textwrap.fill(f"{head} ({self._how()})", WIDTH, subsequent_indent=" " * 10)

    def _how(self) -> str:
        parts = []
        if self.status == HOLDS and not math.isnan(self.margin):
            parts.append(f"margin {self.margin:.3g}" + (f" +- {self.error:.1g}" if self.error else ""))
        if self.witness is not None:
            by = "" if math.isnan(self.margin) else f" by {abs(self.margin):.3g}"
            parts.append(f"fails at {written(self.witness)}{by}")
        elif self.status == FAILS and not math.isnan(self.margin):
            parts.append(f"off by {abs(self.margin):.3g}" + (f" +- {self.error:.1g}" if self.error else ""))
        if len(self.left) and self.status == UNDECIDED:
            parts.append(f"{len(self.left)} boxes left")
        how = {"told": "as told", "algebra": "by its form"}.get(self.decided, f"by {self.decided}")
        parts.append(f"{how} on {self.boxes:,} boxes" if self.boxes > 1 else how)
        return ", ".join(parts)


class Conditions(NamedTuple):
    """The conditions of a theorem for a system, and what follows if all hold.

    Attributes:
        theorem: its name.
        hypotheses: the conditions.
        conclusion: what follows if all of them hold.
        otherwise: what is lost if one fails.
        region: the region that is meant, or None.
        system: the system.
        numbers: numbers that the conclusion names, such as a rate or a constant.
        curves: curves of the plane that show it, by name, such as images of sets: points, (points, 2), or a function of
            a state that is zero on it.
        source: where it is stated and proved.
    """

    theorem: str
    hypotheses: tuple[Hypothesis, ...]
    conclusion: str
    otherwise: str
    region: Region | None = None
    system: Any = None
    numbers: dict[str, float] = {}
    curves: dict[str, Any] = {}
    source: str = ""

    __repr__ = one_line
    _repr_png_ = picture

    @property
    def status(self) -> str:
        """Whether the theorem applies: "holds" if all hypotheses hold, "fails" if one fails, "undecided" otherwise."""
        found = {one.status for one in self.hypotheses}
        return FAILS if FAILS in found else UNDECIDED if UNDECIDED in found else HOLDS

    @property
    def applies(self) -> bool:
        """Whether all hypotheses hold."""
        return self.status == HOLDS

    @property
    def is_certified(self) -> bool:
        """Whether no hypothesis was decided by floats."""
        return all(one.decided != "floats" for one in self.hypotheses)

    @property
    def failing(self) -> tuple[Hypothesis, ...]:
        """The hypotheses that fail."""
        return tuple(one for one in self.hypotheses if one.status == FAILS)

    def __str__(self) -> str:
        """List the hypotheses, and what follows."""
        where = "" if self.region is None else f" on {self.region}"
        follows = {
            HOLDS: f"It applies: {self.conclusion}.",
            FAILS: f"It does not apply: {self.otherwise}.",
            UNDECIDED: "It is undecided whether it applies; a larger budget or a smaller region may decide.",
        }[self.status]
        if self.numbers and self.status == HOLDS:
            follows += " " + ", ".join(f"{name} = {value:.6g}" for name, value in self.numbers.items()) + "."
        rows = [textwrap.indent(str(one), "  ") for one in self.hypotheses]
        return "\n".join(
            [
                f"{self.theorem}{where}",
                *rows,
                textwrap.fill(follows, WIDTH),
                textwrap.fill(f"Source: {self.source}.", WIDTH),
            ]
        )

    def to_json(self) -> str:
        """Write the conditions as JSON; points and boxes are lists, and what is not known is null."""
        plain = lambda value: None if isinstance(value, float) and not math.isfinite(value) else value
        rows = [
            {
                "words": one.words, "inequality": one.inequality, "status": one.status, "margin": plain(one.margin),
                "error": plain(one.error), "decided": one.decided, "boxes": one.boxes, "left": len(one.left),
                "witness": None if one.witness is None else [float(v) for v in one.witness],
            }
            for one in self.hypotheses
        ]  # fmt: skip
        found = {
            "theorem": self.theorem, "source": self.source, "status": self.status, "certified": self.is_certified,
            "region": None if self.region is None else str(self.region), "hypotheses": rows,
            "conclusion": self.conclusion, "otherwise": self.otherwise,
            "numbers": {name: plain(float(value)) for name, value in self.numbers.items()},
        }  # fmt: skip
        return json.dumps(found, indent=2, allow_nan=False)

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw the conditions in the plane: the region, the field, and where conditions hold, fail and are undecided.

        Args:
            ax: axes of matplotlib; without any, a figure is made; see `figures.plot`.
            options: those of `figures.plot`, of the parts `region`, `signs`, of the conditions on all of the region,
                `field`, `curves`, `undecided` and `witnesses`; `colour`.
        """
        return plot(self, ax, **options)


def theorem(fn: Callable[P, Conditions]) -> Callable[P, Conditions]:
    """Check the arguments of a theorem, and give its conditions the source that its docstring names."""
    said = inspect.cleandoc(fn.__doc__ or "").partition("\nSource: ")[2].partition("\n\n")[0]
    source, run = " ".join(said.split()).removesuffix("."), checked(fn)

    @functools.wraps(fn)
    def with_source(*args: P.args, **kwargs: P.kwargs) -> Conditions:
        return run(*args, **kwargs)._replace(source=source)

    return with_source


def decided(words: str, inequality: str, found: Decision) -> Hypothesis:
    """Take over what intervals decided."""
    status = UNDECIDED if found.is_empty else found.status
    margin = found.least if found.status == HOLDS else found.observed
    return Hypothesis(
        words, inequality, status, float(margin) if np.isfinite(margin) else math.nan, "intervals", 0.0,
        found.boxes, found.left, found.witness, _signs(found),
    )  # fmt: skip


def _signs(*parts: Decision) -> tuple[tuple[Callable[[Any], Any], Region], ...]:
    return tuple(part.sign_of for part in parts if part.sign_of is not None)


def together(words: str, inequality: str, parts: list[Decision]) -> Hypothesis:
    """Join decisions that must all hold, such as one for each part of a boundary."""
    some = [part for part in parts if not part.is_empty] or parts
    bad = next((part for part in some if part.status == FAILS), None)
    if bad is not None:
        boxes = sum(part.boxes for part in parts)
        return decided(words, inequality, bad)._replace(boxes=boxes, signs=_signs(*parts))
    open_ = [part for part in some if part.status == UNDECIDED]
    least = min(part.observed if open_ else part.least for part in (open_ or some))
    shape = parts[0].left.shape[1:]
    left = np.concatenate([part.left for part in open_]) if open_ else np.empty((0, *shape))
    status = UNDECIDED if open_ or all(part.is_empty for part in parts) else HOLDS
    margin = float(least) if np.isfinite(least) else math.nan
    return Hypothesis(
        words, inequality, status, margin, "intervals", 0.0, sum(p.boxes for p in parts), left, signs=_signs(*parts)
    )


def known(words: str, inequality: str, holds: bool | None, how: str = "algebra") -> Hypothesis:
    """State what the form of the field or of the region says; None is undecided."""
    status = UNDECIDED if holds is None else HOLDS if holds else FAILS
    return Hypothesis(words, inequality, status, math.nan, how)


def measured(words: str, inequality: str, margin: float, error: float, how: str = "floats") -> Hypothesis:
    """Decide by a number and its error: undecided if the margin is within the error of zero."""
    status = UNDECIDED if not abs(margin) > error else HOLDS if margin > 0 else FAILS
    return Hypothesis(words, inequality, status, float(margin), how, float(error))
