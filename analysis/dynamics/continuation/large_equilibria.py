"""Equations of equilibria with many unknowns and a sparse Jacobian, for continuation by sparse linear algebra."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array

from analysis.dynamics.continuation.curve import AbstractCurve, CurvePoint, Equations, Solution
from analysis.dynamics.continuation.equilibrium_curve import EquilibriumCurve
from analysis.dynamics.flow_maps.compiled import compiled
from analysis.dynamics.normal_forms.charts import Chart, FlatChart
from analysis.dynamics.scaling.units import Units
from analysis.dynamics.sparse.matrices import Extended, SparseMatrix
from analysis.dynamics.sparse.rightmost import rightmost, uncounted
from dynsim._core.types import State
from dynsim.programs import program_or_none
from dynsim.programs.sparsity import Pattern, entries_of, sparse_pattern
from dynsim.systems.base import AbstractFlow
from dynsim.systems.named import with_parameter
from dynsim.systems.parameter import Parameter
from dynsim.systems.rescaled import is_flat

# Number of unknowns from which sparse algebra was faster than dense algebra.
LARGE = 120
# Number of rightmost eigenvalues that are computed, and of those that grow from which more may grow.
COUNT, MOST = 24, 22
# Number of further ones that are computed for derivatives.
BESIDE = 4
# What a user should know of a large system without a pattern.
DENSE = "computed with dense matrices, {}"
# Largest number of scalar operations of a field; a record of this length takes about 10 s and 1 GB.
OPERATIONS = 2_000_000


def pattern_of(
    parameter: Parameter, state: State, has_symmetries: bool = False, *, second: Parameter | None = None
) -> tuple[Pattern | None, str]:
    """Find the pattern of the Jacobian of a flow for all values of one or two parameters, from its scalar program.

    None for small systems and maps, with symmetries, on curved spaces, and where the Jacobian is not sparse or has no
    scalar program. The text says why a large system has none that could be sparse.
    """
    size = sum(int(np.size(part)) for part in jax.tree.leaves(state))
    system = parameter.system
    if size < LARGE:
        return None, ""
    if not isinstance(system, AbstractFlow):
        return None, DENSE.format("as for all maps")
    if not is_flat(system.space):
        return None, DENSE.format("as on all curved spaces")
    if has_symmetries:
        return None, DENSE.format("as for all systems with continuous symmetries")
    restored = ravel_pytree(jax.tree.map(lambda part: jnp.zeros(np.shape(part)), state))[1]

    takes = [one.take for one in (parameter, second) if one is not None]

    def field(t: Array, x: Array, *values: Array) -> Array:
        moved = system
        for take, value in zip(takes, values, strict=True):
            moved = with_parameter(take, moved, value)
        return ravel_pytree(moved.vector_field(t, restored(x)))[0]

    program = program_or_none(field, (), (size,), *[()] * len(takes), drop_zeros=True, limit=OPERATIONS)
    if program is None:
        return None, DENSE.format("because the operations of the field cannot be listed")
    return sparse_pattern(program, size), ""


class SparseCurve(AbstractCurve):
    """Curve of solutions of equations with sparse derivatives: Newton steps, tangents and test functions."""

    def scaled(self, at: Equations, rows: np.ndarray | None = None) -> Equations:
        """Return equations as they are: factorisations do not need rows of similar sizes."""
        return at

    def _with_rows(self, at: Equations | CurvePoint, orbit: np.ndarray) -> Any:
        return Extended(at.J, at.slope)

    def correction(self, at: Equations, beside: Sequence[CurvePoint], share: float) -> np.ndarray:
        """Compute the shortest Newton step, without a part along directions stretched by less than a share."""
        J: Any = at.J
        return Extended(J, at.slope).shortest(-at.values, share)

    def least_singular(self, point: CurvePoint) -> float:
        """Evaluate the test function of branch points: the signed least singular value, at most 1."""
        J: Any = point.J
        return float(np.clip(Extended(J, point.slope).with_row(point.tangent).signed_least, -1.0, 1.0))


class LargeEquilibriumCurve(SparseCurve, EquilibriumCurve):
    """Vector field of a flow on a flat space with many unknowns, with its sparse derivatives.

    Only the rightmost eigenvalues are computed. Their number is checked between bifurcations.
    """

    def __init__(self, parameter: Parameter, units: Units, pattern: Pattern):
        """Store the pattern of the Jacobian."""
        from scipy.sparse import eye_array

        super().__init__(parameter, (), units)
        self.pattern, self._identity = pattern, eye_array(pattern.size)

    def basis(self, state: State) -> Any:
        """The sparse identity."""
        return self._identity

    def equations(self, state: State, parameter: float, basis: Any) -> Equations:
        """Evaluate the vector field and its derivatives."""
        found = sparse_equations(self.pattern, self.parameter, state, parameter)
        return found._replace(typical=self.typical(state, parameter))

    def _chart(self, flow: AbstractFlow, point: CurvePoint) -> Chart:
        return FlatChart(flow, point.state)

    def _both(self, point: CurvePoint) -> Any:
        return self._with_rows(point, point.orbit)

    def spectra(self, at: Sequence[Solution]) -> list[np.ndarray]:
        """Compute the rightmost eigenvalues at several states."""
        return [rightmost(J, COUNT).values for _, _, J, _ in at]

    def spectra_beside(self, at: Sequence[Solution]) -> list[np.ndarray]:
        """Compute more eigenvalues beside a point, since others may be the rightmost ones there."""
        return [rightmost(J, COUNT + BESIDE).values for _, _, J, _ in at]

    def stable_kind(self, point: CurvePoint) -> str:
        """Classify the stability; where all known eigenvalues grow, the trace shows that others decay."""
        found = super().stable_kind(point)
        J: Any = point.J
        if found == "unstable":
            return "saddle" if J.matrix.trace() < 0 else "undecided"
        return found

    def doubt(self, point: CurvePoint) -> str:
        """Say why growing eigenvalues may be missed; empty where the determinant shows that all are known."""
        J: Any = point.J
        values, known = rightmost(J, COUNT)
        if int(np.sum(self.growth(values) > self.neutral(point))) > MOST:
            return f"more than {MOST} eigenvalues grow"
        return uncounted(J, known)


def sparse_equations(pattern: Pattern, parameter: Parameter, state: State, value: float) -> Equations:
    """Evaluate the field of a flow, its sparse Jacobian, and its derivative by a parameter."""
    given = (parameter.take, parameter.system, state, np.asarray(value, float))
    found = _of_large_flow(*given, pattern.seeds, pattern.group, pattern.rows)
    field, entries, slope = (np.asarray(part) for part in found)
    J: Any = SparseMatrix(pattern.matrix(entries))
    return Equations(field, J, slope, float(np.max(np.abs(field), initial=0)))


@compiled
def _of_large_flow(
    where: Any, flow: AbstractFlow, state: State, parameter: Array, seeds: Array, group: Array, rows: Array
) -> tuple[Array, Array, Array]:
    flat, restored = ravel_pytree(state)
    f = lambda y, p: ravel_pytree(with_parameter(where, flow, p).vector_field(jnp.zeros(()), restored(y)))[0]
    field, slope = jax.jvp(lambda p: f(flat, p), (parameter,), (jnp.ones_like(parameter),))
    return field, entries_of(lambda y: f(y, parameter), flat, seeds, group, rows), slope
