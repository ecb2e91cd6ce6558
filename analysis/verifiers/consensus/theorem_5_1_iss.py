"""Verify an instance that refutes a step in the proof of Theorem 5.1 of Rodriguez Abella, Silvestre and Tabuada.

Printed: V(a) = 2/3 - a + a^3/3, (17), is an ISS-Lyapunov function on (-1, 1] for the equilibrium a = 1 of (19), with
input e. Such a function decreases for e = 0 at least at a rate w(1 - a), with w continuous, w(0) = 0 and increasing.

Instance: a = -1 + d, d -> 0. For e = 0 the rate is -V' = r(t) (1 - a^2)^2 with r(t) <= r, a bound by Lemma 4.1, and
(1 - a^2)^2 = d^2 (2 - d)^2 <= 4 d^2. An increasing w would give w(1) <= w(1 - a) = w(2 - d) <= 4 r d^2 for all d in
(0, 1]; d -> 0 leaves w(1) <= 0, which is not so. For every candidate value w(1) / r of the list a d is found at which
the inequality fails.
"""

from fractions import Fraction

STATEMENT = "consensus/theorem-5.1-iss"
WITNESS = {"derivative of V": ["-1", "0", "1"], "w(1) / r": ["1", "1/1000", "1/1000000000000"]}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    p, q, r = map(Fraction, witness["derivative of V"])
    slope = lambda a: p + q * a + r * a * a
    yield (
        "dV/da at 0, 1/2 and 1, which agrees with (17)",
        [*map(str, map(slope, (0, Fraction(1, 2), 1)))],
        all(slope(a) == a * a - 1 for a in (0, Fraction(1, 2), 1)),
    )
    for bound in map(Fraction, witness["w(1) / r"]):
        d = Fraction(1)
        while 4 * d * d >= bound > 0:
            d /= 2
        a = d - 1
        yield (
            "a positive candidate w(1) / r, and 1 - a >= 1",
            (float(bound), float(1 - a)),
            bound > 0 and 1 <= 1 - a < 2,
        )
        rate = slope(a) ** 2
        yield "the rate / r at this a is smaller", float(rate), rate <= 4 * d * d < bound
