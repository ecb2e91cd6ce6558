"""Verifiers of refuted statements of Section 5 of "DDCL-INCRT"."""

import math
from fractions import Fraction

from analysis.verifiers.frames.assignments import activity, exact_assignments
from analysis.verifiers.frames.cooling import both_heads_cool, local_head, second_head_cools
from analysis.verifiers.frames.linear_algebra import squared_distance
from analysis.verifiers.frames.script import verifies


@verifies("growing/lemma-8", {"a": "1", "b": "2", "eta_P": "1", "eta_T": "1"})
def lemma_8(witness):
    """Printed: of two heads on orthogonal directions with sigma_1(0) > sigma_2(0), sigma_1 - sigma_2 does not decrease.

    Instance: tokens at 0, prototypes 0 and a e_1 of head 1, +-e_2 of head 2, T = a^2 / log b. Head 2 is equidistant for
    ever: sigma_2 = 0. With q = b / (1 + b), the assignment to the prototype at 0, and s = log b, sigma_1 = a^4 q (1 -
    q), its derivative by T is a^6 q (1 - q) (2 q - 1) / T^2 and that by a is 2 a^3 q (1 - q) (2 - s (2 q - 1)). T falls
    at the rate eta_T sigma_1 / T^2, and a at 2 eta_P a (1 - q) (1 - s q) or, at fixed assignments, 2 eta_P a (1 - q).
    As log b < 1 for b <= 8/3 < 1 + 1 + 1/2 + 1/6 + 1/24 < e, all signs are known.
    """
    a, b, eta_P, eta_T = (Fraction(witness[name]) for name in ("a", "b", "eta_P", "eta_T"))
    yield "a > 0: the prototypes are distinct", a, a > 0
    yield "1 < b <= 8/3, so that 0 < log b < 1", b, 1 < b <= Fraction(8, 3)
    yield "eta_T > 0, eta_P >= 0", (str(eta_T), str(eta_P)), eta_T > 0 and eta_P >= 0

    q = b / (1 + b)
    sigma = a**4 * q * (1 - q)
    yield "sigma_1(0) > 0 = sigma_2(0)", sigma, sigma > 0
    yield "sigma_1 increases with T: a^6 q (1 - q) (2 q - 1)", a**2 * sigma * (2 * q - 1), 2 * q - 1 > 0
    yield "sigma_1 increases with a: 2 - s (2 q - 1) is at least", 2 - (2 * q - 1), 2 - (2 * q - 1) > 0
    yield "a does not increase: 1 - s q is at least", 1 - q, 1 - q > 0


@verifies(
    "growing/theorem-3-assignments",
    {"c": ["1"], "a": "1", "T_init": "1", "T_min": "1/10", "eta_P": "1", "eta_T": "1/100"},
)
def theorem_3_assignments(witness):
    """Verify an instance that refutes Theorem 3 (2) of "DDCL-INCRT".

    Printed: the assignments of a head that tends to T_min converge to 0 and 1.

    Instance: tokens +-c along the direction of a head with the prototypes +-a, losses averaged, gradients through the
    assignments. With x = 2 a c / T, a' = -eta_P (a - c tanh x - c x / cosh^2 x).

    If c^2 >= T_init, a stays between c / 2, where tanh x >= x / (1 + x) >= 1 / 2, and 3 c / 2, where x / cosh^2 x < 1 /
    2. sigma is bounded below, and the head reaches T_min. The squared distances of a token differ by 4 a c <= 6 c^2, so
    that no assignment falls below 1 / (1 + exp(6 c^2 / T_min)) >= 1 / (1 + 2^m), m >= 9 c^2 / T_min, since e^2 < 8.
    """
    yield from local_head(witness)
    least, c = Fraction(witness["T_min"]), Fraction(witness["c"][0])
    bound = Fraction(1, 1 + 2 ** math.ceil(9 * c**2 / least))
    yield "no assignment falls below", bound, bound > 0


@verifies(
    "growing/theorem-3-discriminant",
    {"f": "2", "z": [["1", "0", "0"], ["-1", "2", "0"]], "spread": "1", "b": "2", "spacing": "1"},
)
def theorem_3_discriminant(witness):
    """Verify an instance that refutes Theorem 3 (3) of "DDCL-INCRT".

    Printed: sigma(0) is proportional to lambda_max(A_res) S(P)(0) for a new head.

    Instance: directed attention M_a with the entries (1, 3) = 1 and (3, 1) = -1, and f M_a. The dominant plane and its
    vector e_1 are the same, and so are the prototypes at +-spread on e_1, tokens, temperature, sigma(0) and S(P)(0).
    lambda is f times as large. At T = spacing^2 / log b the assignments are rational if squared distances of each token
    differ by multiples of spacing^2.
    """
    f, b, spread, h = (Fraction(witness[name]) for name in ("f", "b", "spread", "spacing"))
    z = [[Fraction(v) for v in row] for row in witness["z"]]
    yield "f, spread, spacing > 0 and b > 1", [str(v) for v in (f, spread, h, b)], min(f, spread, h) > 0 and b > 1
    p = [[s * spread] + [Fraction(0)] * (len(z[0]) - 1) for s in (1, -1)]
    sigma, S = activity(z, p, exact_assignments(z, p, b, h)), squared_distance(*p)
    yield "sigma(0) of both is positive", sigma, sigma > 0
    ratios = [sigma / (value * S) for value in (Fraction(1), f)]
    yield "sigma(0) over lambda S(P)(0) differs", (str(ratios[0]), str(ratios[1])), ratios[0] != ratios[1]


@verifies("growing/theorem-3-discriminant/eigenvalue", {"f": "2", "c": "1", "b": "2", "spacing": "1"})
def theorem_3_discriminant_eigenvalue(witness):
    """Verify an instance that refutes a reading of Theorem 3 (3) of "DDCL-INCRT".

    Read: sigma(0) is proportional to lambda_max(A_res) S(P)(0) for a new head whose first prototypes are +-lambda / 2
    along its direction.

    Instance: directed attention M_a with the entries (1, 3) = 1 and (3, 1) = -1, and f M_a: lambda is 1 and f, S(P) is
    lambda^2. The tokens have the coordinates +-c along e_1, the squared distances of each differ by 2 lambda c, and at
    T = spacing^2 / log b the two assignments are 1 and b^(-2 lambda c / spacing^2), over their sum.
    """
    f, c, b, h = (Fraction(witness[name]) for name in witness)
    whole = (2 * c / h**2).denominator == 1 and (2 * f * c / h**2).denominator == 1
    yield (
        "f, c > 0, b > 1, and 2 c and 2 f c are multiples of spacing^2",
        (str(f), str(c), str(b)),
        min(f, c, h) > 0 and b > 1 and whole,
    )

    ratios = []
    for value in (Fraction(1), f):
        gap = 2 * value * c
        weight = b ** -int(gap / h**2)
        far = weight / (1 + weight)
        ratios.append(gap**2 * far * (1 - far) / value**3)
    yield "sigma(0) over lambda S(P)(0) differs", (str(ratios[0]), str(ratios[1])), ratios[0] != ratios[1]


@verifies(
    "growing/theorem-3-divergence",
    {"c": ["1", "2"], "a": "1", "T_init": "1", "T_min": "1/2", "eta_P": "1", "eta_T": "1/100"},
)
def theorem_3_divergence(witness):
    """Verify an instance that refutes Theorem 3 (1) of "DDCL-INCRT".

    Printed: under (B1)-(B3) some heads tend to T_min, and some to temperatures above it.

    Instance: tokens (+-c_1, +-c_2), head h sees them along the axis h and has the prototypes +-a there, losses
    averaged, gradients through the assignments. With x = 2 a c / T, a' = -eta_P (a - c tanh x - c x / cosh^2 x) and
    sigma = 4 a^2 c^2 / cosh^2 x for each head.

    If c^2 >= T_init, then at a = c / 2 tanh x >= x / (1 + x) >= 1 / 2, so that a' > 0, and at a = 3 c / 2 x / cosh^2 x
    < 1 / 2, so that a' < 0. So a stays between, S(P) = 4 a^2 > 0, and sigma >= c^4 / cosh^2(3 c^2 / T_min) >= c^4 /
    2^m, m >= 9 c^2 / T_min, since e^2 < 8: the head reaches T_min by the time (T_init^3 - T_min^3) 2^m / (3 eta_T c^4).
    """
    yield from both_heads_cool(witness)


@verifies(
    "growing/corollary-3",
    {
        "c": ["1/4", "1"],
        "a": "1/2",
        "T_init": "1",
        "T_min": "1/2",
        "eta_P": "1",
        "eta_T": "1/2",
        "lambda": ["2", "1"],
    },
)
def corollary_3(witness):
    """Printed: heads are added in decreasing order of lambda; the first ones become local, and the last ones global.

    Instance: tokens (+-c_1, +-c_2, 0, 0), directed attention with lambda_1 in the plane (1, 3) and lambda_2 < lambda_1
    in (2, 4). Head h is born with the prototypes +-a e_h and sees the tokens along e_h. Losses are averaged, gradients
    go through the assignments. With x = 2 a c / T, a' = -eta_P (a - c tanh x - c x / cosh^2 x) and sigma = 4 a^2 c^2 /
    cosh^2 x for each head.

    Head 1: 4 c_1^2 < T_min. As tanh x <= x, a' <= -kappa a, kappa = eta_P (1 - 4 c_1^2 / T_min), the integral of sigma
    is at most 2 a^2 c_1^2 / kappa, and T_1^3 stays above T_init^3 - 6 eta_T a^2 c_1^2 / kappa: it is global.

    Head 2: c_2^2 >= T_init. At a = c_2 / 2, tanh x >= x / (1 + x) >= 1 / 2, so that a' > 0, and at a = 3 c_2 / 2, x /
    cosh^2 x < 1 / 2, so that a' < 0: a stays between, sigma is bounded below, and T_2 reaches T_min in finite time: it
    is local.
    """
    yield from second_head_cools(witness)


@verifies(
    "growing/theorem-3-hitting-time",
    {"c": ["2"], "a": "1", "T_init": "2", "T_min": "1", "eta_P": "1", "eta_T": "1/100"},
)
def theorem_3_hitting_time(witness):
    """Verify an instance that refutes the hitting time in the proof of Theorem 3 of "DDCL-INCRT".

    Printed: a local head reaches T_min by t* = (T_init^3 - T_min^3) / (3 eta_T sigma_0), sigma_0 being its initial
    activity.

    Instance: tokens +-c along the direction of a head with the prototypes +-a, losses averaged, gradients through the
    assignments. With x = 2 a c / T, a' = -eta_P (a - c tanh x - c x / cosh^2 x) and sigma = 4 a^2 c^2 / cosh^2 x.

    With x_0 the initial x and a_0 <= c x_0 / (1 + x_0) <= c tanh x_0, a does not fall below a_0 as T falls. sigma
    increases with T, and decreases with a where x tanh x >= 1, so for all x >= x_0 if x_0^2 / (1 + x_0) >= 1. So sigma
    < sigma_0 at all t > 0, and as T^3 falls at the rate 3 eta_T sigma, T_min is reached later than at t*. It is reached
    if c^2 >= T_init, for then sigma is bounded below.
    """
    yield from local_head(witness)
    a, c, start = Fraction(witness["a"]), Fraction(witness["c"][0]), Fraction(witness["T_init"])
    x = 2 * a * c / start
    yield "a_0 <= c x_0 / (1 + x_0)", c * x / (1 + x), a <= c * x / (1 + x)
    yield "x_0^2 / (1 + x_0) >= 1", x**2 / (1 + x), x**2 / (1 + x) >= 1


def weights(distances, b):
    """b^(-d) over the sum of these."""
    found = [1 / b ** int(d - min(distances)) for d in distances]
    return [w / sum(found) for w in found]


@verifies("growing/lemma-6", {"z": [["1", "0"], ["2", "1"]], "p": [["1", "0"], ["0", "1"]], "b": "2"})
def lemma_6(witness):
    """Printed: gradient descent on Lq = sum_n sum_k q_nk d_nk at the rate eta_T is dT/dt = -eta_T sigma / T^2 with
    sigma = (1/N) sum_n Var_{q_n}(d_nk).

    Instance: integer tokens and prototypes at T = 1 / log b, where q_nk = b^(-d_nk) / sum_j b^(-d_nj) is rational. As
    dq_nk/dT = q_nk (d_nk - sum_j q_nj d_nj) / T^2, T^2 dLq/dT is the sum over k of d_nk q_nk (d_nk - sum_j q_nj d_nj),
    summed over n.
    """
    z, p = ([[Fraction(v) for v in row] for row in witness[name]] for name in ("z", "p"))
    b = Fraction(witness["b"])
    whole = all(v.denominator == 1 for rows in (z, p) for row in rows for v in row)
    yield "b > 1, and coordinates are integers: b", b, b > 1 and whole

    slope, variances = Fraction(0), []
    for point in z:
        d = [sum((x - y) ** 2 for x, y in zip(point, prototype, strict=True)) for prototype in p]
        q = weights(d, b)
        mean = sum(w * v for w, v in zip(q, d, strict=True))
        slope += sum(v * w * (v - mean) for v, w in zip(d, q, strict=True))
        variances.append(sum(w * (v - mean) ** 2 for w, v in zip(q, d, strict=True)))
    sigma = sum(variances) / len(z)
    yield "sigma", sigma, True
    yield "T^2 dLq/dT is not sigma", slope, slope != sigma
