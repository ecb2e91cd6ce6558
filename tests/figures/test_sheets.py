"""Sheets leave a user's axes as wished; figures of our own have sizes, letters and legends."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from figures.artists import Artists, alone, is_proxy, set_properties, sheet, visible
from figures.style import (
    BASINS,
    NO_BASIN,
    OwnFigure,
    Page,
    basin_colour,
    canvas,
    large,
    letter,
    page,
    paler,
    settings,
    thick,
)


def lines(ax, label="line"):
    ax.plot([0.0, 2.0], [1.0, 5.0], label=label)
    ax.plot([], [], label="entry")
    ax.set(xlabel="x", ylabel="y", xlim=(0.0, 4.0))


@pytest.fixture
def ax():
    found = Figure().subplots()
    found.set(xlabel="mine", ylabel="own", xlim=(-1.0, 1.0))
    return found


def test_labels_limits_titles_and_legends_of_given_axes_are_as_wished(ax):
    with sheet(ax, labels=False, limits=False) as drawn:
        drawn.draw("lines", True, lines)
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_xlim(), ax.get_title()) == ("mine", "own", (-1.0, 1.0), "")
    assert (len(drawn.lines), ax.get_legend(), drawn.own) == (1, None, False)
    with sheet(ax, title="a", legend={"loc": "upper left"}) as drawn:
        drawn.draw("lines", {"linewidth": 3.5}, lines, "more")
        drawn.draw("off", False, lines)
        drawn.draw("off", None, lines)
    assert (ax.get_xlabel(), ax.get_xlim(), ax.get_title()) == ("x", (0.0, 4.0), "a")
    assert [line.get_linewidth() for line in drawn.lines] == [3.5]
    assert drawn.off == ()
    assert [text.get_text() for text in drawn.legend.get_texts()] == ["line", "entry", "more", "entry"]
    free = Figure().subplots()
    with sheet(free, limits=False) as drawn:
        drawn.draw("lines", True, lines)
    assert free.get_xlim() == pytest.approx((-0.1, 2.1))  # those of what is drawn


def test_styles_reach_the_part_that_takes_them(ax):
    with sheet(ax, styled="lines", style={"color": "red"}) as drawn:
        drawn.draw("lines", True, lines)
        drawn.draw("others", True, lines)
    assert ([line.get_color() for line in drawn.lines], drawn.others[0].get_color() == "red") == (["red"], False)
    with pytest.raises(ValueError, match="`lines` must hold properties of matplotlib's artists"):
        set_properties("lines", drawn.lines, {"colr": 1})
    with pytest.raises(AttributeError, match="has no part `line`, did you mean `lines`"):
        _ = drawn.line
    assert (list(drawn), repr(drawn)) == (["lines", "others"], "Artists(lines: 1, others: 1)")


def test_a_figure_of_our_own_has_one_legend_below_or_above_with_each_entry_once():
    for place, has in (("below", (1, 0)), ("above", (0, 1)), ("", (0, 0))):
        with sheet(None, make=lambda: canvas(columns=2), place=place, title="a") as drawn:
            for target in drawn.axes:
                drawn.draw("lines", True, lines, ax=target)
        assert (len(drawn.figure.legends), sum(ax.get_legend() is not None for ax in drawn.axes)) == has
        assert drawn.figure.get_suptitle() == "a"
        assert len(drawn.lines) == 2
        if place:
            assert [text.get_text() for text in drawn.legend.get_texts()] == ["line", "entry"]
    with sheet(None, title="b", legend=False) as drawn:
        drawn.draw("lines", True, lines)
    assert (drawn.legend, drawn.figure.legends, drawn.axes[0].get_title()) == (None, [], "b")
    assert alone(lines, "other").data[0].get_label() == "other"


def test_colour_bars_have_their_label_and_keywords(ax):
    image = ax.imshow(np.eye(2))
    drawn = Artists([ax], own=False)
    drawn.bar(image, "height", {"orientation": "horizontal"})
    assert (drawn.colourbar.orientation, drawn.colourbar.ax.get_xlabel()) == ("horizontal", "height")
    assert drawn.figure is ax.figure


def test_what_shows_nothing_is_an_entry_of_a_legend(ax):
    shown, empty = *ax.plot([1.0], [2.0]), *ax.plot([], [])
    patch, thin = ax.fill([0, 1, 1], [0, 0, 1])[0], mpl.patches.Polygon(np.zeros((1, 2)))
    ax.add_patch(thin)
    assert [is_proxy(one) for one in (shown, empty, patch, thin)] == [False, True, False, True]
    assert visible(ax) == [shown, patch]


def test_sizes_of_pages_widths_and_markers_follow_what_is_in_use():
    with page(Page(width=4.0)):
        assert canvas(2.0, 0.5)[0].get_size_inches().tolist() == [4.0, 2.0]
    with page(Page(width=4.0, height=1.5)):
        assert canvas(2.0, 0.5)[0].get_size_inches().tolist() == [4.0, 1.5]
    assert OwnFigure((3.0, 2.0), "constrained").get_size_inches().tolist() == [3.0, 2.0]
    with page(Page(rc={"font.size": 5.0})), settings():
        assert mpl.rcParams["font.size"] == 5.0
    with mpl.rc_context({"lines.linewidth": 3.0, "lines.markersize": 10.0}):
        assert (thick(2.0), large(2.0)) == (6.0, 5.0)
    with settings():
        assert (thick(2.0), large(2.0)) == (2.0, 2.0)


def test_colours_are_mixed_with_white_and_go_round():
    assert paler("#804000", 0.25) == pytest.approx((0.25 + 0.75 * 128 / 255, 0.25 + 0.75 * 64 / 255, 0.25))
    assert [basin_colour(k) for k in (-2, -1, 0, 6, 7)] == [NO_BASIN, NO_BASIN, BASINS[0], BASINS[6], BASINS[0]]
    drawn, axes = canvas(columns=2)
    letter(axes, ["first", "second"])
    assert [ax.get_title(loc="left") for ax in axes] == [r"$\mathbf{(a)}$ first", r"$\mathbf{(b)}$ second"]
    assert drawn.axes == axes
