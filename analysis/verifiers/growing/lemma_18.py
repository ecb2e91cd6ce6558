"""Verify an instance that refutes Lemma 18 of "DDCL-INCRT".

Printed: for eta_P < 2 / L_P and eta_P < sqrt(phi''(0) / (L_P |grad Lq|^2)) the net gain of F_sep, after an expansion
that doubles the tokens' component along u and a step of the prototypes, is positive.

Instance. Tokens at +-a on a line, r at each, prototypes at +-v, T = h^2 / log b. The assignment of a token to its
prototype exceeds that to the other one by t = tanh y, y = 2 a v / T; the derivative of Lq by v at fixed assignments is
2 r (v - a t), and F_sep is 8 r^2 v^2 (1 - t^2)^2. The step is the one that takes v to v - shift; through the
assignments the derivative is another one, and another eta_P gives the same step.

Usage: python lemma_18.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "growing/lemma-18"
WITNESS = {"a": "3", "v": "20", "r": "2", "b": "121/120", "h": "1", "shift": "2"}


def tanh(a, v, b, h):
    """Return t = tanh y, y = 2 a v / T, at T = h^2 / log b: q of a token's own prototype less that of the other."""
    power = 4 * a * v / h**2
    if power.denominator != 1:
        raise ValueError("4 a v must be a multiple of h^2")
    weight = b ** int(power)
    return (weight - 1) / (weight + 1)


def logarithm(b):
    """Return bounds of log b, 1 < b <= 2: twice the series of atanh z, z = (b - 1) / (b + 1), cut after z^9."""
    z = (b - 1) / (b + 1)
    low = 2 * sum(z**k / k for k in (1, 3, 5, 7, 9))
    return low, low + 2 * z**11 / (11 * (1 - z * z))


def force(a, v, r, b, h):
    """Return F_sep = 8 r^2 v^2 (1 - t^2)^2."""
    return 8 * r**2 * v**2 * (1 - tanh(a, v, b, h) ** 2) ** 2


def conditions(a, v, r, b, h):
    """Return bounds: of L_P on the segment between +-v and 0 from above, and of phi''(0) from below; and |grad|^2."""
    low, high = logarithm(b)
    t, y = tanh(a, v, b, h), 2 * a * v * low / h**2
    L = max(2 * r, 4 * high / h**2 * r * (v * v + a * a) - 2 * r)
    return L, y * y * (20 * t * t - 4) * force(a, v, r, b, h), 2 * (2 * r * (v - a * t)) ** 2


def through_assignments(a, v, r, b, h):
    """Return bounds in the mode full: of L_P on that segment from above, and of the derivative of Lq by v from both.

    The derivative is 2 r (v - a t - a y (1 - t^2)). The Jacobian has the eigenvalues 2 r and 2 r (1 - (4 / T) c g(s y))
    with c = s^2 v^2 or a^2, 0 <= s <= 1, and g(x) = (1 - x tanh x) / cosh^2 x, which is at most 1, and at least -1/10
    since 4 (x - 1) e^(-2 x) <= 2 e^(-3). If y <= 1 it is not negative, and s^2 g(s y) <= 1 - t^2, as s / cosh(s y)
    increases.
    """
    low, high = logarithm(b)
    t, y = tanh(a, v, b, h), [2 * a * v * end / h**2 for end in (low, high)]
    mild, slack, per_square = y[1] <= 1, 1 - tanh(a, v, b, h) ** 2, 4 * high / h**2
    below = per_square * max(v * v * (slack if mild else 1), a * a) - 1
    above = Fraction(1) if mild else 1 + per_square * max(v, a) ** 2 / 10
    slope = [2 * r * (v - a * t - a * end * slack) for end in y]
    return 2 * r * max(above, below), slope[1], slope[0]


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    a, v, r, b, h, shift = (Fraction(witness[name]) for name in WITNESS)
    yield "a, v, r and T are positive, and v exceeds the shift", str(v), min(a, r, h, shift) > 0 and v > shift and b > 1
    eta = shift / (2 * r * (v - a * tanh(a, v, b, h)))
    L, second, square = conditions(a, v, r, b, h)
    yield "eta_P L_P is positive and below 2", float(eta * L), 0 < eta * L < 2
    yield (
        "phi''(0) exceeds eta_P^2 L_P |grad Lq|^2",
        float(second / (eta**2 * L * square)),
        second > eta**2 * L * square,
    )
    L, least, _ = through_assignments(a, v, r, b, h)
    yield "in the mode full: eta_P L_P is positive and below 2", float(shift / least * L), 0 < shift / least * L < 2
    yield (
        "phi''(0) exceeds eta_P^2 L_P |grad Lq|^2",
        float(second / (2 * shift * shift * L)),
        second > 2 * shift * shift * L,
    )
    gain = force(2 * a, v - shift, r, b, h) - force(a, v, r, b, h)
    yield "F_sep falls: the gain", float(gain), gain < 0


def main():
    """Print every check with OK or NOT; return 0 if all hold, 2 if the witness has other names, else 1."""
    given = json.loads(Path(sys.argv[1]).read_text()) if sys.argv[1:] else {"witness": WITNESS}
    witness = given.get("witness", given)  # a file of `dynsim check --witness` has more than the witness
    if not WITNESS.keys() <= witness.keys():
        print("the witness must have the names", ", ".join(WITNESS))
        return 2
    results = list(checks(witness))
    for what, value, fact in results:
        print("OK " if fact else "NOT", f"{what}: {value}")
    refuted = all(fact for _, _, fact in results)
    print(STATEMENT, "is refuted" if refuted else "is not refuted by this witness")
    return 0 if refuted else 1


if __name__ == "__main__":
    sys.exit(main())
