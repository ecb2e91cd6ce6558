r"""An encoder of which one output is fixed and the other is trained, so that minima of its losses are isolated.

$z_n = (x_{n0}, \theta \cdot y_n)$ for data $(x_{n0}, y_n)$. The fixed output excludes translations, rotations and
collapse along the first axis; $\theta = 0$ with prototypes on the first axis is always critical in the second axis.
"""

import math
from fractions import Fraction
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from analysis.claims.rational_instances import Exact, matrix
from analysis.claims.rational_logarithms import Enclosure, logarithm
from analysis.dynamics.equilibria.newton import newton
from dynsim._core.types import Key, State
from dynsim.keys import numpy_rng
from dynsim.spaces import AbstractSpace, Euclidean
from dynsim.systems.prototypes.assignments import Embeddings
from dynsim.systems.prototypes.encoders import AbstractEncoder, Data
from dynsim.systems.prototypes.flow import Coupled, CoupledFlow
from dynsim.systems.prototypes.losses import PrototypeLoss


class PartlyTrainedEncoder(AbstractEncoder):
    """The encoder z = (x_0, theta . (x_1, ..., x_{d-1})); the parameters are theta, (d - 1,)."""

    inputs: int = eqx.field(static=True)

    def embed(self, parameters: State, x: Data) -> Embeddings:
        """Return the first column of the data beside the trained combination of the others."""
        return jnp.stack([x[:, 0], x[:, 1:] @ parameters], axis=1)

    def draw(self, key: Key) -> State:
        """Return zeros."""
        del key
        return jnp.zeros(self.inputs - 1)

    @property
    def space(self) -> AbstractSpace:
        """Euclidean space."""
        return Euclidean()


class Minimum(NamedTuple):
    """A flow and a critical point of its potential, with the prototypes on the first axis and theta = 0."""

    flow: CoupledFlow
    state: Coupled


def minimum(key: Key, *, mode: str, ratio: float = 0.1) -> Minimum:
    """Return a random flow of 6 data in three groups, and a critical point with a prototype near each."""
    rng = numpy_rng(key, "minimum")
    centres = np.array([-2.0, 0.3, 2.2]) + 0.2 * rng.normal(size=3)
    first = np.repeat(centres, 2) + 0.3 * rng.uniform(-1, 1, 6)
    data = np.column_stack([first, rng.normal(size=(6, 2)) * [1.0, 0.6]])
    rate = float(rng.uniform(0.5, 2))
    flow = CoupledFlow(
        data,
        PartlyTrainedEncoder(3),
        float(rng.uniform(0.25, 0.4)),
        loss=PrototypeLoss(mode),
        encoder_rate=ratio * rate,
        prototype_rate=rate,
    )
    means = np.mean(first.reshape(3, 2), axis=1)
    start = Coupled(jnp.zeros(2), jnp.asarray(np.column_stack([means, np.zeros(3)])))
    return Minimum(flow, newton(flow, start)[0])


def pair_in_full_mode(key: Key, *, low: float, high: float) -> Minimum:
    r"""Return two data $(\pm a, \pm y)$ and two prototypes $(\pm a r, 0)$ at a critical point, in the mode `full`.

    With u between `low` and `high`, $r = \tanh u + u / \cosh^2 u$ and $T = 2 a^2 r / u$. In theta and the second
    coordinates the Hessian is that of the mode `frozen`, `SymmetricPair.trained_block`: both of its diagonal
    blocks are positive definite, and it is so itself if and only if r < 1, that is u < .6392.
    """
    rng = numpy_rng(key, "pair in full mode")
    a, y, u = rng.uniform(0.5, 2.0), rng.uniform(0.5, 2.0), rng.uniform(low, high)
    r = math.tanh(u) + u / math.cosh(u) ** 2
    rate = float(rng.uniform(0.5, 2))
    flow = CoupledFlow(
        np.array([[a, y], [-a, -y]]),
        PartlyTrainedEncoder(2),
        2 * a**2 * r / u,
        loss=PrototypeLoss("full"),
        encoder_rate=0.1 * rate,
        prototype_rate=rate,
    )
    return Minimum(flow, Coupled(jnp.zeros(1), jnp.asarray([[a * r, 0.0], [-a * r, 0.0]])))


class SymmetricPair(NamedTuple):
    r"""Two data $(\pm a, \pm y)$ and two prototypes $(\pm a r, 0)$, |r| < 1, in the mode `frozen`: exact equilibria.

    For r = 0 all coincide, at any temperature. For r > 0 the temperature $T = 2 a^2 r / \mathrm{artanh}\, r$ is that at
    $\tanh(2 a^2 r / T) = r$ and assignments are $(1 \pm r) / 2$.
    """

    a: Fraction
    y: Fraction
    r: Fraction
    temperature: float
    inverse_temperature: Enclosure

    def flow(self, *, encoder_rate: float = 1.0, prototype_rate: float = 1.0, mode: str = "frozen") -> CoupledFlow:
        """Return the flow that ships."""
        data = np.array([[self.a, self.y], [-self.a, -self.y]], float)
        rates = {"encoder_rate": encoder_rate, "prototype_rate": prototype_rate}
        return CoupledFlow(data, PartlyTrainedEncoder(2), self.temperature, loss=PrototypeLoss(mode), **rates)

    @property
    def state(self) -> Coupled:
        """The equilibrium."""
        s = float(self.a * self.r)
        return Coupled(jnp.zeros(1), jnp.asarray([[s, 0.0], [-s, 0.0]]))

    @property
    def trained_block(self) -> Exact:
        r"""The Hessian in theta and the second coordinates v of the prototypes, of the form sum q (y_n theta - v)^2."""
        y, r = self.y, self.r
        return matrix([[4 * y * y, -2 * y * r, 2 * y * r], [-2 * y * r, 2, 0], [2 * y * r, 0, 2]])

    @property
    def fixed_eigenvalues(self) -> tuple[Enclosure, Enclosure]:
        r"""The eigenvalues of the Hessian in the first coordinates, along the difference and the sum of the prototypes.

        $2 - 4 a^2 (1 - r^2) / T$ and $2 - 4 a^2 r^2 (1 - r^2) / T$.
        """
        a2, r2 = self.a**2, self.r**2
        spreads = (4 * a2 * (1 - r2), 4 * a2 * r2 * (1 - r2))
        found = [self.inverse_temperature.times(-spread) for spread in spreads]
        first, second = (Enclosure(2 + e.low, 2 + e.high) for e in found)
        return first, second

    @property
    def effective_curvature(self) -> Fraction:
        """The second derivative of the loss minimised over the prototypes, by theta: 4 y^2 (1 - r^2)."""
        return 4 * self.y**2 * (1 - self.r**2)


def collapsed_pair(a: Fraction, y: Fraction, temperature: Fraction) -> SymmetricPair:
    """Return the pair with both prototypes at the origin."""
    return SymmetricPair(a, y, Fraction(0), float(temperature), Enclosure(1 / temperature, 1 / temperature))


def separated_pair(a: Fraction, y: Fraction, r: Fraction) -> SymmetricPair:
    """Return the pair with the prototypes at (+-a r, 0)."""
    log = logarithm((1 + r) / (1 - r))  # twice artanh r
    return SymmetricPair(a, y, r, float(4 * a * a * r) / math.log((1 + r) / (1 - r)), log.times(1 / (4 * a * a * r)))


def random_pair(key: Key, *, separated: bool, factor: Fraction | None = None) -> SymmetricPair:
    """Return a random pair; a collapsed one has `factor` times the critical temperature 2 a^2, or a random factor."""
    rng = numpy_rng(key, "pair")
    a, y = (Fraction(int(rng.integers(2, 9)), 4) for _ in range(2))
    if separated:
        return separated_pair(a, y, Fraction(int(rng.integers(2, 8)), 10))
    above = Fraction(int(rng.integers(9, 24)), 8)
    return collapsed_pair(a, y, 2 * a * a * (above if factor is None else factor))
