"""Claims of Section 2.3: the layer (6), with or without a perceptron, as a first-order approximation of a flow."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from analysis.claims.consensus.instances.printed_attention import printed_field, printed_layer, retracted
from analysis.claims.consensus.instances.sizes import shape_of_tokens
from analysis.ledger.claim import claim
from analysis.ledger.evidence import ROUNDING, Measurement, Trial, agrees, at_most, holds
from dynsim._core.types import Key, Time, Tokens
from dynsim.integrators import AbstractIntegrator
from dynsim.keys import numpy_rng
from dynsim.simulation.simulate import simulate
from dynsim.spaces import Ellipsoid
from dynsim.systems.base import FunctionFlow
from dynsim.systems.euler import EulerMap
from dynsim.systems.schedules import Constant, Modulated, PiecewiseConstant, Resampled, ScaledIdentity
from dynsim.systems.tokens.flow import LayerMap, TokenFlow


def schedules_that_ship(key: Key) -> tuple[Measurement, ...]:
    """Measure what schedules tell integrators and fields: jumps, ends, periods, norms, forms and means."""
    rng, n, d, tau, t = numpy_rng(key, "schedules"), 4, 3, 0.25, 0.6
    x, P, U = rng.normal(size=(n, d)), rng.normal(size=(2, d, d)), rng.normal(size=(2, d, d))
    x0, spans = jnp.asarray(x), [tau, 2 * tau]
    layers = PiecewiseConstant([P, P.transpose(0, 2, 1)], spans)
    once = PiecewiseConstant([P, P.transpose(0, 2, 1)], spans, periodic=False)
    jumping = TokenFlow(layers, PiecewiseConstant([U, 2 * U], 1.25 * tau))
    a, w, phi = rng.normal(size=(2, d)), rng.uniform(1, 3, (2, d)), rng.uniform(0, 6, (2, d))
    waves = [Modulated(P, a, w, phi, rectified=modulus) for modulus in (False, True)]
    now = (a * np.sin(w * t + phi))[:, :, None] * P
    both = [now, np.abs(a * np.sin(w * t + phi))[:, :, None] * P]
    weights, means = jnp.asarray(rng.uniform(size=(2, n, n))), jnp.asarray(rng.normal(size=(2, n, d)))
    c, shortest = rng.normal(size=2), np.pi / w.max()
    scaled = ScaledIdentity(c, d)
    drawn = [Resampled(key, (2, d, d), deviation, 0.5) for deviation in (0.1, 0.3)]
    mixed = sum(weights[h] @ x @ U[h].T for h in range(2))
    return (
        agrees("the jumps of P within two periods", layers.breakpoints(0.5 * tau, 6 * tau), [0.25, 0.75, 1.0]),
        agrees("its jumps and end without a period", [*once.breakpoints(0.0, 9.0), once.end()], [0.25, 0.75, 0.75]),
        agrees("the jumps of P and U", jumping.breakpoints(0.0, 1.0), [0.25, 0.3125, 0.625, 0.75, 0.9375]),
        agrees("the periods of D(t) and |D(t)|", [f.fastest_period() for f in waves], [2 * shortest, shortest]),
        agrees("half of the shortest, for steps", TokenFlow(waves[1], waves[0]).step_limit(), shortest / 2),
        agrees("P(t) of waves", np.stack([f(t) for f in waves]), np.stack(both)),
        agrees("its forms", np.stack([f.bilinear(t, x0, x) for f in waves]), np.stack([x @ p @ x.T for p in both])),
        agrees("its queries", np.stack([f.queries(t, x0) for f in waves]), np.stack([x @ p for p in both])),
        agrees("bounds of norms", waves[0].norm_bound(), np.linalg.norm(a[:, :, None] * P, 2, (1, 2)).max()),
        agrees("those of layers", PiecewiseConstant([P, 2 * P]).norm_bound(), 2 * np.linalg.norm(P, 2, (1, 2)).max()),
        agrees("the same for c I", scaled.norm_bound(), np.abs(c).max()),
        agrees("matrices drawn for a layer stay", drawn[0](0.9), drawn[0](0.6)),
        holds("those of the next are others", not np.any(np.isclose(drawn[0](0.9), drawn[0](1.1), rtol=1e-6))),
        agrees("they have the deviation given", 3 * drawn[0](0.9), drawn[1](0.9)),
        agrees("the ends of their layers", drawn[0].breakpoints(0.2, 1.7), [0.5, 1.0, 1.5]),
        agrees("means of heads", Constant(U).mix(t, weights, x0), mixed),
        agrees("U applied to means", Constant(U).applied(t, means), sum(means[h] @ U[h].T for h in range(2))),
        agrees("one U for all", Constant(U[:1]).applied(t, means), (means[0] + means[1]) @ U[0].T),
        agrees("c I applied to means", scaled.applied(t, means), c[0] * means[0] + c[1] * means[1]),
        agrees("means of heads for c I", scaled.mix(t, weights, x0), c[0] * weights[0] @ x + c[1] * weights[1] @ x),
    )


STEP_SIZES = np.array([2.0**-4, 2.0**-6, 2.0**-8])


def _errors(flow, layer, x0: jax.Array, integrator: AbstractIntegrator) -> np.ndarray:
    """Return the distance between one layer and the flow over the same time, for every step in `STEP_SIZES`."""
    path = simulate(flow, x0, np.array([0.0, *STEP_SIZES[::-1]]), integrator=integrator)
    ends = path.ys[1:][::-1]
    return np.array([float(jnp.max(jnp.abs(layer(tau) - end))) for tau, end in zip(STEP_SIZES, ends, strict=True)])


def _order_trial(flow, layer, x0: jax.Array, integrator: AbstractIntegrator, exact: tuple[Measurement, ...]) -> Trial:
    """Measure that the error over tau^2 stays bounded as tau decreases; it would grow fourfold per step if O(tau).

    `exact` are comparisons of what ships with the printed sums.
    """
    scaled = _errors(flow, layer, x0, integrator) / STEP_SIZES**2
    slack = 1e-8 / STEP_SIZES[-1] ** 2  # effect of the solver's error on the last quotient
    n, d = x0.shape
    return Trial(
        hypotheses=(
            at_most("largest tau", float(STEP_SIZES[0]), 0.1, tolerance=0.0),
            at_most("distance of the tokens from the ellipsoid", flow.space.defect(x0), ROUNDING, tolerance=0.0),
        ),
        conclusions=(
            at_most("error / tau^2 at the smallest tau", scaled[-1], 2 * max(scaled[:-1]), tolerance=slack),
            *exact,
        ),
        witness={"x0": np.asarray(x0), "error / tau^2": scaled},
        parameters={"n": n, "d": d, "heads": 2},
    )


def _definite(key: Key, d: int) -> np.ndarray:
    A = np.asarray(jax.random.normal(key, (d, d)))
    return A @ A.T / d + 0.3 * np.eye(d)


def _later_layers(key: Key, P: np.ndarray, U: np.ndarray, W: np.ndarray, x0: jax.Array) -> tuple[Measurement, ...]:
    """Compare layers of the maps that ship with (6).

    At time 3 tau for P(t) = D(t) P' with D(t) = sin(w t + phi), and for a network of two layers with P and P^T, the
    second of twice the duration.
    """
    w, phi = np.asarray(jax.random.uniform(key, (2, 2, x0.shape[1]), minval=1.0, maxval=3.0))
    flow = TokenFlow(Modulated(P, 1.0, w, phi), U, space=Ellipsoid(W))
    tau = float(STEP_SIZES[0])
    now = np.sin(3 * tau * w + phi)[:, :, None] * P
    euler = retracted(np.asarray(x0) + tau * printed_field(x0, now, U, W), W)
    two = PiecewiseConstant([P, P.transpose(0, 2, 1)], [tau, 2 * tau])
    layers = LayerMap(TokenFlow(two, U, space=Ellipsoid(W)), tau)
    return (
        agrees("layer 1 of two", layers.step(1, x0), printed_layer(x0, P.transpose(0, 2, 1), U, W, tau)),
        agrees("layer 2, still the second", layers.step(2, x0), printed_layer(x0, P.transpose(0, 2, 1), U, W, tau)),
        agrees("layer 3, the first again", layers.step(3, x0), printed_layer(x0, P, U, W, tau)),
        agrees("layer 3 as it ships", LayerMap(flow, tau).step(3, x0), printed_layer(x0, now, U, W, tau)),
        agrees("Euler step 3 as it ships", EulerMap(flow, tau).step(3, x0), euler),
    )


def _layer_trial(key: Key, integrator: AbstractIntegrator, factor: float) -> Trial:
    n, d = shape_of_tokens(key) if factor == 1 else (4, 3)
    a, b, c, e, f = jax.random.split(key, 5)
    P, U = np.asarray(jax.random.normal(a, (2, d, d))), np.asarray(jax.random.normal(b, (2, d, d)))
    W = _definite(e, d)
    flow = TokenFlow(P, U, space=Ellipsoid(W))
    x0 = flow.space.sample(c, (n, d))
    exact = (
        agrees("the field that ships, against (7)", flow.vector_field(0.0, x0), printed_field(x0, P, U, W)),
        *_later_layers(f, P, U, W, x0),
        *schedules_that_ship(f),
    )
    return _order_trial(flow, lambda tau: printed_layer(x0, P, U, W, factor * tau), x0, integrator, exact)


layer_is_first_order = claim(
    "consensus/equation-6-first-order",
    statement="With V = tau V', one layer (6) is within O(tau^2) of the flow of (7) over the time tau, for all tokens.",
    trial=partial(_layer_trial, factor=1.0),
    control=partial(_layer_trial, factor=0.9),  # A layer with 0.9 times the step.
    num_trials=16,
    note="two heads, general P, U and W, constant over a layer as in (6); the layer is summed as printed, and the maps "
    "that ship are held against it",
)


class _AttentionAndPerceptron(eqx.Module):
    """The sum of attention and perceptron, before the projection to the tangent space."""

    attention: TokenFlow
    inner: Array
    outer: Array
    share: Array

    def __call__(self, t: Time, x: Tokens) -> Tokens:
        return self.attention.velocity(t, x) + self.share * self.perceptron(x)

    def perceptron(self, x: Tokens) -> Tokens:
        return jnp.tanh(x @ self.inner) @ self.outer.T


def _feedforward_trial(key: Key, integrator: AbstractIntegrator, share: float) -> Trial:
    n, d = shape_of_tokens(key) if share == 1 else (4, 3)
    a, b, c, e, f = jax.random.split(key, 5)
    P, U = np.asarray(jax.random.normal(a, (2, d, d))), np.asarray(jax.random.normal(b, (2, d, d)))
    W = _definite(f, d)
    space = Ellipsoid(W)
    attention = TokenFlow(P, U, space=space)
    inner, outer = jax.random.normal(c, (2, d, 2 * d))
    both = _AttentionAndPerceptron(attention, inner, outer, jnp.asarray(share))
    A, B = np.asarray(inner), np.asarray(outer)
    perceptron = lambda y: np.tanh(y @ A) @ B.T

    def layer(tau: float) -> np.ndarray:
        y = printed_layer(x0, P, U, W, tau)
        return retracted(y + tau * perceptron(y), W)

    x0 = space.sample(e, (n, d))
    flow = FunctionFlow(both, space)
    y = np.asarray(x0)
    added = share * perceptron(y)
    radial = np.stack([(y[i] @ W @ added[i]) * y[i] for i in range(n)])
    exact = agrees(
        "the field that ships, against Y + W", flow.vector_field(0.0, x0), printed_field(y, P, U, W) + added - radial
    )
    return _order_trial(flow, layer, x0, integrator, (exact,))


feedforward_adds_a_field = claim(
    "consensus/claim-feedforward-sum",
    statement="""A layer of attention, normalisation, perceptron, normalisation is within O(tau^2) of the flow of Y + W.

    Y is (7), W the vector field of the perceptron; both sublayers have skip connections. Sampled: a tanh perceptron of
    hidden width 2 d, on a general ellipsoid.
    """,
    trial=partial(_feedforward_trial, share=1.0),
    control=partial(_feedforward_trial, share=0.5),  # The flow of Y + W / 2.
    num_trials=16,
    note="the output of the perceptron is scaled by tau like V; without this scaling layers do not converge to a flow",
)
