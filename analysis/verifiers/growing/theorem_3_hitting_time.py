"""Verify an instance that refutes the hitting time in the proof of Theorem 3 of "DDCL-INCRT".

Printed: a local head reaches T_min by t* = (T_init^3 - T_min^3) / (3 eta_T sigma_0), sigma_0 being its initial
activity.

Instance: tokens +-c along the direction of a head with the prototypes +-a, losses averaged, gradients through the
assignments. With x = 2 a c / T, a' = -eta_P (a - c tanh x - c x / cosh^2 x) and sigma = 4 a^2 c^2 / cosh^2 x.

With x_0 the initial x and a_0 <= c x_0 / (1 + x_0) <= c tanh x_0, a does not fall below a_0 as T falls. sigma
increases with T, and decreases with a where x tanh x >= 1, so for all x >= x_0 if x_0^2 / (1 + x_0) >= 1. So sigma <
sigma_0 at all t > 0, and as T^3 falls at the rate 3 eta_T sigma, T_min is reached later than at t*. It is reached if
c^2 >= T_init, for then sigma is bounded below.

Usage: python theorem_3_hitting_time.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "growing/theorem-3-hitting-time"
WITNESS = {"c": ["2"], "a": "1", "T_init": "2", "T_min": "1", "eta_P": "1", "eta_T": "1/100"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    a, start, least, eta_P, eta_T = (Fraction(witness[n]) for n in ("a", "T_init", "T_min", "eta_P", "eta_T"))
    c = Fraction(witness["c"][0])
    yield "T_init > T_min > 0", (str(start), str(least)), start > least > 0
    yield "eta_T > 0, eta_P >= 0", (str(eta_T), str(eta_P)), eta_T > 0 and eta_P >= 0
    yield "the head is local: c^2 >= T_init", c**2, c > 0 and c**2 >= start
    yield "and c / 2 <= a <= 3 c / 2", a, c / 2 <= a <= 3 * c / 2

    x = 2 * a * c / start
    yield "a_0 <= c x_0 / (1 + x_0)", c * x / (1 + x), a <= c * x / (1 + x)
    yield "x_0^2 / (1 + x_0) >= 1", x**2 / (1 + x), x**2 / (1 + x) >= 1


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
