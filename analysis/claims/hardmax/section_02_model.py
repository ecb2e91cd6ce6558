"""Claims of Sections 2.2 and 2.3: derivation of the layer (1.1), and tokens on the unit sphere."""

import math
from fractions import Fraction

import jax
import numpy as np

from analysis.claims.hardmax.instances.clouds import ClusteringCase, case, defined_sets, run
from analysis.claims.hardmax.instances.large_clouds import search_measurements
from analysis.claims.hardmax.instances.zoo import close_followers, hard_case, late_leaders, waiting_followers
from analysis.claims.rational_instances import Exact, identity, matrix, rational_matrix, rational_unit
from analysis.hardmax.exact_geometry import solved
from analysis.ledger.claim import certified
from analysis.ledger.evidence import NON_NEGATIVE, ROUNDING, Measurement, Trial, at_most, holds
from dynsim._core.types import Key
from dynsim.simulation.hardmax import iterate_hardmax
from dynsim.systems.hardmax.attention import ExactHardmax, Hardmax
from dynsim.systems.hardmax.maps import ExactHardmaxMap, HardmaxMap, MultiHeadMap

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
        at_most("their error in floats, over the largest entry", error, 0.0, tolerance=ROUNDING, within=NON_NEGATIVE),
    )


def _float_layer(name: str, given: ClusteringCase, A: Exact) -> Measurement:
    """Compare `HardmaxMap` with the exact layer at the binary values of its tokens, matrix and step."""
    x, A, a = given.tokens.astype(float), A.astype(float), float(given.alpha)
    exact = ExactHardmaxMap(a, A).step(0, x).astype(float)
    error = np.max(np.abs(HardmaxMap(a, A).step(0, x) - exact)) / np.max(np.abs(x))
    what = f"{name}: error of `HardmaxMap` over the largest entry"
    return at_most(what, error, 0.0, tolerance=ROUNDING, within=NON_NEGATIVE)


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
