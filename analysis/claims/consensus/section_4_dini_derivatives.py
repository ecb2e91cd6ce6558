"""Claims of Section 4 of CONSENSUS on Dini derivatives of maxima and uniform continuity."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from analysis.claims.consensus.section_4_hemisphere import query_key_bound, random_flow, start_in_hemisphere
from analysis.claims.rational_instances import rational_matrix, rational_unit
from analysis.ledger.claim import claim
from analysis.ledger.evidence import ROUNDING, SOLVER, Trial, at_least, at_most, holds
from analysis.tokens.energies import hemisphere_lyapunov_rate
from dynsim._types import Key, Time
from dynsim.integrators import AbstractIntegrator
from dynsim.papers import CONSENSUS
from dynsim.simulation import simulate
from dynsim.systems.schedules import AbstractSchedule
from dynsim.systems.tokens.flow import TokenFlow


def _quotients(f: Callable[[Fraction], Fraction], t: Fraction, towards: Fraction) -> list[Fraction]:
    """Return (f(t + tau) - f(t)) / tau for tau = `towards` + 2^(-20 k), k = 1, 2, 3."""
    taus = [towards + Fraction(1, 2 ** (20 * k)) for k in range(1, 4)]
    return [(f(t + tau) - f(t)) / tau for tau in taus]


def _definition_trial(key: Key, towards_t: bool) -> Trial:
    a, b, c = rational_matrix(key, 3)
    f = lambda s: a + b * s + (c * c + 1) * s * s
    t = Fraction(int(jax.random.randint(key, (), 1, 9)), 4)
    slope = b + 2 * (c * c + 1) * t  # the right derivative of a parabola
    last = _quotients(f, t, t if towards_t else Fraction(0))[-1]
    return Trial(
        hypotheses=(holds("f is differentiable at t, with t > 0", t > 0),),
        conclusions=(holds("the quotients tend to the right derivative", abs(last - slope) < Fraction(1, 2**40)),),
        witness={"f(s)": f"{a} + {b} s + {c * c + 1} s^2", "t": t, "right derivative": slope, "quotient": last},
    )


@claim(
    "consensus/definition-4.1",
    CONSENSUS.at("Definition 4.1"),
    evidence="certified",
    num_trials=8,
    note="depends on `tau -> t^+`, printed where `tau -> 0^+` is meant; no control: the corrected definition is "
    "measured by the same function",
)
def printed_dini_derivative(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The upper Dini derivative is limsup_{tau -> t^+} (f(t + tau) - f(t)) / tau.

    Where f is differentiable it is the right derivative.
    """
    return _definition_trial(key, towards_t=True)


@claim(
    "consensus/definition-4.1/corrected",
    CONSENSUS.at("Definition 4.1"),
    variant="corrected",
    evidence="certified",
    num_trials=8,
)
def dini_derivative(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The upper Dini derivative is limsup_{tau -> 0^+} (f(t + tau) - f(t)) / tau. Changed: the limit of tau."""
    return _definition_trial(key, towards_t=False)


@dini_derivative.with_control
def dini_derivative(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The limit tau -> t^+."""
    return _definition_trial(key, towards_t=True)


def _danskin_trial(key: Key, active_only: bool) -> Trial:
    """Measure, in exact difference quotients, the derivative of a maximum of parabolas, two of them active at t."""
    t = Fraction(1, 2)
    slopes, bends = rational_matrix(key, 4), rational_matrix(jax.random.fold_in(key, 1), 4)
    values = np.array([Fraction(3), Fraction(3), Fraction(1), Fraction(-2)], object)
    slopes = slopes + np.array([Fraction(0), Fraction(0), Fraction(0), Fraction(50)], object)
    f = lambda s: max(v + m * (s - t) + q * (s - t) ** 2 for v, m, q in zip(values, slopes, bends, strict=True))
    last = _quotients(f, t, Fraction(0))[-1]
    active = [m for v, m in zip(values, slopes, strict=True) if v == f(t) or not active_only]
    return Trial(
        hypotheses=(holds("two indices are active", sum(v == f(t) for v in values) == 2),),
        conclusions=(
            holds(
                "the quotients tend to the largest derivative of an active index",
                abs(last - max(active)) < Fraction(1, 2**40),
            ),
        ),
        witness={"slopes": slopes, "values": values, "quotient": last},
    )


@claim(
    "consensus/equation-12",
    CONSENSUS.at("Section 4", "(12)"),
    evidence="certified",
    num_trials=16,
    note="for a finite family, as the tokens are; for an infinite one it fails (`/infinite-family`)",
)
def danskin(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For finitely many C^1 functions f_i the upper Dini derivative of max_i f_i is the largest derivative of an active
    f_i.
    """
    return _danskin_trial(key, active_only=True)


@danskin.with_control
def danskin(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The largest derivative over all f_i, active or not."""
    return _danskin_trial(key, active_only=False)


@claim(
    "consensus/equation-12/infinite-family",
    CONSENSUS.at("Section 4", "(12)"),
    variant="reading",
    evidence="certified",
    num_trials=1,
    note="no control: the finite family is its positive case",
)
def danskin_for_infinite_families(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Read for any family whose maximum is attained: the Dini derivative is the largest derivative of an active f_i.

    Evaluated for f_0 = 0 and f_i(t) = 4 t - 1/i - i t^2, i >= 1, at t = 0.
    """
    f = lambda s: max([Fraction(0)] + [4 * s - Fraction(1, i) - i * s * s for i in (int(1 / s), int(1 / s) + 1)])
    quotients = [f(Fraction(1, 2**k)) * 2**k for k in range(1, 40)]
    return Trial(
        hypotheses=(holds("only f_0 is active at t = 0", all(-Fraction(1, i) < 0 for i in range(1, 100))),),
        conclusions=(holds("the quotients tend to the derivative of the active f_0, 0", quotients[-1] < 1),),
        witness={"quotient at 2^-39": quotients[-1]},
    )


def _tie_of_two_tokens(key: Key) -> tuple[np.ndarray, np.ndarray, list[Fraction]]:
    """Return rational tokens with v^T y_1 = v^T y_2 < v^T y_3, v, and l sqrt(d) times d/dt v^T y_i for P = 0."""
    v = np.array([Fraction(1), Fraction(0), Fraction(0)], object)
    low, high = Fraction(3, 5), Fraction(4, 5)
    turn = rational_unit(key, 2)
    first = np.array([low, high, Fraction(0)], object)
    second = np.array([low, *(high * turn)], object)
    third = np.array([Fraction(12, 13), Fraction(5, 13), Fraction(0)], object)
    x = np.stack([first, second, third])
    rates = [sum(((x[j] @ v) - (x[i] @ x[j]) * (x[i] @ v) for j in range(3)), Fraction(0)) for i in range(3)]
    return x, v, rates


def _barbalat_trial(key: Key, same_index: bool) -> Trial:
    x, v, rates = _tie_of_two_tokens(key)
    if same_index:
        x[1], rates[1] = x[0], rates[0]
    # V_i = 1 - v^T y_i has the derivative -rates[i]: the larger one is active after the tie, the smaller one before
    after, before = max(-rates[0], -rates[1]), min(-rates[0], -rates[1])
    return Trial(
        hypotheses=(
            holds("the tokens are on the sphere, in the hemisphere", all(y @ y == 1 and y @ v > 0 for y in x)),
            holds("the first two tokens are active", x[0] @ v == x[1] @ v < x[2] @ v),
            holds("the derivatives of v^T y at these two differ", same_index or rates[0] != rates[1]),
        ),
        conclusions=(holds("the Dini derivative is continuous at the tie", after == before),),
        witness={"tokens": x, "v": v, "rates times l sqrt(d)": (before, after)},
    )


@claim(
    "consensus/theorem-4.1-barbalat",
    CONSENSUS.at("Theorem 4.1, proof"),
    evidence="certified",
    num_trials=8,
    note="P = 0; the Dini derivative jumps when the active index changes; no control: the corrected "
    "claim is its positive case",
)
def dini_derivative_is_uniformly_continuous(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The upper Dini derivative of V of (13) along solutions of (11) is uniformly continuous on [0, oo[.

    The solution passes through a state in which two tokens attain the least v^T y with different derivatives.
    """
    return _barbalat_trial(key, same_index=False)


class Chirp(AbstractSchedule):
    """P(t) = sin(100 t^2) P': bounded, but not uniformly continuous."""

    base: Array

    def __call__(self, t: Time) -> Array:
        """Return P(t)."""
        return jnp.sin(100 * t * t) * self.base

    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape (heads, d, d)."""
        heads, d, _ = self.base.shape
        return heads, d, d

    def fastest_period(self) -> float:
        """Return the period of the oscillation at t = 4, in the paper's time unit."""
        return 2 * np.pi / 800


def _modulus_trial(key: Key, integrator: AbstractIntegrator, chirp: bool, quantity: str) -> Trial:
    """Compare the modulus of continuity on [0, 4] at 0.01 with that at 0.16, of which it is about 1/16 if f is smooth.

    Args:
        key: random key.
        integrator: of the flow.
        chirp: let P_h(t) oscillate at an increasing frequency.
        quantity: `f` for the functions f_i of Lemma 4.2, `dini` for the Dini derivative of V of (13).
    """
    a, b = jax.random.split(key)
    model = random_flow(a)
    P: Any = model.query_key
    flow = TokenFlow(Chirp(20.0 * P.base) if chirp else P, 1.0, space=model.space)
    v, x0 = start_in_hemisphere(b, model, 2)
    ts = np.linspace(0.0, 4.0, 401)
    path = simulate(flow, x0, ts, integrator=integrator)
    if quantity == "f":
        f = np.asarray(path.along_time(lambda t, x: flow.space.tangent(x, flow.velocity(t, x)) @ v))
    else:
        f = np.asarray(path.along_time(lambda t, x: hemisphere_lyapunov_rate(flow, t, x, v).rate[None]))
    modulus = lambda k: float(np.max(np.abs(f[k:] - f[:-k])))
    gaps = np.asarray(path.along(lambda x: (x[0] - x[1]) @ v))
    kept = at_least(
        "least difference of v^T y between the two tokens", np.min(gaps * np.sign(gaps[0])), 0.0, tolerance=SOLVER
    )
    steady = float(jnp.max(jnp.abs(jnp.diff(jax.vmap(model.query_key)(jnp.asarray(ts)), axis=0))))
    return Trial(
        hypotheses=(
            at_most("sup |P_h|", query_key_bound(model.query_key), 10.0, tolerance=ROUNDING),
            at_most("largest change of P within 0.01", steady, 0.1, tolerance=ROUNDING),
            *((kept,) if quantity == "dini" else ()),
        ),
        conclusions=(
            at_most("largest |f|", np.max(np.abs(f)), 10.0, tolerance=SOLVER),
            at_most(
                "modulus of continuity at 0.01, against a quarter of that at 0.16",
                modulus(1),
                0.25 * modulus(16),
                tolerance=SOLVER,
            ),
        ),
        witness={"v": np.asarray(v), "x0": np.asarray(x0)},
    )


@claim("consensus/lemma-4.2", CONSENSUS.at("Lemma 4.2"), num_trials=16)
def rates_are_uniformly_continuous(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For bounded and uniformly continuous P_h the functions f_i = v^T y_i-dot along solutions of (11) are bounded and
    uniformly continuous.

    Read: their modulus of continuity decreases with its argument. Near consensus the f_i are small even if P is not
    uniformly continuous, so that they are measured during the transient.
    """
    return _modulus_trial(key, integrator, chirp=False, quantity="f")


@rates_are_uniformly_continuous.with_control
def rates_are_uniformly_continuous(key: Key, integrator: AbstractIntegrator) -> Trial:
    """A P(t) that oscillates at an increasing frequency."""
    return _modulus_trial(key, integrator, chirp=True, quantity="f")


@claim(
    "consensus/theorem-4.1-barbalat/corrected", CONSENSUS.at("Theorem 4.1, proof"), variant="corrected", num_trials=16
)
def dini_derivative_with_one_active_index(key: Key, integrator: AbstractIntegrator) -> Trial:
    """While a single index is active the Dini derivative of V along solutions of (11) is uniformly continuous.

    Added: that hypothesis. Measured for two tokens.
    """
    return _modulus_trial(key, integrator, chirp=False, quantity="dini")


@dini_derivative_with_one_active_index.with_control
def dini_derivative_with_one_active_index(key: Key, integrator: AbstractIntegrator) -> Trial:
    """A P(t) that oscillates at an increasing frequency."""
    return _modulus_trial(key, integrator, chirp=True, quantity="dini")
