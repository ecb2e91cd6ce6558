"""Claims of Section 3.3 on separation and entropy along the coupled flow with a slow encoder."""

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.prototypes.instances.clouds import RATIO, in_some_mode, mode_of, slow_flow, two_clusters
from analysis.ledger.claim import claim
from analysis.ledger.evidence import ROUNDING, SOLVER, Measurement, Trial, agrees, at_least, at_most
from analysis.prototypes.bank import bank_along, bank_measures
from analysis.prototypes.collapse import collapse, critical_temperature
from dynsim._core.types import Key, Scalar, Time
from dynsim.integrators import AbstractIntegrator
from dynsim.keys import numpy_rng
from dynsim.simulation.simulate import simulate
from dynsim.simulation.trajectory import Trajectory
from dynsim.systems.prototypes.assignments import separation
from dynsim.systems.prototypes.flow import Coupled, CoupledFlow, PrototypeFlow
from dynsim.systems.prototypes.losses import PrototypeLoss
from dynsim.systems.prototypes.temperatures import Annealing, as_temperature

TIMES = [0.0, 1.0, 2.0, 4.0, 8.0]
Diagnostic = Callable[[CoupledFlow, Coupled], Scalar]


def _coupled(key: Key, gradient: str, heat: float, spread: float) -> tuple[CoupledFlow, Coupled]:
    """Return a flow with a slow encoder, and prototypes at `spread` times the means of two clusters about their mean.

    The temperature is `heat` times the critical one of the mode; for a spread of one the prototypes start
    where k-means puts them. The encoder is linear and starts at the identity.
    """
    data = two_clusters(key)
    flow = slow_flow(data.z, heat, gradient)
    mean = collapse(data.z, 2)
    return flow, Coupled(jnp.eye(2), jnp.asarray(mean + spread * (data.means - mean)))


def _separation(flow: CoupledFlow, x: Coupled, t: Time = 0.0) -> Scalar:
    return bank_measures(flow.embed(x), x.prototypes, flow.temperature(t)).separation


def _minus_entropy(flow: CoupledFlow, x: Coupled, t: Time = 0.0) -> Scalar:
    return -bank_measures(flow.embed(x), x.prototypes, flow.temperature(t)).entropy


@functools.partial(jax.jit, static_argnums=2)
def _along(flow: CoupledFlow, xs: Coupled, measure: Diagnostic) -> jax.Array:
    return jax.vmap(lambda x: measure(flow, x))(xs)


@jax.jit
def _stiffness(flow: PrototypeFlow, p: jax.Array) -> jax.Array:
    """Return the eigenvalues of the Hessian by the prototypes, ascending."""
    return jnp.linalg.eigvalsh(jax.jacfwd(lambda p: flow.gradient(0.0, p))(p).reshape(p.size, p.size))


def _growth_trial(
    key: Key,
    integrator: AbstractIntegrator,
    gradient: str,
    spread: float,
    measure: Diagnostic,
    name: str,
    *,
    of_banks: bool = False,
) -> Trial:
    """Measure that a diagnostic does not decrease along the coupled flow, and changes, from prototypes of a spread.

    With `of_banks` all measures of banks that ship are held against sums, too.
    """
    flow, x0 = _coupled(key, gradient, 7 / 8, spread)
    path = simulate(flow, x0, TIMES, integrator=integrator)
    values = np.asarray(_along(flow, path.ys, measure))
    final = path.final
    stiffness = _stiffness(flow.frozen_encoder(final.encoder), final.prototypes)
    return Trial(
        (
            at_most("eps", flow.ratio, 0.01, tolerance=ROUNDING),
            at_most("change of the encoder", jnp.max(jnp.abs(final.encoder - jnp.eye(2))), 0.05, tolerance=SOLVER),
            at_least("S(P) at the start", separation(x0.prototypes), 0.0, tolerance=SOLVER),
            at_least("least eigenvalue of H_PP at t = 8", stiffness[0], 0.0, tolerance=SOLVER),
        ),
        (
            at_least(f"least increase of {name} between samples", np.min(np.diff(values)), 0.0, tolerance=SOLVER),
            at_least(f"increase of {name} from t = 0 to 1", values[1] - values[0], 1e-3, tolerance=SOLVER),
            *(measures_of_banks(key, flow, path) if of_banks else ()),
        ),
        {"z": np.asarray(flow.data), "p0": np.asarray(x0.prototypes), name: values},
        parameters={"n": 6, "k": 2, "mode": flow.loss.gradient, "T": float(flow.temperature(0.0)), "eps": RATIO},
    )


class BankOfSums(NamedTuple):
    """The measures of a bank, each summed term by term: the fields of `Bank`."""

    entropy: float
    separation: float
    variance: float
    spread: float
    utilisation: float
    covariance: np.ndarray


def bank_of_sums(z: np.ndarray, p: np.ndarray, T: float, threshold: float) -> BankOfSums:
    """Return the measures of prototypes p and embeddings z at a temperature T, by their definitions."""
    n, k, m = len(z), len(p), z.shape[1]
    q = np.array([[math.exp(-((a - b) @ (a - b)) / T) for b in p] for a in z])
    q = q / q.sum(axis=1)[:, None]
    centroids, mean, centre = q @ p, sum(z) / n, sum(p) / k
    pairs = [(a - b) @ (a - b) for i, a in enumerate(p) for b in p[:i]]
    used = [j for j in range(k) if sum(q[:, j]) / n > threshold]
    return BankOfSums(
        -sum(v * math.log(v) for v in q.flat) / n,
        min(pairs),
        sum(q[i, j] * (p[j] - centroids[i]) @ (p[j] - centroids[i]) for i in range(n) for j in range(k)) / n,
        sum((b - centre) @ (b - centre) for b in p) / k,
        len(used) / k,
        np.array([[sum((a - mean)[i] * (a - mean)[j] for a in z) / n for j in range(m)] for i in range(m)]),
    )


def measures_of_banks(key: Key, flow: CoupledFlow, path: Trajectory) -> tuple[Measurement, ...]:
    """Measure every field of a bank: of a random one, on both sides of the threshold .01, and along a cooled path."""
    rng = numpy_rng(key, "bank")
    z, p, T = rng.normal(size=(5, 2)), rng.normal(size=(4, 2)), float(rng.uniform(0.5, 2))
    known = bank_of_sums(z, p, T, 0.2)
    found = bank_measures(jnp.asarray(z), jnp.asarray(p), jnp.asarray(T), 0.2)
    used = []
    for share in (0.0099, 0.0101):  # the assignment of embeddings at 0 to the farther of two prototypes
        apart = jnp.asarray([[0.0], [math.sqrt(math.log(1 / share - 1))]])
        used.append(bank_measures(jnp.zeros((3, 1)), apart, jnp.asarray(1.0)).utilisation)
    schedule = Annealing(3 * T, T, 5.0)
    cooled = eqx.tree_at(lambda f: f.temperature, flow, schedule)
    along = bank_along(eqx.tree_at(lambda y: y.system, path, cooled), 0.4)
    states = zip(TIMES, path.ys.encoder, path.ys.prototypes, strict=True)
    heat = lambda t: max(T, 3 * T * math.exp(-t / 5))
    data = np.asarray(flow.data)
    rows = [bank_of_sums(data @ np.asarray(W).T, np.asarray(P), heat(t), 0.4) for t, W, P in states]
    return (
        *(
            agrees(f"the {name} of a random bank", getattr(found, name), value)
            for name, value in known._asdict().items()
        ),
        agrees("the utilisation, with a mean assignment below .01, and above", used, [0.5, 1.0]),
        *(
            agrees(f"the {name} along a cooled path", getattr(along, name), np.stack([getattr(r, name) for r in rows]))
            for name in BankOfSums._fields
        ),
    )


ANNEALED = Annealing()  # of Section 7.1: T_0 = 2, T_min = .3, tau = 20
STAGES = [0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]


def _annealed_trial(
    key: Key, integrator: AbstractIntegrator, gradient: str, measure: Callable[..., Scalar], name: str, *, hot: bool
) -> Trial:
    """Measure that a diagnostic does not decrease along a flow with the annealing of Section 7.1, from two clusters.

    The embeddings have the critical temperature 9/10 of T_0 at the start, and prototypes start at the means of the
    clusters; unless `hot`, it is 9/8 of T_0 and they start near collapse.
    """
    data, share = two_clusters(key), 0.9 if hot else 1.125
    scale = np.sqrt(share * float(ANNEALED.start) / critical_temperature(data.z, PrototypeLoss(gradient)))
    flow = eqx.tree_at(lambda f: f.temperature, slow_flow(scale * data.z, 1.0, gradient), ANNEALED)
    mean = collapse(scale * data.z, 2)
    spread = 1.0 if hot else 0.2
    x0 = Coupled(jnp.eye(2), jnp.asarray(mean + spread * (scale * data.means - mean)))
    path = simulate(flow, x0, STAGES, integrator=integrator)
    values = np.asarray(path.along_time(lambda t, x: measure(flow, x, t)))
    last = eqx.tree_at(lambda f: f.temperature, flow, as_temperature(float(ANNEALED.limit())))
    stiffness = _stiffness(last.frozen_encoder(path.final.encoder), path.final.prototypes)
    change = jnp.max(jnp.abs(path.final.encoder - x0.encoder))
    return Trial(
        (
            at_most("eps", flow.ratio, 0.01, tolerance=ROUNDING),
            at_most("change of the encoder", change, 0.2, tolerance=SOLVER),
            at_least("S(P) at the start", separation(x0.prototypes), 0.0, tolerance=SOLVER),
            at_least("least eigenvalue of H_PP at the end", stiffness[0], 0.0, tolerance=SOLVER),
        ),
        (at_least(f"least increase of {name} between samples", np.min(np.diff(values)), 0.0, tolerance=SOLVER),),
        {"z": np.asarray(flow.data), "p0": np.asarray(x0.prototypes), name: values},
        parameters={"n": 6, "k": 2, "mode": gradient, "T_0 over the critical temperature": 1 / share, "eps": RATIO},
    )


WARM = (
    "in both modes: where the critical temperature is 9/10 of T_0 = 2, prototypes that start at the means of two "
    "clusters move towards each other until T has fallen, and only then apart"
)
COUNTERED = (
    "in both modes: at 7/8 of the critical temperature two prototypes that start at the means of two clusters, where "
    "k-means puts them, move towards each other; no control: the special case is the positive case"
)


@claim("prototypes/claim-separation-monotone", num_trials=4, note=COUNTERED)
def separation_grows(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For eps << 1 the separation S(P) grows monotonically along the coupled flow, from any start with S(P) > 0.

    Read: here eps is 1/1000, and prototypes at fixed encoder approach a nondegenerate minimum.
    """
    return in_some_mode(lambda mode: _growth_trial(key, integrator, mode, 1.0, _separation, "S(P)"))


@claim(
    "prototypes/claim-separation-monotone/near-collapse",
    # A start at the means of the clusters.
    control=lambda key, integrator: _growth_trial(key, integrator, mode_of(key), 1.0, _separation, "S(P)"),
    variant="special case",
    num_trials=4,
    note="times up to 8 in units of the prototypes, before the encoder has moved by five percent",
)
def separation_grows_from_near_collapse(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For eps << 1 S(P) grows monotonically in the time of the prototypes.

    Added: two prototypes, two clusters, T below the critical temperature, and a start near collapse, on the line
    between the clusters.
    """
    return _growth_trial(key, integrator, mode_of(key), 0.2, _separation, "S(P)", of_banks=True)


@claim(
    "prototypes/claim-separation-monotone/annealed",
    variant="reading",
    num_trials=2,
    note=f"read: along the annealing of Section 7.1, in the time eta_P t; {WARM}; no control: the special case "
    "`near-collapse` is the positive case. From near collapse below the critical temperature S(P) grows, too, and in "
    "the mode full then decreases as T falls",
)
def separation_grows_while_annealed(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Read: while the temperature is annealed. For eps << 1 S(P) grows monotonically from where k-means puts them."""
    return in_some_mode(lambda mode: _annealed_trial(key, integrator, mode, _separation, "S(P)", hot=True))


@claim("prototypes/claim-entropy-decreases", num_trials=4, note=COUNTERED)
def entropy_decreases(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For eps << 1 the entropy H(Q) decreases along the coupled flow, at a constant temperature.

    Read: here eps is 1/1000, and prototypes at fixed encoder approach a nondegenerate minimum.
    """
    return in_some_mode(lambda mode: _growth_trial(key, integrator, mode, 1.0, _minus_entropy, "-H(Q)"))


@claim(
    "prototypes/claim-entropy-decreases/near-collapse",
    # A start at the means of the clusters.
    control=lambda key, integrator: _growth_trial(key, integrator, mode_of(key), 1.0, _minus_entropy, "-H(Q)"),
    variant="special case",
    num_trials=4,
    note="times up to 8 in units of the prototypes, before the encoder has moved by five percent",
)
def entropy_decreases_from_near_collapse(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For eps << 1 H(Q) decreases in the time of the prototypes.

    Added: two prototypes, two clusters, T below the critical temperature, and a start near collapse, on the line
    between the clusters.
    """
    return _growth_trial(key, integrator, mode_of(key), 0.2, _minus_entropy, "-H(Q)", of_banks=True)


@claim(
    "prototypes/claim-entropy-decreases/annealed",
    variant="reading",
    num_trials=2,
    note=f"read: along the annealing of Section 7.1, in the time eta_P t; {WARM}; no control: the special case "
    "`annealed-near-collapse` is the positive case",
)
def entropy_decreases_while_annealed(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Read: while the temperature is annealed. For eps << 1 H(Q) decreases from where k-means puts the prototypes."""
    return in_some_mode(lambda mode: _annealed_trial(key, integrator, mode, _minus_entropy, "-H(Q)", hot=True))


@claim(
    "prototypes/claim-entropy-decreases/annealed-near-collapse",
    # T_0 above the critical temperature, and a start at the means of the clusters.
    control=lambda key, integrator: _annealed_trial(key, integrator, mode_of(key), _minus_entropy, "-H(Q)", hot=True),
    variant="special case",
    num_trials=4,
    note="the annealing of Section 7.1, whose first temperature is 8/9 of the critical one; both modes",
)
def entropy_decreases_while_annealed_from_near_collapse(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For eps << 1 H(Q) decreases while the temperature is annealed.

    Added: two prototypes, two clusters, T_0 below the critical temperature, and a start near collapse, on the line
    between the clusters.
    """
    return _annealed_trial(key, integrator, mode_of(key), _minus_entropy, "-H(Q)", hot=False)
