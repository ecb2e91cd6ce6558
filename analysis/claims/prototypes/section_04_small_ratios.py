"""Claims of Section 4 on small ratios of rates: Theorem 1, Remark 2, and the rescaled equations."""

from fractions import Fraction
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.prototypes.instances.clouds import random_cloud, slow_flow
from analysis.claims.prototypes.instances.lattices import LatticePoint, lattice_point
from analysis.claims.prototypes.instances.linearisations import gap_after, separation_reached
from analysis.claims.prototypes.instances.partly_trained import Minimum, SymmetricPair, minimum, random_pair
from analysis.claims.rational_instances import Exact
from analysis.dynamics.linearisation import tangent_jacobian
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, SOLVER, Measurement, Trial, agrees, at_least, at_most, equal, holds
from analysis.prototypes.hessian import hessian_blocks, rate_spectrum
from analysis.prototypes.slow_manifold import effective_loss_hessian
from dynsim._core.types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.keys import numpy_rng
from dynsim.simulation.simulate import simulate
from dynsim.systems.fast_slow.flow import FastSlow
from dynsim.systems.prototypes.assignments import separation
from dynsim.systems.prototypes.encoders import FreeEmbeddings
from dynsim.systems.prototypes.flow import Coupled, CoupledFlow
from dynsim.systems.prototypes.losses import GradientMode, PrototypeLoss


def spreading(at: LatticePoint) -> Fraction:
    r"""Return $\theta \cdot \partial_\theta L + P \cdot \partial_P L$, which is 2 L_q for outputs linear in theta."""
    return sum((np.sum(g * y) for g, y in zip(at.gradients, (at.theta, at.p), strict=True)), Fraction(0))


class _Instance(NamedTuple):
    """Measurements on two free embeddings and two prototypes in a mode: (ii) and (iii), and of any equilibrium."""

    hypotheses: tuple[Measurement, ...]
    conclusions: tuple[Measurement, ...]


def _two_embeddings(
    key: Key, pair: SymmetricPair, mode: GradientMode, temperature: float, fast: Fraction, curvature: Fraction
) -> _Instance:
    """Return the rate of the fast subsystem and L, as the flow that ships has them with both prototypes at the mean.

    And what an exponentially stable equilibrium needs: the linearisation at the mean has no eigenvalue zero, and the
    field at a state with distinct prototypes changes under a common translation.
    """
    flow = CoupledFlow(np.zeros((2, 1)), FreeEmbeddings(2, 1), temperature, loss=PrototypeLoss(mode))
    H = -tangent_jacobian(flow, Coupled(float(pair.a) * jnp.asarray([[1.0], [-1.0]]), jnp.zeros((2, 1))))
    effective = H[:2, :2] - H[:2, 2:] @ np.linalg.solve(H[2:, 2:], H[2:, :2])
    slowest, largest = np.linalg.eigvalsh(H[2:, 2:])[0], np.linalg.eigvalsh(effective)[-1]
    x = jnp.asarray(numpy_rng(key, "anywhere").normal(size=(2, 2, 1)))
    found, moved = (flow.velocity(0.0, Coupled(*(x + shift))) for shift in (0.0, 0.5))
    change = max(float(jnp.max(jnp.abs(a - b))) for a, b in zip(found, moved, strict=True))
    return _Instance(
        (
            equal(f"(ii) mu_P in the mode {mode}", slowest, fast, tolerance=10 * ROUNDING),
            equal(f"(iii) L in the mode {mode}", largest, curvature, tolerance=10 * ROUNDING),
        ),
        (
            at_least(f"least eigenvalue at the mean ({mode})", np.linalg.eigvalsh(H)[0], 1e-6, tolerance=ROUNDING),
            at_least(f"change of the field under a translation ({mode})", change, 1e-6, tolerance=ROUNDING),
        ),
    )


@certified(
    "prototypes/theorem-1",
    num_trials=4,
    note="both modes: with free embeddings, translations of embeddings and prototypes map equilibria to equilibria, so "
    "that none is asymptotically stable at any ratio; in the mode frozen none has distinct prototypes, for any encoder "
    "with a linear output layer, since theta . grad_theta + P . grad_P = 2 L_q > 0. The hypotheses do not say that the "
    "effective loss has a nondegenerate minimum",
)
def slow_encoder_gives_a_stable_equilibrium(key: Key) -> Trial:
    """If L_q is twice continuously differentiable, the fast subsystem converges exponentially to P*(theta) at a rate
    mu_P > 0, the effective loss has a Hessian of norm at most L, and eps < mu_P / L, then for small eps the coupled
    system has a locally exponentially stable equilibrium with distinct prototypes.

    The instance has two free embeddings +-a at a temperature above the critical one, 2 a^2 in the mode frozen and 4 a^2
    in the mode full, for which P*(theta) is their mean: measured are (ii)-(iv) there in both modes, and for the
    conclusion the equilibrium at the mean and every state with distinct prototypes that is tried, of this flow and of
    one with four embeddings.
    """
    pair, at = random_pair(key, separated=False), lattice_point(key, linear=False)
    fast = min(Fraction(2), pair.fixed_eigenvalues[0].low)  # mu_P over eta_P; the effective loss sum |z - mean z|^2
    curvature = Fraction(2)
    epsilon = fast / curvature / 10
    shift = Fraction(3)
    moved = at._replace(x=at.x + shift, p=at.p + shift)
    frozen = _two_embeddings(key, pair, "frozen", pair.temperature, fast, curvature)
    full = _two_embeddings(key, pair, "full", 2 * pair.temperature, fast, curvature)
    return Trial(
        hypotheses=(
            holds("(ii) the rate mu_P is positive", fast > 0),
            *frozen.hypotheses,
            *full.hypotheses,
            holds("(iv) eps < mu_P / L", epsilon < fast / curvature),
            shipped_field(at),
            holds("the prototypes are distinct", len({tuple(p) for p in at.p}) == len(at.p)),
        ),
        conclusions=(
            holds("the state may be an equilibrium: the spreading is zero", spreading(at) == 0),
            holds(
                "equilibria are isolated: the field changes under translation",
                any(np.any(g != h) for g, h in zip(at.gradients, moved.gradients, strict=True)),
            ),
            *frozen.conclusions,
            *full.conclusions,
        ),
        witness={
            "z": at.x,
            "p": at.p,
            "shift": shift,
            "spreading": spreading(at),
            "2 L_q": 2 * at.loss,
            "a": pair.a,
            "T": 1 / pair.inverse_temperature.low,
            "eps": epsilon,
        },
        parameters={"eps": float(epsilon)},
    )


RATIOS = (1e-3, 1e-1, 1.0, 10.0)


def _spectra(at: Minimum, ratios: tuple[float, ...]) -> np.ndarray:
    """Return the eigenvalues of J*, over the rate eta_P, in increasing order for each ratio."""
    found = [rate_spectrum(at.flow.with_ratio(e), at.state) for e in ratios]
    return np.array(found) / float(at.flow.prototype_rate)


def effective_hessian(at: Minimum) -> np.ndarray:
    """Return the Hessian of the loss minimised over the prototypes."""
    return effective_loss_hessian(at.flow, at.state.encoder, at.state.prototypes)


def _stability_trial(key: Key, integrator: AbstractIntegrator, at: Minimum, curvature: np.ndarray) -> Trial:
    """Measure the spectrum of J* at ratios over four decades, and the decay of a small perturbation."""
    values = _spectra(at, RATIOS)
    ratio = float(10 ** jax.random.uniform(key, (), minval=-1.0, maxval=1.0))
    flow = at.flow.with_ratio(ratio)
    rate, found = gap_after(flow, at.state, integrator)
    return Trial(
        hypotheses=(
            at_most("speed at the critical point", speed(at), 1e-11, tolerance=0.0),
            at_least("least separation S(P*)", separation(at.state.prototypes), 0.1, tolerance=ROUNDING),
            at_least("least effective curvature", np.linalg.eigvalsh(effective_hessian(at))[0], 0.0, tolerance=1e-7),
            at_least("least eigenvalue of the fast Hessian", _spectra(at, (1e-9,))[0, 2], 0.05, tolerance=ROUNDING),
        ),
        conclusions=(
            at_least("least eigenvalue of J* over min(1, eps)", _scaled_least(values), 1e-3, tolerance=1e-7),
            equal(
                "the same at eps = 1/1000, over the least eigenvalue of the effective Hessian",
                values[0, 0] / RATIOS[0] / np.linalg.eigvalsh(curvature)[0],
                1.0,
                tolerance=0.05,  # first order in eps: eps times the curvature over mu_P, both of order one
            ),
            equal("decay rate of a perturbation over the least eigenvalue", found / rate, 1.0, tolerance=1e-3),
        ),
        witness={"state": at.state, "spectra": values, "ratio": ratio},
        parameters={"eps": ratio, "mode": at.flow.loss.gradient},
    )


def _scaled_least(values: np.ndarray) -> float:
    return float(np.min(values[:, 0] / np.minimum(1.0, RATIOS)))


def speed(at: Minimum) -> float:
    """Return the largest entry of the field at the critical point, over the rate of the prototypes."""
    v = at.flow.velocity(0.0, at.state)
    return max(float(jnp.max(jnp.abs(part))) for part in v)


@claim(
    "prototypes/theorem-1/corrected",
    num_trials=6,
    note="added: the effective loss has a nondegenerate minimum with a positive definite fast Hessian and distinct "
    "prototypes, which (i)-(iv) do not give; condition (iv) and small eps are then not needed. Mode full; "
    "exact pairs in the mode frozen are in proposition-3-proof and appendix-a-iv",
)
def nondegenerate_minimum_is_stable(key: Key, integrator: AbstractIntegrator) -> Trial:
    """If the loss minimised over the prototypes has a nondegenerate local minimum at theta*, with H_PP > 0 and distinct
    prototypes P*(theta*), the coupled system is exponentially stable there, at every ratio eps > 0.

    As eps tends to 0 its rate, in the time eta_theta t, tends to the least eigenvalue of the effective Hessian.
    """
    at = minimum(key, mode="full")
    return _stability_trial(key, integrator, at, effective_hessian(at))


@nondegenerate_minimum_is_stable.with_control
def nondegenerate_minimum_is_stable(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The Hessian by theta at fixed prototypes in place of that of the minimised loss."""
    at = minimum(key, mode="full")
    return _stability_trial(key, integrator, at, hessian_blocks(at.flow, at.state).encoder)


@certified(
    "prototypes/remark-2",
    num_trials=4,
    note="in the mode frozen, for L_q alone and an encoder linear in its parameters, |theta|^2 / eta_theta + |P|^2 / "
    "eta_P decreases at the rate 4 L_q: every trajectory ends with all prototypes at one point, at these ratios as at "
    "any other; see `full` for the other mode",
)
def ratios_of_a_tenth_are_reliably_stable(key: Key) -> Trial:
    """A ratio eps in [.01, .1] reliably gives the stable regime.

    Read: then the system has an equilibrium with distinct prototypes. Along the field at every state with distinct
    prototypes the norm above would have to be constant for that state to be one.
    """
    ratio = Fraction(int(jax.random.randint(key, (), 1, 11)), 100)
    at = lattice_point(key, linear=True, ratio=ratio)
    v = exact_velocities(at)
    decay = sum(2 * np.sum(g * y) / e for g, y, e in zip(v, (at.theta, at.p), (at.encoder_rate, at.rate), strict=True))
    return Trial(
        hypotheses=(
            holds("eps is in [.01, .1]", Fraction(1, 100) <= at.ratio <= Fraction(1, 10)),
            holds("the prototypes are distinct", len({tuple(p) for p in at.p}) == len(at.p)),
            shipped_field(at),
            holds("the norm decreases at the rate 4 L_q", decay == -4 * at.loss),
        ),
        conclusions=(holds("the norm is constant at this state", decay == 0),),
        witness={"x": at.x, "W": at.W, "p": at.p, "eps": at.ratio, "rate": decay},
        parameters={"eps": float(at.ratio)},
    )


@claim(
    "prototypes/remark-2/full",
    variant="reading",
    num_trials=4,
    note="read: in the mode full, in which a loss of tight clusters has separate minima at low temperatures; above the "
    "critical temperature, 4 lambda_max(C) of the embeddings at the start, prototypes meet at these ratios too; "
    "no control: the claim `corrected`, in the same mode, is the positive case",
)
def ratios_of_a_tenth_are_reliably_stable_in_the_mode_full(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Read: also with the gradient through the assignments. A ratio eps in [.01, .1] keeps prototypes separated.

    Here with a linear encoder at three times the critical temperature, until eta_P t = 20.
    """
    ratio = float(jax.random.uniform(key, (), minval=0.01, maxval=0.1))
    flow = slow_flow(random_cloud(key), 3.0, "full").with_ratio(ratio)
    start = Coupled(jnp.eye(2), jnp.asarray(numpy_rng(key, "prototypes").normal(size=(2, 2))))
    path = simulate(flow, start, [0.0, 10.0, 20.0], integrator=integrator)
    gaps = np.asarray(path.along(lambda x: separation(x.prototypes)))
    return Trial(
        hypotheses=(
            at_least("eps", flow.ratio, 0.01, tolerance=0.0),
            at_most("eps", flow.ratio, 0.1, tolerance=0.0),
            at_least("separation at the start", gaps[0], 0.0, tolerance=SOLVER),
        ),
        conclusions=(
            at_least("separation at the end over that at the start", gaps[-1] / gaps[0], 1e-3, tolerance=SOLVER),
        ),
        witness={"z": np.asarray(flow.data), "p0": np.asarray(start.prototypes), "S": gaps},
        parameters={"eps": ratio, "mode": "full", "T": float(flow.temperature(0.0))},
    )


def _regime_trial(key: Key, integrator: AbstractIntegrator, at: Minimum, hypothesis: Measurement) -> Trial:
    """Follow the flow from a perturbed minimum, at a ratio in [.01, .1] and far above, to the separation of the end."""
    ratios = (float(jax.random.uniform(key, (), minval=0.01, maxval=0.1)), 3.0)
    ends = [separation_reached(at.flow.with_ratio(e), at.state, integrator) for e in ratios]
    target = float(separation(at.state.prototypes))
    return Trial(
        hypotheses=(hypothesis,),
        conclusions=tuple(
            equal(f"separation at the end, over that of the minimum, {name}", end / target, 1.0, tolerance=1e-4)
            for name, end in zip(("eps in [.01, .1]", "eps = 3"), ends, strict=True)
        ),
        witness={"state": at.state, "ratios": ratios, "separations": ends},
        parameters={"eps": ratios[0], "mode": at.flow.loss.gradient},
    )


@claim(
    "prototypes/remark-2/corrected",
    num_trials=4,
    note="added: the effective loss has a nondegenerate minimum with distinct prototypes, and the start is near it; "
    "ratios outside [.01, .1] then do as well. Mode full",
)
def ratios_of_a_tenth_are_stable_at_a_minimum(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Near a nondegenerate minimum with distinct prototypes, a ratio in [.01, .1] keeps them separated: S(P) tends to
    its value at the minimum.
    """
    at = minimum(key, mode="full")
    least = np.linalg.eigvalsh(effective_hessian(at))[0]
    return _regime_trial(key, integrator, at, at_least("effective curvature", least, 0.0, tolerance=1e-7))


@ratios_of_a_tenth_are_stable_at_a_minimum.with_control
def ratios_of_a_tenth_are_stable_at_a_minimum(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The equilibrium with all prototypes nearly together, below the critical temperature: a saddle."""
    at = minimum(key, mode="full")
    middle = at.state.prototypes * 1e-2
    return _regime_trial(
        key,
        integrator,
        Minimum(at.flow, at.state._replace(prototypes=middle)),
        holds("the prototypes are distinct", float(separation(middle)) > 0),
    )


class Velocities(NamedTuple):
    """The velocities of the encoder's parameters and of the prototypes, exactly."""

    encoder: Exact
    prototypes: Exact


def exact_velocities(at: LatticePoint) -> Velocities:
    """Return the right-hand sides of (11) and (12) in the mode `frozen`."""
    by_encoder, by_prototypes = at.gradients
    return Velocities(-at.encoder_rate * by_encoder, -at.rate * by_prototypes)


def shipped_field(at: LatticePoint) -> Measurement:
    """Measure that the field that ships is that of (11) and (12)."""
    v, exact = at.flow().velocity(0.0, jax.tree.map(jnp.asarray, at.state())), exact_velocities(at)
    found = np.concatenate([np.asarray(v.encoder), np.asarray(v.prototypes)])
    return agrees("the field that ships", found, np.concatenate(exact))


def moving(at: LatticePoint) -> Measurement:
    """Measure that neither variable is at rest."""
    return holds("both derivatives are nonzero", all(np.any(g != 0) for g in at.gradients))


@certified(
    "prototypes/claim-rescaling",
    num_trials=4,
    note="in tau = t / eps both derivatives are eps times those in t, so that eps dtheta/dtau = -eps^2 eta_theta "
    "grad_theta; no rescaling of time makes the encoder the fast variable; mode frozen",
)
def rescaled_time_is_the_standard_form(key: Key) -> Trial:
    """With tau = t / eps, eps = eta_theta / eta_P, equations (11) and (12) become eps dtheta/dtau = -grad_theta L_q /
    eta_P and dP/dtau = -grad_P L_q.
    """
    at = lattice_point(key, linear=True)
    v, (by_encoder, by_prototypes) = exact_velocities(at), at.gradients
    return Trial(
        hypotheses=(shipped_field(at), moving(at), holds("the ratio is below 1", at.ratio < 1)),
        conclusions=(
            holds("eps dtheta/dtau", bool(np.all(at.ratio**2 * v.encoder == -by_encoder / at.rate))),
            holds("dP/dtau", bool(np.all(at.ratio * v.prototypes == -by_prototypes))),
        ),
        witness={"x": at.x, "W": at.W, "p": at.p, "eta_theta": at.encoder_rate, "eta_P": at.rate},
        parameters={"eps": float(at.ratio)},
    )


def _rescaled_trial(key: Key, exponent: int) -> Trial:
    """Compare the flow and its fast-slow form, in the time eta_theta t, with the gradients."""
    at = lattice_point(key, linear=True)
    flow, state = at.flow(), Coupled(*map(jnp.asarray, at.state()))
    scale, epsilon = float(at.encoder_rate) ** exponent, float(at.ratio)
    form = flow.fast_slow(state.encoder)
    start = FastSlow(state.prototypes, jnp.ravel(state.encoder))
    v, w = flow.velocity(0.0, state), form.velocity(0.0, start)
    by_encoder, by_prototypes = (g.astype(float) for g in at.gradients)
    return Trial(
        hypotheses=(moving(at), at_least("epsilon", epsilon, 0.0, tolerance=ROUNDING)),
        conclusions=(
            shipped_field(at),
            agrees("dtheta/ds", np.ravel(v.encoder) / scale, np.ravel(-by_encoder)),
            agrees("eps dP/ds", epsilon * np.asarray(v.prototypes) / scale, -by_prototypes),
            agrees("the field of the fast-slow form", w.slow, np.ravel(-by_encoder)),
            agrees("its fast part, times eps", epsilon * np.asarray(w.fast), -by_prototypes),
        ),
        witness={"x": at.x, "W": at.W, "p": at.p, "eta_theta": at.encoder_rate, "eta_P": at.rate},
        parameters={"eps": epsilon},
    )


@claim(
    "prototypes/claim-rescaling/corrected",
    num_trials=6,
    note="changed: the variable with eps, which is the prototypes, and the time s = eta_theta t",
)
def encoder_time_is_the_standard_form(key: Key) -> Trial:
    """With s = eta_theta t equations (11) and (12) become eps dP/ds = -grad_P L_q and dtheta/ds = -grad_theta L_q."""
    return _rescaled_trial(key, 1)


@encoder_time_is_the_standard_form.with_control
def encoder_time_is_the_standard_form(key: Key) -> Trial:
    """The time eta_theta^2 t."""
    at = lattice_point(key, linear=True)
    return _rescaled_trial(key if at.encoder_rate != 1 else jax.random.fold_in(key, 1), 2)
