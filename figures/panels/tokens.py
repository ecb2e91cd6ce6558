"""Draw trajectories of tokens on the sphere and on ellipsoids in three dimensions.

The orthographic projection is computed here, so that the hidden side is known exactly and can be drawn paler.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.image import AxesImage
from matplotlib.patches import Polygon

from dynsim._core.orientation import basis_of_range, oriented
from dynsim._core.types import ArrayLike
from dynsim.errors import ArgumentError
from figures.style import COLOURS, colour, paler, thick

AXES = ("$y_1$", "$y_2$", "$y_3$")
HIDDEN = 0.65  # share of white in colours on the hidden side
_LIGHT = np.array([-0.45, 0.55, 0.70])  # direction of the light: right, up, towards the viewer


@dataclass(frozen=True)
class View:
    """The direction of an orthographic projection: `elevation` and `azimuth` of the viewer in degrees."""

    elevation: float = 22.0
    azimuth: float = 35.0

    def frame(self) -> np.ndarray:
        """Unit vectors pointing right, up and towards the viewer, as rows, (3, 3)."""
        e, a = np.radians([self.elevation, self.azimuth])
        right = np.array([-np.sin(a), np.cos(a), 0.0])
        toward = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
        return np.stack([right, np.cross(toward, right), toward])

    def project(self, points: np.ndarray) -> np.ndarray:
        """Project points (..., 3) to the image plane, (..., 2)."""
        return points @ self.frame()[:2].T

    def sees(self, points: np.ndarray, matrix: np.ndarray) -> np.ndarray:
        """Whether points (..., 3) of the ellipsoid y^T W y = 1 are on the visible side; `matrix` is W."""
        return points @ matrix @ self.frame()[2] >= 0

    @classmethod
    def facing(cls, point: ArrayLike) -> "View":
        """A view from slightly above and aside in which the neighbourhood of `point` is visible."""
        x, y, z = np.asarray(point, float)
        return cls(np.degrees(np.arctan2(z, np.hypot(x, y))) / 2 + 12.0, np.degrees(np.arctan2(y, x)) + 25.0)

    def opposite(self) -> "View":
        """The view from the opposite direction, in which the hidden side is visible."""
        return View(-self.elevation, self.azimuth + 180.0)


def token_paths(
    ax: Axes,
    paths: ArrayLike,
    *,
    matrix: ArrayLike | None = None,
    view: View = View(),
    roles: Sequence[str] = ("token",),
    colour: Any = None,
) -> LineCollection:
    """Draw trajectories of tokens on an ellipsoid, with open initial points and filled final points.

    Args:
        ax: the axes.
        paths: trajectories, (times, tokens, 3).
        matrix: W of the ellipsoid y^T W y = 1, (3, 3); None for the sphere.
        view: the direction of projection.
        roles: roles of the first tokens, which determine their colours; the last role applies to all further tokens.
        colour: one colour for all tokens instead.

    Raises:
        ValueError: for an array of the wrong shape, or a matrix that is not symmetric positive definite.
    """
    paths, W = np.asarray(paths, float), _matrix(matrix)
    if paths.ndim != 3 or paths.shape[-1] != 3:
        raise ArgumentError("paths", "have shape (times, tokens, 3)", f"has shape {paths.shape}")
    if not any(isinstance(image, AxesImage) for image in ax.images):
        surface(ax, matrix=W, view=view)
    chosen = [COLOURS[roles[min(token, len(roles) - 1)]] for token in range(paths.shape[1])]
    tints = chosen if colour is None else [colour] * len(chosen)
    runs, colours = [], []
    for token, tint in enumerate(tints):
        for run, seen in visible_pieces(view.project(paths[:, token]), view.sees(paths[:, token], W)):
            runs.append((seen, run))
            colours.append((seen, tint if seen else paler(tint, HIDDEN)))
    # hidden pieces come first, so that visible ones cover them
    order = sorted(range(len(runs)), key=lambda k: runs[k][0])
    lines = LineCollection(
        [runs[k][1] for k in order], colors=[colours[k][1] for k in order], linewidths=thick(0.9), zorder=3.0
    )
    lines.set_capstyle("round")
    ax.add_collection(lines)
    _end_points(ax, paths[0], W, view, role="start")
    _end_points(ax, paths[-1], W, view, role="end")
    return lines


def surface(
    ax: Axes, *, matrix: ArrayLike | None = None, view: View = View(), labels: Sequence[str] = AXES
) -> AxesImage:
    """Draw a shaded ellipsoid with graticule, principal axes and coordinate directions.

    The principal axes are dotted lines, which are omitted on a sphere.

    Args:
        ax: the axes.
        matrix: W of the ellipsoid y^T W y = 1, (3, 3); None for the sphere.
        view: the direction of projection.
        labels: labels of the coordinate directions.

    Raises:
        ValueError: for a matrix that is not symmetric positive definite.
    """
    W = _matrix(matrix)
    outline = view.project(_silhouette(W, view))
    shade, extent = _shade(W, view, outline)
    rim = Polygon(outline, closed=True, facecolor="none", edgecolor=colour("surface"), linewidth=thick(0.7), zorder=2.0)
    ax.add_patch(rim)
    image = ax.imshow(shade, extent=extent, origin="lower", cmap="gray", vmin=0.0, vmax=1.0, zorder=0.0)
    image.set_clip_path(rim)
    for curve in _graticule(W):
        for run, seen in visible_pieces(view.project(curve), view.sees(curve, W)):
            tint = paler(colour("surface"), 0.35 if seen else 0.68)
            ax.plot(*run.T, color=tint, linewidth=thick(0.35), zorder=1.0, solid_capstyle="round")
    radii, directions = _principal(W)
    if np.ptp(radii) > 1e-9:
        for radius, direction in zip(radii, directions.T, strict=True):
            ends = view.project(np.outer([-radius, radius], direction))
            ax.plot(
                *ends.T, color=paler(colour("surface"), 0.1), linewidth=thick(0.6), linestyle=(0, (1, 1.5)), zorder=1.5
            )
    _frame(ax, outline)
    _coordinate_axes(ax, outline, view, labels)
    return image


def _matrix(matrix: ArrayLike | None) -> np.ndarray:
    W = np.eye(3) if matrix is None else np.asarray(matrix, float)
    if W.shape != (3, 3) or not np.allclose(W, W.T) or np.min(np.linalg.eigvalsh(W)) <= 0:
        raise ArgumentError("matrix", "be a symmetric positive definite 3x3 matrix", "is not")
    return W


def _principal(W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lengths of the semi-axes of the ellipsoid, and their directions as columns."""
    sizes, directions = np.linalg.eigh(W)
    return 1 / np.sqrt(sizes), oriented(directions)


def _silhouette(W: np.ndarray, view: View) -> np.ndarray:
    """Silhouette of the surface, (points, 3), where the normal is orthogonal to the direction of view."""
    radii, directions = _principal(W)
    normal = (directions * radii).T @ W @ view.frame()[2]  # in coordinates in which the ellipsoid is a unit sphere
    basis = basis_of_range(np.eye(3) - np.outer(normal, normal) / (normal @ normal))
    angle = np.linspace(0.0, 2 * np.pi, 181)
    return (np.outer(np.cos(angle), basis[:, 0]) + np.outer(np.sin(angle), basis[:, 1])) @ (directions * radii).T


def _shade(W: np.ndarray, view: View, outline: np.ndarray) -> tuple[np.ndarray, tuple[float, float, float, float]]:
    """Brightness of the visible side on a grid in the image plane, and the grid's extent."""
    (left, low), (right, high) = outline.min(0), outline.max(0)
    u = np.stack(np.meshgrid(np.linspace(left, right, 96), np.linspace(low, high, 96)), axis=-1)
    B, w = view.frame()[:2], view.frame()[2]
    C = np.linalg.inv(W)
    S = np.linalg.inv(B @ C @ B.T)
    inside = np.clip(1 - np.einsum("abi,ij,abj->ab", u, S, u), 0.0, 1.0)
    points = u @ S @ B @ C + np.sqrt(inside / (w @ W @ w))[..., None] * w
    normals = points @ W
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
    light = _LIGHT @ view.frame() / np.linalg.norm(_LIGHT)
    return 0.88 + 0.12 * np.clip(normals @ light, -0.3, 1.0), (left, right, low, high)


def _graticule(W: np.ndarray) -> list[np.ndarray]:
    """Parallels and meridians every 30 degrees, as affine images of those of the unit sphere."""
    radii, directions = _principal(W)
    turn, rise = np.linspace(0, 2 * np.pi, 121), np.linspace(-np.pi / 2, np.pi / 2, 61)
    unit = [_spherical(turn, np.full_like(turn, b)) for b in np.radians([-60, -30, 0, 30, 60])]
    unit += [_spherical(np.full_like(rise, a), rise) for a in np.radians(range(0, 360, 30))]
    return [curve @ (directions * radii).T for curve in unit]


def _spherical(longitude: np.ndarray, latitude: np.ndarray) -> np.ndarray:
    flat = np.cos(latitude)
    return np.stack([flat * np.cos(longitude), flat * np.sin(longitude), np.sin(latitude)], axis=-1)


def visible_pieces(curve: np.ndarray, seen: np.ndarray) -> list[tuple[np.ndarray, bool]]:
    """Split a curve into visible and hidden pieces; each begins at the last point of the previous one."""
    cuts = [0, *(np.flatnonzero(np.diff(seen.astype(int))) + 1), len(curve)]
    return [
        (curve[max(a - 1, 0) : b], bool(seen[a]))
        for a, b in zip(cuts[:-1], cuts[1:], strict=True)
        if b - max(a - 1, 0) > 1
    ]


def _end_points(ax: Axes, points: np.ndarray, W: np.ndarray, view: View, *, role: str) -> None:
    flat, seen, tint = view.project(points), view.sees(points, W), colour(role)
    edges = [tint if s else paler(tint, HIDDEN) for s in seen]
    faces = ["white"] * len(points) if role == "start" else edges
    size, height = (13, 4.0) if role == "start" else (15, 5.0)
    for side in (False, True):
        chosen = np.flatnonzero(seen == side)
        if len(chosen):
            ax.scatter(
                *flat[chosen].T,
                s=size,
                facecolors=[faces[k] for k in chosen],
                edgecolors=[edges[k] for k in chosen],
                linewidths=thick(0.7),
                zorder=height + 0.5 * side,
                label=role if side == seen.any() else None,
            )


def _frame(ax: Axes, outline: np.ndarray) -> None:
    """Set equal scales and limits that contain the outline and its marks, without a box."""
    reach = 1.06 * np.max(np.abs(outline))
    ax.set_aspect("equal")
    ax.set_xlim(-reach, reach)
    ax.set_ylim(-reach, reach)
    ax.set_axis_off()


def _coordinate_axes(ax: Axes, outline: np.ndarray, view: View, labels: Sequence[str]) -> None:
    """Draw the coordinate directions in the lower left corner."""
    reach = 1.06 * np.max(np.abs(outline))
    corner, length = np.array([-0.90, -0.94]) * reach, 0.16 * reach
    for number, tip in enumerate(view.project(np.eye(3)) * length):
        ax.plot(*np.stack([corner, corner + tip]).T, color=colour("reference"), linewidth=thick(0.7), clip_on=False)
        size = max(float(np.linalg.norm(tip)), 0.3 * length)
        at = corner + tip * (1 + 0.09 * reach / size)
        ax.text(
            float(at[0]),
            float(at[1]),
            labels[number],
            fontsize=0.875 * matplotlib.rcParams["font.size"],
            ha="center",
            va="center",
            color=paler("#000000", 0.25),
        )
