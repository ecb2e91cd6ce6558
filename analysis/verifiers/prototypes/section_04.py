"""Verifiers of refuted statements of Section 4 of "DDCL-Attention"."""

import math
from fractions import Fraction

from analysis.verifiers.frames.barriers import escape
from analysis.verifiers.frames.encoders import eigenvalue_bounds
from analysis.verifiers.frames.linear_algebra import frobenius_product, integer_matrix, matrix_product, transpose
from analysis.verifiers.frames.losses import loss_and_gradients
from analysis.verifiers.frames.script import verifies


@verifies("prototypes/theorem-3-monotone/frozen", {"b": "1", "lambda": "4", "eta_P": "1", "T": ["2", "1/2"]})
def theorem_3_monotone_frozen(witness):
    """Verify an instance that refutes Theorem 3, read for the gradient with fixed assignments of "DDCL-Attention".

    Read: F + barrier, the Lyapunov function of the flow with fixed assignments, is non-increasing for any decreasing
    T(t).

    Instance: one embedding at 0, prototypes at +-b: q = 1/2 at every T, and the gradient by b of each prototype is b -
    2 lambda / (2 b)^3 = 0 for lambda = 4 b^4: the prototypes rest. F + barrier = b^2 - T log 2 + lambda / (2 b)^2,
    which increases by (T_0 - T_1) log 2 as T falls from T_0 to T_1.
    """
    b, lam, eta = (Fraction(witness[k]) for k in ("b", "lambda", "eta_P"))
    first, last = map(Fraction, witness["T"])
    yield "lambda - 2 eta_P C(2, 2), positive", str(lam - 2 * eta), lam > 2 * eta > 0
    yield "gradient b - 2 lambda / (2 b)^3", str(b - 2 * lam / (2 * b) ** 3), b == 2 * lam / (2 * b) ** 3
    yield "T_0 - T_1, the increase over log 2, positive", str(first - last), first > last > 0


@verifies(
    "prototypes/corollary-1",
    {"y": "1", "r": "3/5", "lambda of Theorem 1": "0", "eta_P": "1", "b": "1", "T": "2", "lambda of Fact 1": "4"},
)
def corollary_1(witness):
    """Printed: each of Fact 1, Theorem 1 and Theorems 2-3 strictly subsumes the previous one.

    Instances. Of Theorem 1: two data (+-a, +-y), the encoder z = (x_0, theta x_1), prototypes at (+-a r, 0), without a
    barrier, gradients at fixed assignments; see proposition_3_proof.py for the Hessian, positive definite if 0 < r < 1.
    There Theorem 2, which needs lambda > 2 eta_P C(2, 2) > 0, does not apply. Of Fact 1: one embedding at 0, prototypes
    at rest at +-b, lambda = 4 b^4, T = 2 b^2, where the fast subsystem has the eigenvalue 1 - 2 b^2 / T = 0, so that
    (ii) of Theorem 1 fails.
    """
    y, r, none, eta, b, T, lam = (Fraction(witness[k]) for k in witness)
    low = eigenvalue_bounds(r)[0]
    yield "Theorem 1: least eigenvalue in the first coordinates, positive", float(low), low > 0 < r < 1 and y != 0
    yield "Theorem 2 does not apply: lambda - 2 eta_P C(2, 2), not positive", str(none - 2 * eta), none <= 2 * eta
    yield "Fact 1 applies: lambda - 2 eta_P C(2, 2), positive", str(lam - 2 * eta), lam > 2 * eta > 0
    yield "at rest: gradient b - 2 lambda / (2 b)^3", str(b - 2 * lam / (2 * b) ** 3), b == 2 * lam / (2 * b) ** 3
    yield "(ii) fails: 1 - 2 b^2 / T, not positive", str(1 - 2 * b * b / T), 1 - 2 * b * b / T <= 0


@verifies(
    "prototypes/fact-1",
    {"mode": "full", "lambda": "3", "eta_P": "1", "eta_theta": "0", "T": "1", "a_0": "3/8", "b_0": "2"},
)
def fact_1(witness):
    """Printed: for lambda > 2 eta_P C(K, 2) the flow of the prototypes with the barrier (lambda / 2) sum |p_j - p_k|^-2
    (ordered pairs) converges to critical points with distinct prototypes.

    Instance: one fixed embedding and two prototypes on a line (eta_theta = 0). The argument is that of `escape`.
    """
    yield from escape(witness)
    slow = Fraction(witness["eta_theta"])
    yield "the embedding is fixed: eta_theta", str(slow), slow == 0


@verifies(
    "prototypes/theorem-2-convergence",
    {"mode": "full", "lambda": "3", "eta_P": "1", "eta_theta": "1/2", "T": "1", "a_0": "3/8", "b_0": "2"},
)
def theorem_2_convergence(witness):
    """Verify an instance that refutes the convergence in Theorem 2 of "DDCL-Attention".

    Printed: for lambda > 2 eta_P C(K, 2) the flow of encoder and prototypes converges to critical points with distinct
    prototypes, for any ratio of rates.

    Instance: one free embedding and two prototypes on a line, at any rate eta_theta > 0 of the embedding. The argument
    is that of `escape`.
    """
    yield from escape(witness)
    slow = Fraction(witness["eta_theta"])
    yield "eta_theta, positive", str(slow), slow > 0


@verifies(
    "prototypes/theorem-3-convergence",
    {
        "mode": "full",
        "lambda": "3",
        "eta_P": "1",
        "eta_theta": "1/2",
        "T": "1",
        "T_min": "1/4",
        "a_0": "3/8",
        "b_0": "2",
    },
)
def theorem_3_convergence(witness):
    """Verify an instance that refutes the convergence in Theorem 3 of "DDCL-Attention".

    Printed: for any decreasing T(t) with limit T_min > 0 the flow of Theorem 2 converges to the critical set at T_min.

    Instance: one free embedding and two prototypes on a line. The region below, for the first temperature T, is one for
    every lower temperature, at which x is larger. The argument is that of `escape`.
    """
    yield from escape(witness)
    slow, T = Fraction(witness["eta_theta"]), Fraction(witness["T"])
    floor = Fraction(witness["T_min"])
    yield "eta_theta, not negative", str(slow), slow >= 0
    yield "T_min, positive and below T", str(floor), 0 < floor < T


@verifies("prototypes/proposition-3-iff", {"mode": "frozen", "a": "1", "y": "1", "T": "2"})
def proposition_3_iff(witness):
    """Verify an instance that refutes 'only if' in Proposition 3 of "DDCL-Attention".

    Printed: a fixed point is asymptotically stable if and only if all eigenvalues of J* have positive real part.

    Instance: two data (+-a, +-y), the encoder z = (x_0, theta x_1), both prototypes at 0, theta = 0, all assignments
    1/2, and gradients at fixed assignments. H_thetatheta = 4 y^2, H_thetaP = 0; in the second coordinates H_PP = 2 I,
    in the first it is 2 I - (2 a^2 / T)((1, -1), (-1, 1)), with the eigenvalues 2 and 2 - 4 a^2 / T.

    At T = 2 a^2 the least eigenvalue is 0, with the kernel p_1 = -p_2 = (s, 0). There the potential is 2 (a^2 + s^2 - T
    log(2 cosh(2 a s / T))); log cosh u = u^2 / 2 - u^4 / 12 + ..., so that its coefficients of s^2 and s^4 are 2 - 4
    a^2 / T and 8 a^4 / (3 T^3) = 1 / (3 a^2) > 0. In the mode full, whose gradient is taken through the assignments, it
    is 2 (a^2 + s^2 - 2 a s tanh(2 a s / T)) with the coefficients 2 - 8 a^2 / T and 32 a^4 / (3 T^3); there T = 4 a^2.
    It is even in s for all other variables that are odd under the reflections of an axis, which leaves no cubic term: a
    strict minimum.
    """
    a, y, T = (Fraction(witness[k]) for k in ("a", "y", "T"))
    factor, fourth = {"frozen": (4, 8), "full": (8, 32)}[witness["mode"]]
    least = 2 - factor * a * a / T
    yield "least eigenvalue of H_PP, and coefficient of s^2, zero", str(least), least == 0
    yield "the others, positive", [str(4 * y * y), "2", "2", "2"], y != 0
    fourth *= a**4 / (3 * T**3)
    yield "coefficient of s^4, positive", str(fourth), fourth > 0


@verifies("prototypes/proposition-3-proof", {"y": "1", "r": "3/5", "eps": "1/20"})
def proposition_3_proof(witness):
    """Verify an instance that refutes the proof of Proposition 3 of "DDCL-Attention".

    Printed: for H* > 0, J* is positive definite, hence has positive eigenvalues, if and only if (14) holds.

    Instance: two data (+-a, +-y), the encoder z = (x_0, theta x_1), two prototypes at (+-a r, 0), theta = 0, gradients
    at fixed assignments, T = 2 a^2 r / artanh r, where the assignments are (1 +- r) / 2: an equilibrium with distinct
    prototypes. The Hessian in theta and the second coordinates is ((4 y^2, -2 y r, 2 y r), (-2 y r, 2, 0), (2 y r, 0,
    2)); in the first ones its eigenvalues are 2 - 4 a^2 (1 - r^2) / T and 2 - 4 a^2 r^2 (1 - r^2) / T, that is 2 - 2 (1
    - r^2) A / r and 2 - 2 r (1 - r^2) A with A = artanh r, which lies between r and r + r^3 / (3 (1 - r^2)).

    At equal rates J* = H*, and (14) fails, its bound being less than 1. At the small ratio (14) holds, but the
    symmetric part of J* in (theta, (1, -1) / sqrt 2) has the determinant 8 eps y^2 - 2 (1 + eps)^2 r^2 y^2 < 0.
    """
    y, r, epsilon = (Fraction(witness[k]) for k in ("y", "r", "eps"))
    low, high = eigenvalue_bounds(r)
    yield "least eigenvalue in the first coordinates, positive", float(low), low > 0 < r < 1
    yield "determinant of the other block, 16 y^2 (1 - r^2), positive", str(16 * y * y * (1 - r * r)), y != 0
    bounds = (
        min(low, Fraction(2)) / (2 * r * r + max(high, Fraction(2))),
        min(high, Fraction(2)) / (2 * r * r + Fraction(2)),
    )
    yield "upper bound of the bound of (14), below 1", float(bounds[1]), bounds[1] < 1
    yield "lower bound of it, above the small ratio", float(bounds[0]), bounds[0] > epsilon > 0
    determinant = 8 * epsilon * y * y - 2 * (1 + epsilon) ** 2 * r * r * y * y
    yield "determinant of the symmetric part, negative", str(determinant), determinant < 0


@verifies("prototypes/proposition-3-weak-coupling", {"a": "1", "y": "1", "1 / T": "1/4", "ratio": "3/4"})
def proposition_3_weak_coupling(witness):
    """Verify an instance that refutes Proposition 3 on weak coupling of "DDCL-Attention".

    Printed: if H_thetaP = 0, condition (14) is eta_theta < eta_P.

    Instance: two data (+-a, +-y), the encoder z = (x_0, theta x_1), both prototypes at 0, theta = 0, all assignments
    1/2, and gradients at fixed assignments. H_thetatheta = 4 y^2, H_thetaP = 0; in the second coordinates H_PP = 2 I,
    in the first it is 2 I - (2 a^2 / T)((1, -1), (-1, 1)), with the eigenvalues 2 and 2 - 4 a^2 / T.

    (14) is then eta_theta / eta_P < lambda_min(H_PP) / lambda_max(H_PP) = 1 - 2 a^2 / T.
    """
    a, y, cold, ratio = (Fraction(witness[k]) for k in ("a", "y", "1 / T", "ratio"))
    least = 2 - 4 * a * a * cold
    yield "least eigenvalue of H_PP, positive", str(least), least > 0 != y and cold > 0
    yield "eta_theta / eta_P, below 1", str(ratio), 0 < ratio < 1
    yield "the bound of (14), not above the ratio", str(least / 2), least / 2 <= ratio


def exponential(x):
    """A lower and an upper bound of e^x, 0 <= x <= 10, by its series to x^60 / 60! and a bound of the rest."""
    terms = [x**n / math.factorial(n) for n in range(61)]
    return sum(terms), sum(terms) + 2 * terms[-1]


@verifies("prototypes/theorem-2-decrease/frozen", {"b": "4", "lambda": "7/8", "eta_P": "1/4"})
def theorem_2_decrease_frozen(witness):
    """Verify an instance that refutes Theorem 2, read for the gradient with fixed assignments of "DDCL-Attention".

    Read: W = L_q + barrier is non-increasing along the flow whose gradient takes the assignments q as constants.

    Instance: one fixed embedding at 0, prototypes at 0 and b, T = b^2 / 2, q = 1 / (1 + e^2) the far assignment. The
    derivative of L_q by b is 2 w b, w = q (1 - 2 (1 - q)), but the flow takes 2 q b. With c = 2 lambda / b^3

        dW/dt / eta = (2 w b - c)(c - 2 q b) - c^2 >= (2 u b + c)(2 l b - c) - c^2,    -w >= u > 0, q >= l.
    """
    b, lam, eta = (Fraction(witness[k]) for k in ("b", "lambda", "eta_P"))
    yield "lambda - 2 eta_P C(2, 2), positive", str(lam - 2 * eta), lam > 2 * eta > 0
    below, above = exponential(Fraction(2))
    low, high, c = 1 / (1 + above), 1 / (1 + below), 2 * lam / b**3
    u = 2 * low * (1 - high) - high
    yield "u, positive", float(u), u > 0
    yield "2 l b - c, positive", float(2 * low * b - c), 2 * low * b > c
    bound = (2 * u * b + c) * (2 * low * b - c) - c**2
    yield "lower bound of dW/dt / eta_P, positive", float(bound), bound > 0


@verifies(
    "prototypes/theorem-2-coercive", {"lambda": "3", "eta_P": "1", "T": "1/2", "b": ["1", "10", "1000", "1000000"]}
)
def theorem_2_coercive(witness):
    """Verify an instance that refutes the coercivity in Theorem 2 of "DDCL-Attention".

    Printed: for lambda > 2 eta_P C(K, 2) the sublevel sets of W = L_q + (lambda / 2) sum |p_j - p_k|^-2 are compact.

    Instance: one embedding at 0, prototypes at 0 and b: W = b^2 / (1 + e^y) + lambda / b^2 with y = b^2 / T. Since e^y
    >= 1 + y > y, b^2 / (1 + e^y) < b^2 / y = T, so that W < T + lambda / b^2 <= T + lambda for all b >= 1.
    """
    lam, eta, T = (Fraction(witness[k]) for k in ("lambda", "eta_P", "T"))
    yield "lambda - 2 eta_P C(2, 2), positive", str(lam - 2 * eta), lam > 2 * eta > 0 < T
    values = [Fraction(b) for b in witness["b"]]
    yield "the points b grow without bound", [*map(str, values)], values == sorted(set(values)) and values[-1] >= 10**6
    for b in values:
        bound = b * b / (2 + b * b / T) + lam / (b * b)
        yield f"W at b = {b}, by e^y >= 1 + y, at most T + lambda", float(bound), bound <= T + lam


@verifies(
    "prototypes/theorem-1",
    {
        "z": [["1", "0"], ["-1", "1"], ["0", "2"], ["2", "-1"]],
        "p": [["1", "1"], ["-1", "0"], ["0", "-1"]],
        "shift": "3",
        "a": "1",
        "T": "3",
        "eps": "1/10",
    },
)
def theorem_1(witness):
    """Printed: under (i)-(iv) and for small eps the coupled system has a locally exponentially stable equilibrium with
    distinct prototypes.

    Instance: free embeddings, gradients at fixed assignments, T = 1 / log 2 at the integer points of the witness. For
    every state theta . grad_theta + P . grad_P = 2 L_q, which is positive unless all prototypes coincide with all
    embeddings: no state with distinct prototypes is an equilibrium, whatever eps. In either mode the gradient does not
    change under a common translation, so that no equilibrium is isolated. The hypotheses hold near two embeddings at
    +-a with both prototypes at 0 and T > 2 a^2: L_q is smooth; mu_P / eta_P is the least of 2 and 2 - 4 a^2 / T; the
    effective loss is sum |z - mean z|^2, whose Hessian is at most L = 2.
    """
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


@verifies(
    "prototypes/remark-2",
    {
        "x": [["1", "0"], ["-1", "1"], ["0", "2"], ["2", "-1"]],
        "W": [["1", "0"], ["-1", "1"]],
        "p": [["1", "1"], ["-1", "0"], ["0", "-1"]],
        "eps": "1/20",
    },
)
def remark_2(witness):
    """Printed: a ratio eps in [.01, .1] reliably gives the stable regime, with separated prototypes.

    Instance: a linear encoder z = x W^T at integer points, gradients at fixed assignments, T = 1 / log 2. Along the
    flow |W|^2 / eta_theta + |P|^2 / eta_P decreases at the rate 4 L_q at every state, so that no state with distinct
    prototypes, where L_q > 0, is an equilibrium, and every trajectory, which is bounded, ends where all prototypes
    coincide.
    """
    x, W, p, epsilon = *(integer_matrix(witness[name]) for name in ("x", "W", "p")), Fraction(witness["eps"])
    yield "eps, in [.01, .1]", str(epsilon), Fraction(1, 100) <= epsilon <= Fraction(1, 10)
    yield "the prototypes are distinct", witness["p"], len({tuple(c) for c in p}) == len(p)
    z = matrix_product(x, transpose(W))
    loss, by_z, by_p = loss_and_gradients(z, p)
    by_W = matrix_product(transpose(by_z), x)
    rate = -2 * frobenius_product(W, by_W) - 2 * frobenius_product(p, by_p)
    yield "rate of the norm + 4 L_q", str(rate + 4 * loss), rate == -4 * loss
    yield "rate of the norm, negative", float(rate), rate < 0


@verifies(
    "prototypes/claim-rescaling",
    {
        "x": [["1", "0"], ["-1", "1"], ["0", "2"], ["2", "-1"]],
        "W": [["1", "0"], ["-1", "1"]],
        "p": [["1", "1"], ["-1", "0"], ["0", "-1"]],
        "eta_theta": "1/4",
        "eta_P": "1/2",
    },
)
def claim_rescaling(witness):
    """Verify an instance that refutes the rescaled equations of Section 4.2 of "DDCL-Attention".

    Printed: with tau = t / eps, eps = eta_theta / eta_P, (11) and (12) become eps dtheta/dtau = -grad_theta L_q / eta_P
    and dP/dtau = -grad_P L_q.

    Instance: a linear encoder z = x W^T and prototypes at integer points, T = 1 / log 2, gradients at fixed q. As dtau
    = dt / eps, d/dtau = eps d/dt: the left sides are -eps^2 eta_theta grad_theta and -eps eta_P grad_P.
    """
    slow, fast = Fraction(witness["eta_theta"]), Fraction(witness["eta_P"])
    x, W, p = (integer_matrix(witness[name]) for name in ("x", "W", "p"))
    z = matrix_product(x, transpose(W))
    epsilon, (_, by_z, by_p) = slow / fast, loss_and_gradients(z, p)
    by_W = matrix_product(transpose(by_z), x)
    yield "eps, between 0 and 1", str(epsilon), 0 < epsilon < 1
    yield "|grad_theta L_q|^2, positive", float(frobenius_product(by_W, by_W)), frobenius_product(by_W, by_W) > 0
    yield "|grad_P L_q|^2, positive", float(frobenius_product(by_p, by_p)), frobenius_product(by_p, by_p) > 0
    yield "eps^2 eta_theta eta_P, not 1", str(epsilon**2 * slow * fast), epsilon**2 * slow * fast != 1
    yield "eps eta_P, not 1", str(epsilon * fast), epsilon * fast != 1
