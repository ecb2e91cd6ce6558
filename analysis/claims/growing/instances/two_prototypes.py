"""A head of two opposite prototypes, tokens at two opposite points of their line: all quantities in closed form.

Tokens at +a and -a on a line, r at each, prototypes at +v and -v, T = 1 / log b. With y = 2 a v / T the assignment of a
token to its prototype exceeds that to the other one by t = tanh y, which for integers a, v is a rational number.
"""

from fractions import Fraction
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from analysis.claims.prototype_banks import RationalBank
from analysis.claims.rational_instances import Exact, matrix
from analysis.claims.rational_logarithms import Enclosure, logarithm, total
from dynsim._core.types import Key
from dynsim.keys import numpy_rng, random_key
from dynsim.systems.growing.flow import Growing, GrowingFlow
from dynsim.systems.growing.rules import GrowthRules
from dynsim.systems.growing.transitions import grow
from dynsim.systems.prototypes.losses import PrototypeLoss

M = 3  # the dimension of tokens and prototypes
COPIES = 2


class TwoPrototypes(NamedTuple):
    """The integers a, v and r, the base b, and the line: a coordinate axis, 0 to M - 1."""

    a: int
    v: int
    copies: int
    base: Fraction
    axis: int

    def bank(self, a: int | None = None, v: int | None = None) -> RationalBank:
        """Return embeddings and prototypes, with other values of a or v if given."""
        a, v = self.a if a is None else a, self.v if v is None else v
        return RationalBank(
            _on_axis([a, -a] * self.copies, self.axis), _on_axis([v, -v], self.axis), self.base, name="line"
        )

    def tanh(self, a: int | None = None, v: int | None = None) -> Fraction:
        """Return t = tanh y."""
        weight = self.base ** (4 * (self.a if a is None else a) * (self.v if v is None else v))
        return (weight - 1) / (weight + 1)

    @property
    def y(self) -> Enclosure:
        """An enclosure of y = 2 a v log b."""
        return logarithm(self.base).times(Fraction(2 * self.a * self.v))

    def force(self, a: int | None = None, v: int | None = None) -> Fraction:
        """Return F_sep = 8 r^2 v^2 (1 - t^2)^2."""
        t, v = self.tanh(a, v), self.v if v is None else v
        return 8 * self.copies**2 * v**2 * (1 - t**2) ** 2

    @property
    def first_derivative(self) -> Enclosure:
        """An enclosure of phi'(0) = -4 y t phi(0), as the tokens move to (1 + eps) a."""
        return self.y.times(-4 * self.tanh() * self.force())

    @property
    def second_derivative(self) -> Enclosure:
        """An enclosure of phi''(0) = y^2 (20 t^2 - 4) phi(0)."""
        factor, y = (20 * self.tanh() ** 2 - 4) * self.force(), self.y
        return Enclosure(y.low**2, y.high**2).times(factor)

    @property
    def gradient(self) -> Fraction:
        """The derivative of Lq by the coordinate of the first prototype at fixed assignments, 2 r (v - a t)."""
        return 2 * self.copies * (self.v - self.a * self.tanh())

    @property
    def lipschitz(self) -> Fraction:
        """A bound of the spectral norm of that gradient's Jacobian for all prototypes at +-s v, 0 <= s <= 1.

        The Jacobian is 2 r less a matrix between 0 and (4 / T) sum_n q_n1 q_n2 (2 s^2 v^2 + 2 a^2).
        """
        largest = 4 * logarithm(self.base).high * self.copies * (self.v**2 + self.a**2)
        return max(Fraction(2 * self.copies), largest - 2 * self.copies)

    def slope(self, mode: str) -> Enclosure:
        """Return an enclosure of that derivative in a mode: in the mode full it is 2 r (v - a t - a y (1 - t^2))."""
        fixed = Enclosure(self.gradient, self.gradient)
        return fixed if mode == "frozen" else total([fixed, self.y.times(-2 * self.copies * self.a * self._slack)])

    def steepest(self, mode: str) -> Fraction:
        """Return a bound of the spectral norm of the gradient's Jacobian in a mode, as in `lipschitz`.

        In the mode full its eigenvalues are 2 r and 2 r (1 - (4 / T) c h(s y)) with c = s^2 v^2 or a^2, and h(x) =
        (1 - x tanh x) / cosh^2 x, which is at most 1, and at least -1/10 since 4 (x - 1) e^(-2 x) <= 2 e^(-3). If y <=
        1 it is not negative, and s^2 h(s y) <= 1 - t^2, as s / cosh(s y) increases.
        """
        if mode == "frozen":
            return self.lipschitz
        mild, per_square = self.y.high <= 1, 4 * logarithm(self.base).high
        below = per_square * max(self.v**2 * (self._slack if mild else 1), self.a**2) - 1
        above = 1 if mild else 1 + per_square * max(self.v, self.a) ** 2 / 10
        return 2 * self.copies * max(Fraction(above), below)

    def rate(self, mode: str, shift: int) -> Enclosure:
        """Return an enclosure of the step size that moves the prototypes by `shift` in a mode."""
        slope = self.slope(mode)
        return Enclosure(shift / slope.high, shift / slope.low)

    @property
    def _slack(self) -> Fraction:
        return 1 - self.tanh() ** 2

    @property
    def activity(self) -> Fraction:
        """The mean variance sigma of (21), q_1 q_2 (4 a v)^2."""
        return (1 - self.tanh() ** 2) * (2 * self.a * self.v) ** 2

    def system(self, rate: float = 1.0, gradient: str = "frozen") -> tuple[GrowingFlow, Growing]:
        """Return a flow whose first head is this one and whose second one has nearly coincident prototypes.

        The dominant plane of its M_a contains the line, which is the direction of the first head.
        """
        z, p, T = self.bank().floats
        m = np.zeros((M, M))
        other = (self.axis + 1) % M
        m[self.axis, other], m[other, self.axis] = 2.0, -2.0
        rules = GrowthRules(0.5, 0.1, capacity=2, prototypes=2, least_temperature=0.01, dwell=1e6)
        flow = GrowingFlow(z, m, rules=rules, loss=PrototypeLoss(gradient), prototype_rate=rate, temperature_rate=0.0)
        x = flow.start(random_key(0, "two prototypes"))
        flow, x = grow(flow, 0.0, x._replace(gate=jnp.eye(M)[self.axis]))
        near = jnp.asarray([[0.0] * M, [0.0] * (M - 1) + [0.1]])
        flow = flow.with_heads(active=jnp.ones(2, bool))
        return flow, x._replace(prototypes=jnp.stack([p, near]), cubes=jnp.full(2, T**3))

    def witness(self) -> dict[str, object]:
        """Return the data."""
        return {"a": self.a, "v": self.v, "r": self.copies, "b": self.base, "h": 1}


def _on_axis(values: list[int], axis: int) -> Exact:
    return matrix(np.outer(values, np.arange(M) == axis))


def near_base(y: float, a: int, v: int) -> Fraction:
    """Return 1 + 1/k, with the integer k for which 2 a v log(1 + 1/k) is near y."""
    return 1 + Fraction(1, max(1, round(2 * a * v / y)))


def expanding_head(key: Key) -> TwoPrototypes:
    """Return a head whose force has a positive second derivative by the expansion: y from 0.7 to 1.2."""
    rng = numpy_rng(key, "expanding")
    a, v = int(rng.integers(3, 6)), 20 * int(rng.integers(1, 4))
    base = near_base(float(rng.uniform(0.7, 1.2)), a, v)
    return TwoPrototypes(a, v, COPIES, base, int(rng.integers(M)))


def contracting_head(key: Key) -> TwoPrototypes:
    """Return a head with v = 11 a / 5 and y near 0.62, whose prototypes meet after one step of a moderate size."""
    rng = numpy_rng(key, "contracting")
    a, v = 5, 11
    base = near_base(float(rng.uniform(0.6, 0.64)), a, v)
    return TwoPrototypes(a, v, COPIES, base, int(rng.integers(M)))
