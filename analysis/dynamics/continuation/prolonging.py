"""A known branch, such as one read from a file, continued at its ends."""

import jax
import numpy as np

from analysis.dynamics.continuation.branches import Branch, branch
from analysis.dynamics.continuation.curve import AbstractCurve, CurvePoint, direction_to, turned
from analysis.dynamics.continuation.stepping import Limits, can_go_on, follow
from dynsim._core.types import State
from dynsim.errors import argument_error


def prolonged(curve: AbstractCurve, known: Branch, within: Limits) -> Branch:
    """Return a branch with what follows at those of its ends that can be continued.

    Raises:
        ValueError: if the states at these ends do not lie on the curve.
    """
    ends, parts = list(known.ends), [known]
    for side in (1, 0):
        last, before = (0, 1) if side == 0 else (-1, -2)
        if len(known.parameters) < 2 or not can_go_on(ends[side], float(known.parameters[last]), within.bounds):
            continue
        pair = [(jax.tree.map(lambda a, k=k: a[k], known.states), float(known.parameters[k])) for k in (last, before)]
        begin = curve.at(*pair[0])
        if begin is None or not _beside(begin, *pair[0]):
            raise argument_error("known", "be a branch of this flow", "ends at a state that is no solution of it")
        towards = begin._replace(tangent=-direction_to(begin, begin._replace(state=pair[1][0], parameter=pair[1][1])))
        begin, _ = turned(begin, towards.tangent, begin)
        points, ends[side] = follow(curve, begin, begin.tangent, within)
        if points and side:
            parts.append(branch(curve, [begin, *points], ("", ends[1])))
        elif points:
            back = [p._replace(tangent=-p.tangent) for p in points[::-1]]
            parts.insert(0, branch(curve, [*back, begin._replace(tangent=-begin.tangent)], (ends[0], "")))
    return _joined(parts, (ends[0], ends[1]))


def _joined(parts: list[Branch], ends: tuple[str, str]) -> Branch:
    """Return branches, each of which begins where the one before ends, as one."""
    found = parts[0]
    for part in parts[1:]:
        length = float(found.arclengths[-1])
        moved = tuple(b._replace(arclength=b.arclength + length) for b in part.bifurcations)
        join = lambda a, b: np.concatenate([a, b[1:]])
        found = Branch(
            jax.tree.map(join, found.states, part.states), join(found.parameters, part.parameters),
            join(found.arclengths, part.arclengths + length), join(found.eigenvalues, part.eigenvalues),
            found.kinds + part.kinds[1:], found.bifurcations + moved, ends, found.isolated and part.isolated,
        )  # fmt: skip
    return found._replace(ends=ends)


def _beside(found: CurvePoint, state: State, parameter: float) -> bool:
    """Return whether Newton's method has left a state where it was, up to the error of what is read from a file."""
    known = found._replace(state=state, parameter=parameter).flat
    return bool(np.linalg.norm(found.flat - known) <= 1e-6 * (1 + np.linalg.norm(known)))
