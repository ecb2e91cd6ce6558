"""Verify an instance that refutes a reading of Proposition 22 of "Attention is just another name for coupling?".

Printed: the slow variable changes at most once every P tokens. Read for the pooled sequence of Definition 3, whose tail
block is averaged over its real number of tokens, while tokens arrive one by one. (The context that tokens read, the
slow state of the previous block, does change only once per block if the slow attention is causal.)

Instance: the tail mean of the second block changes with every token that arrives in it.
"""

from fractions import Fraction

STATEMENT = "multirate/proposition-22/arrival"
WITNESS = {"tokens": [["1"], ["2"], ["3"], ["4"], ["5"], ["7"], ["8"]], "P": 4}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    x, P = [[Fraction(v) for v in row] for row in witness["tokens"]], int(witness["P"])
    yield "P >= 2, and the last block is begun and not complete", (len(x), P), P >= 2 and len(x) % P > 1
    mean = lambda block: [sum(column) / len(block) for column in zip(*block, strict=True)]
    pooled = [[mean(x[k : min(k + P, n)]) for k in range(0, n, P)] for n in range(len(x) + 1)]
    seen = pooled[len(x) // P * P :]
    changes = sum(a != b for a, b in zip(seen, seen[1:], strict=False))
    last = [[*map(str, row[-1])] for row in seen[1:]]
    yield f"the pooled token of the last block as {len(last)} < P tokens arrive", last, len(last) < P
    yield "the number of changes of the pooled sequence, more than one", changes, changes > 1
