"""Errors in the read-out layer and in quantisers, and the claims of `prototypes` that notice them."""

from tests.mutants import Mutant

QUANTISERS = "dynsim.networks.prototypes.quantisers"
LAYER = "dynsim.networks.prototypes.layer"
ASSIGNMENTS = "dynsim.systems.prototypes.assignments"
LARGEST = "prototypes/remark-3-formula/largest"
ALIKE = "prototypes/experiment-7.4-utilisation/corrected"
OUTPUT = "prototypes/remark-1"
HEADS = "prototypes/claim-multihead/corrected"

MUTANTS = (
    Mutant(
        "quantisers: the straight-through output moves the codes",
        QUANTISERS,
        "z + constant(chosen - z)",
        "z + chosen - constant(z)",
        (LARGEST,),
    ),
    Mutant(
        "quantisers: the farthest code is chosen",
        QUANTISERS,
        "jnp.argmin(pairwise_distances",
        "jnp.argmax(pairwise_distances",
        (LARGEST,),
    ),
    Mutant(
        "quantisers: the codebook loss is taken for every code",
        QUANTISERS,
        "codebook = jnp.sum((constant(z) - chosen) ** 2)",
        "codebook = jnp.sum(pairwise_distances(constant(z), p))",
        (LARGEST,),
    ),
    Mutant(
        "quantisers: usage is counted for embeddings",
        QUANTISERS,
        "return jnp.sum(assignments, axis=0)",
        "return jnp.sum(assignments, axis=1)",
        (LARGEST,),
    ),
    Mutant(
        "quantisers: the temperature multiplies distances",
        QUANTISERS,
        "q = jax.nn.softmax(-d / T, axis=-1)",
        "q = jax.nn.softmax(-d * T, axis=-1)",
        (ALIKE,),
    ),
    Mutant(
        "utilisation: the threshold is 1 / 64",
        ASSIGNMENTS,
        "threshold: float = 0.01",
        "threshold: float = 0.015625",
        (ALIKE,),
    ),
    Mutant(
        "utilisation: a prototype that some embedding uses counts",
        ASSIGNMENTS,
        "(jnp.mean(q, axis=0) > threshold)",
        "(jnp.max(q, axis=0) > threshold)",
        (ALIKE,),
    ),
    Mutant(
        "layer: distances from the origin forget the prototypes' squares",
        LAYER,
        "squares = jnp.sum(z**2, axis=1)[:, None] + jnp.sum(p**2, axis=1)[None]",
        "squares = jnp.sum(z**2, axis=1)[:, None] + 0 * jnp.sum(p**2, axis=1)[None]",
        (HEADS, LARGEST),
    ),
    Mutant(
        "layer: assignments forget the prototypes' squares",
        LAYER,
        "(jnp.sum(p**2, axis=1) / temperature)",
        "0 * (jnp.sum(p**2, axis=1) / temperature)",
        (OUTPUT, HEADS),
    ),
    Mutant(
        "layer: assignments count the products once",
        LAYER,
        "z @ (p * (2 / temperature)).T",
        "z @ (p * (1 / temperature)).T",
        (OUTPUT, HEADS),
    ),
    Mutant(
        "layer: the variance is that of embeddings about prototypes",
        LAYER,
        "spread = jnp.sum(q * pairwise_distances(mu, p))",
        "spread = jnp.sum(q * pairwise_distances(z, p))",
        (HEADS,),
    ),
    Mutant(
        "layer: a head reads the projection of the next",
        LAYER,
        'jnp.einsum("hwm,nm->hnw", self.projections, z)',
        'jnp.einsum("hwm,nm->hnw", self.projections[::-1], z)',
        (HEADS,),
    ),
)
