"""Verify an instance that refutes Theorem 7 (v) of "DDCL-INCRT".

Printed: under (E1)-(E6) S(P_h) > 0 for every survivor h of a pruning at all later steps.

Instance. Tokens at +-a on a line, r at each, prototypes at +-v, T = h^2 / log b. The assignment of a token to its
prototype exceeds that to the other one by t = tanh y, y = 2 a v / T; the derivative of Lq by v at fixed assignments is
2 r (v - a t), and F_sep is 8 r^2 v^2 (1 - t^2)^2. After one step both prototypes are at 0. L_P is that of the segment
between the two banks; the gate's steps are eta+ / s. Through the assignments the derivative is another one, and
another eta_P, v over it, takes both prototypes to 0.

Usage: python theorem_7.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

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


def tanh(a, v, b, h):
    """Return t = tanh y, y = 2 a v / T, at T = h^2 / log b: q of a token's own prototype less that of the other."""
    power = 4 * a * v / h**2
    if power.denominator != 1:
        raise ValueError("4 a v must be a multiple of h^2")
    weight = b ** int(power)
    return (weight - 1) / (weight + 1)


def logarithm(b):
    """Return bounds of log b, 1 < b <= 2: twice the series of atanh z, z = (b - 1) / (b + 1), cut after z^9."""
    z = (b - 1) / (b + 1)
    low = 2 * sum(z**k / k for k in (1, 3, 5, 7, 9))
    return low, low + 2 * z**11 / (11 * (1 - z * z))


def force(a, v, r, b, h):
    """Return F_sep = 8 r^2 v^2 (1 - t^2)^2."""
    return 8 * r**2 * v**2 * (1 - tanh(a, v, b, h) ** 2) ** 2


def conditions(a, v, r, b, h):
    """Return bounds: of L_P on the segment between +-v and 0 from above, and of phi''(0) from below; and |grad|^2."""
    low, high = logarithm(b)
    t, y = tanh(a, v, b, h), 2 * a * v * low / h**2
    L = max(2 * r, 4 * high / h**2 * r * (v * v + a * a) - 2 * r)
    return L, y * y * (20 * t * t - 4) * force(a, v, r, b, h), 2 * (2 * r * (v - a * t)) ** 2


def through_assignments(a, v, r, b, h):
    """Return bounds in the mode full: of L_P on that segment from above, and of the derivative of Lq by v from both.

    The derivative is 2 r (v - a t - a y (1 - t^2)). The Jacobian has the eigenvalues 2 r and 2 r (1 - (4 / T) c g(s y))
    with c = s^2 v^2 or a^2, 0 <= s <= 1, and g(x) = (1 - x tanh x) / cosh^2 x, which is at most 1, and at least -1/10
    since 4 (x - 1) e^(-2 x) <= 2 e^(-3). If y <= 1 it is not negative, and s^2 g(s y) <= 1 - t^2, as s / cosh(s y)
    increases.
    """
    low, high = logarithm(b)
    t, y = tanh(a, v, b, h), [2 * a * v * end / h**2 for end in (low, high)]
    mild, slack, per_square = y[1] <= 1, 1 - tanh(a, v, b, h) ** 2, 4 * high / h**2
    below = per_square * max(v * v * (slack if mild else 1), a * a) - 1
    above = Fraction(1) if mild else 1 + per_square * max(v, a) ** 2 / 10
    slope = [2 * r * (v - a * t - a * end * slack) for end in y]
    return 2 * r * max(above, below), slope[1], slope[0]


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    a, v, r, b, h, eta, eta_T, gate, T_init, T_min, N_gate, N_min = (Fraction(witness[name]) for name in WITNESS)
    low, high = logarithm(b)
    yield "T_min < T = h^2 / log b < T_init", float(h * h / low), 0 < T_min < h * h / high and h * h / low < T_init
    t = tanh(a, v, b, h)
    sigma = (1 - t * t) * (2 * a * v) ** 2
    yield "(E1): eta_T over T_min^3 / (3 sigma)", float(eta_T * 3 * sigma / T_min**3), 0 < eta_T * 3 * sigma < T_min**3
    L, second, square = conditions(a, v, r, b, h)
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
    L, least, largest = through_assignments(a, v, r, b, h)
    yield "in the mode full: eta_P slope = v, with a slope of at least", float(least), 0 < least <= largest
    yield "(E2): eta_P L_P is below 2", float(v / least * L), v / least * L < 2
    yield "(E3): phi''(0) over eta_P^2 L_P |grad Lq|^2", float(second / (2 * v * v * L)), second > 2 * v * v * L
    yield (
        "(E5): eta_T / eta_P and eta_P / eta+ are at most 1/10",
        float(v / least / gate),
        10 * max(eta_T * largest / v, v / least / gate) <= 1,
    )


def main():
    """Print every check with OK or NOT; return 0 if all hold, 2 if the witness has other names, else 1."""
    given = json.loads(Path(sys.argv[1]).read_text()) if sys.argv[1:] else {"witness": WITNESS}
    witness = given.get("witness", given)  # a file of `dynsim check --witness` has more than the witness
    if not WITNESS.keys() <= witness.keys():
        print("the witness must have the names", ", ".join(WITNESS))
        return 2
    results = list(checks(witness))
    for what, value, fact in results:
        print("OK " if fact else "NOT", f"{what}: {value}")
    refuted = all(fact for _, _, fact in results)
    print(STATEMENT, "is refuted" if refuted else "is not refuted by this witness")
    return 0 if refuted else 1


if __name__ == "__main__":
    sys.exit(main())
