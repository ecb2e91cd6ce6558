"""Pseudo-equilibria: states at rest on a surface on which a field jumps, where trajectories slide by Filippov's rule.

Source: M. di Bernardo, C. Budd, A. Champneys and P. Kowalczyk, Piecewise-smooth Dynamical Systems (2008), ch. 5.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from analysis.dynamics.linearisation import kind
from analysis.dynamics.scaling.linear_equations import balanced
from dynsim._core.host import filled, room_for
from dynsim._core.printing import one_line
from dynsim.integrators.corners import corner_at, corner_motion, rests_in_corner
from dynsim.integrators.switched_field import SwitchedField
from dynsim.integrators.switched_solver import sliding

# Bisections of a segment that crosses a surface, and steps of Newton's method along the surface.
HALVINGS, STEPS = 60, 30
# Relative speed at rest, distance of two states that are one, eigenvalue that is zero, and jump that is rounding.
REST, SAME, ZERO, JUMP = 1e-9, 1e-6, 1e-7, 1e-9
# Largest number of places on surfaces from which pseudo-equilibria are sought.
MOST = 512
# Steps along a curve of states at rest over the size of a trajectory.
WALK = 32


class PseudoEquilibrium(NamedTuple):
    """A state at rest on a surface on which the field jumps, because trajectories slide there.

    Attributes:
        state: the state, or the first one of a segment or set of them.
        last: the last one, equal to the first if it is isolated.
        kind: its stability on the surface, to which nearby trajectories come in finite time.
        values: the eigenvalues of the sliding field along the surface.
    """

    state: Float[np.ndarray, " n"]
    last: Float[np.ndarray, " n"]
    kind: str
    values: np.ndarray

    __repr__ = one_line

    def __str__(self) -> str:
        """Describe it in a line."""
        places = [f"({', '.join(f'{v:.6g}' for v in np.round(x, 9) + 0.0)})" for x in (self.state, self.last)]
        if self.is_isolated:
            return f"{self.kind} pseudo-equilibrium {places[0]}, where trajectories slide"
        return f"pseudo-equilibria from {places[0]} to {places[1]}, where trajectories slide"

    @property
    def is_isolated(self) -> bool:
        """Whether there are no others beside it."""
        return np.array_equal(self.state, self.last)


class SurfacePoints(NamedTuple):
    """Points on surfaces on which a field jumps.

    Attributes:
        which: the segments on which they lie.
        points: the points, (points, n).
        sides: modes of the pieces on both sides, (points, 2, surfaces).
        jumps: whether the field jumps there.
        slides: whether trajectories slide there.
    """

    which: np.ndarray
    points: Float[np.ndarray, "points n"]
    sides: np.ndarray
    jumps: Bool[np.ndarray, " points"]
    slides: Bool[np.ndarray, " points"]

    __repr__ = one_line


def surface_points(field: SwitchedField, t: Any, begins: np.ndarray, ends: np.ndarray) -> SurfacePoints:
    """Find a point on a surface in each segment whose ends lie on different sides of one."""
    count = len(begins)
    room, time = room_for(max(count, 1)), jnp.asarray(t, float)
    both = [jnp.asarray(filled(np.asarray(x, float), room)) for x in (begins, ends)]
    points, sides, gap, exits = (np.asarray(part)[:count] for part in _bisected(field, time, *both))
    which = np.flatnonzero(np.any(sides[:, 0] != sides[:, 1], axis=-1))
    jumps = gap[which] > JUMP
    return SurfacePoints(which, points[which], sides[which], jumps, jumps & np.all(exits[which] > 0, axis=1))


def on_surface(field: SwitchedField, t: Any, points: np.ndarray, sizes: np.ndarray) -> Bool[np.ndarray, " points"]:
    """Tell which points lie on a surface on which the field jumps, up to 1e-7 of the sizes of the components."""
    found, beside = np.zeros(len(points), bool), _beside(points, sizes)
    for e in np.eye(points.shape[1]) if len(points) else ():
        part = surface_points(field, t, points - e * beside, points + e * beside)
        found[part.which[part.jumps]] = True
    return found


def _beside(points: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Compute small distances along the components, by their sizes and by rounding of the points."""
    return 1e-7 * sizes + 16 * np.spacing(np.abs(points))


def rest_by_sliding(
    field: SwitchedField, t: Any, x: np.ndarray, sizes: np.ndarray
) -> tuple[Float[np.ndarray, "points n"], str, np.ndarray] | None:
    """Recognise a state at rest on a surface where trajectories slide; None if it is not.

    Give the states at rest that it belongs to, which are several along a curve up to some sizes to each side, their
    stability and the eigenvalues, one of them minus infinity for the direction across the surface.
    """
    near = surface_points(field, t, *(x + sign * np.diag(_beside(x, sizes)) for sign in (-1, 1)))
    if not np.any(near.slides):
        return None
    sides = jnp.asarray(near.sides[np.flatnonzero(near.slides)[:1]])
    look = lambda y: [
        np.asarray(part)[0]
        for part in _polished(field, jnp.asarray(t, float), jnp.asarray(y)[None], sides, jnp.asarray(sizes, float))
    ]
    begin, rest, held, J, normal = look(x)
    if not (rest and held and np.all(np.abs(begin - x) <= 1e-4 * sizes)):
        return None
    basis, along, values, null = _along_surface(J, normal)
    word, spectrum = kind(values[~null], 0.0) if np.sum(null) < 2 else "undecided", np.append(values, -np.inf)
    if np.sum(null) != 1:
        return begin[None], word, spectrum
    direction = basis @ np.linalg.svd(along)[2][-1]
    inside = lambda y: bool(np.all(np.abs(y - x) <= sizes))
    return _segment(lambda y: look(y)[:3], begin, direction * float(np.min(sizes)) / WALK, inside), word, spectrum


def rest_in_corner(
    field: SwitchedField, t: Any, x: np.ndarray
) -> tuple[Float[np.ndarray, "1 n"], str, np.ndarray] | None:
    """Recognise a state at rest where two surfaces meet, to which trajectories slide; None if it is not.

    Give the state, its stability along both surfaces and the eigenvalues, two of them minus infinity.
    """
    rests, slopes, normals = (np.asarray(part) for part in _in_corner(field, jnp.asarray(t, float), jnp.asarray(x)))
    if not rests:
        return None
    basis = np.linalg.svd(normals)[2][2:].T
    values = np.linalg.eigvals(basis.T @ slopes[0] @ basis)
    known = np.abs(values) > ZERO * _rate(slopes)
    spectrum = np.append(values, [-np.inf, -np.inf])
    return x[None], kind(spectrum, 0.0) if np.all(known) else "undecided", spectrum


@eqx.filter_jit
def _in_corner(field: SwitchedField, t: Array, x: Array) -> tuple[Array, Array, Array]:
    corner = corner_at(field, t, x)
    J = jax.jacfwd(lambda z: corner_motion(field, t, z, corner).velocity)(x)
    pieces = jax.jacfwd(lambda z: jax.vmap(lambda modes: field.at(t, z, modes)[0])(corner.modes))(x)
    normals = jax.jacfwd(lambda z: field.at(t, z, corner.modes[0])[1][corner.which])(x)
    return rests_in_corner(field, t, x)[0], jnp.concatenate([J[None], pieces]), normals


def _segment(
    look: Callable[[np.ndarray], Any], begin: np.ndarray, step: np.ndarray, inside: Callable[[np.ndarray], bool]
) -> Float[np.ndarray, "points n"]:
    """Walk along states at rest from one of them, in steps to both sides, to the ends of the segment or out."""
    ways = []
    for sign in (-1, 1):
        points, ahead = [begin], sign * step
        for _ in range(4 * WALK):
            y, rest, held = look(points[-1] + ahead)
            if rest and held and inside(y) and np.linalg.norm(y - points[-1]) > 0:
                points.append(y)
            elif np.linalg.norm(ahead) < REST * WALK * np.linalg.norm(step):
                break
            else:
                ahead = ahead / 2
        ways.append(points[1:])
    return np.array([*ways[0][::-1], begin, *ways[1]])


@eqx.filter_jit
def _bisected(field: SwitchedField, t: Array, begins: Array, ends: Array) -> tuple[Array, ...]:
    def one(a: Array, b: Array) -> tuple[Array, ...]:
        modes = lambda x: field.at(t, x, None)[2]
        first = modes(a)
        size = jnp.max(jnp.abs(jax.vmap(lambda x: field.at(t, x, None)[0])(jnp.stack([a, b]))))

        def halved(_: Any, both: tuple[Array, Array]) -> tuple[Array, Array]:
            a, b = both
            same = jnp.all(modes((a + b) / 2) == first)
            return jnp.where(same, (a + b) / 2, a), jnp.where(same, b, (a + b) / 2)

        a, b = jax.lax.fori_loop(0, HALVINGS, halved, (a, b))
        sides = jnp.stack([first, modes(b)])
        velocities = jax.vmap(lambda m: field.at(t, b, m)[0])(sides)
        jump = jnp.max(jnp.abs(velocities[1] - velocities[0])) / (1e-300 + size)
        return b, sides, jump, sliding(field, t, b, sides)[1]

    return jax.vmap(one)(begins, ends)


def _along_surface(
    slopes: Float[np.ndarray, "3 n n"], normal: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Restrict the derivative of the sliding field to a surface: a basis, the matrix, its eigenvalues, which are zero.

    The eigenvalues are sorted by size, the largest first. `slopes` are the derivatives of the sliding field and of both
    pieces beside it, whose rates say what is zero.
    """
    basis = np.linalg.svd(normal[None])[2][1:].T
    along = basis.T @ slopes[0] @ basis
    values = np.linalg.eigvals(along)
    values = values[np.argsort(-np.abs(values))]
    return basis, along, values, np.abs(values) <= ZERO * _rate(slopes)


def _rate(slopes: Float[np.ndarray, "matrices n n"]) -> float:
    """Compute the largest norm of matrices, in balanced units of the components."""
    return max(float(np.linalg.norm(balanced(matrix)[0])) for matrix in slopes)


def pseudo_equilibria(
    field: SwitchedField,
    t: Any,
    near: SurfacePoints,
    inside: Callable[[np.ndarray], bool],
    extent: Float[np.ndarray, " n"],
) -> tuple[PseudoEquilibrium, ...]:
    """Find the states at rest on surfaces by Newton's method from points where trajectories slide.

    Two of them are one whose distance is a small share of the extent of the region that is searched.

    States at rest that fill a curve are followed along it to the ends of their segment.
    """
    starts = np.flatnonzero(near.slides)
    starts = starts[:: max(1, -(-len(starts) // MOST))]
    if not len(starts):
        return ()
    room, time, sizes = room_for(len(starts)), jnp.asarray(t, float), jnp.asarray(extent, float)
    points, sides = (jnp.asarray(filled(part[starts], room)) for part in (near.points, near.sides))
    made = _polished(field, time, points, sides, sizes)
    xs, rest, held, jacobians, normals = (np.asarray(part)[: len(starts)] for part in made)
    spread = np.max(np.ptp(near.points, axis=0))
    found: list[PseudoEquilibrium] = []
    known = np.zeros((0, xs.shape[1]))
    for k in np.flatnonzero(rest & held):
        x, sides = xs[k], jnp.asarray(near.sides[starts[k]])[None]
        if not inside(x) or any(np.all(np.abs(x - e.state) <= SAME * extent) for e in found):
            continue
        basis, along, values, null = _along_surface(jacobians[k], normals[k])
        if not np.any(null):
            found.append(PseudoEquilibrium(x, x, kind(values, 0.0), values))
            continue
        step = basis @ np.linalg.svd(along)[2][-1] * float(spread) / WALK
        if np.any(np.linalg.norm(known - x, axis=1) <= np.linalg.norm(step)):
            continue
        look = lambda y, sides=sides: [
            np.asarray(a)[0] for a in _polished(field, time, jnp.asarray(y)[None], sides, sizes)[:3]
        ]
        walked = _segment(look, x, step, inside)
        known = np.concatenate([known, walked])
        first, last = sorted((walked[0], walked[-1]), key=tuple)
        found.append(PseudoEquilibrium(first, last, "undecided", np.zeros(1, complex)))
    return tuple(found)


@eqx.filter_jit
def _polished(field: SwitchedField, t: Array, xs: Array, sides: Array, extent: Array) -> tuple[Array, ...]:
    """Apply Newton's method to the sliding velocity and the distance from the surface together.

    Give the states, whether they rest and are held on the surface, by the speeds beside it, the derivatives of the
    sliding velocity and of both pieces, and the normal.
    """

    def one(start: Array, sides: Array) -> tuple[Array, ...]:
        pieces = lambda z: jax.vmap(lambda m: field.at(t, z, m)[0])(sides)
        speed = jnp.max(jnp.abs(pieces(start)))

        def both(z: Array) -> Array:
            velocity, _, gap = sliding(field, t, z, sides)
            return jnp.append(velocity / speed, gap)

        move = lambda x: x - jnp.linalg.pinv(jax.jacfwd(both)(x), rtol=1e-9) @ both(x)
        x = jax.lax.fori_loop(0, STEPS, lambda _, x: move(x), start)
        velocity, exits, gap = sliding(field, t, x, sides)
        matrix = jax.jacfwd(both)(x)
        reach = jnp.abs(matrix[-1]) @ (jnp.abs(x) + extent)
        rests = (jnp.max(jnp.abs(velocity)) <= REST * jnp.max(jnp.abs(pieces(x)))) & (jnp.abs(gap) <= REST * reach)
        held = jnp.all(exits >= -REST * jnp.max(jnp.abs(exits)))
        slopes = jnp.concatenate([speed * matrix[None, :-1], jax.jacfwd(pieces)(x)])
        return x, rests, held, slopes, matrix[-1]

    return jax.vmap(one)(xs, sides)
