"""The theorems of the command line: the function of each, its options, and what it says in a line."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from dynsim.cli.theorem.given import TheoremInput
from dynsim.cli.theorem.options import Theorem

if TYPE_CHECKING:
    from analysis.theorems.conditions import Conditions


class TheoremEntry(NamedTuple):
    """A theorem on the command line: its function, its options, and what it says in a line."""

    call: Callable[[Theorem, TheoremInput], "Conditions"]
    options: tuple[str, ...]
    says: str
    hybrid: bool = False


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
    "dulac-function": TheoremEntry(
        lambda o, g: _checked("dulac_function")(g.system, g.region(), budget=o.boxes), REGION,
        "a Dulac function is found that excludes periodic orbits in the plane",
    ),
    "poincare-bendixson": TheoremEntry(
        lambda o, g: _checked("poincare_bendixson")(g.system, g.region(), backwards=o.backwards, budget=o.boxes),
        (*REGION, "backwards"), "a trapping region of the plane without equilibria has a periodic orbit",
    ),
    "lienard": TheoremEntry(
        lambda o, g: _checked("lienard")(g.system, reach=o.reach, budget=o.boxes), ("reach",),
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
    "trapping-polygon": TheoremEntry(
        lambda o, g: _checked("trapping_polygon")(g.system, g.sides(), strictly=o.strictly, budget=o.boxes),
        ("box", "strictly"), "a polygon in a box of the plane is found that no solution leaves",
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
        lambda o, g: _checked("newton_kantorovich")(g.system, g.near(), reach=0.1 if o.reach is None else o.reach),
        ("near", "reach"),
        "Newton's method from a start converges to an equilibrium nearby",
    ),
    "banach": TheoremEntry(
        lambda o, g: _checked("banach")(g.system, g.sides(), weights=o.weights or None, budget=o.boxes),
        ("box", "weights"),
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
        lambda o, g: _checked("lasalle")(
            g.system, g.function(), g.region(), g.points(), rests_along=o.along or None, budget=o.boxes
        ),
        (*REGION, "function", "near", "along"), "a function that does not grow leads all solutions to equilibria",
    ),
    "lyapunov-quadratic": TheoremEntry(
        lambda o, g: _checked("lyapunov_quadratic")(
            g.system, g.near(), weights=o.weights or None, reach=o.reach, budget=o.boxes
        ),
        ("near", "weights", "reach"), "Lyapunov's equation gives a function and a part of the basin",
    ),
    "lyapunov-polynomial": TheoremEntry(
        lambda o, g: _checked("lyapunov_polynomial")(
            g.system, g.near(), V=g.function() if o.function else None, degree=o.degree, radius=o.reach, budget=o.boxes
        ),
        ("near", "function", "degree", "reach"), "sums of squares give a function for all states or in a ball",
    ),
    "chetaev": TheoremEntry(
        lambda o, g: _checked("chetaev")(g.system, g.function(), g.region(), g.near(), rate=o.rate, budget=o.boxes),
        (*REGION, "function", "near", "rate"), "a function that grows where it is larger shows instability",
    ),
    "exponential-stability": TheoremEntry(
        lambda o, g: _checked("exponential_stability")(g.system, g.function(), g.region(), g.near(), budget=o.boxes),
        (*REGION, "function", "near"), "a Lyapunov function gives a rate and a gain",
    ),
    "barbalat": TheoremEntry(
        lambda o, g: _checked("barbalat")(g.system, g.function(), g.region(), period=o.period, budget=o.boxes),
        (*REGION, "function", "period"), "a function that does not grow comes to rest, also if the field has a period",
    ),
    "input-to-state": TheoremEntry(
        lambda o, g: _checked("input_to_state")(
            g.drive(), g.function(), g.region(), g.near(), rate=o.rate, gain=o.gain, budget=o.boxes
        ),
        (*REGION, "function", "near", "drive", "rate", "gain"), "a bounded input moves the state a bounded way",
    ),
    "dissipative": TheoremEntry(
        lambda o, g: _checked("dissipative")(g.drive(), g.function(), g.supply(), g.region(), budget=o.boxes),
        (*REGION, "function", "drive", "supply"), "no more is stored than an input supplies",
    ),
    "common-lyapunov": TheoremEntry(
        lambda o, g: _checked("common_lyapunov")(
            g.modes(), g.near(), V=g.function() if o.function else None,
            region=g.region() if o.box or o.ball or o.annulus else None, budget=o.boxes,
        ),
        (*REGION, "function", "near", "modes"), "one function that falls in all modes allows any switching",
    ),
    "dwell-time": TheoremEntry(
        lambda o, g: _checked("dwell_time")(g.modes(), time=o.time), ("modes", "time"),
        "slow switching between stable linear modes is stable",
    ),
    "multiple-lyapunov": TheoremEntry(
        lambda o, g: _checked("multiple_lyapunov")(
            **g.hybrid_parts(), rate=o.rate, dwell=o.time or 0.0, budget=o.boxes
        ),
        (*REGION, "function", "near", "rate", "time"),
        "a function for each mode, which is no larger after a switch, shows stability of a hybrid system", hybrid=True,
    ),
    "order-conditions": TheoremEntry(
        lambda o, g: _checked("order_conditions")(
            o.method, g.system, g.region() if o.box or o.ball or o.annulus else None, strong=o.strong, weak=o.weak,
            dimension=len(g.names),
        ),
        (*REGION, "method", "strong", "weak"), "an integrator of an equation with noise has a strong or a weak order",
    ),
    "perron-frobenius": TheoremEntry(
        lambda o, g: _checked("perron_frobenius")(g.system, primitive=o.primitive), ("primitive",),
        "an irreducible matrix without negative entries has one dominant eigenvalue",
    ),
    "detailed-balance": TheoremEntry(
        lambda o, g: _checked("detailed_balance")(g.system), (),
        "a chain is reversible if rates agree both ways round every cycle",
    ),
    "foster": TheoremEntry(
        lambda o, g: _checked("foster")(*g.jumps(), g.function(), beyond=o.beyond, drift=o.rate or 1.0),
        ("jump", "function", "beyond", "rate"), "a drift towards a finite set makes a chain recurrent",
    ),
    "routh-hurwitz": TheoremEntry(
        lambda o, g: _checked("routh_hurwitz")(g.system, g.near()), ("near",),
        "Hurwitz determinants decide the stability of an equilibrium",
    ),
    "contraction": TheoremEntry(
        lambda o, g: _checked("contraction")(
            g.system, g.region(), norm=o.norm, rate=o.rate, weights=o.weights or None, budget=o.boxes
        ),
        (*REGION, "norm", "rate", "weights"), "a negative matrix measure of the Jacobian brings solutions together",
    ),
    "contraction-norm": TheoremEntry(
        lambda o, g: _checked("contraction_norm")(g.system, g.region(), rate=o.rate, budget=o.boxes),
        (*REGION, "rate"), "a norm is found in which solutions approach each other",
    ),
    "cooperative": TheoremEntry(
        lambda o, g: _checked("cooperative")(g.system, g.region(), competitive=o.competitive, budget=o.boxes),
        (*REGION, "competitive"), "interactions of one sign keep the order of solutions",
    ),
    "monotone": TheoremEntry(
        lambda o, g: _checked("monotone")(g.system, g.region(), competitive=o.competitive, budget=o.boxes),
        (*REGION, "competitive"), "an order is found that solutions keep",
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
        lambda o, g: _checked("flip")(*g.parameter(), g.near(), period=g.steps(1)), ("parameter", "near", "period"),
        "a cycle of twice the period leaves a fixed point or a cycle of a map",
    ),
    "neimark-sacker": TheoremEntry(
        lambda o, g: _checked("neimark_sacker")(*g.parameter(), g.near(), period=g.steps(1)),
        ("parameter", "near", "period"), "an invariant circle leaves a fixed point of a map, or circles leave a cycle",
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
        lambda o, g: _checked("sharkovskii")(g.system, g.sides(), period=g.steps(3), budget=o.boxes), ("box", "period"),
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
