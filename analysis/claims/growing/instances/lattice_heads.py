r"""Two heads on integer points at the temperature 1 / log 2, where assignments are rational,
$q_{nk} = 2^{-d_{nk}} / \sum_j 2^{-d_{nj}}$, and derivatives of the loss are affine in log 2.
"""

import math
from fractions import Fraction
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from analysis.claims.growing.instances.interactions import blocks
from analysis.claims.rational_instances import Exact, matrix
from dynsim._core.types import Key
from dynsim.keys import numpy_rng
from dynsim.systems.growing.flow import Growing, GrowingFlow
from dynsim.systems.growing.rules import GrowthRules
from dynsim.systems.prototypes.losses import PrototypeLoss

TEMPERATURE = 1 / math.log(2)
LOG_2 = (Fraction(69, 100), Fraction(70, 100))
"""Rational bounds of log 2."""


class LatticeHeads(NamedTuple):
    """Tokens (n, 4), banks (2, k, 4) of integers, and lambda; losses are means over tokens, in the mode full."""

    z: Exact
    banks: Exact
    barrier: Fraction

    def _distances(self, head: int) -> Exact:
        return matrix([[sum((z - p) ** 2) for p in self.banks[head]] for z in self.z])

    def _assignments(self, head: int) -> Exact:
        powers = matrix([[Fraction(1, 2 ** int(d)) for d in row] for row in self._distances(head)])
        return powers / np.sum(powers, axis=1, keepdims=True)

    def activity(self, head: int) -> Fraction:
        """Return sigma of a head."""
        q, d = self._assignments(head), self._distances(head)
        mean = np.sum(q * d, axis=1, keepdims=True)
        return np.sum(q * (d - mean) ** 2) / len(self.z)

    @property
    def activities(self) -> tuple[Fraction, Fraction]:
        """The activities of both heads."""
        return self.activity(0), self.activity(1)

    def gradient(self, head: int, log_2: Fraction) -> Exact:
        """Return the derivative of the mean loss by the prototypes, in the mode full, for a value of log 2."""
        q, d, p = self._assignments(head), self._distances(head), self.banks[head]
        w = q * (1 - (d - np.sum(q * d, axis=1, keepdims=True)) * log_2)
        return 2 * (np.sum(w, axis=0)[:, None] * p - w.T @ self.z) / len(self.z)

    def repulsion(self, head: int) -> Exact:
        """Return the derivative of the barrier over lambda by the prototypes."""
        p = self.banks[head]
        found = matrix(np.zeros(p.shape, int))
        for k, a in enumerate(p):
            for j, b in enumerate(p):
                if j != k:
                    found[k] += -2 * (a - b) / sum((a - b) ** 2) ** 2
        return found

    def flow(self, *, barrier: float, prototype_rate: float, temperature_rate: float, clipped: bool) -> GrowingFlow:
        """Return the flow that ships, with both heads; if `clipped` the temperature is the least one."""
        k, hot = self.banks.shape[1], (2.0, TEMPERATURE) if clipped else (2.0, 0.1)
        rules = GrowthRules(capacity=2, prototypes=k, initial_temperature=hot[0], least_temperature=hot[1])
        flow = GrowingFlow(
            self.z.astype(float),
            blocks([2.0, 1.0]),
            rules=rules,
            loss=PrototypeLoss("full", barrier=barrier, reduction="mean"),
            prototype_rate=prototype_rate,
            temperature_rate=temperature_rate,
        )
        frames = np.zeros((2, 2, 4))
        frames[0, 0, 0] = frames[1, 0, 2] = 1.0
        both = jnp.ones(2, bool)
        return flow.with_heads(active=both, clipped=both & clipped, frames=jnp.asarray(frames))

    def witness(self) -> dict[str, object]:
        """Return the exact data, with the bounds of log 2."""
        data = {"z": self.z, "banks": list(self.banks), "lambda": self.barrier}
        return {**data, "low": LOG_2[0], "high": LOG_2[1]}

    def state(self) -> Growing:
        """Return the state at the temperature 1 / log 2."""
        banks = jnp.asarray(self.banks.astype(float))
        cubes = jnp.full(2, TEMPERATURE**3)
        return Growing(jnp.zeros(0), jnp.eye(4)[0], banks, cubes, jnp.zeros(()))


def inner(a: Exact, b: Exact) -> Fraction:
    """Return the sum of products of the entries of two arrays."""
    return np.sum(a * b)


def lattice_heads(key: Key) -> LatticeHeads:
    """Return three random tokens and two banks of two distinct prototypes, with different positive activities."""
    rng = numpy_rng(key, "lattice")
    while True:
        z = matrix(rng.integers(-1, 2, size=(3, 4)))
        banks = matrix(rng.integers(-1, 2, size=(2, 2, 4)))
        found = LatticeHeads(z, banks, Fraction(int(rng.integers(1, 17)), 4))
        distinct = all(np.any(bank[0] != bank[1]) for bank in banks)
        if distinct and len({0, *found.activities}) == 3:
            return found
