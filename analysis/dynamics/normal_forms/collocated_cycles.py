r"""Compute normal form coefficients of periodic orbits by collocation, from linear problems along the orbit.

Critical Floquet vectors $v$ solve $\dot v = A(t) v$ with $v(T) = \mu v(0)$, terms of second order

$$ \dot h - A(t) h = B(v, v) - \sigma \dot x, $$

where sigma changes the period. All are solved on the mesh of the orbit; the terms of third order are weighed with the
left null vector of the discrete problem, which stands for the adjoint one. No map over a segment is differentiated, so
that large multipliers hide nothing, and only products of the field's own derivatives are needed.

Source: Y. A. Kuznetsov, W. Govaerts, E. J. Doedel and A. Dhooge, Numerical periodic normalization for codim 1
bifurcations of limit cycles, SIAM J. Numer. Anal. 43 (2005).
"""

import functools
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Inexact

from analysis.dynamics.collocation.intervals import CycleField, gauss_weights, rule
from analysis.dynamics.normal_forms.flows import NO_SLOPE, SINGULAR, Coefficient, unknown

# Steps of inverse iteration for null vectors, whose border is that of the step before.
INVERSIONS = 4
# Distance of another multiplier from one that makes a term of second order singular.
APART = 1e-6
# Reasons for unknown coefficients.
NOT_SIMPLE = "the critical multiplier is not simple"
ANOTHER = "another multiplier is critical, too"

Along = Any  # values along the orbit at the Gauss points, (N, stages, n)
Ends = Any  # values at the ends of the intervals, or vectors for these, (N, n)


class OrbitOnMesh(NamedTuple):
    """A periodic orbit by its states at the Gauss points of a mesh, and what its normal forms need.

    Attributes:
        field: the field.
        begins: times at which the N intervals begin.
        durations: their durations.
        stages: states at the Gauss points.
        parameter: the value of the parameter.
        slopes: derivatives of the ends of the intervals by the parameter.
        free: whether the flow is autonomous, so that its period is unknown.
        sizes: units of the components, in which critical vectors are measured.
        multipliers: the multipliers, without the trivial one.
    """

    field: CycleField
    begins: Float[np.ndarray, " N"]
    durations: Float[np.ndarray, " N"]
    stages: Float[np.ndarray, "N stages n"]
    parameter: float
    slopes: Float[np.ndarray, "N n"]
    free: bool
    sizes: Float[np.ndarray, " n"]
    multipliers: Inexact[np.ndarray, " k"]


class _Vector(NamedTuple):
    """A function along the orbit by its states at nodes and Gauss points, and the change of the period with it."""

    nodes: Ends
    stages: Along
    drift: Any = 0.0


def cycle_coefficient(name: str, orbit: OrbitOnMesh, angle: float) -> Coefficient:
    r"""Compute the coefficient of a fold, cusp, period doubling or Neimark-Sacker point of periodic orbits.

    The critical vector has the mean square one over the period, at a fold and a cusp without a shift in time. With the
    amplitude u along it, the parameter near a fold is that of the fold plus c u^2; otherwise $\dot u = c u^3$ in the
    mean over a period, and at a Neimark-Sacker point the result is the real part of the factor of $u |u|^2$.

    Args:
        name: the kind of the bifurcation.
        orbit: the orbit.
        angle: of a Neimark-Sacker point, that of the multipliers.
    """
    at = _Linearised(orbit)
    if name in ("fold", "cusp"):
        v, p = at.null(1.0)
        return at.fold(v, p) if name == "fold" else at.cusp(v, p)
    if at.has(1.0):
        return unknown(ANOTHER)
    return at.doubling() if name == "period doubling" else at.turning(complex(np.exp(1j * angle)))


class _Linearised:
    """The linear problems along an orbit on its mesh."""

    def __init__(self, orbit: OrbitOnMesh):
        self.orbit, (N, m, n) = orbit, orbit.stages.shape
        c, a, weights = rule(m)
        self.h, self.times = orbit.durations[:, None, None], orbit.begins[:, None] + orbit.durations[:, None] * c
        self.at = self.times, orbit.stages, np.asarray(orbit.parameter)
        self.speeds, J = orbit.field.at(*self.at)
        self.A = J[..., :n]
        matrix = -(self.h[..., None] * a[:, :, None])[:, :, None] * np.moveaxis(self.A, 1, 2)[:, None]
        self.inverse = np.linalg.inv(np.eye(m * n) + matrix.reshape(N, m * n, m * n))
        moves = self.inverse @ np.tile(np.eye(n), (m, 1))
        self.moves, self.weights, self.a = moves.reshape(N, m, n, n), weights, a
        rest = 1 - float(np.sum(weights))
        self.maps = np.einsum("j,kjab->kab", weights, self.moves) + rest * np.eye(n)
        self.quadrature = orbit.durations[:, None] * gauss_weights(m)
        self.time = self.ends(self.speeds.astype(float))

    def has(self, value: complex) -> bool:
        """Test whether an orbit has this multiplier, apart from the trivial one."""
        return bool(np.min(np.abs(self.orbit.multipliers - value), initial=np.inf) <= APART)

    def inside(self, g: Along) -> Along:
        """Solve w' = A w + g in all intervals from zero; give w at the Gauss points."""
        N, m, n = g.shape
        right = (self.h * (self.a @ g)).reshape(N, m * n, 1)
        return (self.inverse @ right).reshape(N, m, n)

    def ends(self, g: Along) -> Ends:
        """Give the ends of these solutions."""
        return np.einsum("j,kja->ka", self.weights, self.inside(g))

    def matrix(self, multiplier: complex, *, border: bool) -> Any:
        """Build the sparse equations of functions that are multiplied over a period, with a change of the period."""
        import scipy.sparse

        N, n = self.maps.shape[:2]
        k, j = np.arange(N)[:, None, None] * n, np.arange(n)
        rows, columns = (np.broadcast_to(part, (N, n, n)).ravel() for part in (k + j[:, None], k + j))
        after = (np.arange(N * n) + n) % (N * n)
        links = np.where(np.arange(N * n) < (N - 1) * n, 1.0, multiplier)
        entries, at, into = [self.maps.ravel(), -links], [rows, np.arange(N * n)], [columns, after]
        size = N * n + border
        if border:
            phase = np.einsum("kj,kja,kjab->kb", self.quadrature, self.speeds, self.moves).ravel()
            phase /= max(float(np.linalg.norm(phase)), np.finfo(float).tiny)
            last = np.full(N * n, N * n)
            entries += [-self.time.ravel(), phase]
            at, into = [*at, np.arange(N * n), last], [*into, last, np.arange(N * n)]
        places = np.concatenate(at), np.concatenate(into)
        return scipy.sparse.csc_array((np.concatenate(entries), places), shape=(size, size))

    def solved(self, multiplier: complex, g: Along) -> _Vector:
        """Solve w' = A w + g - sigma x' over a period; sigma is not zero for the multiplier 1 of autonomous flows."""
        free = self.orbit.free and multiplier == 1
        matrix = self.matrix(multiplier, border=free)
        right = -np.append(self.ends(g).ravel(), np.zeros(int(free)))
        return self.vector(_RowScaledFactors(matrix).solve(right), g)

    def vector(self, found: np.ndarray, g: Along | None = None) -> _Vector:
        """Complete the nodes of a function, and the change of the period if there is one, by its Gauss points."""
        N, n = self.maps.shape[:2]
        nodes, drift = found[: N * n].reshape(N, n), found[N * n] if len(found) > N * n else 0.0
        given = 0.0 if g is None else g
        inhomogeneous = given - drift * self.speeds
        stages = np.einsum("kjab,kb->kja", self.moves, nodes)
        return _Vector(nodes, stages + self.inside(np.broadcast_to(inhomogeneous, stages.shape)), drift)

    def null(self, multiplier: complex) -> tuple[_Vector, Ends]:
        """Find the critical vector and the left null vector of its equations."""
        free = self.orbit.free and multiplier == 1
        v, p = _null_vectors(self.matrix(multiplier, border=free))
        N, n = self.maps.shape[:2]
        return self.vector(v), p[: N * n].reshape(N, n)

    def square(self, v: _Vector, *, phase: bool = False) -> float:
        """Compute the mean square of a critical vector in the given units, without a shift in time if it has one."""
        w, f = self.orbit.sizes * v.stages, self.orbit.sizes * self.speeds
        mean = lambda rows: float(np.sum(self.quadrature[..., None] * rows) / np.sum(self.orbit.durations))
        total = mean(np.abs(w) ** 2)
        return total - mean(np.real(w) * f) ** 2 / mean(f**2) if phase else total

    def B(self, u: Along, v: Along) -> Along:
        """Apply the second derivative of the field."""
        return _multilinear(functools.partial(self.orbit.field.directional, *self.at), u, v)

    def C(self, u: Along, v: Along, w: Along) -> Along:
        """Apply the third derivative of the field."""
        return _multilinear(functools.partial(self.orbit.field.directional, *self.at), u, v, w)

    def rate(self, v: _Vector, g: Along | float = 0.0) -> Along:
        """Compute the derivative of a function by time, which solves w' = A w + g - sigma x'."""
        return np.einsum("kjab,kjb->kja", self.A, v.stages) + g - v.drift * self.speeds

    def weighed(self, p: Ends, *terms: Along) -> tuple[complex, float]:
        """Weigh a sum of terms with a left null vector; give the value, and the sum of the sizes of the terms."""
        ends = [self.ends(term) for term in terms]
        value = sum(complex(np.vdot(p, end)) for end in ends)
        return value, float(sum(np.sum(np.abs(p) * np.abs(end)) for end in ends))

    def made(self, p: Ends, v: _Vector, square: float, *terms: Along) -> Coefficient:
        """Divide the weight of some terms by that of the critical vector."""
        (value, size), (across, whole) = self.weighed(p, *terms), self.weighed(p, v.stages)
        if abs(across) <= SINGULAR * whole:
            return unknown(NOT_SIMPLE)
        return Coefficient((value / across).real / square, size / abs(across) / square)

    def doubling(self) -> Coefficient:
        """Compute c of a period doubling."""
        v, p = self.null(-1.0)
        h = self.solved(1.0, self.B(v.stages, v.stages))
        terms = self.C(*[v.stages] * 3) / 6, self.B(v.stages, h.stages) / 2, -h.drift / 2 * self.rate(v)
        return self.made(p, v, self.square(v), *terms)

    def turning(self, turn: complex) -> Coefficient:
        """Compute the real part of d of a Neimark-Sacker point."""
        if self.has(turn**2):
            return unknown(ANOTHER)
        v, p = self.null(turn)
        w, other = v.stages, v.stages.conj()
        steady, double = self.solved(1.0, np.real(self.B(w, other))), self.solved(turn**2, self.B(w, w))
        terms = self.C(w, w, other) / 2, self.B(w, steady.stages), self.B(other, double.stages) / 2
        return self.made(p, v, self.square(v), *terms, -steady.drift * self.rate(v))

    def fold(self, v: _Vector, p: Ends) -> Coefficient:
        """Compute c of a fold."""
        value, size = self.weighed(p, self.B(v.stages, v.stages) / 2, -v.drift * self.rate(v))
        across = float(np.sum(p * self.orbit.slopes))
        if abs(across) <= SINGULAR * float(np.sum(np.abs(p * self.orbit.slopes))):
            return unknown(NO_SLOPE)
        square = self.square(v, phase=self.orbit.free)
        return Coefficient(-value.real / across / square, size / abs(across) / square)

    def cusp(self, v: _Vector, p: Ends) -> Coefficient:
        """Compute c of a cusp, or of a pitchfork."""
        g = self.B(v.stages, v.stages) - 2 * v.drift * self.rate(v)
        matrix = self.matrix(1.0, border=self.orbit.free)
        right = -np.append(self.ends(g).ravel(), np.zeros(matrix.shape[0] - p.size))
        left = np.append(p.ravel(), np.zeros(len(right) - p.size))
        known = np.append(v.nodes.ravel(), np.real(v.drift))[: len(right)]
        h = self.vector(_bordered(matrix, left, known).solve(np.append(right, 0.0))[:-1], g)
        terms = [self.C(*[v.stages] * 3) / 6, self.B(v.stages, h.stages) / 2, -v.drift / 2 * self.rate(h, g)]
        return self.made(p, v, self.square(v, phase=self.orbit.free), *terms, -h.drift / 2 * self.rate(v))


class _RowScaledFactors:
    """Factors of a sparse matrix, with rows of equal size."""

    def __init__(self, matrix: Any):
        import scipy.sparse
        import scipy.sparse.linalg

        rows = 1 / np.maximum(abs(matrix).max(axis=1).toarray().ravel(), np.finfo(float).tiny)
        self.rows, self.is_complex = rows, matrix.dtype.kind == "c"
        self.factors = scipy.sparse.linalg.splu((scipy.sparse.diags_array(rows) @ matrix).tocsc())

    def solve(self, right: Any) -> np.ndarray:
        """Solve the equations."""
        if np.iscomplexobj(right) and not self.is_complex:
            return self.solve(right.real) + 1j * self.solve(right.imag)
        return self.factors.solve(self.rows * right)

    def solve_adjoint(self, right: np.ndarray) -> np.ndarray:
        """Solve the equations with the adjoint matrix."""
        return self.rows * self.factors.solve(right, trans="H")


def _bordered(matrix: Any, left: np.ndarray, right: np.ndarray) -> _RowScaledFactors:
    import scipy.sparse

    edge = scipy.sparse.csc_array(left[:, None]), scipy.sparse.csc_array(right.conj()[None, :])
    return _RowScaledFactors(scipy.sparse.block_array([[matrix, edge[0]], [edge[1], None]], format="csc"))


def _null_vectors(matrix: Any) -> tuple[np.ndarray, np.ndarray]:
    """Find the right and the left null vector of a sparse matrix, of length one, by bordered equations."""
    size, begin = matrix.shape[0], np.random.default_rng(0).normal(size=matrix.shape[0])
    v = p = begin / np.linalg.norm(begin)
    one = np.append(np.zeros(size), 1.0)
    for _ in range(INVERSIONS):
        factors = _bordered(matrix, p, v)
        v, p = factors.solve(one.astype(matrix.dtype))[:-1], factors.solve_adjoint(one.astype(matrix.dtype))[:-1]
        v, p = v / np.linalg.norm(v), p / np.linalg.norm(p)
    return v, p


def _multilinear(form: Callable[..., Along], *vectors: Along) -> Along:
    """Evaluate a multilinear form of complex vectors by their real and imaginary parts."""
    parts = [[(1.0, v.real), (1j, v.imag)] if np.iscomplexobj(v) else [(1.0, v)] for v in vectors]
    total: Any = 0.0
    for chosen in itertools.product(*parts):
        factor = np.prod([factor for factor, _ in chosen])
        total = total + (factor if np.imag(factor) else np.real(factor)) * form(*(v for _, v in chosen))
    return total
