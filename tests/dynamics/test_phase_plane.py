"""Phase planes: equilibria, limit cycles, separatrices and slices; the command `dynsim portrait` and its figures."""

import re
from pathlib import Path
from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest
from matplotlib.contour import ContourSet
from PIL import Image

from analysis.dynamics.equilibria.field_rows import FieldRows
from analysis.dynamics.equilibria.newton import equilibria
from analysis.dynamics.flow_maps import unit_speed
from analysis.dynamics.flow_maps.autonomy import change_in_time
from analysis.dynamics.flow_maps.unit_speed import Paced, curves, typical_speed
from analysis.dynamics.periodic_orbits.limit_cycles import _first_return, cycles_with_paths, limit_cycles
from analysis.dynamics.periodic_orbits.shooting import PeriodicOrbit
from analysis.dynamics.portraits import plane as phase_planes
from analysis.dynamics.portraits.plane import beside_poles, clipped, in_window, phase_plane
from analysis.dynamics.scaling.units import made_units
from dynsim import FunctionFlow
from dynsim.programs import without_compiling
from dynsim.simulation import ensemble
from dynsim.systems.catalogue.oscillators import DoubleWell, Duffing, VanDerPol
from dynsim.systems.rescaled import RescaledFlow
from figures.panels.phase import nullclines
from figures.panels.portrait_curves import paths
from figures.style import canvas, settings
from tests.core.test_compilations import count
from tests.support.commands import answer, refused, run
from tests.support.figure_layout import check_layout

pytestmark = pytest.mark.retraced


def rings(t, x):
    """Turn with the angular velocity 1; r = 1 attracts, r = 2 repels, r = 3 attracts, the origin repels."""
    r = jnp.sqrt(jnp.sum(x**2) + 1e-300)
    return jnp.stack([-x[1], x[0]]) + x * (1 - r) * (2 - r) * (3 - r)


@pytest.mark.slow
def test_limit_cycles_are_found_forwards_and_backwards_each_once():
    starts = jnp.asarray([[0.5, 0.1], [0.0, 1.4], [-2.4, 0.3], [2.9, 0.0], [3.4, 0.2]])
    found = limit_cycles(FunctionFlow(rings), starts, 40.0)
    radii = {round(float(np.linalg.norm(orbit.state)), 6): orbit.stability for orbit in found}
    assert radii == {1.0: "stable", 2.0: "unstable", 3.0: "stable"}
    assert len(found) == 3
    assert all(orbit.period == pytest.approx(2 * np.pi, rel=1e-7) for orbit in found)


def test_a_return_is_the_first_low_after_having_left():
    ts = np.linspace(0.0, 10.0, 101)
    gaps = np.abs(np.sin(np.pi * ts / 4)) + 0.004 * ts  # low at 4, lower than a twentieth, and at 8
    ys = np.stack([gaps, np.zeros(101)], axis=1)
    assert _first_return(ys, ts) == pytest.approx(4.0, abs=0.1)
    ys[2] = ys[1] / 2  # a low before having left
    assert _first_return(ys, ts) == pytest.approx(4.0, abs=0.1)
    assert _first_return(np.stack([ts, ts], axis=1), ts) is None
    assert _first_return(np.stack([gaps + 0.2 * (ts > 2), ts * 0], axis=1), ts) is None  # it does not come near
    assert _first_return(np.full((101, 2), 3.0), ts) is None
    assert _first_return(np.where(ts[:, None] > 9, np.nan, ys), ts) is None


@pytest.mark.slow
def test_curves_of_a_portrait_have_no_visible_corners():
    """On a turn of a fiftieth of the window's diagonal a chord is at most a sixth of a radian."""
    radius = 0.02 * np.hypot(4.0, 4.0)
    turn = FunctionFlow(lambda t, x: jnp.stack([-x[1], x[0]]))
    length = phase_planes.LENGTH * np.hypot(4.0, 4.0)
    (path,) = curves(turn, jnp.asarray([[radius, 0.0]]), length, signs=[1.0])
    assert np.max(np.linalg.norm(np.diff(path, axis=0), axis=1)) < radius / 6


def test_a_repelling_cycle_has_a_path_in_the_sense_of_the_flow():
    """The unit circle, on which the angle grows by one in a unit of time, repels."""
    growth = lambda x: x @ x - 1
    flow = FunctionFlow(lambda t, x: growth(x) * x + jnp.stack([-x[1], x[0]]))
    with without_compiling():
        ((orbit, path),) = cycles_with_paths(flow, np.array([[0.5, 0.0]]), 30.0)
    assert (orbit.stability, orbit.period) == ("unstable", pytest.approx(2 * np.pi))
    assert orbit.multipliers == pytest.approx([np.exp(4 * np.pi)], rel=1e-4)
    np.testing.assert_allclose(np.linalg.norm(path, axis=1), 1.0, atol=1e-5)
    angles = np.unwrap(np.arctan2(path[:, 1], path[:, 0]))
    np.testing.assert_allclose(np.diff(angles), 2 * np.pi / (len(path) - 1), rtol=1e-3)


def test_so_many_trajectories_start_in_the_window_at_different_points():
    low, high = np.array([-1.0, 2.0]), np.array([1.0, 3.0])
    starts = phase_planes.trajectory_starts(5, low, high)
    assert len(np.unique(starts, axis=0)) == 5
    assert np.all((starts > low) & (starts < high))
    assert phase_planes.trajectory_starts(0, low, high).shape == (0, 2)


@pytest.mark.slow
def test_the_separatrices_of_a_duffing_oscillator_have_the_energy_of_its_saddle():
    flow = Duffing(delta=0.0, gamma=0.0)
    found = phase_plane(flow, (-1.8, 1.8, -1.2, 1.2), trajectories=np.array([[0.3, 0.0]]), horizon=20.0, grid=41)
    assert [e.kind for e in found.equilibria].count("saddle") == 1
    assert {round(float(x), 6) for x, _ in found.points} == {-1.0, 0.0, 1.0}
    assert np.allclose(found.points[:, 1], 0, atol=1e-8)
    energy = lambda p: p[..., 1] ** 2 / 2 - p[..., 0] ** 2 / 2 + p[..., 0] ** 4 / 4
    for part in (found.stable_curves, found.unstable_curves):
        assert part.shape[0] == 2
        assert np.nanmax(np.abs(energy(part))) < 2e-3
        assert np.nanmax(part[..., 0]) > 1.3  # out to the turning point at sqrt 2
    assert np.nanmax(np.abs(energy(found.trajectories) - energy(np.array([0.3, 0.0])))) < 1e-3
    assert not found.cycles  # orbits around a centre come in families
    assert not found.forced
    assert not np.any(found.poles)
    assert np.allclose(found.velocity[..., 0], found.ys[:, None])
    drawn = found._replace(names=("x", "v_1"), units=("", "m/s")).plot().figure
    names = [text.get_text() for text in drawn.legends[0].get_texts()]
    assert names[:2] == [r"$\dot{x} = 0$", r"$\dot{v}_{1} = 0$"]
    assert {"saddle", "trajectory", "stable manifold", "unstable manifold"} <= set(names)
    check_layout(drawn)


@pytest.mark.slow
def test_curves_are_as_accurate_as_asked():
    turn = FunctionFlow(lambda t, x: jnp.stack([-x[1], x[0]]))
    path = lambda rtol, atol: curves(turn, np.array([[1.0, 0.0]]), 12.0, signs=[1.0], rtol=rtol, atol=atol)[0]
    drift = lambda *tolerances: float(np.max(np.abs(np.linalg.norm(path(*tolerances), axis=1) - 1)))
    assert drift(1e-10, None) < drift(1e-10, 1e-9) / 10 < 1e-7 < drift(1e-3, None)


@pytest.mark.parametrize("words", ["--rtol 0", "--atol -1", "--rtol 1e-20"])
def test_tolerances_of_a_portrait_are_checked(capsys, words):
    name = words.split()[0][2:]
    assert f"Argument `{name}` must be" in refused(capsys, "portrait", "van-der-pol", *words.split())


def test_curves_have_at_most_unit_speed_and_end_at_equilibria():
    path = curves(DoubleWell(), jnp.asarray([[0.1], [0.1]]), 3.0, signs=[1.0, -1.0])[..., 0]
    assert path[0, -1] == pytest.approx(1.0, abs=1e-3)
    assert path[1, -1] == pytest.approx(0.0, abs=1e-3)
    assert np.max(np.abs(np.diff(path, axis=1))) <= 3.0 / 199 + 1e-6


@pytest.mark.slow
def test_the_curves_of_a_saddle_are_told_by_where_they_lead(monkeypatch):
    """The states fall to the saddle along one line and leave it along the other; the starts are of neither kind."""
    monkeypatch.setattr(phase_planes, "curves", lambda flow, points, length, **_: np.asarray(points)[:, None])
    flow = FunctionFlow(lambda t, x: jnp.stack([x[0], -2 * x[1]]))
    (saddle,) = equilibria(flow, jnp.zeros((1, 2)))
    low, high = np.full(2, -1.0), np.ones(2)
    stable, unstable, given = phase_planes._curves(flow, [saddle], np.array([[0.5, 0.5]]), low, high, (0, 1), 0.0)
    assert np.all(stable[:, 0, 0] == 0)
    assert np.all(unstable[:, 0, 1] == 0)
    assert np.sum(stable) == np.sum(unstable) == 0  # one on each side
    assert np.all(np.abs(stable[:, 0, 1]) > 0)
    assert np.all(given == 0.5)


def test_a_paced_flow_has_the_direction_of_the_field_and_vanishes_with_it():
    x, slow = jnp.asarray([0.3, -0.4]), 0.2
    v = np.asarray(Duffing().velocity(2.0, x))
    for sign in (1.0, -1.0):
        found = Paced(Duffing(), sign, 2.0, slow).velocity(0.0, x)
        assert np.allclose(found, sign * v / np.sqrt(v @ v + slow**2), atol=1e-14)
    points = jnp.asarray([[1.0, 0.0], [0.0, 3.0], [0.0, -4.0], [jnp.nan, 0.0]])
    assert typical_speed(FunctionFlow(lambda t, x: 2 * x), points) == 6.0
    assert typical_speed(FunctionFlow(lambda t, x: 0 * x), points) == 1.0


def test_a_change_of_sign_at_a_pole_is_no_zero():
    """The first component is y / (x - 1/3), the second one x + sign(y): a jump counts as a zero."""
    field = lambda p: np.stack([p[..., 1] / (p[..., 0] - 1 / 3), p[..., 0] + np.sign(p[..., 1])], axis=-1)
    xs, ys = np.linspace(-1, 1, 20), np.linspace(-2, 2, 30)
    velocity = field(np.stack(np.meshgrid(xs, ys), axis=-1))
    found = beside_poles(field, xs, ys, velocity)
    k = int(np.searchsorted(xs, 1 / 3))
    assert np.flatnonzero(np.all(found[..., 0], axis=0)).tolist() == [k - 1, k]
    assert np.sum(found) == 2 * len(ys)
    assert not np.any(beside_poles(field, xs, ys, np.abs(velocity)))
    with settings():
        _, (ax,) = canvas()
        nullclines(ax, xs, ys, velocity, hidden=found)
        first, second = (c for c in ax.collections if isinstance(c, ContourSet))
    lines = np.concatenate([path.vertices for path in first.get_paths()])
    assert np.allclose(lines[:, 1], 0.0, atol=1e-12)  # and none at x = 1/3
    assert np.min(lines[:, 0]) == -1
    assert np.max(lines[:, 0]) == 1
    assert len(second.get_paths()[0].vertices) > len(xs)


def test_nullclines_without_a_change_of_sign_are_found_and_drawn():
    """A parabola, and a circle of which one component is the squared distance; a minimum above zero is none."""
    field = lambda p: np.stack([
        (p[..., 1] - p[..., 0] ** 2) ** 2 * (1 + p[..., 0] ** 2), (np.sum(p**2, axis=-1) - 1) ** 2,
    ], axis=-1)  # fmt: skip
    xs, ys = np.linspace(-2, 2, 101), np.linspace(-2.1, 2, 90)
    velocity = field(np.stack(np.meshgrid(xs, ys), axis=-1))
    parabola, circle = phase_planes.touching_nullclines(field, xs, ys, velocity)
    assert np.max(np.abs(parabola[..., 1] - parabola[..., 0] ** 2)) < 1e-7
    assert np.sum(np.linalg.norm(circle[:, 0] - circle[:, 1], axis=1)) == pytest.approx(2 * np.pi, rel=1e-3)
    above = phase_planes.touching_nullclines(lambda p: field(p) + 1e-4, xs, ys, velocity + 1e-4)
    assert [len(one) for one in above] == [0, 0]
    with settings():
        _, (ax,) = canvas()
        nullclines(ax, xs, ys, velocity, touching=(parabola, circle))
    assert len(ax.get_legend_handles_labels()[1]) == 2


def test_a_nullcline_that_is_touched_on_grid_lines_is_found():
    field = lambda p: np.stack([p[..., 0] ** 2, -p[..., 1]], axis=-1)
    xs = np.linspace(-2, 2, 41)
    line, none = phase_planes.touching_nullclines(field, xs, xs, field(np.stack(np.meshgrid(xs, xs), axis=-1)))
    assert np.max(np.abs(line[..., 0])) < 1e-8
    assert np.ptp(line[..., 1]) == 4
    assert len(none) == 0


def test_the_scale_of_the_field_near_an_equilibrium_tells_wide_windows():
    flow = FunctionFlow(lambda t, x: jnp.stack([x[1], (1 - x[0] ** 2) * x[1] - x[0]]))
    shares = []
    for side in (2.0, 2000.0):
        rows = FieldRows(made_units(flow), np.array([[-side, -side], [side, side]]))
        shares.append(phase_planes._scale(rows, np.zeros(2), np.full(2, 2 * side)))
    assert shares[0] > phase_planes.WIDE > shares[1] > 1e-5


@pytest.mark.parametrize(("side", "places"), [(2.0, [0]), (2000.0, [0, -1, 1])])
def test_cycles_are_looked_for_beside_equilibria_where_the_field_varies_faster(monkeypatch, side, places):
    """Each search finds the same cycle, and one about its own starts; the saddle at 0 has none beside it."""
    searches, circle = [], np.stack([np.cos(np.arange(100) / 16), np.sin(np.arange(100) / 16)], axis=1)
    orbit = PeriodicOrbit(np.ones(2), 1.0, np.ones((1, 2)), np.ones(1, complex), 0.0, 0.0, "stable")

    def search(flow, starts, horizon):
        searches.append(starts)
        return [(orbit, circle), (orbit, circle / 8 + np.mean(starts, axis=0))]

    monkeypatch.setattr(phase_planes, "cycles_with_paths", search)
    flow = FunctionFlow(lambda t, x: jnp.stack([x[0] - x[0] ** 3, -x[1]]))
    found = equilibria(flow, jnp.array([[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0]]))
    cycles, small = phase_planes._cycles(flow, found, np.full(2, -side), np.full(2, side), 1.0)
    assert small == (len(places) > 1)
    middles, widths = (np.array([of(starts[:, 0]) for starts in searches]) for of in (np.mean, np.ptp))
    assert np.all(np.abs(middles - places) < 0.1 * widths)
    assert np.all(widths[1:] < 2)
    assert [float(np.ptp(path[:, 0])) > 1 for _, path in cycles] == [True] + [False] * len(places)


def test_whether_a_field_depends_on_time():
    x = jnp.asarray([[0.3, 0.2]])
    assert change_in_time(Duffing(), x)[0] > 0
    assert change_in_time(Duffing(gamma=0.0), x)[0] == 0
    late = FunctionFlow(lambda t, x: jnp.stack([x[1], jnp.where(t > 6.0, 2.0, 0.0)]))
    points = jnp.asarray([[0.0, 0.0], [1.0, -3.0], [jnp.nan, jnp.nan]])
    assert change_in_time(late, points) == (2.0, 3.0)


def test_a_field_that_depends_on_time_away_from_the_corner_is_forced():
    flow = FunctionFlow(lambda t, x: jnp.stack([1 + x[0] * jnp.cos(t), 1 + 0 * x[1]]))
    found = phase_plane(flow, (0.0, 1.0, 0.0, 1.0), grid=8)
    assert found.forced
    assert not found.cycles


@pytest.mark.slow
def test_the_command_draws_a_line(capsys, tmp_path):
    file = tmp_path / "line.png"
    words = ("--figure", file, "--basins", "--movie", tmp_path / "line.gif", "--vary", "h=0.1:0.3:2")
    said = answer(capsys, "portrait", "double-well", "--h", 0.1, *words)
    assert said.startswith("stable -0.945649; stable 1.04668; unstable -0.101031\nbasins on 101 points")
    above = np.sum(np.linspace(-2, 2, 101) > -0.101031) / 101
    assert f"{above:.4g} stable equilibrium at [1.04668]" in said
    assert file.stat().st_size > 1000
    with Image.open(tmp_path / "line.gif") as movie:
        assert movie.n_frames == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("van-der-pol --mu 1 --basins --grid 31", "stable periodic orbit of period 6.66329"),
        ("van-der-pol --mu 1 --trajectories 4", "unstable focus (0, 0); stable cycle of period 6.6632869"),
        ("lorenz --plane x z --start 0 0 0 --trajectories 4", "saddle of index 1 (0, 0)"),
        ("oja --tokens 1", "stable"),
        ("oja --tokens 1 --dimension 2", "stable"),
        ("master-equation --size 3", "stable"),
    ],
)
def test_the_command_draws_planes_slices_spheres_and_simplices(capsys, tmp_path, words, sentence):
    file = tmp_path / "portrait.png"
    status, said, err = run(capsys, "portrait", *words.split(), "--figure", file)
    assert status == 0, err
    assert sentence in said
    assert file.stat().st_size > 1000


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("van-der-pol --box 3 -3 0 1", "Argument `box` must hold finite (low, high) for each component, low before"),
        ("van-der-pol --box 3 4", "Argument `box` must have 4 numbers"),
        ("lorenz", "Argument `plane` must name two of x, y, z"),
        ("lorenz --plane x w", "Argument `plane` must name a component of the state, x, y, z, but is `w`"),
        ("lorenz --plane x x", "must name two different components"),
        ("logistic", "must be a flow for `dynsim portrait`"),
        ("van-der-pol --nu 2", "did you mean `--mu`?"),
        ("van-der-pol --through 1", "Argument `through` must hold two numbers for each start"),
        ("van-der-pol --vary mu=0:3", "Argument `vary` must be given with `--movie`"),
        ("van-der-pol --vary nu=0:3 --movie x.gif", "did you mean `mu`?"),
        ("duffing --basins", "Argument `basins` must be left out for a time-dependent field"),
        ("master-equation --size 3 --basins", "Argument `basins` must be left out on the simplex"),
        ("token-flow", "must have a vector as its state"),
    ],
)
def test_bad_input_is_one_sentence(capsys, tmp_path, monkeypatch, words, sentence):
    monkeypatch.chdir(tmp_path)
    assert sentence in refused(capsys, "portrait", *words.split())


@pytest.mark.slow
@pytest.mark.parametrize("box", ["0 1", "0 1 0 1"])
def test_basins_are_refused_where_only_some_of_the_window_is_forced(capsys, tmp_path, monkeypatch, box):
    monkeypatch.chdir(tmp_path)
    Path("late.py").write_text("import jax.numpy as jnp\n\n\ndef field(t, x):\n    return jnp.cos(t * x[0]) + 0 * x\n")
    start = " ".join("0" for _ in box.split()[::2])
    said = refused(capsys, "portrait", "late.py:field", "--start", *start.split(), "--box", *box.split(), "--basins")
    assert "Argument `basins` must be left out for a time-dependent field" in said


def test_a_field_that_is_finite_nowhere_in_the_window_is_refused():
    flow = FunctionFlow(lambda t, x: jnp.sqrt(-1.0 - x**2))
    with pytest.raises(ValueError, match="Argument `box` must hold points at which the field is finite"):
        phase_plane(flow, (-1.0, 1.0, -1.0, 1.0))


@pytest.mark.parametrize(
    ("axes", "at", "but"),
    [((0, 2), None, "2 components; `at` gives the others, but is (0, 2)"), ((1, 1), None, "(1, 1)"),
     ((0, 3), np.zeros(3), "3 components, but is (0, 3)")],
)  # fmt: skip
def test_axes_of_a_slice_are_two_components(axes, at, but):
    with pytest.raises(ValueError, match=r"`axes` must be the indices of two of .*" + re.escape(but)):
        phase_plane(FunctionFlow(lambda t, x: -x), (-1.0, 1.0, -1.0, 1.0), axes=axes, at=at)


@pytest.mark.slow
@pytest.mark.parametrize("unit", [1.0, pytest.param(1e7, marks=pytest.mark.slow)])
def test_limit_cycles_are_found_whatever_their_period(unit):
    """Van der Pol at mu = 10: the period 19.08 is many times that in which the starts are crossed."""
    flow = RescaledFlow(VanDerPol(mu=10.0), state=[unit, unit], time=1 / unit)
    starts = jnp.asarray([[1.0, 5.0], [-2.0, 10.0], [2.0, -10.0]]) / unit
    (orbit,) = limit_cycles(flow, starts, backwards=False)
    assert orbit.stability == "stable"
    assert orbit.period / unit == pytest.approx(19.07837, rel=1e-6)
    assert 0.1 < abs(float(flow.restored(orbit.state)[0])) < 2.1
    assert count(lambda: curves(flow, starts, 1.0, signs=[1.0, -1.0, 1.0])) == 0  # cycles and curves share programs


def test_slow_spirals_are_left_to_compiled_code(monkeypatch):
    counts, compiled = [], []

    def follow(*args, **options):
        found = original(*args, **options)
        counts.append(int(found.counts.max()))
        return found

    def solved(flows, starts, ts, *args, **options):
        compiled.append(len(flows))
        return SimpleNamespace(values=np.zeros((len(flows), len(ts), 2)))

    original = unit_speed.follow
    monkeypatch.setattr(unit_speed, "follow", follow)
    monkeypatch.setattr(unit_speed, "PATIENCE", 50)
    monkeypatch.setattr(ensemble, "ensemble", solved)
    spiral = FunctionFlow(lambda t, x: jnp.stack([x[1], -x[0] - 0.01 * x[1]]))
    with without_compiling():
        unit_speed.curves(spiral, np.array([[1.0, 0.0]]), 300.0, signs=[1.0])
    assert counts == [50]  # hundreds of turns would take thousands
    assert compiled == [unit_speed.TOGETHER]


def test_a_curve_that_leaves_the_window_and_comes_back_is_drawn_in_two_pieces():
    path = np.stack([np.linspace(0.0, 1.0, 5), np.array([0.0, 1.0, 9.0, 1.0, 0.0])], axis=1)
    (found,) = clipped(path[None], np.zeros(2), np.ones(2))
    assert np.isnan(found[:, 0]).tolist() == [False, False, True, False, False]
    with settings():
        _, (ax,) = canvas()
        paths(ax, [found])
        assert [len(segment) for segment in ax.collections[0].get_segments()] == [2, 2]
        assert ax.lines[0].get_xydata().tolist() == [[0.0, 0.0]]


def test_a_running_orbit_enters_the_window_again_after_a_turn():
    turn = np.stack([np.linspace(3.0, 8.0, 11), np.ones(11)], axis=1)
    found = in_window(turn, np.array([-4.0, 0.0]), np.array([4.0, 2.0]), np.array([2 * np.pi, np.inf]))
    np.testing.assert_array_equal(found[:11], turn)
    np.testing.assert_allclose(found[12:], turn - [2 * np.pi, 0.0])
    assert len(found) == 23
