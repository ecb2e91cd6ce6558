"""Verifiers of refuted statements of Section 11 of "DDCL-INCRT"."""

import math
from fractions import Fraction

from analysis.verifiers.frames.assignments import activity, assignments
from analysis.verifiers.frames.barriers import invariant_interval
from analysis.verifiers.frames.linear_algebra import frobenius_product, integer_matrix
from analysis.verifiers.frames.logarithms import log_2_is_within
from analysis.verifiers.frames.losses import barrier_gradient, mean_loss_gradient, squared_slope
from analysis.verifiers.frames.script import verifies


@verifies(
    "growing/theorem-8-iv",
    {
        "a": "1/2",
        "lambda": "1/4",
        "eta_P": "1/16",
        "first bank": ["1/4", "-1/8"],
        "phi_g": "1/2",
        "theta_w": "3/4",
        "values": ["5/4", "1"],
    },
)
def theorem_8_iv(witness):
    """Printed: at every point of A* the architecture is minimal and sufficient.

    Instance: a linear encoder at 0 with a regulariser, centred tokens, so that every embedding is 0, and M_a with the
    values s_1, s_2 in two planes. Two heads, of two prototypes each: that of s_1 at b and b' along its direction, that
    of s_2 at -a and a. Losses are means over tokens, and W = sum_h (L_q + lambda / |p_1 - p_2|^2) + R; at the distances
    a^2, a^2 both assignments are 1/2 and dL_q/dp_k = p_k, whatever T. The derivative by the embeddings is the same for
    all tokens, and so zero by the parameters of the encoder, as the tokens are centred.

    The first head has S(P) below phi_g and is removed at once, its direction staying captured. What is left is at rest,
    with sigma = 0 and distinct prototypes, in A*; nothing triggers growth. The residual outside its direction is s_1.
    """
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


@verifies(
    "growing/corollary-10",
    {
        "z": [[0, 1, 1, -1], [-1, 0, -1, -1], [1, 0, -1, 0]],
        "banks": [[[-1, -1, -1, 0], [0, -1, -1, 0]], [[-1, -1, 0, 1], [-1, 1, -1, -1]]],
        "lambda": "1/4",
        "eta_P": "1/100",
        "eta_T": "1/2500",
        "b": "3/2",
        "T of (iii)": ["2", "1"],
        "low": "69/100",
        "high": "7/10",
    },
)
def corollary_10(witness):
    """Verify instances that refute Corollary 10 of "DDCL-INCRT".

    Printed: the level (iv) of stability results, with trained temperatures, extends those with a fixed temperature, (i)
    and (ii), and with any decreasing schedule, (iii).

    Instances. Two heads on integer points at T = 1 / log 2, losses as means over tokens, fixed embeddings, prototypes
    that descend W. Without Phi dW/dt = -eta_P |grad_P W|^2 for a fixed T, as in (i). With Phi of (iv) it is sum sigma -
    eta_P |grad_P W|^2 - eta_T sum sigma^2 / T^4 for every eta_T > 0; the square is convex in log 2, and T^-4 below
    high^4. And one token at 0 with prototypes at -b and b: all distances are equal, sigma = 0, so that a trained T does
    not fall.
    """
    z, banks = integer_matrix(witness["z"]), [integer_matrix(p) for p in witness["banks"]]
    lam, eta, eta_T, low, high, b = (Fraction(witness[k]) for k in ("lambda", "eta_P", "eta_T", "low", "high", "b"))
    yield "log 2 is between the bounds", f"{low} and {high}", log_2_is_within(low, high)
    yield "lambda - 2 eta_P C(2, 2), positive", str(lam - 2 * eta), lam > 2 * eta > 0
    sigma = [activity(z, p, assignments(z, p, Fraction(2))) for p in banks]
    yield "activities, positive and different", [float(s) for s in sigma], min(sigma) > 0 and sigma[0] != sigma[1]
    steepest = max(squared_slope(z, banks, lam, log_2) for log_2 in (low, high))
    bound = sum(sigma) - eta * steepest - eta_T * sum(s * s for s in sigma) * high**4
    yield "dW/dt with Phi, for this eta_T and all smaller ones, at least, positive", float(bound), bound > 0 < eta_T
    first, last = (Fraction(v) for v in witness["T of (iii)"])
    yield "squared distances of the pair", f"{b * b}, {(-b) ** 2}", b * b == (-b) ** 2 > 0
    yield "fall of the schedule of (iii), positive", str(first - last), first > last > 0


@verifies("growing/corollary-12", {"a": "5/4", "lambda": "625/64", "kappa": "23/32"})
def corollary_12(witness):
    """Printed: the conditions (60), and (61) with (E2), are jointly satisfiable by rates.

    Instance: one free embedding at 0 and prototypes at -a and a on the first axis, lambda = 4 a^4, kappa = 4 a^2 / T.
    To second order L_q = (|z - p_1|^2 + |z - p_2|^2) / 2 - D^2 / (4 T), D = |z - p_1|^2 - |z - p_2|^2. On the first
    axis its second derivatives by z, p_1, p_2 are H_zz = 2 - 2 kappa, H_zp = -1 + kappa; on the second 2 and -1. So
    |H|^2 = 2 max(1, (1 - kappa)^2), L_theta = 2, mu_theta = 2 (1 - kappa), L_P >= 1. Since c_0 <= eta_theta mu_theta,
    the third of (60) needs 3 |H| < L_theta mu_theta, whatever the rates, and the third of (61) eta_P > 3 |H| / (L_theta
    mu_theta), against eta_P < 2 / L_P.
    """
    a, lam, kappa = (Fraction(witness[k]) for k in ("a", "lambda", "kappa"))
    yield "0 < kappa < 1", str(kappa), 0 < kappa < 1
    force = a - lam / (4 * a**3)
    yield "derivative of W by a prototype", str(force), force == 0
    cross = 2 * max(1, (1 - kappa) ** 2)
    least, largest = min(2 - 2 * kappa, 2), max(2 - 2 * kappa, 2)
    yield "mu_theta and L_theta, positive", f"{least}, {largest}", 0 < least <= largest
    needed, given = 9 * cross, (largest * least) ** 2
    yield "9 |H|^2 - (L_theta mu_theta)^2, not negative: (60) fails", str(needed - given), needed >= given
    yield (
        "9 |H|^2 - (2 L_theta mu_theta)^2, not negative: (61) fails for eta_P < 2",
        str(needed - 4 * given),
        needed >= 4 * given,
    )


@verifies(
    "growing/theorem-9",
    {
        "z": [[0, 1, 1, -1], [-1, 0, -1, -1], [1, 0, -1, 0]],
        "banks": [[[-1, -1, -1, 0], [0, -1, -1, 0]], [[-1, -1, 0, 1], [-1, 1, -1, -1]]],
        "lambda": "1/4",
        "eta_plus": "1/10",
        "eta_P": "1/100",
        "eta_T": "1/2500",
        "c_1": "1",
        "c_2": "2",
        "mu_P": "1",
        "low": "69/100",
        "high": "7/10",
    },
)
def theorem_9(witness):
    """Printed: if C_1 eps_1 + C_2 eps_2 + C_3 eps_3 < c_0, then dW/dt <= 0 on every dwell interval.

    Instance: two heads on integer points at T = 1 / log 2, losses as means over tokens, fixed embeddings (C_3 = 0),
    prototypes that descend W. The constants are c_1 eta_P, c_2 eta_P and c_0 = eta_P mu_P / 2; the condition does not
    change when all rates are multiplied by a number, and dW/dt = sum sigma - eta_P |grad_P W|^2 - eta_T sum sigma^2 /
    T^4 tends to sum sigma.
    """
    z, banks = integer_matrix(witness["z"]), [integer_matrix(p) for p in witness["banks"]]
    lam, eta, eta_T, low, high = (Fraction(witness[k]) for k in ("lambda", "eta_P", "eta_T", "low", "high"))
    yield "log 2 is between the bounds", f"{low} and {high}", log_2_is_within(low, high)
    yield "lambda - 2 eta_P C(2, 2), positive", str(lam - 2 * eta), lam > 2 * eta > 0
    sigma = [activity(z, p, assignments(z, p, Fraction(2))) for p in banks]
    yield "activities, positive and different", [float(s) for s in sigma], min(sigma) > 0 and sigma[0] != sigma[1]
    gate, c_1, c_2, mu = (Fraction(witness[k]) for k in ("eta_plus", "c_1", "c_2", "mu_P"))
    yield (
        "eps_1 and eps_2, at most 1/10",
        [str(eta / gate), str(eta_T / eta)],
        max(eta / gate, eta_T / eta) <= Fraction(1, 10),
    )
    coupled = eta * (c_1 * eta / gate + c_2 * eta_T / eta)
    yield "C_1 eps_1 + C_2 eps_2, below c_0", str(coupled), coupled < eta * mu / 2
    steepest = max(squared_slope(z, banks, lam, log_2) for log_2 in (low, high))
    bound = sum(sigma) - eta * steepest - eta_T * sum(s * s for s in sigma) * high**4
    yield "dW/dt, at least, positive", float(bound), bound > 0


@verifies(
    "growing/lemma-21", {"lambda": "1/4", "distance": "2", "T_init": "1", "T of the new head": "1", "eta_T": "1/100"}
)
def lemma_21(witness):
    """Printed: W does not increase at a growth event.

    Instance: a new head with two prototypes at a given distance. No old term changes; the new ones are L_q >= 0,
    Phi(T_init) = 0, and the barrier lambda / distance^2.
    """
    names = ("lambda", "distance", "T_init", "T of the new head", "eta_T")
    lam, distance, first, T, eta = (Fraction(witness[k]) for k in names)
    yield "lambda and the distance, positive", f"{lam} and {distance}", lam > 0 and distance > 0
    potential = (first**3 - T**3) / (3 * eta)
    yield "Phi of the new head", str(potential), potential == 0
    barrier = lam / distance**2
    yield "W increases by more than", str(barrier + potential), barrier + potential > 0


@verifies("growing/theorem-8-bounded", {"lambda": "33/8", "eta_P": "1", "T_init": "2", "a_0": "33/256", "b_0": "4"})
def theorem_8_bounded(witness):
    """Verify an instance that refutes Theorem 8 (ii) of "DDCL-INCRT".

    Printed: for lambda > 2 eta_P C(K, 2) and a coercive regulariser every trajectory is bounded.

    Instance: one token at 0, for every linear encoder, and two prototypes at -a and b on a line, at any temperature
    between T_min and T_init. With x = (b^2 - a^2) / T, q = 1 / (1 + e^x) and w = q (1 - (1 - q) x), the weight of the
    far prototype in the gradient of L_q through the assignments, and g = a + b: da/dt = -2 eta (1 - w) a + 2 eta lambda
    / g^3 and db/dt = -2 eta w b + 2 eta lambda / g^3. For x >= 2, (1 - q) x >= 2 - 2 e^-2 > 1, so that w < 0. At a =
    a_0 and b >= b_0 with a_0 b_0^3 >= lambda, da/dt < 0; so the region 0 <= a <= a_0, b >= b_0 is invariant, and (b +
    a_0)^3 db/dt >= 2 eta lambda in it: b is unbounded.
    """
    lam, eta, T, a, b = (Fraction(witness[k]) for k in ("lambda", "eta_P", "T_init", "a_0", "b_0"))
    yield "lambda - 2 eta_P C(2, 2), positive", str(lam - 2 * eta), lam > 2 * eta > 0
    yield "0 < a_0 < b_0", f"{a}, {b}", 0 < a < b
    yield "x at b_0, at least 2", str((b * b - a * a) / T), b * b - a * a >= 2 * T > 0
    square = sum(Fraction(2**n, math.factorial(n)) for n in range(8))
    yield "e^2, at least, above 2", float(square), square > 2
    yield "a_0 b_0^3 - lambda, not negative", str(a * b**3 - lam), a * b**3 >= lam


@verifies(
    "growing/theorem-8-limit-set",
    {"z": "1/4", "lambda": "9/4", "eta_P": "9/16", "least p": "1/2", "largest p": "1", "T_min": "7/16"},
)
def theorem_8_limit_set(witness):
    """Verify an instance that refutes Theorem 8 (iii) of "DDCL-INCRT".

    Printed: at every limit point sigma = 0.

    Instance: tokens at -z and z, prototypes at -p and p on a line, T between T_min and T_init. p' = eta (-p + v z +
    lambda / (4 p^3)), losses as means over tokens, with v = tanh(x/2) + x / (2 cosh^2(x/2)), x = 4 z p / T; 0 <= v <=
    3/2, since cosh^2(x/2) >= 1 + x^2/4. sigma = (4 z p)^2 / (4 cosh^2(x/2)) >= (4 z p)^2 / (4 e^x) > 0 on an invariant
    interval, at all times.
    """
    lam, eta, coldest = (Fraction(witness[k]) for k in ("lambda", "eta_P", "T_min"))
    yield "lambda - 2 eta_P C(2, 2), positive", str(lam - 2 * eta), lam > 2 * eta > 0
    yield from invariant_interval(witness)
    z, low, high = (Fraction(witness[k]) for k in ("z", "least p", "largest p"))
    yield "T_min, positive", str(coldest), coldest > 0
    largest = math.ceil(4 * z * high / coldest)
    sigma = (4 * z * low) ** 2 / (4 * 3**largest)
    yield "sigma, at least, positive", str(sigma), sigma > 0


@verifies(
    "growing/definition-2",
    {
        "z": [[1, -1, 1, 0], [-1, -1, 0, -1], [-1, -1, -1, 1]],
        "banks": [[[1, 1, -1, 1], [1, -1, 0, -1]], [[0, 0, 1, 1], [1, 1, 0, 0]]],
        "eta_T": "1/90",
    },
)
def definition_2(witness):
    """Printed: Phi = (T_init^3 - T^3) / (3 eta_T) is constructed so that dPhi/dt = -sigma along dT/dt = -eta_T sigma /
    T^2.

    Instance: two heads on integer points at T = 1 / log 2, where assignments are rational: sigma > 0, and dPhi/dt =
    -(dT^3/dt) / (3 eta_T) = +sigma.
    """
    eta = Fraction(witness["eta_T"])
    yield "eta_T, positive", str(eta), eta > 0
    for bank in witness["banks"]:
        z, p = integer_matrix(witness["z"]), integer_matrix(bank)
        sigma = activity(z, p, assignments(z, p, Fraction(2)))
        cubes = -3 * eta * sigma  # the derivative of T^3
        along = -cubes / (3 * eta)
        yield "sigma, positive", str(sigma), sigma > 0
        yield "dPhi/dt, which is sigma", str(along), along == sigma
        yield "dPhi/dt + sigma, not zero", str(along + sigma), along != -sigma


@verifies(
    "growing/lemma-20",
    {
        "z": [[0, 1, 1, -1], [-1, 0, -1, -1], [1, 0, -1, 0]],
        "banks": [[[-1, -1, -1, 0], [0, -1, -1, 0]], [[-1, -1, 0, 1], [-1, 1, -1, -1]]],
        "lambda": "1/4",
        "eta_P": "1/100",
        "eta_T": "1/2500",
        "T_min": "1/10",
        "low": "69/100",
        "high": "7/10",
    },
)
def lemma_20(witness):
    """Printed: dW/dt <= 0 on every dwell interval, under conditions that bound rates and their ratios from above, and
    lambda > 2 eta_P C(K, 2).

    Instance: two heads on integer points at T = 1 / log 2, losses as means over tokens, fixed embeddings, prototypes
    that descend W. dW/dt = sum sigma - eta_P |grad_P W|^2 - eta_T sum sigma^2 / T^4; the square is convex in log 2.
    """
    z, banks = integer_matrix(witness["z"]), [integer_matrix(p) for p in witness["banks"]]
    lam, eta, eta_T, low, high = (Fraction(witness[k]) for k in ("lambda", "eta_P", "eta_T", "low", "high"))
    yield "log 2 is between the bounds", f"{low} and {high}", log_2_is_within(low, high)
    yield "lambda - 2 eta_P C(2, 2), positive", str(lam - 2 * eta), lam > 2 * eta > 0
    sigma = [activity(z, p, assignments(z, p, Fraction(2))) for p in banks]
    yield "activities, positive and different", [float(s) for s in sigma], min(sigma) > 0 and sigma[0] != sigma[1]
    yield "eta_T / eta_P, at most 1/10", float(eta_T / eta), 0 < 10 * eta_T <= eta
    coldest = Fraction(witness["T_min"]) ** 3
    yield "(E1) 3 eta_T sigma, below T_min^3", float(3 * eta_T * max(sigma)), 3 * eta_T * max(sigma) < coldest
    steepest = max(squared_slope(z, banks, lam, log_2) for log_2 in (low, high))
    bound = sum(sigma) - eta * steepest - eta_T * sum(s * s for s in sigma) * high**4
    yield "dW/dt, at least, positive", float(bound), bound > 0


@verifies(
    "growing/lemma-20/equation-46",
    {
        "z": [[0, 0, -1, -1], [1, -1, 0, 0], [0, -1, 0, 1]],
        "banks": [[[-1, -1, -1, 0], [-1, 1, 1, 0]], [[-1, 0, -1, 1], [0, -1, -1, -1]]],
        "lambda": "140",
        "eta_P": "1/4",
        "low": "69/100",
        "high": "7/10",
    },
)
def lemma_20_equation_46(witness):
    """Verify an instance that refutes Lemma 20, with equation (46) as printed, of "DDCL-INCRT".

    Printed: dW/dt <= 0 on every dwell interval, with dP/dt = -eta_P grad_P L_q, without the barrier.

    Instance: two heads on integer points at T = T_min = 1 / log 2, losses as means over tokens. dW/dt = -eta_P <g +
    lambda r, g> with the derivatives g of L_q, through the assignments, and lambda r of the barrier. <r, g> is affine
    in log 2, |g|^2 convex.
    """
    z, banks = integer_matrix(witness["z"]), [integer_matrix(p) for p in witness["banks"]]
    lam, eta, low, high = (Fraction(witness[k]) for k in ("lambda", "eta_P", "low", "high"))
    yield "log 2 is between the bounds", f"{low} and {high}", log_2_is_within(low, high)
    yield "lambda - 2 eta_P C(2, 2), positive", str(lam - 2 * eta), lam > 2 * eta > 0
    slopes = [[mean_loss_gradient(z, p, log_2) for p in banks] for log_2 in (low, high)]
    barriers = [barrier_gradient(p) for p in banks]
    crossed = max(sum(frobenius_product(g, r) for g, r in zip(pair, barriers, strict=True)) for pair in slopes)
    steepest = max(sum(frobenius_product(g, g) for g in pair) for pair in slopes)
    bound = eta * (-lam * crossed - steepest)
    yield "dW/dt, at least, positive", float(bound), bound > 0


@verifies("growing/lemma-23", {"s": "25/4", "r": "17/4", "C_gate": "16", "eps_1": "1/32"})
def lemma_23(witness):
    """Printed: |u - v_1(A_res)| <= C_gate eps_1 on a dwell interval, after a transient.

    Instance: A_res with the planes (e_1, e_2) and (e_3, e_4) of values s > r. E = A^T A is s^2 on the first plane: the
    gate rests at e_1, and it rests at e_2, from the start and for every eps_1. For a unit vector v, one of |<v, e_1>|
    and |<v, e_2>| is at most 1 / sqrt 2, and the square of that vector's distance from v and -v at least 2 - sqrt 2 >
    9/16.
    """
    s, r, C, epsilon = (Fraction(witness[k]) for k in ("s", "r", "C_gate", "eps_1"))
    yield "gap between the pairs, positive", str(s - r), s > r > 0
    a = [[0, s, 0, 0], [-s, 0, 0, 0], [0, 0, 0, r], [0, 0, -r, 0]]
    E = [[sum(a[k][i] * a[k][j] for k in range(4)) for j in range(4)] for i in range(4)]
    for k in (0, 1):
        w = [Fraction(i == k) for i in range(4)]
        pull = [sum(x * y for x, y in zip(row, w, strict=True)) for row in E]
        size = sum(x * y for x, y in zip(pull, w, strict=True))
        speed = [x - size * y for x, y in zip(pull, w, strict=True)]
        yield f"velocity of the gate at e_{k + 1}", [str(v) for v in speed], not any(speed)
    yield "sqrt 2, below 23/16", "23/16", Fraction(23, 16) ** 2 > 2
    yield "C_gate eps_1, below 3/4", str(C * epsilon), 0 < C * epsilon < Fraction(3, 4)


@verifies(
    "growing/lemma-24",
    {"z": "5/8", "lambda": "3/4", "least p": "1/2", "largest p": "2", "C_temp": "745", "eps_2": "1/143040"},
)
def lemma_24(witness):
    """Printed: |T(t) - T_inf| <= C_temp eps_2 for all t >= t* = (T_init^3 - T_min^3) / (3 eta_T sigma_0), C_temp
    independent of the rates; the only rest point of T at fixed P is T_min here.

    Instance: tokens at -z and z, prototypes at -p and p on a line. p' = eta (-p + v z + lambda / (4 p^3)), losses as
    means over tokens, with v = tanh(x/2) + x / (2 cosh^2(x/2)), x = 4 z p / T; 0 <= v <= 3/2, since cosh^2(x/2) >= 1 +
    x^2/4. sigma = y^2 / (4 cosh^2(y / 2 T)) with y = 4 z p. At the start y = y_0, the least one, and T_init is the
    largest y, so that 4 cosh^2 <= 4 cosh^2(1/2) < 5.1. For T <= y_0 / 30, sigma <= y^2 e^{-y/T} <= y_0^2 e^{-30}, since
    y^2 e^{-y/T} decreases in y >= 2 T. From y_0 / 30 to y_0 / 60 it takes at least the difference of the cubes over 3
    eta_T times this bound, and that is more than t*.
    """
    yield from invariant_interval(witness)
    z, low, high, C, epsilon = (Fraction(witness[k]) for k in ("z", "least p", "largest p", "C_temp", "eps_2"))
    y, hot = 4 * z * low, 4 * z * high
    warm, cool, coldest = y / 30, y / 60, y / 120
    e = sum(Fraction(1, math.factorial(n)) for n in range(12))
    above = e + Fraction(1, math.factorial(11))
    yield "4 cosh^2(1/2) = 2 + e + 1/e, below 5.1", float(2 + above + 1 / e), 2 + above + 1 / e < Fraction(51, 10)
    first, small = y * y / Fraction(51, 10), y * y / e**30
    arrival = (hot**3 - coldest**3) / (3 * first)
    longer = (warm**3 - cool**3) / (3 * small)
    yield "eta_T t*, at most", float(arrival), arrival > 0
    yield "eta_T times the time from y_0 / 30 to y_0 / 60, at least, above it", float(longer), longer > arrival
    yield "C_temp eps_2, below T - T_min at t*", str(C * epsilon), 0 < C * epsilon < cool - coldest


@verifies(
    "growing/corollary-13",
    {
        "z": "1/4",
        "lambda": "9/4",
        "eta_P": "9/16",
        "least p": "1/2",
        "largest p": "1",
        "T_min": "7/16",
        "c_1": "1",
        "c_2": "2",
        "mu_P": "1",
        "eps": ["1/10", "1/16"],
    },
)
def corollary_13(witness):
    """Printed: under (55), dW/dt <= -(c_0 - C_1 eps_1 - C_2 eps_2 - C_3 eps_3) (|grad_theta L_q|^2 + |grad_P W|^2 + sum
    sigma) at all times of a dwell interval, and sigma = 0 at limit points.

    Instance: tokens at -z and z, fixed embeddings, and a head along them at T_min, where it stays, with prototypes at
    -p and p; a second one across them, at rest. p' = eta (-p + v z + lambda / (4 p^3)), losses as means over tokens,
    with v = tanh(x/2) + x / (2 cosh^2(x/2)), x = 4 z p / T; 0 <= v <= 3/2, since cosh^2(x/2) >= 1 + x^2/4, and v = 0
    across. p' has opposite signs at the ends of an interval, so that there is a rest point in it, where dW/dt = 0, and
    sigma = (4 z p)^2 / (4 cosh^2(x/2)) >= (4 z p)^2 / (4 e^x) > 0. c_0 = eta_P mu_P / 2 and C_i = eta_P c_i; the
    embeddings are fixed, C_3 = 0.
    """
    z, lam, eta, low, high, coldest, c1, c2, mu = (Fraction(witness[k]) for k in list(witness)[:9])
    first, second = (Fraction(v) for v in witness["eps"])
    yield "lambda - 2 eta_P C(2, 2), positive", str(lam - 2 * eta), lam > 2 * eta > 0
    yield from invariant_interval(witness)
    yield "eps_1 and eps_2, positive and at most 1/10", f"{first}, {second}", 0 < min(first, second) <= Fraction(1, 10)
    left = eta * (mu / 2 - c1 * first - c2 * second)
    yield "(55): c_0 - C_1 eps_1 - C_2 eps_2, positive", str(left), left > 0 < min(c1, c2, mu)
    largest = math.ceil(4 * z * high / coldest)
    sigma = (4 * z * low) ** 2 / (4 * 3**largest)
    yield "sigma at the rest point, at least, positive", str(sigma), sigma > 0 < coldest
    yield "the bound of dW/dt = 0 there, negative", str(-left * sigma), -left * sigma < 0


@verifies(
    "growing/corollary-13/design-rule",
    {
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
    },
)
def corollary_13_design_rule(witness):
    """Verify an instance that refutes the last sentence of Corollary 13 of "DDCL-INCRT".

    Printed: the coupling condition (55), C_1 eps_1 + C_2 eps_2 + C_3 eps_3 < c_0, holds under the design rule (61).

    Instance: one free embedding at 0 with the regulariser 15 |z|^2, and prototypes at -a and a at rest, 4 a^2 / T =
    1/2: mu_theta = 31, L_theta = 32, |H|^2 = 2 (see corollary_12.py), fast gates, and D the gap of the planes. By Lemma
    23 C_gate = C_0 / D^2 and C_1 = 2 eta_P C_gate |X|^2 L_P / D^2; C_2 = eta_P, and c_0 = eta_theta mu_theta.
    """
    C0, L, D, eta, c0, eps, size, eta_T, slow, mu, cross, top = (Fraction(witness[k]) for k in witness)
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
