"""Hessians of the flows on which claims are tried, held against the exact ones and against the flow's linearisation."""

import jax
import numpy as np

from analysis.claims.prototypes.instances.partly_trained import Minimum, SymmetricPair, minimum, pair_in_full_mode
from analysis.dynamics.linearisation import tangent_jacobian
from analysis.ledger.evidence import Measurement, agrees, equal
from analysis.prototypes.hessian import hessian_blocks, rate_jacobian, rate_spectrum
from dynsim._core.types import Key
from dynsim.systems.prototypes.flow import Coupled, CoupledFlow

SECOND = [0, 2, 4]
"""The entries of the flat state of a pair that are theta and the second coordinates of the prototypes."""
FIRST = [1, 3]

CLEAR = 0.05
"""The least eigenvalue of a Hessian that is clearly positive definite; most of the others are about 4."""


def hessian(at: Minimum) -> np.ndarray:
    """Return the Hessian of the potential at a state, in the mode of the flow."""
    return hessian_blocks(at.flow, at.state).matrix


def clear_minimum(key: Key) -> Minimum:
    """Return a minimum in the mode `full` whose Hessian is clearly positive definite: of a pair, or of six data.

    A prototype near each of three groups of data is a saddle, at times, though both diagonal blocks are positive; then
    others are drawn.
    """
    if bool(jax.random.bernoulli(jax.random.fold_in(key, 0))):
        return pair_in_full_mode(key, low=0.3, high=0.5)
    found = (minimum(jax.random.fold_in(key, k), mode="full") for k in range(1, 100))
    return next(at for at in found if np.linalg.eigvalsh(hessian(at))[0] >= CLEAR)


def spectrum_agrees(flow: CoupledFlow, x: Coupled) -> Measurement:
    """Measure that the eigenvalues of J* are those of minus the linearisation of the flow, and real."""
    values = np.linalg.eigvals(-tangent_jacobian(flow, x))
    size = 1 + float(np.max(np.abs(values)))
    gaps = np.abs(values[np.argsort(np.real(values))] - rate_spectrum(flow, x)) / size
    return equal("error of the eigenvalues of J*, which are real", np.max(gaps), 0.0, tolerance=1e-7)


def jacobian_agrees(flow: CoupledFlow, x: Coupled) -> Measurement:
    """Measure that J* is minus the linearisation of the flow, each row with the rate of its own variable."""
    J, shipped = -tangent_jacobian(flow, x), rate_jacobian(flow, x)
    gaps = np.abs(shipped - J) / (1e-12 + np.max(np.abs(J), axis=1))[:, None]
    return equal("error of J*, over the largest entry of a row", np.max(gaps), 0.0, tolerance=1e-8)


def pair_hessian(pair: SymmetricPair, mode: str = "frozen") -> tuple[Measurement, ...]:
    """Measure that the Hessian of the flow that ships is the exact one of a pair."""
    H = hessian(Minimum(pair.flow(mode=mode), pair.state))
    ends = [(e.low + e.high) / 2 for e in pair.fixed_eigenvalues]
    block = np.array([[ends[1] + ends[0], ends[1] - ends[0]], [ends[1] - ends[0], ends[1] + ends[0]]]) / 2
    return (
        agrees("the Hessian in theta and the second coordinates", H[np.ix_(SECOND, SECOND)], pair.trained_block),
        agrees("the Hessian in the first coordinates", H[np.ix_(FIRST, FIRST)], block),
        agrees("the Hessian between them", H[np.ix_(SECOND, FIRST)], np.zeros((3, 2))),
    )
