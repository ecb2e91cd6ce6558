"""Verify an instance that refutes Definition 4.1 of Rodriguez Abella, Silvestre and Tabuada as printed.

Printed: the upper Dini derivative of a continuous f is limsup_{tau -> t+} (f(t + tau) - f(t)) / tau; it is the
derivative of f where f is differentiable. (Meant is tau -> 0+.)

Instance: a parabola f and t > 0. The quotient is continuous in tau at tau = t > 0, so that the printed limit is its
value there, (f(2 t) - f(t)) / t, and not f'(t).

Usage: python definition_4_1.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "consensus/definition-4.1"
WITNESS = {"coefficients of 1, s, s^2": ["0", "0", "1"], "t": "1"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    (a, b, c), t = map(Fraction, witness["coefficients of 1, s, s^2"]), Fraction(witness["t"])
    f = lambda s: a + b * s + c * s * s
    yield "t > 0", t, t > 0
    printed, slope = (f(2 * t) - f(t)) / t, b + 2 * c * t
    yield "the printed limit less the derivative f'(t)", printed - slope, printed != slope


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
