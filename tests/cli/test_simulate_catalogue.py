"""`dynsim simulate` and pictures of trajectories for systems of the catalogue, with estimates of errors."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from matplotlib.colors import to_rgba
from PIL import Image

from dynsim import Diffrax, FunctionFlow, Scipy, load, rerun, save, simulate, to_xarray
from dynsim.integrators import InSpan
from dynsim.spaces import Simplex
from dynsim.systems.catalogue.oscillators import Pendulum, VanDerPol
from figures.panels.simplices import in_triangle
from tests.support.commands import answer, refused, run
from tests.support.figure_layout import check_layout


def test_the_catalogue_is_listed_and_simulated_with_parameters_by_name(capsys, tmp_path):
    said = run(capsys, "list", "systems")[1]
    assert "The Lorenz system (x, y, z); sigma = 10, rho = 28, beta = 2.66667" in said
    out = tmp_path / "run.npz"
    words = ("--end", 1, "--frames", 3, "--error-estimate", "--out", out, "--figure", tmp_path / "run.png")
    said = run(capsys, "simulate", "van-der-pol", "--mu", 2, "--start", -1, 0.5, *words)[1]
    assert "A solution with a tenth of the tolerance differs by at most" in said
    assert (tmp_path / "run.png").stat().st_size > 1000
    kept = load(out)
    assert float(kept.system.mu) == 2
    assert np.array_equal(kept.initial, [-1, 0.5])
    assert 0 < kept.stats.max_error < 1e-6
    assert np.array_equal(rerun(out).ys, kept.ys)


@pytest.mark.slow
def test_maps_are_iterated(capsys, tmp_path):
    said = answer(capsys, "simulate", "logistic", "--r", 2, "--end", 12, "--movie", tmp_path / "run.gif")
    assert "12 steps, from (0.3) to (0.5)" in said
    with Image.open(tmp_path / "run.gif") as movie:
        assert movie.n_frames > 1
    assert run(capsys, "simulate", "logistic", "--start", 3, "--end", 40)[0] == 1
    assert "Argument `rtol` must be left out for a map" in refused(capsys, "simulate", "logistic", "--rtol", 1e-3)


def test_what_does_not_exist_is_refused(capsys, tmp_path):
    assert "did you mean `--mu`?" in refused(capsys, "simulate", "van-der-pol", "--nu", 3)
    assert "did you mean `--frames`?" in refused(capsys, "simulate", "van-der-pol", "--framess", 3)
    assert "must end in .gif" in refused(capsys, "simulate", "van-der-pol", "--movie", tmp_path / "x.png")


@pytest.mark.slow
@pytest.mark.parametrize("integrator", [Diffrax(rtol=1e-5, atol=1e-7), Scipy(rtol=1e-5, atol=1e-7)], ids=repr)
def test_the_estimate_is_near_the_true_error(integrator, tmp_path):
    ts = np.linspace(0.0, 10.0, 11)
    rough = simulate(Pendulum(), jnp.asarray([1.0, 0.0]), ts, integrator=integrator, error_estimate=True)
    true = simulate(Pendulum(), jnp.asarray([1.0, 0.0]), ts, integrator=Scipy())
    error = float(np.max(np.abs(rough.ys - true.ys)))
    assert error / 3 < rough.stats.max_error < 3 * error
    assert rough.stats.error.shape == rough.ys.shape
    assert true.stats.error is None
    assert np.isnan(true.stats.max_error)
    save(tmp_path / "run.npz", rough)
    assert np.array_equal(load(tmp_path / "run.npz").stats.error, rough.stats.error)
    if pytest.importorskip("xarray"):
        assert np.array_equal(to_xarray(rough).state_error, rough.stats.error)


def test_tightened_tolerances():
    assert float(Diffrax(rtol=1e-5).tightened().rtol) == pytest.approx(1e-6)
    assert InSpan(Scipy(rtol=1e-5)).tightened(100).inner.rtol == pytest.approx(1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 2, 3, 7])
def test_the_drawing_names_its_axes(d):
    from dynsim import FunctionFlow

    names = tuple(f"v_{k + 1}" for k in range(d))
    flow = FunctionFlow(_decay, names=names, units=("mV",) * d, time_unit="ms")
    path = simulate(flow, jnp.ones(d), np.linspace(0.0, 1.0, 5), integrator=Scipy())
    drawn = path.plot().figure
    words = {ax.get_ylabel() for ax in drawn.axes} | {ax.get_xlabel() for ax in drawn.axes}
    assert "time $t$ (ms)" in words
    assert ("components (mV)" if d == 7 else "$v_{1}$ (mV)") in words
    check_layout(drawn)


def _decay(t, x):
    return -x


@pytest.mark.slow
@pytest.mark.parametrize("d", [7, 30])
def test_many_components_in_one_panel_have_names_and_bands_of_errors(d):
    ts, known = np.linspace(0.0, 1.0, 9), tuple(f"v_{k + 1}" for k in range(d))
    path = simulate(FunctionFlow(_decay, names=known), jnp.arange(1.0, d + 1), ts, integrator=Scipy())
    path = eqx.tree_at(lambda p: p.stats.error, path, 0.2 * path.ys, is_leaf=lambda part: part is None)
    drawn = path.plot().figure
    (ax,) = drawn.axes
    assert len(ax.collections) == d
    edges = ax.collections[-1].get_paths()[0].vertices
    assert edges[:, 1].max() == pytest.approx(1.2 * d)
    assert edges[:, 1].min() == pytest.approx(0.8 * d / np.e)
    words = [text.get_text() for text in drawn.legends[0].get_texts()]
    first = [f"$v_{{{k + 1}}}$" for k in range(d)] if d == 7 else ["$v_{1}$", "$v_{30}$"]
    assert words == [*first, f"estimated error, at most {0.2 * d:.1e}"]
    assert len({tuple(to_rgba(line.get_color())) for line in ax.lines}) == d
    assert ax.get_ylim()[1] < 1.2 * d  # the data are in view, whatever the estimates are
    check_layout(drawn)
    (ax,) = path.plot(until=0.5).figure.axes
    assert ax.lines[0].get_xdata()[-1] < 0.6
    assert ax.get_xlim() == (0.0, 1.0)


@pytest.mark.slow
def test_a_run_on_the_simplex_of_three_states_is_drawn_in_the_triangle():
    growth = FunctionFlow(lambda t, p: p * jnp.array([1.0, 2.0, 3.0]), Simplex(), names=("a", "b", "c"))
    drawn = simulate(growth, [0.5, 0.3, 0.2], [0.0, 1.0, 2.0], integrator=Scipy()).plot().figure
    path = drawn.axes[0]
    assert path.name == "rectilinear"
    corner = in_triangle(np.eye(3))[2]
    ends = [line.get_xydata()[-1] for line in path.lines]
    assert min(np.linalg.norm(end - corner) for end in ends) < 0.2  # the fittest takes over
    check_layout(drawn)


@pytest.mark.slow
def test_a_cycle_has_its_band_of_errors():
    path = simulate(VanDerPol(), jnp.asarray([2.0, 0.0]), np.linspace(0.0, 3.0, 4), error_estimate=True)
    assert len([c for ax in path.plot().figure.axes for c in ax.collections]) == 2
