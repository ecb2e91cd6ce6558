"""Verify an instance that refutes Corollary 4 of "DDCL-INCRT".

Printed, as one of three properties that hold jointly under (A1), (A2'), (B1)-(B3), (C1): temperatures specialise, some
to T_min and some to values above it.

Instance: tokens (+-c_1, +-c_2), head h sees them along the axis h and has the prototypes +-a there, losses averaged,
gradients through the assignments. With x = 2 a c / T, a' = -eta_P (a - c tanh x - c x / cosh^2 x) and sigma = 4 a^2
c^2 / cosh^2 x for each head.

If c^2 >= T_init, then at a = c / 2 tanh x >= x / (1 + x) >= 1 / 2, so that a' > 0, and at a = 3 c / 2 x / cosh^2 x <
1 / 2, so that a' < 0. So a stays between, S(P) = 4 a^2 > 0, and sigma >= c^4 / cosh^2(3 c^2 / T_min) >= c^4 / 2^m, m
>= 9 c^2 / T_min, since e^2 < 8: the head reaches T_min by the time (T_init^3 - T_min^3) 2^m / (3 eta_T c^4).

The first bank may be tilted along the axis 2, +-(a, b): for tokens on the axis 1 both distances grow by b^2, so that
neither assignments nor sigma change, and (A2') holds.

Usage: python corollary_4.py [WITNESS.json]
"""

import json
import math
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "growing/corollary-4"
WITNESS = {"c": ["1", "2"], "a": "1", "T_init": "1", "T_min": "1/2", "eta_P": "1", "eta_T": "1/100"}


def ends_of_sigma(a, c, T):
    """Return a lower and an upper bound of 4 a^2 c^2 / cosh^2 x, by the Taylor polynomial and a bound of its rest.

    The terms from the last one on fall by more than a factor of two each, once 2 k (2 k - 1) >= 2 x^2.
    """
    x, size = 2 * a * c / T, 4 * a**2 * c**2
    term, polynomial, k = Fraction(1), Fraction(1), 0
    while k < 12 or 2 * k * (2 * k - 1) < 2 * x**2:
        k += 1
        term *= x**2 / (2 * k * (2 * k - 1))
        polynomial += term
    return size / (polynomial + term) ** 2, size / polynomial**2


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    a, start, least, eta_P, eta_T = (Fraction(witness[n]) for n in ("a", "T_init", "T_min", "eta_P", "eta_T"))
    sides = [Fraction(c) for c in witness["c"]]
    yield "T_init > T_min > 0", (str(start), str(least)), start > least > 0
    yield "eta_T > 0, eta_P >= 0", (str(eta_T), str(eta_P)), eta_T > 0 and eta_P >= 0
    yield "(B1): S(P) = 4 a^2 at first", 4 * a**2, a > 0
    (low, high), (lower, higher) = (ends_of_sigma(a, c, start) for c in sides)
    yield "(B3): sigma_1(0) and sigma_2(0) differ: bounds", [float(low), float(higher)], low > higher or lower > high
    for c in sides:
        yield "c^2 >= T_init: c", c, c > 0 and c**2 >= start
        yield "c / 2 <= a <= 3 c / 2", a, c / 2 <= a <= 3 * c / 2
        latest = (start**3 - least**3) * 2 ** math.ceil(9 * c**2 / least) / (3 * eta_T * c**4)
        yield "the head reaches T_min by the time", latest, latest > 0


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
