"""Results draw themselves into a user's axes: the artists are named, hold the numbers, and follow the user's style."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.contour import ContourSet
from matplotlib.figure import Figure

from analysis.chains.convergence import Convergence
from analysis.chains.stationary import stationary_distributions
from analysis.dynamics.attractors.basins import Basins
from analysis.dynamics.attractors.fractions import FractionCurves
from analysis.dynamics.attractors.limit_set import LimitSet
from analysis.dynamics.boundary_values.connecting import ConnectingOrbit
from analysis.dynamics.boundary_values.curve import Profile
from analysis.dynamics.codim2.curves import CriticalCurve
from analysis.dynamics.codim2.degeneracies import Degeneracy
from analysis.dynamics.codim2.planes import StabilityMap
from analysis.dynamics.continuation.bifurcations import Bifurcation
from analysis.dynamics.continuation.branches import Branch
from analysis.dynamics.diagrams import Diagram
from analysis.dynamics.equilibria.crossings import Completeness
from analysis.dynamics.equilibria.newton import Equilibrium
from analysis.dynamics.linearisation import Spectrum
from analysis.dynamics.lyapunov import LyapunovSpectrum
from analysis.dynamics.orbit_diagrams import HysteresisDiagram, OrbitDiagram
from analysis.dynamics.periodic_orbits.shooting import PeriodicOrbit
from analysis.dynamics.poincare import Section
from analysis.dynamics.portraits.curved import Portrait
from analysis.dynamics.portraits.line import LinePortrait
from analysis.dynamics.portraits.plane import PhasePlane
from analysis.dynamics.portraits.simplex import SimplexPortrait
from analysis.dynamics.series.power_spectra import PowerSpectrum
from analysis.dynamics.series.return_maps import ReturnMap
from analysis.fast_slow.critical_manifold import ManifoldBranch
from analysis.fast_slow.folds import LossOfHyperbolicity
from analysis.tokens.densities import EqualAreaGrid, TokenDensity
from dynsim import (
    Ensemble,
    FunctionFlow,
    FunctionMap,
    HybridTrajectory,
    Scipy,
    Sphere,
    Stats,
    Trajectory,
    iterate,
)
from dynsim.keys import random_key
from dynsim.simulation.hybrid_trajectory import Ending, Jump
from dynsim.systems.growing.flow import GrowingFlow
from dynsim.systems.growing.rules import GrowthRules
from dynsim.systems.named import Components
from dynsim.systems.prototypes.flow import PrototypeFlow
from figures import plot
from figures.panels.exponents import groups
from figures.panels.labels import at_rest, size_label
from figures.panels.phase import DARK
from figures.trajectories import in_period, pieces
from tests.support.figure_layout import overlapping

SIDE = np.linspace(-1.0, 1.0, 9)
TURN = np.linspace(0.0, 2 * np.pi, 65)
CYCLE = 0.5 * np.stack([np.cos(TURN), np.sin(TURN)], axis=1)
NONE = np.empty((0, 2, 2))
FEW = {"density": 0.2}
STATS = iterate(FunctionMap(lambda k, x: x), [0.0], 1).stats
FALL = FunctionFlow(lambda t, x: x, names=("x", "v_1"), units=("m", "m/s"), time_unit="s")


def phase_plane(velocity: Any = None, **changed: Any) -> PhasePlane:
    grid = np.stack(np.meshgrid(SIDE, SIDE), axis=-1)
    field = grid[..., ::-1] * [1.0, -1.0] if velocity is None else velocity
    rest = Equilibrium(np.zeros(2), 0.0, Spectrum(np.array([1j, -1j]), 0, 0, 1e-9, "undecided"), 1)
    whole = PhasePlane(SIDE, SIDE, field, (rest,), np.zeros((1, 2)), (), (CYCLE,), ("stable",), (1.0,), NONE, NONE,
                       CYCLE[None], False, field > 9)  # fmt: skip
    return whole._replace(names=("x", "y_1"), units=changed.get("units", ("", "")))


def on_line(velocity: Any, rests: Any = (), **named: Any) -> LinePortrait:
    """The portrait of x' = velocity for x from -1 to 1, with equilibria at points of these slopes."""
    found = tuple(
        Equilibrium(np.array([x]), 0.0, Spectrum(np.array([slope + 0j]), int(slope > 0), int(slope > 0), 1e-9, kind), 1)
        for x, slope, kind in rests
    )
    return LinePortrait(SIDE, velocity, found, (), Completeness(), **named)


def on_simplex(names: tuple[str, ...] = ()) -> SimplexPortrait:
    middle = np.full(3, 1 / 3)
    rest = Equilibrium(middle, 0.0, Spectrum(np.array([-1.0 + 0j, -1.0]), 0, 0, 1e-9, "stable"), 1)
    return SimplexPortrait(np.stack([np.eye(3)[0], middle])[None], (rest,), (), names)


def branch(**changed: Any) -> Branch:
    p = np.linspace(0.0, 1.0, 5)
    fold = Bifurcation("fold", np.array([2.5]), 0.6, np.empty(0), 0.6, 0.0, np.zeros(2))
    kinds = ("stable",) * 3 + ("unstable",) * 2
    return Branch(
        (p**2)[:, None], p, p, np.zeros((5, 1), complex), kinds, (fold,), ("bounds",) * 2, name="mu"
    )._replace(**changed)


def basins() -> Basins:
    rest = LimitSet("equilibrium", "stable", np.array([[0.5, -0.25]]), np.zeros((1, 2)), 0.0, np.zeros(2))
    labels = np.repeat([[0], [-2]], [6, 3], axis=0).repeat(9, axis=1)
    found = Basins(labels, (SIDE, SIDE), ("x", "y"), (rest,), (), 1.0, 9, np.ones(2))
    return found._replace(components=Components(("x", "y"), ("m", "")), varied=(0, 1), base=np.zeros(2))


def run(ys: Any = None, flow: Any = FALL) -> Trajectory:
    states = CYCLE if ys is None else ys
    return Trajectory(np.linspace(0.0, 1.0, len(states)), states, flow, STATS)


def bouncing() -> HybridTrajectory:
    late = Trajectory(np.linspace(1.0, 2.0, 65), -CYCLE, FALL, STATS)
    return HybridTrajectory((run(), late), (Jump(0, "hit", 1.0, CYCLE[-1], -CYCLE[0]),), Ending.FINISHED)


def heads() -> HybridTrajectory:
    """A run of growing heads of which the first exists and cools from 1 to 1/2."""
    flow = GrowingFlow(np.eye(2), [[0.0, 1.0], [-1.0, 0.0]], rules=GrowthRules(threshold=0.1, capacity=2))
    states = jax.tree.map(lambda value: np.stack([value] * 2), flow.start(random_key(0, "heads")))
    states = states._replace(cubes=np.array([[1.0, 1.0], [0.125, 1.0]]))
    first = eqx.tree_at(lambda one: one.active, flow, np.array([True, False]))
    return HybridTrajectory((Trajectory(np.arange(2.0), states, first, STATS),), (), Ending.FINISHED)


def ensemble() -> Ensemble:
    ts, counts = np.linspace(0.0, 1.0, 5), np.zeros(30, int)
    values = np.arange(30.0)[:, None, None] + np.zeros((30, 5, 2))
    stats = Stats(counts == 0, counts, counts, counts, 0.0 * counts, 0.0 * counts)
    return Ensemble(ts, values, values[:, 0], values[:, -1], stats, FALL, Scipy())


def curve() -> CriticalCurve:
    cusp = Degeneracy("cusp", np.zeros(1), 0.5, 0.25)
    return CriticalCurve("fold", SIDE, SIDE**2, SIDE[:, None], 0 * SIDE, (cusp,), ("bounds",) * 2)


def loop() -> ConnectingOrbit:
    """The loop of x'' = x - x^2 at the saddle 0."""
    x = 1.5 / np.cosh(SIDE * 4) ** 2
    rests = np.zeros((2, 2)), np.array([[-1.0 + 0j, 1.0]] * 2)
    states = np.column_stack([x, -4 * x * np.tanh(SIDE * 4)])
    return ConnectingOrbit("homoclinic", 0.25, 8 * (SIDE + 1), states, *rests[0], rests[1], 1e-9, ("x", "v"),
                           ("m", "m/s"), "s")  # fmt: skip


def loops() -> CriticalCurve:
    """A curve of homoclinic orbits with a special point."""
    profiles = Profile(np.stack([loop().states] * 9), np.column_stack([SIDE, SIDE + 9]), np.tile(SIDE, (9, 1)))
    known = curve()
    place = known.degeneracies[0]._replace(kind="neutral saddle", state=Profile(*(a[0] for a in profiles)))
    return known._replace(kind="homoclinic orbit", states=profiles, degeneracies=(place,))


class Case(NamedTuple):
    """A result, which is made when a test needs it, the parts of its picture, and the data of one part."""

    make: Any
    parts: str
    data: Any

    @property
    def result(self) -> Any:
        return self.make()


CASES = {
    "phase plane": Case(
        lambda: phase_plane(),
        "streamlines nullclines equilibria surfaces trajectories separatrices cycles families",
        lambda drawn: (drawn.cycles[0].get_xydata(), CYCLE),
    ),
    "circle": Case(
        lambda: Portrait(CYCLE[:-1] / 0.5, CYCLE[:-1, ::-1], np.eye(2)[:1], ("stable",), np.zeros(64, int)),
        "field equilibria families",
        lambda drawn: (drawn.equilibria[0].get_xydata(), [[1.0, 0.0]]),
    ),
    "line": Case(
        lambda: on_line(SIDE, [(0.0, 1.0, "unstable")]),
        "zero velocity arrows equilibria families",
        lambda drawn: (drawn.equilibria[0].get_xydata(), [[0.0, 0.0]]),
    ),
    "simplex": Case(
        lambda: on_simplex(),
        "outline trajectories equilibria families",
        lambda drawn: (drawn.equilibria[0].get_xydata(), [[0.5, 0.75**0.5 / 3]]),
    ),
    "branch": Case(
        lambda: branch(),
        "branches orbits bifurcations",
        lambda drawn: (drawn.bifurcations[0].get_xydata(), [[0.6, 2.5]]),
    ),
    "diagram": Case(
        lambda: Diagram("mu", (branch(bifurcations=()),), (1,), names=("v",), units=("mV",)),
        "branches orbits bifurcations",
        lambda drawn: (drawn.branches[0].get_xydata()[::8], np.stack([SIDE[4:7], SIDE[4:7] ** 2], axis=1)),
    ),
    "curve": Case(lambda: curve(), "curves degeneracies", lambda drawn: (drawn.curves[0].get_ydata(), SIDE**2)),
    "connecting orbit": Case(
        lambda: loop(), "lines equilibria", lambda drawn: (drawn.lines[0].get_xydata(), loop().states)
    ),
    "curve of orbits": Case(
        lambda: loops(), "curves degeneracies", lambda drawn: (drawn.curves[0].get_ydata(), SIDE**2)
    ),
    "map of numbers": Case(
        lambda: StabilityMap(SIDE, SIDE[:3], np.ones((3, 9)), np.ones((3, 9)), np.zeros((3, 9)), ("a", "b")),
        "image",
        lambda drawn: (drawn.image[0].get_array().shape, (3, 9, 3)),
    ),
    "basins": Case(
        lambda: basins(),
        "image boundaries attractors",
        lambda drawn: (drawn.attractors[0].get_xydata(), [[0.5, -0.25]]),
    ),
    "fractions": Case(
        lambda: FractionCurves(SIDE, np.arange(1), SIDE[:, None] ** 2, 0 * SIDE[:, None], SIDE[:, None], ({},) * 9),
        "bands lines",
        lambda drawn: (drawn.lines[0].get_ydata(), SIDE**2),
    ),
    "section": Case(
        lambda: Section(TURN, CYCLE * SIDE[0], np.ones(65), 0.01, True),
        "points",
        lambda drawn: (drawn.points[0].get_xydata(), -CYCLE),
    ),
    "orbit diagram": Case(
        lambda: OrbitDiagram(SIDE, np.stack([SIDE, -SIDE], axis=1)),
        "points",
        lambda drawn: (drawn.points[0].get_ydata()[:2], [-1.0, 1.0]),
    ),
    "exponents": Case(
        lambda: LyapunovSpectrum(
            np.array([1.0, -9.0]), np.full(2, 0.1), TURN, np.stack([TURN, -TURN], axis=1), True, ""
        ),
        "zero lines bands",
        lambda drawn: (drawn.lines[1].get_ydata(), -TURN),
    ),
    "periodic orbit": Case(
        lambda: PeriodicOrbit(np.zeros(2), 6.0, np.zeros((1, 2)), np.array([0.5 + 0.25j]), 0.0, 0.0, "stable"),
        "circle multipliers",
        lambda drawn: (drawn.multipliers[0].get_xydata(), [[0.5, 0.25]]),
    ),
    "run": Case(lambda: run(), "lines errors", lambda drawn: (drawn.lines[1].get_ydata(), CYCLE[:, 1])),
    "prototypes": Case(
        lambda: run(np.stack([CYCLE, -CYCLE], axis=1), PrototypeFlow([[0.0, 1.0], [1.0, 0.0]], 1.0)),
        "embeddings start end lines",
        lambda drawn: (drawn.lines[1].get_xydata(), -CYCLE),
    ),
    "hybrid run": Case(
        lambda: bouncing(),
        "lines errors jumps",
        lambda drawn: (drawn.jumps[0].get_ydata(), [CYCLE[-1, 0], -CYCLE[0, 0]]),
    ),
    "growing heads": Case(
        lambda: heads(), "lines least", lambda drawn: (drawn.lines[0].get_xydata(), [[0.0, 1.0], [1.0, 0.5]])
    ),
    "convergence": Case(
        lambda: Convergence(np.arange(2.0), np.eye(2), stationary_distributions(np.array([[-1.0, 1.0], [1.0, -1.0]]))),
        "lines",
        lambda drawn: (drawn.lines[0].get_ydata(), [0.5, 0.5]),
    ),
    "convergence of three states": Case(
        lambda: Convergence(
            np.arange(3.0), np.eye(3), stationary_distributions(np.ones((3, 3)) - 3 * np.eye(3)), "euler"
        ),
        "lines steps stationary outline",
        lambda drawn: (drawn.stationary[0].get_xydata(), [[0.5, 0.75**0.5 / 3]]),
    ),
    "critical manifold": Case(
        lambda: ManifoldBranch(
            SIDE,
            SIDE**2,
            SIDE[:, None] + 0j,
            ("attracting",) * 9,
            (LossOfHyperbolicity("fold", *np.zeros((2, 1)), 4.0),),
            "path",
        ),
        "branches folds",
        lambda drawn: (drawn.branches[0].get_segments()[0], np.stack([SIDE**2, SIDE], axis=1)),
    ),
    "density": Case(
        lambda: TokenDensity(EqualAreaGrid(2, 8), np.arange(3.0), np.arange(24.0).reshape(3, 8)),
        "image",
        lambda drawn: (drawn.image[0].get_array(), 8 * np.arange(24.0).reshape(3, 8).T),
    ),
    "ensemble": Case(
        lambda: ensemble(),
        "members bands medians densities",
        lambda drawn: (drawn.medians[0].get_ydata(), np.full(5, 14.5)),
    ),
}


@pytest.fixture
def ax():
    return Figure(layout="constrained").subplots()


@pytest.mark.parametrize("name", CASES)
def test_artists_are_named_hold_the_numbers_and_can_be_left_out(name, ax):
    result, parts, data = CASES[name].result, CASES[name].parts, CASES[name].data
    before = dict(mpl.rcParams)
    smooth: dict[str, Any] = {"smooth": False} if isinstance(result, Trajectory | HybridTrajectory) else {}
    drawn = result.plot(ax, **(smooth | ({"streamlines": FEW} if name == "phase plane" else {})))
    assert list(drawn) == parts.split()
    found, expected = data(drawn)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert drawn.axes == [ax]
    assert (drawn.legend, drawn.colourbar, ax.get_legend(), len(ax.figure.axes)) == (None, None, None, 1)
    assert dict(mpl.rcParams) == before
    empty = Figure().subplots()
    off = result.plot(empty, labels=False, limits=False, **dict.fromkeys(drawn, False), **smooth)
    assert not any(off[part] for part in off)
    assert (empty.get_xlabel(), empty.get_ylabel(), empty.get_xlim()) == ("", "", (0.0, 1.0))


def test_a_connecting_orbit_is_drawn_over_time_too(ax):
    drawn = loop().plot(ax, over_time=True)
    assert [line.get_label() for line in drawn.lines] == ["$x$", "$v$"]
    assert ax.get_xlabel() == "time $t$ (s)"
    loop().plot(ax, over_time=True, components=["v"])
    assert ax.get_ylabel() == "$v$ (m/s)"
    with pytest.raises(ValueError, match="`components` must be two without `over_time=True`, but are 1"):
        loop().plot(components=["x"])


def test_axes_of_parameters_show_their_units():
    units = (("mu", "nA"), ("nu", "1/s"))
    found = CASES["diagram"].result._replace(parameter_units=units, second="nu", curves=(curve(),))
    shares = CASES["fractions"].result._replace(name="nu", unit="1/s")
    labels = [ax.get_xlabel() for ax in (found.plot().axes[0], found.plot_plane().axes[0], shares.plot().axes[0])]
    assert [label[-5:] for label in labels] == [" (nA)", " (nA)", "(1/s)"]
    assert found.plot_plane().axes[0].get_ylabel().endswith("(1/s)")


def test_fonts_widths_and_colours_are_those_of_the_style_in_use():
    with mpl.rc_context({"lines.linewidth": 3.0, "lines.markersize": 12.0, "font.family": "monospace",
                         "axes.prop_cycle": mpl.rcsetup.cycler(color=["teal", "maroon"])}):  # fmt: skip
        ax = Figure().subplots()
        lines = run().plot(ax, smooth=False).lines
        points = branch().plot(ax).bifurcations
        two = CASES["prototypes"].result.plot(ax, smooth=False).lines
        (head,) = CASES["growing heads"].result.plot(ax, smooth=False).lines
    assert [line.get_color() for line in (*lines, *two)] == ["teal", "maroon"] * 2
    assert [line.get_linewidth() for line in (*two, head)] == [pytest.approx(2.7)] * 3
    assert ax.xaxis.label.get_fontfamily() == ["monospace"]
    assert (lines[0].get_linewidth(), points[0].get_markersize()) == (pytest.approx(2.4), 13.5)
    own = run().plot(smooth=False)
    assert own.axes[0].xaxis.label.get_fontfamily() == ["serif"]
    assert (own.lines[0].get_linewidth(), own.own) == (0.7, True)


def test_parts_take_properties_of_matplotlib_and_pictures_a_colour(ax):
    drawn = phase_plane().plot(ax, equilibria={"markersize": 11}, cycles={"color": "red"}, colour="blue",
                               streamlines={"linewidth": 3.0, "density": 0.2})  # fmt: skip
    assert drawn.equilibria[0].get_markersize() == 11
    assert {line.get_color() for line in drawn.cycles} == {"red"}
    lines = next(one for one in drawn.streamlines if hasattr(one, "get_segments"))
    assert (lines.get_linewidth()[0], tuple(lines.get_color()[0])) == (3.0, (0.0, 0.0, 1.0, 1.0))
    assert run().plot(ax, linewidth=5, smooth=False).lines[0].get_linewidth() == 5
    assert branch().plot(ax, colour="green").branches[0].get_color() == "green"


def test_a_legend_of_nothing_is_left_out(ax):
    t = np.linspace(0.0, 1.0, 5)
    drawn = PowerSpectrum(t, t, 1.0).plot(ax, legend=True)
    assert (drawn.legend, ax.get_legend()) == (None, None)


def test_a_legend_and_a_colour_bar_are_drawn_on_request(ax):
    drawn = phase_plane().plot(ax, legend={"loc": "upper left"}, colourbar=True, streamlines=FEW)
    assert [text.get_text() for text in drawn.legend.get_texts()] == [
        r"$\dot{x} = 0$", r"$\dot{y}_{1} = 0$", "undecided", "trajectory", "stable limit cycle",
    ]  # fmt: skip
    assert drawn.colourbar.ax.get_ylabel() == r"$|(\dot{x}, \dot{y}_{1})|$"
    own = phase_plane().plot(legend=False, colourbar=False, streamlines=FEW)
    assert len(own.figure.axes) == 1
    assert not own.figure.legends


@pytest.mark.parametrize(("options", "axes", "sentence"), [
    ({}, {"projection": "3d"}, "`ax` must be plain axes, but is axes in three dimensions"),
    ({}, {"projection": "polar"}, "`ax` must be plain axes, but is axes with the projection `polar`"),
    ({"path": True}, {}, "`ax` must be axes in three dimensions .*, but is plain axes"),
    ({"lin": False}, {}, "`options` must be among components, .*, but hold `lin`, did you mean `lines`?"),
    ({"lines": {"colr": 1}}, {}, "`lines` must hold properties of matplotlib's artists, but is {'colr': 1}"),
    ({"components": "w"}, {}, "`components` must name components of the state, a, b, c, but holds 'w'"),
])  # fmt: skip
def test_what_does_not_fit_is_refused_in_a_sentence(options, axes, sentence):
    flow = FunctionFlow(lambda t, x: x, names=("a", "b", "c"))
    states = np.column_stack([CYCLE, TURN])
    with pytest.raises(ValueError, match=sentence):
        run(states, flow).plot(Figure().add_subplot(**axes), smooth=False, **options)
    with pytest.raises(ValueError, match="`ax` must be plain axes of matplotlib, but is 3"):
        branch().plot(3)
    with pytest.raises(ValueError, match="`result` must be one that has a picture, but is 'a'"):
        plot("a")
    with pytest.raises(ValueError, match="`triangle` must be left out for 2 states, because a triangle shows three"):
        CASES["convergence"].result.plot(triangle=True)
    with pytest.raises(ValueError, match="`components` must be an index of the 1 entries of y and one of the 1 of x"):
        CASES["critical manifold"].result.plot(components=(0, 1))


def test_a_path_is_drawn_in_the_plane_in_space_and_on_the_sphere(ax):
    drawn = run().plot(ax, path=True, smooth=False)
    np.testing.assert_array_equal(drawn.lines[0].get_xydata(), CYCLE)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("$x$ (m)", "$v_{1}$ (m/s)")
    flow = FunctionFlow(lambda t, x: x)
    space = Figure().add_subplot(projection="3d")
    view = space.azim
    lines = run(np.column_stack([CYCLE, TURN]), flow).plot(space, path=True, smooth=False).lines
    assert len(lines) == 1
    assert space.azim == view
    tokens = np.stack([np.column_stack([CYCLE / 0.5, 0 * TURN])] * 2, axis=1)
    globe = run(tokens, FunctionFlow(lambda t, x: x, Sphere())).plot(Figure().subplots(), path=True, smooth=False)
    assert list(globe) == ["sphere", "lines"]
    three = run(np.eye(3), FunctionMap(lambda k, x: x)).plot(Figure().add_subplot(projection="3d"), path=True)
    assert three.lines[0].get_linestyle() == "None"  # three points, and no triangle


def test_each_component_can_have_axes_of_its_own():
    axes = Figure().subplots(2)
    drawn = run().plot(axes, smooth=False)
    assert [ax.get_ylabel() for ax in axes] == ["$x$ (m)", "$v_{1}$ (m/s)"]
    assert axes[-1].get_xlabel() == "time $t$ (s)"
    with pytest.raises(ValueError, match="`ax` must be one, or one for each of 2 components, but are 3"):
        run().plot(Figure().subplots(3), smooth=False)
    assert len(run().plot(Figure().subplots(), components="v_1", smooth=False).lines) == 1
    assert len(drawn.lines) == 2


def test_a_diameter_that_falls_by_many_decades_is_logarithmic(ax):
    tokens = np.exp(-np.arange(21.0))[:, None, None] * np.array([[1.0], [-1.0]])
    drawn = run(tokens, FunctionFlow(lambda t, x: x)).plot(ax, smooth=False)
    assert ax.get_yscale() == "log"
    np.testing.assert_allclose(drawn.lines[0].get_ydata(), 2 * np.exp(-np.arange(21.0)))
    low, high = ax.get_ylim()
    assert low < 2 * np.exp(-20.0)
    assert 2 < high < 10


def test_speeds_are_dark_on_white_and_named_only_where_they_are_speeds():
    red, green, blue = (DARK(np.linspace(0, 1, 64))[:, k] for k in range(3))
    linear = lambda c: np.where(c <= 0.03928, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    luminance = 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
    assert np.min(1.05 / (luminance + 0.05)) > 3
    assert size_label(["$x$", "$y$"], ["m", "m"], "s") == "speed (m / s)"
    assert size_label([r"$\theta_{1}$", "$y$"], ["", ""]) == r"$|(\dot{\theta}_{1}, \dot{y})|$"
    assert size_label(["$x$", "prey"], ["", ""]) == "size of the field"
    assert size_label(["$x$", "$y$"], ["m", ""]) == ""
    assert at_rest("prey (g)") == "prey at rest"
    for plane in (phase_plane(units=("m", "")), phase_plane(np.ones((9, 9, 2)))):
        drawn = plane.plot(streamlines=FEW)
        assert drawn.colourbar is None
    far = np.stack(np.meshgrid(SIDE**5, 1e3 * SIDE**9), axis=-1)
    assert type(phase_plane(far).plot(streamlines=FEW).colourbar.norm).__name__ == "LogNorm"


def test_basins_are_named_by_their_attractors_and_exponents_of_other_sizes_are_apart():
    drawn = basins().plot()
    assert [text.get_text() for text in drawn.legend.get_texts()] == [
        "equilibrium (0.5, \N{MINUS SIGN}0.25): 66.7%", "escaped: 33.3%", "attracting equilibrium",
    ]  # fmt: skip
    assert overlapping(drawn.figure) == []
    assert groups([0.9, 0.0, -14.6], [0.01, 0.01, 0.1]) == [[0, 1], [2]]
    assert groups([1e-5, -1.0], [1e-3, 0.1]) == groups([0.5, -1.0], [0.1, 0.1]) == [[0, 1]]
    assert len(CASES["exponents"].result.plot().axes) == 2


def test_pictures_have_the_same_bytes_whatever_style_is_in_use(tmp_path):
    files = [tmp_path / f"{k}.svg" for k in range(2)]
    basins().plot().save(files[0], "basins")
    with mpl.rc_context({"font.size": 20, "lines.linewidth": 9, "svg.fonttype": "path"}):
        drawn = basins().plot()
        assert isinstance(next(iter(drawn.boundaries)), mpl.collections.LineCollection)
    with mpl.rc_context({"xtick.labelsize": 30}):
        drawn.save(files[1], "basins")
    assert files[0].read_bytes() == files[1].read_bytes()


def test_a_density_is_drawn_up_to_a_time_and_at_one_time_on_the_sphere(ax):
    found = TokenDensity(EqualAreaGrid(3, 12), np.arange(3.0), np.arange(36.0).reshape(3, 12))
    drawn = found.plot(ax, time=1.5, colourbar=True, top=7.0)
    np.testing.assert_array_equal(drawn.image[0].get_array(), 12 * np.arange(12.0, 24.0))
    assert (drawn.image[0].get_clim(), drawn.colourbar.ax.get_ylabel()) == ((0.0, 7.0), "density / uniform")
    for time, shown in ((1.5, 1), (2.0, 2), (0.0, 0)):
        assert found.plot(time=time).axes[0].get_title(loc="right") == f"$t$ = {shown}"
    with pytest.raises(ValueError, match="`time` must be at least 0, the first time, but is -1"):
        found.plot(ax, time=-1.0)


def test_nullclines_of_a_plane_are_contours_of_its_field(ax):
    first, second = phase_plane().plot(ax, streamlines=False).nullclines
    assert isinstance(first, ContourSet)
    np.testing.assert_allclose(first.get_paths()[0].vertices[:, 1], 0.0, atol=1e-12)
    np.testing.assert_allclose(second.get_paths()[0].vertices[:, 0], 0.0, atol=1e-12)


def test_tokens_in_the_plane_are_drawn_as_paths_with_their_ends():
    tokens = np.stack([CYCLE, -CYCLE], axis=1)
    drawn = run(tokens, FunctionFlow(lambda t, x: x)).plot(path=True, smooth=False)
    assert [line.get_xydata().tolist() for line in drawn.lines] == [CYCLE.tolist(), (-CYCLE).tolist()]
    assert drawn.start[0].get_xydata().tolist() == tokens[0].tolist()
    assert drawn.axes[0].get_aspect() == 1.0


def test_angles_are_reduced_to_a_period_and_lines_broken_where_they_jump():
    flow = FunctionFlow(lambda t, x: x, names=("theta", "w"), periods={"theta": 2 * np.pi})
    path = run(np.array([[3.0, 0.0], [3.5, 1.0], [5.0, 3.0]]), flow)
    found = in_period(pieces(path, smooth=False), path)
    turn = 2 * np.pi
    np.testing.assert_allclose(found.ts[0], [0.0, 0.25, 0.5, 1.0])
    np.testing.assert_allclose(found.ys[0], [[3.0, 0.0], [np.nan, 0.5], [3.5 - turn, 1.0], [5.0 - turn, 3.0]])
    assert found.errors is None
    given = pieces(path, smooth=False)._replace(errors=(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),))
    np.testing.assert_array_equal(in_period(given, path).errors, [[[1, 2], [2, 3], [3, 4], [5, 6]]])
    times, states = pieces(hybrid := HybridTrajectory((path, path), (), Ending.FINISHED), smooth=False).joined
    assert np.isnan(times).tolist() == np.isnan(states[:, 0]).tolist() == [False] * 3 + [True] + [False] * 3
    assert len(in_period(pieces(hybrid, smooth=False), hybrid).ts) == 2


@pytest.mark.parametrize(("until", "shares"), [(0.25, (0.5, 0.0)), (0.5, (1.0, 0.0)), (0.75, (1.0, 0.5))])
def test_the_way_back_of_a_hysteresis_is_drawn_after_the_way_there(monkeypatch, ax, until, shares):
    seen = []
    monkeypatch.setattr(
        "figures.panels.maps.orbit_diagram", lambda ax, r, x, **given: seen.append((r, x, given["until"]))
    )
    up = OrbitDiagram(np.array([1.0, 2.0]), np.array([[5.0], [6.0]]), "r")
    down = OrbitDiagram(np.array([1.0, 2.0]), np.array([[7.0], [8.0]]), "r")
    HysteresisDiagram(up, down).plot(ax, until=until)
    assert tuple(share for *_, share in seen) == shares
    assert [r.tolist() for r, *_ in seen] == [[1.0, 2.0], [2.0, 1.0]]
    assert [x.ravel().tolist() for _, x, _ in seen] == [[5.0, 6.0], [8.0, 7.0]]


def test_peaks_of_a_spectrum_stand_on_its_line(ax):
    found = PowerSpectrum(np.arange(5.0), np.array([1e-6, 1.0, 1e-6, 4.0, 1e-6]), 1.0)
    found.plot(ax, peaks=True)
    np.testing.assert_allclose(ax.lines[-1].get_xydata(), [[3.0, 4.0], [1.0, 1.0]])


@pytest.mark.parametrize(("what", "lag", "labels"), [
    ("", 2, ("$v$ (mV) at step $k$", "$v$ (mV) at step $k + 2$")),
    ("at a maximum", 1, ("$v$ (mV) at a maximum", "$v$ (mV) at the next")),
    ("at a maximum", 2, ("$v$ (mV) at a maximum", "$v$ (mV) 2 later")),
])  # fmt: skip
def test_axes_of_a_return_map_say_how_far_its_values_are_apart(ax, what, lag, labels):
    ReturnMap(np.array([[1.0, 2.0], [2.0, 5.0]]), "v", "mV", what, 5.0, lag).plot(ax)
    assert (ax.get_xlabel(), ax.get_ylabel()) == labels
