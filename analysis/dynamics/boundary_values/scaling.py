"""Choose units for solutions of boundary value problems, from their sizes and from the scales of the flow."""

import numpy as np
from jaxtyping import Float

from analysis.dynamics.collocation.intervals import CycleField
from analysis.dynamics.flow_maps.component_sizes import TYPICAL, Local, LocalRates, unit_entries
from analysis.dynamics.scaling.units import STATES, unit_of

# Share of the last unit below which a component vanishes up to errors, as in the last step of Newton's method.
LEAST = 1e-9
# Largest ratio of the sizes of a component in two solutions that are the same.
SAME = 2.0


def component_units(
    field: CycleField,
    interval: tuple[float, float],
    rows: Float[np.ndarray, "places n"],
    unknowns: int,
    known: Float[np.ndarray, " n"] | None = None,
    zero: Float[np.ndarray, " n"] | None = None,
    *,
    least: float = 0.0,
) -> Float[np.ndarray, " n"]:
    """Choose the units of states and unknown parameters near their largest values.

    A component that vanishes keeps its unit, if it has one. Otherwise its scale is the displacement that changes the
    eigenvalues of the Jacobian, and that of an unknown parameter changes a state by its size over the interval.

    Args:
        field: the field of states and unknown parameters, which are its last components.
        interval: both ends of the independent variable.
        rows: the states of a solution, or of a guess.
        unknowns: the number of unknown parameters.
        known: units of components that vanish.
        zero: which of them vanish up to errors.
        least: share of the scale of the flow below which components vanish up to errors.
    """
    sizes = np.nan_to_num(np.max(np.abs(rows), axis=0))
    if known is not None:
        return np.where(sizes > LEAST * known, unit_of(sizes, STATES, 1 / TYPICAL), known)
    gone = (sizes == 0) if zero is None else (sizes == 0) | zero
    if np.any(gone) or least > 0:
        n = rows.shape[1] - unknowns
        scales = _flow_scales(field, interval[0], np.where(gone, 0.0, sizes), n)
        gone = gone | (sizes <= least * scales)
        sizes = np.where(gone, scales, sizes)
        sizes[n:] = np.where(gone[n:], _parameter_scales(field, interval, sizes, n), sizes[n:])
    return unit_of(sizes, STATES, 1 / TYPICAL)


def different(rows: Float[np.ndarray, "places n"], others: Float[np.ndarray, "more n"]) -> np.ndarray:
    """Tell which components of two solutions differ in size."""
    sizes = np.max(np.abs(rows), axis=0), np.max(np.abs(others), axis=0)
    return ~((sizes[0] <= SAME * sizes[1]) & (sizes[1] <= SAME * sizes[0]))


def _flow_scales(field: CycleField, t: float, at: Float[np.ndarray, " n"], n: int) -> np.ndarray:
    """Compute the displacement of each state that changes the eigenvalues of the Jacobian; 0 for the other entries."""

    def local(x: np.ndarray) -> Local | None:
        f, J = field.at(np.asarray(t), np.append(x, at[n:]), np.zeros(()))
        J = J[:n, :n]
        return Local(f[:n], J, np.linalg.eigvals(J)) if np.all(np.isfinite(J)) else None

    found, here = np.zeros(len(at)), local(at[:n])
    if here is not None:
        groups = [np.array([k]) for k in range(n)]
        found[:n] = TYPICAL * unit_entries(local, at[:n], groups, here, LocalRates(here, []))
    return found


def _parameter_scales(
    field: CycleField, interval: tuple[float, float], sizes: Float[np.ndarray, " n"], n: int
) -> np.ndarray:
    """Compute the change of each unknown parameter that moves some state by its size over the interval."""
    length = interval[1] - interval[0]
    by = np.abs(field.at(np.asarray(interval[0]), sizes, np.zeros(()))[1][:n, n:-1])
    with np.errstate(divide="ignore", over="ignore"):
        return np.nan_to_num(np.min((sizes[:n] / length)[:, None] / by, axis=0), posinf=0.0)
