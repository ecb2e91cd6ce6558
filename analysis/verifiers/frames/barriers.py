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
    """Yield the checks that no trajectory leaves a <= a_0, b >= b_0, where b grows without bound."""
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
