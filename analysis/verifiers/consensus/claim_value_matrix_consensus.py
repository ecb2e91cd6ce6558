"""Verify an instance that refutes a claim of the abstract of Rodriguez Abella, Silvestre and Tabuada.

Printed: all results point to the same conclusion, all tokens asymptotically converge to each other. Read for the model
(21) of Section 6, outside the hemispheres of Theorem 6.1: U symmetric with a simple top eigenvalue lambda > 0, P
bounded, almost every initial condition.

Instance: two tokens on a sphere, P = 0, U = diag(lambda, mu, ..., mu) with mu < 0 < lambda. With y_i = (b_i, w_i) and
r_i = |w_i|, the open set b_1 > 0, r_1 < delta, b_2 < 0, r_2 < eta is never left, and the tokens stay far apart on it.

Argument. With P = 0 all weights of a token are equal; alpha is that of token 1 or 2.
Token 1: (r_1^2)' = 2 alpha (mu - y_1.U y_1) r_1^2 = 2 alpha (mu - lambda) b_1^2 r_1^2 <= 0: r_1 stays below delta, and
b_1 = sqrt(1 - r_1^2) does not change its sign, hence b_1 > sqrt(1 - delta^2).
Token 2: (r_2^2)' / (2 alpha) = mu b_2^2 (w_2.w_1 + r_2^2) - lambda b_2 (b_1 + b_2) r_2^2. At r_2 = eta, with
beta = sqrt(1 - eta^2) = -b_2, b_1 <= 1 and w_2.w_1 >= -eta delta, this is at most
    mu beta^2 (eta^2 - eta delta) + lambda beta (1 - beta) eta^2 < 0,
so that r_2 stays below eta and b_2 < -beta. Then |y_1 - y_2| >= b_1 - b_2 > sqrt(1 - delta^2) + beta for all t.
"""

from fractions import Fraction

STATEMENT = "consensus/claim-value-matrix-consensus"
# delta and eta with their cosines sqrt(1 - delta^2) and sqrt(1 - eta^2)
WITNESS = {"lambda": "1", "mu": "-3", "delta": ["7/25", "24/25"], "eta": ["3/5", "4/5"]}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    lam, mu = Fraction(witness["lambda"]), Fraction(witness["mu"])
    (delta, near), (eta, beta) = ([Fraction(x) for x in witness[name]] for name in ("delta", "eta"))
    yield "the top eigenvalue lambda is simple and positive", lam, mu < lam and lam > 0
    yield "the other eigenvalue mu is negative", mu, mu < 0
    yield "delta^2 + cosine^2", delta**2 + near**2, delta**2 + near**2 == 1 and delta > 0 < near
    yield "eta^2 + cosine^2", eta**2 + beta**2, eta**2 + beta**2 == 1 and eta > 0 < beta
    yield "delta < eta, the sign with which mu < 0 is bounded", eta - delta, delta < eta
    rate = mu * beta**2 * (eta**2 - eta * delta) + lam * beta * (1 - beta) * eta**2
    yield "bound of (r_2^2)' / (2 alpha) at r_2 = eta", rate, rate < 0
    yield "lower bound of |y_1 - y_2| for all t", near + beta, near + beta > 0
