"""Verify an instance that refutes Lemma 25 of "DDCL-INCRT".

Printed: T_inf^(1) <= T_inf^(2) for heads in the order of their values.

Instance: M_a with the planes (e_1, e_2) and (e_3, e_4) of values 2 and 1, tokens at -z and z on e_3, banks at -p and p
on e_1 (first head) and on e_3 (second), which stay symmetric. The first has equal distances p^2 + z^2 from each token,
so that sigma = 0 and T = T_init for ever. For the second p' = eta (-p + v z + lambda / (4 p^3)), losses as means over
tokens, with v = tanh(x/2) + x / (2 cosh^2(x/2)), x = 4 z p / T; 0 <= v <= 3/2, since cosh^2(x/2) >= 1 + x^2/4. sigma
>= (4 z p)^2 / (4 e^x) > 0 until T = T_min, which it therefore reaches.

Usage: python lemma_25.py [WITNESS.json]
"""

import json
import math
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "growing/lemma-25"
WITNESS = {
    "z": "7/8",
    "lambda": "4",
    "least p": "1/2",
    "largest p": "2",
    "T_min": "1/4",
    "T_init": "1",
    "values": ["2", "1"],
    "first bank": "e_1",
}


def interval(witness):
    """Yield the checks that an interval is invariant under p' = eta (-p + v z + lambda / (4 p^3)), 0 <= v <= 3/2."""
    z, lam, low, high = (Fraction(witness[k]) for k in ("z", "lambda", "least p", "largest p"))
    yield "0 < least p < largest p, z > 0", f"{low}, {high}, {z}", 0 < low < high and z > 0
    yield "p' / eta at the least p, at least, positive", str(lam / (4 * low**3) - low), lam / (4 * low**3) > low
    most = lam / (4 * high**3) + 3 * z / 2 - high
    yield "p' / eta at the largest p, at most, negative", str(most), most < 0


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    yield from interval(witness)
    z, low, high = (Fraction(witness[k]) for k in ("z", "least p", "largest p"))
    first, second = (Fraction(v) for v in witness["values"])
    yield "values of the pairs, in descending order", f"{first}, {second}", first > second > 0
    token, bank = (0, 0, z, 0), [(low, 0, 0, 0), (-low, 0, 0, 0)]
    if witness["first bank"] != "e_1":
        bank = [(0, 0, low, 0), (0, 0, -low, 0)]
    d = [sum((x - y) ** 2 for x, y in zip(token, p, strict=True)) for p in bank]
    yield "difference of the distances of a token in the first head", str(d[0] - d[1]), d[0] == d[1]
    coldest, hot = Fraction(witness["T_min"]), Fraction(witness["T_init"])
    sigma = (4 * z * low) ** 2 / (4 * 3 ** math.ceil(4 * z * high / coldest))
    yield "sigma of the second head, at least, positive", str(sigma), sigma > 0
    yield "T_inf^(1) - T_inf^(2), positive", str(hot - coldest), hot > coldest > 0


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
