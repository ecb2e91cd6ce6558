"""Expansions with prototypes on a line: the force falls, is concave, and the covariances C_k are negative."""

from fractions import Fraction

import numpy as np

from analysis.claims.growing.instances.expansions import BASES, D, Expansion, expanding, signed_permutation
from analysis.claims.prototype_banks import RationalBank
from analysis.claims.rational_instances import Exact, matrix
from analysis.ledger.evidence import Measurement, holds
from dynsim._core.types import Key
from dynsim.keys import numpy_rng

LINE = "The tokens are centred and have their largest variance along u."


def _tokens(rng: np.random.Generator, axes: Exact, steps: list[int]) -> Exact:
    """Return tokens at +-steps along the first axis, at random also at +-1 along the second, (2 steps, d)."""
    along = matrix([s * step for step in steps for s in (1, -1)])
    across = matrix([(-1) ** i for i in range(len(steps)) for _ in range(2)]) * int(min(steps) > 1 and rng.integers(2))
    return np.outer(along, axes[0]) + np.outer(across, axes[1])


def line_expansion(key: Key) -> Expansion:
    """Return three prototypes that differ along u alone, and four centred tokens."""
    rng = numpy_rng(key, "line")
    axes, first = signed_permutation(rng, D), int(rng.integers(-2, 1))
    steps = [first, first + int(rng.integers(1, 3)), 3]
    p = np.outer(matrix(steps), axes[0]) + int(rng.integers(-1, 2)) * axes[2]
    z = _tokens(rng, axes, [int(v) for v in rng.integers(2, 4, 2)])
    return expanding(key, RationalBank(z, p, Fraction(str(rng.choice(BASES))), name="line"), axes)


def symmetric_expansion(
    key: Key,
    *,
    projected: bool = False,
    hot: bool = False,
    strength: int | None = None,
    length: int | None = None,
    copies: int = 1,
) -> Expansion:
    """Return two prototypes at +-a u and four centred tokens, that have (`projected`: will gain) components along u.

    With `hot` the components are +-1, and the temperature is so high that x = exp(-4 a / T) > 2/5; a is `length`, by
    default 1 or 2. The tokens are repeated `copies` times.
    """
    rng = numpy_rng(key, "symmetric")
    axes = signed_permutation(rng, D)
    a = int(rng.integers(1, 3)) if length is None else length
    steps = [1, 1] if hot else [int(v) for v in rng.integers(2, 4, 2)]
    z = np.concatenate([_tokens(rng, axes, steps)] * copies)
    base = str(rng.choice({1: ["17/16", "9/8", "6/5"], 2: ["33/32", "17/16", "12/11"]}[a] if hot else BASES))
    p = np.outer(matrix([a, -a]), axes[0]) + int(rng.integers(-1, 2)) * axes[2]
    alpha = z @ axes[0]
    start = z - np.outer(alpha, axes[0]) if projected else z
    return expanding(key, RationalBank(start, p, Fraction(base), name="symmetric"), axes, alpha, strength)


def centred_bank(key: Key) -> Expansion:
    """Return random tokens whose projections on u sum to zero, and random prototypes that differ along u alone."""
    rng = numpy_rng(key, "centred")
    axes = signed_permutation(rng, D)
    z = matrix(rng.integers(-2, 3, (4, D)))
    z[0] = z[0] - np.sum(z @ axes[0]) * axes[0]
    steps = matrix(rng.choice(7, 3, replace=False) - 3)
    p = np.outer(steps, axes[0]) + matrix(rng.integers(-1, 2, (1, D))) * np.abs(axes[1] + axes[2])
    return expanding(key, RationalBank(z, p, Fraction(str(rng.choice(BASES))), name="centred"), axes)


def tilted_expansion(key: Key) -> Expansion:
    """Return prototypes at +-(u + 2 v) and tokens along u - v: those farther out along u prefer the one farther in."""
    rng = numpy_rng(key, "tilted")
    axes = signed_permutation(rng, D)
    along = matrix([1, -1, 2, -2]) * int(rng.integers(1, 3))
    z = np.outer(along, axes[0] - axes[1])
    p = np.outer(matrix([1, -1]), axes[0] + 2 * axes[1])
    return expanding(key, RationalBank(z, p, Fraction(str(rng.choice(BASES))), name="tilted"), axes)


def centred(at: Expansion) -> tuple[Measurement, ...]:
    """Measure that tokens are centred, and that no direction has a larger variance of theirs than u.

    The tokens are those with the components along u that the expansion gives or doubles.
    """
    across = at.bank.z - np.outer(at.bank.z @ at.u, at.u)
    tokens = across + np.outer(at.projections, at.u)
    gram = tokens.T @ tokens
    largest = at.u @ gram @ at.u
    return (
        holds("tokens are centred", not np.any(np.sum(tokens, axis=0))),
        holds("u is an eigenvector of X^T X", bool(np.all(gram @ at.u == largest * at.u))),
        holds("its eigenvalue is the largest", np.trace(gram) - largest < largest),
    )


def falling(at: Expansion) -> tuple[Measurement, ...]:
    """Measure that the products q_n1 q_n2 of the tokens of two prototypes at +-a u fall, at every temperature.

    With x = exp(-4 a |c_n| / T) in (0, 1] at the component c_n they are x / (1 + x)^2. They are 1/4 for c_n = 0, and
    less elsewhere. Where |c_n| doubles x becomes x^2, and (1 + x^2)^2 - x (1 + x)^2 = (1 - x)^2 (1 + x + x^2) > 0.
    """
    a, base = at.starred[0], at.bank.base
    components = [at.bank.z @ at.u, at.end.z @ at.u]
    x = [np.array([1 / base ** int(4 * abs(a * c)) for c in row], object) for row in components]
    products = [np.prod(bank.q, axis=1) for bank in (at.bank, at.end)]
    squares = np.polymul([1, 0, 1], [1, 0, 1]) - np.append(0, np.polymul([1, 0], np.polymul([1, 1], [1, 1])))
    return (
        holds("prototypes lie at +-a u", bool(np.all(at.bank.p[0] - at.bank.p[1] == 2 * a * at.u))),
        holds("q_1 q_2 = x / (1 + x)^2", all(np.all(q == v / (1 + v) ** 2) for q, v in zip(products, x, strict=True))),
        holds("tokens double their component, or gain it", bool(np.all((x[1] == x[0] ** 2) | (x[0] == 1)))),
        holds("no component stays", bool(np.all(x[1] < x[0]))),
        holds("the difference has its factors", list(squares) == list(np.polymul([1, -2, 1], [1, 1, 1]))),
    )
