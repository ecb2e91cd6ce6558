"""Certify periodic orbits of flows in ball arithmetic: existence, local uniqueness, period and Floquet multipliers.

The results hold for the vector field exactly as coded: each floating-point constant stands for its exact binary value.
"""

import contextlib
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Float

from analysis.dynamics.continuation.orbit_curve import Cycle, moved_states
from analysis.dynamics.continuation.scaling import orbit_units
from analysis.dynamics.flow_maps.autonomy import depends_on_time
from analysis.dynamics.linearisation import tangent_basis
from analysis.dynamics.periodic_orbits.shooting import PeriodicOrbit
from analysis.dynamics.scaling.units import Units
from analysis.dynamics.validated.ball_operations import ball, flint
from analysis.dynamics.validated.balls import Balls, balls, entries
from analysis.dynamics.validated.enclosures import enclosed_eigenvalues
from analysis.dynamics.validated.taylor import TaylorSteps, arithmetic
from dynsim._core.placement import on_host_by_default
from dynsim._core.printing import one_line
from dynsim._core.validation import instance, number
from dynsim.errors import ArgumentError
from dynsim.simulation.checks import check_flow
from dynsim.systems.base import AbstractFlow

# Order of the Taylor steps.
ORDER = 24


# Precision of the balls in bits; twice that of float64 leaves room for rounding along an orbit.
BITS = 106


# Size of the highest-order Taylor term relative to the state; it sets the step size and ends Newton's method.
LAST_TERM = 1e-20


# Half sides of the boxes on which uniqueness is tried, relative to one plus the size of each unknown, largest first.
SHARES = (1e-4, 1e-5, 1e-6, 1e-7, 1e-9, 1e-11)


# Largest number of Newton steps with a fixed derivative before the proof.
REFINEMENTS = 8


# Largest last Newton change, relative to one plus the size of each unknown, that counts as converged.
CLOSED = 1e-12


# Largest number of further applications of Krawczyk's operator, which tighten the enclosure.
CONTRACTIONS = 6


# Largest number of Taylor steps along one orbit.
MAX_STEPS = 2000


# Half side, relative to one plus the size of the state, of the box from which each step must have an enclosure.
WIDTH = 1e-6


# Largest remainder of a Taylor step, relative to one plus the size of the state.
REMAINDER = 1e-18


# A step that has no enclosure is multiplied by `SHORTER`, at most `SHORTENED` times.
SHORTER, SHORTENED = 0.8, 60


# Largest condition number of the equations; larger ones indicate a second multiplier 1.
SINGULAR = 1e13
FAMILY = "has another multiplier 1, as orbits in families have"


class OrbitSteps(NamedTuple):
    """All steps from a box of unknowns: misses of the next nodes, derivatives, velocities, states during the steps."""

    misses: list[Balls]
    slopes: list[Any]
    speeds: list[Balls]
    during: list[Balls]


class Proof(NamedTuple):
    """Enclosures on a box, and the radii of a smaller box around the nodes that contains the solution.

    Krawczyk's operator maps a box with half sides `share` (relative) into its interior, which proves that the solution
    exists in that box and is unique there.
    """

    reached: list[Any]
    boxes: list[Balls]
    period: Any
    swept: OrbitSteps
    share: float


class OrbitEquations:
    """Equations of multiple shooting for a periodic orbit: each step must end at the next node.

    The unknowns are the nodes and, for an autonomous flow, the period, which adds a phase condition. Each step takes a
    fixed share of the period.
    """

    def __init__(self, units: Units, orbit: PeriodicOrbit, period: Any, shift: Any):
        """Set up the equations of an orbit in `units`; a forcing period and a shift are in the flow's own units."""
        flow: AbstractFlow = units.system
        start, self._restored = ravel_pytree(orbit.state)
        self.size, self.forced = start.size, period is not None
        basis = tangent_basis(flow.space, self._restored(start))
        self.flow, self.normals = flow, self.size - basis.shape[1]
        self.steps = TaylorSteps(self._field, self.size + self.forced, ORDER)
        turn, self.windings = _turn(shift, self.size)
        self.turn = turn / balls(units.flat(orbit.state))
        self.period = forcing_period(period) / ball(units.time) if self.forced else ball(orbit.period)
        self._check_symmetries(np.asarray(start, float), period)
        count = len(jax.tree.leaves(orbit.nodes)[0])
        parts = [jax.tree.map(lambda leaf, k=k: jnp.asarray(leaf[k]), orbit.nodes) for k in range(count)]
        self.nodes, self.shares = self._marched([np.asarray(ravel_pytree(part)[0]) for part in parts])
        self.count = len(self.nodes)
        self.normal = np.array([float(v.mid()) for v in self._velocity(self.nodes[0], 0)])

    def _field(self, z: Any) -> Any:
        """Evaluate the vector field of the ambient state, followed by the time if the flow is forced.

        On a curved space a term that points to the projection is added. It makes the space attract at rate one, so that
        all periodic orbits lie on it.
        """
        x, t = (z[:-1], z[-1]) if self.forced else (z, jnp.zeros(()))
        state = self._restored(x)
        velocity = ravel_pytree(self.flow.vector_field(t, state))[0]
        if self.normals:
            velocity = velocity + (ravel_pytree(self.flow.space.project(state))[0] - x)
        return jnp.append(velocity, 1.0) if self.forced else velocity

    def _check_symmetries(self, x: np.ndarray, period: Any) -> None:
        """Check that the field is invariant under the shift and under one period of the forcing.

        Raises:
            ValueError: if balls show that the field differs at one of a few test times.
        """
        times = [[ball(t)] for t in (0.0, 0.1234, 0.5, 1.7)] if self.forced else [[]]
        for time in times:
            later = [t + self.period for t in time]
            size = (self.size + self.forced,)
            here = self.steps.field(entries([*balls(x), *time], size))
            there = self.steps.field(entries([*(balls(x) + self.turn), *later], size))
            if not all(a.overlaps(b) for a, b in zip(here, there, strict=True)):
                if any(v != 0 for v in self.turn):
                    raise ArgumentError("shift", "hold whole periods of angles", "does not: the field differs there")
                must = "hold a period of the forcing, as a ball such as `2 * flint.arb.pi()`"
                given = forcing_period(period).str(6, radius=False)
                raise ArgumentError("period", must, f"is {given}: the field differs there")
        if not self.forced and depends_on_time(self.flow, self._restored(jnp.asarray(x))):
            raise ArgumentError("period", "be given for a flow that depends on time", "is missing")

    def _marched(self, rows: list[np.ndarray]) -> tuple[list[Balls], list[Any]]:
        """Integrate along the orbit in Taylor steps; compute the node of each step and its share of the period.

        Each segment of multiple shooting starts at its own node. The shares sum to one.
        """
        nodes, shares, segment, rate = [], [], ball(1.0) / len(rows), 1.0
        for k, row in enumerate(rows):
            x, done = balls(row), ball(0.0)
            while done < segment:
                if len(nodes) >= MAX_STEPS:
                    raise unproved(f"takes more than {MAX_STEPS} Taylor steps")
                at, left = self.with_time(x, segment * k + done), segment - done
                series = self.steps.coefficients(_middle(at), ORDER)
                longest = self.steps.natural(series, LAST_TERM) / float(self.period.mid())
                share = self._share(at, left, longest * rate)
                rate = min(1.0, float(share.mid()) / longest / SHORTER)
                nodes.append(x)
                shares.append(share)
                x = _middle(self.steps.at(series, share * self.period)[: self.size])
                done = segment if share is left else done + share
        return nodes, shares

    def _share(self, at: Balls, left: Any, longest: float) -> Any:
        """Find a step from a node that has an enclosure, as a share of the period, at most the share `left`."""
        wide, scale = about(at, [ball(WIDTH) * (1 + abs(v)) for v in at]), 1 + max(float(abs(v).mid()) for v in at)
        for k in range(SHORTENED):
            share = ball(longest * SHORTER**k)
            share = left if share >= left else left / 2 if 2 * share >= left else share
            step = self.steps.step(wide, share * self.period)
            if step is not None and step.remainder < REMAINDER * scale:
                return share
        raise unproved("has a step that cannot be enclosed, however short")

    def with_time(self, x: Balls, share: Any) -> Balls:
        """Append the time to a state if the flow is forced: the variables of a Taylor step."""
        return entries([*x, share * self.period], (self.size + 1,)) if self.forced else x

    def _velocity(self, x: Balls, k: int) -> Balls:
        return self.steps.field(self.with_time(x, sum(self.shares[:k], ball(0.0))))[: self.size]

    def _sweep(self, nodes: list[Balls], period: Any, *, derivative: bool) -> OrbitSteps | None:
        """Enclose all steps from boxes around the nodes; None if a step has no enclosure."""
        found, done = OrbitSteps([], [], [], []), ball(0.0)
        for k, (x, share) in enumerate(zip(nodes, self.shares, strict=True)):
            step = self.steps.step(self.with_time(x, done), share * period, derivative=derivative)
            if step is None:
                return None
            end = step.end[: self.size]
            after = nodes[k + 1] if k + 1 < self.count else nodes[0] + self.turn
            found.misses.append(end - after)
            found.during.append(step.during[: self.size])
            done = done + share
            if derivative:  # with respect to the start, and to the period
                found.slopes.append(_matrix(np.array(step.derivative.tolist(), dtype=object)[: self.size, : self.size]))
                found.speeds.append(self._velocity(end, k + 1) * share)
        return found

    def _approximate_inverse(self) -> np.ndarray:
        """Compute a floating-point inverse of the Jacobian of the equations."""
        n, done = self.size, ball(0.0)
        matrix = np.zeros((n * self.count + (not self.forced),) * 2)
        for k, (x, share) in enumerate(zip(self.nodes, self.shares, strict=True)):
            end, slope = self.steps.linearised(self.with_time(x, done), share * self.period)
            done = done + share
            here, after = slice(k * n, (k + 1) * n), (k + 1) % self.count
            matrix[here, here] += np.array([[float(v.mid()) for v in row] for row in slope.tolist()])[:n, :n]
            matrix[here, after * n : (after + 1) * n] -= np.eye(n)
            if not self.forced:
                matrix[here, -1] = [float((v * share).mid()) for v in self.steps.field(end)]
        if not self.forced:
            matrix[-1, :n] = self.normal
        with contextlib.suppress(np.linalg.LinAlgError):
            inverse = np.linalg.inv(matrix)
            if np.linalg.norm(inverse, 1) * np.linalg.norm(matrix, 1) < SINGULAR:
                return inverse
        raise unproved(FAMILY)

    def proof(self) -> Proof:
        """Prove that a periodic orbit exists near the nodes.

        Raises:
            ValueError: if the attempt fails.
        """
        inverse = self._approximate_inverse()
        self._inverse = _matrix(inverse)
        starts = range(0, len(inverse), self.size)  # without forcing, the last column belongs to the phase condition
        self._columns = [_matrix(inverse[:, k : k + self.size]) for k in starts]
        self._refine()
        point = self._sweep(self.nodes, self.period, derivative=False)
        if point is None:
            raise unproved("has a step that cannot be enclosed")
        newton = self._inverse * self._column(point.misses)
        for share in SHARES:
            box = [ball(share * scale) for scale in self._scales()]
            proof = self._krawczyk(newton, box, share)
            if proof is not None and all(r < radius for r, radius in zip(proof.reached, box, strict=True)):
                break
        else:
            raise unproved("has a derivative that varies too much beside it")
        for _ in range(CONTRACTIONS):  # every box that holds the solution is mapped to a box that holds it
            tighter = self._krawczyk(newton, proof.reached, share)
            if tighter is None:
                break
            both = [a.min(b) for a, b in zip(tighter.reached, proof.reached, strict=True)]
            done = all(a > b / 2 for a, b in zip(both, proof.reached, strict=True))
            proof = tighter._replace(reached=both)
            if done:
                break
        return proof

    def _scales(self) -> list[float]:
        """Compute one plus the size of each unknown."""
        unknowns = [v for node in self.nodes for v in node] + ([] if self.forced else [self.period])
        return [1 + abs(float(v.mid())) for v in unknowns]

    def _refine(self) -> None:
        """Improve the nodes and the period by Newton's method with a fixed Jacobian, on Taylor polynomials."""
        sizes, misses = [np.inf], []
        for _ in range(REFINEMENTS):
            misses, done = [], ball(0.0)
            for k, (x, share) in enumerate(zip(self.nodes, self.shares, strict=True)):
                end = self._polynomial(self.with_time(x, done), share * self.period)
                misses.append(_middle(end - (self.nodes[k + 1] if k + 1 < self.count else self.nodes[0] + self.turn)))
                done = done + share
            change = self._inverse * self._column(misses)
            sizes = [abs(float(change[k, 0].mid())) / scale for k, scale in enumerate(self._scales())]
            if not np.all(np.isfinite(sizes)):
                raise unproved("is not near a solution")
            n = self.size
            for k in range(self.count):
                moved = (self.nodes[k][i] - change[k * n + i, 0] for i in range(n))
                self.nodes[k] = _middle(entries(moved, (n,)))
            if not self.forced:
                self.period = (self.period - change[n * self.count, 0]).mid()
            if max(sizes) < LAST_TERM:
                break
        if max(sizes) > CLOSED:
            flat = [abs(float(v.mid())) for miss in misses for v in miss]
            solved = all(v < CLOSED * scale for v, scale in zip(flat, self._scales(), strict=False))
            # where the equations hold, steps that stay long lead along a family
            raise unproved(FAMILY if solved else "is not near a solution: Newton's method does not converge")

    def _polynomial(self, at: Balls, h: Any) -> Balls:
        return self.steps.at(self.steps.coefficients(at, ORDER), h)[: self.size]

    def _column(self, misses: list[Balls]) -> Any:
        """Stack the defects in a column; the phase condition holds exactly at the nodes."""
        flat = [v for miss in misses for v in miss]
        return flint().arb_mat([[v] for v in (flat if self.forced else [*flat, ball(0.0)])])

    def _krawczyk(self, newton: Any, radii: list[Any], share: float) -> Proof | None:
        """Apply Krawczyk's operator to a box around the nodes and the period, and bound its image by radii.

        The result is None if a step has no enclosure or the image is unbounded.
        """
        n, size = self.size, len(radii)
        boxes = [about(node, radii[k * n : (k + 1) * n]) for k, node in enumerate(self.nodes)]
        period = self.period if self.forced else about([self.period], radii[-1:])[0]
        swept = self._sweep(boxes, period, derivative=True)
        if swept is None:
            return None
        total = -newton
        for k in range(self.count):
            rest = self._columns[(k - 1) % self.count] - self._columns[k] * swept.slopes[k]
            if k == 0 and not self.forced:
                rest = rest - self._columns[-1] * _matrix([self.normal])
            for i in range(n):
                rest[k * n + i, i] = rest[k * n + i, i] + 1
            total = total + rest * _widths(radii[k * n : (k + 1) * n])
        if not self.forced:
            speeds = [v for speed in swept.speeds for v in speed]
            rest = -(self._inverse * _matrix([[v] for v in [*speeds, ball(0.0)]]))
            rest[size - 1, 0] = rest[size - 1, 0] + 1
            total = total + rest * _widths(radii[-1:])
        reached = [abs(total[i, 0]).upper() for i in range(size)]
        finite = all(r.is_finite() for r in reached)
        return Proof(reached, boxes, period, swept, share) if finite else None


def _matrix(rows: Any) -> Any:
    return flint().arb_mat([list(row) for row in (rows.tolist() if isinstance(rows, np.ndarray) else rows)])


def _widths(radii: list[Any]) -> Any:
    return _matrix([[r * ball(0.0, 1.0)] for r in radii])


def about(middle: Any, radii: list[Any]) -> Balls:
    """Build balls with given midpoints and radii."""
    made = (x + r * ball(0.0, 1.0) for x, r in zip(middle, radii, strict=True))
    return entries(made, (len(middle),))


def _middle(x: Balls) -> Balls:
    return entries((v.mid() for v in x), x.shape)


def unproved(said: str) -> ArgumentError:
    """Build the error for an orbit that could not be certified."""
    return ArgumentError("orbit", "be near a regular periodic orbit to be certified", said)


def _turn(shift: Any, size: int) -> tuple[Balls, int | None]:
    """Convert a shift to balls, and find the greatest common divisor of the numbers of turns.

    Entries near multiples of 2 pi count as exact multiples. The divisor is 0 if the entries are no such multiples, and
    None without a shift.
    """
    if shift is None:
        return balls(np.zeros(size)), None
    given = np.asarray(ravel_pytree(shift)[0], float)
    if given.shape != (size,):
        raise ArgumentError("shift", f"have {size} entries, as the state", f"has {given.size}")
    if not np.any(given):
        return balls(given), None
    turns = np.round(given / (2 * np.pi)).astype(int)
    if np.max(np.abs(given - 2 * np.pi * turns)) > 1e-9:
        return balls(given), 0
    return entries((2 * int(k) * flint().arb.pi() for k in turns), (size,)), int(np.gcd.reduce(turns))


def forcing_period(period: Any) -> Any:
    """Convert the period of a forcing to a ball, and check that it is positive."""
    found = period if isinstance(period, flint().arb) else ball(float(number("period", period)))
    if not (found.is_finite() and found > 0):
        raise ArgumentError("period", "be positive", f"is {found}")
    return found


# Largest number of printed digits; of each ball only the certified digits are shown.
DIGITS = 40


class CertifiedOrbit(NamedTuple):
    """Periodic orbit proved to exist: it passes within `radius` of `state` in every component.

    Attributes:
        state: a point of the orbit, flattened.
        radius: bound of the distance between `state` and the orbit in every component.
        period: a ball of python-flint that contains the period.
        least: whether `period` is certified to be the least period.
        nodes: states after each Taylor step of the proof.
        unique: size of the region in which the orbit is the only one, see below.
        multipliers: balls that contain the Floquet multipliers, without the trivial one.
        stability: `stable`, `saddle` or `unstable` if all moduli are certified to differ from one, else `undecided`.
        units: the units u of the components and T of time in the proof: 1 for an orbit of order one, else powers of
            1024.

    No other periodic orbit has states x within `unique` (u + |x|) of the nodes in every component at the same shares of
    its period, with the first state on the plane through its node orthogonal to the flow, and a period within `unique`
    (T + period). Orthogonality is measured in the units u.
    """

    state: Float[np.ndarray, " d"]
    radius: float
    period: Any
    least: bool
    nodes: Float[np.ndarray, "steps d"]
    unique: float
    multipliers: tuple[Any, ...]
    stability: str
    units: tuple[Any, float] = (1.0, 1.0)

    __repr__ = one_line

    def __str__(self) -> str:
        """Describe the orbit in one line."""
        values = ", ".join((v.real if v.imag == 0 else v).str(DIGITS) for v in self.multipliers)
        least, period = "least period" if self.least else "period", self.period.str(DIGITS)
        return f"{self.stability} periodic orbit, certified: {least} {period}, multipliers {values}"


@on_host_by_default
def certified_periodic_orbit(
    flow: AbstractFlow, orbit: PeriodicOrbit, *, period: Any = None, shift: Any = None
) -> CertifiedOrbit:
    """Certify a periodic orbit of a smooth flow near one computed in floating-point arithmetic.

    The proof rescales states and time by powers of two close to their ranges, which causes no rounding.

    Args:
        flow: the system, whose state is one array. On curved spaces states are ambient vectors.
        orbit: the result of `periodic_orbit`.
        period: the forcing period of a forced flow or a multiple of it, as a ball of python-flint such as
            `2 * flint.arb.pi()`. The periodicity of the field is checked at a few times only.
        shift: as for `periodic_orbit`. Multiples of 2 pi count as exact multiples, not as their floating-point values.

    Raises:
        ValueError: for bad input, a field that is not smooth or cannot be evaluated in balls, or if the proof fails.
        UnavailableError: without python-flint.

    Example:
        >>> import dynsim as ds
        >>> from analysis.dynamics import certified_periodic_orbit, periodic_orbit
        >>> flow = ds.catalogue.VanDerPol(mu=0.5)
        >>> proof = certified_periodic_orbit(flow, periodic_orbit(flow, [2.0, 0.0], 6.4))
        >>> proof.stability, round(float(proof.period), 6), proof.radius < 1e-12
        ('stable', 6.380676, True)
    """
    check_flow(flow)
    given = instance("orbit", orbit, PeriodicOrbit, "a periodic orbit that `periodic_orbit` returned")
    flint()
    with arithmetic(BITS, ORDER + 4):
        cycle = Cycle(given.nodes, np.asarray(given.period))
        units = orbit_units(flow, cycle)
        moved = moved_states(units, cycle, -1)
        own = given._replace(state=units.rescaled(given.state), nodes=moved.nodes, period=float(moved.period))
        equations = OrbitEquations(units, own, period, shift)
        return _in_given(units, _found(equations, equations.proof()), period)


def _in_given(units: Units, found: CertifiedOrbit, period: Any) -> CertifiedOrbit:
    """Convert a certified orbit to the units of the given flow."""
    if units.are_given:
        return found
    sizes = units.flat(found.state)
    return found._replace(
        state=found.state * sizes,
        radius=found.radius * float(np.max(sizes)),
        period=found.period * ball(units.time) if period is None else forcing_period(period),
        nodes=found.nodes * sizes,
        units=(sizes, units.time),
    )


def _found(equations: OrbitEquations, proof: Proof) -> CertifiedOrbit:
    """Collect what is certified about the orbit in the box of a proof."""
    monodromy = proof.swept.slopes[0]
    for slope in proof.swept.slopes[1:]:
        monodromy = slope * monodromy
    known = [(-proof.period).exp()] * equations.normals + ([] if equations.forced else [ball(1.0)])
    values = enclosed_eigenvalues(np.array(monodromy.tolist(), dtype=object))
    multipliers = _without(values, known)
    stability = _stability(multipliers) if values else "undecided"
    start = about(equations.nodes[0], proof.reached[: equations.size])
    state = np.array([float(x.mid()) for x in start])
    radius = max(float(abs(s - ball(m)).upper()) for s, m in zip(start, state.tolist(), strict=True))
    nodes = np.array([[float(v.mid()) for v in node] for node in equations.nodes])
    period = equations.period if equations.forced else about([equations.period], proof.reached[-1:])[0]
    found = (state, float(np.nextafter(radius, np.inf)), period, _is_least(equations, proof), nodes, proof.share)
    return CertifiedOrbit(*found, multipliers, stability)


def _is_least(equations: OrbitEquations, proof: Proof) -> bool:
    """Test whether the period is certainly the least one.

    During the first step some component of the velocity keeps its sign, so that the least period is longer than this
    step. Each fraction 1/k of the period that is longer is excluded separately. For a rotation only divisors of its
    turns are possible.
    """
    if equations.windings is not None:
        divisors = [k for k in range(2, equations.windings + 1) if equations.windings % k == 0]
        return equations.windings > 0 and all(_differs(equations, proof, k) for k in divisors)
    during = equations.with_time(proof.swept.during[0], ball(0.0).union(equations.shares[0]))
    velocity = equations.steps.field(during)[: equations.size]
    if not any(v.is_finite() and not v.contains(0) for v in velocity):
        return False
    k = 2
    while not ball(1.0) / k < equations.shares[0]:
        if not _differs(equations, proof, k):
            return False
        k += 1
    return True


def _differs(equations: OrbitEquations, proof: Proof, k: int) -> bool:
    """Test whether the state after a fraction 1/k of the period certainly differs from the initial state."""
    done, step, fraction = ball(0.0), 0, ball(1.0) / k
    while done + equations.shares[step] < fraction:
        done, step = done + equations.shares[step], step + 1
    left = (fraction - done) * proof.period
    there = equations.steps.step(equations.with_time(proof.boxes[step], done), left)
    after = proof.boxes[0] + equations.turn / k
    return there is not None and not all(a.overlaps(b) for a, b in zip(there.end, after, strict=False))


def _without(values: tuple[Any, ...], known: list[Any]) -> tuple[Any, ...]:
    """Remove known eigenvalues from enclosures; sort the others by decreasing modulus.

    If several enclosures contain a known value, it is unclear which one to remove. Their union then replaces the
    others.
    """
    left = [_real(v, values) for v in values]
    for value in known:
        near = [v for v in left if v.overlaps(value)]
        hull = near[:1]
        for v in near[1:]:
            hull = [hull[0].union(v)]
        left = [v for v in left if not v.overlaps(value)] + hull * (len(near) - 1)
    return tuple(sorted(left, key=lambda v: -float(abs(v).mid())))


def _real(value: Any, values: tuple[Any, ...]) -> Any:
    """Reduce to its real part an enclosed eigenvalue of a real matrix that no other one overlaps near the real axis."""
    alone = sum(value.overlaps(other) or value.conjugate().overlaps(other) for other in values) == 1
    return flint().acb(value.real) if alone and value.imag.contains(0) else value


def _stability(multipliers: tuple[Any, ...]) -> str:
    sizes = [abs(v) for v in multipliers]
    grow, decay = sum(bool(s > 1) for s in sizes), sum(bool(s < 1) for s in sizes)
    if grow + decay < len(multipliers):
        return "undecided"
    if not grow:
        return "stable"
    return "saddle" if decay else "unstable"
