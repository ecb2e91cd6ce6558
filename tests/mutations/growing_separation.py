"""Errors in the separation force, its expansion and the residual matrix, and claims of `growing` that notice them."""

from tests.mutants import Mutant

SEPARATION, RESIDUAL = "analysis.growing.separation", "dynsim.systems.growing.residual"
EVENTS = "dynsim.systems.growing.transitions"
FORCE = "growing/equation-2-gradient/frozen"
FIRST, SECOND, TRACE = "growing/lemma-3", "growing/lemma-5", "growing/lemma-2/corrected"
SLOPE = "growing/equation-12"
CENTRED = "growing/lemma-4/corrected"
HOT = "growing/theorem-1/corrected"
ORDER = "growing/theorem-2/corrected"
BOUND = "growing/proposition-1/corrected"
SPLITTING = "growing/claim-separation-force/corrected"
FEATURES, DATA, TOKENS = (f"growing/equation-3/{reading}" for reading in ("features", "data", "tokens"))
CHANGES = "growing/equation-3/events"
KEPT = "growing/corollary-2/corrected"

MUTANTS = (
    Mutant(
        "separation: the force has no factor 4",
        SEPARATION,
        "return 4 * jnp.sum(residual_forces(p, z, temperature) ** 2)",
        "return jnp.sum(residual_forces(p, z, temperature) ** 2)",
        (FORCE,),
    ),
    Mutant(
        "separation: the forces have unit weights",
        SEPARATION,
        'return jnp.einsum("nk,nkm->km", q, _away(q, p))',
        'return jnp.einsum("nk,nkm->km", jnp.ones_like(q), _away(q, p))',
        (FORCE,),
    ),
    Mutant(
        "separation: embeddings expand by their own projections alone",
        SEPARATION,
        "return z + step * _projections(z, u, projections)[:, None] * u[None]",
        "return z + step * _projections(z, u, None)[:, None] * u[None]",
        (HOT,),
    ),
    Mutant(
        "separation: assignments move at half their speed",
        SEPARATION,
        "speed = 2 / temperature * _projections(z, u, projections)[:, None]",
        "speed = 1 / temperature * _projections(z, u, projections)[:, None]",
        (FIRST,),
    ),
    Mutant(
        "separation: the second derivative of assignments forgets the variance",
        SEPARATION,
        "speed**2 * q * (delta**2 - variance))",
        "speed**2 * q * delta**2)",
        (SECOND,),
    ),
    Mutant(
        "separation: the variation of the trace has 1 - q",
        SEPARATION,
        "return jnp.sum((1 - 2 * q.value) * q.first)",
        "return jnp.sum((1 - q.value) * q.first)",
        (TRACE,),
    ),
    Mutant(
        "separation: the derivative of a force forgets that centroids move",
        SEPARATION,
        "total(q.first, away) - carried(q.value, moving),",
        "total(q.first, away),",
        (SLOPE,),
    ),
    Mutant(
        "separation: the mixed term of the second derivative is single",
        SEPARATION,
        "- 2 * carried(q.first, moving)",
        "- carried(q.first, moving)",
        (SLOPE, ORDER),
    ),
    Mutant(
        "separation: the second derivative of the force forgets the square of the first",
        SEPARATION,
        "8 * (jnp.sum(r.first**2) + jnp.sum(r.value * r.second))",
        "8 * jnp.sum(r.value * r.second)",
        (SLOPE, ORDER),
    ),
    Mutant(
        "separation: the covariances have the sign of the centroids turned",
        SEPARATION,
        "return jnp.sum(alpha) * (p @ u) - jnp.sum(",
        "return jnp.sum(alpha) * (p @ u) + jnp.sum(",
        (CENTRED,),
    ),
    Mutant(
        "separation: the covariances take centred embeddings for granted",
        SEPARATION,
        "return jnp.sum(alpha) * (p @ u) - jnp.sum(",
        "return 0 * (p @ u) - jnp.sum(",
        (SLOPE,),
    ),
    Mutant(
        "separation: the limit at high temperature forgets the mean of the prototypes",
        SEPARATION,
        "away = p - jnp.mean(p, axis=0)[None]",
        "away = p",
        (HOT,),
    ),
    Mutant(
        "separation: the limit at high temperature has K in place of its square",
        SEPARATION,
        "return 16 * z.shape[0] / p.shape[0] ** 2 * jnp.sum(",
        "return 16 * z.shape[0] / p.shape[0] * jnp.sum(",
        (HOT,),
    ),
    Mutant(
        "separation: C_0 forgets the number of embeddings",
        SEPARATION,
        "jnp.max(variances) * z.shape[0] * widest",
        "jnp.max(variances) * widest",
        (BOUND,),
    ),
    Mutant(
        "separation: C_0 has the mean of the variances",
        SEPARATION,
        "jnp.max(variances) * z.shape[0] * widest",
        "jnp.mean(variances) * z.shape[0] * widest",
        (BOUND,),
    ),
    Mutant(
        "separation: the bound has K in place of its square",
        SEPARATION,
        "gain = separation**2 / self.count**2 * dominant * self.variance",
        "gain = separation**2 / self.count * dominant * self.variance",
        (BOUND,),
    ),
    Mutant(
        "separation: the threshold is inverted",
        SEPARATION,
        "return self.count**2 * self.correction / (separation**2 * self.variance)",
        "return separation**2 * self.variance / (self.count**2 * self.correction)",
        (BOUND,),
    ),
    Mutant(
        "separation: the splitting has the weights of fixed assignments alone",
        SEPARATION,
        'w + q if gradient == "full" else q',
        "q",
        (SPLITTING,),
    ),
    Mutant(
        "separation: the splitting multiplies by the temperature",
        SEPARATION,
        "- 2 / temperature * (pulled",
        "- 2 * temperature * (pulled",
        (SPLITTING,),
    ),
    Mutant(
        "residual readings: the directed part is not halved",
        RESIDUAL,
        "return (found - found.T) / 2\n\n\ndef uncaptured",
        "return found - found.T\n\n\ndef uncaptured",
        (FEATURES, DATA, TOKENS),
    ),
    Mutant(
        "residual readings: data are not averaged",
        RESIDUAL,
        "root @ m @ root @ projection / len(x))",
        "root @ m @ root @ projection)",
        (DATA,),
    ),
    Mutant(
        "residual readings: tokens are projected on one side",
        RESIDUAL,
        "return _antisymmetric(x @ projection @ m @ projection @ x.T)",
        "return _antisymmetric(x @ projection @ m @ x.T)",
        (TOKENS,),
    ),
    Mutant(
        "residual readings: the root of the Gram matrix is the matrix",
        RESIDUAL,
        "return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T",
        "return (vectors * values) @ vectors.T",
        (DATA,),
    ),
    Mutant(
        "residual readings: the dominant value is the Frobenius norm",
        RESIDUAL,
        "return float(np.linalg.norm(found, 2))",
        "return float(np.linalg.norm(found))",
        (FEATURES,),
    ),
    Mutant(
        "residual readings: released directions stay captured",
        EVENTS,
        'if flow.rules.release == "retain" else flow.retained',
        'if flow.rules.release == "release" else flow.retained',
        (CHANGES,),
    ),
    Mutant(
        "growth: the bank of a new head replaces those of all heads",
        EVENTS,
        "prototypes=placed(x.prototypes, slot,",
        "prototypes=placed(x.prototypes, slice(None),",
        (KEPT,),
    ),
    Mutant(
        "growth: the temperature of a new head is that of all heads",
        EVENTS,
        "cubes=placed(x.cubes, slot,",
        "cubes=placed(x.cubes, slice(None),",
        (KEPT,),
    ),
)
