"""Claims of Section 2: derivation of the layer (1.1), tokens on the unit sphere, and the softmax limit."""

import math
from fractions import Fraction
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from analysis.claims.hardmax.instances.certified_limits import no_more_than
from analysis.claims.hardmax.instances.clouds import ClusteringCase, case, defined_sets, invertible, lattice, run
from analysis.claims.hardmax.instances.zoo import close_followers, hard_case, late_leaders, waiting_followers
from analysis.claims.rational_instances import Exact, identity, matrix, rational_matrix, rational_unit
from analysis.hardmax.exact_geometry import solved
from analysis.ledger.claim import certified
from analysis.ledger.evidence import ROUNDING, Measurement, Trial, at_most, holds
from dynsim._core.types import Key
from dynsim.simulation.hardmax import iterate_hardmax
from dynsim.systems.hardmax.attention import ExactHardmax, Hardmax
from dynsim.systems.hardmax.maps import ExactHardmaxMap, HardmaxMap, MultiHeadMap, SoftmaxMap
from dynsim.systems.hardmax.search.follower_sets import FollowerSets

SIZES = {1: 2100, 2: 2400, 3: 4000}  # tokens by dimension: enough for the search by cells and cones
EXTENT = 40  # of the lattice, on which many scores are equal
ARC = 100  # tokens on each half of an arc
METRICS = {1: ((2,),), 2: ((2, 1), (0, 1)), 3: ((2, 1, 0), (0, 1, 1), (1, 0, 3))}  # by dimension; not symmetric

Integers = Int[np.ndarray, "n d"]


def large_cloud(key: Key, d: int) -> Integers:
    """Return repeated tokens of a lattice, in half of the cases with tokens of large norm on a flat arc, (n, d).

    The arc is $(c - k^2, 10^5 k)$ with $|k|$ up to `ARC`; its tokens are the best for directions (1, t) with |t| below
    0.002 only, of which there are many too: hard for a search that divides directions.
    """
    a, b, c = jax.random.split(key, 3)
    found = np.array(jax.random.randint(a, (SIZES[d], d), -EXTENT, EXTENT + 1), np.int64)
    if jax.random.bernoulli(b):
        k, zero = np.arange(-ARC, ARC + 1), np.zeros((2 * ARC + 1, 3), np.int64)
        arc, towards = zero + [[10**7, 0, 0]], zero + [[3 * 10**4, 0, 0]]
        arc[:, 0] -= k**2
        arc[:, 1], towards[:, 1] = 10**5 * k, k
        found[: 2 * len(k)] = np.concatenate([arc, towards])[:, :d]
    return found[np.asarray(jax.random.permutation(c, len(found)))]


def search_measurements(key: Key) -> tuple[Measurement, ...]:
    """Measure the follower sets that ship against all scores, in floats and fractions, in one to three dimensions.

    All scores are integers below 2^53, so that products in floats are exact.
    """
    found = []
    for d, metric in METRICS.items():
        x, A = large_cloud(jax.random.fold_in(key, d), d), np.array(metric)
        scores = (x.astype(float) @ A.T) @ x.T.astype(float)
        sizes = np.linalg.norm(x @ A.T, axis=1) * np.max(np.linalg.norm(x, axis=1))
        for kind in (HardmaxMap, ExactHardmaxMap) if d == 2 else (HardmaxMap,):
            map = kind(1, A)
            sets = map.follower_sets(map.rule.tokens(x))
            found += _measured(f"{kind.__name__}, {len(x)} tokens in R^{d}", scores, sizes, sets)
    return tuple(found)


def _measured(
    name: str, scores: Float[np.ndarray, "n n"], sizes: Float[np.ndarray, " n"], sets: FollowerSets
) -> tuple[Measurement, ...]:
    """Measure that `sets` are the maximisers of each row, and that their relative gaps are lower bounds."""
    best = scores == np.max(scores, axis=1)[:, None]
    known = np.zeros_like(best)
    for s in range(len(sets.starts) - 1):
        known[np.ix_(sets.which == s, sets.members[sets.starts[s] : sets.starts[s + 1]])] = True
    other = np.max(np.where(best, -np.inf, scores), axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        gaps = np.where(np.all(best, axis=1), np.inf, (np.max(scores, axis=1) - other) / sizes)
    return (
        holds(f"{name}: the follower sets are all maximisers", np.array_equal(best, known)),
        holds(f"{name}: the gaps are positive", bool(np.all(sets.gaps > 0))),
        holds(f"{name}: they are lower bounds", bool(np.all(sets.gaps <= gaps * (1 + ROUNDING)))),
    )


REPEATED = 24  # layers, after which the tokens that wait have left


def similarity(x: Exact, attention: Exact) -> Exact:
    """Return the similarity matrix (2.3), shape (n, n), evaluated from its definition."""
    sets = defined_sets(x, attention)
    return matrix([[Fraction(int(j in members), len(members)) for j in range(len(x))] for members in sets])


def _layer_trial(key: Key, normalised: bool) -> Trial:
    """Compare (2.2) to (2.4), evaluated from their definitions, with the layers of all maps that ship."""
    a, b = jax.random.split(key)
    given, hard = case(a).with_zero, hard_case(b)[1]
    name = {"cloud": given, "hard": hard}
    layers = {word: _layer(c, c.attention, normalised) for word, c in name.items()}
    skew = given.attention + matrix(np.triu(np.ones(given.attention.shape, int), 1))
    exact = lambda c, A: ExactHardmaxMap(c.alpha, A).step(0, c.tokens)
    scale = 1 / (1 + given.alpha) if normalised else 1
    head = [ExactHardmax(given.attention)]
    several = MultiHeadMap(head, given.alpha * identity(len(skew))[None], scale=scale).step(0, given.tokens)
    return Trial(
        hypotheses=tuple(m for c in name.values() for m in c.measured("symmetric", "definite", "positive_step")),
        conclusions=(
            *(_exact_layer(word, c, layers[word]) for word, c in name.items()),
            *(_second_form(word, c, layers[word]) for word, c in name.items()),
            holds("it is that of `MultiHeadMap`", bool(np.all(several == layers["cloud"]))),
            holds(
                "for a matrix that is not symmetric too",
                bool(np.all(_layer(given, skew, normalised) == exact(given, skew))),
            ),
            *(_float_layer(word, c, c.attention) for word, c in name.items()),
            _float_layer("a matrix that is not symmetric", given, skew),
            *_several_heads(b, given, skew),
            *_iterated(waiting_followers(b), late_leaders(b), close_followers(b)),
            *search_measurements(b),
        ),
        witness=given.witness(),
        parameters=given.parameters("cloud and hard"),
    )


def _layer(given: ClusteringCase, A: Exact, normalised: bool) -> Exact:
    """Return (2.2) with V = alpha I and (2.3), followed by (2.4) if `normalised`."""
    z, a = given.tokens, given.alpha
    attended = z + similarity(z, A) @ z @ (a * identity(z.shape[1]))
    return attended / (1 + a) if normalised else attended


def _exact_layer(name: str, given: ClusteringCase, layer: Exact) -> Measurement:
    same = bool(np.all(layer == given.map.step(0, given.tokens)))
    return holds(f"{name}: the layer is that of `ExactHardmaxMap`", same)


def _second_form(name: str, given: ClusteringCase, layer: Exact) -> Measurement:
    z, share = given.tokens, given.alpha / (1 + given.alpha)
    sets = defined_sets(z, given.attention)
    drifts = np.stack([sum(z[j] - z[i] for j in members) / len(members) for i, members in enumerate(sets)])
    return holds(f"{name}: the layer is the second form of (2.5)", bool(np.all(layer == z + share * drifts)))


def _several_heads(key: Key, given: ClusteringCase, skew: Exact) -> tuple[Measurement, Measurement]:
    """Compare `MultiHeadMap` of two heads, with different A and any V, with (2.2), and in floats at binary values."""
    z, V = given.tokens, rational_matrix(key, 2, len(skew), len(skew))
    attentions, scale = (given.attention, skew), Fraction(2, 3)
    expected = scale * (z + sum(similarity(z, A) @ z @ v.T for A, v in zip(attentions, V, strict=True)))
    exact = MultiHeadMap([ExactHardmax(A) for A in attentions], V, scale=scale).step(0, z)
    x, binary = z.astype(float), [A.astype(float) for A in attentions]
    rounded = MultiHeadMap([Hardmax(A) for A in binary], V.astype(float), scale=float(scale)).step(0, x)
    same = MultiHeadMap([ExactHardmax(A) for A in binary], V, scale=scale).step(0, matrix(x)).astype(float)
    error = np.max(np.abs(rounded - same)) / np.max(np.abs(same))
    return (
        holds("two heads with any values V_h add up", bool(np.all(exact == expected))),
        no_more_than("their error in floats, over the largest entry", error, 0.0),
    )


def _float_layer(name: str, given: ClusteringCase, A: Exact) -> Measurement:
    """Compare `HardmaxMap` with the exact layer at the binary values of its tokens, matrix and step."""
    x, A, a = given.tokens.astype(float), A.astype(float), float(given.alpha)
    exact = ExactHardmaxMap(a, A).step(0, x).astype(float)
    error = np.max(np.abs(HardmaxMap(a, A).step(0, x) - exact)) / np.max(np.abs(x))
    what = f"{name}: error of `HardmaxMap` over the largest entry"
    return no_more_than(what, error, 0.0)


def _iterated(*cases: ClusteringCase) -> tuple[Measurement, ...]:
    """Compare `iterate_hardmax`, which reuses follower sets, with the map applied layer by layer.

    In floats the layers that it calls certain are compared with those of exact arithmetic from the same numbers.
    """
    same, certain, below = True, True, True
    for given in cases:
        exact = run(given.map, given.tokens, REPEATED)
        found = iterate_hardmax(given.map, given.tokens, REPEATED)
        same = same and bool(np.all(found.path.ys == np.stack(exact)))
        least = [_least_gap(x, given.attention) for x in exact[:-1]]
        below = below and bool(np.all(found.gaps <= np.array(least) * (1 + ROUNDING)))
        x, A, a = given.tokens.astype(float), given.attention.astype(float), float(given.alpha)
        floats, binary = HardmaxMap(a, A), ExactHardmaxMap(a, A)
        rounded = iterate_hardmax(floats, x, REPEATED)
        states = run(binary, binary.rule.tokens(x), max(rounded.certain - 1, 0))
        pairs = zip(states, rounded.path.ys, strict=False)
        sets = [binary.follower_sets(y).same_as(floats.follower_sets(z)) for y, z in pairs]
        certain = certain and rounded.certain > 0 and all(sets)
    return (
        holds(f"`iterate_hardmax` gives the same {REPEATED} layers", same),
        holds("its gaps of scores are lower bounds", below),
        holds("the follower sets of its certain layers are exact", certain),
    )


def _least_gap(x: Exact, A: Exact) -> float:
    """Return the least gap between the best score and the next, over |A z_i| max_j |z_j|; infinite without a next."""
    length = lambda v: math.sqrt(float(v @ v))
    largest, gaps = max(length(z) for z in x), [math.inf]
    for z in x:
        scores = x @ A @ z
        others = [score for score in scores if score < max(scores)]
        gaps += [float(max(scores) - max(others)) / (length(A @ z) * largest)] if others else []
    return min(gaps)


@certified("hardmax/equation-2.5", num_trials=16)
def layer_is_normalised_attention(key: Key) -> Trial:
    """For A symmetric positive definite, V = alpha I, alpha > 0 and any tokens, the attention sublayer (2.2), (2.3)
    followed by the normalisation (2.4) is (2.5) in both its forms, which is (1.1).

    Measured on the maps in fractions, in floats (up to rounding) and with several heads, for matrices A that are not
    symmetric too; with two heads for values V_h that are no multiples of the identity. The sets (1.1b) are measured
    against all scores for thousands of tokens too.
    """
    return _layer_trial(key, True)


@layer_is_normalised_attention.with_control
def layer_is_normalised_attention(key: Key) -> Trial:
    """Without the normalisation (2.4)."""
    return _layer_trial(key, False)


def _on_sphere(key: Key) -> ClusteringCase:
    """Return unit tokens; the last is z_1 reflected in the line of A z_1, so that <A z_1, z> is the same for both."""
    given = case(key)
    units = [rational_unit(k, len(given.factor)) for k in jax.random.split(key, 4)]
    z, query = units[0], given.attention @ units[0]
    return given._replace(tokens=np.stack([*units, 2 * (z @ query) / (query @ query) * query - z]))


def _outside(given: ClusteringCase) -> Exact:
    """Return a token that the first one follows, and that is not on its ray, shape (1, d)."""
    z, query = given.tokens[0], given.attention @ given.tokens[0]
    tangents = [e - (query @ e) / (query @ z) * z for e in identity(len(z))]
    return (Fraction(9, 8) * z + next(t for t in tangents if any(t)))[None]


def _on_ellipsoid(key: Key) -> ClusteringCase:
    """Return tokens with <A z, z> = 1, z = B^{-1} u for the unit vectors u."""
    given = _on_sphere(key)
    return given._replace(tokens=solved(given.factor, given.tokens.T).T)


def _fixed_trial(given: ClusteringCase, metric: Exact | None = None, *, with_outside: bool = False) -> Trial:
    """Measure whether tokens on the unit sphere of `metric`, by default A, are fixed by a layer and its projection.

    A token is fixed if and only if the layer maps it to a positive multiple of itself; by (2.2) without (2.4) too. The
    layer is applied to a further token outside of the sphere as well, if `with_outside`.
    """
    count, metric = len(given.tokens), given.attention if metric is None else metric
    x = np.concatenate([given.tokens, _outside(given)]) if with_outside else given.tokens
    ahead = lambda z, w: np.all(np.outer(z, w) == np.outer(w, z)) and z @ w > 0
    attended = MultiHeadMap([given.map.rule], given.alpha * identity(len(metric))[None])
    fixed = [
        all(ahead(z, w) for z, w in zip(x[:count], map.step(0, x)[:count], strict=True))
        for map in (given.map, attended)
    ]
    return Trial(
        hypotheses=(
            *given.measured("symmetric", "definite", "positive_step"),
            holds("the tokens are on the unit sphere, exactly", all(z @ metric @ z == 1 for z in given.tokens)),
        ),
        conclusions=(
            holds("every token is fixed by the layer (2.5) and the projection", fixed[0]),
            holds("every token is fixed by the layer (2.2) and the projection", fixed[1]),
        ),
        witness=given.witness(),
        parameters=given.parameters("on the sphere"),
    )


@certified(
    "hardmax/claim-sphere-fixed",
    num_trials=16,
    note="stated for any positive definite A, before Section 3 fixes A = I: on the Euclidean unit sphere the score "
    "<A z_i, z_j> may be larger for another token than for z_i itself; no control: both repairs are measured by the "
    "same function",
)
def unit_tokens_stay(key: Key) -> Trial:
    """For every symmetric positive definite A, alpha > 0 and tokens on the unit sphere of R^d, all tokens remain fixed
    for all times if the projection to that sphere replaces (2.4).

    One layer suffices, since all layers are the same map. Sampled: A = diag(p^2, 1), where (3/5, 4/5) follows (1, 0).
    """
    p = int(jax.random.randint(key, (), 2, 6))
    given = case(key)._replace(
        tokens=matrix([[Fraction(3, 5), Fraction(4, 5)], [1, 0]]), factor=matrix(np.diag([p, 1]))
    )
    return _fixed_trial(given, identity(2))


unit_tokens_stay_for_the_identity = certified(
    "hardmax/claim-sphere-fixed/identity",
    statement="For A = I, alpha > 0 and tokens on the unit sphere all tokens remain fixed. Added: A = I.",
    trial=lambda key: _fixed_trial(_on_sphere(key).with_identity),
    # A token outside the sphere besides those on it, near the first one.
    control=lambda key: _fixed_trial(_on_sphere(key).with_identity, with_outside=True),
    variant="special case",
    num_trials=16,
)


tokens_of_the_ellipsoid_stay = certified(
    "hardmax/claim-sphere-fixed/ellipsoid",
    statement="For every symmetric positive definite A and alpha > 0, tokens with <A z, z> = 1 remain fixed if the "
    "projection to that ellipsoid replaces (2.4). Changed: the sphere is that of the norm of A.",
    trial=lambda key: _fixed_trial(_on_ellipsoid(key)),
    # A token outside the ellipsoid besides those on it, near the first one.
    control=lambda key: _fixed_trial(_on_ellipsoid(key), with_outside=True),
    variant="corrected",
    num_trials=16,
)


def softmax_weights(scores: Exact, m: int) -> Exact:
    """Return the softmax of one token's scores at temperature 1/(m ln 2), at which exponentials are powers of two.

    Every difference of two scores times m must be an integer.
    """
    powers = m * (scores - max(scores))
    raw = np.array([Fraction(2) ** power for power in powers], object)
    return raw / sum(raw)


def _limit_trial(key: Key, ties: bool) -> Trial:
    a, b = jax.random.split(key)
    d = 2
    y = np.concatenate([lattice(b, d), matrix([[3, 3], [3, -3], [1, 0], [0, 0]])])  # the third of these is in a tie
    factor = invertible(a, d)
    given = ClusteringCase(solved(factor, y.T).T, factor, Fraction(1, 2))  # the scores <y_i, y_j> are integers
    scores = given.tokens @ given.attention @ given.tokens.T
    hard = similarity(given.tokens, given.attention)
    if not ties:
        hard = np.array([[Fraction(int(j == np.argmax(row))) for j in range(len(row))] for row in hard], object)
    gaps = [max(row) - max((v for v in row if v != max(row)), default=max(row) - 1) for row in scores]
    others = [sum(v != max(row) for v in row) for row in scores]
    within, last, layers = True, Fraction(0), []
    for m in (Fraction(1, 16), Fraction(1, 2), 1, 64):
        if m < 1:  # temperatures at which no weight is near its limit, for the map alone
            layers.append(_soft_layer(given, given.attention, float(m), _weights(scores, float(m))))
            continue
        weights = [softmax_weights(s, int(m)) for s in scores]
        errors = [max(abs(w - h)) for w, h in zip(weights, hard, strict=True)]
        bounds = [count * Fraction(2) ** int(-m * gap) for count, gap in zip(others, gaps, strict=True)]
        within, last = within and all(e <= bound for e, bound in zip(errors, bounds, strict=True)), max(errors)
        layers.append(_soft_layer(given, given.attention, float(m), np.stack(weights).astype(float)))
    skew = given.attention + matrix([[0, 1], [0, 0]])
    layers.append(_soft_layer(given, skew, 0.5, _weights(given.tokens @ skew.T @ given.tokens.T, 0.5)))
    limit = given.map.step(0, given.tokens).astype(float)
    cold = SoftmaxMap(float(given.alpha), 1 / (64 * math.log(2)), given.attention.astype(float))
    return Trial(
        hypotheses=(
            *given.measured("symmetric", "definite"),
            holds("some token has a tie", any(sum(v == max(row) for v in row) > 1 for row in scores)),
        ),
        conclusions=(
            holds("the weights are within (n - |C_i|) exp(-gap_i / tau) of (2.3)", within),
            at_most(
                "largest error of a weight at tau = 1/(64 ln 2)", last, Fraction(1, 2**60), tolerance=0.0, within=(0, 1)
            ),
            *layers,
            no_more_than(
                "distance of that layer of `SoftmaxMap` from the hardmax layer",
                np.max(np.abs(np.asarray(cold.step(0, jnp.asarray(given.tokens.astype(float)))) - limit)),
                0.0,
            ),
        ),
        witness=given.witness(),
        parameters=given.parameters("lattice"),
    )


def _weights(scores: Exact, m: float) -> np.ndarray:
    """Return the softmax of every row of scores at temperature 1/(m ln 2), in floats."""
    powers = np.exp2(m * np.array([[float(value - max(row)) for value in row] for row in scores]))
    return powers / np.sum(powers, axis=1, keepdims=True)


def _soft_layer(given: ClusteringCase, A: Exact, m: float, weights: np.ndarray) -> Measurement:
    """Compare a layer of `SoftmaxMap` with A at temperature 1/(m ln 2) with (2.5) for these weights."""
    x, a = given.tokens.astype(float), float(given.alpha)
    layer = SoftmaxMap(a, 1 / (m * math.log(2)), A.astype(float)).step(0, jnp.asarray(x))
    error = np.max(np.abs(np.asarray(layer) - (x + a * weights @ x) / (1 + a)))
    kind = "" if np.all(A == A.T) else ", A not symmetric"
    what = f"error of the layer of `SoftmaxMap` at tau = 1/({m:g} ln 2){kind}"
    return no_more_than(what, error, 0.0)


softmax_tends_to_hardmax = certified(
    "hardmax/claim-softmax-limit",
    statement="""
    For all tokens Z and every A, the weights (2.6) tend to (2.3) as tau -> 0: to 1 / |C_i| on each maximiser.

    The error is at most (n - |C_i|) exp(-gap_i / tau), gap_i being the gap between the largest score and the next.
    """,
    trial=partial(_limit_trial, ties=True),
    control=partial(_limit_trial, ties=False),  # A single maximiser in place of the set C_i.
    num_trials=8,
    note="`formally` is read as: for fixed tokens. Fixed tokens need no compact set, and over a compact set the limit "
    "is not uniform, see `uniform`. Weights are exact at temperatures at which the exponentials are powers of two; the "
    "layers of `SoftmaxMap` are compared with them, and with the hardmax layer, up to rounding",
)


def _uniform_trial(key: Key, separated: bool) -> Trial:
    """Measure the weights of token 0, which follows token 1; the score of token 2 is smaller by `gap`."""
    m = 2 ** int(jax.random.randint(key, (), 6, 12))
    gap = Fraction(1, 4) if separated else Fraction(1, m)
    z = matrix([[Fraction(1, 2), 0], [1, 1], [1 - 2 * gap, -1]])
    scores = z @ z[0]
    error = softmax_weights(scores, m) - similarity(z, identity(2))[0]
    return Trial(
        hypotheses=(
            holds("the tokens are in the square [-1, 1]^2", all(abs(entry) <= 1 for entry in z.flat)),
            holds("the temperature 1/(m ln 2) is below 1/40", m >= 64),
        ),
        conclusions=(
            at_most(
                "error of the weights of token 0", max(abs(error)), Fraction(1, 1000), tolerance=0.0, within=(0, 1)
            ),
            at_most(
                "error of its weighted average",
                max(abs(error @ z)),
                Fraction(1, 1000),
                tolerance=0.0,
                within=(0, 2),  # of a difference of two averages of tokens in the square
            ),
        ),
        witness={"tokens": z, "m": [m], "gap times m": gap * m},
        parameters={"n": 3, "d": 2, "gap": float(gap), "temperature": 1 / (m * math.log(2))},
    )


@certified(
    "hardmax/claim-softmax-limit/uniform",
    variant="reading",
    num_trials=4,
    note="at every temperature some tokens of a compact set are nearly tied; no control: tokens with a fixed gap are "
    "measured by the same function",
)
def softmax_tends_to_hardmax_uniformly(key: Key) -> Trial:
    """Read: for tokens in a compact set the limit is uniform: there is a temperature below which all weights, and the
    weighted averages, are within 1/1000 of their limits.
    """
    return _uniform_trial(key, False)


softmax_tends_to_hardmax_off_ties = certified(
    "hardmax/claim-softmax-limit/gap",
    statement="""
    The limit is uniform over tokens in a compact set for which the gap between the two largest scores is bounded
    below.

    Added: the lower bound of the gap, here 1/4. The weights of token 0 of three tokens are measured.
    """,
    trial=partial(_uniform_trial, separated=True),
    control=partial(_uniform_trial, separated=False),  # A gap that tends to zero with the temperature.
    variant="special case",
    num_trials=4,
)
