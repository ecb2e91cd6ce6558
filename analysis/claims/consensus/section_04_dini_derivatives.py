"""Claims of Section 4 on Dini derivatives of maxima, uniform continuity, and V of (13) in the proof of Theorem 4.1."""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.consensus.instances.hemispheres import IDENTITIES, D, at_height, in_hemisphere, random_flow
from analysis.claims.consensus.instances.modulated_heads import is_bounded, printed_heads
from analysis.claims.consensus.instances.printed_attention import everything, printed_field, printed_weights
from analysis.claims.rational_instances import rational_matrix, rational_unit
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, SOLVER, Measurement, Trial, agrees, at_least, at_most, equal, holds
from analysis.tokens.consensus import diameter
from analysis.tokens.energies import hemisphere_lyapunov, hemisphere_lyapunov_rate, upper_dini
from analysis.tokens.hemispheres import margin_along
from dynsim._core.types import Key
from dynsim.exact import Exact
from dynsim.integrators import AbstractIntegrator
from dynsim.simulation.simulate import simulate
from dynsim.simulation.trajectory import Trajectory
from dynsim.systems.tokens.flow import TokenFlow


class Tie(NamedTuple):
    """Tokens with v^T y_1 = v^T y_2 < v^T y_3, and l sqrt(d) d/dt v^T y_i along (11) for P = 0 and W = I."""

    tokens: Exact
    axis: Exact
    rates: list[Fraction]


def tie_of_two_tokens(key: Key) -> Tie:
    """Return tokens at the heights 3/5, 3/5 and 12/13; the second is turned away from the third by a random angle."""
    v = np.array([Fraction(1), Fraction(0), Fraction(0)], object)
    low, high = Fraction(3, 5), Fraction(4, 5)
    s = -Fraction(int(jax.random.randint(key, (), 1, 7)), 4)
    turn = np.array([2 * s, s * s - 1], object) / (s * s + 1)
    first = np.array([low, high, Fraction(0)], object)
    second = np.array([low, *(high * turn)], object)
    third = np.array([Fraction(12, 13), Fraction(5, 13), Fraction(0)], object)
    x = np.stack([first, second, third])
    rates = [sum(((x[j] @ v) - (x[i] @ x[j]) * (x[i] @ v) for j in range(3)), Fraction(0)) for i in range(3)]
    return Tie(x, v, rates)


def through_the_tie(tie: Tie, P: np.ndarray, ts: np.ndarray, integrator: AbstractIntegrator) -> Trajectory:
    """Return the solution of (11) for constant P that attains the tie at t = 1: followed backwards with U = -I."""
    x = jnp.asarray(tie.tokens.astype(float))
    start = simulate(TokenFlow(P, -1.0), x, [0.0, 1.0], integrator=integrator).final
    return simulate(TokenFlow(P), start, ts, integrator=integrator)


def _quotients(f: Callable[[Fraction], Fraction], t: Fraction, towards: Fraction) -> list[Fraction]:
    """Return (f(t + tau) - f(t)) / tau for tau = `towards` + 2^(-20 k), k = 1, 2, 3."""
    taus = [towards + Fraction(1, 2 ** (20 * k)) for k in range(1, 4)]
    return [(f(t + tau) - f(t)) / tau for tau in taus]


def _definition_trial(key: Key, towards_t: bool) -> Trial:
    a, b, c = rational_matrix(key, 3)
    f = lambda s: a + b * s + (c * c + 1) * s * s
    t = Fraction(int(jax.random.randint(key, (), 1, 9)), 4)
    slope = b + 2 * (c * c + 1) * t  # the right derivative of a parabola
    bent = lambda s: max(f(s), f(s) - (s - t))  # f and a function of smaller slope through the same point
    last, of_bent = (_quotients(g, t, t if towards_t else Fraction(0))[-1] for g in (f, bent))
    values, slopes = np.full(2, float(f(t))), np.array([float(slope), float(slope) - 1])
    return Trial(
        hypotheses=(holds("f is differentiable at t, with t > 0", t > 0),),
        conclusions=(
            holds("the quotients tend to the right derivative", abs(last - slope) < Fraction(1, 2**40)),
            agrees(
                "those of a maximum, to the Dini derivative that ships", upper_dini(values, slopes).rate, float(of_bent)
            ),
        ),
        witness={"coefficients of 1, s, s^2": [a, b, c * c + 1], "t": t, "right derivative": slope, "quotient": last},
    )


printed_dini_derivative = certified(
    "consensus/definition-4.1",
    statement="""The upper Dini derivative is limsup_{tau -> t^+} (f(t + tau) - f(t)) / tau.

    Where f is differentiable it is the right derivative.
    """,
    trial=partial(_definition_trial, towards_t=True),
    num_trials=8,
    note="depends on `tau -> t^+`, printed where `tau -> 0^+` is meant; no control: the corrected definition is "
    "measured by the same function",
)


dini_derivative = certified(
    "consensus/definition-4.1/corrected",
    statement="The upper Dini derivative is limsup_{tau -> 0^+} (f(t + tau) - f(t)) / tau. Changed: the limit of tau.",
    trial=partial(_definition_trial, towards_t=False),
    control=partial(_definition_trial, towards_t=True),  # The limit tau -> t^+.
    num_trials=8,
)


def _finite_family(key: Key, active_only: bool) -> tuple[Measurement, ...]:
    """Measure, in exact difference quotients, the derivative of a maximum of parabolas, two of them active at t."""
    t = Fraction(1, 2)
    slopes, bends = rational_matrix(key, 4), rational_matrix(jax.random.fold_in(key, 1), 4)
    values = np.array([Fraction(3), Fraction(3), Fraction(1), Fraction(-2)], object)
    slopes = slopes + np.array([Fraction(0), Fraction(0), Fraction(0), Fraction(50)], object)
    f = lambda s: max(v + m * (s - t) + q * (s - t) ** 2 for v, m, q in zip(values, slopes, bends, strict=True))
    last = _quotients(f, t, Fraction(0))[-1]
    shipped = upper_dini(values.astype(float), slopes.astype(float))
    sinking = upper_dini(values.astype(float), slopes.astype(float) - 60)
    active = [m for v, m in zip(values, slopes, strict=True) if v == f(t) or not active_only]
    return (
        holds(
            "the quotients tend to the largest derivative of an active index",
            abs(last - max(active)) < Fraction(1, 2**40),
        ),
        agrees("the Dini derivative as it ships", shipped.rate, float(max(slopes[:2]))),
        agrees("the same, where all functions decrease", sinking.rate, float(max(slopes[:2]) - 60)),
        holds("the active indices as they ship", np.asarray(shipped.active).tolist() == [True, True, False, False]),
    )


def _interval_family(key: Key, active_only: bool) -> tuple[Measurement, ...]:
    """Measure the same of f_i(t) = a - k (|i| - 1)^2 + m i t + q t^2, for i in [-2, 2], at t = 0.

    The active indices are -1 and 1; for t > 0 and m t < 2 k the maximum is at |i| = 1 + |m| t / (2 k), exactly.
    """
    a, m, q, k = rational_matrix(key, 4)
    m, k = m + 5, k * k + 2 + abs(m)  # m t < 2 k for the times tried
    member = lambda i, t: a - k * (abs(i) - 1) ** 2 + m * i * t + q * t * t
    indices = lambda t: [sign * i for sign in (-1, 1) for i in (Fraction(0), 1, 1 + abs(m) * t / (2 * k), Fraction(2))]
    f = lambda t: max(member(i, t) for i in indices(t))
    last = _quotients(f, Fraction(0), Fraction(0))[-1]
    tried = [Fraction(i, 4) for i in range(-8, 9)]
    active = [m * i for i in tried if member(i, Fraction(0)) == f(Fraction(0)) or not active_only]
    shipped = upper_dini(
        np.array([float(member(i, Fraction(0))) for i in tried]), np.array([float(m * i) for i in tried])
    )
    return (
        holds(
            "those of an interval of functions to that of an active one", abs(last - max(active)) < Fraction(1, 2**40)
        ),
        holds("the active ones are two", np.flatnonzero(np.asarray(shipped.active)).tolist() == [4, 12]),
        agrees("the Dini derivative of 17 of them as it ships", shipped.rate, float(abs(m))),
    )


def _danskin_trial(key: Key, active_only: bool) -> Trial:
    return Trial(
        hypotheses=(),
        conclusions=(*_finite_family(key, active_only), *_interval_family(jax.random.fold_in(key, 2), active_only)),
        witness={"slopes of four parabolas": rational_matrix(key, 4)},
        parameters={"functions": "4, and an interval", "active": 2},
    )


danskin = certified(
    "consensus/equation-12",
    statement="For a family of C^1 functions f_i the upper Dini derivative of max_i f_i is the largest derivative of "
    "an active f_i.",
    trial=partial(_danskin_trial, active_only=True),
    control=partial(_danskin_trial, active_only=False),  # The largest derivative over all f_i, active or not.
    num_trials=16,
    note="printed as what Danskin's theorem yields, and read with its hypotheses: I is compact, f_i(t) and its "
    "derivative are continuous in (i, t); the finite family of the tokens, for which the paper uses it, meets them. "
    "Without them it fails (`/infinite-family`). Tried on four parabolas, and on an interval of them",
)


@certified(
    "consensus/equation-12/infinite-family",
    variant="reading",
    num_trials=1,
    note="the family is printed without a word on I: read for any I for which the maximum exists at all times; no "
    "control: the compact family is its positive case",
)
def danskin_for_infinite_families(key: Key) -> Trial:
    """Read for any family whose maximum is attained: the Dini derivative is the largest derivative of an active f_i.

    Evaluated for f_0 = 0 and f_i(t) = 4 t - 1/i - i t^2, i >= 1, at t = 0.
    """
    f = lambda s: max([Fraction(0)] + [4 * s - Fraction(1, i) - i * s * s for i in (int(1 / s), int(1 / s) + 1)])
    quotients = [f(Fraction(1, 2**k)) * 2**k for k in range(1, 40)]
    values, rates = np.array([0.0] + [-1 / i for i in range(1, 100)]), np.array([0.0] + [4.0] * 99)
    shipped = upper_dini(values, rates)
    return Trial(
        hypotheses=(
            holds("only f_0 is active at t = 0", all(-Fraction(1, i) < 0 for i in range(1, 100))),
            holds("it alone is, as `upper_dini` ships", np.flatnonzero(np.asarray(shipped.active)).tolist() == [0]),
        ),
        conclusions=(
            holds("the quotients tend to the derivative of the active f_0, 0", quotients[-1] < 1),
            agrees("they tend to the Dini derivative that ships", shipped.rate, float(quotients[-1])),
        ),
        witness={"slope": 4, "k": [2, 10, 39], "quotient at 2^-39": quotients[-1]},
    )


def _barbalat_trial(key: Key) -> Trial:
    """Compare, exactly, the Dini derivative of V before and after a tie, and with the one that ships."""
    tie = tie_of_two_tokens(key)
    x, v, rates = tie.tokens, tie.axis, tie.rates
    # V_i = 1 - v^T y_i has the derivative -rates[i]: the larger one is active after the tie, the smaller one before
    after, before = max(-rates[0], -rates[1]), min(-rates[0], -rates[1])
    flow, tokens, axis = TokenFlow(np.zeros((1, 3, 3))), jnp.asarray(x.astype(float)), jnp.asarray(v.astype(float))
    unit = 1 / (3 * math.sqrt(3))
    found = hemisphere_lyapunov_rate(flow, 0.0, tokens, axis)
    slower = 0 if rates[0] < rates[1] else 1  # the active one after the tie
    alone = upper_dini(1 - tokens @ axis - 1e-3 * np.eye(3)[slower], -flow.vector_field(0.0, tokens) @ axis)
    return Trial(
        hypotheses=(
            holds("the tokens are on the sphere, in the hemisphere", all(y @ y == 1 and y @ v > 0 for y in x)),
            holds("the first two tokens are active", bool(x[0] @ v == x[1] @ v < x[2] @ v)),
            holds("the derivatives of v^T y at these two differ", rates[0] != rates[1]),
        ),
        conclusions=(
            holds("the Dini derivative is continuous at the tie", after == before),
            agrees("the Dini derivative at the tie", found.rate, float(after) * unit),
            holds("the active tokens at the tie", np.asarray(found.active).tolist() == [True, True, False]),
            agrees("the derivative of the other active token, alone", alone.rate, float(before) * unit),
        ),
        witness={"tokens": x, "v": v, "rates times l sqrt(d)": (before, after)},
        parameters={"n": 3, "d": 3, "heads": 1},
    )


dini_derivative_is_uniformly_continuous = certified(
    "consensus/theorem-4.1-barbalat",
    statement="""The upper Dini derivative of V of (13) along solutions of (11) is uniformly continuous on [0, oo[.

    The solution passes through a state in which two tokens attain the least v^T y with different derivatives.
    """,
    trial=_barbalat_trial,
    num_trials=8,
    note="P = 0; the Dini derivative jumps when the active index changes; no control: the corrected "
    "claim is its positive case",
)


STEP, LAG = 0.01, 4
"""The distance of saved times in (0, 3), and the time s of the estimate in such steps."""


def _one_sided_trial(key: Key, integrator: AbstractIntegrator, *, forwards: bool) -> Trial:
    """Measure V(t - s) - V(t) against s (-D(t) - w(s)), D the Dini derivative and w the modulus of the rates.

    At t a token i attains the maximum V with the rate D(t) at most. Before that time V is at least V_i, whose rate
    differs by at most w(s): V(t - s) >= V_i(t - s) >= V(t) - s (D(t) + w(s)). Later V may belong to another token.
    """
    tie = tie_of_two_tokens(key)
    P = 0.2 * np.asarray(jax.random.normal(jax.random.fold_in(key, 1), (1, 3, 3)))
    ts = np.append(np.arange(301) * STEP, [20.0, 40.0])
    path = through_the_tie(tie, P, ts, integrator)
    v = jnp.asarray(tie.axis.astype(float))
    flow = TokenFlow(P)
    V = np.asarray(path.along(lambda x: hemisphere_lyapunov(x, v)))
    dini, active = path.along(lambda x: tuple(hemisphere_lyapunov_rate(flow, 0.0, x, v)))
    dini = np.asarray(dini)
    rates = -np.stack([printed_field(x, P, np.eye(3)[None], np.eye(3), everything) for x in path.ys]) @ np.asarray(v)
    near = rates[:301]
    modulus = max(float(np.max(np.abs(near[k:] - near[:-k]))) for k in range(1, LAG + 1))
    s = LAG * STEP
    drop, at = (V[: 301 - LAG] - V[LAG:301], dini[: 301 - LAG] if forwards else dini[LAG:301])
    heights = np.asarray(path.ys) @ np.asarray(v)
    gap = abs(float(heights[100, 0] - heights[100, 1]))
    first = np.argmin(heights[:301], axis=1)
    printed = rates[np.arange(len(ts)), np.argmin(heights, axis=1)]
    clear = np.sort(heights, axis=1)[:, 1] - heights.min(axis=1) > 1e-6
    return Trial(
        hypotheses=(
            at_most("difference of v^T y_1 and v^T y_2 at t=1", gap, 2e-6, tolerance=SOLVER),
            holds("the active token changes", len(set(first[90:111].tolist())) == 2),
        ),
        conclusions=(
            at_least(
                f"least V({'t' if forwards else 't - s'}) - V({'t + s' if forwards else 't'}) - s (-D(t) - w(s))",
                np.min(drop - s * (-at - modulus)),
                0.0,
                tolerance=1e-9,
            ),
            at_least("Dini derivative at t=40, which tends to 0", dini[-1], 0.0, tolerance=SOLVER),
            agrees("D(t) where one token is active, against its printed rate", dini[clear], printed[clear]),
        ),
        witness={"tie": tie.tokens, "v": tie.axis, "P": P},
        parameters={"n": 3, "d": 3, "heads": 1, "jump of the rate": float(np.ptp(rates[100, :2]))},
    )


dini_derivative_tends_to_zero = claim(
    "consensus/theorem-4.1-barbalat/corrected",
    statement="""
    The upper Dini derivative D of V along solutions of (11) tends to zero, since V(t - s) - V(t) >= s (-D(t) - w(s))
    for all t >= s, w being a common modulus of continuity of the f_i, and V is bounded from below.

    Changed: a one-sided estimate, which holds through changes of the active token, in place of uniform continuity; it
    gives what the proof takes from Barbalat's lemma. Evaluated on solutions in which the active token changes.
    """,
    trial=partial(_one_sided_trial, forwards=False),
    # The estimate on the other side, V(t) - V(t + s) >= s (-D(t) - w(s)).
    control=partial(_one_sided_trial, forwards=True),
    num_trials=8,
)


TIME = 0.7
KINDS = ("in general position", "two attain the maximum", "all attain it, at two points", "all but one at one point")


def _tokens(key: Key, W: np.ndarray, n: int, kind: int, *, below: bool) -> tuple[jax.Array, jax.Array]:
    """Return v and n tokens of a kind; those that attain the least v^T y do so exactly, up to rounding errors."""
    v, x = in_hemisphere(key, W, n)
    directions = jax.random.normal(jax.random.fold_in(key, 1), (2, D))
    low = float(0.5 * jnp.min(x @ v)) * (-1 if below else 1)
    pair = at_height(W, v, low, directions)
    if kind == 1:
        x = x.at[:2].set(pair)
    elif kind == 2:
        x = pair[jnp.arange(n) % 2]
    elif kind == 3:
        x = jnp.broadcast_to(x[:1], x.shape).at[n - 1].set(pair[0])
    return v, x


def _dini_trial(key: Key, *, below: bool = False) -> Trial:
    """Measure the Dini derivative of V at tokens in the hemisphere, or `below` its boundary.

    An active token i has the least v^T y_i > 0, so that its f_i is at least the sum of
    alpha_ij v^T y_i (1 - y_i^T W y_j), which is positive unless all tokens are equal.
    """
    a, b, c = jax.random.split(key, 3)
    flow, P, W = random_flow(a)
    n = 2 if bool(jax.random.bernoulli(c)) else 5
    kind = 2 if below else int(jax.random.randint(b, (), 0, len(KINDS)))
    v, x = _tokens(b, W, n, kind, below=below)
    found = hemisphere_lyapunov_rate(flow, TIME, x, v, tolerance=ROUNDING)
    y, axis, heads = np.asarray(x), np.asarray(v), printed_heads(P, TIME)
    heights = y @ axis
    active = heights <= heights.min() + ROUNDING
    rates = -printed_field(y, heads, IDENTITIES, W, everything) @ axis
    alpha = sum(printed_weights(y, p) for p in heads)
    bound = np.sum(alpha * heights[:, None] * (1 - y @ W @ y.T), axis=1)[active].min()
    inside = at_least("least v^T y_i", margin_along(x, v), 0.0, tolerance=ROUNDING)
    same = jnp.broadcast_to(x[:1], x.shape)
    return Trial(
        hypotheses=(
            is_bounded(P),
            at_least("diameter", diameter(x), 0.0, tolerance=SOLVER),
            *(() if below else (inside,)),
        ),
        conclusions=(
            at_most(
                "upper Dini derivative, against its bound off consensus", found.rate, -abs(bound), tolerance=ROUNDING
            ),
            agrees("the upper Dini derivative, against the printed rates", found.rate, rates[active].max()),
            holds("the active tokens are those of the least v^T y", bool(np.all(np.asarray(found.active) == active))),
            agrees("V of (13)", hemisphere_lyapunov(x, v), 1 - heights.min()),
            equal(
                "upper Dini derivative at consensus",
                hemisphere_lyapunov_rate(flow, TIME, same, v, tolerance=ROUNDING).rate,
                0.0,
                tolerance=ROUNDING,
            ),
        ),
        witness={"W": W, "v": axis, "x": y, "active": active.tolist(), "P'": np.asarray(P.base)},
        parameters={"n": n, "d": D, "tokens": KINDS[kind], "active tokens": int(active.sum())},
    )


dini_derivative_is_negative = claim(
    "consensus/theorem-4.1-dini-sign",
    statement="""On the hemisphere V of (13) has a Dini derivative <= 0 along (11), and 0 only at consensus.

    Read: off consensus it is at most minus the sum over h and j of alpha_ij v^T y_i (1 - y_i^T W y_j), for one of the
    active i. In most instances two or more tokens attain the maximum in (13).
    """,
    trial=_dini_trial,
    control=partial(_dini_trial, below=True),  # Tokens just outside of the hemisphere, v^T y < 0.
    num_trials=32,
)


def _values_at_consensus(key: Key) -> Trial:
    """Compare V at two rational points of the consensus set of the hemisphere of v, for W = I."""
    u, v = rational_unit(key, D), rational_unit(jax.random.fold_in(key, 1), D)
    far = u if u @ v > 0 else -u
    states = [np.stack([point, point]) for point in (v, far)]
    values = [max(1 - y @ v for y in x) for x in states]
    shipped = [hemisphere_lyapunov(jnp.asarray(x.astype(float)), jnp.asarray(v.astype(float))) for x in states]
    return Trial(
        hypotheses=(
            holds("v is a unit vector, and the points are in its hemisphere", bool(v @ v == 1 and far @ v > 0)),
            holds("the two points differ", bool(np.any(far != v))),
        ),
        conclusions=(
            holds("V is the same at both points of the consensus set", values[0] == values[1]),
            agrees("V of (13) at both", np.asarray(shipped), values),
        ),
        witness={"v": v, "u": far, "V at v": values[0], "V at u": values[1]},
        parameters={"n": 2, "d": D, "V at the other": float(Fraction(values[1]))},
    )


@certified(
    "consensus/theorem-4.1-lyapunov",
    num_trials=8,
    note="a strict Lyapunov function for a set is constant and minimal on the set; no control: the weaker reading is "
    "its positive case",
)
def potential_is_a_strict_lyapunov_function(key: Key) -> Trial:
    """V of (13) is a strict Lyapunov function for the consensus set of the hemisphere: equal to its minimum on the set,
    larger off it, and decreasing off it.
    """
    return _values_at_consensus(key)


potential_decreases_off_the_set = claim(
    "consensus/theorem-4.1-lyapunov/weak",
    statement="Read: V decreases strictly along every trajectory off the consensus set; "
    "it need not be constant on the set.",
    trial=_dini_trial,
    control=partial(_dini_trial, below=True),  # Tokens just outside of the hemisphere, v^T y < 0.
    variant="reading",
    same_trial_as="consensus/theorem-4.1-dini-sign",
)
