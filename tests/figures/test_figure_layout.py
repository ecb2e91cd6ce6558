"""Layout of figures: texts inside and apart, names clear of marks, a mask that is no weight, and the size of runs."""

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from analysis.experiments import Record
from analysis.experiments.growing.synthetic import SHOWN
from dynsim.systems.hardmax.maps import HardmaxMap
from figures import panels
from figures.gallery import find_figures
from figures.hardmax.geometry import followed_pairs
from figures.run_size import run_size
from figures.style import NO_BASIN, canvas, power_of_ten, settings
from tests.figures.test_chain_figures import study
from tests.support.figure_layout import check_layout, covering, outside, overlapping, texts

RUN = {"run": np.array("quick run: 100 passes through some network; not the paper's size")}
RNG = np.random.default_rng(0)
START = RNG.bit_generator.state


@pytest.fixture(autouse=True)
def _same_numbers():
    """Draw the same numbers for a test whatever the order of the tests is."""
    RNG.bit_generator.state = START


def passes(count):
    curves = RNG.uniform(0, 1, size=(2, count, 101))
    names = np.array([f"prompt {k}" for k in range(count)])
    return {"passes": np.arange(101.0), "E": curves[0], "cosine": curves[1], "names": names, **RUN}


def reviews():
    data = {"weight": np.array([1.0, -0.7]), "bias": np.array(0.2), **RUN}
    for kind in ("positive", "negative"):
        turns = np.arange(6) * np.pi / 3
        outer = 3 * np.column_stack([np.cos(turns), np.sin(turns)])
        x = np.stack([np.concatenate([outer, RNG.normal(size=(34, 2)) / scale]) for scale in (2, 4)])
        followed = np.stack([followed_pairs(HardmaxMap(1.0).follower_sets(y)) for y in x])
        leads = np.arange(40) < 6
        words = np.array([f"word{k}" for k in range(40)])
        data |= {f"{kind} states": x, f"{kind} followed": followed, f"{kind} means": x.mean(axis=1)}
        data |= {f"{kind} words": words, f"{kind} leads": leads}
    return data


def losses():
    found = {**RUN}
    for d in (2, 4):
        found |= {f"softmax {d}": np.linspace(0.77, 0.7, 7), f"hardmax {d}": np.array([0.78, 0.7]),
                  f"epochs {d}": np.array([0, 6])}  # fmt: skip
    return found


def leader_words():
    found = {**RUN}
    for name, count in (("d=2", 5), ("published", 15)):
        found |= {
            f"{name} words": np.array([f"word{k}" for k in range(count)]),
            f"{name} counts": np.arange(count, 0, -1),
        }
    return found


def table():
    rows = {name: np.array([[6.0, 1, 2, 11, 0.99]] * 4) for name in ("by value", "by index", "printed")}
    return {"dimensions": np.array([2, 4, 8, 16]), **rows, **RUN}


def weights():
    return {"weights": np.tril(np.full((3, 5, 20, 20), 0.05)), "passes": np.array([1, 10, 100]), **RUN}


def spectra():
    least, most = {"asymmetry": 0.8, "least": -1.0, "greatest": 0.5}, {"asymmetry": 1.2, "least": -0.5, "greatest": 1.0}
    values = {f"{name} {kind}": RNG.uniform(least[kind], most[kind], size=(5, 8)) for name in "PU" for kind in least}
    return {**values, **RUN}


def noise():
    betas, amplitudes, fine = np.array([1.0, 4.0, 16.0]), np.linspace(0, 1, 5), np.linspace(0, 1, 9)
    dense, falling = np.geomspace(0.6, 24, 9), np.linspace(1, 0, 9)
    return {"betas": betas, "amplitudes": amplitudes, "order": RNG.uniform(size=(3, 5, 4, 2)), "shown": np.arange(3),
            "fine": fine, "mean_field": np.stack([falling] * 3), "dense": dense, "critical": falling,
            **RUN}  # fmt: skip


def densities():
    """Return the quartiles of seven values of beta and three of n, as many as the paper's size has."""
    betas, shape = np.array([1.0, 2.0, 4.0, 6.0, 9.0, 16.0, 25.0]), (3, 7, 3)
    fine = np.geomspace(0.6, 40, 30)
    rates = np.stack([0.5 * np.exp(-(np.log(fine / beta) ** 2)) for beta in betas])
    quartiles = lambda low, high: np.sort(RNG.uniform(low, high, size=shape), axis=0)
    unfinished = np.linspace(0, 1, 21).reshape(7, 3)
    return {"betas": betas, "tokens": np.array([1000, 10_000, 100_000]), "end": np.array(1e4), "fine": fine,
            "degree rates": rates, "fastest": rates.max(axis=0), "rate": quartiles(0.3, 0.5), "unfinished": unfinished,
            "time": quartiles(30, 1e4), "plateau": quartiles(10, 9e3), **RUN}  # fmt: skip


def text_readouts():
    names = ("SST-2", "IMDb", "20 Newsgroups")
    found = {"names": np.array(names), **RUN}
    for name in names:
        kinds = ("loss", "variance", "separation", "entropy")
        found |= {f"{name}: {what}": RNG.uniform(1, 2, size=(5, 16)) for what in kinds}
        found[f"{name}: scores"] = RNG.uniform(size=(5, 16, 3))
    return found


def quantisers():
    names = ("soft 16", "hard 16", "soft 64", "hard 64", "soft 64 uniform", "hard 64 uniform")
    whats = ("utilisation", "utilisation by nearest", "held-out error", "variance", "entropy")
    curves = {f"{name}: {what}": RNG.uniform(size=(5, 51)) for name in names for what in whats}
    return {"names": np.array(names), **curves, **RUN}


def two_levels():
    names = ("attached", "detached", "attached, ratio .05, lambda 1.5")
    whats = ("variance", "separation", "entropy")
    curves = {f"{name}: {what}": RNG.uniform(1, 3, size=(5, 16, 2)) for name in names for what in whats}
    scores = {f"{name}: scores": RNG.uniform(size=(5, 16, 3)) for name in names}
    chance = {f"{name}: chance": np.array([0.1, 0.05, 0.15]) for name in names}
    groups, angles = np.arange(300) % 4, np.linspace(0, 8 * np.pi, 300)  # rings about places that are free for names
    ring = np.stack([np.cos(angles) + 3 * (groups % 2), np.sin(angles) + 3 * (groups // 2)], axis=1)
    maps = {"map": ring, "assignments": groups, "labels": RNG.integers(20, size=300)}
    return {"names": np.array(names), **curves, **scores, **chance, **maps, **RUN}


def ratios():
    found, eps = {**RUN}, np.array([0.001, 0.01, 0.1, 0.5, 1.0])
    for mode in ("full", "frozen"):
        curves = {f"{mode}: {what}": RNG.uniform(0.1, 2, size=(5, 5, 301)) for what in ("S", "V/N", "spread", "ACC")}
        found |= {f"{mode}: eps": eps, f"{mode}: chance": np.full((5, 5), 0.15), **curves}
    return found


def bank():
    return {"places": RNG.normal(size=(20, 2)), "shares": np.array([0.4, 0.2]), **RUN}


def growing_heads():
    values = 2 * 0.7 ** np.arange(32)
    found = {"values": values, "threshold": np.array(0.05), "least": np.array(0.1), **RUN}
    for name in ("reference", SHOWN):
        fan = np.sort(RNG.uniform(0.1, 1, size=(8, 30)))[:, ::-1].T
        found |= {f"{name}: ts": np.geomspace(1, 1e4, 30), f"{name}: fan": fan, f"{name}: levels": values[:8]}
        found |= {f"{name}: {what}": values[:8] / values[:8].sum() for what in ("forces", "bound")}
        found |= {f"{name}: {way}": np.linspace(0.3, 0.99, 8) for way in ("as printed", "2 lambda^2")}
    return found


def removals():
    found = {"names": np.array(["trained", "random"]), **RUN}
    for name in ("trained", "random"):
        own = RNG.uniform(1e-3, 1, size=6)
        found |= {f"{name}: energies": RNG.uniform(0.15, 0.3, size=8), f"{name}: own": own, f"{name}: falls": own}
        found[f"{name}: changes"] = np.zeros(6)
    return found


def growing_training():
    names = ("ordered", "ordered, data", "unordered, data")
    found = {"names": np.array(names), "threshold": np.array(0.8), "seeds": np.array([42, 123, 7]), **RUN}
    for name in names:
        found |= {
            f"{name}: losses": RNG.uniform(0.4, 0.7, (3, 10)),
            f"{name}: accuracy": RNG.uniform(0.5, 0.7, (3, 11)),
        }
        found |= {f"{name}: share": np.array(0.51), f"{name}: residual": RNG.uniform(0.5, 1.5, (3, 11))}
        for row in range(3):
            found |= {f"{name}: {row}: epochs": np.arange(1.0, 5.0), f"{name}: {row}: values": np.linspace(1.3, 0.8, 4)}
    for what in ("separation", "forces"):
        found[f"ordered: {what}"] = np.where(np.arange(8) < 5, RNG.uniform(0.1, 2, (3, 8)), np.nan)
    return found


DRAWN_FROM_RECORDS = {"consensus/figure-5": lambda: {"ts": np.arange(5.0), "misalignment": RNG.uniform(size=(9, 5)),
    **RUN}, "consensus/figure-6": lambda: passes(2), "consensus/figure-8": lambda: passes(5), "consensus/noise": noise,
    "consensus/density": densities, "consensus/trained-attention": weights, "consensus/trained-spectra": spectra,
    "hardmax/figure-8": losses, "hardmax/figure-9": reviews, "hardmax/figure-10": leader_words,
    "hardmax/table-1": table, "prototypes/figure-2": text_readouts, "prototypes/figure-3": bank,
    "prototypes/figure-4": quantisers, "prototypes/figure-5": two_levels, "prototypes/figure-6": ratios,
    "growing/figure-1": growing_heads, "growing/figure-2": removals, "growing/figure-3": growing_training,
    "multirate/training": lambda: {**study(), **RUN}}  # fmt: skip


DRAWN_ELSEWHERE = ("hardmax/figure-9", "prototypes/figure-2", "prototypes/figure-3", "growing/figure-3")
LONG = (  # over a second each
    "consensus/density", "consensus/trained-attention", "growing/figure-1", "growing/figure-2", "multirate/training",
    "prototypes/figure-4", "prototypes/figure-5", "prototypes/figure-6", "consensus/trained-spectra", "consensus/noise",
)  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.slow] if n in DRAWN_ELSEWHERE + LONG else []) for n in DRAWN_FROM_RECORDS],
)
def test_figures_of_quick_runs_say_so_and_their_texts_stay_inside_and_apart(name):
    (shown,) = find_figures(name)
    drawn = shown.drawn(DRAWN_FROM_RECORDS[name]())
    check_layout(drawn)
    assert str(RUN["run"]) in [word for word, _ in texts(drawn)]


PLACED = {"hardmax/figure-9", "prototypes/figure-3", "prototypes/figure-5"}  # names are placed, which takes a second


@pytest.mark.parametrize("name", sorted({*DRAWN_ELSEWHERE, *LONG} - PLACED))
def test_every_panel_of_a_figure_from_a_record_shows_data(name):
    (shown,) = find_figures(name)
    assert all(ax.has_data() or not ax.axison for ax in shown.drawn(DRAWN_FROM_RECORDS[name]()).axes)


def test_every_figure_with_two_sizes_is_drawn_from_a_record_above():
    two = {f.name for f in find_figures("*/*") if f.compute_paper_size is not None}
    alike = {"consensus/figure-7": "consensus/figure-6", "hardmax/figure-9-published": "hardmax/figure-9"}
    assert {alike.get(name, name) for name in two} <= DRAWN_FROM_RECORDS.keys()


def test_the_size_of_a_run_is_that_of_its_record_and_the_papers_size_needs_no_word():
    quick, paper = (Record("a", size, 0, {"steps": 40}, {}) for size in ("quick", "paper"))
    words = str(run_size(quick, (quick.config["steps"], "steps"), (2, "seeds"))["run"])
    assert words == "quick run: 40 steps, 2 seeds; not the paper's size"
    assert str(run_size(paper, (650, "steps"))["run"]) == ""


def test_masked_entries_have_a_hatched_colour_that_no_weight_has_and_one_bar_explains_the_others():
    (shown,) = find_figures("trained-attention")
    drawn = shown.drawn(weights())
    *matrices, bar = drawn.axes
    cells = np.ma.getmaskarray(matrices[0].images[0].get_array())
    np.testing.assert_array_equal(cells, np.triu(np.ones((20, 20), bool), 1))
    scale = matplotlib.colormaps["cividis"](np.linspace(0, 1, 256))[:, :3]
    for ax in matrices:
        grey = to_rgb(ax.patch.get_facecolor())
        assert grey == to_rgb(NO_BASIN)
        assert np.min(np.linalg.norm(scale - np.array(grey), axis=1)) > 0.2
        assert ax.patch.get_hatch()
    assert "weight" in bar.get_ylabel()
    assert {"query token", "key token"} <= {part for word, _ in texts(drawn) for part in word.split("\n")}


def test_names_are_placed_clear_of_marks_lines_and_each_other():
    with settings():
        drawn, (ax,) = canvas()
        points = np.array([[0.0, 0.0], [0.1, 0.02], [0.2, 0.0], [1.0, 1.0]])
        ax.plot(*points.T, "o")
        names = panels.place_names(ax, points, [f"name {k}" for k in range(4)])
        assert [name.xy for name in names] == [tuple(point) for point in points]
        check_layout(drawn)


def test_a_name_with_room_stands_next_to_its_point():
    with settings():
        _, (ax,) = canvas()
        ax.plot([0.0, 1.0], [0.0, 1.0], "o")
        (name,) = panels.place_names(ax, np.array([[0.5, 0.5]]), ["alone"], size=4.0)
        assert np.hypot(*name.xyann) < 5.0  # half of the mark and the least distance


def test_a_text_outside_two_on_each_other_and_one_on_a_mark_are_found():
    with settings():
        drawn, (ax,) = canvas()
        ax.plot([0, 1], [0, 1], "o", label="a curve")
        ax.text(0.0, 0.0, "on a mark", ha="center", va="center")
        drawn.text(0.5, 0.5, "one")
        drawn.text(0.5, 0.5, "another")
        drawn.text(0.95, 0.95, "too long to end inside")
    assert outside(drawn) == ["too long to end inside"]
    assert ("one", "another") in overlapping(drawn)
    assert covering(drawn) == ["on a mark"]


def test_a_power_of_ten_stands_in_the_label_and_not_in_the_ticks():
    with settings():
        drawn, (ax,) = canvas()
        ax.plot([0, 1], [0, 0.004])
        ax.set_ylabel("gate")
        power_of_ten(ax.yaxis, np.array([0.0, 0.004]))
        drawn.draw_without_rendering()
    assert ax.get_ylabel() == "gate ($10^{-3}$)"
    assert "4" in [label.get_text() for label in ax.get_yticklabels()]
    assert ax.yaxis.get_offset_text().get_text() == ""


def test_curves_of_errors_differ_in_line_style_and_so_do_the_slopes():
    with settings():
        _, (ax,) = canvas()
        sizes = np.array([0.1, 0.01])
        lines = panels.error_against(ax, sizes, np.stack([sizes, 2 * sizes, sizes**2]), labels=["a", "b", "c"],
                                     roles=["first", "second", "third"], slopes=(1, 2))  # fmt: skip
    styles = [str(line._unscaled_dash_pattern) for line in ax.lines]
    assert len({*styles[:3]}) == len(lines) == 3
    assert styles[3] != styles[4]


def test_medians_of_runs_that_have_not_ended_are_open_marks():
    (shown,) = find_figures("consensus/density")
    data = densities()
    left, middle, right = shown.drawn(data).axes
    hollow = lambda ax: sum(len(line.get_xdata()) for line in ax.lines if line.get_markerfacecolor() == "white")
    assert hollow(middle) == np.sum(data["unfinished"] >= 0.5) == 11
    assert hollow(left) == hollow(right) == 0
