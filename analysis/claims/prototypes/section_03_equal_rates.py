"""Claims of Section 3.4 on equal learning rates, by the descent of Section 7.6 on small clusters."""

from typing import Any

import mpmath
import numpy as np

from analysis.experiments.prototypes.learning_rates import TrainingOptions, descent_map, first_state
from analysis.ledger.claim import claim
from analysis.ledger.evidence import ROUNDING, Trial, at_most, equal
from dynsim._core.types import Key
from dynsim.keys import numpy_rng
from dynsim.simulation.simulate import iterate
from dynsim.systems.prototypes.assignments import separation
from dynsim.systems.prototypes.descent import DescentMap, random_batches
from dynsim.systems.prototypes.flow import Coupled, CoupledFlow
from dynsim.systems.prototypes.losses import GradientMode

COLLAPSED = 0.1  # of S at the start: "near zero", generously
FEW = 50  # epochs: those of Section 7.6, generously for Section 3.4

CHECKED = 10  # epochs in 30 digits
MODES: tuple[GradientMode, ...] = ("full", "frozen")
K, AXES = 3, 3  # clusters, and the dimension of data and embeddings
CENTRES = 3.0  # the distance of the centres from the origin, in orthogonal directions


def _clusters(key: Key, deviation: float) -> np.ndarray:
    """Return points of variance `deviation` squared in each direction about centres, all rotated."""
    rotation = np.linalg.qr(np.asarray(numpy_rng(key, "rotation").standard_normal((AXES, AXES))))[0]
    steps = deviation * np.sqrt(AXES) * np.concatenate([np.eye(AXES), -np.eye(AXES)])
    return (CENTRES * np.eye(AXES)[:, None] + steps[None]).reshape(-1, AXES) @ rotation.T


def _descent(key: Key, x: np.ndarray, mode: GradientMode, rate: float) -> tuple[DescentMap, Coupled]:
    """Return the descent of Section 7.6 at equal rates, and its start at principal components and k-means."""
    training = TrainingOptions(mode, prototype_rate=rate, inputs=None, outputs=AXES, clusters=K)
    return descent_map(x, training, 1.0, FEW, key), first_state(x, training, key)


def _gradients(X: Any, W: Any, P: Any, T: Any, mode: GradientMode) -> tuple[Any, Any]:
    """Return the derivatives of the mean of (2) by both variables, in the digits that mpmath works with."""
    by_W, by_P = mpmath.zeros(AXES, AXES), mpmath.zeros(K, AXES)
    for n in range(X.rows):
        z = X[n, :] * W.T
        gaps = [z - P[j, :] for j in range(K)]
        d = [sum(g * g for g in gap) for gap in gaps]
        raw = [mpmath.exp(-(one - min(d)) / T) for one in d]
        q = [one / sum(raw) for one in raw]
        mean = sum(a * b for a, b in zip(q, d, strict=True))
        w = [a * (1 - (b - mean) / T) for a, b in zip(q, d, strict=True)] if mode == "full" else q
        for j in range(K):
            by_W += 2 * w[j] * gaps[j].T * X[n, :]
            for c in range(AXES):
                by_P[j, c] -= 2 * w[j] * gaps[j][c]
    return by_W / X.rows, by_P / X.rows


def _temperature(epochs: int) -> Any:
    """Return the temperature of Section 7.1 after some epochs."""
    return max(mpmath.mpf("0.3"), 2 * mpmath.exp(mpmath.mpf(-epochs) / 20))


def _in_30_digits(x: np.ndarray, start: Coupled, mode: GradientMode, rate: float, steps: int) -> np.ndarray:
    """Return the prototypes after steps of descent on the mean of (2) by both variables, in 30 digits."""
    with mpmath.workdps(30):
        X, W, P = (mpmath.matrix(np.asarray(a).tolist()) for a in (x, start.encoder, start.prototypes))
        for k in range(steps):
            by_W, by_P = _gradients(X, W, P, _temperature(k), mode)
            W, P = W - rate * by_W, P - rate * by_P
        return np.array(P.tolist(), float)


STEP, PARTS = 4, 3  # a step on a mini-batch, and the mini-batches of an epoch


def _clipped_gap(
    key: Key, x: np.ndarray, descent: DescentMap, start: Coupled, mode: GradientMode, rate: float
) -> float:
    """Return the error of the map that ships in a step on a mini-batch with both kinds of clipping.

    Each limit is below what it limits: first every entry, then the norm of all that is left.
    """
    rows = random_batches(key, len(x), len(x) // PARTS, epochs=2)
    epoch, part = divmod(STEP, PARTS)
    with mpmath.workdps(30):
        X, W, P = (mpmath.matrix(np.asarray(a).tolist()) for a in (x[rows[epoch, part]], *start))
        g = [np.array(a.tolist(), float) for a in _gradients(X, W, P, _temperature(epoch), mode)]
    entry = max(float(np.max(np.abs(a))) for a in g) / 2
    clipped = [np.clip(a, -entry, entry) for a in g]
    norm = 0.7 * float(np.sqrt(sum(np.sum(a**2) for a in clipped)))
    taken = DescentMap(descent.flow, batches=rows, clip_value=entry, clip_norm=norm).step(STEP, start)
    wanted = [np.asarray(a) - rate * 0.7 * b for a, b in zip(start, clipped, strict=True)]
    return max(float(np.max(np.abs(np.asarray(a) - b))) for a, b in zip(taken, wanted, strict=True))


def _equal_rates_trial(key: Key, deviation: float, rate: float) -> Trial:
    """Measure the separation after 50 epochs at equal rates, in both modes, and the map that ships in 30 digits.

    The map is measured on all points, and in one step on a mini-batch with clipping.
    """
    x = _clusters(key, deviation)
    left, gaps, clipped, ratios = {}, [], [], []
    for mode in MODES:
        descent, start = _descent(key, x, mode, rate)
        path = iterate(descent, start, FEW)
        S = np.asarray(path.along(lambda y: separation(y.prototypes)))
        left[mode] = S[-1] / S[0]
        ratios.append(abs(float(descent.flow.ratio) - 1) if isinstance(descent.flow, CoupledFlow) else np.inf)
        printed = _in_30_digits(x, start, mode, rate, CHECKED)
        gaps.append(np.max(np.abs(np.asarray(path.ys.prototypes)[CHECKED] - printed)))
        clipped.append(_clipped_gap(key, x, descent, start, mode, rate))
    return Trial(
        hypotheses=(at_most("ratio of the rates less one", max(ratios), 0.0, tolerance=0.0),),
        conclusions=(
            equal("S at the start, at the centroids", S[0], 2 * CENTRES**2, tolerance=ROUNDING),
            *(
                at_most(f"S after {FEW} epochs over S at the start ({mode})", value, COLLAPSED, tolerance=ROUNDING)
                for mode, value in left.items()
            ),
            at_most(f"prototypes after {CHECKED} epochs, against 30 digits", max(gaps), ROUNDING, tolerance=0.0),
            at_most("a clipped step on a mini-batch, against 30 digits", max(clipped), ROUNDING, tolerance=0.0),
        ),
        witness={"x": x, "deviation": deviation, "rate": rate, "S over S at the start": left},
        parameters={"n": len(x), "deviation": deviation, "rate": rate},
    )


@claim(
    "prototypes/claim-equal-rates-collapse",
    num_trials=4,
    note=f"read: S falls to a tenth within {FEW} epochs; both modes, annealing and start of Section 7.1, descent on "
    "all points; what makes S fall is the scatter within clusters, which a linear encoder shrinks away at any ratio "
    "of the rates; no control: the same measurement passes in `wide-clusters`",
)
def equal_rates_collapse(key: Key) -> Trial:
    """With equal learning rates prototypes collapse within a few epochs, regardless of other hyperparameters."""
    rng = numpy_rng(key, "options")
    return _equal_rates_trial(key, rng.uniform(0.05, 0.2), rng.uniform(0.05, 0.2))


def _wide(key: Key) -> tuple[float, float]:
    rng = numpy_rng(key, "options")
    return rng.uniform(1.0, 1.05), rng.uniform(0.21, 0.22)


@claim(
    "prototypes/claim-equal-rates-collapse/wide-clusters",
    variant="special case",
    num_trials=4,
    note="for a linear encoder, clusters a third as wide as their centres are far from the origin, and a rate near the "
    "largest stable one; both modes",
)
def equal_rates_collapse_wide_clusters(key: Key) -> Trial:
    """With equal and large learning rates the prototypes of wide clusters collapse within 50 epochs."""
    return _equal_rates_trial(key, *_wide(key))


@equal_rates_collapse_wide_clusters.with_control
def equal_rates_collapse_wide_clusters(key: Key) -> Trial:
    """Clusters half as wide."""
    deviation, rate = _wide(key)
    return _equal_rates_trial(key, deviation / 2, rate)
