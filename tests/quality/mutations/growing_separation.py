"""Errors in the separation force, its expansion and the residual matrix, and claims of `growing` that notice them."""

from tests.quality.mutants import Mutant

FORCE = "growing/equation-2-gradient/frozen"
SLOPE = "growing/equation-12"
HOT = "growing/theorem-1/corrected"
ORDER = "growing/theorem-2/corrected"
BOUND = "growing/proposition-1/corrected"
SPLITTING = "growing/claim-separation-force/corrected"
FEATURES = "growing/equation-3/features"
DATA = "growing/equation-3/data"
TOKENS = "growing/equation-3/tokens"
KEPT = "growing/corollary-2/corrected"

# fmt: off
MUTANTS = (
    Mutant("separation: the force has no factor 4", "separation_force",
           "4 * jnp.sum(residual_forces(p, z, temperature) ** 2)", "jnp.sum(residual_forces(p, z, temperature) ** 2)",
           (FORCE,)),
    Mutant("separation: the forces have unit weights", "residual_forces",
           'jnp.einsum("nk,nkm->km", q, _away(q, p))', 'jnp.einsum("nk,nkm->km", jnp.ones_like(q), _away(q, p))',
           (FORCE,)),
    Mutant("separation: embeddings expand by their own projections alone", "expanded",
           "_projections(z, u, projections)", "_projections(z, u, None)", (HOT,)),
    Mutant("separation: assignments move at half their speed", "assignment_derivatives",
           "2 / temperature", "1 / temperature", ("growing/lemma-3",)),
    Mutant("separation: the second derivative of assignments forgets the variance", "assignment_derivatives",
           "delta**2 - variance", "delta**2", ("growing/lemma-5",)),
    Mutant("separation: the variation of the trace has 1 - q", "trace_derivative",
           "2 * q.value", "q.value", ("growing/lemma-2/corrected",)),
    Mutant("separation: the derivative of a force forgets that centroids move", "force_derivatives",
           "total(q.first, away) - carried(q.value, moving)", "total(q.first, away)", (SLOPE,)),
    Mutant("separation: the mixed term of the second derivative is single", "force_derivatives",
           "2 * carried(q.first, moving)", "carried(q.first, moving)", (SLOPE, ORDER)),
    Mutant("separation: the second derivative of the force forgets the square of the first", "expansion_derivatives",
           "jnp.sum(r.first**2) + jnp.sum(r.value * r.second)", "jnp.sum(r.value * r.second)", (SLOPE, ORDER)),
    Mutant("separation: the covariances have the sign of the centroids turned", "residual_covariances",
           "jnp.sum(alpha) * (p @ u) - jnp.sum(alpha * (q @ (p @ u)))",
           "jnp.sum(alpha) * (p @ u) + jnp.sum(alpha * (q @ (p @ u)))", ("growing/lemma-4/corrected",)),
    Mutant("separation: the covariances take centred embeddings for granted", "residual_covariances",
           "jnp.sum(alpha)", "0", (SLOPE,)),
    Mutant("separation: the limit at high temperature forgets the mean of the prototypes",
           "expansion_at_high_temperature",
           "p - jnp.mean(p, axis=0)[None]", "p", (HOT,)),
    Mutant("separation: the limit at high temperature has K in place of its square", "expansion_at_high_temperature",
           "p.shape[0] ** 2", "p.shape[0]", (HOT,)),
    Mutant("separation: C_0 forgets the number of embeddings", "expansion_bound",
           "largest**2 * jnp.max(variances) * z.shape[0]", "largest**2 * jnp.max(variances)", (BOUND,)),
    Mutant("separation: C_0 has the mean of the variances", "expansion_bound",
           "jnp.max(variances)", "jnp.mean(variances)", (BOUND,)),
    Mutant("separation: the bound has K in place of its square", "ExpansionBound.value",
           "self.count**2", "self.count", (BOUND,)),
    Mutant("separation: the threshold is inverted", "ExpansionBound.threshold",
           "self.count**2 * self.correction / (separation**2 * self.variance)",
           "separation**2 * self.variance / (self.count**2 * self.correction)", (BOUND,)),
    Mutant("separation: the splitting has the weights of fixed assignments alone", "splitting_form",
           'w + q if gradient == "full" else q', "q", (SPLITTING,)),
    Mutant("separation: the splitting multiplies by the temperature", "splitting_form",
           "2 / temperature", "2 * temperature", (SPLITTING,)),
    Mutant("residual readings: the directed part is not halved", "antisymmetric_part",
           "(found - found.T) / 2", "found - found.T", (FEATURES, DATA, TOKENS)),
    Mutant("residual readings: data are not averaged", "outside",
           "projection @ root @ m @ root @ projection / len(x)", "projection @ root @ m @ root @ projection", (DATA,)),
    Mutant("residual readings: tokens are projected on one side", "outside",
           "x @ projection @ m @ projection", "x @ projection @ m", (TOKENS,)),
    Mutant("residual readings: the root of the Gram matrix is the matrix", "square_root",
           "np.sqrt(np.maximum(values, 0.0))", "values", (DATA,)),
    Mutant("residual readings: the dominant value is the Frobenius norm", "dominant_value",
           "np.linalg.norm(found, 2)", "np.linalg.norm(found)", (FEATURES,)),
    Mutant("residual readings: released directions stay captured", "prune",
           '"retain"', '"release"', ("growing/equation-3/events",)),
    Mutant("growth: the bank of a new head replaces those of all heads", "grow",
           "placed(x.prototypes, slot, new_bank(grown, x, slot))",
           "placed(x.prototypes, slice(None), new_bank(grown, x, slot))", (KEPT,)),
    Mutant("growth: the temperature of a new head is that of all heads", "grow",
           "placed(x.cubes, slot, _first_cube(flow, x))", "placed(x.cubes, slice(None), _first_cube(flow, x))",
           (KEPT,)),
)
# fmt: on
