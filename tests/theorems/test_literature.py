"""Results of books and papers, repeated: each with its source, the known numbers, and mostly a near miss."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import pytest

import dynsim as ds
from analysis import theorems as th
from analysis.theorems.conditions import Conditions
from dynsim.papers import CONSENSUS
from dynsim.tokens import Causal, TokenFlow
from tests.theorems.reports import flow

pytest.importorskip("flint")

TURN = 2 * np.pi


class Result(NamedTuple):
    """A result that is known, and how it is repeated.

    Attributes:
        name: what is shown, with the system and its parameters.
        source: author, book or paper, and section.
        call: check the conditions.
        numbers: known numbers, by the names of `Conditions.numbers`, each with its absolute error.
        says: words of the conclusion, or of a condition.
        miss: a near miss, and the conditions that do not hold there with their statuses.
        is_slow: whether it takes about a second or more.
        is_certified: whether no condition is decided by floats.
    """

    name: str
    source: str
    call: Callable[[], Conditions]
    numbers: dict[str, tuple[float, float]] = {}
    says: str = ""
    miss: tuple[Callable[[], Conditions], dict[str, str]] | None = None
    is_slow: bool = False
    is_certified: bool = True


def parameter(text: str, name: str, value: float, **values: Any) -> ds.Parameter:
    """A parameter of a system of text."""
    return ds.Parameter(flow(text, **{name: value}, **values), name, value - 50.0, value + 50.0)


def lorenz(rho: Any) -> Any:
    """Lorenz's equations with sigma = 10 and beta = 8/3."""
    return ds.catalogue.Lorenz(rho=rho)


def ellipsoid(level: float) -> th.Region:
    """Lorenz's ellipsoid in the form of Sparrow."""
    size = lambda x: 28 * x[0] ** 2 + 10 * x[1] ** 2 + 10 * (x[2] - 56) ** 2
    return th.where([(-40.0, 40.0), (-65.0, 65.0), (-10.0, 121.0)], lambda x: level - size(x), bounds=False)


LORENZ_SQUARES = lambda x: x[0] ** 2 / 10 + x[1] ** 2 + x[2] ** 2
WELL_ENERGY = lambda x: x[1] ** 2 / 2 - x[0] ** 2 / 2 + x[0] ** 4 / 4
BELOW = th.where([(-2.0, 2.0)] * 2, lambda x: 0.5 - WELL_ENERGY(x), label="{H <= 1/2}", bounds=False)
GOH = lambda x: x[0] - 0.5 * jnp.log(x[0]) + x[1] - 0.25 * jnp.log(x[1])
ENDEMIC = th.where(
    [(0.1, 1.5), (0.02, 1.0)], lambda x: GOH(jnp.array([0.5, 0.25])) + 0.12 - GOH(x), label="{V <= V* + 0.12}",
    bounds=False,
)  # fmt: skip
THREE_PHASES = "x' = -2*sin(x) - sin(y) - sin(x - y); y' = -sin(x) - 2*sin(y) + sin(x - y)"
PHASE_POTENTIAL = lambda z: 3 - jnp.cos(z[0]) - jnp.cos(z[1]) - jnp.cos(z[0] - z[1])
CHEMOSTAT = "s' = 1 - s - 3*s*x/(1 + s); x' = x*(3*s/(1 + s) - 1)"
NERVE = "v' = (v - v^3/3 - w)/0.08; w' = v + 0.7"
BRUSSELATOR = "x' = A + x^2*y - B*x - x; y' = B*x - x^2*y"
RIVALS = "x' = x*(3 - x - 2*y); y' = y*(2 - x - y)"
PENDULUM = "x' = y; y' = -sin(x)"
LOTKA_VOLTERRA = "x' = x*(2 - y); y' = y*(x - 1)"
ENZYME = "c' = (s - (s + 1)*c)/0.01; s' = -s + (s + 0.5)*c"
BAZYKIN = flow("x' = x - x*y/(1 + a*x) - 0.01*x^2; y' = -y + x*y/(1 + a*x) - d*y^2", a=0.45, d=0.175)
SETS = [[[-2.0, 0.0], [1.0, 0.0], [0.0, 3.0]], [[2.0, 0.0], [1.0, 0.0], [0.0, 3.0]]]
SQUARE = [(-2.0, 2.0), (-2.0, 2.0)]
INWARDS = "the field points into the region on its boundary"
CYCLE = "x' = {0} - x; y' = x - y; z' = y - z"
SELKOV = "x' = -x + 0.08*y + x^2*y; y' = {b} - 0.08*y - x^2*y"


def selkov(b: float) -> Conditions:
    """Sel'kov's model of glycolysis in a trapping region about its unstable equilibrium."""
    at = b / (0.08 + b * b)
    hole = lambda s: 19 * (s[0] - b) ** 2 + 14 * (s[0] - b) * (s[1] - at) + 6 * (s[1] - at) ** 2 - 0.01
    ring = th.where([(0.0, 8.18), (0.0, 7.6)], lambda s: 8.3 - s[0] - s[1], hole)
    return th.poincare_bendixson(flow(SELKOV.format(b=b)), ring)


def mathieu(detuning: float) -> Conditions:
    """Mathieu's equation x'' + (1 + e cos(2 t) + 2 e detuning) x = 0, for x = u cos t + v sin t."""
    force = f"(cos(2*t) + {2 * detuning})*(u*cos(t) + v*sin(t))"
    return th.averaging(flow(f"u' = 0.1*sin(t)*{force}; v' = -0.1*cos(t)*{force}"), TURN, [(-1.0, 1.0)] * 2, [0.0, 0.0])


def consensus(theorem: str, tokens: Any, **options: Any) -> Conditions:
    """A theorem on the consensus of tokens on the circle, by its number."""
    system = TokenFlow(np.array([[[2.0, 0.5], [0.5, 1.0]]]), 1.0, **options)
    unit = np.asarray(tokens) / np.linalg.norm(tokens, axis=1, keepdims=True)
    (found,) = (one for one in th.consensus_theorems(system, unit).theorems if one.theorem.startswith(theorem))
    return found


RESULTS = (
    # Stability
    Result(
        "Lorenz's origin attracts the ball of radius 5 for rho = 0.9 < 1",
        "C. Sparrow, The Lorenz Equations, Springer 1982, section 2.2",
        lambda: th.lyapunov(lorenz(0.9), LORENZ_SQUARES, th.ball([0, 0, 0], 5.0), [0, 0, 0]),
        {"c": (2.5, 0.05)}, "in its basin",
        (
            lambda: th.lyapunov(lorenz(1.01), LORENZ_SQUARES, th.ball([0, 0, 0], 5.0), [0, 0, 0]),
            {"V falls along solutions": "fails"},
        ), is_slow=True,
    ),
    Result(
        "solutions of Lorenz's equations enter an ellipsoid for rho = 28",
        "C. Sparrow, The Lorenz Equations, Springer 1982, appendix C",
        lambda: th.nagumo(lorenz(28.0), ellipsoid(40_000.0), strictly=True), says="enters its interior",
        miss=(lambda: th.nagumo(lorenz(28.0), ellipsoid(25_000.0), strictly=True), {INWARDS: "fails"}), is_slow=True,
    ),
    Result(
        "volumes shrink along solutions of Lorenz's equations",
        "S. Strogatz, Nonlinear Dynamics and Chaos, Westview 2014, section 9.2",
        lambda: th.liouville(lorenz(28.0), [(-20.0, 20.0), (-30.0, 30.0), (0.0, 50.0)]), says="shrink",
    ),
    Result(
        "the resting states of convection in Lorenz's equations are stable up to rho = 470/19",
        "C. Sparrow, The Lorenz Equations, Springer 1982, section 2.2",
        lambda: th.routh_hurwitz(lorenz(24.7368), [7.9, 7.9, 23.7]),
        miss=(
            lambda: th.routh_hurwitz(lorenz(24.7369), [7.9, 7.9, 23.7]),
            {"Hurwitz determinant 2": "fails", "Hurwitz determinant 3": "fails"},
        ),
    ),
    Result(
        "a damped particle in Duffing's double well comes to rest",
        "J. Guckenheimer and P. Holmes, Nonlinear Oscillations, Springer 1983, section 2.2",
        lambda: th.lasalle(
            flow("x' = y; y' = x - x^3 - 0.5*y"), WELL_ENERGY, BELOW, [[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0]]
        ), is_slow=True,
    ),
    Result(
        "an epidemic with births tends to its endemic equilibrium, by Goh's function",
        "A. Korobeinikov and G. Wake, Applied Mathematics Letters 15 (2002) 955",
        lambda: th.lasalle(flow("s' = 1 - 4*s*i - s; i' = 4*s*i - 2*i"), GOH, ENDEMIC, [0.5, 0.25]), is_slow=True,
    ),
    Result(
        "two equal oscillators of Kuramoto synchronise from almost half a turn",
        "S. Strogatz, Nonlinear Dynamics and Chaos, Westview 2014, section 8.6",
        lambda: th.lyapunov(flow("d' = -sin(d)"), lambda x: 1 - jnp.cos(x[0]), [(-3.1, 3.1)], [0.0]),
        {"c": (1 - np.cos(3.1), 0.02)},
        miss=(
            lambda: th.lyapunov(flow("d' = -sin(d)"), lambda x: 1 - jnp.cos(x[0]), [(-3.2, 3.2)], [0.0], budget=2000),
            {"V falls along solutions": "undecided"},  # it is 0 at pi, which is no float
        ),
    ),
    Result(
        "three equal oscillators of Kuramoto synchronise up to the splay state",
        "S. Watanabe and S. Strogatz, Physica D 74 (1994) 197, section 4",
        lambda: th.lyapunov(flow(THREE_PHASES), PHASE_POTENTIAL, th.ball([0.0, 0.0], 2.5), [0.0, 0.0]), is_slow=True,
        miss=(  # (2 pi / 3, -2 pi / 3) is at the distance 2.96
            lambda: th.lyapunov(
                flow(THREE_PHASES), PHASE_POTENTIAL, th.ball([0.0, 0.0], 3.0), [0.0, 0.0], budget=20_000
            ),
            {"V falls along solutions": "undecided"},
        ),
    ),
    Result(
        "a cycle of three equal steps with negative feedback is stable up to the gain 8",
        "J. Tyson and H. Othmer, Progress in Theoretical Biology 5 (1978) 1, section III",
        lambda: th.routh_hurwitz(flow(CYCLE.format("-7.999*z")), [0.0, 0.0, 0.0]),
        miss=(
            lambda: th.routh_hurwitz(flow(CYCLE.format("-8*z")), [0.0, 0.0, 0.0]),
            {"Hurwitz determinant 2": "fails", "Hurwitz determinant 3": "fails"},
        ),
    ),
    # The plane
    Result(
        "van der Pol's equation has one periodic orbit",
        "L. Perko, Differential Equations and Dynamical Systems, Springer 2001, section 3.8",
        lambda: th.lienard(flow("x'' = (1 - x^2)*x' - x")), {"a": (3**0.5, 1e-14)},
        miss=(
            lambda: th.lienard(flow("x'' = -(1 + x^2)*x' - x")),
            {"the integrated damping has exactly one positive zero a": "fails"},
        ),
    ),
    Result(
        "a chemostat has no periodic orbit",
        "H. Smith and P. Waltman, The Theory of the Chemostat, Cambridge 1995, section 1.5",
        lambda: th.bendixson_dulac(flow(CHEMOSTAT), [(0.0, 2.0), (0.01, 2.0)], dulac=lambda x: 1 / x[1]),
        miss=(
            lambda: th.bendixson_dulac(flow(CHEMOSTAT), [(0.0, 4.0), (0.01, 2.0)]),
            {"the divergence has one sign": "fails"},
        ),
    ),
    Result(
        "competing species of which one dies out have no periodic orbit, by the index",
        "S. Strogatz, Nonlinear Dynamics and Chaos, Westview 2014, example 6.8.5",
        lambda: th.index_theory(flow(RIVALS), [(0.1, 3.5), (0.1, 2.5)]),
        {"equilibria": (1.0, 0.0), "index": (-1.0, 0.0)},
    ),
    Result(
        "Sel'kov's glycolysis oscillates for a = 0.08 and b = 0.6",
        "S. Strogatz, Nonlinear Dynamics and Chaos, Westview 2014, example 7.3.2",
        lambda: selkov(0.6), says="the region has a periodic orbit", is_slow=True,
        miss=(lambda: selkov(0.2), {INWARDS: "fails"}),  # the equilibrium attracts
    ),
    Result(
        "the pendulum is reversible",
        "S. Strogatz, Nonlinear Dynamics and Chaos, Westview 2014, sections 6.6 and 6.7",
        lambda: th.reversible(flow(PENDULUM), np.diag([1.0, -1.0]), SQUARE),
        miss=(
            lambda: th.reversible(flow(f"{PENDULUM} - 1e-30*y"), np.diag([1.0, -1.0]), SQUARE),
            {"R turns the field back": "fails"},
        ),
    ),
    Result(
        "the pendulum is Hamiltonian",
        "V. Arnold, Mathematical Methods of Classical Mechanics, Springer 1989, section 4",
        lambda: th.hamiltonian(flow(PENDULUM), SQUARE),
        miss=(
            lambda: th.hamiltonian(flow(f"{PENDULUM} - 1e-30*y"), SQUARE), {"the divergence is zero": "fails"},
        ),
    ),
    Result(
        "the upper equilibrium of the pendulum is a saddle",
        "P. Hartman, Ordinary Differential Equations, SIAM 2002, section IX.7",
        lambda: th.hartman_grobman(flow(f"{PENDULUM} - 0.5*y"), [3.0, 0.0]),
        says="a saddle with 1 stable and 1 unstable directions",
        miss=(
            lambda: th.hartman_grobman(flow(PENDULUM), [0.0, 0.0]),
            {"no eigenvalue is on the imaginary axis": "fails"},
        ),
    ),
    # Structure
    Result(
        "Goodwin's cycle with positive feedback is monotone",
        "H. Smith, Monotone Dynamical Systems, AMS 1995, section 4.2",
        lambda: th.monotone(flow(CYCLE.format("z^2/(1 + z^2)")), [(0.0, 2.0)] * 3),
        {f"sign of {name}": (1.0, 0.0) for name in "xyz"},
        miss=(
            lambda: th.monotone(flow(CYCLE.format("1/(1 + z^2)")), [(0.0, 2.0)] * 3),
            {"the interactions allow an order of components": "fails"},
        ),
    ),
    Result(
        "the toggle switch keeps the order of an orthant",
        "H. Smith, Monotone Dynamical Systems, AMS 1995, section 3.5",
        lambda: th.monotone(flow("x' = 2/(1 + y^2) - x; y' = 2/(1 + x^2) - y"), [(0.0, 3.0)] * 2),
        {"sign of x": (1.0, 0.0), "sign of y": (-1.0, 0.0)},
    ),
    Result(
        "predators and prey of Lotka and Volterra keep a function",
        "J. Hofbauer and K. Sigmund, Evolutionary Games and Population Dynamics, Cambridge 1998, section 2.3",
        lambda: th.conserved(
            flow(LOTKA_VOLTERRA), lambda x: x[0] - jnp.log(x[0]) + x[1] - 2 * jnp.log(x[1]), [(0.5, 3.0)] * 2
        ),
        miss=(
            lambda: th.conserved(
                flow(LOTKA_VOLTERRA), lambda x: x[0] - jnp.log(x[0]) + x[1] - jnp.log(x[1]), [(0.5, 3.0)] * 2
            ),
            {"H does not change along solutions": "fails"},
        ),
    ),
    Result(
        "tokens in a hemisphere reach consensus under full attention", f"{CONSENSUS.authors}, theorem 4.1",
        lambda: consensus("Theorem 4.1", [[1.0, 0.0], [3.0, 4.0], [-1.0, 9.0]]),
        miss=(
            lambda: consensus("Theorem 4.1", [[1.0, 0.0], [3.0, 4.0], [-1.0, 0.0]]),
            {"an open hemisphere holds all tokens": "fails"},
        ), is_certified=False,
    ),
    Result(
        "tokens that are not opposite to the first follow it under causal attention",
        f"{CONSENSUS.authors}, theorem 5.1",
        lambda: consensus("Theorem 5.1", [[1.0, 0.0], [-3.0, 4.0], [-3.0, -4.0]], mask=Causal()),
        miss=(
            lambda: consensus("Theorem 5.1", [[1.0, 0.0], [-3.0, 4.0], [-1.0, 0.0]], mask=Causal()),
            {"no token is opposite to the first": "fails"},
        ), is_certified=False,
    ),
    # Bifurcations
    Result(
        "the Hopf point of Lorenz's equations is at rho = 470/19 and subcritical",
        "J. Marsden and M. McCracken, The Hopf Bifurcation, Springer 1976, section 4B",
        lambda: th.hopf(ds.Parameter(lorenz(24.0), "rho", 20.0, 30.0), 24.6, [7.9, 7.9, 23.6]),
        {"rho": (470 / 19, 1e-12)}, "subcritical",
    ),
    Result(
        "the origin of Lorenz's equations has a supercritical pitchfork at rho = 1",
        "S. Strogatz, Nonlinear Dynamics and Chaos, Westview 2014, section 9.2",
        lambda: th.pitchfork(
            ds.Parameter(lorenz(0.9), "rho", 0.5, 2.0), 0.99, [0.0, 0.0, 0.0], symmetry=np.diag([-1.0, -1.0, 1.0])
        ),
        {"rho": (1.0, 1e-12)}, "supercritical",
    ),
    Result(
        "the Brusselator oscillates from b = 1 + a^2, here a = 3/2",
        "S. Strogatz, Nonlinear Dynamics and Chaos, Westview 2014, exercise 8.3.1; l1 of Y. Kuznetsov, Elements of "
        "Applied Bifurcation Theory, Springer 2004, section 3.5",
        lambda: th.hopf(parameter(BRUSSELATOR, "B", 3.1, A=1.5), 3.2, [1.5, 2.1]),
        {"B": (3.25, 1e-12), "speed": (0.5, 1e-12)}, "supercritical",
    ),
    Result(
        "predators and prey of Rosenzweig and MacArthur oscillate from k = 1 + 2 m / (1 - m), here m = 1/2",
        "M. Rosenzweig, Science 171 (1971) 385",
        lambda: th.hopf(
            parameter("x' = x*(1 - x/k) - x*y/(1 + x); y' = y*(x/(1 + x) - 0.5)", "k", 2.9), 2.9, [1.0, 1.3]
        ),
        {"k": (3.0, 1e-12)}, "supercritical",
    ),
    Result(
        "Bazykin's predators and prey have a point of Bogdanov and Takens",
        "Y. Kuznetsov, Elements of Applied Bifurcation Theory, Springer 2004, example 8.3",
        lambda: th.bogdanov_takens(
            (ds.Parameter(BAZYKIN, "a", 0.0, 1.0), ds.Parameter(BAZYKIN, "d", 0.0, 1.0)),
            [0.45, 0.18], [6.2, 3.6],
        ),
        {"a": (0.453624327778, 1e-11), "d": (0.17512759295, 1e-11)},
    ),
    Result(
        "the delayed logistic map has a bifurcation of Neimark and Sacker at r = 2",
        "Y. Kuznetsov, Elements of Applied Bifurcation Theory, Springer 2004, example 4.2",
        lambda: th.neimark_sacker(parameter("x[n+1] = r*x*(1 - y); y[n+1] = x", "r", 1.9), 1.98, [0.49, 0.49]),
        {"r": (2.0, 1e-12)}, "supercritical",
    ),
    Result(
        "Henon's map doubles its period at a = 3 (1 - b)^2 / 4, here b = 0.3",
        "M. Henon, Communications in Mathematical Physics 50 (1976) 69, section 3",
        lambda: th.flip(parameter("x[n+1] = 1 - a*x^2 + y; y[n+1] = 0.3*x", "a", 0.3), 0.36, [0.9, 0.28]),
        {"a": (0.3675, 1e-12)},
    ),
    Result(
        "the logistic map doubles its period at r = 3",
        "S. Strogatz, Nonlinear Dynamics and Chaos, Westview 2014, section 10.3",
        lambda: th.flip(parameter("x[n+1] = r*x*(1 - x)", "r", 2.9), 2.95, [0.66]), {"r": (3.0, 1e-12)},
    ),
    # Two time scales
    Result(
        "the outer branches of FitzHugh and Nagumo's equations persist up to the fold",
        "N. Fenichel, Journal of Differential Equations 31 (1979) 53, theorem 9.1",
        lambda: th.fenichel(flow(NERVE), [(-2.5, -1.001), (-1.0, 3.0)]),
        miss=(
            lambda: th.fenichel(flow(NERVE), [(-2.5, -0.999), (-1.0, 3.0)]),
            {"the critical manifold attracts in the fast directions": "fails"},
        ),
    ),
    Result(
        "van der Pol's equation has a canard near a = 1",
        "M. Krupa and P. Szmolyan, Journal of Differential Equations 174 (2001) 312, section 1",
        lambda: th.canard_point(parameter("x' = (y + x - x^3/3)/0.01; y' = a - x", "a", 0.9), 0.95, [0.9, -0.6]),
        {"a": (1.0, 1e-12)},
    ),
    Result(
        "FitzHugh and Nagumo's equations have a canard near the current 7/24",
        "M. Krupa and P. Szmolyan, SIAM Journal on Mathematical Analysis 33 (2001) 286, theorem 3.1",
        lambda: th.canard_point(
            parameter("x' = (x - x^3/3 - y + a)/0.01; y' = x + 0.7 - 0.8*y", "a", 0.5), 0.3, [-0.9, -0.4]
        ),
        {"a": (7 / 24, 1e-12)},
    ),
    Result(
        "Michaelis and Menten's enzyme is slaved to its substrate",
        "J. Murray, Mathematical Biology I, Springer 2002, section 6.3; A. Tikhonov, Mat. Sb. 31 (1952) 575",
        lambda: th.tikhonov(flow(ENZYME), [(0.0, 1.0), (0.1, 2.0)], [0.0, 0.9], time=1.0),
    ),
    Result(
        "van der Pol's weak oscillations have the amplitude 2",
        "J. Sanders, F. Verhulst and J. Murdock, Averaging Methods, Springer 2007, section 2.2",
        lambda: th.averaging(
            flow("r' = 0.1*r*sin(t)^2*(1 - r^2*cos(t)^2)"), TURN, [(1.0, 3.0)], [1.8], parts=64
        ),
        says="average of f = 0 at (2)",
    ),
    Result(
        "Mathieu's equation is unstable at the first resonance",
        "F. Verhulst, Nonlinear Differential Equations and Dynamical Systems, Springer 1996, example 11.10",
        lambda: mathieu(0.24), says="of saddle type",
        miss=(lambda: mathieu(0.26), {"it is hyperbolic": "undecided"}),  # a centre: the detuning is above 1/4
    ),
    # Maps
    Result(
        "the logistic map has orbits of all periods for r = 3.84",
        "T.-Y. Li and J. Yorke, American Mathematical Monthly 82 (1975) 985, theorem 1",
        lambda: th.li_yorke(flow("x[n+1] = 3.84*x*(1 - x)"), [(0.0, 1.0)]),
    ),
    Result(
        "the window of period three of the logistic map begins at r = 1 + sqrt(8) = 3.8284271...",
        "J. Bechhoefer, Mathematics Magazine 69 (1996) 115",
        lambda: th.li_yorke(flow("x[n+1] = 3.8284272*x*(1 - x)"), [(0.0, 1.0)]),
        miss=(
            lambda: th.li_yorke(flow("x[n+1] = 3.8284271*x*(1 - x)"), [(0.0, 1.0)]),
            {"there is a point of least period three": "fails"},
        ),
    ),
    Result(
        "the logistic map has a negative Schwarzian derivative",
        "D. Singer, SIAM Journal on Applied Mathematics 35 (1978) 260, theorem 2.7",
        lambda: th.singer(flow("x[n+1] = 3.5*x*(1 - x)"), [(0.0, 1.0)]),
        miss=(
            lambda: th.singer(flow("x[n+1] = 0.2*x + 0.5*x^3 + 0.1*x^5"), [(-1.0, 1.0)]),
            {"the Schwarzian derivative is negative": "fails"},
        ),
    ),
    Result(
        "Henon's map has a horseshoe for a = 5 and b = 0.3",
        "R. Devaney and Z. Nitecki, Communications in Mathematical Physics 67 (1979) 137, section 3",
        lambda: th.horseshoe(flow("x[n+1] = 5 - x^2 + 0.3*y; y[n+1] = x"), SETS), {"entropy": (np.log(2), 1e-12)},
        miss=(
            lambda: th.horseshoe(flow("x[n+1] = 4.8 - x^2 + 0.3*y; y[n+1] = x"), SETS, covers=[(0, 0), (0, 1), (1, 0)]),
            {"set 1 covers set 2": "fails"},
        ),
    ),
    Result(
        "the standard map of Chirikov twists, and has orbits of all rotation numbers",
        "J. Meiss, Reviews of Modern Physics 64 (1992) 795, sections II and V",
        lambda: th.twist(flow("p = y + 0.97*sin(x); x[n+1] = x + p; y[n+1] = p"), [(-np.pi, np.pi)]),
        miss=(
            lambda: th.twist(flow("p = y + 0.5*sin(x) + 0.001; x[n+1] = x + p; y[n+1] = p"), [(-np.pi, np.pi)]),
            {"no net area crosses a circle": "fails"},
        ),
    ),
    Result(
        "Roessler's inner equilibrium satisfies Shilnikov's inequality",
        "P. Gaspard and G. Nicolis, Journal of Statistical Physics 31 (1983) 499, section 2",
        lambda: th.shilnikov(
            flow("x' = -y - z; y' = x + 0.32*y; z' = 0.3*x + z*(x - 4.5)"), [0.0, 0.0, 0.0], homoclinic=True
        ),
        miss=(
            lambda: th.shilnikov(flow("x' = -y - z; y' = x + 0.32*y; z' = 0.3*x + z*(x - 4.5)"), [0.0, 0.0, 0.0]),
            {"an orbit leads from the equilibrium to itself": "undecided"},
        ),
    ),
)  # fmt: skip

MARKED = [pytest.param(one, marks=[pytest.mark.slow] if one.is_slow else [], id=one.name) for one in RESULTS]
MISSED = [case for case in MARKED if case.values[0].miss]  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("result", MARKED)
def test_a_known_result_is_repeated(result: Result):
    found = result.call()
    assert [(row.words, row.status) for row in found.hypotheses if row.status != "holds"] == []
    assert found.is_certified == result.is_certified
    assert result.says in " ".join(str(found).split())
    for name, (value, error) in result.numbers.items():
        assert found.numbers[name] == pytest.approx(value, abs=error, rel=0)


@pytest.mark.parametrize("result", MISSED)
def test_a_near_miss_is_named(result: Result):
    assert result.miss is not None
    call, expected = result.miss
    found = call()
    assert {row.words: row.status for row in found.hypotheses if row.status != "holds"} == expected
    assert found.is_certified or not result.is_certified


def test_each_result_is_told_once():
    assert len(RESULTS) >= 40
    assert len({one.name for one in RESULTS}) == len(RESULTS)
