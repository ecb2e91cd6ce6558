"""How near the fast variable comes to rest in a round: passes of the same layers, or a secant through two of them."""

import abc
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from dynsim.errors import argument_error

Pass = Callable[[Float[Array, "n d"]], Float[Array, "n d"]]


class AbstractApproximation(eqx.Module):
    """A way towards x = G(x) that applies G a fixed number of times.

    Source: MULTIRATE, Section 11.
    """

    passes: eqx.AbstractVar[int]

    @abc.abstractmethod
    def __call__(self, once: Pass, x: Float[Array, "n d"]) -> Float[Array, "n d"]:
        """Return what is reached from `x` with the map `once`."""


class Passes(AbstractApproximation):
    """G applied `passes` times over; once is the step of forward Euler that the paper's network takes.

    Source: MULTIRATE, Sections 11.1 and 11.2.
    """

    passes: int = eqx.field(static=True, default=1)

    def __check_init__(self):
        """Refuse to do nothing."""
        if self.passes < 1:
            raise argument_error("passes", "be at least 1", f"is {self.passes}")

    def __call__(self, once: Pass, x: Float[Array, "n d"]) -> Float[Array, "n d"]:
        """Return $G^M(x)$."""
        if self.passes == 1:
            return once(x)  # a loop of one trip would keep the layers from being fused with what is around them
        return jax.lax.scan(lambda x, _: (once(x), None), x, length=self.passes)[0]


class Anderson(AbstractApproximation):
    r"""Anderson's acceleration of depth one; with two passes it is the two-point secant.

    $$
        r_m = G(x_m) - x_m, \quad
        \theta_m = \frac{\langle r_m, r_m - r_{m-1} \rangle}{|r_m - r_{m-1}|^2}, \quad
        x_{m+1} = G(x_m) - \theta_m (G(x_m) - G(x_{m-1}))
    $$

    The paper does not say over what the inner product runs. Over the coordinates of each token ("token") the network
    stays causal; over the whole sequence ("sequence") the coefficient reads the future. Where two residuals are equal
    the coefficient is 0.

    Source: MULTIRATE, Section 11.3.
    """

    passes: int = eqx.field(static=True, default=2)
    span: str = eqx.field(static=True, default="token")

    def __check_init__(self):
        """Refuse fewer than two points."""
        if self.passes < 2:
            raise argument_error("passes", "be at least 2 for a secant", f"is {self.passes}")
        if self.span not in ("token", "sequence"):
            raise argument_error("span", "be token or sequence", f"is `{self.span}`")

    def __call__(self, once: Pass, x: Float[Array, "n d"]) -> Float[Array, "n d"]:
        """Return the last point of the iteration."""
        g = once(x)
        start = (g, g, g - x)

        def improved(carry: tuple[Array, Array, Array], _: None) -> tuple[tuple[Array, Array, Array], None]:
            x, last, residual = carry
            g = once(x)
            new = g - x
            return (g - self._coefficient(new, residual) * (g - last), g, new), None

        return jax.lax.scan(improved, start, length=self.passes - 1)[0][0]

    def _coefficient(self, new: Float[Array, "n d"], old: Float[Array, "n d"]) -> Float[Array, "rows 1"]:
        axes = -1 if self.span == "token" else (-2, -1)
        change = new - old
        square = jnp.sum(change**2, axis=axes, keepdims=True)
        moved = square > 0
        return jnp.where(moved, jnp.sum(new * change, axis=axes, keepdims=True) / jnp.where(moved, square, 1), 0)
