"""Verify an instance that refutes Theorem 1 of "DDCL-Attention".

Printed: under (i)-(iv) and for small eps the coupled system has a locally exponentially stable equilibrium with
distinct prototypes.

Instance: free embeddings, gradients at fixed assignments, T = 1 / log 2 at the integer points of the witness. For
every state theta . grad_theta + P . grad_P = 2 L_q, which is positive unless all prototypes coincide with all
embeddings: no state with distinct prototypes is an equilibrium, whatever eps. In either mode the gradient does not
change under a common translation, so that no equilibrium is isolated. The hypotheses hold near two embeddings at +-a
with both prototypes at 0 and T > 2 a^2: L_q is smooth; mu_P / eta_P is the least of 2 and 2 - 4 a^2 / T; the
effective loss is sum |z - mean z|^2, whose Hessian is at most L = 2.
"""

from fractions import Fraction

from analysis.verifiers.frames.linear_algebra import frobenius_product, integer_matrix
from analysis.verifiers.frames.losses import loss_and_gradients

STATEMENT = "prototypes/theorem-1"
WITNESS = {
    "z": [["1", "0"], ["-1", "1"], ["0", "2"], ["2", "-1"]],
    "p": [["1", "1"], ["-1", "0"], ["0", "-1"]],
    "shift": "3",
    "a": "1",
    "T": "3",
    "eps": "1/10",
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    z, p, shift = integer_matrix(witness["z"]), integer_matrix(witness["p"]), Fraction(witness["shift"])
    a, T, epsilon = (Fraction(witness[k]) for k in ("a", "T", "eps"))
    mu = min(Fraction(2), 2 - 4 * a * a / T)
    yield "(ii) mu_P / eta_P, positive", str(mu), mu > 0
    yield "(iv) eps, below mu_P / L", str(epsilon), 0 < epsilon < mu / 2
    yield "the prototypes are distinct", witness["p"], len({tuple(c) for c in p}) == len(p)
    loss, by_z, by_p = loss_and_gradients(z, p)
    total = frobenius_product(z, by_z) + frobenius_product(p, by_p)
    yield "theta . grad_theta + P . grad_P - 2 L_q", str(total - 2 * loss), total == 2 * loss
    yield "L_q, positive", float(loss), loss > 0
    moved = loss_and_gradients([[x + shift for x in row] for row in z], [[x + shift for x in row] for row in p])
    yield "the gradient after a translation is the same", shift, shift != 0 and moved == (loss, by_z, by_p)
