"""Folds and Hopf points in two parameters: closed forms, cusp and Bogdanov-Takens points, stability maps, errors."""

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.branches import Bifurcation
from analysis.dynamics.continuation import continue_equilibria
from analysis.dynamics.diagrams import Diagram, load_diagram, save_diagram, with_curves
from analysis.dynamics.parameter_planes import _covers, _passes, critical_curves, stability_map
from analysis.dynamics.two_parameters import CriticalCurve, critical_curve, extended_curve
from dynsim.spaces import Euclidean
from dynsim.systems.base import AbstractFlow
from dynsim.systems.catalogue.oscillators import DoubleWell
from dynsim.systems.catalogue.parameters import parameter
from dynsim.systems.catalogue.populations import Brusselator
from figures.panels.bifurcations import critical_lines, number_image
from figures.style import canvas, settings
from tests.commands import refused, run

WELL = (lambda flow: flow.h, lambda flow: flow.a)


class BogdanovTakens(AbstractFlow):
    """The normal form x' = y, y' = p + q y + x^2 + x y: folds at p = 0, Hopf points at p = -q^2 with q > 0."""

    p: object = parameter("p", -1.0)
    q: object = parameter("q", 0.5)
    space: Euclidean = Euclidean()

    def velocity(self, t, x):
        del t
        return jnp.stack([x[1], self.p + self.q * x[1] + x[0] ** 2 + x[0] * x[1]])


class Disc(AbstractFlow):
    """x' = x^2 + p^2 + q^2 - 1: two equilibria within the unit circle of p and q, on which they meet in folds."""

    p: object = parameter("p", 0.0)
    q: object = parameter("q", 0.6)
    space: Euclidean = Euclidean()

    def velocity(self, t, x):
        del t
        return x**2 + self.p**2 + self.q**2 - 1


@pytest.fixture(scope="module")
def fold():
    return continue_equilibria(DoubleWell(h=-1.0), WELL[0], jnp.asarray([-1.4]), (-1.0, 1.0)).bifurcations[0]


def test_the_folds_of_the_double_well_meet_in_a_cusp(fold):
    found = critical_curve(DoubleWell(), WELL, fold, ((-2.0, 2.0), (-1.0, 1.5)), step=0.1)
    assert np.allclose(found.first**2, 4 * (found.second / 3) ** 3, atol=1e-9)
    ((kind, h, a),) = [(d.kind, d.first, d.second) for d in found.degeneracies]
    assert (kind, h, a) == ("cusp", pytest.approx(0.0, abs=1e-9), pytest.approx(0.0, abs=1e-9))
    assert found.ends == ("bounds", "bounds")
    assert (found.second[0], found.second[-1]) == (pytest.approx(1.5), pytest.approx(1.5))
    assert found.first[0] * found.first[-1] < 0
    assert "curve of folds, " in repr(found)


def test_a_curve_that_comes_back_is_closed_and_gone_around_once():
    fold = _at("fold", 0.8, 0.0)
    found = critical_curve(Disc(), (lambda f: f.p, lambda f: f.q), fold, ((-2, 2), (-2, 2)), step=0.2)
    assert found.ends == ("closed", "closed")
    assert np.allclose(found.first**2 + found.second**2, 1.0, atol=1e-9)
    turns = np.sum(np.abs(np.diff(np.unwrap(np.arctan2(found.second, found.first))))) / (2 * np.pi)
    assert 0.8 < turns < 1.2
    assert not found.degeneracies


def _at(kind, parameter, *state):
    return Bifurcation(kind, jnp.asarray(state), parameter, np.zeros(1, complex), 0.0, 0.0, np.zeros(2))


def test_a_curve_covers_another_one_if_it_passes_both_ends():
    def line(first, second, kind="fold"):
        size = len(first)
        ends = ("bounds", "bounds")
        return CriticalCurve(kind, np.array(first), np.array(second), np.zeros((size, 1)), np.zeros(size), (), ends)

    corner = line([0.0, 2.0, 2.0], [0.0, 0.0, 1.0])
    assert _covers(corner, line([0.25, 2.0], [0.0, 0.75]))
    assert not _covers(corner, line([0.25, 0.25], [0.0, 0.75]))
    assert not _covers(corner, line([0.25, 0.25], [0.75, 0.0]))
    assert not _covers(corner, line([0.25, 2.0], [0.0, 0.75], "Hopf point"))
    assert _passes(corner, _at("fold", 0.5, 0.0), 0.19)  # a tenth of a chord
    assert not _passes(corner, _at("fold", 0.5, 0.0), 0.21)
    assert not _passes(corner, _at("fold", 0.5, 0.3), 0.0)
    assert not _passes(corner, _at("Hopf point", 0.5, 0.0), 0.0)
    assert _passes(corner, _at("fold", 0.5, 3e-9), 0.0)
    assert not _passes(corner, _at("fold", 0.5, 3e-9), 0.0, np.array([1.0, 1.0, 1e-9]))


def test_hopf_points_of_the_brusselator_are_at_one_plus_the_square():
    flow = Brusselator(a=1.0, b=1.0)
    at = continue_equilibria(flow, lambda f: f.b, jnp.ones(2), (0.5, 5.0)).bifurcations[0]
    found = critical_curve(flow, (lambda f: f.b, lambda f: f.a), at, ((1.0, 2.5), (0.8, 1.5)), step=0.1)
    assert sorted(found.ends) == ["bounds", "outside"]
    assert np.max(found.first) <= 2.5
    assert np.allclose(found.first, 1 + found.second**2, atol=1e-9)
    assert np.allclose(found.frequencies, found.second, atol=1e-9)


class Lorenz84(AbstractFlow):
    """x' = -y^2 - z^2 - x/4 + F/4, y' = x y - 4 x z - y + G, z' = 4 x y + x z - z."""

    F: object = parameter("F", 1.0)
    G: object = parameter("G", 0.25)
    space: Euclidean = Euclidean()

    def velocity(self, t, state):
        del t
        x, y, z = state
        return jnp.stack([-(y**2) - z**2 - x / 4 + self.F / 4, x * y - 4 * x * z - y + self.G, 4 * x * y + x * z - z])


def test_a_pole_of_the_lyapunov_coefficient_is_no_bautin_point():
    """At F = 1.684, G = 1.683 a third eigenvalue is zero, where the coefficient changes its sign through infinity."""
    state = jnp.asarray([1.00390638, -6.0563e-05, 0.062256743])
    at = _at("Hopf point", 1.01941, *state)._replace(frequency=4.0)
    where = (lambda f: f.F, lambda f: f.G)
    found = critical_curve(Lorenz84(), where, at, ((0.0, 3.0), (0.0, 2.0)))
    assert found.ends == ("bounds", "bounds")
    assert np.min(np.hypot(found.first - 1.684, found.second - 1.683)) < 0.1
    assert not found.degeneracies


@pytest.mark.slow
def test_folds_and_hopf_points_meet_at_a_bogdanov_takens_point():
    where, bounds = (lambda f: f.p, lambda f: f.q), ((-2.0, 1.0), (-0.5, 1.0))
    line = continue_equilibria(BogdanovTakens(), where[0], jnp.asarray([-1.0, 0.0]), (-2.0, 1.0))
    at = {b.kind: b for b in line.bifurcations}
    assert at["Hopf point"].parameter == pytest.approx(-0.25, abs=1e-8)
    folds, hopfs = (critical_curve(BogdanovTakens(), where, at[k], bounds, step=0.1) for k in ("fold", "Hopf point"))
    assert np.allclose(folds.first, 0.0, atol=1e-9)
    assert np.allclose(hopfs.first, -(hopfs.second**2), atol=1e-9)
    assert np.all(hopfs.second > 0)
    assert "Bogdanov-Takens point" in hopfs.ends
    for curve in (folds, hopfs):
        ((kind, p, q),) = [(d.kind, d.first, d.second) for d in curve.degeneracies]
        assert (kind, p, q) == ("Bogdanov-Takens point", pytest.approx(0.0, abs=1e-7), pytest.approx(0.0, abs=1e-7))


def test_both_folds_of_the_double_well_are_on_one_curve_unless_the_cusp_is_cut_off():
    """The curve is h^2 = 4 (a / 3)^3."""
    folds = continue_equilibria(DoubleWell(h=-1.0), WELL[0], jnp.asarray([-1.4]), (-1.0, 1.0)).bifurcations
    assert [at.kind for at in folds] == ["fold", "fold"]
    counts = {
        low: [curve.kind for curve in critical_curves(DoubleWell(), WELL, folds, ((-2.0, 2.0), (low, 1.5)), step=0.2)]
        for low in (-1.0, 0.5)
    }
    assert counts == {-1.0: ["fold"], 0.5: ["fold", "fold"]}
    others = [at._replace(kind="branch point") for at in folds]
    assert critical_curves(DoubleWell(), WELL, others, ((-2.0, 2.0), (-1.0, 1.5))) == ()
    with pytest.raises(ValueError, match="Argument `bounds` must hold the flow's own second parameter, 1, but are 2"):
        critical_curves(DoubleWell(), WELL, folds, ((-2.0, 2.0), (2.0, 3.0)))


@pytest.mark.slow
def test_curves_are_saved_with_their_diagram_and_go_on(tmp_path):
    branch = continue_equilibria(DoubleWell(h=-1.0), WELL[0], jnp.asarray([-1.4]), (-1.0, 1.0))
    within = lambda low: ((-2.0, 2.0), (low, 1.5))
    options = {"second": "a", "step": 0.2}
    first = with_curves(DoubleWell(), WELL, Diagram("h", (branch,), (1,)), within(0.5), **options)
    assert [curve.ends for curve in first.curves] == [("bounds", "bounds")] * 2
    save_diagram(tmp_path / "wells.npz", first)
    again = load_diagram(tmp_path / "wells.npz")
    assert repr(again) == repr(first) == "1 branch in h: 2 fold; 2 curves in h and a"
    same = with_curves(DoubleWell(), WELL, again, within(0.6), **options)
    for one, other, third in zip(again.curves, first.curves, same.curves, strict=True):
        for field in ("first", "second", "states"):
            assert np.array_equal(getattr(one, field), getattr(other, field))
            assert np.array_equal(getattr(one, field), getattr(third, field))
    (whole,) = with_curves(DoubleWell(), WELL, again, within(-1.0), **options).curves
    assert np.allclose(whole.first**2, 4 * (whole.second / 3) ** 3, atol=1e-9)
    assert [d.kind for d in whole.degeneracies] == ["cusp"]
    assert (np.min(whole.first) < -0.2, np.max(whole.first) > 0.2, whole.ends) == (True, True, ("bounds", "bounds"))
    assert np.all(np.abs(np.diff(np.sign(np.diff(whole.first)))) == 0)  # from one end to the other
    one = again.curves[0]
    reverse = one._replace(**{name: getattr(one, name)[::-1] for name in ("first", "second", "states", "frequencies")})
    other = extended_curve(DoubleWell(), WELL, reverse, within(-1.0), step=0.2)
    assert np.allclose(other.first, whole.first[::-1], atol=1e-9)
    assert [d.kind for d in other.degeneracies] == ["cusp"]
    with pytest.raises(ValueError, match="Argument `second` must be that of the curves of the diagram, `a`, but is"):
        with_curves(DoubleWell(), WELL, again, within(0.5), second="b")
    with pytest.raises(ValueError, match="Argument `known` must be a curve of folds of this flow"):
        extended_curve(
            DoubleWell(), (WELL[0], WELL[1]), again.curves[0]._replace(first=first.curves[0].first + 1), within(-1)
        )


def test_a_stability_map_counts_equilibria_on_both_sides_of_the_folds():
    starts = [jnp.asarray([v]) for v in (-1.0, 0.1, 1.0)]
    found = stability_map(DoubleWell(), WELL, [-0.5, 0.0, 0.1], [-1.0, 0.9], starts)
    assert found.found.tolist() == [[1, 1, 1], [1, 3, 3]]
    assert found.stable.tolist() == [[1, 1, 1], [1, 2, 2]]


def test_bad_input_is_one_sentence(fold):
    bounds = ((-1.0, 1.0), (-1.0, 1.5))
    with pytest.raises(ValueError, match="Argument `at` must be a fold or a Hopf point, but is a branch point"):
        critical_curve(DoubleWell(), WELL, fold._replace(kind="branch point"), bounds)
    with pytest.raises(ValueError, match="DoubleWell has no `b`"):
        critical_curve(DoubleWell(), (WELL[0], lambda f: f.b), fold, bounds)


def test_the_plane_of_two_parameters_is_drawn():
    with settings():
        _, (ax,) = canvas()
        for kind in ("fold", "Hopf point", "fold"):
            critical_lines(ax, kind, [0.0, 1.0], [1.0, 2.0])
        assert [line.get_linestyle() for line in ax.lines] == ["-", "--", "-"]
        image = number_image(ax, [[0, 1, 1], [0, 1, 2]], [0.0, 1.0, 2.0], [1.0, 2.0], what="stable")
        assert ax.get_legend_handles_labels()[1] == ["folds", "Hopf points", "0 stable", "1 stable", "2 stable"]
        assert np.allclose(image.get_array()[..., 0], [[1, 0.875, 0.875], [1, 0.875, 0.75]], atol=5e-3)  # of 8 bits
        assert ax.axis() == (0.0, 2.0, 1.0, 2.0)
        with pytest.raises(ValueError, match="Argument `kind` must be one of fold, Hopf point, but is `cusp`"):
            critical_lines(ax, "cusp", [0.0], [0.0])
        with pytest.raises(ValueError, match=r"Argument `counts` must have shape \(rows, columns\) = \(2, 3\)"):
            number_image(ax, [[0, 1]], [0.0, 1.0, 2.0], [1.0, 2.0], what="stable")


def test_the_command_follows_folds_in_a_second_parameter_and_draws_the_plane(capsys, tmp_path):
    file = tmp_path / "cusp.png"
    base = ["continue", "double-well", "--parameter", "h", "--from", "-1", "--to", "1", "--start", "0.1"]
    kept = ["--out", tmp_path / "cusp.npz"]
    status, said, _ = run(capsys, *base, "--second", "a", "--second-bounds", "0.8", "1.2", *kept)
    assert status == 0
    assert said.count("curve of folds") == 2
    plane = ["--second", "a", "--second-bounds", "-1", "1.5", "--counts", "2", "--figure", file]
    status, said, _ = run(capsys, *base, *plane, "--resume", tmp_path / "cusp.npz")
    assert status == 0
    assert said.count("curve of folds") == 1
    assert "cusp at (" in said
    assert file.stat().st_size > 5_000


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--second a --second-bounds 2 1", "Argument `second_bounds` must be two finite numbers, the first the less"),
        ("--second a", "Argument `second_bounds` must be two finite numbers, the first the less, but is missing"),
        ("--second h --second-bounds 0 1", "Argument `second` must name another parameter than `--parameter`"),
        ("--counts 3", "Argument `second` must be given with `--second-bounds` or `--counts`"),
        ("--second a --second-bounds 0 1 --counts 1", "Argument `counts` must be from 2 to 100, but is 1"),
        ("--second aa --second-bounds 0 1", "did you mean `a`?"),
        ("--second a --second-bounds 2 3", "must hold the system's own value of `a`"),
    ],
)
def test_the_command_refuses_other_second_parameters(capsys, words, sentence):
    base = ["continue", "double-well", "--parameter", "h", "--from", "-1", "--to", "1"]
    assert sentence in refused(capsys, *base, *words.split())
