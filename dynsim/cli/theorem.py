"""`dynsim theorem`: check the conditions of a classical theorem for a system."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from dynsim.cli.parsing.options import check_outputs, say
from dynsim.cli.parsing.system import SystemOptions, parse_system
from dynsim.errors import ArgumentError, check_at_least, nearest
from dynsim.io.outputs import check_output

if TYPE_CHECKING:
    from analysis.theorems.conditions import Conditions


@dataclass(frozen=True)
class Theorem(SystemOptions):
    """Check a theorem's conditions: dynsim theorem poincare-bendixson "x' = ..." --annulus 0 0 0.5 1.5.

    The first word names the theorem, as `dynsim list theorems` shows them. Each condition is printed with its margin
    and how it was decided: by intervals or balls (proved for the equations as given), by algebra, or by floats. The
    exit status is 0 if the theorem applies, 1 if a condition fails, and 3 if it is undecided.

    SYSTEM is a name that `dynsim list systems` shows, `file.py:name` of yours, or a text of equations; each of its
    parameters is an option of its own. Texts of functions use the names of components and parameters.
    """

    box: tuple[float, ...] = ()
    """the region, or the bounds of `--where`: lower and upper bound of each component"""
    ball: tuple[float, ...] = ()
    """a ball as the region: the components of its centre and its radius"""
    annulus: tuple[float, ...] = ()
    """an annulus as the region: the components of its centre and the inner and the outer radius"""
    where: tuple[str, ...] = ()
    """inequalities as the region: functions that are at least 0 in it, such as '4 - x^2 - y^2'"""
    function: str = ""
    """the Lyapunov function, the Dulac function or the first integral, as a text"""
    near: tuple[float, ...] = ()
    """the equilibrium, or a point near it; for Picard and Lindeloef, Newton's method and Tikhonov, the start"""
    parameter: tuple[str, ...] = ()
    """the parameter of a bifurcation with its value nearby: NAME=VALUE; two of them for a cusp and the like"""
    norm: Literal["1", "2", "inf"] = "2"
    """the norm of contraction"""
    rate: float = 0.0
    """the rate of contraction that is asked for"""
    reach: float = 0.1
    """half the side of the box around the start of Newton's method"""
    fast: tuple[str, ...] = ()
    """names of the one or two fast components; by default the first"""
    time: float = 0.0
    """final time of the reduced problem of Tikhonov's theorem; by default none"""
    period: float = 0.0
    """the least period for Sharkovskii's theorem, 3 by default, or the period in time of an averaged field"""
    sets: tuple[float, ...] = ()
    """the sets of a horseshoe: for each its centre and the vectors to an exit and to an entry edge, six numbers"""
    covers: tuple[str, ...] = ()
    """pairs of sets, such as 1-2, of which the first covers the second; by default all pairs"""
    iterates: int = 1
    """steps of the map that count as one for a horseshoe"""
    homoclinic: bool = False
    """say that an orbit leads from the saddle focus to itself, as shown elsewhere"""
    turned: tuple[str, ...] = ()
    """names of the components that a symmetry, or an involution, turns around; by default all"""
    backwards: bool = False
    """ask for an orbit that attracts backwards in time"""
    strictly: bool = False
    """ask that the field points inwards, and not only nowhere outwards"""
    semidefinite: bool = False
    """ask only that the Lyapunov function does not grow"""
    conservative: bool = False
    """ask that volumes are kept, not that they shrink"""
    competitive: bool = False
    """ask for a competitive flow, not for a cooperative one"""
    boxes: int = 200_000
    """largest number of boxes that are examined for one condition"""
    out: Path | None = None
    """a file (.json) for the conditions"""
    figure: Path | None = None
    """a figure (.pdf, .svg or .png) of the region in the plane"""
    force: bool = False
    """replace existing files that dynsim did not write"""


class TheoremEntry(NamedTuple):
    """A theorem on the command line: its function, its options, and what it says in a line."""

    call: Callable[[Theorem, "_Given"], "Conditions"]
    options: tuple[str, ...]
    says: str


def main(words: Sequence[str]) -> int:
    """Check the conditions, print the table, and write the files; the exit status says whether the theorem applies."""
    if not words or (words[0].startswith("-") and words[0] not in ("-h", "--help")):
        raise ArgumentError("theorem", f"be one of {', '.join(ENTRIES)}", "is missing")
    if words[0] in ("-h", "--help"):
        parse_system(Theorem, words, "theorem")
        return 0
    name, rest = words[0], words[1:]
    if name not in ENTRIES:
        raise ArgumentError("theorem", f"be one of {', '.join(ENTRIES)}", f"is {name}{nearest(name, ENTRIES)}")
    o = parse_system(Theorem, rest, "theorem")
    entry = ENTRIES[name]
    _check_options(o, name, entry)
    check_at_least(1, boxes=o.boxes)
    check_outputs(o.force, figure=o.figure)
    if o.out is not None:
        if o.out.suffix != ".json":
            raise ArgumentError("out", "end in .json", f"is `{o.out}`")
        check_output("out", o.out, force=o.force)
    from dynsim.cli.building.systems import found

    found_ = entry.call(o, _Given(o, found(o, "theorem")))
    say(str(found_))
    if o.out is not None:
        from dynsim.io.whole_files import whole_file

        with whole_file(o.out) as part:
            part.write_text(f"{found_.to_json()}\n", encoding="utf-8")
        say(f"file {o.out}")
    if o.figure is not None:
        found_.plot().save(o.figure, f"{found_.theorem}")
        say(f"figure {o.figure}")
    return {"holds": 0, "fails": 1, "undecided": 3}[found_.status]


OWN = ("box", "ball", "annulus", "where", "function", "near", "parameter", "norm", "rate", "reach", "fast", "turned",
       "backwards", "strictly", "semidefinite", "conservative", "competitive", "time", "period", "sets", "covers",
       "iterates", "homoclinic")  # fmt: skip


def _check_options(o: Theorem, name: str, entry: TheoremEntry) -> None:
    """Refuse options that the theorem does not take."""
    usual = {field: Theorem.__dataclass_fields__[field].default for field in OWN}
    for option in OWN:
        if option not in entry.options and getattr(o, option) != usual[option]:
            takes = ", ".join(f"`--{one}`" for one in entry.options) or "none"
            raise ArgumentError(option, f"be left out for {name}, which takes {takes}", "is given")


class _Given:
    """The system, the region and the functions that the options name."""

    def __init__(self, o: Theorem, made: Any):
        self.o, self.system = o, made.system
        self._start = made.start

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the components."""
        from dynsim.systems.named import components

        size = self._start if self._start is not None else np.zeros(self._dimension())
        return components(self.system, size).names

    def _dimension(self) -> int:
        o = self.o
        if o.near:
            return len(o.near)
        if o.box:
            return len(o.box) // 2
        if o.sets:
            return 2
        return len(o.ball) - 1 if o.ball else len(o.annulus) - 2

    def region(self) -> Any:
        """The region.

        Raises:
            ValueError: if there is none or more than one, or numbers are missing.
        """
        from analysis.theorems.regions import annulus, ball, box, where

        o = self.o
        given = [name for name in ("box", "ball", "annulus") if getattr(o, name)]
        if len(given) != 1:
            said = " and ".join(f"`--{name}`" for name in given) or "none"
            raise ArgumentError("region", "be given by one of `--box`, `--ball` and `--annulus`", f"has {said}")
        if o.where and not o.box:
            raise ArgumentError("where", "come with bounds in `--box`", "does not")
        if o.ball:
            return ball(list(self._numbers("ball", 1)[:-1]), o.ball[-1])
        if o.annulus:
            return annulus(list(self._numbers("annulus", 2)[:-2]), *o.annulus[-2:])
        sides = self.sides()
        return where(sides, *map(self.text, o.where), label=" and ".join(f"{one} >= 0" for one in o.where)) if o.where \
            else box(sides)  # fmt: skip

    def _numbers(self, name: str, more: int) -> tuple[float, ...]:
        given, count = getattr(self.o, name), len(self.names) + more
        if len(given) != count:
            raise ArgumentError(name, f"hold {count} numbers for {len(self.names)} components", f"holds {len(given)}")
        return given

    def sides(self) -> list[tuple[float, float]]:
        """The sides of the box."""
        if not self.o.box or len(self.o.box) % 2 or len(self.o.box) != 2 * len(self.names):
            must = f"hold a lower and an upper bound of each of {len(self.names)} components"
            raise ArgumentError("box", must, f"holds {len(self.o.box)} numbers")
        return list(zip(self.o.box[::2], self.o.box[1::2], strict=True))

    def near(self) -> list[float]:
        """The point of `--near`."""
        if not self.o.near:
            raise ArgumentError("near", "be given", "is missing")
        return list(self._numbers("near", 0))

    def function(self) -> Callable[[Any], Any]:
        """The function of `--function`."""
        if not self.o.function:
            raise ArgumentError("function", "be given as a text", "is missing")
        return self.text(self.o.function)

    def text(self, text: str) -> Callable[[Any], Any]:
        """A text as a function of the state."""
        import dynsim as ds
        from dynsim.systems.named import parameters

        words = set(re.findall(r"[^\W\d]\w*", text))
        values = {name: float(v) for name, v in parameters(self.system).items() if name in words and np.ndim(v) == 0}
        rest = "; ".join(f"{name}' = 0" for name in self.names)
        if "value_of_text" in words or "\n" in text or ";" in text or "=" in text:
            raise ArgumentError("function", "be one expression", f"is {text!r}")
        first = "value_of_text = "
        try:
            flow: Any = ds.system(f"{first}{text}; {rest}", **values)  # pyright: ignore[reportArgumentType]
        except ArgumentError as error:
            column = lambda found: f"column {int(found[1]) - len(first)}"
            but = re.sub(r"(?:line 1, )?column (\d+)", column, error.but).replace(f"; {rest}", "the end")
            raise ArgumentError("function", error.must, but) from None
        return lambda x: flow.quantity("value_of_text", 0.0, x)

    def parameter(self) -> tuple[Any, float]:
        """The parameter of `--parameter` and its value."""
        (one,), (value,) = self.parameters(1)
        return one, value

    def parameters(self, count: int = 2) -> tuple[tuple[Any, ...], list[float]]:
        """The parameters of `--parameter` and their values."""
        from dynsim.systems.parameter import Parameter

        given = self.o.parameter
        if len(given) != count:
            must = "be NAME=VALUE" if count == 1 else f"be NAME=VALUE {count} times"
            raise ArgumentError("parameter", must, f"is {' '.join(given)!r}")
        found, values = [], []
        for one in given:
            name, sign, value = one.partition("=")
            if not sign:
                raise ArgumentError("parameter", "be NAME=VALUE", f"is {one!r}")
            try:
                values.append(float(value))
            except ValueError:
                raise ArgumentError("parameter", "be NAME=VALUE with a number", f"is {one!r}") from None
            reach = 1.0 + abs(values[-1])
            found.append(Parameter(self.system, name, values[-1] - reach, values[-1] + reach))
        return tuple(found), values

    def period(self, default: float | None = None) -> float:
        """The number of `--period`."""
        if not self.o.period:
            if default is None:
                raise ArgumentError("period", "be given", "is missing")
            return default
        return self.o.period

    def steps(self) -> int:
        """The number of `--period` as a number of steps."""
        value = self.period(3)
        if value != int(value):
            raise ArgumentError("period", "be a number of steps", f"is {value:g}")
        return int(value)

    def circle(self) -> tuple[list[tuple[float, float]], float]:
        """The range of the action and the period of the angle, from the sides of the box."""
        (first, last), action = self.sides()[0], self.sides()[1:]
        return action, last - first

    def sets(self) -> np.ndarray:
        """The parallelograms of `--sets`."""
        if not self.o.sets or len(self.o.sets) % 6:
            raise ArgumentError("sets", "hold six numbers for each set", f"holds {len(self.o.sets)}")
        return np.reshape(self.o.sets, (-1, 3, 2))

    def covers(self) -> list[tuple[int, int]] | None:
        """The pairs of `--covers`, counted from 0."""
        pairs = []
        for pair in self.o.covers:
            found = re.fullmatch(r"([1-9]\d*)-([1-9]\d*)", pair)
            if not found:
                raise ArgumentError("covers", "be pairs of sets such as 1-2", f"has {pair!r}")
            pairs.append((int(found[1]) - 1, int(found[2]) - 1))
        return pairs or None

    def fast(self) -> list[int]:
        """Indices of the fast components."""
        return self._indices("fast") or [0]

    def reflection(self) -> np.ndarray:
        """The symmetry of `--turned`: minus one for each component that is turned around, by default for all."""
        turned = self._indices("turned")
        return np.diag([-1.0 if k in turned or not turned else 1.0 for k in range(len(self.names))])

    def _indices(self, option: str) -> list[int]:
        names, given = self.names, getattr(self.o, option)
        for name in given:
            if name not in names:
                raise ArgumentError(option, f"name components, of {', '.join(names)}", f"has {name}")
        return [names.index(name) for name in given]


def _checked(name: str) -> Callable[..., Any]:
    """A theorem by its name, imported when it is called."""

    def call(*arguments: Any, **options: Any) -> Any:
        from analysis import theorems

        return getattr(theorems, name)(*arguments, **options)

    return call


REGION = ("box", "ball", "annulus", "where")
ENTRIES: dict[str, TheoremEntry] = {
    "bendixson-dulac": TheoremEntry(
        lambda o, g: _checked("bendixson_dulac")(
            g.system, g.region(), dulac=g.function() if o.function else None, budget=o.boxes
        ),
        (*REGION, "function"), "a divergence of one sign excludes periodic orbits in the plane",
    ),
    "poincare-bendixson": TheoremEntry(
        lambda o, g: _checked("poincare_bendixson")(g.system, g.region(), backwards=o.backwards, budget=o.boxes),
        (*REGION, "backwards"), "a trapping region of the plane without equilibria has a periodic orbit",
    ),
    "lienard": TheoremEntry(
        lambda o, g: _checked("lienard")(g.system), (),
        "odd forces and even damping give exactly one periodic orbit in the plane",
    ),
    "index-theory": TheoremEntry(
        lambda o, g: _checked("index_theory")(g.system, g.sides(), budget=o.boxes), ("box",),
        "a box of the plane without an equilibrium of index one has no periodic orbit",
    ),
    "hartman-grobman": TheoremEntry(
        lambda o, g: _checked("hartman_grobman")(g.system, g.near()), ("near",),
        "near a hyperbolic equilibrium a flow looks like its linear part",
    ),
    "reversible": TheoremEntry(
        lambda o, g: _checked("reversible")(g.system, g.reflection(), g.region()), (*REGION, "turned"),
        "an involution takes solutions to solutions that run backwards",
    ),
    "equivariant": TheoremEntry(
        lambda o, g: _checked("equivariant")(g.system, g.reflection(), g.region()), (*REGION, "turned"),
        "a symmetry takes solutions to solutions",
    ),
    "positivity": TheoremEntry(
        lambda o, g: _checked("positivity")(g.system, g.sides(), budget=o.boxes), ("box",),
        "solutions that begin nonnegative stay so",
    ),
    "nagumo": TheoremEntry(
        lambda o, g: _checked("nagumo")(g.system, g.region(), strictly=o.strictly, budget=o.boxes),
        (*REGION, "strictly"), "a region whose boundary the field does not leave is invariant",
    ),
    "miranda": TheoremEntry(
        lambda o, g: _checked("miranda")(g.system, g.sides(), budget=o.boxes), ("box",),
        "opposite signs on opposite faces of a box give an equilibrium",
    ),
    "brouwer-degree": TheoremEntry(
        lambda o, g: _checked("brouwer_degree")(g.system, g.sides(), budget=o.boxes), ("box",),
        "turns of the field along the boundary of a box in the plane count equilibria",
    ),
    "newton-kantorovich": TheoremEntry(
        lambda o, g: _checked("newton_kantorovich")(g.system, g.near(), reach=o.reach), ("near", "reach"),
        "Newton's method from a start converges to an equilibrium nearby",
    ),
    "banach": TheoremEntry(
        lambda o, g: _checked("banach")(g.system, g.sides(), budget=o.boxes), ("box",),
        "a map that contracts a box into itself has one fixed point",
    ),
    "picard-lindelof": TheoremEntry(
        lambda o, g: _checked("picard_lindelof")(g.system, g.sides(), g.near()), ("box", "near"),
        "a Lipschitz field has unique solutions, for a known time",
    ),
    "lyapunov": TheoremEntry(
        lambda o, g: _checked("lyapunov")(
            g.system, g.function(), g.region(), g.near(), semidefinite=o.semidefinite, budget=o.boxes
        ),
        (*REGION, "function", "near", "semidefinite"), "a function that falls along solutions shows stability",
    ),
    "lasalle": TheoremEntry(
        lambda o, g: _checked("lasalle")(g.system, g.function(), g.region(), g.near(), budget=o.boxes),
        (*REGION, "function", "near"), "a function that does not grow leads all solutions to an equilibrium",
    ),
    "routh-hurwitz": TheoremEntry(
        lambda o, g: _checked("routh_hurwitz")(g.system, g.near()), ("near",),
        "Hurwitz determinants decide the stability of an equilibrium",
    ),
    "contraction": TheoremEntry(
        lambda o, g: _checked("contraction")(g.system, g.region(), norm=o.norm, rate=o.rate, budget=o.boxes),
        (*REGION, "norm", "rate"), "a negative matrix measure of the Jacobian brings solutions together",
    ),
    "cooperative": TheoremEntry(
        lambda o, g: _checked("cooperative")(g.system, g.region(), competitive=o.competitive, budget=o.boxes),
        (*REGION, "competitive"), "interactions of one sign keep the order of solutions",
    ),
    "conserved": TheoremEntry(
        lambda o, g: _checked("conserved")(g.system, g.function(), g.region()), (*REGION, "function"),
        "a function is constant along solutions",
    ),
    "liouville": TheoremEntry(
        lambda o, g: _checked("liouville")(g.system, g.region(), conservative=o.conservative, budget=o.boxes),
        (*REGION, "conservative"), "the sign of the divergence says whether volumes shrink or are kept",
    ),
    "gradient": TheoremEntry(
        lambda o, g: _checked("gradient")(g.system, g.region()), REGION,
        "a symmetric Jacobian gives a potential and excludes periodic orbits",
    ),
    "hamiltonian": TheoremEntry(
        lambda o, g: _checked("hamiltonian")(g.system, g.region()), REGION,
        "a field of the plane without divergence is Hamiltonian",
    ),
    "fold": TheoremEntry(
        lambda o, g: _checked("fold")(*g.parameter(), g.near()), ("parameter", "near"),
        "two equilibria meet and vanish (Sotomayor)",
    ),
    "transcritical": TheoremEntry(
        lambda o, g: _checked("transcritical")(*g.parameter(), g.near()), ("parameter", "near"),
        "an equilibrium crosses one that rests for all parameters (Sotomayor)",
    ),
    "pitchfork": TheoremEntry(
        lambda o, g: _checked("pitchfork")(*g.parameter(), g.near(), symmetry=g.reflection()),
        ("parameter", "near", "turned"), "two symmetric equilibria leave one that rests for all parameters",
    ),
    "equivariant-branching": TheoremEntry(
        lambda o, g: _checked("equivariant_branching")(*g.parameter(), g.near(), g.reflection()),
        ("parameter", "near", "turned"), "a branch with given symmetries leaves a symmetric equilibrium",
    ),
    "hopf": TheoremEntry(
        lambda o, g: _checked("hopf")(*g.parameter(), g.near()), ("parameter", "near"),
        "periodic orbits leave an equilibrium",
    ),
    "flip": TheoremEntry(
        lambda o, g: _checked("flip")(*g.parameter(), g.near()), ("parameter", "near"),
        "a cycle of period two leaves a fixed point of a map",
    ),
    "neimark-sacker": TheoremEntry(
        lambda o, g: _checked("neimark_sacker")(*g.parameter(), g.near()), ("parameter", "near"),
        "an invariant circle leaves a fixed point of a map",
    ),
    "cusp": TheoremEntry(
        lambda o, g: _checked("cusp")(*g.parameters(), g.near()), ("parameter", "near"),
        "two curves of folds meet in the plane of two parameters",
    ),
    "bogdanov-takens": TheoremEntry(
        lambda o, g: _checked("bogdanov_takens")(*g.parameters(), g.near()), ("parameter", "near"),
        "folds, Hopf points and homoclinic orbits meet at a double eigenvalue zero",
    ),
    "bautin": TheoremEntry(
        lambda o, g: _checked("bautin")(*g.parameters(), g.near()), ("parameter", "near"),
        "the first Lyapunov coefficient of Hopf points changes its sign",
    ),
    "fenichel": TheoremEntry(
        lambda o, g: _checked("fenichel")(g.system, g.region(), g.fast(), budget=o.boxes), (*REGION, "fast"),
        "an attracting critical manifold persists as a slow manifold",
    ),
    "tikhonov": TheoremEntry(
        lambda o, g: _checked("tikhonov")(g.system, g.sides(), g.near(), g.fast(), time=o.time or None, budget=o.boxes),
        ("box", "near", "fast", "time"), "solutions tend to those of the reduced problem",
    ),
    "averaging": TheoremEntry(
        lambda o, g: _checked("averaging")(g.system, g.period(), g.sides(), g.near()), ("period", "box", "near"),
        "an equilibrium of the field averaged over a period gives a periodic orbit",
    ),
    "canard-point": TheoremEntry(
        lambda o, g: _checked("canard_point")(*g.parameter(), g.near(), g.fast()), ("parameter", "near", "fast"),
        "an equilibrium that crosses a fold of the critical manifold in the plane gives a canard",
    ),
    "folded-singularity": TheoremEntry(
        lambda o, g: _checked("folded_singularity")(g.system, g.near(), g.fast()), ("near", "fast"),
        "a folded node or saddle of two slow and one fast components has canards",
    ),
    "li-yorke": TheoremEntry(
        lambda o, g: _checked("li_yorke")(g.system, g.sides(), budget=o.boxes), ("box",),
        "a point of period three gives points of all periods, and chaos",
    ),
    "sharkovskii": TheoremEntry(
        lambda o, g: _checked("sharkovskii")(g.system, g.sides(), period=g.steps(), budget=o.boxes), ("box", "period"),
        "a point of one period gives points of all later ones in Sharkovskii's order",
    ),
    "horseshoe": TheoremEntry(
        lambda o, g: _checked("horseshoe")(
            g.system, g.sets(), covers=g.covers(), iterates=o.iterates, budget=o.boxes
        ),
        ("sets", "covers", "iterates"), "sets of the plane that are stretched across each other give a horseshoe",
    ),
    "twist": TheoremEntry(
        lambda o, g: _checked("twist")(g.system, g.circle()[0], period=g.circle()[1], budget=o.boxes), ("box",),
        "an exact area-preserving twist map has periodic orbits of all rotation numbers",
    ),
    "shilnikov": TheoremEntry(
        lambda o, g: _checked("shilnikov")(g.system, g.near(), homoclinic=o.homoclinic or None),
        ("near", "homoclinic"), "Shilnikov's inequality at a saddle focus gives horseshoes near a homoclinic orbit",
    ),
    "singer": TheoremEntry(
        lambda o, g: _checked("singer")(g.system, g.sides(), budget=o.boxes), ("box",),
        "a negative Schwarzian derivative leaves few attracting cycles",
    ),
}  # fmt: skip
"""The theorems of the command line."""
