"""Verify an instance that refutes a sentence in the proof of Proposition 4 of "DDCL-Attention".

Printed: Sigma_q = sum_n (diag(q_n) - q_n q_n^T) is zero only if all tokens are assigned to a single prototype.

Instance: two tokens, each assigned to a prototype of its own. (Such assignments are limits as T -> 0, of which the
proof speaks; at T > 0 no assignment is zero.)
"""

from analysis.verifiers.frames.assignments import covariance
from analysis.verifiers.frames.linear_algebra import matrix

STATEMENT = "prototypes/proposition-4-sigma"
WITNESS = {"q": [["1", "0"], ["0", "1"]]}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    q = matrix(witness["q"])
    yield "rows are assignments: their sums", [str(sum(row)) for row in q], all(sum(row) == 1 for row in q)
    yield "assignments are not negative", min(map(min, q)), min(map(min, q)) >= 0
    sigma = covariance(q)
    yield "Sigma_q", [[*map(str, row)] for row in sigma], not any(v for row in sigma for v in row)
    single = [all(row[k] == 1 for row in q) for k in range(len(q[0]))]
    yield "all tokens assigned to prototype k", single, not any(single)
