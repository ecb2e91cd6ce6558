"""Errors in the published flows and in the measures of their simulations, and the claims of `consensus` that notice."""

from tests.mutations.consensus_gradient import ENERGIES, SCHEDULES, mutant_of_consensus

PUBLISHED, DISTANCES = "dynsim.systems.tokens.published", "analysis.tokens.consensus"
SPAN_FORM = "dynsim.systems.tokens.span_form"

MUTANTS = (
    mutant_of_consensus(
        "published: |sin| without the modulus",
        SCHEDULES,
        "return jnp.abs(wave) if self.rectified else wave",
        "return wave",
        "experiment-7.4",
    ),
    mutant_of_consensus(
        "published: the least inner product in the Euclidean metric",
        DISTANCES,
        "else x @ metric @ x.T)",
        "else x @ x.T)",
        "experiment-7.1",
    ),
    mutant_of_consensus("published: a sign in P_1 of 7.2", PUBLISHED, "[-0.2312,", "[0.2312,", "experiment-7.2"),
    mutant_of_consensus("published: two digits in P of 7.1", PUBLISHED, "0.8450", "0.8540", "experiment-7.1"),
    mutant_of_consensus("published: a sign in U of 7.3", PUBLISHED, "-0.7174", "0.7174", "experiment-7.3"),
    mutant_of_consensus(
        "published: a frequency of 7.2",
        PUBLISHED,
        "np.array([3.0, 3.0, 2.0])",
        "np.array([3.0, 2.0, 2.0])",
        "experiment-7.2",
    ),
    mutant_of_consensus(
        "published: sine and cosine of D(t) exchanged",
        PUBLISHED,
        "np.array([math.pi / 2, 0.0, math.pi / 2])",
        "np.array([0.0, math.pi / 2, 0.0])",
        "experiment-7.2",
        "experiment-7.3",
    ),
    mutant_of_consensus(
        "published: P' of 7.4 from another interval",
        PUBLISHED,
        "minval=-0.5, maxval=0.5",
        "minval=-1.0, maxval=0.5",
        "experiment-7.4",
    ),
    mutant_of_consensus(
        "published: the least and not the largest 1 - v^T x_i",
        ENERGIES,
        "return jnp.max(1 - x @ axis)",
        "return jnp.min(1 - x @ axis)",
        "experiment-7.2",
    ),
    mutant_of_consensus(
        "published: the diameter is measured from the first token",
        DISTANCES,
        "jnp.max(jnp.linalg.norm(x[:, None] - x[None], axis=-1))",
        "jnp.max(jnp.linalg.norm(x[:1] - x, axis=-1))",
        "equation-25/corrected",
    ),
    mutant_of_consensus(
        "published: E without the absolute value",
        DISTANCES,
        "1 - jnp.mean(jnp.abs(unit @ unit[0]))",
        "1 - jnp.mean(unit @ unit[0])",
        "equation-25/corrected",
    ),
    mutant_of_consensus(
        "published: E without the lengths of tokens",
        DISTANCES,
        "unit = x / jnp.linalg.norm(x, axis=-1, keepdims=True)",
        "unit = x",
        "equation-25/corrected",
    ),
    mutant_of_consensus(
        "published: E leaves out the first token",
        DISTANCES,
        "1 - jnp.mean(jnp.abs(unit @ unit[0]))",
        "1 - jnp.mean(jnp.abs(unit[1:] @ unit[0]))",
        "equation-25/corrected",
    ),
    mutant_of_consensus(
        "published: the largest inner product for the least",
        DISTANCES,
        "return jnp.min(x @ x.T if metric is None",
        "return jnp.max(x @ x.T if metric is None",
        "equation-25/corrected",
    ),
    mutant_of_consensus(
        "published: the least distance from a point for the largest",
        DISTANCES,
        "jnp.max(jnp.linalg.norm(x - v[None], axis=-1))",
        "jnp.min(jnp.linalg.norm(x - v[None], axis=-1))",
        "experiment-7.3",
    ),
    mutant_of_consensus(
        "published: the largest decrease for the largest increase",
        "analysis.dynamics.monotone",
        "lowest = np.minimum.accumulate(values)",
        "lowest = np.maximum.accumulate(values)",
        "experiment-7.3",
    ),
    mutant_of_consensus(
        "published: the span form transposes the scores",
        SPAN_FORM,
        'jnp.einsum("ia,haj->hij", x, scores)',
        'jnp.einsum("ja,hai->hij", x, scores)',
        "experiment-7.4",
    ),
    mutant_of_consensus(
        "published: the span form drops the head factors",
        SPAN_FORM,
        "self.scale * self.factor, weights) @ x",
        "self.scale * self.factor**0 / 2, weights) @ x",
        "experiment-7.4",
    ),
    mutant_of_consensus(
        "published: phases of 7.4 have the key of the frequencies",
        PUBLISHED,
        "phase = jax.random.uniform(c, (heads, d), maxval=2 * math.pi)",
        "phase = jax.random.uniform(b, (heads, d), maxval=2 * math.pi)",
        "experiment-7.4",
    ),
)
