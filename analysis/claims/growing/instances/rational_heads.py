"""Heads with rational assignments: a growing flow with one bank of prototypes on a lattice for each pair of M_a."""

from fractions import Fraction
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from analysis.claims.prototype_banks import RationalBank, distances, squared_norms
from analysis.claims.rational_instances import Exact, identity, matrix
from analysis.growing.pruning import heads_at
from analysis.ledger.evidence import Measurement, agrees, at_most, holds
from dynsim._core.types import Key
from dynsim.keys import numpy_rng, random_key
from dynsim.systems.growing.flow import Growing, GrowingFlow
from dynsim.systems.growing.rules import GrowthRules
from dynsim.systems.growing.transitions import grow
from dynsim.systems.prototypes.encoders import LinearEncoder
from dynsim.systems.prototypes.losses import PrototypeLoss

HEADS, PROTOTYPES, TOKENS, DIMENSION = 3, 3, 5, 6
THRESHOLD = Fraction(1, 2)
VALUES = (Fraction(3), Fraction(2), Fraction(1))
DOMINATED = (Fraction(2 * 10**6), Fraction(10**6), Fraction(1))  # the last pair is small against |M_a|, not small
PRUNING = Fraction(1, 10**6)


class RationalHeads(NamedTuple):
    """Banks of one set of tokens, one for each pair of M_a; its values, and an orthogonal matrix whose rows span them.

    The rows 2h and 2h + 1 of `rotation` span the plane of pair h, of value `values[h]`.
    """

    banks: tuple[RationalBank, ...]
    values: tuple[Fraction, ...]
    rotation: Exact
    pruning: Fraction = PRUNING
    gradient: str = "frozen"

    @property
    def interaction(self) -> Exact:
        """M_a = sum_h s_h (b a^T - a b^T) for the rows a, b of each pair."""
        pairs = zip(self.values, self.rotation[::2], self.rotation[1::2], strict=True)
        return np.sum([s * (np.outer(b, a) - np.outer(a, b)) for s, a, b in pairs], axis=0)

    @property
    def forces(self) -> tuple[Fraction, ...]:
        """F_sep = 4 |Sigma_q P|_F^2 of each head."""
        return tuple(4 * np.sum(squared_norms(bank.parts.covariance @ bank.p)) for bank in self.banks)

    @property
    def diversities(self) -> tuple[Fraction, ...]:
        """The trace of Sigma_q of each head."""
        return tuple(np.trace(bank.parts.covariance) for bank in self.banks)

    @property
    def activities(self) -> tuple[Fraction, ...]:
        """The mean variance sigma of (21) of each head."""
        return tuple(_activity(bank) for bank in self.banks)

    @property
    def separations(self) -> tuple[Fraction, ...]:
        """S(P), the least squared distance of two prototypes, of each head."""
        return tuple(min(_gaps(bank)) for bank in self.banks)

    @property
    def diameters(self) -> tuple[Fraction, ...]:
        """The largest squared distance of two prototypes of each head."""
        return tuple(max(_gaps(bank)) for bank in self.banks)

    @property
    def squared_energies(self) -> tuple[Fraction, ...]:
        """Gamma_h^2 = s_h^2 / (2 sum s^2) for u_h in the plane of pair h."""
        return tuple(s**2 / (2 * sum(v**2 for v in self.values)) for s in self.values)

    def system(self, *, head_input: str = "shared", linear: bool = False) -> tuple[GrowingFlow, Growing]:
        """Return the flow, grown by the rules from no head to one for each pair, and its state at these banks.

        The embeddings are the tokens themselves, or those of a linear encoder whose weights are the identity.
        """
        rules = GrowthRules(
            float(THRESHOLD),
            float(self.pruning),
            capacity=HEADS,
            prototypes=PROTOTYPES,
            prune_by="direction",
            head_input=head_input,
        )
        loss, encoder = PrototypeLoss(self.gradient), LinearEncoder(DIMENSION, DIMENSION) if linear else None
        flow = GrowingFlow(
            self.banks[0].floats[0], self.interaction.astype(float), rules=rules, loss=loss, encoder=encoder
        )
        x = flow.start(random_key(0, "heads"))
        if linear:
            x = x._replace(encoder=jnp.eye(DIMENSION))
        for _ in self.banks:
            flow, x = grow(flow, 0.0, x)
        prototypes = jnp.stack([bank.floats[1] for bank in self.banks])
        cubes = jnp.asarray([bank.temperature**3 for bank in self.banks])
        return flow, x._replace(prototypes=prototypes, cubes=cubes, clock=2 * flow.rules.dwell)

    def witness(self) -> dict[str, object]:
        """Return the exact data."""
        banks = {"z": self.banks[0].z, "P": [bank.p for bank in self.banks], "b": [bank.base for bank in self.banks]}
        return {**banks, "values of M_a": self.values, "theta_w": THRESHOLD, "phi_g": self.pruning}


def _activity(bank: RationalBank) -> Fraction:
    d = distances(bank.z, bank.p)
    mean = np.sum(bank.q * d, axis=1)[:, None]
    return np.sum(bank.q * (d - mean) ** 2) / len(bank.z)


def _gaps(bank: RationalBank) -> Exact:
    return distances(bank.p, bank.p)[np.triu_indices(len(bank.p), 1)]


def described(heads: RationalHeads) -> tuple[Measurement, ...]:
    """Measure that the heads have grown in the order of M_a, and that their measures that ship are as computed."""
    flow, x = heads.system()
    found = heads_at(flow, x)
    exact = {
        "forces": heads.forces,
        "separations": heads.separations,
        "diameters": heads.diameters,
        "diversities": heads.diversities,
        "activities": heads.activities,
        "energies": np.sqrt(np.array(heads.squared_energies, float)),
    }
    u = np.asarray(flow.frames[:, 0])
    grown = np.max(np.abs(np.asarray(flow.levels) - np.array(heads.values, float)))
    return (
        at_most("error of the levels of growth over the largest", grown / float(max(heads.values)), 1e-12, tolerance=0),
        agrees("products of their directions", u @ u.T, np.eye(HEADS)),
        *(agrees(f"the {name} that ship", getattr(found, name), np.array(exact[name], float)) for name in exact),
    )


def conditions(heads: RationalHeads, head: int) -> tuple[Measurement, ...]:
    """Measure Gamma < phi_g < theta_w for a head, (A1), (A2') for its direction, and (B3)."""
    below = heads.squared_energies[head] < heads.pruning**2
    along = heads.banks[head].p @ heads.rotation[2 * head]
    return (
        holds("Gamma of the pruned head is below phi_g", below),
        holds("phi_g is below theta_w, and every value of M_a above", heads.pruning < THRESHOLD < min(heads.values)),
        holds("prototypes of each head are distinct", all(min(_gaps(bank)) > 0 for bank in heads.banks)),
        holds("those of the pruned head differ along its direction", len(set(along)) > 1),
        holds("activities of heads differ", len(set(heads.activities)) > 1),
    )


def random_heads(key: Key, values: tuple[Fraction, ...] = DOMINATED, gradient: str = "frozen") -> RationalHeads:
    """Return random banks of one set of tokens, all prototypes distinct integer points, for a rotated M_a."""
    rng = numpy_rng(key, "heads")
    z = matrix(rng.integers(-1, 2, (TOKENS, DIMENSION)))
    p = np.zeros((HEADS * PROTOTYPES, DIMENSION), int)
    while len({tuple(row) for row in p}) < len(p):
        p = rng.integers(-1, 2, p.shape)
    bases = [Fraction(str(rng.choice(["9/8", "5/4", "4/3"]))) for _ in range(HEADS)]
    banks = [RationalBank(z, matrix(own), b) for own, b in zip(np.split(p, HEADS), bases, strict=True)]
    return RationalHeads(tuple(banks), values, rotation(rng), gradient=gradient)


def in_order(heads: RationalHeads, *, largest_last: bool) -> RationalHeads:
    """Return the heads with their banks in the order of their forces, that of the largest or of the smallest last."""
    order = sorted(range(HEADS), key=lambda h: heads.forces[h], reverse=not largest_last)
    return heads._replace(banks=tuple(heads.banks[h] for h in order))


def heads_on_a_line(key: Key) -> RationalHeads:
    """Return heads that see one token with prototypes on a line through it; their gradients are along it and differ."""
    rng, drawn = numpy_rng(key, "line"), random_heads(key)
    axis = matrix(np.eye(DIMENSION, dtype=int)[[int(rng.integers(DIMENSION))]])
    while True:
        places = [rng.choice(np.arange(-3, 4), PROTOTYPES, replace=False) for _ in range(HEADS)]
        banks = [b._replace(z=0 * axis, p=matrix(p[:, None]) * axis) for b, p in zip(drawn.banks, places, strict=True)]
        pulls = [abs(np.sum(bank.parts.centroids)) for bank in banks]
        if min(pulls) > 0 and len(set(pulls)) == HEADS and HEADS * pulls[-1] != sum(pulls):
            return drawn._replace(banks=tuple(banks))


def rotation(rng: np.random.Generator, dimension: int = DIMENSION) -> Exact:
    """Return a random rational orthogonal matrix, a product of two reflections."""
    found = identity(dimension)
    for _ in range(2):
        v = matrix(rng.choice([-3, -2, -1, 1, 2, 3], dimension))
        found = found @ (identity(dimension) - 2 * np.outer(v, v) / (v @ v))
    return found
