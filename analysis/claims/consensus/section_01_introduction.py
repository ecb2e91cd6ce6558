"""Claims on the misalignment E of (25), with which the abstract and Section 7 measure consensus."""

from fractions import Fraction
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.rational_instances import integers, rational_unit
from analysis.ledger.claim import certified
from analysis.ledger.evidence import Trial, agrees, holds
from analysis.tokens.consensus import diameter, min_inner_product, misalignment
from dynsim._core.types import Key

D = 3


def _misalignment_trial(key: Key, signs: bool, opposite: bool) -> Trial:
    """Measure, exactly, that E is not zero on rational unit tokens that do not all coincide, and E as it ships.

    Args:
        key: random key.
        signs: drop the absolute value in E.
        opposite: the tokens after the first are opposite to it; otherwise they are other random ones.
    """
    n = 2 + int(jax.random.randint(jax.random.fold_in(key, 2), (), 0, 3))
    first = rational_unit(key, D)
    others = [-first if opposite else rational_unit(jax.random.fold_in(key, 9 + i), D) for i in range(1, n)]
    tokens = np.stack([first, *others])
    products = [first @ y for y in tokens]
    size = 1 - sum((abs(p) for p in products), Fraction(0)) / n
    E = 1 - sum(products, Fraction(0)) / n if signs else size
    scales = integers(jax.random.fold_in(key, 3), (n, 1), 1, 9).astype(float)
    x = jnp.asarray(tokens.astype(float))
    widest = max(sum((y - z) ** 2) for y in tokens for z in tokens)
    least = min(y @ z for y in tokens for z in tokens)
    metric = np.array([1, 2, 4])  # the diagonal of another one
    least_in_it = min((y * metric) @ z for y in tokens for z in tokens)
    shipped = (
        agrees("E of (25) as it ships, for tokens of any lengths", misalignment(jnp.asarray(scales * x)), float(size)),
        agrees("the squared diameter as it ships", diameter(x) ** 2, float(widest)),
        agrees("the least inner product as it ships", min_inner_product(x), float(least)),
        agrees("that in a metric", min_inner_product(x, jnp.diag(jnp.asarray(metric, float))), float(least_in_it)),
    )
    return Trial(
        hypotheses=(
            holds("tokens are on the sphere, exactly", all(y @ y == 1 for y in tokens)),
            holds("the tokens do not all coincide", widest > 0),
        ),
        conclusions=(holds("E is not zero", E != 0), *shipped),
        witness={"tokens": tokens, "E": E},
        parameters={"n": n, "d": D, "tokens": "antipodal" if opposite else "in general position"},
    )


misalignment_vanishes_at_consensus_only = certified(
    "consensus/equation-25",
    statement="E of (25) becomes zero only when all tokens are located at the same configuration.",
    trial=partial(_misalignment_trial, signs=False, opposite=True),
    num_trials=4,
    note="E does not depend on the signs of tokens and vanishes for tokens y and -y; its sum is read from i = 1, since "
    "there is no y_0; no control: the corrected claim is measured by the same function",
)


@certified(
    "consensus/equation-25/corrected",
    control=partial(_misalignment_trial, signs=False, opposite=True),  # With the absolute value, for tokens y and -y.
)
def signed_misalignment_vanishes_at_consensus_only(key: Key) -> Trial:
    """E without the absolute value is zero only when all tokens coincide. Changed: the absolute value is dropped."""
    trials = [_misalignment_trial(key, True, opposite) for opposite in (True, False)]
    return Trial(
        hypotheses=tuple(m for t in trials for m in t.hypotheses),
        conclusions=tuple(m for t in trials for m in t.conclusions),
        witness=trials[1].witness,
        parameters=trials[1].parameters,
    )
