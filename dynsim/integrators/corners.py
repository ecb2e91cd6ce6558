"""Motion where two surfaces on which a field jumps meet, by the bilinear combination of the four fields beside them.

Source: L. Dieci and L. Lopez, "Sliding motion on discontinuity surfaces of high co-dimension. A construction for
selecting a Filippov vector field", Numerische Mathematik 117 (2011), 779-811.
"""

from typing import Any, NamedTuple

import diffrax as dfx
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from dynsim._core.printing import one_line
from dynsim.integrators.embedded import solve_within
from dynsim.integrators.switched_field import SwitchedField
from dynsim.integrators.switched_solver import BRIEF, CLOSEST, PARALLEL, switched_over

# Distance from a surface, relative to one plus the size of the state, at which it is met; also where crossings
# accumulate, between which there are still short ways.
MEETS, NEARS = 1e-9, 100 * BRIEF
# Steps of Newton's method for the shares of the four fields.
STEPS = 20
# Speed, relative to the fastest of the four fields, that is rest, and rate of a distance that is none.
REST = 1e-9
# Places in an interval at which it is looked whether the motion on both surfaces goes on, and halvings to its end.
PLACES, HALVINGS = 64, 50
# Most times that a trajectory comes to slide on two surfaces in one interval.
VISITS = 100


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


def corner_at(field: SwitchedField, t: Array, x: Array, meets: Any = MEETS) -> Corner:
    """Find the two surfaces that meet at a state; others with the same directions count as these."""
    _, inside, modes, beyond = field.at(t, x, None)
    slopes = jax.jacfwd(lambda z: field.at(t, z, modes)[1])(x)
    near = inside <= meets * (1 + jnp.max(jnp.abs(x)))
    unit = slopes / jnp.maximum(jnp.linalg.norm(slopes, axis=1, keepdims=True), 1e-300)
    along = lambda k: near & ((unit @ unit[k]) ** 2 > 1 - PARALLEL**2)
    one = jnp.argmax(near)
    first = along(one)
    other = jnp.argmax(near & ~first)
    second = along(other)
    flips = jnp.stack([jnp.zeros_like(near), first, second, first | second])
    rest = near & ~first & ~second
    return Corner(jnp.where(flips, beyond, modes), jnp.stack([one, other]), jnp.any(near & ~first) & ~jnp.any(rest))


class CornerMotion(NamedTuple):
    """The motion where two surfaces meet.

    Attributes:
        velocity: the velocity along the intersection.
        fastest: the largest speed of the four fields.
        shares: the shares of the far sides of both surfaces, (2,).
        holds: whether a combination with shares from 0 to 1 stays on both surfaces. Where all four fields run along one
            of them, as at the end of an accumulation of crossings, all must have the same velocity along both.
    """

    velocity: Array
    fastest: Array
    shares: Array
    holds: Array

    __repr__ = one_line


def corner_motion(field: SwitchedField, t: Array, x: Array, corner: Corner) -> CornerMotion:
    """Compute the motion along the intersection of two surfaces."""
    at = lambda t, z: jax.vmap(lambda modes: field.at(t, z, modes)[0])(corner.modes)
    velocities = at(t, x)
    late, slopes = jax.jacfwd(_gaps, argnums=(2, 3))(field, corner, t, x)
    rates = late[None] + velocities @ slopes.T
    apart = jnp.max(jnp.abs(rates), axis=0) > REST * jnp.max(jnp.abs(rates))
    rates = jnp.where(apart, rates, 0.0)
    spread = velocities - velocities[:1]
    spread = spread - spread @ jnp.linalg.pinv(slopes) @ slopes

    def weights(ab: Array) -> Array:
        a, b = ab
        return jnp.stack([(1 - a) * (1 - b), a * (1 - b), (1 - a) * b, a * b])

    def step(_: Any, ab: Array) -> Array:
        J = jax.jacfwd(lambda ab: weights(ab) @ rates)(ab)
        determinant = J[0, 0] * J[1, 1] - J[0, 1] * J[1, 0]
        inverse = jnp.array([[J[1, 1], -J[0, 1]], [-J[1, 0], J[0, 0]]]) / jnp.where(determinant == 0, 1.0, determinant)
        inverse = jnp.where(jnp.all(apart), inverse, J.T / jnp.maximum(jnp.sum(J**2, axis=1), 1e-300)[None])
        return jnp.clip(ab - inverse @ (weights(ab) @ rates), 0.0, 1.0)

    shares = jax.lax.fori_loop(0, STEPS, step, jnp.full(2, 0.5))
    fastest = jnp.max(jnp.abs(velocities))
    holds = jnp.max(jnp.abs(weights(shares) @ rates)) <= REST * jnp.max(jnp.abs(rates))
    holds = holds & (jnp.all(apart) | (jnp.max(jnp.abs(spread)) <= REST * fastest))
    return CornerMotion(weights(shares) @ velocities, fastest, shares, holds)


def rests_in_corner(field: SwitchedField, t: Array, x: Array, meets: Any = MEETS) -> tuple[Array, Array]:
    """Test whether a state is at rest where two surfaces meet; also give the nearest state on both."""
    corner = corner_at(field, t, x, meets)
    x = _onto(field, corner, t, x)
    motion = corner_motion(field, t, x, corner)
    return corner.is_one & motion.holds & (jnp.max(jnp.abs(motion.velocity)) <= REST * motion.fastest), x


def _gaps(field: SwitchedField, corner: Corner, t: Array, x: Array) -> Array:
    return field.at(t, x, corner.modes[0])[1][corner.which]


def _onto(field: SwitchedField, corner: Corner, t: Array, x: Array) -> Array:
    """The nearest state where two surfaces meet."""
    return x - jnp.linalg.pinv(jax.jacfwd(_gaps, argnums=3)(field, corner, t, x)) @ _gaps(field, corner, t, x)


class CornerEnd(NamedTuple):
    """The end of a stretch of a trajectory: time, state, number of steps, and whether it failed or is not followed.

    `accumulates` tells that it is not followed because crossings of surfaces accumulate.
    """

    t: float
    x: Array
    steps: int
    failed: bool
    blocked: bool
    accumulates: bool = False

    __repr__ = one_line


def through_corners(field: SwitchedField, begin: float, end: float, x: Array, rtol: Array, longest: Array) -> CornerEnd:
    """Follow a trajectory over an interval, also where it slides on two surfaces, along their intersection.

    It leaves the intersection for the surface on which it stays where a share of the bilinear combination ends. It is
    not followed where it meets a third surface there. Where crossings of both surfaces accumulate, it stays on both if
    that determines its velocity, and is not followed otherwise.
    """
    t, sides, steps = begin, _ahead(field, jnp.asarray(begin), x), 0
    sides = jnp.stack([sides, sides])
    both, accumulates = rests_on_both(field, jnp.asarray(t), x), False
    for _ in range(VISITS):
        if not bool(both):
            found = _until_corner(field, jnp.asarray(t), jnp.asarray(end), x, sides, rtol, longest)
            t, x, steps, accumulates = float(found.t), found.x, steps + int(found.steps), bool(found.accumulates)
            if not bool(found.blocked):
                return CornerEnd(t, x, steps, bool(found.failed), False)
        corner, onto = _corner_at(field, jnp.asarray(t), x, jnp.asarray(NEARS if accumulates else MEETS))
        if not bool(corner.is_one) or (accumulates and not bool(_motion(field, jnp.asarray(t), onto, corner).holds)):
            break
        both, accumulates = False, False
        t, x, inside, free = _along(field, corner, t, end, onto, rtol)
        if inside:
            return CornerEnd(t, x, steps, not bool(jnp.all(jnp.isfinite(x))), False)
        if not free:
            break
        sides = _left_on(corner, np.asarray(_motion(field, jnp.asarray(t), x, corner).shares))
    return CornerEnd(t, x, steps, False, True, accumulates)


def _along(
    field: SwitchedField, corner: Corner, begin: float, end: float, x: Array, rtol: Array
) -> tuple[float, Array, bool, bool]:
    """Move along the intersection to the end of an interval or of the motion.

    Also tell whether the end of the interval was reached, and whether it met no other surface.
    """
    limits = jnp.asarray(begin), jnp.asarray(end)
    states, holds, free = (np.asarray(part) for part in _samples(field, corner, *limits, x, rtol))
    times = begin + (end - begin) * np.arange(PLACES + 1) / PLACES
    if (holds & free).all():
        return end, jnp.asarray(states[-1]), True, True
    k = int(np.argmin(holds & free))
    if k == 0:
        return begin, x, False, bool(free[0])
    low, high, state, alone = float(times[k - 1]), float(times[k]), states[k - 1], bool(free[k])
    start = low, jnp.asarray(state)
    for _ in range(HALVINGS):
        middle = low + (high - low) / 2
        if middle in (low, high):
            break
        there, holds, free = _samples(field, corner, jnp.asarray(start[0]), jnp.asarray(middle), start[1], rtol)
        if bool(holds[-1] & free[-1]):
            low, state = middle, there[-1]
        else:
            high, alone = middle, bool(free[-1])
    return low, jnp.asarray(state), False, alone


def _left_on(corner: Corner, shares: np.ndarray) -> Array:
    """The modes beside the surface on which a trajectory stays after both, or twice those of the piece that it enters.

    The share that is nearest to an end is that of the surface which is left.
    """
    away = np.minimum(shares, 1 - shares)
    left = int(np.argmin(away))
    side = int(shares[left] > 0.5) << left
    return corner.modes[jnp.array([side, side | (2 >> left)])]


_ahead = eqx.filter_jit(lambda field, t, x: field.ahead(t, x))
_motion = eqx.filter_jit(corner_motion)


@eqx.filter_jit
def _corner_at(field: SwitchedField, t: Array, x: Array, meets: Array) -> tuple[Corner, Array]:
    corner = corner_at(field, t, x, meets)
    return corner, _onto(field, corner, t, x)


@eqx.filter_jit
def rests_on_both(field: SwitchedField, t: Array, x: Array) -> Array:
    """Test whether a state rests where two surfaces meet, up to rounding."""
    return rests_in_corner(field, t, x, CLOSEST)[0]


@eqx.filter_jit
def _until_corner(
    field: SwitchedField, begin: Array, end: Array, x: Array, sides: Array, rtol: Array, longest: Array
) -> Any:
    none = jnp.zeros((x.shape[0], 0))
    return switched_over(field, begin, end, (end - begin) / 4, x, none, rtol, longest, sides=sides)


@eqx.filter_jit
def _samples(
    field: SwitchedField, corner: Corner, begin: Array, end: Array, x: Array, rtol: Array
) -> tuple[Array, Array, Array]:
    """States along the intersection at equal times, whether the motion holds there, and whether it met no surface.

    States that are not found are NaN, and count as reached.
    """
    velocity = lambda t, z, _: corner_motion(field, t, z, corner).velocity
    times = jnp.minimum(begin + (end - begin) * jnp.asarray(np.arange(PLACES + 1) / PLACES), end)  # also when rounded
    found = solve_within(velocity, begin, end, x, rtol=rtol, saveat=dfx.SaveAt(ts=times))
    ys: Any = found.ys
    onto = lambda t, z: _onto(field, corner, t, z)
    solved = found.result == dfx.RESULTS.successful
    states = jax.vmap(onto)(times, jnp.where(solved, ys, jnp.nan))
    others = jnp.all(corner.modes == corner.modes[:1], axis=0)
    free = lambda t, z: ~jnp.any(others & (field.at(t, z, corner.modes[0])[1] < 0))
    holds = lambda t, z: corner_motion(field, t, z, corner).holds
    return states, jax.vmap(holds)(times, states) | ~solved, jax.vmap(free)(times, states)
