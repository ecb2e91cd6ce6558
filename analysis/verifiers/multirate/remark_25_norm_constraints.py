"""Verify instances that refute a sentence of Remark 25 of "Attention is just another name for coupling?".

Printed: norm constraints (a state on a sphere, a doubly stochastic matrix) keep the fast subsystem bounded and
contractive. Read: the distance of any two states decreases. (They keep it bounded.)

Instance 1: x' = (I - x x^T) S x on the unit sphere, S diagonal, at two states x and z near e_1 or equal to it, an
unstable equilibrium: they move apart.
Instance 2: x' = M x - x with M doubly stochastic. M maps (1, ..., 1) to itself, so that two states that differ by it
keep their distance for all times.
"""

from fractions import Fraction

STATEMENT = "multirate/remark-25-norm-constraints"
WITNESS = {
    "S": ["-1", "1", "2"],
    "x": ["11/15", "2/3", "2/15"],
    "z": ["1", "0", "0"],
    "M": [["1/2", "1/2", "0"], ["1/4", "1/4", "1/2"], ["1/4", "1/4", "1/2"]],
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    S, x, z = ([Fraction(v) for v in witness[name]] for name in ("S", "x", "z"))
    velocities = []
    for name, y in (("x", x), ("z", z)):
        norm, q = sum(v * v for v in y), sum(s * v * v for s, v in zip(S, y, strict=True))
        yield f"{name} is on the unit sphere", norm, norm == 1
        velocities.append([(s - q) * v for s, v in zip(S, y, strict=True)])
        along = sum(v * f for v, f in zip(y, velocities[-1], strict=True))
        yield f"the constraint is kept: {name}.{name}'", along, along == 0
    gap, change = ([a - b for a, b in zip(*pair, strict=True)] for pair in ((x, z), velocities))
    growth = 2 * sum(a * b for a, b in zip(gap, change, strict=True))
    yield "they differ, and do not approach each other: (d/dt) |x - z|^2", growth, any(gap) and growth >= 0
    M = [[Fraction(v) for v in row] for row in witness["M"]]
    sums = [str(sum(row)) for row in M] + [str(sum(column)) for column in zip(*M, strict=True)]
    least = min(map(min, M))
    yield "M is doubly stochastic: sums of rows and columns", sums, {*sums} == {"1"} and least >= 0
    rate = [sum(row) - 1 for row in M]
    yield "derivative of a difference (1, ..., 1)", [*map(str, rate)], not any(rate)
