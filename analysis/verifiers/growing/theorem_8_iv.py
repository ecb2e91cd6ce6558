"""Verify an instance that refutes Theorem 8 (iv) of "DDCL-INCRT".

Printed: at every point of A* the architecture is minimal and sufficient.

Instance: a linear encoder at 0 with a regulariser, centred tokens, so that every embedding is 0, and M_a with the
values s_1, s_2 in two planes. Two heads, of two prototypes each: that of s_1 at b and b' along its direction, that of
s_2 at -a and a. Losses are means over tokens, and W = sum_h (L_q + lambda / |p_1 - p_2|^2) + R; at the distances a^2,
a^2 both assignments are 1/2 and dL_q/dp_k = p_k, whatever T. The derivative by the embeddings is the same for all
tokens, and so zero by the parameters of the encoder, as the tokens are centred.

The first head has S(P) below phi_g and is removed at once, its direction staying captured. What is left is at rest,
with sigma = 0 and distinct prototypes, in A*; nothing triggers growth. The residual outside its direction is s_1.
"""

from fractions import Fraction

STATEMENT = "growing/theorem-8-iv"
WITNESS = {
    "a": "1/2",
    "lambda": "1/4",
    "eta_P": "1/16",
    "first bank": ["1/4", "-1/8"],
    "phi_g": "1/2",
    "theta_w": "3/4",
    "values": ["5/4", "1"],
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    a, lam, eta, phi, theta = (Fraction(witness[k]) for k in ("a", "lambda", "eta_P", "phi_g", "theta_w"))
    (b, c), (s, r) = ([Fraction(v) for v in witness[k]] for k in ("first bank", "values"))
    yield "lambda - 2 eta_P C(2, 2), positive", str(lam - 2 * eta), lam > 2 * eta > 0
    yield "0 < phi_g < theta_w", f"{phi}, {theta}", 0 < phi < theta
    yield "s_1 > s_2 > theta_w: both heads are grown", f"{s}, {r}", s > r > theta
    yield "S of the first bank, positive and below phi_g", str((b - c) ** 2), 0 < (b - c) ** 2 < phi
    yield "its squared distances differ: sigma > 0", f"{b * b}, {c * c}", b * b != c * c
    yield "S of the second bank, at least phi_g", str(4 * a * a), 4 * a * a >= phi
    force = a - lam / (4 * a**3)
    yield "derivative of W by its prototypes", str(force), force == 0
    yield "residual without the first head, above theta_w", str(s), s > theta
