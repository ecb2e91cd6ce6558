"""Two prototypes with a barrier on a line: regions that trajectories do not leave."""

from fractions import Fraction


def invariant_interval(witness):
    """Yield the checks that an interval is invariant under p' = eta (-p + v z + lambda / (4 p^3)), 0 <= v <= 3/2."""
    z, lam, low, high = (Fraction(witness[k]) for k in ("z", "lambda", "least p", "largest p"))
    yield "0 < least p < largest p, z > 0", f"{low}, {high}, {z}", 0 < low < high and z > 0
    yield "p' / eta at the least p, at least, positive", str(lam / (4 * low**3) - low), lam / (4 * low**3) > low
    most = lam / (4 * high**3) + 3 * z / 2 - high
    yield "p' / eta at the largest p, at most, negative", str(most), most < 0


def escape(witness):
    """Yield the checks that no trajectory leaves a <= a_0, b >= b_0, where b grows without bound.

    For prototypes at distances a and b from the embedding, on opposite sides of it, let g = a + b, x = (b^2 - a^2)
    / T and q = 1 / (1 + e^x). The weight w of the far prototype in the gradient is q in the mode frozen, and q (1 -
    (1 - q) x) in the mode full. The field is

        a' = -2 (eta_theta + eta) (1 - w) a + 2 eta_theta w b + 2 eta lambda / g^3,
        b' = -2 (eta_theta + eta) w b + 2 eta_theta (1 - w) a + 2 eta lambda / g^3.

    Under the conditions below no trajectory leaves the region 0 <= a <= a_0, b >= b_0, where x >= 2. In it b' >=
    eta lambda / g^3, so that (a_0 + b)^4 grows at least like 4 eta lambda t: it has no limit point.

    Mode full: w < 0, as (1 - q) x >= 2 - 2 e^-2 > 1, so that b' is as said; at a = a_0, a' <= 2 eta (lambda / g^3 -
    a_0); at a = 0, |w| < x e^-x < 24 / x^3, so that a' > 0 if 24 T^3 eta_theta <= eta lambda b_0^2.

    Mode frozen: 0 < w < 1/2, and w < e^-x < 6 / x^3, so that w b g^3 < 6 T^3 (b + a_0) / (b - a_0)^3, which
    decreases in b. If it is at most s lambda / 2 with s = eta / (eta_theta + eta), b' is as said, and at a = a_0,
    a' <= (3 - s) eta lambda / g^3 - eta a_0 / s, which is not positive for a_0 b_0^3 >= 2 lambda, as s (3 - s) <=
    2. At a = 0, a' > 0.
    """
    lam, eta, slow, T = (Fraction(witness[k]) for k in ("lambda", "eta_P", "eta_theta", "T"))
    a0, b0 = Fraction(witness["a_0"]), Fraction(witness["b_0"])
    frozen = {"frozen": True, "full": False}[witness["mode"]]
    yield "lambda - 2 eta_P C(2, 2), positive", str(lam - 2 * eta), lam > 2 * eta > 0
    yield "(b_0^2 - a_0^2) / T, at least 2", str((b0**2 - a0**2) / T), b0 > a0 > 0 < T and b0**2 - a0**2 >= 2 * T
    least = 2 if frozen else 1
    yield f"a_0 b_0^3 / lambda, at least {least}", str(a0 * b0**3 / lam), a0 * b0**3 >= least * lam
    if frozen:
        weak = 12 * T**3 * (b0 + a0) / (b0 - a0) ** 3 * (eta + slow) / eta / lam
        yield "twice the bound of w b g^3, over s lambda, at most 1", float(weak), weak <= 1
    else:
        yield "e^2, at least 1 + 2 + 2 = 5, exceeds 2: 2 - 2 / e^2 > 1", str(2 - Fraction(2, 5)), 2 - Fraction(2, 5) > 1
        push = 24 * T**3 * slow / (eta * lam * b0**2)
        yield "24 T^3 eta_theta over eta lambda b_0^2, at most 1", float(push), push <= 1
