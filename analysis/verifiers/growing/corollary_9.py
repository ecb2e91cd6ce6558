"""Verify an instance that refutes Corollary 9 of "DDCL-INCRT".

Printed: the conditions (E1)-(E6) reduce to eta_T << eta_P << eta+ and N_min > max(N_gate, s*). Instance: rates with
ratios between 1/100 and 1/10 for which (E2), eta_P < 2 / L_P, fails.

Tokens at +-a on a line, r at each, prototypes at +-v, T = h^2 / log b. The assignment of a token to its prototype
exceeds that to the other one by t = tanh y, y = 2 a v / T; the derivative of Lq by v at fixed assignments is 2 r (v - a
t), and F_sep is 8 r^2 v^2 (1 - t^2)^2. Across the line the Jacobian of the gradient is 2 sum_n q_nk = 2 r, so that L_P
is at least 2 r.
"""

from fractions import Fraction

from analysis.verifiers.frames.two_prototypes import tanh

STATEMENT = "growing/corollary-9"
WITNESS = {"a": "3", "v": "20", "r": "2", "b": "121/120", "h": "1", "eta_P": "3/4", "eta_T": "1/100", "eta+": "10"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    a, v, r, b, h, eta, eta_T, gate = (Fraction(witness[name]) for name in WITNESS)
    ratios = eta_T / eta, eta / gate
    yield "ratios of rates", [*map(str, ratios)], all(Fraction(1, 100) <= x <= Fraction(1, 10) for x in ratios)
    t = tanh(a, v, b, h)
    across = 2 * r * ((1 + t) / 2 + (1 - t) / 2)
    yield "L_P is at least 2 r", str(across), across == 2 * r and min(a, v, r) > 0
    yield "(E2) fails: eta_P L_P is at least", str(eta * across), eta * across >= 2
    yield "a step enlarges what is across the line by", str(abs(1 - eta * across)), abs(1 - eta * across) >= 1
