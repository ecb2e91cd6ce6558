r"""Embeddings that move out along a direction, and the power series of assignments and forces in $s = \epsilon / T$.

At fixed assignments of temperature T, $q_n(\epsilon)$ is proportional to $q_n e^{2 s \alpha_n p^*}$, since the rest of
the squared distances is common to all prototypes: the coefficients are rational where $q_n$ and $\alpha_n$ are.
"""

from fractions import Fraction
from typing import NamedTuple

import jax
import numpy as np

from analysis.claims.prototype_banks import RationalBank, distances, soft, squared_norms
from analysis.claims.rational_instances import Exact, identity, matrix
from analysis.growing import separation as measures
from analysis.ledger.evidence import Measurement, agrees, holds
from dynsim._core.types import Key
from dynsim.keys import numpy_rng
from dynsim.systems.growing.residual import dominant_plane, dominant_value, residual_matrix

N, K, D = 4, 3, 4
BASES = ("9/8", "5/4", "3/2", "2")


def times(a: Exact, b: Exact) -> Exact:
    """Return the product of two power series of equal length, their coefficients along the first axis."""
    return np.array([sum(a[i] * b[j - i] for i in range(j + 1)) for j in range(len(a))], object)


def over(a: Exact, b: Exact) -> Exact:
    """Return the quotient of two power series of equal length."""
    found: list[Exact] = []
    for j in range(len(a)):
        found.append((a[j] - sum(found[i] * b[j - i] for i in range(j))) / b[0])
    return np.array(found, object)


class Expansion(NamedTuple):
    """A bank whose embeddings move by `projections` along a unit vector, the first of the rows of `axes`, (d, d).

    The antisymmetric part of `interaction` is `strength` times the rotation from the first row to the second, and one
    of strength 1 from the third to the fourth. `captured` are the rows that have been captured.
    """

    bank: RationalBank
    axes: Exact
    projections: Exact
    strength: int
    interaction: Exact
    captured: Exact

    @property
    def u(self) -> Exact:
        """The direction, (d,)."""
        return self.axes[0]

    @property
    def starred(self) -> Exact:
        """The projections p* of the prototypes, (k,)."""
        return self.bank.p @ self.u

    @property
    def end(self) -> RationalBank:
        """The bank after the expansion; its points must be multiples of the spacing."""
        return self.bank._replace(z=self.bank.z + np.outer(self.projections, self.u))

    @property
    def residual(self) -> Exact:
        """P M_a P with the projector P of what is not captured, (d, d)."""
        rest = identity(len(self.u)) - self.captured.T @ self.captured
        return rest @ (self.interaction - self.interaction.T) / 2 @ rest

    def assignments(self, order: int = 2) -> Exact:
        """The coefficients of the assignments in s, (order + 1, n, k)."""
        slope = 2 * np.outer(self.projections, self.starred)
        terms = [self.bank.q]
        for j in range(1, order + 1):
            terms.append(terms[-1] * slope / j)
        weights = np.array(terms, object)
        return over(weights, np.sum(weights, axis=2, keepdims=True))

    def centroids(self, order: int = 2) -> Exact:
        """The coefficients of the soft centroids, (order + 1, n, d)."""
        return self.assignments(order) @ self.bank.p

    def forces(self, order: int = 2) -> Exact:
        """The coefficients of the forces r_k = sum_n q_nk (p_k - mu_n), (order + 1, k, d)."""
        q, mu = self.assignments(order), self.centroids(order)
        first = np.sum(q, axis=1)[:, :, None] * self.bank.p
        return first - np.sum(times(q[:, :, :, None], mu[:, :, None]), axis=1)

    def force(self, order: int = 2) -> Exact:
        """The coefficients of phi, (order + 1,)."""
        r = self.forces(order)
        return 4 * np.sum(times(r, r), axis=(1, 2))

    @property
    def floats(self) -> tuple[jax.Array, ...]:
        """Prototypes, embeddings, direction, temperature and projections in floating point."""
        z, p, T = self.bank.floats
        return p, z, jax.numpy.asarray(self.u.astype(float)), T, jax.numpy.asarray(self.projections.astype(float))

    @property
    def parameters(self) -> dict[str, float | int | str]:
        """What varies between instances."""
        return {**self.bank.parameters, "captured": len(self.captured)}

    def witness(self) -> dict[str, object]:
        """Return the exact data."""
        along = {"u": self.u, "alpha": self.projections, "s": self.strength}
        return {**self.bank.witness(), **along, "M": self.interaction, "captured": self.captured}


def force_of(bank: RationalBank) -> Fraction:
    """Return F_sep of a bank, exactly."""
    return 4 * np.sum(squared_norms(bank.parts.covariance @ bank.p))


class ExpansionMeasures(NamedTuple):
    """The measures of the toolkit at one expansion."""

    assignments: measures.AssignmentDerivatives
    trace: jax.Array
    forces: measures.ForceDerivatives
    derivatives: tuple[jax.Array, jax.Array]
    covariances: jax.Array
    start: jax.Array
    end: jax.Array
    bound: measures.ExpansionBound


@jax.jit
def shipped(
    p: jax.Array, z: jax.Array, u: jax.Array, temperature: jax.Array, projections: jax.Array
) -> ExpansionMeasures:
    """Return the measures of the toolkit."""
    given = (p, z, u, temperature)
    phi = lambda step: measures.expansion(*given, jax.numpy.asarray(step, float), projections)
    return ExpansionMeasures(
        measures.assignment_derivatives(*given, projections),
        measures.trace_derivative(*given, projections),
        measures.force_derivatives(*given, projections),
        measures.expansion_derivatives(*given, projections),
        measures.residual_covariances(*given, projections),
        phi(0.0),
        phi(1.0),
        measures.expansion_bound(*given, projections),
    )


def expansion_computed(at: Expansion) -> tuple[Measurement, ...]:
    """Measure that the toolkit computes forces, phi and its derivatives at 0 as they are."""
    found, r, phi, T = shipped(*at.floats), at.forces(), at.force(), at.bank.temperature
    return (
        agrees("the forces that ship", found.forces.value, r[0]),
        agrees("their derivatives that ship", found.forces.first * T, r[1]),
        agrees("their second derivatives that ship", found.forces.second * T**2, 2 * r[2]),
        agrees("C_k that ships", found.covariances, covariances_of(at)),
        agrees("phi(0) that ships", found.start, float(phi[0])),
        agrees("phi'(0) that ships, times T", found.derivatives[0] * T, float(phi[1])),
        agrees("phi''(0) that ships, times T^2", found.derivatives[1] * T**2, float(2 * phi[2])),
    )


def covariances_of(at: Expansion) -> Exact:
    """Return C_k of (7), exactly."""
    return np.sum(at.projections) * at.starred - np.sum(at.projections * (at.bank.q @ at.starred))


def along_dominant(at: Expansion) -> tuple[Measurement, ...]:
    """Measure that the direction is a unit vector of the top plane of the residual, and orthogonal to what is captured.

    Exactly: A^T A u = s^2 u, and A^T A has the trace 2 s^2, or 2 s^2 + 2 with s > 1.
    """
    A, s, u = at.residual, at.strength, at.u
    rest = np.trace(A.T @ A) - 2 * s**2
    found = residual_matrix(at.interaction.astype(float), at.captured.astype(float))
    return (
        *soft(at.bank),
        agrees("the residual that ships", found, A),
        agrees("its dominant value", dominant_value(found), s),
        agrees("the length of u in its dominant plane", np.linalg.norm(dominant_plane(found) @ u.astype(float)), 1.0),
        holds("u has length one", squared_norms(u) == 1),
        holds("u is orthogonal to what is captured", not np.any(at.captured @ u)),
        holds("u is a vector of the top plane of A_res", bool(np.all(A.T @ (A @ u) == s**2 * u))),
        holds("no singular value of A_res is larger", 0 <= rest <= 2 < s**2),
    )


def reflections(rng: np.random.Generator, d: int) -> Exact:
    """Return a rational orthogonal matrix, a product of two reflections, (d, d)."""
    found = identity(d)
    for _ in range(2):
        w = matrix(rng.integers(-2, 3, d))
        w[0] += Fraction(3)
        found = found - 2 * np.outer(found @ w, w) / squared_norms(w)
    return found


def signed_permutation(rng: np.random.Generator, d: int) -> Exact:
    """Return the axes in random order with random signs, (d, d)."""
    return matrix(np.eye(d, dtype=int)[rng.permutation(d)] * rng.choice([-1, 1], (d, 1)))


def rotation(u: Exact, v: Exact) -> Exact:
    """Return the antisymmetric matrix u v^T - v u^T, (d, d)."""
    return np.outer(u, v) - np.outer(v, u)


def expanding(
    key: Key, bank: RationalBank, axes: Exact, projections: Exact | None = None, strength: int | None = None
) -> Expansion:
    """Return a bank expanded along the first of the axes, by default by its own projections onto it.

    The residual has its top plane there, of a random or a given strength; at random the last axis has been captured.
    """
    rng = numpy_rng(key, "interaction")
    strength = int(rng.integers(2, 6)) if strength is None else strength
    symmetric = matrix(rng.integers(-2, 3, axes.shape))
    antisymmetric = strength * rotation(axes[0], axes[1]) + rotation(axes[2], axes[3])
    alpha = bank.z @ axes[0] if projections is None else projections
    captured = axes[3:] if rng.integers(2) else axes[:0]
    return Expansion(bank, axes, alpha, strength, antisymmetric + symmetric + symmetric.T, captured)


def random_expansion(key: Key, *, lattice: bool = False) -> Expansion:
    """Return random embeddings and prototypes in four dimensions, expanded along a random rational direction.

    With `lattice` the direction is one of the axes, so that the bank after the expansion has rational assignments.
    """
    rng = numpy_rng(key, "expansion")
    z, p = matrix(rng.integers(-1, 2, (N, D))), matrix(rng.integers(-1, 2, (K, D)))
    p[1:, 0] += matrix([3, -3])  # so that they are distinct
    bank = RationalBank(z, p, Fraction(str(rng.choice(BASES))))
    axes = signed_permutation(rng, D) if lattice else reflections(rng, D)
    return expanding(key, bank, axes)


def separated(at: Expansion) -> tuple[Measurement, ...]:
    """Measure (A1) and (A2'): prototypes are distinct, and some differ along the direction."""
    return (
        holds("(A1) prototypes are distinct", least_separation(at.bank) > 0),
        holds("(A2') some prototypes differ along u", len(set(at.starred)) > 1),
    )


def least_separation(bank: RationalBank) -> Fraction:
    """Return S(P), the least squared distance of two prototypes."""
    return min(distances(bank.p, bank.p)[np.triu_indices(len(bank.p), 1)])
