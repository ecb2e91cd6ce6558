"""Pictures of results hold the numbers of the results: quantities, errors, signs, directions and names."""

import dataclasses

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.quiver import Quiver

from analysis.dynamics.attractors.basins import Basins
from analysis.dynamics.attractors.limit_set import CURVE, LimitSet
from analysis.dynamics.codim2.planes import StabilityMap
from analysis.dynamics.continuation.bifurcations import Bifurcation
from analysis.dynamics.continuation.branches import Branch
from analysis.dynamics.continuation.orbit_curve import Cycle
from analysis.dynamics.diagrams import Diagram
from analysis.dynamics.lyapunov import LyapunovSpectrum
from analysis.dynamics.portraits.curved import Portrait
from analysis.theorems.regions import box, where
from dynsim import Ensemble, FunctionFlow, HybridTrajectory, Parameter, Scipy, Stats, Trajectory
from dynsim.simulation.hybrid_trajectory import Ending
from dynsim.systems.named import Components
from figures import basins as basin_figures
from figures import diagrams, ensembles, portraits, quantities, theorems, trajectories
from figures.decimals import with_comma
from figures.movie import growing
from figures.panels.bifurcations import PALE
from figures.style import COLOURS, canvas, colour, paler, settings
from tests.figures.test_own_axes import STATS, basins, curve, loop, on_line, phase_plane

ROW = np.array([1.0, 2.0, 4.0])


def points(line):
    return np.asarray(line.get_xydata()).tolist()


def orbits(**changed):
    """Return a branch of two orbits with a fold, whose periods are 2, 4 and 5."""
    state = Cycle(np.zeros((3, 1)), np.array(5.0))
    fold = Bifurcation("fold", state, 1.5, np.empty(0), 1.5, 0.0, np.zeros(2))
    states = Cycle(np.zeros((2, 3, 1)), np.array([2.0, 4.0]))
    whole = Branch(states, np.array([1.0, 2.0]), np.array([0.0, 1.0]), np.zeros((2, 1), complex), ("stable",) * 2,
                   (fold,), ("bounds",) * 2, name="mu")  # fmt: skip
    return whole._replace(**changed)


def rests():
    return Branch(ROW[:, None], ROW, np.arange(3.0), np.zeros((3, 1), complex), ("stable",) * 3, (), ("bounds",) * 2)


def measured():
    ranges = np.array([[-1.0, 3.0], [0.0, 8.0]]), np.array([[-2.0, 4.0]])
    found = Diagram("mu", (rests(),), (1,), (orbits(),))
    return quantities.Drawn(found, ((rests(), False), (orbits(), True)), ((ROW[:, None], np.empty((0, 1))), ranges))


@pytest.mark.parametrize(
    ("quantity", "rows", "at"),
    [
        ("minimum", [[-1.0], [0.0]], [[-2.0]]), ("maximum", [[3.0], [8.0]], [[4.0]]),
        ("amplitude", [[2.0], [4.0]], [[3.0]]), ("period", [[2.0], [4.0]], [[5.0]]),
        ("frequency", [[0.5], [0.25]], [[0.2]]),
    ],
)  # fmt: skip
def test_a_quantity_of_orbits_is_that_of_each_of_them(quantity, rows, at):
    found = quantities.shown(measured(), quantity)
    assert [part.tolist() for part in found.values[-1]] == [rows, at]
    timed = quantity in ("period", "frequency")
    assert [one for _, one in found.branches] == ([True] if timed else [False, True])
    if not timed:
        assert found.values[0][0].tolist() == (0 * ROW if quantity == "amplitude" else ROW)[:, None].tolist()
    assert found.orbits == "periodic orbits"
    with pytest.raises(ValueError, match="without periodic orbits"):
        quantities.shown(measured()._replace(branches=((rests(), False),), values=measured().values[:1]), "period")


def test_quantities_are_named_with_their_units():
    named = [quantities.label(one, "v", "mV", "s") for one in quantities.QUANTITIES]
    assert named == ["$v$ (mV)", "minimum of $v$ (mV)", "maximum of $v$ (mV)", "amplitude of $v$ (mV)", "period (s)",
                     "frequency (1 / s)"]  # fmt: skip


def test_the_limits_of_a_diagram_leave_out_ends_that_run_away_and_keep_bifurcations():
    p = np.linspace(0.0, 1.0, 101)
    away = Branch(p[:, None], p, p, np.zeros((101, 1), complex), ("stable",) * 101, (), ("bounds",) * 2)
    values = np.where(p > 0.95, 1e6, p)[:, None]
    made = quantities.Drawn(Diagram("mu", (away,), (1,)), ((away, False),), ((values, np.array([[-3.0]])),))
    limits, every = diagrams.limits_of(made)
    assert every == (0.0, 1e6)
    assert limits == pytest.approx((-3.0 - 0.08 * 3.9, 0.9 + 0.08 * 3.9), abs=0.02)


def test_branches_orbits_and_marks_of_a_diagram_have_their_colours_and_places():
    drawn = diagrams._drawn(measured(), "v", None, (True, True, True), {"colour": None, "window": None, "bounds": (),
                            "until": 1.0}, {})  # fmt: skip
    assert {line.get_color() for line in drawn.branches} == {COLOURS["first"]}
    assert {line.get_color() for line in drawn.orbits} == {COLOURS["second"]}
    assert [points(mark) for mark in drawn.bifurcations] == [[[1.5, -2.0]], [[1.5, 4.0]]]
    labels = [text.get_text() for text in drawn.legend.get_texts()]
    assert {"periodic orbits, max. and min.", "stable", "unstable", "fold"} <= set(labels)
    ends = sorted(points(line)[-1] for line in drawn.orbits)
    assert ends == [[2.0, 0.0], [2.0, 8.0]]


def limit(states, kind="equilibrium", stability="stable", period=0.0):
    rows = np.asarray(states, float)
    return LimitSet(kind, stability, rows, rows, period, np.zeros(0, complex))


def test_limits_of_basins_are_described_and_projected_if_they_lie_elsewhere():
    cycle = limit([[1.0, 2.0, 0.0], [3.0, 4.0, 0.0]], "periodic orbit", period=6.25)
    far, line = limit([[9.0, 0.25, -2.0]]), limit([[1.0, 0.0, 0.0]], CURVE)
    cloud = limit([[1.0, 2.0, 3.0]], "recurrent set")
    ones = limit([[0.5, 1e-12, 0.25]]), cycle, line, cloud, far
    found = Basins(np.zeros((2, 2), int), (np.arange(2.0),) * 2, ("z", "y"), ones, (), 1.0, 9, np.ones(3))
    found = found._replace(
        components=Components(("x", "y", "z"), ("",) * 3), varied=(2, 1), base=np.array([0.5, 7.0, 7.0])
    )
    assert [basin_figures.described(one, found) for one in ones] == [
        "equilibrium (0.25, 0)", "periodic orbit, period 6.25", CURVE, "recurrent set",
        "equilibrium (\N{MINUS SIGN}2, 0.25)",
    ]  # fmt: skip
    marks = [basin_figures._mark(one, True, found) for one in (ones[0], ones[4])]
    assert [mark.projected for mark in marks] == [False, True]
    assert marks[0].points.tolist() == [[0.25, 1e-12]]
    turned = found._replace(periods={0: 8.5})  # by which 9 is 0.5
    assert not basin_figures._mark(ones[4], None, turned).projected
    twice = found._replace(attractors=(ones[2], ones[2], ones[3]))
    assert basin_figures.basin_names(twice) == {0: f"{CURVE} (number 1)", 1: f"{CURVE} (number 2)", 2: "recurrent set"}


def test_basins_of_one_component_are_a_strip_and_of_three_are_refused():
    found = basins()
    drawn = found._replace(labels=found.labels[:, 0], axes=found.axes[:1], names=("x",), varied=(0,)).plot()
    assert drawn.image[0].get_array().shape == (1, 9, 3)
    assert drawn.attractors[0].get_xydata().tolist() == [[0.5, 0.5]]
    assert (drawn.legend.get_title().get_text(), drawn.axes[0].get_xlabel()) == ("$y$ = 0", "$x$ (m)")
    for other, axes in ((found._replace(labels=np.zeros((2, 2, 2), int)), 3), (found._replace(varied=()), 2)):
        with pytest.raises(ValueError, match=f"`basins` must have one or two components that vary, but have {axes}"):
            other.plot()


def test_numbers_of_equilibria_are_purple_where_one_is_undecided_also_below_curves():
    undecided = np.array([[0, 1, 0], [0, 0, 2]])
    numbers = StabilityMap(np.arange(3.0), np.arange(2.0), undecided, 1 - undecided, undecided, ("a", "b"), ("m", ""))
    purple = to_rgb(paler(COLOURS["undecided"], PALE))
    for image in (numbers.plot().image[0], curve().plot(counts=numbers).counts[0]):
        assert np.isclose(image.get_array(), purple).all(axis=-1).tolist() == (undecided > 0).tolist()
    ax = curve().plot(counts=numbers, bounds=((0.0, 1.5), (0.25, 0.75))).axes[0]
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_xlim(), ax.get_ylim()) == (
        "$a$ (m)", "$b$", (0.0, 1.5), (0.25, 0.75),
    )  # fmt: skip


def test_arrows_on_a_line_point_with_the_flow_and_leave_equilibria_out():
    xs = np.linspace(-1.0, 1.0, 9)
    (ax,) = on_line(np.where(xs > 0, 2.0, -1.0) * np.abs(xs), [(0.0, 1.0, "unstable")]).plot().axes
    notes = [(note.xyann[0], note.xy[0]) for note in ax.texts]
    assert len(notes) >= 11
    assert all(np.sign(tip - tail) == np.sign(tip) for tail, tip in notes)
    np.testing.assert_allclose([abs(tip - tail) for tail, tip in notes], 0.5 * 2 / 14)
    assert min(abs(tip + tail) / 2 for tail, tip in notes) >= portraits.CLEAR * 2 / 14
    labels = [on_line(xs, name="c", unit="M", time_unit="s").plot().axes[0].get_ylabel()]
    assert labels == ["velocity of $c$ (M / s)"]


def test_the_speed_on_a_circle_is_positive_where_the_flow_turns_left():
    angles = np.arange(64) * 2 * np.pi / 64
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    turning = np.stack([-ring[:, 1], ring[:, 0]], axis=1)
    speeds = np.where(ring[:, 0] > 0, 2.0, -1.0)
    found = Portrait(ring, speeds[:, None] * turning, np.zeros((0, 2)), (), np.zeros(64, int))
    (line,) = [line for line in found.plot().axes[0].lines if line.get_label() == "speed"]
    radius = np.linalg.norm(line.get_xydata(), axis=1)[:-1]
    np.testing.assert_allclose(radius, 1 + 0.45 * speeds / 2)


def test_a_plane_without_units_names_the_size_of_its_field_and_its_window():
    ax = phase_plane(units=("m", "m")).plot(streamlines={"density": 0.2}).axes[0]
    assert (ax.get_xlim(), ax.get_ylim()) == ((-1.0, 1.0), (-1.0, 1.0))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("$x$ (m)", "$y_{1}$ (m)")


def with_error(ys, errors):
    stats = eqx.tree_at(lambda one: one.error, STATS, errors, is_leaf=lambda part: part is None)
    return Trajectory(np.arange(float(len(ys))), ys, FunctionFlow(lambda t, x: x, names=("v", "w")), stats)


def test_errors_of_a_run_are_bands_around_its_components():
    ys, errors = np.array([[1.0, 10.0], [2.0, 20.0], [4.0, 40.0]]), np.array([[0.1, 1.0], [0.2, 3.0], [0.5, 7.0]])
    drawn = with_error(ys, errors).plot(smooth=False)
    series = drawn.axes[-2:]
    for k, ax in enumerate(series):
        (band,) = [one for one in drawn.errors if one.axes is ax]
        corners = {tuple(corner) for corner in band.get_paths()[0].vertices}
        for t in range(3):
            assert {(float(t), ys[t, k] - errors[t, k]), (float(t), ys[t, k] + errors[t, k])} <= corners
        assert ax.get_ylabel() == ("$v$", "$w$")[k]
    late = with_error(10 * ys, errors)
    both = HybridTrajectory((with_error(ys, errors), Trajectory(late.ts + 2, late.ys, late.system, late.stats)), (),
                            Ending.FINISHED)  # fmt: skip
    jumps = [points(line) for line in both.plot(smooth=False).jumps]
    assert jumps == [[[2.0, 4.0], [2.0, 10.0]], [[2.0, 40.0], [2.0, 100.0]]]


def test_chosen_components_keep_their_names_units_and_errors():
    ys, errors = np.arange(9.0).reshape(3, 3), np.ones((3, 3)) * [1.0, 2.0, 3.0]
    known = Components(("a", "b", "c"), ("m", "s", "K"), "h")
    found = trajectories.Pieces((np.arange(3.0),), (ys,), (errors,), known, False, None)
    some = found.chosen([2, 0])
    assert some.ys[0].tolist() == [[2.0, 0.0], [5.0, 3.0], [8.0, 6.0]]
    assert some.errors is not None
    assert some.errors[0].tolist() == [[3.0, 1.0]] * 3
    assert some.known == Components(("c", "a"), ("K", "m"), "h")
    assert trajectories._which(["c", -3, 1], ("a", "b", "c")) == [2, -3, 1]
    assert trajectories.padded(np.array([1.0, 3.0, np.nan])) == pytest.approx((0.92, 3.08))
    assert trajectories.padded(np.array([2.0, 2.0])) == (1.0, 3.0)
    assert trajectories._tints(["red", "blue"], 3, cycle=True) == ["red", "blue", "red"]
    assert trajectories._tints("red", 2, cycle=False) == ["red", "red"]
    assert trajectories._tints(None, 2, cycle=False) == [None, None]


def ensemble(values, finished=None):
    counts = np.zeros(len(values), int)
    done = np.ones(len(values), bool) if finished is None else np.asarray(finished)
    flow = FunctionFlow(lambda t, x: x, names=("v", "w"), units=("mV", ""), time_unit="s")
    stats = Stats(done, counts, counts, counts, 0.0 * counts, 0.0 * counts)
    return Ensemble(np.arange(3.0), values, values[:, 0], values[:, -1], stats, flow, Scipy())


def test_an_ensemble_shows_the_times_that_a_member_reaches_and_names_of_its_own_state():
    values = np.arange(12.0).reshape(2, 3, 2)
    values[:, 2] = np.nan
    ts, rows = ensembles.table(ensemble(values))
    assert (ts.tolist(), rows.shape) == ([0.0, 1.0], (2, 2, 2))
    whole = np.arange(12.0).reshape(2, 3, 2)
    known = ensembles._known(ensemble(whole), (), (), 2)
    assert known == Components(("v", "w"), ("mV", ""), "s")
    other = ensemble(whole)
    other = eqx.tree_at(lambda one: one.final, other, other.final + 1)
    assert ensembles._known(other, (), (), 2).names == ("quantity 1", "quantity 2")
    assert ensembles._known(other, ("a", "b"), ("m", "s"), 2) == Components(("a", "b"), ("m", "s"), "s")
    drawn = ensemble(whole).plot(quantiles=(0.0, 1.0))
    medians = [line.get_ydata().tolist() for line in drawn.medians]
    assert medians == [[3.0, 5.0, 7.0], [4.0, 6.0, 8.0]]
    limits, gone = ensembles.leaving(np.array([[0.3, 0.8], [0.5, 1e9], *[[0.2, 0.9]] * 60]), np.ones(62, bool))
    assert limits is not None
    assert np.flatnonzero(gone).tolist() == [1]


def test_running_exponents_of_other_sizes_are_in_panels_with_their_own_errors():
    running = np.array([[1.0, -20.0], [1.25, -20.5]])
    found = LyapunovSpectrum(running[-1], np.array([0.125, 0.5]), np.array([1.0, 2.0]), running, True, "")
    small, large = found.plot().axes
    assert [ax.get_xlabel() for ax in (small, large)] == ["", "time $t$"]
    for ax, k in ((small, 0), (large, 1)):
        (line,) = [line for line in ax.lines if np.size(line.get_xdata()) == 2 and line.get_linestyle() != "None"
                   and line.get_label().startswith("$")]  # fmt: skip
        assert line.get_ydata().tolist() == running[:, k].tolist()


def test_regions_of_theorems_are_bounded_by_their_faces_and_functions():
    half = where([(-1.0, 3.0), (0.0, 2.0)], lambda x: x[0] - x[1])
    at = np.array([[2.0, 0.5], [0.0, 1.0], [2.9, 1.9]])
    np.testing.assert_allclose(theorems._inside(half, at), [0.5, -1.0, 0.1])
    bounded = dataclasses.replace(half, has_faces=False)
    np.testing.assert_allclose(theorems._inside(bounded, at), [1.5, -1.0, 1.0])
    faced = box([(-1.0, 3.0), (0.0, 2.0)])
    np.testing.assert_allclose(theorems._inside(faced, at), [0.5, 1.0, 0.1])
    assert theorems._around(np.array([[1.0, 5.0], [-2.0, 7.0]])).tolist() == [[-2.0, 1.0], [5.0, 7.0]]
    X, Y, x = theorems._grid(faced, 3, 0.25)
    assert (X[0].tolist(), Y[:, 0].tolist(), x[1].tolist()) == ([-2.0, 1.0, 4.0], [-0.5, 1.0, 2.5], [1.0, -0.5])


def test_arrows_boxes_and_witnesses_of_theorems_lie_where_they_are():
    with settings():
        _, (ax,) = canvas()
        flow = FunctionFlow(lambda t, x: jnp.stack([2e-3 + 0 * x[0], 3e-3 + 0 * x[1]]))
        theorems._field(ax, flow, box([(0.0, 4.0), (0.0, 1.0)]))
        theorems._boxes(ax, [np.array([[[0.0, 2.0], [1.0, 1.5]]])])
        theorems._points(ax, np.array([[1.0, 2.0], [3.0, 5.0]]))
    (arrows,) = [part for part in ax.collections if isinstance(part, Quiver)]
    way = np.array([2.0, 3.0 / 0.25])  # the window is a quarter as high as wide
    np.testing.assert_allclose(np.stack([arrows.U, arrows.V], axis=1), np.tile(way / np.linalg.norm(way), (441, 1)))
    (boxes,) = [part for part in ax.collections if part.get_label() == "undecided"]
    assert boxes.get_paths()[0].get_extents().bounds == (0.0, 1.0, 2.0, 0.5)
    assert points(ax.lines[-1]) == [[1.0, 2.0], [3.0, 5.0]]


def test_a_connecting_orbit_names_both_of_its_axes_and_marks_its_saddles():
    drawn = loop().plot()
    ax = drawn.axes[0]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("$x$ (m)", "$v$ (m/s)")
    assert [points(mark) for mark in drawn.equilibria] == [[[0.0, 0.0]]]
    turned = loop()._replace(kind="heteroclinic", end=np.array([1.0, 0.5])).plot(components=["v", "x"])
    assert (turned.axes[0].get_xlabel(), turned.axes[0].get_ylabel()) == ("$v$ (m/s)", "$x$ (m)")
    assert [points(mark) for mark in turned.equilibria] == [[[0.0, 0.0]], [[0.5, 1.0]]]
    over = loop().plot(over_time=True, components=["v"])
    np.testing.assert_array_equal(over.lines[0].get_xydata(), np.column_stack([loop().times, loop().states[:, 1]]))


def test_times_of_a_diagram_have_the_unit_of_its_system():
    flow = FunctionFlow(lambda t, x, mu: mu * x, parameters={"mu": 1.0}, time_unit="s")
    found = Diagram("mu", (), (), (orbits(),), names=("v",), units=("mV",))
    for quantity, label in (("period", "period (s)"), ("frequency", "frequency (1 / s)")):
        known = quantities.shown(measured()._replace(diagram=found), quantity)
        drawn = diagrams.diagram(found, quantity=quantity, parameter=Parameter(flow, "mu", 0.0, 2.0), measures=known)
        assert drawn.axes[0].get_ylabel() == label
    bare = diagrams.diagram(found, quantity="period", measures=known)
    assert bare.axes[0].get_ylabel() == "period"


def test_frames_grow_to_the_whole_and_numbers_get_commas():
    shares = [growing(lambda share: share)(phase) for phase in (0.0, 0.5, 35 / 36)]
    assert shares == pytest.approx([1 / 36, 0.5 + 1 / 36, 1.0])
    assert with_comma("1.5 to 2, $a_{1.5}$, v1.x") == "1,5 to 2, $a_{1{,}5}$, v1.x"


def test_colours_of_stability_are_those_of_the_words():
    drawn = on_line(np.linspace(-1.0, 1.0, 9), [(-0.5, -1.0, "stable"), (0.5, 1.0, "unstable")]).plot()
    stable, unstable = drawn.equilibria
    assert (points(stable), points(unstable)) == ([[-0.5, 0.0]], [[0.5, 0.0]])
    assert (stable.get_markerfacecolor(), unstable.get_markerfacecolor()) == (colour("stable"), "white")
    assert drawn.axes[0].get_xlim() == (-1.0, 1.0)
