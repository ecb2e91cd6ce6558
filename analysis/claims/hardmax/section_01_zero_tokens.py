"""Claims of Remark 1.3: Theorem 1.1 when an initial token is zero."""

import itertools
from collections.abc import Mapping
from fractions import Fraction

import jax
import numpy as np

from analysis.claims.hardmax.instances.certified_limits import (
    CertifiedRun,
    certifiable_case,
    certified_run,
    is_subset,
    values,
)
from analysis.claims.hardmax.instances.clouds import ALPHAS, HYPOTHESES, LAYERS, ClusteringCase, case, distinct, run
from analysis.claims.hardmax.instances.zoo import late_leaders, polygon
from analysis.claims.hardmax.section_01_theorem import attained_limits
from analysis.claims.rational_instances import Exact, identity
from analysis.hardmax.certificate import certify
from analysis.ledger.claim import certified
from analysis.ledger.evidence import Measurement, Trial, holds
from dynsim._core.types import Key
from dynsim.exact import rational, rationals
from dynsim.systems.hardmax.examples import ALPHA, REMARK_1_3
from dynsim.systems.hardmax.hypotheses import hypotheses
from dynsim.systems.hardmax.maps import ExactHardmaxMap


def _clustered(run: CertifiedRun, *, origin: bool) -> tuple[Measurement, ...]:
    """Measure (i)-(iii) of Theorem 1.1 for S of (4.1) on the boundary of K, with the origin added if `origin`."""
    limits = run.certificate.limits
    zero = tuple(Fraction(0) for _ in limits[0])
    allowed = run.boundary_candidates | ({zero} if origin else set())
    ends = values(limits[run.leaders])
    return (
        is_subset("(i), (iii): every limit is in S", limits, allowed),
        holds("(ii): the limits of leaders are distinct", len(ends) == len(run.leaders)),
        holds("(ii): they are the vertices of K", ends == run.vertices),
        attained_limits(run),
        *run.agreement(),
    )


def _centrally_symmetric(given: ClusteringCase) -> ClusteringCase:
    """Return a case with the negatives of its tokens, and one at the origin, which stays there."""
    return given.with_negatives.with_zero._replace(alpha=given.alpha)


def _zero_trial(cases: Mapping[str, ClusteringCase], *, origin: bool) -> Trial:
    measured, conclusions = [], []
    for given in cases.values():
        found = certified_run(given)
        if isinstance(found, Trial):
            return found
        zeros = sum(all(entry == 0 for entry in z) for z in given.tokens)
        measured += given.measured("symmetric", "definite", "positive_step", "distinct")
        measured.append(holds("one token is zero", zeros == 1))
        conclusions += _clustered(found, origin=origin)
        conclusions.append(holds("`hypotheses` tells it", not hypotheses(given.map, given.tokens).nonzero))
    witness = {name: given.witness() for name, given in cases.items()}
    parameters = next(iter(cases.values())).parameters(" and ".join(cases))
    return Trial(tuple(measured), tuple(conclusions), witness, parameters=parameters)


@certified(
    "hardmax/remark-1.3",
    # S without the origin, for symmetric sets of tokens in the plane, whose K has the origin in its interior.
    control=lambda key: _zero_trial({"symmetric": _centrally_symmetric(polygon(key))}, origin=False),
    num_trials=12,
    note="the added origin may be interior to K, as in the printed example, whereas S is on the boundary",
)
def theorem_holds_with_the_origin(key: Key) -> Trial:
    """If one of the distinct initial tokens is zero, Theorem 1.1 holds provided that the origin is added to S.

    In each trial one case is symmetric about the origin, so that the zero token stays; in the others it moves, and one
    of these has a leader that appears after layer 0.
    """
    a, b, c = jax.random.split(key, 3)
    cases = {
        "symmetric": _centrally_symmetric(certifiable_case(a)),
        "random": certifiable_case(b).with_zero,
        "late leaders": late_leaders(c).with_zero,
    }
    return _zero_trial(cases, origin=True)


@certified(
    "hardmax/remark-1.3/boundary",
    variant="reading",
    num_trials=1,
    note="the added origin is interior to K in the remark's own example, so that the union is not on the boundary; "
    "no control: `remark-1.3` is the positive case",
)
def theorem_holds_with_the_origin_on_the_boundary(key: Key) -> Trial:
    """Read: with the origin added to S, Theorem 1.1 holds, and the points of S are on the boundary of K.

    For A = I and the tokens -1, -1/2, 0, 1/2, 1 of the remark, of which the zero token converges to the origin.
    """
    given = ClusteringCase(rationals("tokens", np.array(REMARK_1_3, object)), identity(1), rational("alpha", ALPHA))
    found = certified_run(given)
    if isinstance(found, Trial):
        return found
    slacks = [found.body.slacks(x) for x in found.certificate.limits]
    return Trial(
        hypotheses=(
            *given.measured("symmetric", "definite", "positive_step", "distinct"),
            holds("one token is zero", sum(not any(z) for z in given.tokens) == 1),
            holds("(i) holds with the origin added", _ends_known(found)),
        ),
        conclusions=(
            holds("every limit is on the boundary of K", all(min(slack) == 0 for slack in slacks)),
            *found.agreement(),
        ),
        witness={**given.witness(), "limits": found.certificate.limits, "layers": LAYERS},
        parameters=given.parameters("remark 1.3"),
    )


def _ends_known(found: CertifiedRun) -> bool:
    """Return whether every limit is in S of (4.1) or the origin."""
    limits = found.certificate.limits
    return values(limits) <= values(found.candidates.points) | {tuple(0 * limits[0])}


def _example_trial(tokens: Exact, alpha: Fraction) -> Trial:
    """Compare five tokens, in every order, with z_2 = -1 + r^k / 2 and z_4 = 1 - r^k / 2, r = 1 / (1 + alpha)."""
    map, r = ExactHardmaxMap(alpha), 1 / (1 + alpha)
    closed, ends = [], []
    for number, order in enumerate(itertools.permutations(range(5))):
        x = tokens[list(order)]
        for k in range(4):
            half = r**k / 2
            closed.append([x[order.index(i), 0] for i in range(5)] == [-1, half - 1, 0, 1 - half, 1])
            x = map.step(k, x)
        if number % 5:  # all orders are compared above; limits are certified for 24 of the 120
            continue
        found = certify(map, tokens[list(order)])
        ends.append(found.certified and [found.limits[order.index(i), 0] for i in range(5)] == [-1, -1, 0, 1, 1])
    return Trial(
        hypotheses=(holds("alpha > 0", alpha > 0), holds("five tokens on the line", tokens.shape == (5, 1))),
        conclusions=(
            holds("layers 0 to 3 agree with the closed form, in all 120 orders", all(closed)),
            holds("the limits are -1, -1, 0, 1, 1", all(ends)),
        ),
        witness={"tokens": tokens, "alpha": alpha},
    )


@certified("hardmax/remark-1.3/example", num_trials=6)
def five_tokens_cluster_at_three_points(key: Key) -> Trial:
    """For A = I and alpha > 0 the tokens -1, -1/2, 0, 1/2, 1 in R, in every order, converge to -1, 0 and 1.

    The zero token remains at the origin.
    """
    alpha = ALPHAS[int(jax.random.randint(key, (), 0, len(ALPHAS)))]
    return _example_trial(rationals("tokens", np.array(REMARK_1_3, object)), alpha)


@five_tokens_cluster_at_three_points.with_control
def five_tokens_cluster_at_three_points(key: Key) -> Trial:
    """The initial token -1/3 in place of -1/2."""
    tokens = rationals("tokens", np.array(REMARK_1_3, object))
    tokens[1, 0] = Fraction(-1, 3)
    return _example_trial(tokens, Fraction(1, 2))


def _moved_trial(cases: Mapping[str, ClusteringCase], doubled: bool) -> Trial:
    """Measure the hypotheses of Theorem 1.1 in the layers after the last token, initially zero, has moved."""
    measured, conclusions = [], []
    for given in cases.values():
        start = np.concatenate([given.tokens, given.tokens[-1:]]) if doubled else given.tokens
        states = run(given.map, start)
        moved = [bool(np.any(x[-1] != 0)) for x in states]
        found = [hypotheses(given.map, x) for x, left in zip(states, moved, strict=True) if left]
        end = certified_run(given._replace(tokens=states[moved.index(True)] if any(moved) else start))
        if isinstance(end, Trial):
            return end
        measured += [
            *given.measured("symmetric", "definite", "positive_step", "distinct"),
            holds("an initial token is zero", not given.measured("nonzero")[0].holds_clearly),
            holds(f"it moves within {LAYERS} layers", any(moved)),
        ]
        conclusions += [
            *(holds(f"afterwards {HYPOTHESES[name]}", all(getattr(f, name) for f in found)) for name in HYPOTHESES),
            holds("it moves to the mean of all tokens, by the share alpha / (1 + alpha)", _moves_to_mean(given, start)),
            *_clustered(end, origin=False),
        ]
    witness = {name: given.witness() for name, given in cases.items()}
    parameters = next(iter(cases.values())).parameters(" and ".join(cases))
    return Trial(tuple(measured), tuple(conclusions), witness, parameters=parameters)


def _moves_to_mean(given: ClusteringCase, x: Exact) -> bool:
    mean = np.sum(x, axis=0) / len(x)
    return bool(np.all(given.map.step(0, x)[-1] == given.alpha / (1 + given.alpha) * mean))


@certified("hardmax/remark-1.3/moved", num_trials=12)
def theorem_applies_after_the_move(key: Key) -> Trial:
    """Once an initially zero token has moved, Theorem 1.1 applies as stated: the tokens are distinct and nonzero, and
    their limits are in S of (4.1), on the boundary of K.

    In one case of each trial the token moves after layer 0 only.
    """
    a, b, c = jax.random.split(key, 3)
    cases = {"random": certifiable_case(a).with_zero, "late leaders": late_leaders(b).with_zero}
    at_once = {name: given for name, given in cases.items() if np.any(np.sum(given.tokens, axis=0) != 0)}
    return _moved_trial({**at_once, "centred": _centred(c)}, doubled=False)


@theorem_applies_after_the_move.with_control
def theorem_applies_after_the_move(key: Key) -> Trial:
    """Two tokens at the origin, which remain equal."""
    return _moved_trial({"late leaders": late_leaders(key).with_zero}, doubled=True)


def _centred(key: Key) -> ClusteringCase:
    """Return tokens of mean zero without symmetry, the last at the origin, which moves in a later layer than the first.

    A token that balances the others is added.
    """
    given = late_leaders(key)
    found = given._replace(
        tokens=distinct(np.append(given.tokens, -np.sum(given.tokens, axis=0)[None], axis=0))
    ).with_zero
    moved = [bool(np.any(x[-1])) for x in run(found.map, found.tokens)]
    return _centred(jax.random.fold_in(key, 0)) if moved[1] or not any(moved) else found


def _remains_trial(given: ClusteringCase, twice: int) -> Trial:
    """Measure at each layer whether the last token is still zero and whether the mean of all tokens is zero."""
    n = len(given.tokens)
    states = run(given.map, np.concatenate([given.tokens, *[given.tokens[:1]] * twice]))
    stays = [not np.any(x[n - 1]) for x in states]
    centred = [not np.any(np.sum(x[:n], axis=0)) for x in states]
    return Trial(
        hypotheses=(
            *given.measured("symmetric", "definite", "positive_step"),
            holds("the last token is zero", stays[0]),
        ),
        conclusions=tuple(
            holds(
                f"it is zero at layer {k} if and only if the mean is zero at all earlier layers",
                stays[k] == all(centred[:k]),
            )
            for k in range(1, len(states))
        ),
        witness=given.witness(),
        parameters=given.parameters(),
    )


@certified(
    "hardmax/remark-1.3/remains",
    # A token that is repeated in the map but counted once in the mean.
    control=lambda key: _remains_trial(_centrally_symmetric(case(key)), 1),
    variant="reading",
    num_trials=12,
    note="that highly symmetric situations are non-generic is only a belief in the paper; a zero mean is d equations "
    "for every layer",
)
def zero_tokens_stay_by_symmetry(key: Key) -> Trial:
    """Read: an initially zero token remains zero exactly as long as the mean of all tokens is zero.

    Half of the cases are symmetric about the origin.
    """
    given = _centrally_symmetric(case(key)) if int(jax.random.randint(key, (), 0, 2)) else case(key).with_zero
    return _remains_trial(given, 0)
