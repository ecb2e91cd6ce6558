"""The curve of equilibria in state and parameter together: Newton corrections, tangents, test functions."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array

from analysis.dynamics.equilibria import displaced
from analysis.dynamics.linearisation import NEAR_ZERO, SymmetryGenerator, eigenvalues, tangent_basis
from dynsim._types import State
from dynsim.arguments import check_flow
from dynsim.conversion import function
from dynsim.errors import argument_error
from dynsim.systems.base import AbstractFlow

CORRECTIONS = 12  # Newton steps of a correction
AT_REST = 1e-11  # of a corrected point, relative to the first speed of its prediction or to one


class CurvePoint(NamedTuple):
    """An equilibrium: state, parameter, the basis of its tangent space, J, the derivative by the parameter, tangent."""

    state: State
    parameter: float
    basis: np.ndarray
    J: np.ndarray
    slope: np.ndarray
    tangent: np.ndarray
    corrections: int = 0

    @property
    def flat(self) -> np.ndarray:
        """The state as a vector, with the parameter behind it."""
        return np.append(np.asarray(ravel_pytree(self.state)[0], float), self.parameter)


class EquilibriumCurve:
    """The equations of a branch: the field in tangent coordinates, and its derivatives."""

    def __init__(self, flow: AbstractFlow, where: Callable, symmetries: Sequence[SymmetryGenerator]):
        check_flow(flow)
        function("where", where, "the flow")
        try:
            value = np.asarray(where(flow), float)
        except (AttributeError, TypeError, ValueError):
            raise argument_error("where", "return a real number of the flow", "does not") from None
        if value.ndim:
            raise argument_error("where", "return one real number of the flow", f"returns shape {value.shape}")
        self.flow, self.value, self.symmetries = flow, float(value), tuple(symmetries)
        self._where = where

    def _evaluated(self, state: State, parameter: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the field and its derivatives by state and parameter, in ambient coordinates."""
        found = _derivatives(self._where, self.flow, state, jnp.asarray(parameter, float))
        return np.asarray(found[0]), np.asarray(found[1]), np.asarray(found[2])

    def measured(self, state: State, parameter: float) -> CurvePoint:
        """Return what a branch needs at an equilibrium; its tangent has the parameter increasing."""
        basis = tangent_basis(self.flow.space, state)
        return self._point(state, parameter, basis, *self._evaluated(state, parameter)[1:])

    def _point(self, state: State, parameter: float, basis: np.ndarray, J: np.ndarray, slope: np.ndarray) -> CurvePoint:
        """Return a point from a basis of its tangent space and the ambient derivatives."""
        J, slope = basis.T @ J @ basis, basis.T @ slope
        null = np.linalg.svd(np.vstack([np.column_stack([J, slope]), self._orbit(state, basis)]))[2][-1]
        return CurvePoint(state, parameter, basis, J, slope, null if null[-1] >= 0 else -null)

    def _orbit(self, state: State, basis: np.ndarray) -> np.ndarray:
        """Return the velocities of the symmetries as rows, to which the tangent is orthogonal."""
        rows = [basis.T @ np.asarray(ravel_pytree(move(state))[0], float) for move in self.symmetries]
        return np.array([np.append(row, 0.0) for row in rows]).reshape(len(rows), basis.shape[1] + 1)

    def at(self, state: State, parameter: float) -> CurvePoint | None:
        """Return the equilibrium to which Newton's method leads from a state, the parameter being fixed."""
        direction = np.zeros(tangent_basis(self.flow.space, state).shape[1] + 1)
        direction[-1] = 1.0
        return self.corrected(state, parameter, direction)

    def corrected(self, state: State, parameter: float, direction: np.ndarray) -> CurvePoint | None:
        """Return the point of the curve in the plane through a point across a direction; None if there is none near."""
        basis = tangent_basis(self.flow.space, state)
        first = None
        for count in range(CORRECTIONS):
            field, J, slope = self._evaluated(state, parameter)
            speed = float(np.max(np.abs(field), initial=0.0))
            if not np.isfinite(speed):
                return None
            first = max(speed, 1.0) if first is None else first
            matrix = np.vstack([np.column_stack([basis.T @ J @ basis, basis.T @ slope]), direction])
            change = np.linalg.lstsq(matrix, -np.append(basis.T @ field, 0.0), rcond=1e-11)[0]
            size = float(np.max(np.abs(change)))
            if speed <= AT_REST * first and size <= 1e-9 * (1 + abs(parameter)):
                return self._point(state, parameter, basis, J, slope)._replace(corrections=count)
            if size > 1e3 * (1 + abs(parameter)):
                return None
            state = displaced(self.flow, state, jnp.asarray(basis @ change[:-1]))
            parameter = parameter + float(change[-1])
            basis = _transported(basis, tangent_basis(self.flow.space, state))
        return None

    def stepped(self, point: CurvePoint, direction: np.ndarray, size: float) -> CurvePoint | None:
        """Return the point of the curve next to that at a distance in a direction; None if there is none near."""
        move = size * direction
        state = displaced(self.flow, point.state, jnp.asarray(point.basis @ move[:-1]))
        basis = tangent_basis(self.flow.space, state)
        across = np.append(basis.T @ (point.basis @ direction[:-1]), direction[-1])
        return self.corrected(state, point.parameter + float(move[-1]), across)

    def crossing(self, point: CurvePoint) -> tuple[np.ndarray, np.ndarray]:
        """Return the tangent of the branch at a branch point, and the direction across it in the null space."""
        matrix = np.vstack([np.column_stack([point.J, point.slope]), self._orbit(point.state, point.basis)])
        rows = np.linalg.svd(matrix)[2][-2:]
        along = rows.T @ (rows @ point.tangent)
        along = along / np.linalg.norm(along)
        across = rows[np.argmin(np.abs(rows @ along))]
        across = across - along * (along @ across)
        return along, across / np.linalg.norm(across)

    def test(self, point: CurvePoint) -> tuple[float, float, float]:
        """Return the functions that vanish at a fold, at a branch point without symmetries, and at a Hopf point."""
        sign, size = np.linalg.slogdet(np.vstack([np.column_stack([point.J, point.slope]), point.tangent]))
        pair = critical_pair(eigenvalues(point.J))
        return float(point.tangent[-1]), float(sign * np.exp(size / len(point.tangent))), pair.real


def critical_pair(values: Any) -> complex:
    """Return that complex eigenvalue whose real part is nearest to zero; 1 if all eigenvalues are real."""
    pairs = values[np.abs(values.imag) > NEAR_ZERO * (1 + np.abs(values))]
    return complex(pairs[np.argmin(np.abs(pairs.real))]) if len(pairs) else 1.0 + 0j


@eqx.filter_jit
def _derivatives(where: Any, flow: AbstractFlow, state: State, parameter: Array) -> tuple[Array, Array, Array]:
    flat, restored = ravel_pytree(state)
    f = lambda y, p: ravel_pytree(eqx.tree_at(where, flow, p).vector_field(jnp.zeros(()), restored(y)))[0]
    return f(flat, parameter), jax.jacfwd(f)(flat, parameter), jax.jacfwd(f, 1)(flat, parameter)


def _transported(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Return the basis of a new tangent space that is nearest to an old one."""
    left, _, right = np.linalg.svd(new.T @ old)
    return new @ left @ right


def direction_to(begin: CurvePoint, end: CurvePoint) -> np.ndarray:
    """Return the unit vector from one point to another, in the tangent coordinates of the first."""
    away = end.flat - begin.flat
    found = np.append(begin.basis.T @ away[:-1], away[-1])
    return found / max(float(np.linalg.norm(found)), np.finfo(float).tiny)


def turned(begin: CurvePoint, direction: np.ndarray, end: CurvePoint) -> tuple[CurvePoint, float]:
    """Return a point with its tangent in the sense of a direction at another point, and the cosine of their angle."""
    carried = np.append(end.basis.T @ (begin.basis @ direction[:-1]), direction[-1])
    cosine = float(carried @ end.tangent) / max(float(np.linalg.norm(carried)), np.finfo(float).tiny)
    return (end if cosine >= 0 else end._replace(tangent=-end.tangent)), abs(cosine)
