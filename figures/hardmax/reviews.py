"""Figures 8 to 10 and Table 1 of `hardmax` on the classifiers of film reviews, from the experiment's record."""

import matplotlib.figure
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from analysis.experiments import Record, Size, record
from analysis.experiments.hardmax.reviews import REVIEWS, table_1
from dynsim._core.types import Key
from dynsim.papers import HARDMAX
from dynsim.systems.hardmax.maps import HardmaxMap
from figures import panels
from figures.figure import Numbers, figure
from figures.hardmax.geometry import colour_numbers, followed_pairs, label_axes
from figures.run_size import run_size, write_run_size
from figures.style import COLOURS, COLUMN, PAGE, canvas, colour, letter, paler

DIMENSIONS = (2, 4, 8, 16)
PRINTED = {2: (5.960, 1.247, 2, 11, 0.995), 4: (19.321, 4.095, 4, 34, 0.999), 8: (49.866, 13.131, 6, 84, 0.999),
           16: (75.423, 23.646, 7, 113, 1.000)}  # fmt: skip
MOST = 15  # number of words in Figure 10
MEAN = {"marker": "^", "color": COLOURS["bound"], "markeredgecolor": "white", "markersize": 6.0, "linestyle": "none"}
TAGGED = 8  # number of leaders labelled with their words, chosen farthest from the hyperplane


def _trained(found: Record) -> list[tuple[int, str]]:
    return [(found.config["epochs"], "epochs"), (len(found.arrays["training labels"]), "training reviews")]


def _tested(found: Record) -> tuple[int, str]:
    return len(found.arrays["labels"]), "test reviews"


def _losses(size: Size) -> Numbers:
    found = record(REVIEWS, size)
    arrays, kept = found.arrays, dict(run_size(found, *_trained(found)))
    for d in DIMENSIONS[:2]:
        soft, hard = arrays[f"d={d}: softmax loss"], arrays[f"d={d}: hardmax loss"]
        epochs = np.flatnonzero(np.isfinite(hard))
        kept |= {f"softmax {d}": soft, f"hardmax {d}": hard[epochs], f"epochs {d}": epochs}
    return kept


@figure("hardmax/figure-8", HARDMAX.at("Figure 8"))
def losses_figure(key: Key) -> Numbers:
    """Cross entropy on the training set, in nats, for d = 2 and 4, with the softmax and with the hardmax layer.

    Lines: with the softmax layer used in training, temperature 0.001, after every epoch. Rings: with the exact hardmax
    layer, every few epochs. Trained on a subset of the reviews; size `quick` uses 400 of them.
    """
    del key
    return _losses("quick")


@losses_figure.with_drawing
def losses_figure(data: Numbers) -> matplotlib.figure.Figure:
    """Draw Figure 8."""
    drawn, (ax,) = canvas(COLUMN, 0.7)
    for d, role in zip(DIMENSIONS[:2], ("first", "second"), strict=True):
        soft = data[f"softmax {d}"]
        ax.plot(np.arange(len(soft)), soft, color=colour(role), label=f"softmax, $d = {d}$")
        (rings,) = ax.plot(data[f"epochs {d}"], data[f"hardmax {d}"], "o", label=f"hardmax, $d = {d}$")
        rings.set(color=colour(role), markerfacecolor="white")
    highest = max(float(np.max(data[f"{layer} {d}"])) for layer in ("softmax", "hardmax") for d in DIMENSIONS[:2])
    ax.set(xlabel="epoch", ylabel="training loss (nats)", ylim=(0.0, 1.1 * highest))
    drawn.legend(loc="outside upper center", ncols=2)
    write_run_size(drawn, data)
    return drawn


losses_figure = losses_figure.with_paper_size(lambda key: _losses("paper"))


def _reviews(name: str, size: Size) -> Numbers:
    run = record(REVIEWS, size)
    arrays = run.arrays
    trained = [] if name == "published" else _trained(run)  # the published weights were not trained here
    w, v = arrays[f"{name}: decoder"][:2], arrays[f"{name}: decoder"][2]
    found = {"weight": w, "bias": v, **run_size(run, *trained, _tested(run))}
    for kind in ("positive", "negative"):
        states, words = arrays[f"{name}: {kind} review states"], arrays[f"{name}: {kind} review words"]
        first = np.sort(np.unique(states[0], axis=0, return_index=True)[1])  # equal words move together
        layers = states[[0, -1]][:, first]
        rule = HardmaxMap(float(arrays[f"{name}: alpha"]))
        found |= {
            f"{kind} states": layers,
            f"{kind} followed": np.stack([followed_pairs(rule.follower_sets(x)) for x in layers]),
            f"{kind} means": states[[0, -1]].mean(axis=1),
            f"{kind} words": words[first],
            f"{kind} leads": arrays[f"{name}: {kind} review leading"][first] >= 0,
        }
    return found


@figure("hardmax/figure-9", HARDMAX.at("Figure 9"))
def reviews_figure(key: Key) -> Numbers:
    """A positive (top) and a negative review (bottom) before the first layer and after the eighth, for d = 2.

    Both are the test reviews that are classified correctly with the largest margin. Stars: leaders; those farthest from
    the hyperplane are labelled with their words. Circles: other tokens. The fill colour shows which token is followed,
    and the edge of a followed token has the fill colour of its followers. Triangle: the mean token, which is
    classified. Cross: the origin. Dashed: the hyperplane that separates the half-planes of the positive class (green)
    and of the negative class (red).
    """
    del key
    return _reviews("d=2", "quick")


def _draw_reviews(data: Numbers) -> matplotlib.figure.Figure:
    drawn, axes = canvas(PAGE, 0.8, rows=2, columns=2)
    kinds, layers = ("positive", "negative"), ("before the first layer", "after the last layer")
    panes = [(kind, layer) for kind in kinds for layer in (0, 1)]
    for ax, (kind, layer) in zip(axes, panes, strict=True):
        _draw_review(ax, data, kind, layer)
        label_axes(ax)
    letter(axes, [f"{kind} review, {layers[layer]}" for kind, layer in panes])
    drawn.legend(handles=_review_key(), loc="outside upper center", ncols=6)
    write_run_size(drawn, data)
    for ax, (kind, layer) in zip(axes, panes, strict=True):
        tagged = _tagged(data, kind, layer)
        words = [str(word) for word in data[f"{kind} words"][tagged]]
        panels.place_names(ax, data[f"{kind} states"][layer][tagged], words, size=6.5)
    return drawn


def _draw_review(ax: Axes, data: Numbers, kind: str, layer: int) -> None:
    x, followed = data[f"{kind} states"][layer], data[f"{kind} followed"]
    w, v = data["weight"], float(data["bias"])
    panels.plane_axes(ax, data[f"{kind} states"][0], margin=0.2)
    foot = -v * w / (w @ w)
    panels.half_plane(ax, foot, w, role="positive").remove()
    panels.half_plane(ax, foot, -w, role="negative").set(color=colour("bound"), linestyle="--")
    panels.followed_tokens(ax, x, followed[layer], colours=colour_numbers(followed), size=3.5)
    ax.plot(*data[f"{kind} means"][layer], **MEAN, zorder=7.0)


def _tagged(data: Numbers, kind: str, layer: int) -> np.ndarray:
    """Leaders that are labelled, the farthest from the hyperplane first."""
    heights = np.abs(data[f"{kind} states"][layer] @ data["weight"] + data["bias"])
    return np.array(sorted(np.flatnonzero(data[f"{kind} leads"]), key=lambda i: -heights[i])[:TAGGED], int)


def _review_key() -> list[Artist]:
    """Legend entries for every mark in the panels of reviews."""
    tint, line = colour("surface"), {"linestyle": "none", "markeredgecolor": colour("bound"), "markeredgewidth": 0.4}
    return [
        Line2D([], [], marker="*", markersize=6.5, markerfacecolor=tint, label="leader", **line),
        Line2D([], [], marker="o", markersize=3.5, markerfacecolor=tint, label="other token", **line),
        Line2D([], [], **MEAN, label="mean token"),
        Line2D([], [], color=colour("bound"), linestyle="--", linewidth=0.6, label="hyperplane"),
        Patch(facecolor=paler(colour("positive"), 0.82), label="positive class"),
        Patch(facecolor=paler(colour("negative"), 0.82), label="negative class"),
    ]


reviews_figure = reviews_figure.with_drawing(_draw_reviews).with_paper_size(lambda key: _reviews("d=2", "paper"))


@figure("hardmax/figure-9-published", HARDMAX.at("Figure 9"))
def published_figure(key: Key) -> Numbers:
    """As Figure 9, for the weights published by the authors (d = 2, trained on most of these reviews)."""
    del key
    return _reviews("published", "quick")


published_figure = published_figure.with_drawing(_draw_reviews).with_paper_size(
    lambda key: _reviews("published", "paper")
)


def _words(size: Size) -> Numbers:
    found = record(REVIEWS, size)
    arrays, kept = found.arrays, dict(run_size(found, *_trained(found), _tested(found)))
    for name in ("d=2", "published"):
        kept |= {f"{name} words": arrays[f"{name}: leader words"][:MOST]}
        kept |= {f"{name} counts": arrays[f"{name}: leader word counts"][:MOST]}
    return kept


@figure("hardmax/figure-10", HARDMAX.at("Figure 10"))
def words_figure(key: Key) -> Numbers:
    """The words that are most often leaders in correctly classified test reviews with |H(z)| >= 2, for d = 2.

    (a) The classifier trained here. (b) The weights published by the authors. A word counts once for each review in
    which it is a leader at some layer, where equal tokens are taken as one.
    """
    del key
    return _words("quick")


@words_figure.with_drawing
def words_figure(data: Numbers) -> matplotlib.figure.Figure:
    """Draw Figure 10."""
    drawn, axes = canvas(PAGE, 0.45, columns=2)
    names, titles = ("d=2", "published"), ("trained here", "published weights")
    for ax, name in zip(axes, names, strict=True):
        words, counts = data[f"{name} words"], data[f"{name} counts"]
        places = np.arange(len(words))
        ax.barh(places, counts, color=colour("token"), height=0.7)
        ax.set_yticks(places, [str(word) for word in words])
        ax.set(
            xlabel="number of reviews", ylabel="leader word", ylim=(MOST - 0.5, -0.5)
        )  # both with room for all words
        ax.set_xlim(0, 1.05 * np.max(counts, initial=1))
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    letter(axes, [f"{title}, {len(data[f'{name} words'])} words" for title, name in zip(titles, names, strict=True)])
    write_run_size(drawn, data)
    return drawn


words_figure = words_figure.with_paper_size(lambda key: _words("paper"))


def _table(size: Size) -> Numbers:
    found = record(REVIEWS, size)
    arrays = found.arrays
    rows = lambda count: np.stack([table_1(arrays, f"d={d}", count) for d in DIMENSIONS])
    return {
        "dimensions": np.array(DIMENSIONS),
        "by value": rows("leaders by value"),
        "by index": rows("leaders by index"),
        "printed": np.array([PRINTED[d] for d in DIMENSIONS]),
        **run_size(found, *_trained(found), _tested(found)),
    }


@figure("hardmax/table-1", HARDMAX.at("Table 1"))
def table_figure(key: Key) -> Numbers:
    """Number of leaders of a test review up to the eighth layer, for d = 2, 4, 8, 16, and the values of Table 1.

    (a) Mean and standard deviation (bars), minimum and maximum (thin lines). (b) Mean fraction of leaders that are
    leaders at layer 0. Equal tokens count as one ("by value"), or, by the letter of Definition 1.1, as tokens that
    follow each other and are not leaders ("by index").
    """
    del key
    return _table("quick")


@table_figure.with_drawing
def table_figure(data: Numbers) -> matplotlib.figure.Figure:
    """Draw Table 1."""
    drawn, (left, right) = canvas(PAGE, 0.4, columns=2)
    for name, role, shift in (("by value", "first", -0.2), ("by index", "third", 0.0), ("printed", "second", 0.2)):
        mean, deviation, least, most, share = data[name].T
        place = np.arange(len(mean)) + shift
        left.vlines(place, least, most, color=colour(role), linewidth=0.6)
        left.errorbar(place, mean, deviation, fmt="o", color=colour(role), label=name, capsize=2.0, linewidth=1.2)
        right.plot(place, share, marker="o", linestyle="none", color=colour(role), label=name)
    for ax, label in ((left, "leaders in a review"), (right, "fraction of leaders at layer 0")):
        ax.set_xticks(np.arange(len(data["dimensions"])), [str(d) for d in data["dimensions"]])
        ax.set(xlabel="dimension $d$", ylabel=label)
    left.legend()
    letter((left, right), ("number of leaders", "leaders from layer 0 on"))
    write_run_size(drawn, data)
    return drawn


table_figure = table_figure.with_paper_size(lambda key: _table("paper"))
