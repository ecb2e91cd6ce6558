"""Branches of critical manifolds in axes."""

from typing import Any, Unpack

import numpy as np

from analysis.dynamics.scaling.flat import flat_states
from analysis.fast_slow.critical_manifold import ManifoldBranch
from dynsim.errors import ArgumentError
from figures.artists import Artists, Part, StyledFrame, sheet
from figures.panels.manifolds import critical_manifold, fold_points


def branch(
    found: ManifoldBranch,
    ax: Any = None,
    *,
    components: tuple[int, int] = (0, 0),
    branches: Part = True,
    folds: Part = True,
    colour: Any = None,
    **frame: Unpack[StyledFrame],
) -> Artists:
    """Draw a branch of a critical manifold; see `ManifoldBranch.plot`."""
    slow, fast = flat_states(found.slow), flat_states(found.fast)
    y, x = components
    if not (0 <= y < slow.shape[1] and 0 <= x < fast.shape[1]):
        must = f"be an index of the {slow.shape[1]} entries of y and one of the {fast.shape[1]} of x"
        raise ArgumentError("components", must, f"is {tuple(components)}")
    turns = [(np.ravel(at.slow)[y], np.ravel(at.fast)[x]) for at in found.bifurcations if at.kind == "fold"]
    with sheet(ax, styled="branches", aspect=0.9, **frame) as drawn:
        drawn.draw("branches", branches, critical_manifold, slow[:, y], fast[:, x], found.kinds, tint=colour)
        drawn.draw("folds", folds, fold_points, turns)
    return drawn
