"""Verify an instance that refutes a reading of Remark 24 of "Attention is just another name for coupling?".

Printed: the RMSNorm already in the injection path bounds the context to the norm sqrt(d). Read for RMSNorm with a
trained gain g, c -> g c / sqrt(mean(c^2) + epsilon). (Without a gain, as at the start of training, the bound holds.)

Instance: a context along a coordinate whose gain is greater than one.
"""

from fractions import Fraction

STATEMENT = "multirate/remark-24-rmsnorm/gain"
WITNESS = {"gain": ["1", "1", "5/4", "1"], "context": ["0", "0", "7", "0"], "epsilon": "1/100000"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    gain, c = ([Fraction(v) for v in witness[name]] for name in ("gain", "context"))
    epsilon, d = Fraction(witness["epsilon"]), len(c)
    yield "epsilon > 0", epsilon, epsilon > 0
    square = sum((g * v) ** 2 for g, v in zip(gain, c, strict=True)) / (sum(v * v for v in c) / d + epsilon)
    yield f"the squared norm after RMSNorm, more than d = {d}", float(square), square > d
