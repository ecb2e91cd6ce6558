"""Verify an instance that refutes Lemma 18 of "DDCL-INCRT".

Printed: for eta_P < 2 / L_P and eta_P < sqrt(phi''(0) / (L_P |grad Lq|^2)) the net gain of F_sep, after an expansion
that doubles the tokens' component along u and a step of the prototypes, is positive.

Instance. Tokens at +-a on a line, r at each, prototypes at +-v, T = h^2 / log b. The assignment of a token to its
prototype exceeds that to the other one by t = tanh y, y = 2 a v / T; the derivative of Lq by v at fixed assignments is
2 r (v - a t), and F_sep is 8 r^2 v^2 (1 - t^2)^2. The step is the one that takes v to v - shift; through the
assignments the derivative is another one, and another eta_P gives the same step.
"""

from fractions import Fraction

from analysis.verifiers.frames.two_prototypes import pair_force, step_conditions, step_conditions_in_full, tanh

STATEMENT = "growing/lemma-18"
WITNESS = {"a": "3", "v": "20", "r": "2", "b": "121/120", "h": "1", "shift": "2"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    a, v, r, b, h, shift = (Fraction(witness[name]) for name in WITNESS)
    yield "a, v, r and T are positive, and v exceeds the shift", str(v), min(a, r, h, shift) > 0 and v > shift and b > 1
    eta = shift / (2 * r * (v - a * tanh(a, v, b, h)))
    L, second, square = step_conditions(a, v, r, b, h)
    yield "eta_P L_P is positive and below 2", float(eta * L), 0 < eta * L < 2
    yield (
        "phi''(0) exceeds eta_P^2 L_P |grad Lq|^2",
        float(second / (eta**2 * L * square)),
        second > eta**2 * L * square,
    )
    L, least, _ = step_conditions_in_full(a, v, r, b, h)
    yield "in the mode full: eta_P L_P is positive and below 2", float(shift / least * L), 0 < shift / least * L < 2
    yield (
        "phi''(0) exceeds eta_P^2 L_P |grad Lq|^2",
        float(second / (2 * shift * shift * L)),
        second > 2 * shift * shift * L,
    )
    gain = pair_force(2 * a, v - shift, r, b, h) - pair_force(a, v, r, b, h)
    yield "F_sep falls: the gain", float(gain), gain < 0
