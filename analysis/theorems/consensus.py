"""Theorems on the consensus of tokens: which of them apply to a flow, with its P, U, mask and space, and to a start."""

import json
import math
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from analysis.theorems.conditions import Conditions, Hypothesis, known, measured
from analysis.tokens.consensus import antipode_distance
from analysis.tokens.hemispheres import hemisphere_margin, margin_along
from dynsim._core.checked import checked
from dynsim._core.printing import one_line
from dynsim._core.types import ArrayLike
from dynsim._core.validation import instance, reals
from dynsim.errors import ArgumentError
from dynsim.papers import CONSENSUS
from dynsim.simulation.checks import check_start
from dynsim.spaces import AbstractSpace, Ellipsoid, Sphere
from dynsim.systems.schedules import AbstractSchedule, Constant, Modulated, PiecewiseConstant, Resampled, ScaledIdentity
from dynsim.systems.tokens.flow import ProjectedValueFlow, TokenFlow
from dynsim.systems.tokens.interactions.masks import AbstractMask, Causal, Full
from dynsim.systems.tokens.normalised import NormalisedTokenFlow

ROUNDING = 16 * float(np.finfo(float).eps)
"""Relative error of eigenvalues, norms and inner products of small matrices and of tokens, for each dimension."""
HULL = 1e-12
"""Error of the margin of a hemisphere, which non-negative least squares give."""
Matrix = Float[np.ndarray, "d d"]


class ConsensusTheorems(NamedTuple):
    """Theorems on the consensus of tokens, each with its conditions for a flow and a start.

    Attributes:
        theorems: the conditions of each theorem.

    Example:
        >>> import numpy as np
        >>> from analysis.theorems import consensus_theorems
        >>> from dynsim.tokens import TokenFlow
        >>> found = consensus_theorems(TokenFlow(np.eye(2)), [[1.0, 0.0], [0.6, 0.8]])
        >>> print(str(found).splitlines()[0])
        2 of 4 theorems apply: Theorem 3.2, Theorem 4.1.
    """

    theorems: tuple[Conditions, ...]

    __repr__ = one_line

    @property
    def applying(self) -> tuple[Conditions, ...]:
        """The theorems that apply."""
        return tuple(one for one in self.theorems if one.applies)

    def __str__(self) -> str:
        """Say which theorems apply, and list the conditions of all."""
        names = ", ".join(one.theorem.split(":")[0] for one in self.applying)
        head = f"{len(self.applying)} of {len(self.theorems)} theorems apply{f': {names}' if names else ''}."
        return "\n\n".join([head, *map(str, self.theorems)])

    def to_json(self) -> str:
        """Write the conditions of all theorems as a list in JSON."""
        return json.dumps([json.loads(one.to_json()) for one in self.theorems], indent=2)


@checked
def consensus_theorems(
    flow: TokenFlow | ProjectedValueFlow | NormalisedTokenFlow, tokens: ArrayLike
) -> ConsensusTheorems:
    """Check which theorems on the consensus of tokens apply to a flow that starts at `tokens`.

    Theorems 3.2, 4.1, 5.1 and 6.1 are checked for a `TokenFlow`, Remark 5.1 for a `ProjectedValueFlow`. Equalities,
    such as U = I, are checked for the numbers as stored, without a tolerance. A positive factor of the velocity other
    than 1 / sqrt(d) only rescales time. With normalisation before attention (pre, peri) no theorem applies, because
    the direction of each token moves at a pace of its own; the other conditions are checked for the directions.
    Conclusions are those that hold: Theorem 5.1 is printed for every start without a token at -y_1, which has
    exceptions of measure zero from three tokens on.

    Args:
        flow: the flow.
        tokens: the start, (n, d), on the space of the flow.

    Raises:
        ValueError: for another flow, or tokens of another shape or off the space.

    Source: CONSENSUS, Theorems 3.2, 4.1, 5.1 and 6.1, Remark 5.1.

    Example:
        >>> import numpy as np
        >>> from analysis.theorems import consensus_theorems
        >>> from dynsim.tokens import causal_symmetric_flow
        >>> flow = causal_symmetric_flow(np.zeros((2, 2)), np.diag([1.0, -0.5]))
        >>> [found] = consensus_theorems(flow, [[0.6, 0.8], [0.8, -0.6]]).applying
        >>> found.theorem.split(":")[0], round(found.hypotheses[-1].margin, 3)
        ('Theorem 6.1', 0.6)
    """
    kinds = TokenFlow | ProjectedValueFlow | NormalisedTokenFlow
    instance("flow", flow, kinds, "a `TokenFlow`, a `ProjectedValueFlow` or a `NormalisedTokenFlow`")
    attention = flow if isinstance(flow, TokenFlow) else flow.attention
    d, shape = attention.query_key.shape[1], reals("tokens", tokens).shape
    if len(shape) != 2 or shape[0] < 1 or shape[1] != d:
        raise ArgumentError("tokens", f"have shape (n, {d})", f"has shape {shape}")
    x = np.asarray(check_start("tokens", flow, tokens), float)
    if isinstance(flow, ProjectedValueFlow):
        return ConsensusTheorems((_remark_5_1(flow, x),))
    if isinstance(flow, NormalisedTokenFlow):
        found = consensus_theorems(flow.attention, np.asarray(flow.attention.space.project(x)))
        after = known("tokens are normalised after attention (post)", "x_i' is tangent to the space of x_i", False)
        return ConsensusTheorems(
            tuple(one._replace(hypotheses=(*one.hypotheses, after), system=flow) for one in found.theorems)
        )
    return ConsensusTheorems(
        tuple(theorem(flow, x) for theorem in (_theorem_3_2, _theorem_4_1, _theorem_5_1, _theorem_6_1))
    )


def _theorem_3_2(flow: TokenFlow, x: np.ndarray) -> Conditions:
    fixed, matrices = _constant(flow.query_key)
    P = None if matrices is None else matrices[0]
    return _conditions(
        "Theorem 3.2: a gradient flow of attention",
        (
            _one_head(flow),
            _full(flow.mask, len(x)),
            _identity(flow.value),
            known("P does not depend on time", "P(t) = P", fixed),
            _symmetric("P", P),
            _positive_definite(P),
            _on_the_ellipsoid("P is the matrix of the ellipsoid", "W = P", flow.space, P),
            _factor(flow),
        ),
        "the tokens converge to an equilibrium",
        "the potential need not fall along solutions",
        flow,
    )


def _theorem_4_1(flow: TokenFlow, x: np.ndarray) -> Conditions:
    W = _metric(flow.space, x.shape[1])
    words, inequality = "an open hemisphere holds all tokens", "max_v min_i v^T y_i / (|v| |y_i|) > 0"
    margin = math.nan if W is None else hemisphere_margin(x)
    inside = (
        known(words, inequality, None if W is None else False, "floats")
        if not margin > 0
        else measured(words, inequality, margin, HULL)
    )
    return _conditions(
        "Theorem 4.1: full attention in a hemisphere",
        (
            _full(flow.mask, len(x)),
            known("tokens move on an ellipsoid", "y_i^T W y_i = 1", W is not None),
            _identity(flow.value),
            _factor(flow),
            *_for_all_times(flow),
            known("P is uniformly continuous", "P_h is uniformly continuous on [0, inf)", _continuous(flow.query_key)),
            inside,
        ),
        "the tokens converge to consensus, inside every open hemisphere that holds them at first",
        "tokens may stay apart",
        flow,
    )


def _theorem_5_1(flow: TokenFlow, x: np.ndarray) -> Conditions:
    return _conditions(
        "Theorem 5.1: causal attention with U = I",
        (
            _causal(flow.mask, len(x)),
            _on_the_sphere(flow.space, x.shape[1]),
            _identity(flow.value),
            _factor(flow),
            *_for_all_times(flow),
            _off_the_antipode(x),
        ),
        _reaches_the_first(len(x)),
        "tokens may stay apart",
        flow,
    )


def _theorem_6_1(flow: TokenFlow, x: np.ndarray) -> Conditions:
    d = x.shape[1]
    fixed, matrices = _constant(flow.value)
    U = None if matrices is None else matrices[0]
    return _conditions(
        "Theorem 6.1: causal attention with a symmetric U",
        (
            _one_head(flow),
            _causal(flow.mask, len(x)),
            _on_the_sphere(flow.space, d),
            known("U does not depend on time", "U(t) = U", fixed),
            _symmetric("U", U),
            _factor(flow),
            *_for_all_times(flow),
            *_top_eigenvector(U, x),
        ),
        "the tokens converge to the unit eigenvector v of the largest eigenvalue of U that has them in its hemisphere, "
        "and (v, ..., v) is asymptotically stable",
        "tokens may stay apart, or converge elsewhere",
        flow,
    )


def _remark_5_1(flow: ProjectedValueFlow, x: np.ndarray) -> Conditions:
    U = np.asarray(flow.matrix, float)
    sizes = np.linalg.svd(U, compute_uv=False)
    error = ROUNDING * len(U) * float(sizes[0])
    return _conditions(
        "Remark 5.1: causal attention with a regular U and its own projection",
        (
            measured("U is regular", "least singular value of U > 0", float(sizes[-1]), error),
            *_for_all_times(flow.attention),
            _factor(flow.attention),
            _off_the_antipode(x),
        ),
        _reaches_the_first(len(x)),
        "tokens may stay apart",
        flow,
    )


def _conditions(name: str, rows: tuple[Hypothesis, ...], follows: str, otherwise: str, flow: Any) -> Conditions:
    source = f"{CONSENSUS.authors}, {CONSENSUS.title}, {name.partition(':')[0]}"
    return Conditions(name, rows, follows, otherwise, system=flow, source=source)


def _reaches_the_first(n: int) -> str:
    starts = "" if n < 3 else "from almost every such start "
    return f"{starts}the tokens converge to the first, which is fixed, and the consensus set is asymptotically stable"


def _one_head(flow: TokenFlow) -> Hypothesis:
    return known("attention has one head", "h = 1", flow.query_key.shape[0] == 1)


def _full(mask: AbstractMask, n: int) -> Hypothesis:
    every = isinstance(mask, Full) or bool(np.all(mask(n)))
    return known("every token attends to every token", "all j in the sum of token i", every)


def _causal(mask: AbstractMask, n: int) -> Hypothesis:
    every = isinstance(mask, Causal) or bool(np.all(np.asarray(mask(n)) == np.tri(n, dtype=bool)))
    return known("tokens attend to themselves and those before", "j <= i in the sum of token i", every)


def _metric(space: AbstractSpace, d: int) -> Matrix | None:
    """The matrix W of the ellipsoid that is the space; None if it is none."""
    if isinstance(space, Sphere):
        return np.eye(d)
    return np.asarray(space.matrix, float) if isinstance(space, Ellipsoid) else None


def _on_the_sphere(space: AbstractSpace, d: int) -> Hypothesis:
    return _on_the_ellipsoid("tokens move on the unit sphere", "W = I", space, np.eye(d))


def _on_the_ellipsoid(words: str, inequality: str, space: AbstractSpace, M: Matrix | None) -> Hypothesis:
    W = _metric(space, 1 if M is None else len(M))
    return known(words, inequality, False) if W is None else _equal(words, inequality, W, M)


def _factor(flow: TokenFlow) -> Hypothesis:
    scale = float(flow.scale)
    return known("the factor of the velocity is positive", "scale > 0", scale > 0)._replace(margin=scale)


def _equal(words: str, inequality: str, A: np.ndarray | None, B: np.ndarray | None) -> Hypothesis:
    """Compare stored numbers exactly; if they differ, the margin is minus the largest difference of two entries."""
    if A is None or B is None:
        return known(words, inequality, None)
    gap = float(np.max(np.abs(A - B)))
    return known(words, inequality, gap == 0)._replace(margin=-gap if gap else math.nan)


def _positive(words: str, inequality: str, margin: float, error: float) -> Hypothesis:
    """Decide by a number and its error; a zero without an error fails."""
    return known(words, inequality, False) if margin == error == 0 else measured(words, inequality, margin, error)


def _symmetric(name: str, M: Matrix | None) -> Hypothesis:
    return _equal(f"{name} is symmetric", f"{name} = {name}^T", M, None if M is None else M.T)


def _positive_definite(P: Matrix | None) -> Hypothesis:
    words, inequality = "P is positive definite", "least eigenvalue of (P + P^T) / 2 > 0"
    if P is None:
        return known(words, inequality, None)
    values = np.linalg.eigvalsh((P + P.T) / 2)
    return measured(words, inequality, float(values[0]), ROUNDING * len(P) * float(np.max(np.abs(values))))


def _identity(value: AbstractSchedule) -> Hypothesis:
    words, inequality = "the value matrices are the identity", "U_h(t) = I"
    fixed, matrices = _constant(value)
    if matrices is None:
        return known(words, inequality, fixed)
    return _equal(words, inequality, matrices, np.eye(len(matrices[0])))


def _for_all_times(flow: TokenFlow) -> tuple[Hypothesis, Hypothesis]:
    """Whether P and U are given at all times, and P is bounded."""
    b, end = flow.query_key.norm_bound(), min(flow.query_key.end(), flow.value.end())
    return (
        known("P and U are given at all times", "t >= 0", math.isinf(end)),
        known(
            "P is bounded",
            f"sup |P_h(t)| <= {b:.3g}" if math.isfinite(b) else "sup |P_h(t)| < inf",
            True if math.isfinite(b) else None,
        ),
    )


def _off_the_antipode(x: np.ndarray) -> Hypothesis:
    words, inequality = "no token is opposite to the first", "min_j |y_j + y_1| > 0"
    if len(x) == 1:
        return known(words, inequality, True)
    away = float(antipode_distance(x))
    error = ROUNDING * x.shape[1] * float(np.max(np.linalg.norm(x, axis=1))) if away else 0.0
    return _positive(words, inequality, away, error)


def _top_eigenvector(U: Matrix | None, x: np.ndarray) -> tuple[Hypothesis, ...]:
    """Whether the largest eigenvalue of U is positive and simple, and the tokens are on one side of its eigenvector."""
    words = (
        ("the largest eigenvalue of U is positive", "lambda_1 > 0"),
        ("the largest eigenvalue of U is simple", "lambda_1 - lambda_2 > 0"),
        ("the tokens are in a hemisphere of its eigenvector", "v^T y_i > 0 for all i, or < 0 for all i"),
    )
    if U is None:
        return tuple(known(*pair, None) for pair in words)
    values, vectors = np.linalg.eigh((U + U.T) / 2)
    is_diagonal = np.array_equal(U, np.diag(np.diag(U)))  # then the eigenvalues are exact
    top, error = float(values[-1]), 0.0 if is_diagonal else ROUNDING * len(U) * float(np.max(np.abs(values)))
    gap = top - float(values[-2]) if len(U) > 1 else math.inf
    side = max(float(margin_along(x, sign * vectors[:, -1])) for sign in (1, -1))
    turned = error / gap if gap > 0 else math.inf  # Davis and Kahan: by how much the eigenvector may be off
    return (
        _positive(*words[0], top, error),
        _positive(*words[1], gap, error),
        measured(*words[2], side, turned + ROUNDING * len(U)),
    )


def _constant(schedule: AbstractSchedule) -> tuple[bool | None, np.ndarray | None]:
    """Whether a schedule is constant, None if that is unknown, and its matrices (heads, d, d) if it is."""
    if isinstance(schedule, Constant | ScaledIdentity):
        fixed = True
    elif isinstance(schedule, PiecewiseConstant):
        fixed = _continuous(schedule)
    elif isinstance(schedule, Modulated):
        waves = np.asarray(schedule.frequency * schedule.amplitude)[..., None] * np.asarray(schedule.base)
        fixed = not np.any(waves)
    else:
        fixed = False if isinstance(schedule, Resampled) else None
    return fixed, np.asarray(schedule(0.0), float) if fixed else None


def _continuous(schedule: AbstractSchedule) -> bool | None:
    """Whether a schedule is uniformly continuous in time; None if that is unknown."""
    if isinstance(schedule, PiecewiseConstant):
        return bool(np.all(schedule.values == schedule.values[:1]))
    if isinstance(schedule, Constant | ScaledIdentity | Modulated):
        return True
    return False if isinstance(schedule, Resampled) else None
