"""Tokens in the plane that follow one another: who follows whom, hulls, half-planes and limit points."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, Polygon
from numpy.typing import ArrayLike

from dynsim.errors import argument_error
from figures.style import basin_colour, colour, paler

ALONE, MANY = -1, -2  # in `followed`: no second token, and more than two
_LINE = 0.6


def followed_tokens(
    ax: Axes, points: ArrayLike, followed: ArrayLike, *, inks: Mapping[int, int], size: float = 5.0
) -> list[Line2D]:
    """Draw tokens in the colour of what they follow; return one marker each, in their order.

    A star follows only itself. A token in two halves follows two tokens, a grey one more than two. The edge of a
    token that others follow has the colour in which they are filled.

    Args:
        ax: the axes.
        points: (n, 2).
        followed: (n, 2), the one or two tokens that each follows; see `ALONE` and `MANY`.
        inks: the number of the colour of each token that is followed.
        size: of a marker, in points.
    """
    points, followed = np.asarray(points, float), np.asarray(followed, int)
    if points.ndim != 2 or points.shape[1] != 2 or followed.shape != points.shape:
        raise argument_error("points", "have shape (n, 2), as `followed`", f"has {points.shape} and {followed.shape}")
    drawn = []
    for i, (point, (first, second)) in enumerate(zip(points, followed, strict=True)):
        leader = first == i and second == ALONE
        edge = basin_colour(inks[i]) if i in inks else colour("bound")
        face = colour("surface") if second == MANY else basin_colour(inks[first])
        other = basin_colour(inks[second]) if second >= 0 else face
        drawn += ax.plot(
            *point,
            linestyle="none",
            marker="*" if leader else "o",
            markersize=1.9 * size if leader else size,
            fillstyle="left" if second >= 0 else "full",
            markerfacecolor=face,
            markerfacecoloralt=other,
            markeredgecolor=colour("bound") if leader else edge,
            markeredgewidth=0.4 if leader or i not in inks else 1.1,
            zorder=6.0 if leader else 5.0,
        )
    return drawn


def polygon(ax: Axes, vertices: ArrayLike, *, role: str = "follower", label: str = "") -> Polygon:
    """Shade the polygon with these vertices, in order round it, (m, 2); two vertices make a segment."""
    ink = colour(role)
    patch = Polygon(
        np.asarray(vertices, float),
        closed=True,
        facecolor=paler(ink, 0.75),
        edgecolor=paler(ink, 0.2),
        linewidth=_LINE,
        zorder=1.0,
        label=label or None,
    )
    ax.add_patch(patch)
    return patch


def half_plane(ax: Axes, point: ArrayLike, normal: ArrayLike, *, role: str, shaded: bool = True) -> Line2D:
    """Draw the line {z : <normal, z - point> = 0} and shade the side to which the normal points; return the line.

    The limits of the axes must be set before.
    """
    point, normal = np.asarray(point, float), np.asarray(normal, float)
    along = np.array([-normal[1], normal[0]]) / np.linalg.norm(normal)
    reach = float(np.hypot(np.ptp(ax.get_xlim()), np.ptp(ax.get_ylim()))) + float(np.linalg.norm(point))
    ends = point + np.outer([-reach, reach], along)
    if shaded:
        far = ends[::-1] + 2 * reach * normal / np.linalg.norm(normal)
        corners = np.concatenate([ends, far])
        ax.add_patch(Polygon(corners, closed=True, facecolor=paler(colour(role), 0.82), edgecolor="none", zorder=0.5))
    (line,) = ax.plot(*ends.T, color=colour(role), linewidth=_LINE, zorder=1.5, scalex=False, scaley=False)
    return line


def balls(ax: Axes, centres: ArrayLike, radius: float, *, role: str, names: Sequence[str] = ()) -> list[Circle]:
    """Draw the circles of one radius round some points, (m, 2), each with its centre and name."""
    drawn = []
    for k, centre in enumerate(np.asarray(centres, float)):
        ink = colour(role)
        drawn.append(Circle(centre, radius, facecolor=paler(ink, 0.75), edgecolor=ink, linewidth=_LINE, zorder=2.0))
        ax.add_patch(drawn[-1])
        ax.plot(*centre, marker=".", markersize=3.0, color=ink, linestyle="none", zorder=3.0)
        if k < len(names):
            side = centre + np.array([radius, 0.0])
            ax.annotate(names[k], side, xytext=(3, 0), textcoords="offset points", va="center", fontsize=7.0)
    return drawn


def plain_plane(ax: Axes, points: ArrayLike, *, margin: float = 0.12) -> None:
    """Make the axes a plane round these points, (m, 2): equal units, a margin, and the origin as a cross."""
    points = np.asarray(points, float)
    low, high = points.min(axis=0), points.max(axis=0)
    room = margin * max(float(np.max(high - low)), 1e-9)
    ax.set(xlim=(low[0] - room, high[0] + room), ylim=(low[1] - room, high[1] + room))
    ax.set_aspect("equal")
    if np.all((low - room <= 0) & (high + room >= 0)):
        ax.plot(0, 0, marker="+", markersize=4.0, color=colour("bound"), markeredgewidth=0.6, linestyle="none")
