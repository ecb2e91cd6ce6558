"""Motion where two surfaces on which a field jumps meet, by the bilinear combination of the four fields beside them.

Source: L. Dieci and L. Lopez, "Sliding motion on discontinuity surfaces of high co-dimension. A construction for
selecting a Filippov vector field", Numerische Mathematik 117 (2011), 779-811.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array

from dynsim._core.printing import one_line
from dynsim.integrators.switched_field import SwitchedField
from dynsim.integrators.switched_solver import PARALLEL

# Distance from a surface, relative to one plus the size of the state, at which it is met.
MEETS = 1e-9
# Steps of Newton's method for the shares of the four fields.
STEPS = 20
# Speed, relative to the fastest of the four fields, that is rest.
REST = 1e-9


class Corner(NamedTuple):
    """Where two surfaces meet.

    Attributes:
        modes: those of the four pieces, (4, surfaces).
        which: one surface of each direction.
        is_one: whether surfaces of exactly two directions meet at the state.
    """

    modes: Array
    which: Array
    is_one: Array

    __repr__ = one_line


def corner_at(field: SwitchedField, t: Array, x: Array) -> Corner:
    """Find the two surfaces that meet at a state; others with the same directions count as these."""
    _, inside, modes, beyond = field.at(t, x, None)
    slopes = jax.jacfwd(lambda z: field.at(t, z, modes)[1])(x)
    near = inside <= MEETS * (1 + jnp.max(jnp.abs(x)))
    unit = slopes / jnp.maximum(jnp.linalg.norm(slopes, axis=1, keepdims=True), 1e-300)
    along = lambda k: near & ((unit @ unit[k]) ** 2 > 1 - PARALLEL**2)
    one = jnp.argmax(near)
    first = along(one)
    other = jnp.argmax(near & ~first)
    second = along(other)
    flips = jnp.stack([jnp.zeros_like(near), first, second, first | second])
    rest = near & ~first & ~second
    return Corner(jnp.where(flips, beyond, modes), jnp.stack([one, other]), jnp.any(near & ~first) & ~jnp.any(rest))


def corner_velocity(field: SwitchedField, t: Array, x: Array, corner: Corner) -> tuple[Array, Array]:
    """Compute the velocity along the intersection of two surfaces, and the largest speed of the four fields."""
    velocities = jax.vmap(lambda modes: field.at(t, x, modes)[0])(corner.modes)
    rates = velocities @ jax.jacfwd(lambda z: field.at(t, z, corner.modes[0])[1][corner.which])(x).T

    def shares(ab: Array) -> Array:
        a, b = ab
        return jnp.stack([(1 - a) * (1 - b), a * (1 - b), (1 - a) * b, a * b])

    def step(_: Any, ab: Array) -> Array:
        J = jax.jacfwd(lambda ab: shares(ab) @ rates)(ab)
        determinant = J[0, 0] * J[1, 1] - J[0, 1] * J[1, 0]
        inverse = jnp.array([[J[1, 1], -J[0, 1]], [-J[1, 0], J[0, 0]]]) / jnp.where(determinant == 0, 1.0, determinant)
        return jnp.clip(ab - inverse @ (shares(ab) @ rates), 0.0, 1.0)

    found = shares(jax.lax.fori_loop(0, STEPS, step, jnp.full(2, 0.5)))
    return found @ velocities, jnp.max(jnp.abs(velocities))


def rests_in_corner(field: SwitchedField, t: Array, x: Array) -> Array:
    """Test whether a state is at rest where two surfaces meet."""
    corner = corner_at(field, t, x)
    velocity, fastest = corner_velocity(field, t, x, corner)
    return corner.is_one & (jnp.max(jnp.abs(velocity)) <= REST * fastest)
