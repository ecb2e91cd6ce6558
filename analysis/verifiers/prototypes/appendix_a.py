"""Verifiers of refuted statements of Appendix A of "DDCL-Attention"."""

from fractions import Fraction

from analysis.verifiers.frames.encoders import eigenvalue_bounds
from analysis.verifiers.frames.linear_algebra import frobenius_product, integer_matrix
from analysis.verifiers.frames.losses import loss_and_gradients
from analysis.verifiers.frames.script import verifies


@verifies("prototypes/appendix-a-ii", {"mode": "frozen", "b": "1", "T": "2", "lambda": "4", "eta_P": "1"})
def appendix_a_ii(witness):
    """Verify an instance that refutes the use of Fact 1 in Appendix A of "DDCL-Attention".

    Printed: for lambda > 2 eta_P C(K, 2) the fast subsystem converges exponentially to P*(theta) at a rate mu_P > 0.

    Instance: one embedding at 0, prototypes at rest at +-b, lambda = 4 b^4 (their gradient is b - 2 lambda / (2 b)^3).
    For a common displacement u the squared distances are (b +- u)^2, and the free energy of the mode frozen is b^2 +
    u^2 - T log(2 cosh(2 b u / T)): its second derivative is 2 - 4 b^2 / T, which is zero at T = 2 b^2. The loss, of the
    mode full, is b^2 + u^2 - 2 b u tanh(2 b u / T), with the second derivative 2 - 8 b^2 / T, zero at T = 4 b^2. The
    linearisation has the eigenvalue 0.
    """
    b, T, lam, eta = (Fraction(witness[k]) for k in ("b", "T", "lambda", "eta_P"))
    yield "lambda - 2 eta_P C(2, 2), positive", str(lam - 2 * eta), lam > 2 * eta > 0
    yield "gradient b - 2 lambda / (2 b)^3", str(b - 2 * lam / (2 * b) ** 3), b == 2 * lam / (2 * b) ** 3
    second = 2 - {"frozen": 4, "full": 8}[witness["mode"]] * b * b / T
    yield "second derivative, not positive", str(second), second <= 0


@verifies("prototypes/appendix-a-rate", {"y": "1", "r": "3/5", "c": ["1", "1/10", "1/1000"]})
def appendix_a_rate(witness):
    """Verify an instance that refutes Appendix A (b) of "DDCL-Attention".

    Printed: there is c > 0 such that for all small eps the decay rate is at least c min(mu_P, mu_P / (L eps)).

    Instance: two data (+-a, +-y), the encoder z = (x_0, theta x_1), two prototypes at (+-a r, 0), theta = 0, gradients
    at fixed assignments, T = 2 a^2 r / artanh r, where the assignments are (1 +- r) / 2: an equilibrium with distinct
    prototypes. The Hessian in theta and the second coordinates is ((4 y^2, -2 y r, 2 y r), (-2 y r, 2, 0), (2 y r, 0,
    2)); in the first ones its eigenvalues are 2 - 4 a^2 (1 - r^2) / T and 2 - 4 a^2 r^2 (1 - r^2) / T, that is 2 - 2 (1
    - r^2) A / r and 2 - 2 r (1 - r^2) A with A = artanh r, which lies between r and r + r^3 / (3 (1 - r^2)).

    In the time eta_P t of the appendix the rate is the least eigenvalue of a symmetric matrix with the entry eps 4 y^2,
    so at most that. mu_P is the least of 2 and the eigenvalues in the first coordinates, L = 4 y^2 (1 - r^2). For each
    c of the witness eps = c mu / (8 y^2), or less, contradicts.
    """
    y, r = Fraction(witness["y"]), Fraction(witness["r"])
    low, _ = eigenvalue_bounds(r)
    mu, L = min(low, Fraction(2)), 4 * y * y * (1 - r * r)
    yield "mu_P / eta_P, at least", float(mu), mu > 0 < r < 1
    yield "L, positive", str(L), L > 0
    for c in map(Fraction, witness["c"]):
        epsilon = min(c * mu / (4 * y * y), mu / L, 1 / L) / 2
        rate, bound = 4 * y * y * epsilon, c * min(mu, mu / (L * epsilon))
        yield f"c = {c}: rate at most, bound at least", (float(rate), float(bound)), 0 < rate < bound


@verifies("prototypes/appendix-a-iv", {"y": "1", "r": "3/5"})
def appendix_a_iv(witness):
    """Verify an instance that refutes the last paragraph of Appendix A of "DDCL-Attention".

    Printed: resonance instabilities arise at eps = 1.

    Instance: two data (+-a, +-y), the encoder z = (x_0, theta x_1), two prototypes at (+-a r, 0), theta = 0, gradients
    at fixed assignments, T = 2 a^2 r / artanh r, where the assignments are (1 +- r) / 2: an equilibrium with distinct
    prototypes. The Hessian in theta and the second coordinates is ((4 y^2, -2 y r, 2 y r), (-2 y r, 2, 0), (2 y r, 0,
    2)); in the first ones its eigenvalues are 2 - 4 a^2 (1 - r^2) / T and 2 - 4 a^2 r^2 (1 - r^2) / T, that is 2 - 2 (1
    - r^2) A / r and 2 - 2 r (1 - r^2) A with A = artanh r, which lies between r and r + r^3 / (3 (1 - r^2)).

    At eps = 1 J* = eta_P H*: symmetric, so that its eigenvalues are real, and positive definite.
    """
    y, r = Fraction(witness["y"]), Fraction(witness["r"])
    low, _ = eigenvalue_bounds(r)
    yield "least eigenvalue in the first coordinates, positive", float(low), low > 0 < r < 1
    minors = [Fraction(2), Fraction(4), 4 * (4 * y * y) - 2 * 2 * (2 * y * r) ** 2]
    yield "minors of the other block, positive", [*map(str, minors)], all(m > 0 for m in minors)


@verifies(
    "prototypes/appendix-a-systems",
    {
        "z": [["1", "0"], ["-1", "1"], ["0", "2"], ["2", "-1"]],
        "p": [["1", "1"], ["-1", "0"], ["0", "-1"]],
        "eta_theta": "1/4",
        "eta_P": "1/2",
    },
)
def appendix_a_systems(witness):
    """Verify an instance that refutes (A.3) of "DDCL-Attention".

    Printed: in the time eta_P t, eps dtheta/dt = -F with F = grad_theta L_q, eps = eta_theta / eta_P.

    Instance: free embeddings and prototypes at integer points, T = 1 / log 2, gradients at fixed q. In that time
    dtheta/dt = -(eta_theta / eta_P) F = -eps F, so that the left side is -eps^2 F.
    """
    slow, fast = Fraction(witness["eta_theta"]), Fraction(witness["eta_P"])
    epsilon, (_, by_z, _) = slow / fast, loss_and_gradients(integer_matrix(witness["z"]), integer_matrix(witness["p"]))
    yield "|F|^2, positive", float(frobenius_product(by_z, by_z)), frobenius_product(by_z, by_z) > 0
    yield "eps^2, not 1", str(epsilon**2), 0 < epsilon**2 != 1


@verifies(
    "prototypes/appendix-a-6",
    {
        "y": "1",
        "theta_0": "1",
        "t": "1",
        "C and eps": [["1", "1/10"], ["100", "1/1000"], ["1000000", "1/10000000"]],
    },
)
def appendix_a_6(witness):
    """Verify an instance that refutes (A.6) of "DDCL-Attention".

    Printed: on a bounded interval of the time eta_P t, |theta - theta*(P)| <= C eps.

    Instance: two data (+-a, +-y), the encoder z = (x_0, theta x_1), both prototypes at 0, gradients at fixed
    assignments. The prototypes rest, theta*(0) = 0, and dtheta/dt = -4 y^2 eps theta in that time, so that theta(t) =
    theta_0 e^(-4 y^2 eps t) >= theta_0 (1 - 4 y^2 eps t).
    """
    y, start, t = (Fraction(witness[k]) for k in ("y", "theta_0", "t"))
    for C, epsilon in (map(Fraction, pair) for pair in witness["C and eps"]):
        low = start * (1 - 4 * y * y * epsilon * t)
        yield f"C = {C}, eps = {epsilon}: |theta - theta*|, at least", str(low), low > C * epsilon > 0


@verifies("prototypes/appendix-a-7", {"a": "1", "y": "1", "1 / T": "2/3"})
def appendix_a_7(witness):
    """Verify an instance that refutes (A.7) of "DDCL-Attention".

    Printed: as the Hessian of the reduced loss is bounded, the reduced flow contracts distances.

    Instance: two data (+-a, +-y), the encoder z = (x_0, theta x_1), both prototypes at 0, theta = 0, all assignments
    1/2, and gradients at fixed assignments. H_thetatheta = 4 y^2, H_thetaP = 0; in the second coordinates H_PP = 2 I,
    in the first it is 2 I - (2 a^2 / T)((1, -1), (-1, 1)), with the eigenvalues 2 and 2 - 4 a^2 / T.

    Hence theta*(P) = 0 to first order, the Hessian of the reduced loss is H_PP, bounded near P = 0, and for T < 2 a^2
    solutions on either side of P = 0 move apart at the rate 4 a^2 / T - 2.
    """
    a, y, cold = (Fraction(witness[k]) for k in ("a", "y", "1 / T"))
    yield "H_thetatheta, positive", str(4 * y * y), y != 0 < cold
    least = 2 - 4 * a * a * cold
    yield "least eigenvalue of the reduced Hessian, negative", str(least), least < 0
