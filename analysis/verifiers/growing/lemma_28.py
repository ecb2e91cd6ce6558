"""Verify an instance that refutes Lemma 28 of "DDCL-INCRT".

Printed: the spectral order is the only one with the least residual energy for a given number of heads.

First instance: M_a with planes of coordinates (e_1, e_2), (e_3, e_4) and (e_5, e_6) of different values. Two heads that
take e_1, e_3 and two that take e_3, e_1 leave the same energy, which is the least. Second instance, for each number of
heads: M_a with planes of coordinates (e_1, e_2), (e_3, e_4) and (e_5, e_6), the first two of one value. Heads that
take e_1, e_3, e_5 and heads that take e_3, e_1, e_5 leave the same energies, which are the least: any k directions
leave at least 2 sum_{j > k} s_j^2, by interlacing.
"""

from fractions import Fraction

STATEMENT = "growing/lemma-28"
WITNESS = {"values": ["7/4", "7/4", "3/4"], "distinct values": ["9/4", "7/4", "3/4"]}


def energies(values, order):
    """The squared Frobenius norms of P M_a P after the planes of `order` lose one direction, one by one."""
    left, found = list(range(len(values))), []
    for plane in order:
        left.remove(plane)
        found.append(2 * sum(values[k] ** 2 for k in left))
    return found


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    s = [Fraction(v) for v in witness["distinct values"]]
    yield "different positive values", [str(v) for v in s], s[0] > s[1] > s[2] > 0
    (_, *one), (_, *other) = energies(s, (0, 1, 2)), energies(s, (1, 0, 2))
    least = [2 * sum(v * v for v in s[k:]) for k in (2, 3)]
    yield "energies of two and three heads, in both orders", [str(v) for v in other], one == other == least
    s = [Fraction(v) for v in witness["values"]]
    yield "values, positive and not increasing", [str(v) for v in s], s[0] >= s[1] > s[2] > 0
    one, other = energies(s, (0, 1, 2)), energies(s, (1, 0, 2))
    least = [2 * sum(v * v for v in s[k:]) for k in (1, 2, 3)]
    yield "energies of the first order", [str(v) for v in one], one == least
    yield "energies of the second order", [str(v) for v in other], other == least
