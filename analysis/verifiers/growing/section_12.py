"""Verifiers of refuted statements of Section 12 of "DDCL-INCRT"."""

import math
from fractions import Fraction

from analysis.verifiers.frames.barriers import invariant_interval
from analysis.verifiers.frames.cooling import second_head_cools
from analysis.verifiers.frames.script import verifies


@verifies(
    "growing/lemma-25",
    {
        "z": "7/8",
        "lambda": "4",
        "least p": "1/2",
        "largest p": "2",
        "T_min": "1/4",
        "T_init": "1",
        "values": ["2", "1"],
        "first bank": "e_1",
    },
)
def lemma_25(witness):
    """Printed: T_inf^(1) <= T_inf^(2) for heads in the order of their values.

    Instance: M_a with the planes (e_1, e_2) and (e_3, e_4) of values 2 and 1, tokens at -z and z on e_3, banks at -p
    and p on e_1 (first head) and on e_3 (second), which stay symmetric. The first has equal distances p^2 + z^2 from
    each token, so that sigma = 0 and T = T_init for ever. For the second p' = eta (-p + v z + lambda / (4 p^3)), losses
    as means over tokens, with v = tanh(x/2) + x / (2 cosh^2(x/2)), x = 4 z p / T; 0 <= v <= 3/2, since cosh^2(x/2) >= 1
    + x^2/4. sigma >= (4 z p)^2 / (4 e^x) > 0 until T = T_min, which it therefore reaches.
    """
    yield from invariant_interval(witness)
    z, low, high = (Fraction(witness[k]) for k in ("z", "least p", "largest p"))
    first, second = (Fraction(v) for v in witness["values"])
    yield "values of the pairs, in descending order", f"{first}, {second}", first > second > 0
    token, bank = (0, 0, z, 0), [(low, 0, 0, 0), (-low, 0, 0, 0)]
    if witness["first bank"] != "e_1":
        bank = [(0, 0, low, 0), (0, 0, -low, 0)]
    d = [sum((x - y) ** 2 for x, y in zip(token, p, strict=True)) for p in bank]
    yield "difference of the distances of a token in the first head", str(d[0] - d[1]), d[0] == d[1]
    coldest, hot = Fraction(witness["T_min"]), Fraction(witness["T_init"])
    sigma = (4 * z * low) ** 2 / (4 * 3 ** math.ceil(4 * z * high / coldest))
    yield "sigma of the second head, at least, positive", str(sigma), sigma > 0
    yield "T_inf^(1) - T_inf^(2), positive", str(hot - coldest), hot > coldest > 0


@verifies(
    "growing/lemma-27",
    {
        "z": "1/2",
        "lambda": "19/8",
        "least p": "1/2",
        "largest p": "2",
        "T_min": "1/4",
        "T_init": "1",
        "values": ["2", "1"],
    },
)
def lemma_27(witness):
    """Printed: F^(1) > F^(2) at convergence, with a ratio of at least lambda^(1) / lambda^(2) (T^(2) / T^(1))^2.

    Instance: M_a with the planes (e_1, e_2) and (e_3, e_4) of values 2 and 1, tokens at -z and z on e_1, banks at -p_1
    and p_1 on e_1 (first head) and at -p_2 and p_2 on e_3 (second), which stay symmetric and in an interval: for the
    first p' = eta (-p + v z + lambda / (4 p^3)), losses as means over tokens, with v = tanh(x/2) + x / (2 cosh^2(x/2)),
    x = 4 z p / T; 0 <= v <= 3/2, since cosh^2(x/2) >= 1 + x^2/4. For the second v z is absent. F^(2) = 8 p_2^2, F^(1) =
    8 p_1^2 / cosh^4(x/2) <= 8 p_1^2 / (x^2/4)^2 = T^4 / (2 z^4 p_1^2), with T = T_min, which the first head reaches
    since sigma >= (4 z p)^2 / (4 e^x) > 0.
    """
    yield from invariant_interval(witness)
    z, low, T = (Fraction(witness[k]) for k in ("z", "least p", "T_min"))
    first, second = (Fraction(v) for v in witness["values"])
    yield "values of the pairs, in descending order", f"{first}, {second}", first > second > 0
    yield "T_min, positive", str(T), T > 0
    ratio = T**4 / (16 * z**4 * low**4)
    yield "F^(1) / F^(2), at most, below 1", str(ratio), ratio < 1


@verifies(
    "growing/corollary-15/boundary",
    {
        "c": ["1", "1/4"],
        "a": "1/2",
        "T_init": "1",
        "T_min": "1/2",
        "eta_P": "1",
        "eta_T": "1/2",
        "lambda": ["2", "1"],
    },
)
def corollary_15_boundary(witness):
    """Verify an instance that refutes Corollary 15 of "DDCL-INCRT", the part on the local/global boundary.

    Printed: the boundary of local and global heads is determined by the spectrum of M_a.

    Instance: tokens (+-c_1, +-c_2, 0, 0), directed attention with lambda_1 in the plane (1, 3) and lambda_2 < lambda_1
    in (2, 4). Head h is born with the prototypes +-a e_h and sees the tokens along e_h. Losses are averaged, gradients
    go through the assignments. With x = 2 a c / T, a' = -eta_P (a - c tanh x - c x / cosh^2 x) and sigma = 4 a^2 c^2 /
    cosh^2 x for each head. The tokens (+-c_2, +-c_1, 0, 0) exchange the heads, and leave M_a as it is.

    The head along c_1: c_1^2 >= T_init. At a = c_1 / 2, tanh x >= x / (1 + x) >= 1 / 2, so that a' > 0, and at a =
    3 c_1 / 2, x / cosh^2 x < 1 / 2, so that a' < 0: a stays between, sigma is bounded below, and T reaches T_min in
    finite time: it is local.

    The head along c_2: 4 c_2^2 < T_min. As tanh x <= x, a' <= -kappa a, kappa = eta_P (1 - 4 c_2^2 / T_min), the
    integral of sigma is at most 2 a^2 c_2^2 / kappa, and T^3 stays above T_init^3 - 6 eta_T a^2 c_2^2 / kappa: it is
    global.
    """
    a, start, least, eta_P, eta_T = (Fraction(witness[n]) for n in ("a", "T_init", "T_min", "eta_P", "eta_T"))
    (long, short), (first, second) = ([Fraction(v) for v in witness[n]] for n in ("c", "lambda"))
    yield "lambda_1 > lambda_2 > 0", (str(first), str(second)), first > second > 0
    yield "T_init > T_min > 0", (str(start), str(least)), start > least > 0
    yield "all rates are positive", (str(eta_P), str(eta_T)), eta_P > 0 and eta_T > 0
    yield "a, c_2 > 0", (str(a), str(short)), a > 0 and short > 0

    yield "along c_1: c_1^2 >= T_init", long**2, long**2 >= start
    yield "along c_1: c_1 / 2 <= a <= 3 c_1 / 2", a, long / 2 <= a <= 3 * long / 2
    yield "along c_2: 4 c_2^2 < T_min", 4 * short**2, 4 * short**2 < least
    kappa = eta_P * (1 - 4 * short**2 / least)
    left = start**3 - 6 * eta_T * a**2 * short**2 / kappa if kappa else Fraction(0)
    yield "along c_2: T^3 stays above T_min^3", left, left > least**3


@verifies(
    "growing/lemma-25-interlacing/tokens",
    {"s": "11/4", "r": "1/2", "tokens": [["1", "0", "1", "0"], ["0", "1", "0", "-1"]]},
)
def lemma_25_interlacing_tokens(witness):
    """Verify an instance that refutes the interlacing in the proof of Lemma 25, for A_res = X P M_a P X^T, of
    "DDCL-INCRT".

    Printed: projecting out a unit direction never raises the top eigenvalue of A_res.

    Instance: M_a with the planes (e_1, e_2) and (e_3, e_4) of values s and r, two tokens, and the direction e_3. A_res
    is 2 x 2 and antisymmetric, and its top value is the modulus of its entry x_1^T P M_a P x_2.
    """
    s, r = Fraction(witness["s"]), Fraction(witness["r"])
    yield "values, in descending order", f"{s}, {r}", s > r > 0
    m = [[0, s, 0, 0], [-s, 0, 0, 0], [0, 0, 0, r], [0, 0, -r, 0]]
    x, y = ([Fraction(v) for v in token] for token in witness["tokens"])
    value = lambda a, b: abs(sum(a[i] * m[i][j] * b[j] for i in range(4) for j in range(4)))
    without = lambda v: [0 if i == 2 else w for i, w in enumerate(v)]
    before, after = value(x, y), value(without(x), without(y))
    yield "top value before", str(before), before >= 0
    yield "top value after, above it", str(after), after > before


@verifies("growing/lemma-26", {"values": ["28", "21", "16"], "theta_w": "1/4"})
def lemma_26(witness):
    """Printed: sum lambda^(h) / |M_a|_F^2 >= 1 - K theta_w / |M_a|_F^2 at the end of growth.

    Instance: M_a with planes of coordinates of the given values: |M_a|_F^2 is twice the sum of their squares, and each
    plane above theta_w gives one head, at its value.
    """
    s, threshold = [Fraction(v) for v in witness["values"]], Fraction(witness["theta_w"])
    yield "theta_w, positive and below all values", str(threshold), 0 < threshold < min(s)
    energy = 2 * sum(v * v for v in s)
    covered, least = sum(s) / energy, 1 - len(s) * threshold / energy
    yield "coverage, below the bound", f"{float(covered)} < {float(least)}", covered < least


def energies(values, order):
    """The squared Frobenius norms of P M_a P after the planes of `order` lose one direction, one by one."""
    left, found = list(range(len(values))), []
    for plane in order:
        left.remove(plane)
        found.append(2 * sum(values[k] ** 2 for k in left))
    return found


@verifies("growing/lemma-28", {"values": ["7/4", "7/4", "3/4"], "distinct values": ["9/4", "7/4", "3/4"]})
def lemma_28(witness):
    """Printed: the spectral order is the only one with the least residual energy for a given number of heads.

    First instance: M_a with planes of coordinates (e_1, e_2), (e_3, e_4) and (e_5, e_6) of different values. Two heads
    that take e_1, e_3 and two that take e_3, e_1 leave the same energy, which is the least. Second instance, for each
    number of heads: M_a with planes of coordinates (e_1, e_2), (e_3, e_4) and (e_5, e_6), the first two of one value.
    Heads that take e_1, e_3, e_5 and heads that take e_3, e_1, e_5 leave the same energies, which are the least: any k
    directions leave at least 2 sum_{j > k} s_j^2, by interlacing.
    """
    s = [Fraction(v) for v in witness["distinct values"]]
    yield "different positive values", [str(v) for v in s], s[0] > s[1] > s[2] > 0
    (_, *one), (_, *other) = energies(s, (0, 1, 2)), energies(s, (1, 0, 2))
    least = [2 * sum(v * v for v in s[k:]) for k in (2, 3)]
    yield "energies of two and three heads, in both orders", [str(v) for v in other], one == other == least
    s = [Fraction(v) for v in witness["values"]]
    yield "values, positive and not increasing", [str(v) for v in s], s[0] >= s[1] > s[2] > 0
    one, other = energies(s, (0, 1, 2)), energies(s, (1, 0, 2))
    least = [2 * sum(v * v for v in s[k:]) for k in (1, 2, 3)]
    yield "energies of the first order", [str(v) for v in one], one == least
    yield "energies of the second order", [str(v) for v in other], other == least


@verifies(
    "growing/corollary-16",
    {
        "c": ["1/4", "1"],
        "a": "1/2",
        "T_init": "1",
        "T_min": "1/2",
        "eta_P": "1",
        "eta_T": "1/2",
        "lambda": ["2", "1"],
        "least assignment": "1/262145",
    },
)
def corollary_16(witness):
    """Printed: heads that tend to T_min give out prototypes, by hard assignments, and are finer, of larger lambda, than
    those that tend to a temperature above it.

    Instance: tokens (+-c_1, +-c_2, 0, 0), directed attention with lambda_1 in the plane (1, 3) and lambda_2 < lambda_1
    in (2, 4). Head h is born with the prototypes +-a e_h and sees the tokens along e_h. Losses are averaged, gradients
    go through the assignments. With x = 2 a c / T, a' = -eta_P (a - c tanh x - c x / cosh^2 x) and sigma = 4 a^2 c^2 /
    cosh^2 x for each head.

    Head 1, of the larger lambda: 4 c_1^2 < T_min. As tanh x <= x, a' <= -kappa a, kappa = eta_P (1 - 4 c_1^2 / T_min),
    the integral of sigma is at most 2 a^2 c_1^2 / kappa, and T_1^3 stays above T_init^3 - 6 eta_T a^2 c_1^2 / kappa: it
    is global.

    Head 2: c_2^2 >= T_init. At a = c_2 / 2, tanh x >= x / (1 + x) >= 1 / 2, so that a' > 0, and at a = 3 c_2 / 2, x /
    cosh^2 x < 1 / 2, so that a' < 0: a stays between, sigma is bounded below, and T_2 reaches T_min in finite time: it
    is local. Squared distances differ by 4 a c_2 <= 6 c_2^2, so that no assignment q falls below 1 / (1 + exp(6 c_2^2 /
    T_min)) >= 1 / (1 + 2^m), m >= 9 c_2^2 / T_min, since e^2 < 8; an output is 2 a q >= c_2 q from the nearest
    prototype.
    """
    yield from second_head_cools(witness)
    least, long = Fraction(witness["T_min"]), Fraction(witness["c"][1])
    bound = Fraction(1, 1 + 2 ** math.ceil(9 * long**2 / least))
    given = Fraction(witness["least assignment"])
    yield "no assignment of head 2 falls below", given, 0 < given <= bound
    yield "distance of its outputs from both prototypes, at least, positive", long * given, long * given > 0
