"""Figures of `hardmax`: the geometry of follower sets, leaders and limits, from exact trajectories.

The paper gives no coordinates for Figures 1 and 2; those in `dynsim.systems.hardmax.examples` were chosen here. Limits
and leaders are certified, so the last column of Figure 2 is the true limit and not a late layer.
"""

from typing import Any

import matplotlib.figure
import numpy as np
from matplotlib.axes import Axes

from analysis.hardmax.candidates import candidate_set
from analysis.hardmax.certificate import certify
from analysis.hardmax.polytopes import polytope
from dynsim._core.types import Key
from dynsim.exact import rationals
from dynsim.papers import HARDMAX
from dynsim.simulation.simulate import iterate
from dynsim.spaces import Euclidean
from dynsim.systems.hardmax.examples import ALPHA, EXAMPLE_5_2, FIGURE_1, FIGURE_1_ATTENTION, FIGURE_2
from dynsim.systems.hardmax.maps import ExactHardmaxMap, HardmaxMap
from dynsim.systems.hardmax.search.follower_sets import FollowerSets
from dynsim.systems.tokens.initial import initial_tokens
from figures import panels
from figures.figure import Numbers, figure
from figures.panels.hulls import MORE_THAN_TWO, NO_SECOND
from figures.style import COLUMN, PAGE, canvas, colour, letter

LAYERS = (0, 1, 4)  # the columns of Figure 2 before the limit
MOVIE_LAYERS, MOVIE_TOKENS = 12, 40


def floats(values: Any) -> np.ndarray:
    """Convert an array of fractions to floats for drawing."""
    return np.asarray(values, dtype=float)


def followed_pairs(sets: FollowerSets) -> np.ndarray:
    """The one or two tokens that each token follows, (n, 2), in the format of `panels.followed_tokens`."""
    rows = (sets.of(i) for i in range(len(sets.which)))
    return np.array(
        [[*c] if len(c) == 2 else [c[0], NO_SECOND] if len(c) == 1 else [c[0], MORE_THAN_TWO] for c in rows]
    )


def colour_numbers(followed: np.ndarray) -> dict[int, int]:
    """Assign a colour number to every token followed in some layer of `followed`, (layers, n, 2)."""
    return {int(j): k for k, j in enumerate(np.unique(followed[followed >= 0]))}


@figure("hardmax/figure-1", HARDMAX.at("Figure 1"))
def geometry_figure(key: Key) -> Numbers:
    """The tokens that attract token 1, for (a) A = I and (b) A = ((2, 1), (1, 1)).

    They have the largest orthogonal projection on the direction of A z_1 (arrow). The dashed line through them is
    normal to it. They lie in the half-plane <A z_1, z - z_1> >= 0 (shaded). Tokens of C_1 are filled.
    """
    del key
    found = {"points": floats(rationals("x", FIGURE_1))}
    for name, attention in (("identity", None), ("general", FIGURE_1_ATTENTION)):
        map = ExactHardmaxMap(ALPHA, attention)
        found[f"members {name}"] = map.follower_sets(FIGURE_1).of(0)
        found[f"matrix {name}"] = np.eye(2) if attention is None else floats(attention)
    return found


@geometry_figure.with_drawing
def geometry_figure(data: Numbers) -> matplotlib.figure.Figure:
    """Draw Figure 1."""
    drawn, axes = canvas(COLUMN, 0.62, columns=2)
    points = data["points"]
    for ax, name in zip(axes, ("identity", "general"), strict=True):
        members = data[f"members {name}"]
        panels.plane_axes(ax, points, margin=0.2)
        normal = data[f"matrix {name}"] @ points[0]
        panels.half_plane(ax, points[0], normal, role="follower")
        panels.half_plane(ax, points[members[0]], normal, role="reference", shaded=False).set_linestyle("--")
        ax.annotate("", normal / np.linalg.norm(normal), (0, 0), arrowprops={"arrowstyle": "->", "linewidth": 0.8})
        filled = np.isin(np.arange(len(points)), members)
        for chosen, face in ((filled, colour("leader")), (~filled, "white")):
            marks = {"marker": "o", "linestyle": "none", "color": colour("leader"), "zorder": 5.0}
            ax.plot(*points[chosen].T, markerfacecolor=face, **marks)
        label_axes(ax)
    letter(axes, ("$A = I$", "$A = ((2, 1), (1, 1))$"))
    for ax in axes:
        panels.place_names(ax, points, token_names(len(points)))
    return drawn


@figure("hardmax/figure-2", HARDMAX.at("Figure 2"))
def clouds_figure(key: Key) -> Numbers:
    """Four sets of tokens under (1.1) with A = I and alpha = 1/2, at layers 0, 1, 4 and in the limit.

    Stars are leaders, which follow only themselves. The fill colour shows which token is followed; a two-coloured token
    follows two tokens. The edge of a followed token has the fill colour of its followers. The last column shows the
    convex hull K of the limits of the leaders (shaded), and the points of the set S of (4.1) that are not limits of
    tokens (crosses). The limits are certified.

    (A) Three leaders, all from layer 0 on. (B) The leader nearest to the origin becomes one at layer 1. (C) Four
    leaders attract all other tokens. (D) The same leaders and the same K, and two tokens in ties, whose limits lie on
    edges of K.
    """
    del key
    found = {}
    for row, tokens in FIGURE_2.items():
        map = ExactHardmaxMap(ALPHA)
        limit = certify(map, tokens)
        path = iterate(map, map.rule.tokens(np.array(tokens, dtype=object)), LAYERS[-1])
        states = [path.ys[k] for k in LAYERS] + [limit.limits]
        sets = [map.follower_sets(state) for state in states[:-1]]
        K = polytope(limit.limits)
        attained = {tuple(point) for point in limit.limits}
        missed = [s for s in candidate_set(K).points if tuple(s) not in attained]
        found[f"states {row}"] = np.stack([floats(state) for state in states])
        found[f"followed {row}"] = np.stack([followed_pairs(s) for s in (*sets, sets[-1])])
        found[f"hull {row}"] = hull_vertices(floats(K.vertex_points))
        found[f"missed {row}"] = floats(missed).reshape(-1, 2)
        found[f"layers {row}"] = limit.leader_layers
    return found


@clouds_figure.with_drawing
def clouds_figure(data: Numbers) -> matplotlib.figure.Figure:
    """Draw Figure 2."""
    titles = [*(f"$k = {k}$" for k in LAYERS), r"$k = \infty$"]
    drawn, axes = canvas(PAGE, 0.78, rows=len(FIGURE_2), columns=len(titles))
    for r, row in enumerate(FIGURE_2):
        states, followed = data[f"states {row}"], data[f"followed {row}"]
        for c, title in enumerate(titles):
            ax = axes[r * len(titles) + c]
            panels.plane_axes(ax, states[0])
            if c == len(titles) - 1:
                panels.polygon(ax, data[f"hull {row}"])
                ax.plot(*data[f"missed {row}"].T, marker="x", linestyle="none", color=colour("bound"), markersize=4.0)
            panels.followed_tokens(ax, states[c], followed[c], colours=colour_numbers(followed), size=4.0)
            ax.set_xlabel("$z_1$" if r == len(FIGURE_2) - 1 else "")
            ax.set_ylabel(f"({row})   $z_2$" if c == 0 else "")
            if r == 0:
                ax.set_title(title)
    return drawn


@figure("hardmax/figure-5", HARDMAX.at("Figure 5"))
def separation_figure(key: Key) -> Numbers:
    """The geometry of Lemma 4.5, for the limit points of row (A) of Figure 2.

    The balls have the radius used in the proof. For every x in the ball around s_0, the line through x with normal x
    (green, for four points x) has the other balls and the origin on the same side.
    """
    del key
    s = floats(certify(ExactHardmaxMap(ALPHA), FIGURE_2["A"]).limits[:3])
    room = min(s[0] @ s[0] - other @ s[0] for other in s[1:])
    largest = float(np.max(np.linalg.norm(s, axis=1)))
    radius = 0.98 * (np.sqrt(largest**2 + room / 2) - largest)  # (2 max |s| + delta) delta < epsilon / 2
    angles = np.pi / 4 + np.arange(4) * np.pi / 2
    return {"points": s, "radius": np.array(radius), "starts": s[0] + radius * np.c_[np.cos(angles), np.sin(angles)]}


@separation_figure.with_drawing
def separation_figure(data: Numbers) -> matplotlib.figure.Figure:
    """Draw Figure 5."""
    drawn, (ax,) = canvas(COLUMN, 0.8)
    panels.plane_axes(ax, data["points"], margin=0.3)
    panels.balls(ax, data["points"], float(data["radius"]), role="follower")
    for x in data["starts"]:
        panels.half_plane(ax, x, x, role="consensus", shaded=False)
    ax.plot(*data["starts"].T, marker="o", linestyle="none", color=colour("consensus"), markersize=3.0, zorder=5.0)
    label_axes(ax)
    panels.place_names(ax, data["points"], ("$s_0$", "$s_1$", "$s_2$"))
    panels.place_names(ax, data["starts"], ("$x$",) * len(data["starts"]), size=3.0)
    return drawn


@figure("hardmax/figure-6", HARDMAX.at("Figure 6"))
def levels_figure(key: Key) -> Numbers:
    """Tokens near points of S in the proof of Proposition 4.6, with the leaders of row (D) of Figure 2.

    Token z_i stays near a vertex, of the largest norm in S. Token z_a, in an exact tie, stays near a point of the
    second largest norm. Token z_b starts close to that point, slightly off the tie, and moves to the vicinity of a
    vertex.
    """
    del key
    starts = ("19/10", "-9/10"), ("39/20", 0), ("39/20", "1/50")
    tokens = (*FIGURE_2["D"][:4], *starts)
    map = ExactHardmaxMap(ALPHA)
    path = iterate(map, map.rule.tokens(np.array(tokens, dtype=object)), 12)
    levels = [(2, 1), (2, -1), (2, 0)]
    return {"paths": floats(path.ys[:, 4:]), "levels": floats(levels), "radius": np.array(0.25)}


@levels_figure.with_drawing
def levels_figure(data: Numbers) -> matplotlib.figure.Figure:
    """Draw Figure 6."""
    drawn, (ax,) = canvas(0.75 * COLUMN, 1.35)
    panels.plane_axes(ax, np.array([[1.6, -1.3], [2.9, 1.45]]), margin=0.0)
    panels.balls(ax, data["levels"], float(data["radius"]), role="follower", names=("$s_1$", "$s_1'$", "$s_2$"))
    for k, (name, role) in enumerate((("$z_i$", "first"), ("$z_a$", "third"), ("$z_b$", "second"))):
        path = data["paths"][:, k]
        ax.plot(*path.T, marker=".", color=colour(role), linewidth=0.7, markersize=3.0, zorder=5.0, label=name)
    ax.legend(loc="right", bbox_to_anchor=(1.0, 0.65))
    label_axes(ax)
    return drawn


@figure("hardmax/figure-7", HARDMAX.at("Figure 7"))
def example_figure(key: Key) -> Numbers:
    """The three tokens of Example 5.2 (a) at layer 0 and (b) at layer 1, computed exactly.

    Only tokens in the shaded half-plane beyond the line through z_1 with normal z_1 can attract z_1. At layer 0 token
    z_2 does; after one layer it has moved below the line, and z_1 is a leader.
    """
    del key
    map = ExactHardmaxMap(ALPHA)
    path = iterate(map, map.rule.tokens(np.array(EXAMPLE_5_2, dtype=object)), 1)
    return {"states": floats(path.ys), "followed": np.stack([followed_pairs(map.follower_sets(x)) for x in path.ys])}


@example_figure.with_drawing
def example_figure(data: Numbers) -> matplotlib.figure.Figure:
    """Draw Figure 7."""
    drawn, axes = canvas(COLUMN, 0.75, rows=2)
    for ax, x, followed in zip(axes, data["states"], data["followed"], strict=True):
        panels.plane_axes(ax, data["states"][0], margin=0.1)
        panels.half_plane(ax, x[0], x[0], role="consensus")
        panels.followed_tokens(ax, x, followed, colours=colour_numbers(data["followed"]))
        label_axes(ax)
    letter(axes, ("layer 0", "layer 1"))
    for ax, x in zip(axes, data["states"], strict=True):
        panels.place_names(ax, x, token_names(len(x)), size=6.0)
    return drawn


@figure("hardmax/layers", HARDMAX.at("Section 1.1"))
def layers_figure(key: Key) -> Numbers:
    """Forty random tokens through twelve layers, with A = I and alpha = 1/2; the movie shows them layer by layer.

    Lines: trajectories of the tokens; shaded: the nested convex hulls of layers 0, 1, 3 and 12; stars: leaders.
    """
    map = HardmaxMap(ALPHA)
    path = iterate(map, np.asarray(initial_tokens("uniform", key, (MOVIE_TOKENS, 2), Euclidean())), MOVIE_LAYERS)
    return {"states": path.ys, "followed": np.stack([followed_pairs(map.follower_sets(x)) for x in path.ys])}


@layers_figure.with_drawing
def layers_figure(data: Numbers) -> matplotlib.figure.Figure:
    """Draw the trajectories of all tokens, and the nested hulls."""
    drawn, (ax,) = canvas(COLUMN, 0.9)
    panels.plane_axes(ax, data["states"][0])
    for k in (0, 1, 3, MOVIE_LAYERS):
        panels.polygon(ax, hull_vertices(data["states"][k]))
    for path in np.moveaxis(data["states"], 1, 0):
        ax.plot(*path.T, color=colour("reference"), linewidth=0.4, zorder=2.0)
    panels.followed_tokens(
        ax, data["states"][-1], data["followed"][-1], colours=colour_numbers(data["followed"]), size=3.5
    )
    label_axes(ax)
    return drawn


@layers_figure.with_animation
def layers_figure(data: Numbers, phase: float) -> matplotlib.figure.Figure:
    """Draw the layer at a phase in [0, 1)."""
    drawn, (ax,) = canvas(COLUMN, 0.9)
    k = int(phase * len(data["states"]))
    panels.plane_axes(ax, data["states"][0])
    panels.polygon(ax, hull_vertices(data["states"][k]))
    panels.followed_tokens(
        ax, data["states"][k], data["followed"][k], colours=colour_numbers(data["followed"]), size=3.5
    )
    ax.set_title(f"layer {k}", loc="left")
    label_axes(ax)
    return drawn


def hull_vertices(points: np.ndarray) -> np.ndarray:
    """Vertices of the convex hull of points in the plane, (m, 2), in cyclic order."""
    corners = polytope(points).vertex_points
    middle = corners - corners.mean(axis=0)
    return corners[np.argsort(np.arctan2(middle[:, 1], middle[:, 0]))]


def token_names(count: int) -> list[str]:
    """Names z_1, z_2, ... of tokens."""
    return [f"$z_{k}$" for k in range(1, count + 1)]


def label_axes(ax: Axes) -> None:
    """Label the axes of the plane."""
    ax.set(xlabel="$z_1$", ylabel="$z_2$")
