r"""Embeddings and prototypes with integer coordinates at the temperature 1 / log 2, where assignments are rational:
$q_{nk} = 2^{-d_{nk}} / \sum_j 2^{-d_{nj}}$.
"""

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from analysis.claims.prototype_banks import RationalBank
from analysis.claims.rational_instances import Exact, matrix
from dynsim._core.types import Key, State
from dynsim.exact import rationals
from dynsim.keys import numpy_rng
from dynsim.systems.prototypes.encoders import FreeEmbeddings, LinearEncoder
from dynsim.systems.prototypes.flow import Coupled, CoupledFlow
from dynsim.systems.prototypes.losses import PrototypeLoss


class LatticePoint(NamedTuple):
    """A state of a coupled flow in the mode `frozen`, on a lattice: data (n, d), W (m, d) or None, and prototypes.

    Without W the embeddings are the data, as free parameters; else they are x W^T. The rates are rational.
    """

    x: Exact
    W: Exact | None
    p: Exact
    encoder_rate: Fraction
    rate: Fraction

    @property
    def z(self) -> Exact:
        """The embeddings."""
        return self.x if self.W is None else self.x @ self.W.T

    @property
    def bank(self) -> RationalBank:
        """Embeddings and prototypes at the temperature 1 / log 2."""
        return RationalBank(self.z, self.p, Fraction(2))

    @property
    def loss(self) -> Fraction:
        """The loss L_q."""
        return self.bank.parts.loss

    @property
    def gradients(self) -> tuple[Exact, Exact]:
        """The derivatives of L_q at fixed assignments by the encoder's parameters and by the prototypes."""
        q = self.bank.q
        by_z = 2 * (self.z - q @ self.p)
        by_p = 2 * (np.sum(q, axis=0)[:, None] * self.p - q.T @ self.z)
        return (by_z if self.W is None else by_z.T @ self.x), by_p

    @property
    def theta(self) -> Exact:
        """The encoder's parameters."""
        return self.x if self.W is None else self.W

    @property
    def ratio(self) -> Fraction:
        """The ratio epsilon of the rates."""
        return self.encoder_rate / self.rate

    def flow(self) -> CoupledFlow:
        """Return the flow that ships."""
        n, m = self.z.shape
        encoder = FreeEmbeddings(n, m) if self.W is None else LinearEncoder(self.x.shape[1], m)
        rates = {"encoder_rate": float(self.encoder_rate), "prototype_rate": float(self.rate)}
        return CoupledFlow(self.x.astype(float), encoder, self.bank.temperature, loss=PrototypeLoss("frozen"), **rates)

    def state(self) -> State:
        """Return the state as floats."""
        return Coupled(self.theta.astype(float), self.p.astype(float))


def lattice_point(key: Key, *, linear: bool, ratio: Fraction | None = None) -> LatticePoint:
    """Return a random point: 4 data, 3 distinct prototypes in the plane, and rates of the given or a random ratio."""
    rng = numpy_rng(key, "lattice")
    x, W = rng.integers(-2, 3, (4, 2)), rng.integers(-1, 2, (2, 2))
    p = np.array(sorted(set(map(tuple, rng.integers(-2, 3, (20, 2)))), key=lambda _: rng.uniform())[:3])
    rate = Fraction(int(rng.integers(1, 9)), 4)
    epsilon = Fraction(int(rng.integers(1, 8)), 8) if ratio is None else ratio
    return LatticePoint(matrix(x), matrix(W) if linear else None, rationals("p", p), epsilon * rate, rate)
