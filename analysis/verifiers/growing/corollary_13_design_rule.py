"""Verify an instance that refutes the last sentence of Corollary 13 of "DDCL-INCRT".

Printed: the coupling condition (55), C_1 eps_1 + C_2 eps_2 + C_3 eps_3 < c_0, holds under the design rule (61).

Instance: one free embedding at 0 with the regulariser 15 |z|^2, and prototypes at -a and a at rest, 4 a^2 / T = 1/2:
mu_theta = 31, L_theta = 32, |H|^2 = 2 (see corollary_12.py), fast gates, and D the gap of the planes. By Lemma 23
C_gate = C_0 / D^2 and C_1 = 2 eta_P C_gate |X|^2 L_P / D^2; C_2 = eta_P, and c_0 = eta_theta mu_theta.
"""

from fractions import Fraction

STATEMENT = "growing/corollary-13/design-rule"
WITNESS = {
    "C_0": "1",
    "L_P": "4",
    "D": "1/16",
    "eta_P": "1/32",
    "c_0": "1/3200",
    "eps_1": "3/131072000",
    "|X|^2": "4",
    "eta_T": "1/320000",
    "eta_theta": "1/99200",
    "mu_theta": "31",
    "|H|^2": "2",
    "L_theta": "32",
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    C0, L, D, eta, c0, eps, size, eta_T, slow, mu, cross, top = (Fraction(witness[k]) for k in WITNESS)
    yield "all numbers are positive", "", min(C0, L, D, eta, c0, eps, size, eta_T, slow, mu, cross, top) > 0
    yield "c_0 = eta_theta mu_theta", str(slow * mu), slow * mu == c0
    yield "(E2): eta_P L_P, below 2", str(eta * L), eta * L < 2
    bound = D**2 * c0 / (3 * C0 * L * size)
    yield "(61): eps_1, below its bound", f"{eps}, {bound}", eps < bound
    yield "(61): eta_T / eta_P, below c_0 / 3", f"{eta_T / eta}, {c0 / 3}", eta_T / eta < c0 / 3
    given, most = 9 * cross * (slow / eta) ** 2, (c0 * top) ** 2
    yield "(61): (3 |H| eta_theta / eta_P)^2, below (c_0 L_theta)^2", f"{given}, {most}", given < most
    first = 2 * eta * (C0 / D**2) * size * L / D**2 * eps
    yield "C_1 eps_1, at least c_0: (55) fails", f"{first}, {c0}", first >= c0
