"""What schedules P(t) and U(t) tell integrators and fields, held against NumPy."""

import jax.numpy as jnp
import numpy as np

from analysis.ledger.evidence import Measurement, agrees, holds
from dynsim._core.types import Key
from dynsim.keys import numpy_rng
from dynsim.systems.schedules import Constant, Modulated, PiecewiseConstant, Resampled, ScaledIdentity
from dynsim.systems.tokens.flow import TokenFlow


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
