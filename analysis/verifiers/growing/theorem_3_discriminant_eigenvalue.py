"""Verify an instance that refutes a reading of Theorem 3 (3) of "DDCL-INCRT".

Read: sigma(0) is proportional to lambda_max(A_res) S(P)(0) for a new head whose first prototypes are +-lambda / 2
along its direction.

Instance: directed attention M_a with the entries (1, 3) = 1 and (3, 1) = -1, and f M_a: lambda is 1 and f, S(P) is
lambda^2. The tokens have the coordinates +-c along e_1, the squared distances of each differ by 2 lambda c, and at T
= spacing^2 / log b the two assignments are 1 and b^(-2 lambda c / spacing^2), over their sum.
"""

from fractions import Fraction

STATEMENT = "growing/theorem-3-discriminant/eigenvalue"
WITNESS = {"f": "2", "c": "1", "b": "2", "spacing": "1"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    f, c, b, h = (Fraction(witness[name]) for name in WITNESS)
    whole = (2 * c / h**2).denominator == 1 and (2 * f * c / h**2).denominator == 1
    yield (
        "f, c > 0, b > 1, and 2 c and 2 f c are multiples of spacing^2",
        (str(f), str(c), str(b)),
        min(f, c, h) > 0 and b > 1 and whole,
    )

    ratios = []
    for value in (Fraction(1), f):
        gap = 2 * value * c
        weight = b ** -int(gap / h**2)
        far = weight / (1 + weight)
        ratios.append(gap**2 * far * (1 - far) / value**3)
    yield "sigma(0) over lambda S(P)(0) differs", (str(ratios[0]), str(ratios[1])), ratios[0] != ratios[1]
