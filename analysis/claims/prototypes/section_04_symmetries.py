"""Claims of Proposition 3 where its hypothesis H* > 0 cannot hold: encoders that follow rigid motions."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from analysis.ledger.claim import claim
from analysis.ledger.evidence import ROUNDING, Measurement, Trial, agrees, at_least, at_most, equal, holds
from analysis.prototypes.hessian import hessian_blocks, rate_spectrum
from analysis.prototypes.symmetries import permuted, symmetry_modes
from dynsim._core.types import Key
from dynsim.keys import numpy_rng
from dynsim.systems.prototypes.encoders import Affine, AffineEncoder, FreeEmbeddings
from dynsim.systems.prototypes.flow import Coupled, CoupledFlow
from dynsim.systems.prototypes.losses import PrototypeLoss

N, D, M = 4, 3, 3  # data, their coordinates, of which two differ among data, and those of embeddings
TURNS = M * (M - 1) // 2


def _flow(key: Key, kind: str, heat: float, ridge: float) -> tuple[CoupledFlow, Coupled]:
    """Return a flow and its fixed point: all embeddings at a point c, two prototypes at c +- b e, lambda = 4 b^4.

    T is `heat` times the temperature below which the fixed point is unstable: a b^2 with a = 4 (full) or 2 (frozen).
    """
    rng = numpy_rng(key, "symmetric")
    mode, b = ("full", "frozen")[rng.integers(2)], rng.uniform(0.5, 1.5)
    x = rng.normal(size=(N, D)) * np.array([1.0, 1.0, 0.0])
    c, e = rng.normal(size=(2, M))
    away = b * e / np.linalg.norm(e)
    encoder = FreeEmbeddings(N, M) if kind == "free" else AffineEncoder(D, M)
    theta = jnp.tile(c, (N, 1)) if kind == "free" else Affine(jnp.zeros((M, D)), jnp.asarray(c))
    loss = PrototypeLoss(mode, barrier=4 * b**4, ridge=ridge, reduction="mean")
    factor = {"full": 4, "frozen": 2}[mode]
    rates = {"encoder_rate": float(10 ** rng.uniform(-1, 1)), "prototype_rate": 1.0}
    flow = CoupledFlow(x, encoder, heat * factor * b**2, loss=loss, **rates)
    return flow, Coupled(theta, jnp.asarray(np.stack([c + away, c - away])))


def _elsewhere(key: Key) -> tuple[Measurement, ...]:
    """Measure at random states, with and without a ridge, the number of motions and the derivatives along them."""
    found = []
    for kind, ridge in (("free", 0.0), ("affine", 0.0), ("affine", 0.2)):
        flow, at = _flow(key, kind, 1.5, ridge)
        flat, restored = ravel_pytree(at)
        x = restored(flat + jnp.asarray(numpy_rng(key, "elsewhere").normal(size=flat.shape)))
        modes, other = symmetry_modes(flow, x), permuted(x, np.array([1, 0]))
        slope = np.asarray(ravel_pytree(flow.gradient(0.0, x))[0]) @ modes.modes
        counts = (modes.translations, modes.rotations, modes.redundant)
        wanted = (0 if ridge else M, TURNS, 0 if kind == "free" else M)
        name = f"({kind}, with a ridge of {ridge:g})"
        H = hessian_blocks(flow, x).matrix
        bent = max(np.linalg.norm(H @ v) for v in modes.modes.T) / np.linalg.norm(H, 2)
        found += [
            holds(f"translations, rotations and idle directions {name} are {wanted}: {counts}", counts == wanted),
            holds(f"they are independent {name}", modes.rank == sum(wanted)),
            agrees(f"the derivatives of the potential along the modes {name}", slope, np.zeros(modes.rank)),
            agrees(f"their largest curvature {name}", modes.curvature, bent),
            at_least(f"the same, not zero away from the fixed point {name}", modes.curvature, 0.0, tolerance=1e-6),
            agrees(f"the loss in the other order {name}", flow.value(0.0, other), float(flow.value(0.0, x))),
        ]
    return tuple(found)


def _symmetric_trial(key: Key, heat: float, *, positive: bool = True) -> Trial:
    """Measure the modes at a fixed point, and the spectrum of J* beside them."""
    kind = ("free", "affine")[int(jax.random.randint(key, (), 0, 2))]
    flow, at = _flow(key, kind, heat, 0.0)
    found, H = symmetry_modes(flow, at), hessian_blocks(flow, at).matrix
    across = np.linalg.svd(found.modes)[0][:, found.rank :]
    curvature = np.linalg.eigvalsh(across.T @ H @ across)[0]
    values = rate_spectrum(flow, at)
    zero = int(np.sum(np.abs(values) <= 1e-9 * np.max(np.abs(values))))
    speed = max(float(jnp.max(jnp.abs(part))) for part in jax.tree.leaves(flow.velocity(0.0, at)))
    return Trial(
        hypotheses=(
            equal("speed at the fixed point", speed, 0.0, tolerance=ROUNDING),
            *((at_least("least eigenvalue of H* across", curvature, 0.0, tolerance=1e-9),) if positive else ()),
        ),
        conclusions=(
            at_least("number of symmetries", found.rank, M + 1, tolerance=0.0),
            holds(f"J* has as many eigenvalues zero as symmetries, {found.rank}: {zero}", zero == found.rank),
            at_most("their curvature, over the norm of H*", found.curvature, ROUNDING, tolerance=0.0),
            at_least("least eigenvalue of J*, over the largest", values[0] / values[-1], 0.0, tolerance=1e-9),
            *_elsewhere(key),
        ),
        witness={"state": at, "eigenvalues": values},
        parameters={"encoder": kind, "mode": flow.loss.gradient, "T over the critical one": heat},
    )


positive_hessian_across_symmetries_is_stable = claim(
    "prototypes/proposition-3-sufficient/across-symmetries",
    statement="With free embeddings or an affine encoder, rigid motions of embeddings and prototypes together leave "
    "the loss as it is, and H* has them in its kernel. If H* is positive across them, J* has no other eigenvalues "
    "zero or negative.",
    trial=lambda key: _symmetric_trial(key, float(numpy_rng(key, "heat").uniform(1.2, 2.0))),
    # H* is not positive across the symmetries: a temperature below the critical one of the pair.
    control=lambda key: _symmetric_trial(key, float(numpy_rng(key, "heat").uniform(0.5, 0.8)), positive=False),
    variant="special case",
    num_trials=6,
    note="for affine encoders and free embeddings, for which H* > 0 holds at no fixed point; stability is that of the "
    "orbit of the fixed point under translations, rotations and idle directions. Both modes, any ratio of rates",
)
