"""Verify an instance that refutes Definition 4.1 of Rodriguez Abella, Silvestre and Tabuada as printed.

Printed: the upper Dini derivative of a continuous f is limsup_{tau -> t+} (f(t + tau) - f(t)) / tau; it is the
derivative of f where f is differentiable. (Meant is tau -> 0+.)

Instance: a parabola f and t > 0. The quotient is continuous in tau at tau = t > 0, so that the printed limit is its
value there, (f(2 t) - f(t)) / t, and not f'(t).
"""

from fractions import Fraction

STATEMENT = "consensus/definition-4.1"
WITNESS = {"coefficients of 1, s, s^2": ["0", "0", "1"], "t": "1"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    (a, b, c), t = map(Fraction, witness["coefficients of 1, s, s^2"]), Fraction(witness["t"])
    f = lambda s: a + b * s + c * s * s
    yield "t > 0", t, t > 0
    printed, slope = (f(2 * t) - f(t)) / t, b + 2 * c * t
    yield "the printed limit less the derivative f'(t)", printed - slope, printed != slope
