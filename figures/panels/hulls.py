"""Draw hardmax tokens in the plane: follower sets, convex hulls, half-planes, and balls around limit points."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, Polygon

from dynsim._core.types import ArrayLike
from dynsim.errors import ArgumentError
from figures.style import basin_colour, colour, paler

NO_SECOND, MORE_THAN_TWO = -1, -2  # entries of `followed`: only one token is followed, or more than two are
_LINE = 0.6


def followed_tokens(
    ax: Axes, points: ArrayLike, followed: ArrayLike, *, colours: Mapping[int, int], size: float = 5.0
) -> list[Line2D]:
    """Draw tokens in the colours of their follower sets C_i, the tokens that they follow.

    A star is a leader, which follows only itself. A two-coloured marker follows two tokens, and a grey one more than
    two. The edge of a token that others follow has the fill colour of its followers.

    Args:
        ax: the axes.
        points: tokens, (n, 2).
        followed: the one or two indices in each C_i, (n, 2); see `NO_SECOND` and `MORE_THAN_TWO`.
        colours: the colour index of each token that is followed.
        size: the size of a marker, in points.

    Raises:
        ValueError: unless both arrays have shape (n, 2).
    """
    points, followed = np.asarray(points, float), np.asarray(followed, int)
    if points.ndim != 2 or points.shape[1] != 2 or followed.shape != points.shape:
        raise ArgumentError(
            "points", "have shape (n, 2) to match `followed`", f"has {points.shape} and {followed.shape}"
        )
    drawn = []
    for i, (point, (first, second)) in enumerate(zip(points, followed, strict=True)):
        leader = first == i and second == NO_SECOND
        edge = basin_colour(colours[i]) if i in colours else colour("bound")
        face = colour("surface") if second == MORE_THAN_TWO else basin_colour(colours[first])
        other = basin_colour(colours[second]) if second >= 0 else face
        drawn += ax.plot(
            *point,
            linestyle="none",
            marker="*" if leader else "o",
            markersize=1.9 * size if leader else size,
            fillstyle="left" if second >= 0 else "full",
            markerfacecolor=face,
            markerfacecoloralt=other,
            markeredgecolor=colour("bound") if leader else edge,
            markeredgewidth=0.4 if leader or i not in colours else 1.1,
            zorder=6.0 if leader else 5.0,
        )
    return drawn


def polygon(ax: Axes, vertices: ArrayLike, *, role: str = "follower", label: str = "") -> Polygon:
    """Shade the polygon with these vertices, (m, 2), in cyclic order; two vertices give a segment."""
    tint = colour(role)
    patch = Polygon(
        np.asarray(vertices, float),
        closed=True,
        facecolor=paler(tint, 0.75),
        edgecolor=paler(tint, 0.2),
        linewidth=_LINE,
        zorder=1.0,
        label=label or None,
    )
    ax.add_patch(patch)
    return patch


def half_plane(ax: Axes, point: ArrayLike, normal: ArrayLike, *, role: str, shaded: bool = True) -> Line2D:
    """Draw the line {z : <normal, z - point> = 0} and, if `shaded`, the half-plane into which the normal points.

    Returns the line. The limits of the axes must be set before.
    """
    point, normal = np.asarray(point, float), np.asarray(normal, float)
    along = np.array([-normal[1], normal[0]]) / np.linalg.norm(normal)
    reach = 4 * float(np.hypot(np.ptp(ax.get_xlim()), np.ptp(ax.get_ylim()))) + float(np.linalg.norm(point))
    ends = point + np.outer([-reach, reach], along)
    if shaded:
        far = ends[::-1] + 2 * reach * normal / np.linalg.norm(normal)
        corners = np.concatenate([ends, far])
        ax.add_patch(Polygon(corners, closed=True, facecolor=paler(colour(role), 0.82), edgecolor="none", zorder=0.5))
    (line,) = ax.plot(*ends.T, color=colour(role), linewidth=_LINE, zorder=1.5, scalex=False, scaley=False)
    return line


def balls(ax: Axes, centres: ArrayLike, radius: float, *, role: str, names: Sequence[str] = ()) -> list[Circle]:
    """Draw balls of equal radius around points, (m, 2), each with its centre and name."""
    drawn = []
    for k, centre in enumerate(np.asarray(centres, float)):
        tint = colour(role)
        drawn.append(Circle(centre, radius, facecolor=paler(tint, 0.75), edgecolor=tint, linewidth=_LINE, zorder=2.0))
        ax.add_patch(drawn[-1])
        ax.plot(*centre, marker=".", markersize=3.0, color=tint, linestyle="none", zorder=3.0)
        if k < len(names):
            side = centre + np.array([radius, 0.0])
            ax.annotate(names[k], side, xytext=(3, 0), textcoords="offset points", va="center", fontsize=7.0)
    return drawn


def plane_axes(ax: Axes, points: ArrayLike, *, margin: float = 0.12) -> None:
    """Set axes with equal units around points, (m, 2), with a relative margin and a cross at the origin."""
    points = np.asarray(points, float)
    low, high = points.min(axis=0), points.max(axis=0)
    padding = margin * max(float(np.max(high - low)), 1e-9)
    ax.set(xlim=(low[0] - padding, high[0] + padding), ylim=(low[1] - padding, high[1] + padding))
    ax.set_aspect("equal")
    if np.all((low - padding <= 0) & (high + padding >= 0)):
        ax.plot(0, 0, marker="+", markersize=4.0, color=colour("bound"), markeredgewidth=0.6, linestyle="none")
