"""Errors in the token flow and its measures, and the claims of `consensus` that notice them."""

from tests.mutants import Mutant

MUTANTS = (
    Mutant(
        "consensus: the causal mask shows the next token",
        "dynsim.systems.tokens.masks",
        '"""Return a lower triangular matrix of ones."""\n        return jnp.tril(jnp.ones((n, n), bool))',
        '"""Return a lower triangular matrix of ones."""\n        return jnp.tril(jnp.ones((n, n), bool), 1)',
        ("consensus/equation-18-19",),
    ),
    Mutant(
        "consensus: the scores are transposed",
        "dynsim.systems.tokens.flow",
        "self.query_key.bilinear(t, x, x))",
        "self.query_key.bilinear(t, x, x).swapaxes(1, 2))",
        ("consensus/equation-18-19",),
    ),
)
