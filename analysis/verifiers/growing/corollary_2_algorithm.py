"""Verify an instance that refutes Corollary 2 of "DDCL-INCRT".

Read: in the Algorithm, where z_n = f_theta(x_n) does not depend on heads, growth amplifies the force of a
head that exists.

Instance: a head, and a second one that is added. The force (4) of each head is that of its own bank, temperature and
embeddings: that of the first head is the same before and after.
"""

from fractions import Fraction

from analysis.verifiers.frames.assignments import assignments, on_lattice
from analysis.verifiers.frames.linear_algebra import matrix
from analysis.verifiers.frames.separation import separation_force

STATEMENT = "growing/corollary-2/algorithm"
WITNESS = {"z": [["1", "0"], ["-1", "1"]], "banks": [[["1", "0"], ["-1", "0"]], [["0", "1"], ["0", "-1"]]], "b": "2"}


def forces_of(z, banks, b):
    """F_sep of all heads."""
    return [separation_force(assignments(z, p, b), p) for p in banks]


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    z, banks, b = matrix(witness["z"]), [matrix(p) for p in witness["banks"]], Fraction(witness["b"])
    yield "T = 1 / log b is positive, and coordinates are integers: b", b, on_lattice([z, *banks], b)
    before, after = forces_of(z, banks[:1], b), forces_of(z, banks, b)
    yield "the first head has a force", before[0], before[0] > 0
    yield (
        "there is one head before, and there are two after",
        (len(before), len(after)),
        (len(before), len(after)) == (1, 2),
    )
    yield "the force of the first head is the same", after[0], after[0] == before[0]
