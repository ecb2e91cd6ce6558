"""Verify an instance that refutes a reading of Section 8 of "Attention is just another name for coupling?".

Printed: exact lumpability of a Markov chain requires the Kemeny-Snell conditions. Read: if the blocks are a Markov
chain for some initial distribution, the conditions hold. (For all initial distributions they are necessary.)

Instance: three states, blocks {1, 2} and {3}, a column-stochastic M and an initial distribution p that is uniform
within the blocks. M maps the uniform distribution on each block to one that is uniform within the blocks: given any
path of blocks, the state remains uniform within the last block, and the next block has probabilities that depend on the
last one only. But states 1 and 2 reach block {3} with different probabilities, which the conditions exclude.
"""

from fractions import Fraction

STATEMENT = "multirate/claim-lumpability/one-start"
WITNESS = {"M": [["1/8", "1/2", "1/4"], ["3/8", "1/4", "1/4"], ["1/2", "1/4", "1/2"]], "p": ["1/4", "1/4", "1/2"]}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    M, p = [[Fraction(v) for v in row] for row in witness["M"]], [Fraction(v) for v in witness["p"]]
    sums = [str(sum(row[j] for row in M)) for j in range(3)]
    least = min(v for row in M for v in row)
    yield "columns of M sum to one, entries are positive", (sums, str(least)), sums == ["1"] * 3 and least > 0
    yield "p is a distribution, uniform within the blocks", witness["p"], sum(p) == 1 and min(p) >= 0 and p[0] == p[1]
    for block in ([0, 1], [2]):
        image = [sum(row[j] for j in block) / len(block) for row in M]
        yield (
            f"the image of the uniform distribution on states {[i + 1 for i in block]} is uniform within the blocks",
            ([*map(str, image)]),
            image[0] == image[1],
        )
    exits = M[2][0], M[2][1]
    yield "probabilities of block {3} from states 1 and 2, which differ", [*map(str, exits)], exits[0] != exits[1]
