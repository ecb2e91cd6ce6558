"""Errors in the read-out layer and in quantisers, and the claims of `prototypes` that notice them."""

from tests.quality.mutants import Mutant

LARGEST = "prototypes/remark-3-formula/largest"
ALIKE = "prototypes/experiment-7.4-utilisation/corrected"
OUTPUT = "prototypes/remark-1"
HEADS = "prototypes/claim-multihead/corrected"

# fmt: off
MUTANTS = (
    Mutant("quantisers: the straight-through output moves the codes", "HardQuantiser.__call__",
           "z + constant(chosen - z)", "z + chosen - constant(z)", (LARGEST,)),
    Mutant("quantisers: the farthest code is chosen", "HardQuantiser.__call__", "jnp.argmin", "jnp.argmax", (LARGEST,)),
    Mutant("quantisers: the codebook loss is taken for every code", "HardQuantiser.__call__",
           "(constant(z) - chosen) ** 2", "pairwise_distances(constant(z), p)", (LARGEST,)),
    Mutant("quantisers: usage is counted for embeddings", "usage", "axis=0", "axis=1", (LARGEST,)),
    Mutant("quantisers: the temperature multiplies distances", "SoftQuantiser.__call__", "-d / T", "-d * T", (ALIKE,)),
    Mutant("utilisation: the threshold is 1 / 64", "utilisation", "threshold=0.01", "threshold=0.015625", (ALIKE,)),
    Mutant("utilisation: a prototype that some embedding uses counts", "utilisation",
           "jnp.mean(q, axis=0)", "jnp.max(q, axis=0)", (ALIKE,)),
    Mutant("layer: distances from the origin forget the prototypes' squares", "pairwise_distances",
           "jnp.sum(p**2, axis=1)[None]", "0 * jnp.sum(p**2, axis=1)[None]", (HEADS, LARGEST)),
    Mutant("layer: assignments forget the prototypes' squares", "soft_assignments",
           "(jnp.sum(p**2, axis=1) / temperature)[None]", "0 * (jnp.sum(p**2, axis=1) / temperature)[None]",
           (OUTPUT, HEADS)),
    Mutant("layer: assignments count the products once", "soft_assignments",
           "2 / temperature", "1 / temperature", (OUTPUT, HEADS)),
    Mutant("layer: the variance is that of embeddings about prototypes", "_losses",
           "pairwise_distances(mu, p)", "pairwise_distances(z, p)", (HEADS,)),
    Mutant("layer: a head reads the projection of the next", "PrototypeReadout.heads",
           'jnp.einsum("hwm,nm->hnw", self.projections, z)', 'jnp.einsum("hwm,nm->hnw", self.projections[::-1], z)',
           (HEADS,)),
)
# fmt: on
