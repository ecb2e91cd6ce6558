"""Verify an instance that refutes a reading of Definition 1 of "DDCL-INCRT".

Read: the directional loss |X P M_a P X^T|_F / |X M_a X^T|_F of tokens X is at most 1 for every projection P on the
complement of captured directions.

Instance: M_a has the entries (1, 2) = 1 and (1, 3) = t, the tokens are e_1 and e_2 - e_3, and e_3 is captured. Two
tokens interact through the one number x_1^T M_a x_2, and the ratio of the norms is that of its sizes.
"""

from fractions import Fraction

from analysis.verifiers.frames.linear_algebra import bilinear_form

STATEMENT = "growing/definition-1/tokens"
WITNESS = {"t": "1/2"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    t, zero, one = Fraction(witness["t"]), Fraction(0), Fraction(1)
    m = [[zero, one, t], [-one, zero, zero], [-t, zero, zero]]
    antisymmetric = all(m[i][j] == -m[j][i] for i in range(3) for j in range(3))
    yield "M_a is antisymmetric", antisymmetric, antisymmetric
    tokens = [[one, zero, zero], [zero, one, -one]]
    seen = [[x, y, zero] for x, y, _ in tokens]  # without the captured e_3

    before, after = abs(bilinear_form(tokens[0], m, tokens[1])), abs(bilinear_form(seen[0], m, seen[1]))
    yield "the tokens interact: |x_1^T M_a x_2|", before, before > 0
    yield "|x_1^T P M_a P x_2| is larger", after, after > before
