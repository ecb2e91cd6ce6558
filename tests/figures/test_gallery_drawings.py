"""Figures whose numbers take long are drawn from made-up ones: every panel shows them, as `drawings.txt` keeps it."""

from typing import Any

import numpy as np
import pytest

from figures import panels
from figures.gallery import find_figures
from figures.hardmax.geometry import FIGURE_2, MOVIE_LAYERS
from figures.multirate.chains import CHAINS, DECAYS, SHARES
from figures.multirate.network import MASKS
from figures.multirate.slow_manifolds import EPSILONS
from figures.prototypes.descents import PATHS
from figures.prototypes.portraits import MODES
from figures.prototypes.slow_manifold import RATIOS
from figures.style import settings

STEPS = np.linspace(0.0, 1.0, 7)
TURNS = np.arange(24) * np.pi / 12
RING = np.stack([np.cos(TURNS), np.sin(TURNS)], axis=1)
EDGES = np.array([[2.0, 1.0], [2.5, -1.0], [-2.0, 0.5], [0.5, 0.25]])


def laws(count, rows):
    """Make distributions on three states that differ in all entries."""
    parts = 1.0 + np.arange(3 * count * rows).reshape(count, rows, 3) ** 2 % 7
    return parts / parts.sum(axis=-1, keepdims=True)


def chains():
    found = {}
    for k, name in enumerate(CHAINS):
        found |= {f"{name} paths": laws(2, 5) ** (k + 1), f"{name} stationary": laws(1, 1 + (k == 3))[0]}
        found |= {f"{name} orbit {share}": laws(1, 4)[0] ** (1 + share) for share in SHARES}
    return found


def entropies():
    ts = np.linspace(0.0, 5.0, 101)
    falls = np.exp(-np.outer([1.0, 1.5, 2.0, 3.0], ts)) * np.array([[1.0], [0.5], [2.0], [0.25]])
    found = {"ts": ts, "entropies": falls, "gap": np.array(0.4), "dissipation": 2 * falls[1], "differences": falls[2]}
    return found | {f"orbit {share}": share * np.exp(-share * np.arange(5.0)) for share in DECAYS}


def manifolds():
    found = {}
    for k, name in enumerate(("cubic", "enzyme")):
        kinds = np.array(["attracting", "attracting", "undecided", "repelling", "repelling", "saddle", "saddle"])
        found |= {f"{name} slow": STEPS + k, f"{name} fast": STEPS**2 - k, f"{name} kinds": kinds}
        found |= {f"{name} branches": np.array([0, 0, 0, 0, 1, 1, 1]), f"{name} folds": np.array([[0.25, 0.5 + k]])}
    for k in range(len(EPSILONS)):
        found |= {f"cubic path {k}": np.stack([STEPS, STEPS ** (k + 2)])}
        found |= {f"enzyme path {k} {start}": np.stack([2 - STEPS, k + start + STEPS]) for start in range(2)}
    return found


def errors():
    eps = np.array([0.1, 0.01, 0.001])
    rows = np.stack([eps, 2 * eps, 0.5 * eps, 3 * eps**2])
    orders = {"orders": np.array([1.0126, 0.98, 1.5, 2.04]), "standard errors": np.array([0.0034, 0.06, 2.5, 0.0])}
    return {"epsilons": eps, "errors": rows, **orders}


def leaks():
    return {name: np.tril(np.outer(np.arange(1.0, 10), np.arange(9.0) + k)) for k, name in enumerate(MASKS)}


def encoders():
    found = {}
    for number, mode in enumerate(MODES):
        found |= {
            f"{mode} meeting": np.array(0.75 + number / 8),
            f"{mode} separate kinds": np.array(["attracting"] * 7),
        }
        found[f"{mode} separate"] = np.column_stack([1.8 - STEPS, 1.5 - STEPS + number])
        paths = {f"{mode} path {k}": np.column_stack([1.6 - STEPS, (k + 1) * STEPS]) for k in range(len(RATIOS))}
        found |= paths
    return found


def temperatures():
    found = {}
    for number, mode in enumerate(MODES):
        found |= {f"{mode} meeting": np.array(4.0 - 2 * number), f"{mode} branches": np.array(3 - 2 * number)}
        for k in range(3 - 2 * number):
            found[f"{mode} {k}"] = np.column_stack([4 * STEPS, 1 + k + STEPS, STEPS**2])
            found[f"{mode} {k} kinds"] = np.array(["saddle" if k else "attracting"] * 7)
    return found


def separations():
    path = lambda k, number: np.column_stack([1 + STEPS * k, number + STEPS ** (k + 1)])
    found = {f"{mode} {k}": path(k, number) for number, mode in enumerate(MODES) for k in range(PATHS)}
    return {"ts": STEPS * 40, **found}


def pairs():
    side, shares = np.linspace(-4.0, 4.0, 9), np.array([5.0, 1.5, 0.5])
    found = {"side": side, "embeddings": np.array([-1.0, 0.5, 1.0]), "shares": shares}
    grid = np.stack(np.meshgrid(side, side), axis=-1)
    for number, mode in enumerate(MODES):
        for share in shares:
            found[f"{mode} {share:g} field"] = grid[..., ::-1] * [1.0, -share] + number
            found[f"{mode} {share:g} places"] = np.array([[0.0, share / 2], [1.0 + number, -1.0]])
            found[f"{mode} {share:g} kinds"] = np.array(["stable", "saddle"])
    return found


def debris():
    z = np.column_stack([np.arange(12.0), np.arange(12.0) ** 2 % 5])
    regimes, clusters = np.arange(12) % 4, np.arange(12) // 3
    return {"z": z, "prototypes": np.array([[1.0, 2], [4, 1], [7, 3], [10, 0]]), "regimes": regimes,
        "clusters": clusters}  # fmt: skip


def heads():
    cooling = np.where(STEPS[:, None] >= [0.0, 0.3, 0.6, 0.9], 1 - STEPS[:, None] / 2, -1.0)
    found = {"ts": 40 * STEPS, "temperatures": cooling, "births": np.array([0.0, 12.0, 24.0, 36.0])}
    found |= {"clip": np.array([20.0, 30.0, 90.0, 90.0]), "prune": np.array([90.0, 90.0, 90.0, 38.0])}
    return found | {"W printed": 2 - STEPS, "W repaired": 1 - STEPS**2}


def attracted():
    points = np.array([[1.0, 0.5], [2.0, 1.0], [1.5, 2.0], [-1.0, 0.5], [0.0, -1.0], [0.5, 0.0]])
    found = {"points": points, "members identity": np.array([1, 2]), "members general": np.array([3])}
    return found | {"matrix identity": np.eye(2), "matrix general": np.array([[2.0, 1.0], [1.0, 1.0]])}


def clouds():
    found = {}
    for k, row in enumerate(FIGURE_2):
        states = np.stack([(1 - 0.1 * layer) * EDGES + k for layer in range(4)])
        followed = np.stack([np.array([[0, -1], [1, -1], [2, 0], [1, -1]])] * 4)
        found |= {f"states {row}": states, f"followed {row}": followed, f"hull {row}": EDGES[:3] + k}
        found[f"missed {row}"] = np.array([[0.5, 1.0 + k]])
    return found


def ball():
    starts = EDGES[0] + 0.25 * RING[[3, 9, 15, 21]]
    return {"points": EDGES[:3], "radius": np.array(0.25), "starts": starts}


def layers():
    states = np.stack([0.9**k * EDGES for k in range(MOVIE_LAYERS + 1)])
    return {"states": states, "followed": np.stack([np.array([[0, -1], [1, -1], [2, -1], [0, 1]])] * len(states))}


def reflected():
    paths = np.stack([RING[:5], RING[5:10]], axis=1)
    paths = np.concatenate([0.8 * paths, np.full((5, 2, 1), 0.6)], axis=-1)
    values = np.stack([1 - STEPS[:5], 2 - STEPS[:5] ** 2])
    return {"paths": paths, "ts": STEPS[:5], "distances": values, "axis": np.array([0.0, 0.6, 0.8])}


def circle():
    places, kinds = np.array([[1.0, 0.0], [-0.4, 0.84**0.5], [-1.0, 0.0]]), np.array(["stable", "unstable", "stable"])
    found = {
        "points": RING,
        "field": RING[:, ::-1] * [-1, 1] * RING[:, 1:],
        "limits": 2 * (np.abs(TURNS - np.pi) < 1.6),
    }
    return found | {"equilibrium_points": places, "kinds": kinds}


def sphere():
    heights = (np.arange(300) + 0.5) / 150 - 1
    turns = np.arange(300) * np.pi * (3 - 5**0.5)
    points = np.stack([np.cos(turns), np.sin(turns), np.zeros(300)], axis=1) * np.sqrt(1 - heights**2)[:, None]
    points[:, 2] = heights
    places = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]])
    found = {"points": points, "field": np.cross(points, [0.0, 0.0, 1.0]) * (2 + heights[:, None])}
    found |= {"limits": np.where(heights > 0, 0, 1), "equilibrium_points": places}
    return found | {"kinds": np.array(["stable", "stable", "saddle"]), "axis": np.array([0.0, 0.6, 0.8])}


MADE_UP = {
    "multirate/simplex": (chains, 4), "multirate/entropy-decay": (entropies, 3), "multirate/manifold": (manifolds, 2),
    "multirate/error-against-eps": (errors, 1), "multirate/leak-matrices": (leaks, 4),
    "prototypes/slow-manifold": (encoders, 2), "prototypes/bifurcations": (temperatures, 2),
    "prototypes/separation-paths": (separations, 3), "prototypes/phase-portraits": (pairs, 6),
    "prototypes/figure-1": (debris, 2), "growing/timeline": (heads, 3), "hardmax/figure-1": (attracted, 2),
    "hardmax/figure-2": (clouds, 16), "hardmax/figure-5": (ball, 1), "hardmax/layers": (layers, 1),
    "consensus/figure-4": (reflected, 2), "consensus/portrait-circle": (circle, 1),
    "consensus/portrait-sphere": (sphere, 1),
}  # fmt: skip


@pytest.mark.parametrize("name", MADE_UP)
def test_every_panel_shows_the_numbers(name, monkeypatch):
    named = []
    monkeypatch.setattr(
        panels, "place_names", lambda ax, points, words, **how: named.append((np.shape(points), *words))
    )
    (shown,) = find_figures(name)
    make, count = MADE_UP[name]
    with settings():
        draw: Any = shown.draw
        drawn = draw(make())
        assert len(drawn.axes) == count
        assert all(ax.has_data() or ax.child_axes for ax in drawn.axes)
        animate: Any = shown.animate
        if animate is not None:
            assert [animate(make(), phase).axes[0].get_title(loc="left") for phase in (0.0, 0.5)] == [
                "layer 0", f"layer {(MOVIE_LAYERS + 1) // 2}",
            ]  # fmt: skip
    words = {"hardmax/figure-1": [((6, 2), *(f"$z_{k}$" for k in range(1, 7)))] * 2,
             "hardmax/figure-5": [((3, 2), "$s_0$", "$s_1$", "$s_2$"), ((4, 2), *["$x$"] * 4)]}  # fmt: skip
    assert named == words.get(name, [])
