"""Verify an instance that refutes Theorem 7 (v) of "DDCL-INCRT".

Printed: under (E1)-(E6) S(P_h) > 0 for every survivor h of a pruning at all later steps.

Instance. Tokens at +-a on a line, r at each, prototypes at +-v, T = h^2 / log b. The assignment of a token to its
prototype exceeds that to the other one by t = tanh y, y = 2 a v / T; the derivative of Lq by v at fixed assignments is
2 r (v - a t), and F_sep is 8 r^2 v^2 (1 - t^2)^2. After one step both prototypes are at 0. L_P is that of the segment
between the two banks; the gate's steps are eta+ / s. Through the assignments the derivative is another one, and
another eta_P, v over it, takes both prototypes to 0.
"""

from fractions import Fraction

from analysis.verifiers.frames.logarithms import logarithm
from analysis.verifiers.frames.two_prototypes import step_conditions, step_conditions_in_full, tanh

STATEMENT = "growing/theorem-7"
WITNESS = {
    "a": "10/21",
    "v": "21/20",
    "r": "2",
    "b": "15/8",
    "h": "1",
    "eta_P": "18207/54428",
    "eta_T": "1/1000",
    "eta+": "10",
    "T_init": "2",
    "T_min": "1",
    "N_gate": "10",
    "N_min": "1000000",
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    a, v, r, b, h, eta, eta_T, gate, T_init, T_min, N_gate, N_min = (Fraction(witness[name]) for name in WITNESS)
    low, high = logarithm(b, 5)
    yield "T_min < T = h^2 / log b < T_init", float(h * h / low), 0 < T_min < h * h / high and h * h / low < T_init
    t = tanh(a, v, b, h)
    sigma = (1 - t * t) * (2 * a * v) ** 2
    yield "(E1): eta_T over T_min^3 / (3 sigma)", float(eta_T * 3 * sigma / T_min**3), 0 < eta_T * 3 * sigma < T_min**3
    L, second, square = step_conditions(a, v, r, b, h)
    yield "(E2): eta_P L_P is below 2", float(eta * L), 0 < eta * L < 2
    yield (
        "(E3): phi''(0) over eta_P^2 L_P |grad Lq|^2",
        float(second / (eta**2 * L * square)),
        second > eta**2 * L * square,
    )
    yield (
        "(E4) and (E5): eta_T / eta_P and eta_P / eta+ are at most 1/10",
        str(eta / gate),
        10 * max(eta_T / eta, eta / gate) <= 1,
    )
    wait = (T_init**3 - T_min**3) / (3 * eta_T * sigma / 10) + 2
    yield "(E6) with sigma_0 = sigma / 10: N_min exceeds", float(max(N_gate, wait)), max(N_gate, wait) < N_min
    yield "S(P) > 0 before the step", str(4 * v * v), v > 0
    after = v - eta * 2 * r * (v - a * t)
    yield "both prototypes are at one point after it", str(after), after == 0
    L, least, largest = step_conditions_in_full(a, v, r, b, h)
    yield "in the mode full: eta_P slope = v, with a slope of at least", float(least), 0 < least <= largest
    yield "(E2): eta_P L_P is below 2", float(v / least * L), v / least * L < 2
    yield "(E3): phi''(0) over eta_P^2 L_P |grad Lq|^2", float(second / (2 * v * v * L)), second > 2 * v * v * L
    yield (
        "(E5): eta_T / eta_P and eta_P / eta+ are at most 1/10",
        float(v / least / gate),
        10 * max(eta_T * largest / v, v / least / gate) <= 1,
    )
