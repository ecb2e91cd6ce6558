"""Claims of Appendix A on exponential convergence: of the prototypes alone, of the full system, and at equal rates."""

from collections.abc import Callable
from fractions import Fraction
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from analysis.claims.prototypes.instances.hessians import hessian, pair_hessian
from analysis.claims.prototypes.instances.linearisations import gap_after
from analysis.claims.prototypes.instances.partly_trained import minimum, random_pair
from analysis.claims.prototypes.section_04_escape import plane_bank
from analysis.claims.prototypes.section_04_small_ratios import effective_hessian
from analysis.dynamics.equilibria.settling import settle
from analysis.dynamics.linearisation import tangent_jacobian
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, SOLVER, Trial, at_least, at_most, equal, holds
from analysis.prototypes.hessian import rate_spectrum
from dynsim._core.types import Key
from dynsim.exact import positive_definite
from dynsim.integrators import AbstractIntegrator
from dynsim.keys import numpy_rng
from dynsim.simulation.simulate import iterate
from dynsim.systems.prototypes.descent import DescentMap
from dynsim.systems.prototypes.flow import CoupledFlow, PrototypeFlow
from dynsim.systems.prototypes.losses import PrototypeLoss


@certified(
    "prototypes/appendix-a-ii",
    num_trials=4,
    note="at a critical temperature an equilibrium with distinct prototypes has a zero eigenvalue; convergence itself "
    "fails (fact-1). Both modes",
)
def fast_subsystem_converges_exponentially(key: Key) -> Trial:
    """For lambda > 2 eta_P C(K, 2) the fast subsystem converges exponentially to P*(theta) at a rate mu_P > 0.

    The instance: one embedding at 0, two prototypes at rest at +-b with lambda = 4 b^4. Along their common displacement
    the eigenvalue is 1 - 2 b^2 / T in the mode frozen and 1 - 4 b^2 / T in the mode full.
    """
    rng = numpy_rng(key, "instance")
    mode = ("frozen", "full")[rng.integers(2)]
    b, eta = Fraction(int(rng.integers(3, 9)), 4), Fraction(int(rng.integers(1, 5)), 16)
    factor = 2 if mode == "frozen" else 4
    T, lam = factor * b**2, 4 * b**4
    eigenvalue = 1 - factor * b**2 / T
    loss = PrototypeLoss(mode, barrier=float(lam))
    flow = PrototypeFlow(np.zeros((1, 1)), float(T), loss=loss, rate=float(eta))
    p = jnp.asarray([[float(b)], [-float(b)]])
    along = tangent_jacobian(flow, p) @ np.array([1.0, 1.0])
    return Trial(
        hypotheses=(
            holds("lambda > 2 eta_P C(2, 2)", lam > 2 * eta),
            equal("field at the equilibrium", jnp.max(jnp.abs(flow.velocity(0.0, p))), 0.0, tolerance=1e-10),
            equal("the eigenvalue of the flow that ships", -along[0] / float(eta), eigenvalue, tolerance=1e-10),
        ),
        conclusions=(holds("the eigenvalue is positive", eigenvalue > 0),),
        witness={"mode": mode, "b": b, "T": T, "lambda": lam, "eta_P": eta},
        parameters={"mode": mode},
    )


@jax.jit
def _bends(flow: PrototypeFlow, p: jax.Array) -> jax.Array:
    """Return H_PP, the Hessian of the potential by the prototypes, (k m, k m)."""
    return jax.hessian(lambda y: flow.potential(0.0, y.reshape(p.shape)))(jnp.ravel(p))


def _exponential_trial(flow: PrototypeFlow, start: jax.Array, integrator: AbstractIntegrator) -> Trial:
    """Measure the limit of the prototypes and the rate at which they approach it."""
    limit = settle(flow, start, max_time=4096.0, integrator=integrator)
    least = float(flow.rate) * float(np.linalg.eigvalsh(_bends(flow, limit.state))[0])
    found = gap_after(flow, limit.state, integrator)[1] if limit.settled else 0.0
    return Trial(
        hypotheses=(at_least("lambda", flow.loss.barrier, 0.0, tolerance=ROUNDING),),
        conclusions=(
            holds("the trajectory has a limit", limit.settled),
            at_least("decay rate over eta_P", found / float(flow.rate), 0.0, tolerance=SOLVER),
            equal("decay rate, over eta_P times the least eigenvalue of H_PP", found / least, 1.0, tolerance=2e-3),
        ),
        witness={"start": start, "limit": limit.state, "rates": (found, least)},
    )


@claim(
    "prototypes/appendix-a-ii/corrected",
    # No ridge, and a prototype far away.
    control=lambda key, integrator: _exponential_trial(*plane_bank(key, far=9.0, ridge=0.0), integrator),
    num_trials=3,
    note="added: a ridge, and that P* is nondegenerate, as it is at generic data; any lambda > 0 does. Mode full",
)
def fast_subsystem_with_a_ridge_converges_exponentially(key: Key, integrator: AbstractIntegrator) -> Trial:
    """With barrier and ridge the fast subsystem converges to a P*(theta), and if H_PP > 0 there, exponentially, at
    the rate mu_P = eta_P lambda_min(H_PP).
    """
    return _exponential_trial(*plane_bank(key, far=2.0, ridge=0.3), integrator)


@certified(
    "prototypes/appendix-a-rate",
    num_trials=4,
    note="in the time eta_P t of the appendix the slow direction decays at the rate eps l at most: no c > 0 serves all "
    "eps. Mode frozen",
)
def decay_rate_does_not_depend_on_the_ratio(key: Key) -> Trial:
    """There is c > 0 such that for all small eps the decay rate is at least c min(mu_P, mu_P / (L eps)).

    For each c there is an eps at which it is not: the rate in the time eta_P t is at most eps H_thetatheta, a diagonal
    entry of a symmetric matrix similar to J*.
    """
    pair = random_pair(key, separated=True)
    c = Fraction(1, 10 ** int(jax.random.randint(key, (), 0, 5)))
    mu, L, entry = min(Fraction(2), *(e.low for e in pair.fixed_eigenvalues)), pair.effective_curvature, 4 * pair.y**2
    epsilon = min(c * mu / entry, mu / L, 1 / L) / 2
    return Trial(
        hypotheses=(
            *pair_hessian(pair),
            holds("H* is positive definite", positive_definite(pair.trained_block) and mu > 0),
            holds("(iv) eps < mu_P / L", epsilon < mu / L),
            holds("the prototypes are distinct", pair.r > 0),
        ),
        conclusions=(
            holds(
                "eps H_thetatheta >= c min(mu_P, mu_P / (L eps))", entry * epsilon >= c * min(mu, mu / (L * epsilon))
            ),
        ),
        witness={"a": pair.a, "y": pair.y, "r": pair.r, "c": [c], "eps": epsilon},
        parameters={"c": float(c)},
    )


RATIOS = (1e-4, 1e-2, 1.0, 1e2, 1e4)


def _rate_trial(key: Key, slow: Callable[[float, float, float], float]) -> Trial:
    """Compare the decay rate, in the time eta_P t, with half of the least of mu' and `slow(eps, l, L)`, and limits."""
    at = minimum(key, mode="full")
    H, k = hessian(at), at.state.encoder.size
    fast = np.linalg.eigvalsh(H[k:, k:] - H[k:, :k] @ np.linalg.solve(H[:k, :k], H[:k, k:]))[0]
    low, *_, high = np.linalg.eigvalsh(effective_hessian(at))
    rates = []
    for e in RATIOS:
        rates.append(float(rate_spectrum(at.flow.with_ratio(e), at.state)[0]) / float(at.flow.prototype_rate))
    bounds = [0.5 * min(fast, slow(e, low, high)) for e in RATIOS]
    return Trial(
        hypotheses=(at_least("least eigenvalue of H*", np.linalg.eigvalsh(H)[0], 0.0, tolerance=SOLVER),),
        conclusions=(
            *(
                at_least(f"rate over its bound at eps = {e:g}", r / b, 1.0, tolerance=1e-6)
                for e, r, b in zip(RATIOS, rates, bounds, strict=True)
            ),
            equal("rate over eps l at the least eps", rates[0] / (RATIOS[0] * low), 1.0, tolerance=1e-2),
            equal("rate over mu' at the largest eps", rates[-1] / fast, 1.0, tolerance=1e-2),
            at_most(
                "largest rate, over lambda_min(H_PP)",
                max(rates) / np.linalg.eigvalsh(H[k:, k:])[0],
                1.0,
                tolerance=1e-6,
            ),
        ),
        witness={"state": at.state, "rates": rates, "l": low, "mu'": fast},
        parameters={"mode": at.flow.loss.gradient},
    )


decay_rate_is_that_of_the_slower_part = claim(
    "prototypes/appendix-a-rate/corrected",
    statement="""
    At a nondegenerate minimum the decay rate in the time eta_P t is at least min(mu', eps l) / 2 for every eps > 0.

    It is asymptotically eps l for small eps and mu' for large eps, and at most lambda_min(H_PP).
    """,
    trial=partial(_rate_trial, slow=lambda e, low, high: e * low),
    # The printed bound, with 1 / (L eps) in place of eps l.
    control=partial(_rate_trial, slow=lambda e, low, high: 1 / (high * e)),
    num_trials=4,
    note="changed: mu_P / (L eps) becomes eps l, l the least eigenvalue of the effective Hessian; c = 1/2, with the "
    "least eigenvalue mu' of H_PP - H_Ptheta H_thetatheta^-1 H_thetaP for mu_P. Any eps > 0; mode full",
)


@certified(
    "prototypes/appendix-a-iv",
    num_trials=2,
    note="the flow has real eigenvalues at every ratio, and a nondegenerate minimum is stable at every ratio: there is "
    "nothing for (iv) to prevent, nor is (iv) sufficient for what Theorem 1 says (theorem-1). Mode frozen",
)
def equal_rates_are_unstable(key: Key) -> Trial:
    """At eps = 1 resonance instabilities arise: an eigenvalue of J* is not positive, or not real, at a minimum.

    At eps = 1 J* is eta_P H*, which is symmetric; H* is positive definite by the signs of rational pivots.
    """
    pair = random_pair(key, separated=True)
    first = min(e.low for e in pair.fixed_eigenvalues)
    stable = positive_definite(pair.trained_block) and first > 0
    J = -tangent_jacobian(pair.flow(), pair.state)
    return Trial(
        hypotheses=(
            *pair_hessian(pair),
            equal("asymmetry of J* of the flow that ships", np.max(np.abs(J - J.T)), 0.0, tolerance=10 * ROUNDING),
            holds("the prototypes are distinct", pair.r > 0),
        ),
        conclusions=(holds("an eigenvalue is not positive", not stable),),
        witness={"a": pair.a, "y": pair.y, "r": pair.r, "least eigenvalue in the first coordinates": float(first)},
    )


STEPS = 12


def _descent_trial(key: Key, exchanged: bool) -> Trial:
    """Compare the growth of a perturbation in steps of descent with 1 - kappa, kappa the largest of diag(eta) H."""
    rng = numpy_rng(key, "descent")
    at = minimum(key, mode="full", ratio=float(10 ** rng.uniform(-1, 1)))
    J = -tangent_jacobian(at.flow, at.state)
    values, vectors = np.linalg.eig(J)
    top = int(np.argmax(np.real(values)))
    kappa = float(rng.choice([rng.uniform(1.7, 1.95), rng.uniform(2.05, 2.3)]))
    scale = kappa / float(np.real(values[top]))
    rates = float(at.flow.encoder_rate) * scale, float(at.flow.prototype_rate) * scale
    taken = rates[::-1] if exchanged else rates
    flow = CoupledFlow(
        at.flow.data,
        at.flow.encoder,
        at.flow.temperature,
        loss=at.flow.loss,
        encoder_rate=taken[0],
        prototype_rate=taken[1],
    )
    flat, restored = ravel_pytree(at.state)
    direction = np.real(vectors[:, top])
    final = iterate(DescentMap(flow), restored(flat + 1e-7 * jnp.asarray(direction)), STEPS).final
    moved = np.asarray(ravel_pytree(final)[0] - flat) @ direction / 1e-7
    growth = float(np.sign(moved) * np.abs(moved) ** (1 / STEPS)) if abs(moved) > 0 else 0.0
    return Trial(
        hypotheses=(at_least("least eigenvalue of H*", np.linalg.eigvalsh(hessian(at))[0], 0.0, tolerance=SOLVER),),
        conclusions=(
            equal("growth a step, over kappa - 1", abs(growth) / (kappa - 1), 1.0, tolerance=2e-3),
            holds("it grows if and only if kappa > 2", (abs(growth) > 1) == (kappa > 2)),
        ),
        witness={"state": at.state, "rates": rates, "kappa": kappa, "growth": growth},
        parameters={"eps": float(at.flow.ratio), "kappa": kappa},
    )


long_steps_are_unstable = claim(
    "prototypes/appendix-a-iv/corrected",
    statement="At a nondegenerate minimum gradient descent with learning rates eta_theta, eta_P is stable if the "
    "largest eigenvalue kappa of diag(eta) H is below 2 and unstable above, at any ratio; deviations along it are "
    "multiplied by 1 - kappa.",
    trial=partial(_descent_trial, exchanged=False),
    control=partial(_descent_trial, exchanged=True),  # The learning rates exchanged.
    num_trials=4,
    note="changed: the instability is that of descent with steps that are too long, a flip and no resonance; the ratio "
    "of rates does not decide it; added: a nondegenerate minimum. Mode full",
)
