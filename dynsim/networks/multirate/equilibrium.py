"""Approximate the fixed point of the fast variable in a round, by truncated iteration or Anderson acceleration."""

import abc
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from dynsim.errors import ArgumentError

TokenMap = Callable[[Float[Array, "n d"]], Float[Array, "n d"]]
"""A map G of the tokens whose fixed point is sought."""


class AbstractFixedPointMethod(eqx.Module):
    """A method for x = G(x) that applies G a fixed number of times, `passes`.

    Source: MULTIRATE, Section 11.
    """

    passes: eqx.AbstractVar[int]

    @abc.abstractmethod
    def __call__(self, G: TokenMap, x: Float[Array, "n d"]) -> Float[Array, "n d"]:
        """Approximate the fixed point of `G`, starting from `x`."""


class FixedPointIteration(AbstractFixedPointMethod):
    """Fixed-point iteration with `passes` steps; one step is the forward-Euler step of the paper's network.

    Source: MULTIRATE, Sections 11.1 and 11.2.
    """

    passes: int = eqx.field(static=True, default=1)

    def __check_init__(self):
        """Raise `ValueError` for fewer than one step."""
        if self.passes < 1:
            raise ArgumentError("passes", "be at least 1", f"is {self.passes}")

    def __call__(self, G: TokenMap, x: Float[Array, "n d"]) -> Float[Array, "n d"]:
        """The iterate $G^M(x)$, M being `passes`."""
        if self.passes == 1:
            return G(x)  # XLA does not fuse across the boundary of a loop, even of one iteration
        return jax.lax.scan(lambda x, _: (G(x), None), x, length=self.passes)[0]


class Anderson(AbstractFixedPointMethod):
    r"""Anderson acceleration of depth one; for `passes` = 2 it is the two-point secant method.

    $$
        r_m = G(x_m) - x_m, \quad
        \theta_m = \frac{\langle r_m, r_m - r_{m-1} \rangle}{|r_m - r_{m-1}|^2}, \quad
        x_{m+1} = G(x_m) - \theta_m (G(x_m) - G(x_{m-1}))
    $$

    The paper does not say over which indices the inner product sums. With `span` = "token" it sums over the coordinates
    of each token, and the network is causal. With "sequence" it sums over the whole sequence, so the coefficient
    depends on later tokens. If two successive residuals are equal, the coefficient is 0.

    Source: MULTIRATE, Section 11.3.
    """

    passes: int = eqx.field(static=True, default=2)
    span: str = eqx.field(static=True, default="token")

    def __check_init__(self):
        """Raise `ValueError` for fewer than two evaluations of G, or an unknown span."""
        if self.passes < 2:
            raise ArgumentError("passes", "be at least 2 for a secant", f"is {self.passes}")
        if self.span not in ("token", "sequence"):
            raise ArgumentError("span", "be token or sequence", f"is `{self.span}`")

    def __call__(self, G: TokenMap, x: Float[Array, "n d"]) -> Float[Array, "n d"]:
        """The last iterate."""
        g = G(x)
        start = (g, g, g - x)

        def improved(carry: tuple[Array, Array, Array], _: None) -> tuple[tuple[Array, Array, Array], None]:
            x, last, residual = carry
            g = G(x)
            new = g - x
            return (g - self._coefficient(new, residual) * (g - last), g, new), None

        return jax.lax.scan(improved, start, length=self.passes - 1)[0][0]

    def _coefficient(self, new: Float[Array, "n d"], old: Float[Array, "n d"]) -> Float[Array, "rows 1"]:
        axes = -1 if self.span == "token" else (-2, -1)
        change = new - old
        square = jnp.sum(change**2, axis=axes, keepdims=True)
        changed = square > 0
        return jnp.where(changed, jnp.sum(new * change, axis=axes, keepdims=True) / jnp.where(changed, square, 1), 0)
