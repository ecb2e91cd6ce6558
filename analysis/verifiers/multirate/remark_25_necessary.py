"""Verify an instance that refutes a sentence of Remark 25 of "Attention is just another name for coupling?".

Printed: norm constraints are necessary for a well-posed fast-slow reduction. Read: without a bound of the norm of the
fast state, there is no unique and attracting quasi-steady state for each y, or the reduced flow is not the limit of the
full one on bounded time intervals.

Instance: epsilon x' = y - x, y' = x, without any constraint. For each y the quasi-steady state x = y is unique and
attracts at the rate 1 / epsilon; the reduced flow is y' = y. With epsilon = d + d^2 the matrix ((-1/epsilon,
1/epsilon), (1, 0)) has the eigenvalues k = 1 / (1 + d) and s = -1 / d, with eigenvectors (k, 1) and (s, 1). Hence
y(t) = (1 - B) e^{k t} + B e^{s t} with |B| = |k - x_0| / (k - s) <= d (1 + |x_0|) for y_0 = 1, |k - 1| <= d: y(t) tends
to e^t on bounded intervals as d -> 0. All solutions but those with B = 1 are unbounded.

Usage: python remark_25_necessary.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "multirate/remark-25-necessary"
WITNESS = {"d": ["1", "1/10", "1/1000", "1/1000000"], "x_0": "5", "rate of the quasi-steady state": "-1"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    x0, rate = Fraction(witness["x_0"]), Fraction(witness["rate of the quasi-steady state"])
    yield "the quasi-steady state attracts: epsilon times its rate", rate, rate < 0
    for d in map(Fraction, witness["d"]):
        epsilon, k, s = d + d * d, 1 / (1 + d), -1 / d
        # rows of ((rate / epsilon, -rate / epsilon), (1, 0)) applied to (z, 1): (rate z - rate) / epsilon and z
        defects = [abs((rate * z - rate) / epsilon - z * z) for z in (k, s)]
        yield (
            f"epsilon = {epsilon}: (k, 1) and (s, 1) are eigenvectors: defects",
            [*map(str, defects)],
            not any(defects),
        )
        yield "k > 0 > s: the state is unbounded, and the line x = k y attracts", (str(k), str(s)), k > 0 > s
        B = (k - x0) / (k - s)
        yield (
            "|B| / d and (1 - k) / d, at most 1 + |x_0| and 1",
            (float(abs(B) / d), float((1 - k) / d)),
            (d > 0 and abs(B) <= d * (1 + abs(x0)) and 1 - k <= d),
        )


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
