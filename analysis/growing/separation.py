r"""Compute the separation force of prototypes, and its change when embeddings move out along a direction.

Embeddings move as $z_n(\epsilon) = z_n + \epsilon \alpha_n u$. By default $\alpha_n = \langle z_n, u \rangle$, so that
at $\epsilon = 1$ their component along a unit vector u has doubled; with other projections $\alpha_n$ the embeddings
may start without such a component. Derivatives are those by $\epsilon$ at $\epsilon = 0$, through the assignments.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from dynsim._core.checked import checked
from dynsim._core.printing import one_line, report
from dynsim._core.types import Scalar
from dynsim.systems.prototypes.assignments import Embeddings, Prototypes, Weights, assignments, soft_centroids
from dynsim.systems.prototypes.losses import GradientMode, PrototypeLoss

Direction = Float[Array, " m"]
Projections = Float[Array, " n"]
Form = Float[Array, "m m"]
Away = Float[Array, "n k m"]


@checked
def residual_forces(p: Prototypes, z: Embeddings, temperature: Scalar) -> Prototypes:
    r"""Compute $r_k = \sum_n q_{nk} (p_k - \mu_n)$; $2 r$ is the gradient of V by the prototypes at fixed assignments.

    Args:
        p: prototypes, (k, m).
        z: embeddings, (n, m).
        temperature: temperature T, in the unit of a squared length.

    Source: GROWING, Lemma 4 (proof).

    Example:
        >>> import jax.numpy as jnp
        >>> from analysis.growing import residual_forces
        >>> residual_forces(jnp.array([[1.0], [-1.0]]), jnp.array([[0.0]]), jnp.array(1.0)).tolist()
        [[0.5], [-0.5]]
    """
    q = assignments(z, p, temperature)
    return jnp.einsum("nk,nkm->km", q, _away(q, p))


@checked
def separation_force(p: Prototypes, z: Embeddings, temperature: Scalar) -> Scalar:
    r"""Compute the separation force $F_{sep} = 4 \sum_k |\sum_n q_{nk} (p_k - \mu_n)|^2$, a squared gradient norm.

    Args:
        p: prototypes, (k, m).
        z: embeddings, (n, m).
        temperature: temperature T, in the unit of a squared length.

    Source: GROWING, eq. (4).

    Example:
        >>> import jax.numpy as jnp
        >>> from analysis.growing import separation_force
        >>> float(separation_force(jnp.array([[1.0], [-1.0]]), jnp.array([[0.0]]), jnp.array(1.0)))
        2.0
    """
    return 4 * jnp.sum(residual_forces(p, z, temperature) ** 2)


@checked
def expanded(z: Embeddings, u: Direction, step: Scalar, projections: Projections | None = None) -> Embeddings:
    r"""Move the embeddings to $z_n + \epsilon \alpha_n u$.

    Args:
        z: embeddings, (n, m).
        u: direction, (m,).
        step: epsilon.
        projections: alpha, (n,); by default the inner products of z_n and u.

    Source: GROWING, Theorem 1.

    Example:
        >>> import jax.numpy as jnp
        >>> from analysis.growing import expanded
        >>> expanded(jnp.array([[1.0, 2.0], [-1.0, 0.0]]), jnp.array([1.0, 0.0]), jnp.array(0.5)).tolist()
        [[1.5, 2.0], [-1.5, 0.0]]
    """
    return z + step * _projections(z, u, projections)[:, None] * u[None]


@checked
def expansion(
    p: Prototypes,
    z: Embeddings,
    u: Direction,
    temperature: Scalar,
    step: Scalar,
    projections: Projections | None = None,
) -> Scalar:
    r"""Compute $\phi(\epsilon) = F_{sep}(P, Z(\epsilon))$, the separation force of moved embeddings.

    Args:
        p: prototypes, (k, m).
        z: embeddings, (n, m).
        u: direction, (m,).
        temperature: temperature T, in the unit of a squared length.
        step: epsilon.
        projections: alpha, (n,); by default the inner products of z_n and u.

    Source: GROWING, Theorem 1.

    Example:
        >>> import jax.numpy as jnp
        >>> from analysis.growing import expansion
        >>> p, z, u = jnp.array([[1.0], [-1.0]]), jnp.array([[0.0]]), jnp.array([1.0])
        >>> float(expansion(p, z, u, jnp.array(1.0), jnp.array(0.5)))  # z is orthogonal to u and stays
        2.0
    """
    return separation_force(p, expanded(z, u, step, projections), temperature)


class AssignmentDerivatives(NamedTuple):
    r"""The assignments, their first and their second derivative by $\epsilon$, each (n, k)."""

    value: Weights
    first: Weights
    second: Weights

    __repr__ = one_line
    __str__ = report


def assignment_derivatives(
    p: Prototypes, z: Embeddings, u: Direction, temperature: Scalar, projections: Projections | None = None
) -> AssignmentDerivatives:
    r"""Compute $q$, $\dot q = \frac{2 \alpha_n}{T} q \delta$, $\ddot q = \frac{4 \alpha_n^2}{T^2} q (\delta^2 - v_n)$.

    Here $\delta_{nk} = \langle p_k - \mu_n, u \rangle$, and $v_n$ is its variance under $q_n$.

    Source: GROWING, eq. (6), (14).
    """
    q = assignments(z, p, temperature)
    delta = (p @ u)[None] - (q @ (p @ u))[:, None]
    variance = jnp.sum(q * delta**2, axis=1, keepdims=True)
    speed = 2 / temperature * _projections(z, u, projections)[:, None]
    return AssignmentDerivatives(q, speed * q * delta, speed**2 * q * (delta**2 - variance))


def trace_derivative(
    p: Prototypes, z: Embeddings, u: Direction, temperature: Scalar, projections: Projections | None = None
) -> Scalar:
    r"""Compute $\frac{d}{d\epsilon} \mathrm{tr}\, \Sigma_q = \sum_{nk} (1 - 2 q_{nk}) \dot q_{nk}$.

    Source: GROWING, Lemma 2, with the sign of eq. (6).
    """
    q = assignment_derivatives(p, z, u, temperature, projections)
    return jnp.sum((1 - 2 * q.value) * q.first)


class ForceDerivatives(NamedTuple):
    r"""The forces $r_k$, their first and their second derivative by $\epsilon$, each (k, m)."""

    value: Prototypes
    first: Prototypes
    second: Prototypes

    __repr__ = one_line
    __str__ = report


def force_derivatives(
    p: Prototypes, z: Embeddings, u: Direction, temperature: Scalar, projections: Projections | None = None
) -> ForceDerivatives:
    r"""Compute $r_k$ and its derivatives, with $\dot\mu_n = \sum_k \dot q_{nk} p_k$ and $\ddot\mu_n$ likewise.

    Source: GROWING, eq. (10).
    """
    q = assignment_derivatives(p, z, u, temperature, projections)
    away = _away(q.value, p)
    moving, turning = (soft_centroids(weights, p) for weights in (q.first, q.second))
    total = lambda weights, vectors: jnp.einsum("nk,nkm->km", weights, vectors)
    carried = lambda weights, speeds: jnp.einsum("nk,nm->km", weights, speeds)
    return ForceDerivatives(
        total(q.value, away),
        total(q.first, away) - carried(q.value, moving),
        total(q.second, away) - 2 * carried(q.first, moving) - carried(q.value, turning),
    )


def expansion_derivatives(
    p: Prototypes, z: Embeddings, u: Direction, temperature: Scalar, projections: Projections | None = None
) -> tuple[Scalar, Scalar]:
    r"""Compute $\phi'(0) = 8 \sum_k \langle r_k, \dot r_k \rangle$ and its derivative $\phi''(0)$.

    Source: GROWING, eq. (11), Proposition 1 (proof).
    """
    r = force_derivatives(p, z, u, temperature, projections)
    return 8 * jnp.sum(r.value * r.first), 8 * (jnp.sum(r.first**2) + jnp.sum(r.value * r.second))


@checked
def residual_covariances(
    p: Prototypes, z: Embeddings, u: Direction, temperature: Scalar, projections: Projections | None = None
) -> Float[Array, " k"]:
    r"""Compute $C_k = \sum_n \alpha_n (p_k^* - \bar p_n^*)$ with $p_k^* = \langle p_k, u \rangle$.

    Args:
        p: prototypes, (k, m).
        z: embeddings, (n, m).
        u: direction, (m,).
        temperature: temperature T, in the unit of a squared length.
        projections: alpha, (n,); by default the inner products of z_n and u.

    Source: GROWING, eq. (7).

    Example:
        >>> import jax.numpy as jnp
        >>> from analysis.growing import residual_covariances
        >>> p, z, u = jnp.array([[1.0], [-1.0]]), jnp.array([[0.0]]), jnp.array([1.0])
        >>> residual_covariances(p, z, u, jnp.array(1.0), projections=jnp.array([2.0])).tolist()
        [2.0, -2.0]
    """
    q = assignments(z, p, temperature)
    alpha = _projections(z, u, projections)
    return jnp.sum(alpha) * (p @ u) - jnp.sum(alpha * (q @ (p @ u)))


def expansion_at_high_temperature(
    p: Prototypes, z: Embeddings, u: Direction, projections: Projections | None = None
) -> Scalar:
    r"""Compute $\lim_{T \to \infty} T (\phi(1) - \phi(0))$, the sum of the projections times a third moment.

    It is $\frac{16 N}{K^2} \sum_n \alpha_n \sum_k \langle p_k - \bar p, u \rangle |p_k - \bar p|^2$ with the mean
    $\bar p$ of the prototypes, and vanishes for two prototypes and for centred embeddings.
    """
    away = p - jnp.mean(p, axis=0)[None]
    third = jnp.sum((away @ u) * jnp.sum(away**2, axis=1))
    return 16 * z.shape[0] / p.shape[0] ** 2 * jnp.sum(_projections(z, u, projections)) * third


class ExpansionBound(NamedTuple):
    r"""The parts of the lower bound of $\phi''(0)$.

    `variance` is the mean of the variances $v_n$ of $p^*$ under $q_n$, `correction` $C_0$. Read: the largest variance
    in $C_0$ is that over the embeddings.
    """

    variance: Scalar
    correction: Scalar
    count: int
    temperature: Scalar

    __repr__ = one_line
    __str__ = report

    def value(self, separation: Scalar, dominant: Scalar) -> Scalar:
        r"""Compute $\frac{32}{T^2} (\frac{s_0^2}{K^2} \lambda_{max} \bar v - C_0)$."""
        gain = separation**2 / self.count**2 * dominant * self.variance
        return 32 / self.temperature**2 * (gain - self.correction)

    def threshold(self, separation: Scalar) -> Scalar:
        r"""Compute $K^2 C_0 / (s_0^2 \bar v)$, above which $\lambda_{max}$ makes that bound positive.

        Source: GROWING, eq. (19).
        """
        return self.count**2 * self.correction / (separation**2 * self.variance)


@checked
def expansion_bound(
    p: Prototypes, z: Embeddings, u: Direction, temperature: Scalar, projections: Projections | None = None
) -> ExpansionBound:
    r"""Compute the parts of eq. (15), with $C_0 = |\alpha|_\infty^2 \max_n v_n N \max_{nk} |p_k - \mu_n|^2$.

    Args:
        p: prototypes, (k, m).
        z: embeddings, (n, m).
        u: direction, (m,).
        temperature: temperature T, in the unit of a squared length.
        projections: alpha, (n,); by default the inner products of z_n and u.

    Source: GROWING, Proposition 1.

    Example:
        >>> import jax.numpy as jnp
        >>> from analysis.growing import expansion_bound
        >>> p, z, u = jnp.array([[1.0], [-1.0]]), jnp.array([[0.0]]), jnp.array([1.0])
        >>> found = expansion_bound(p, z, u, jnp.array(1.0), projections=jnp.array([2.0]))
        >>> float(found.variance), float(found.correction)
        (1.0, 4.0)
    """
    q = assignments(z, p, temperature)
    delta = (p @ u)[None] - (q @ (p @ u))[:, None]
    variances = jnp.sum(q * delta**2, axis=1)
    widest = jnp.max(jnp.sum(_away(q, p) ** 2, axis=-1))
    largest = jnp.max(jnp.abs(_projections(z, u, projections)))
    correction = largest**2 * jnp.max(variances) * z.shape[0] * widest
    return ExpansionBound(jnp.mean(variances), correction, p.shape[0], temperature)


def splitting_form(p: Prototypes, z: Embeddings, temperature: Scalar, k: int, gradient: GradientMode) -> Form:
    r"""Compute the form S of two coinciding prototypes, one of them `k`: differences obey $\delta' = -2 S \delta$.

    That is the descent on $L_q$ (full), or on the free energy (frozen), at the rate one, as $\delta \to 0$. With
    $y_n = z_n - p_k$ and the weights w of the gradient, in the mode `full`
    $S = \sum_n (w_{nk} - \frac2T (w_{nk} + q_{nk}) y_n y_n^\top)$, in the mode `frozen`
    $S = \sum_n q_{nk} (1 - \frac2T y_n y_n^\top)$.
    """
    q = assignments(z, p, temperature)[:, k]
    w = PrototypeLoss(gradient).weights(z, p, temperature)[:, k]
    y, pulled = z - p[k][None], w + q if gradient == "full" else q
    return jnp.sum(w) * jnp.eye(p.shape[1]) - 2 / temperature * (pulled[:, None] * y).T @ y


def _projections(z: Embeddings, u: Direction, given: Projections | None) -> Projections:
    return z @ u if given is None else given


def _away(q: Weights, p: Prototypes) -> Away:
    r"""Compute $p_k - \mu_n$."""
    return p[None] - soft_centroids(q, p)[:, None]
