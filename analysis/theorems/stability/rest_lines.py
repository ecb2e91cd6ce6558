"""Functions that rest on a line through an equilibrium, fall beside it, and so lead solutions to the equilibrium."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from analysis.theorems.algebra import is_zero
from analysis.theorems.conditions import HOLDS, Hypothesis, known, together
from analysis.theorems.fields import Field
from analysis.theorems.linear import leading_minors
from analysis.theorems.regions import Condition, Region, box
from analysis.theorems.subdivision import positive

SHARE = 1 / 64
"""Half the width of the tube about the line in which Hessians are used, relative to the sides of the region."""


class RestLine:
    """A line through an equilibrium, with coordinates: t along it, and w for the components beside it."""

    def __init__(self, at: np.ndarray, direction: np.ndarray, region: Region):
        """Take over the equilibrium, (n,), a direction that is not zero, (n,), and the region."""
        self.at, self.direction, self.region = at, direction, region
        self.first = int(np.argmax(np.abs(direction)))
        self.others = [k for k in range(len(at)) if k != self.first]
        self.ratios = direction / direction[self.first]
        self.widths = SHARE * (region.sides[:, 1] - region.sides[:, 0])

    @property
    def along(self) -> tuple[float, float]:
        """A range of t that holds all of the region."""
        low, high = sorted((self.region.sides[self.first] - self.at[self.first]) / self.direction[self.first])
        room = 1e-6 * (high - low)
        return low - room, high + room

    def place(self, z: Any) -> Any:
        """The state with coordinates t and w, (n,)."""
        beside = jnp.zeros(len(self.at)).at[jnp.array(self.others)].set(z[1:])
        return self.at + z[0] * self.direction + beside

    def falls(self, rate: Condition, budget: int) -> list[Hypothesis]:
        """Decide whether a function V with this derivative along solutions falls beside the line and rests on it.

        On the line -V' and its slope across are zero, and in a tube about it the Hessian across is definite; elsewhere
        -V' is positive.
        """
        n = len(self.at)
        fall = lambda z: -rate(self.place(z))
        across = lambda z: jax.grad(fall)(z)[1:]
        on_line = lambda z: jnp.concatenate([z[:1], jnp.zeros(n - 1)])
        zero = is_zero(lambda z: jnp.append(across(on_line(z)), fall(on_line(z))), n)
        half = 1.001 * self.widths[self.others]
        tube = box([self.along, *((-w, w) for w in half)])
        minors = leading_minors(lambda z: jax.hessian(fall)(z)[1:, 1:], n - 1)
        parts = [positive(minor, tube, budget=budget) for minor in minors]
        for k in self.others:
            for sign in (1.0, -1.0):
                far = lambda x, k=k, s=sign: s * self._beside(x, k) - self.widths[k]
                outside = dataclasses.replace(self.region, inside=(*self.region.inside, far))
                parts.append(positive(lambda x: -rate(x), outside, budget=budget))
        return [
            known("V rests on the line", "V' = 0 and its slope across is 0", zero),
            together("V falls beside the line", "grad V . f < 0, with a definite Hessian across", parts),
        ]

    def is_left(self, field: Field, budget: int) -> Hypothesis:
        """Decide whether solutions leave the line at once but at the equilibrium: the field turns across it with t."""
        words, sense = "no other solution stays on the line", "the field across it is monotone along it"
        where, found = box([self.along]), []
        for k in self.others:
            speed = lambda t, k=k: self._beside(
                self.at + field(self.place(jnp.append(t, jnp.zeros(len(self.others))))), k
            )
            slope = lambda t, fn=speed: jax.jvp(fn, (t,), (jnp.ones(1),))[1]
            for sign in (1.0, -1.0):
                found.append(positive(lambda t, s=sign, fn=slope: s * fn(t), where, budget=budget))
        best = next((one for one in found if one.status == HOLDS), None)
        return known(words, sense, None, "intervals") if best is None else together(words, sense, [best])

    def _beside(self, x: Any, k: int) -> Any:
        return x[k] - self.at[k] - self.ratios[k] * (x[self.first] - self.at[self.first])
