"""Verify instances that refute a sentence of Remark 25 of "Attention is just another name for coupling?".

Printed: norm constraints (a state on a sphere, a doubly stochastic matrix) keep the fast subsystem bounded and
contractive. Read: the distance of any two states decreases. (They keep it bounded.)

Instance 1: x' = (I - x x^T) S x on the unit sphere, S diagonal, with its equilibrium e_1 and another point x of the
sphere. (d/dt) |x - e_1|^2 = -2 x_1' is positive: the two states move apart.
Instance 2: x' = M x - x with M doubly stochastic. M maps (1, ..., 1) to itself, so that two states that differ by it
keep their distance for all times.

Usage: python remark_25_norm_constraints.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "multirate/remark-25-norm-constraints"
WITNESS = {
    "S": ["-1", "1", "2"],
    "x": ["11/15", "2/3", "2/15"],
    "M": [["1/2", "1/2", "0"], ["1/4", "1/4", "1/2"], ["1/4", "1/4", "1/2"]],
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    S, x = ([Fraction(v) for v in witness[name]] for name in ("S", "x"))
    norm, q = sum(v * v for v in x), sum(s * v * v for s, v in zip(S, x, strict=True))
    yield "x is on the unit sphere", norm, norm == 1
    field = [(s - q) * v for s, v in zip(S, x, strict=True)]
    along = sum(v * f for v, f in zip(x, field, strict=True))
    yield "the constraint is kept: x.x'", along, along == 0
    yield "x and the equilibrium e_1 move apart: (d/dt) |x - e_1|^2", -2 * field[0], field[0] < 0
    M = [[Fraction(v) for v in row] for row in witness["M"]]
    sums = [str(sum(row)) for row in M] + [str(sum(column)) for column in zip(*M, strict=True)]
    yield "M is doubly stochastic: sums of rows and columns", sums, sums == ["1"] * 6 and min(map(min, M)) >= 0
    rate = [sum(row) - 1 for row in M]
    yield "derivative of a difference (1, 1, 1)", [*map(str, rate)], not any(rate)


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
