"""Hard instances of the hardmax map, each with what it is hard for; tokens of general position come from `clouds`.

They are built for A = I and then posed in a metric: z = B^{-1} y for A = B^T B, or reflected if A = I is kept.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction

import jax
import numpy as np

from analysis.claims.hardmax.instances.clouds import ClusteringCase, distinct, invertible
from analysis.claims.rational_instances import Exact, identity, integers, matrix, rational_unit
from analysis.hardmax.exact_geometry import solved
from dynsim._core.types import Key
from dynsim.systems.hardmax.examples import ALPHA, EXAMPLE_5_2

STEPS = tuple(Fraction(a) for a in ("1/7", "1/2", "1", "5/2", "1000000"))
LATE = (
    (ALPHA, EXAMPLE_5_2),
    ("1/2", ((1, -1), (-1, -2), (5, -5), (-1, -1), (-1, 0))),
    ("1/2", ((-2, -3), (0, -2), (-18, 30), (1, -1), (-12, -1))),
    ("1/5", ((0, 1), (1, 1), (1, 0), (13, -15), (3, 1))),
    ("1/5", ((0, -1), (1, 0), (-2, 2), (-1, -2), (-6, 0), (-11, 22))),
    ("1", ((8, -4), (0, 2), (2, 4), (0, 3), (6, 2), (-2, -12))),
    ("5", ((0, -1), (3, 0), (1, -1), (4, 16))),
)  # steps and tokens in the plane whose last leader appears at layers 1, 3, 4, 3, 4, 3 and 2


def posed(key: Key, tokens: Exact, alpha: Fraction, *, with_identity: bool = False) -> ClusteringCase:
    """Return tokens given for A = I in the metric of a random A; with `with_identity` reflected, and A = I kept."""
    d = tokens.shape[1]
    if with_identity:
        u = rational_unit(key, d) if d > 1 else matrix([1])
        return ClusteringCase(distinct(tokens @ (identity(d) - 2 * np.outer(u, u))), identity(d), alpha)
    factor = invertible(key, d)
    return ClusteringCase(distinct(solved(factor, tokens.T).T), factor, alpha)


def late_leaders(key: Key, *, with_identity: bool = False) -> ClusteringCase:
    """Return tokens of which one becomes a leader at layer 1 to 4; hard for what looks at the first layers only."""
    a, b = jax.random.split(key)
    kind, share = (int(v) for v in integers(a, (2,), 0, 840))
    alpha, tokens = LATE[kind % len(LATE)]
    return posed(b, (1 + Fraction(share % 8, 8)) * matrix(tokens), Fraction(alpha), with_identity=with_identity)


def waiting_followers(key: Key, *, with_identity: bool = False) -> ClusteringCase:
    """Return tokens that stand for about ten layers and then leave; hard for what stops once tokens have settled."""
    a, b = jax.random.split(key)
    step, layers = (int(v) for v in integers(a, (2,), 0, 60))
    found = tied_followers((Fraction(1, 2), Fraction(1), Fraction(2))[step % 3], 4 + layers % 8)
    return posed(b, found.tokens, found.alpha, with_identity=with_identity)


def tied_followers(alpha: Fraction, layers: int) -> ClusteringCase:
    """Return three leaders and two tokens that wait between the first two leaders and then converge to the third.

    The two follow a = (1, 1, 0) and b = (1, -1, 0), tied by symmetry, and approach p = (1, 0, 0). At p the third leader
    c = (1 + e, 0, 1) has a score larger by e; but they approach p from below, where its score is smaller until their
    third coordinate is about -e.
    """
    e = (1 + alpha) ** -layers / 4096
    followers = [[Fraction(1, 2), 0, Fraction(-1, 4)], [Fraction(1, 2), 0, Fraction(-1, 3)]]
    return ClusteringCase(matrix([[1, 1, 0], [1, -1, 0], [1 + e, 0, 1], *followers]), identity(3), alpha)


def close_followers(key: Key) -> ClusteringCase:
    """Return a leader and two followers, A = I; for the second follower the first is nearly as good as the leader.

    Hard for bounds on gaps of scores from the layer before: the gap of the leader is large, that of its follower not.
    """
    a, b = jax.random.split(key)
    kind, near = (int(v) for v in integers(a, (2,), 0, 60))
    tokens = matrix([[4, 0], [2, Fraction(13, 10)], [1, Fraction(3, 2) + Fraction(near % 5, 400)]])
    return posed(b, tokens, (Fraction(1, 3), Fraction(1, 2), Fraction(3, 5))[kind % 3], with_identity=True)


def on_circle(parameters: list[Fraction]) -> Exact:
    """Return the points of the unit circle with these half-angle tangents, shape (m, 2), all different."""
    return matrix([[(1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)] for t in parameters])


def polygon(key: Key, *, with_identity: bool = False) -> ClusteringCase:
    """Return leaders on a circle about the origin, and tokens on the rays to the midpoints of the sides of K.

    Hard for exact ties, which persist on these rays, in polygons without symmetry; S has two points for most sides.
    """
    a, b = jax.random.split(key)
    shifts = [Fraction(int(v), 60) for v in integers(a, (6,), -7, 8)]
    centres = (-3, -1, Fraction(-1, 3), Fraction(1, 4), 1, Fraction(5, 2))
    v = 3 * on_circle([c + s for c, s in zip(centres, shifts, strict=True)])
    return posed(b, _with_rays(v), STEPS[int(integers(b, (1,), 0, len(STEPS))[0])], with_identity=with_identity)


def arc(key: Key, *, with_identity: bool = False) -> ClusteringCase:
    """Return leaders on less than half of a circle; hard since 0 is outside K, and its nearest point is not in S."""
    a, b = jax.random.split(key)
    shifts = [Fraction(int(v), 60) for v in integers(a, (4,), -5, 6)]
    v = 4 * on_circle(
        [c + s for c, s in zip((Fraction(-2, 3), Fraction(-1, 4), Fraction(1, 6), Fraction(3, 5)), shifts, strict=True)]
    )
    return posed(b, _with_rays(v), STEPS[int(integers(b, (1,), 0, len(STEPS))[0])], with_identity=with_identity)


def spiral(key: Key, *, with_identity: bool = False) -> ClusteringCase:
    """Return leaders of growing norm and tokens inside; hard since the projections on sides are no midpoints."""
    a, b = jax.random.split(key)
    growth = 1 + Fraction(int(integers(a, (1,), 1, 4)[0]), 30)
    v = on_circle([Fraction(t) for t in ("-3", "-1", "-1/3", "1/4", "1", "5/2")])
    v = 2 * v * matrix([[growth**k] for k in range(len(v))])
    return posed(b, _with_rays(v), STEPS[int(integers(b, (1,), 0, len(STEPS))[0])], with_identity=with_identity)


def prism(key: Key, *, with_identity: bool = False) -> ClusteringCase:
    """Return leaders at the corners of a prism over a triangle inscribed in a circle, and tokens in ties.

    Hard for faces of every dimension; the token on the axis ties three leaders only once, and then follows one.
    """
    a, b = jax.random.split(key)
    shifts = [Fraction(int(v), 60) for v in integers(a, (3,), -9, 10)]
    base = 2 * on_circle(
        [c + s for c, s in zip((Fraction(-3, 2), Fraction(1, 4), Fraction(8, 5)), shifts, strict=True)]
    )
    lift = lambda rows, h: np.concatenate([rows, matrix([[h]] * len(rows))], axis=1)
    corners = np.concatenate([lift(base, 1), lift(base, -1)])
    middle = (base + np.roll(base, 1, axis=0)) / 2
    tokens = [corners, lift(base[:2] / 3, 0), lift(2 * middle[:2] / 5, 0), matrix([[0, 0, Fraction(1, 2)]])]
    step = STEPS[int(integers(b, (1,), 0, len(STEPS))[0])]
    return posed(b, np.concatenate(tokens), step, with_identity=with_identity)


def flat(key: Key, *, with_identity: bool = False) -> ClusteringCase:
    """Return leaders in a plane of R^3 and followers off it; hard since K has no interior points."""
    a, b = jax.random.split(key)
    shifts = [Fraction(int(v), 60) for v in integers(a, (4,), -9, 10)]
    v = 3 * on_circle([c + s for c, s in zip((-2, Fraction(-1, 3), Fraction(1, 2), 2), shifts, strict=True)])
    plane = np.concatenate([v, v[:2] / 2, (v[:1] + v[1:2]) / 5])
    heights = matrix([[0]] * 4 + [[Fraction(1, 8)], [Fraction(-1, 4)], [Fraction(1, 16)]])
    tokens = np.concatenate([plane, heights], axis=1)
    return posed(b, tokens, STEPS[int(integers(b, (1,), 0, len(STEPS))[0])], with_identity=with_identity)


def few(key: Key, *, with_identity: bool = False) -> ClusteringCase:
    """Return one to four tokens, on a line or in a plane; hard since K is a point or a segment."""
    a, b = jax.random.split(key)
    kind, size = (int(v) for v in integers(a, (2,), 0, 60))
    rows = (
        [[2]],
        [[1], [2]],
        [[-1], [Fraction(1, 2)]],
        [[2, 1]],
        [[1, 0], [0, 2]],
        [[1, 1], [1, -1]],
        [[-1], [Fraction(-1, 3)], [Fraction(1, 4)], [2]],
    )[kind % 7]
    return posed(b, (1 + Fraction(size % 5, 4)) * matrix(rows), STEPS[size % len(STEPS)], with_identity=with_identity)


def uneven_tie(key: Key) -> ClusteringCase:
    """Return two leaders, the first given twice, and followers that tend to their weighted mean in an exact tie.

    Hard for what forgets multiplicities: (2 v_1 + v_2) / 3 = (3, 0) is orthogonal to v_1 - v_2, the midpoint is not.
    """
    tokens = matrix([[3, 1], [3, -2], [1, 0], [2, 0], [-1, Fraction(1, 2)]])
    given = posed(key, tokens, STEPS[int(jax.random.randint(key, (), 0, len(STEPS)))])
    return given._replace(tokens=np.concatenate([given.tokens, given.tokens[:1]]))


def _with_rays(v: Exact) -> Exact:
    """Return the points v in cyclic order, tokens on the rays to some midpoints of sides, and two more inside."""
    middle = (v + np.roll(v, -1, axis=0)) / 2
    inner = np.stack([(2 * v[0] + v[2]) / 7, (v[1] + 3 * v[-1]) / 9])
    return np.concatenate([v, middle[:2] / 2, 3 * middle[-1:] / 4, inner])


ZOO: Mapping[str, Callable[..., ClusteringCase]] = {
    "late leaders": late_leaders,
    "waiting followers": waiting_followers,
    "polygon": polygon,
    "arc": arc,
    "spiral": spiral,
    "prism": prism,
    "flat": flat,
    "few": few,
}
"""Hard instances by name; each takes a key and `with_identity`."""

FACES = ("polygon", "arc", "spiral", "prism", "flat")
"""Those whose K has faces of several dimensions, with points of S that are not vertices."""


def hard_case(key: Key, *names: str, with_identity: bool = False) -> tuple[str, ClusteringCase]:
    """Return one of the named hard instances at random, by default of all, with its name."""
    a, b = jax.random.split(key)
    chosen = names or tuple(ZOO)
    name = chosen[int(jax.random.randint(a, (), 0, len(chosen)))]
    return name, ZOO[name](b, with_identity=with_identity)
