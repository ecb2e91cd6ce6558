"""Periodic orbits of flows certified in ball arithmetic: existence, local uniqueness, period, Floquet multipliers.

The statements are about the field as it is written, its constants being the floating-point numbers that they are.
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
from dynsim._core.validation import instance, number
from dynsim.errors import argument_error
from dynsim.simulation.checks import check_flow
from dynsim.systems.base import AbstractFlow

ORDER = 24  # of the Taylor steps


BITS = 106  # of the balls


LAST_TERM = 1e-20  # of the size of the state: the term of the highest order


SHARES = (1e-4, 1e-5, 1e-6, 1e-7, 1e-9, 1e-11)  # of the sizes of the unknowns: half sides of the boxes that are tried


REFINEMENTS = 8


CLOSED = 1e-12  # of the sizes of the unknowns: the largest last change of Newton's method


CONTRACTIONS = 6


MAX_STEPS = 2000


WIDTH = 1e-6  # of the size of a state: half side of the box of which a step must be enclosed


REMAINDER = 1e-18  # of the size of a state: the largest radius after a step from a point


SHORTER, SHORTENED = 0.8, 60


SINGULAR = 1e13  # condition of the equations


class OrbitSteps(NamedTuple):
    """All steps from a box of unknowns: misses of the next nodes, derivatives, velocities, states during the steps."""

    misses: list[Balls]
    slopes: list[Any]
    speeds: list[Balls]
    during: list[Balls]


class Proof(NamedTuple):
    """What was enclosed on a box, and radii of a part of it that holds the solution.

    Krawczyk's operator maps the box, or a larger one of half sides `share`, into its interior.
    """

    reached: list[Any]
    boxes: list[Balls]
    period: Any
    swept: OrbitSteps
    share: float


class OrbitEquations:
    """The equations of an orbit: after each step the next node, and a condition of phase unless the flow is forced.

    The unknowns are the nodes and, unless the flow is forced, the period. The steps take fixed shares of the period.
    """

    def __init__(self, units: Units, orbit: PeriodicOrbit, period: Any, shift: Any):
        """Make the equations of an orbit in units; the period of a forcing and a shift are in those of the flow."""
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
        """Return the field of states, and of time if it is forced; off a curved space it leads back to it.

        It is that of the projection, which makes the space attract at rate one and all periodic orbits lie on it.
        """
        x, t = (z[:-1], z[-1]) if self.forced else (z, jnp.zeros(()))
        state = self._restored(x)
        velocity = ravel_pytree(self.flow.vector_field(t, state))[0]
        if self.normals:
            velocity = velocity + (ravel_pytree(self.flow.space.project(state))[0] - x)
        return jnp.append(velocity, 1.0) if self.forced else velocity

    def _check_symmetries(self, x: np.ndarray, period: Any) -> None:
        """Raise `ValueError` unless the field is the same after a period of the forcing, and after the shift."""
        times = [[ball(t)] for t in (0.0, 0.1234, 0.5, 1.7)] if self.forced else [[]]
        for time in times:
            later = [t + self.period for t in time]
            size = (self.size + self.forced,)
            here = self.steps.field(entries([*balls(x), *time], size))
            there = self.steps.field(entries([*(balls(x) + self.turn), *later], size))
            if not all(a.overlaps(b) for a, b in zip(here, there, strict=True)):
                if any(v != 0 for v in self.turn):
                    raise argument_error("shift", "hold whole periods of angles", "does not: the field differs there")
                must = "hold a period of the forcing, as a ball such as `2 * flint.arb.pi()`"
                given = forcing_period(period).str(6, radius=False)
                raise argument_error("period", must, f"is {given}: the field differs there")
        if not self.forced and depends_on_time(self.flow, self._restored(jnp.asarray(x))):
            raise argument_error("period", "be given for a flow that depends on time", "is missing")

    def _marched(self, rows: list[np.ndarray]) -> tuple[list[Balls], list[Any]]:
        """Return the nodes after each step of the orbit, and the shares of the period that the steps take, sum one.

        Each segment of multiple shooting begins at its own node.
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
        """Return the share of the period of a step from a node, all that is left of it if that has an enclosure."""
        wide, scale = about(at, [ball(WIDTH) * (1 + abs(v)) for v in at]), 1 + max(float(abs(v).mid()) for v in at)
        for k in range(SHORTENED):
            share = ball(longest * SHORTER**k)
            share = left if share >= left else left / 2 if 2 * share >= left else share
            step = self.steps.step(wide, share * self.period)
            if step is not None and step.remainder < REMAINDER * scale:
                return share
        raise unproved("has a step that cannot be enclosed, however short")

    def with_time(self, x: Balls, share: Any) -> Balls:
        """Return the unknowns of the Taylor steps: a state, and with forcing the time after a share of the period."""
        return entries([*x, share * self.period], (self.size + 1,)) if self.forced else x

    def _velocity(self, x: Balls, k: int) -> Balls:
        return self.steps.field(self.with_time(x, sum(self.shares[:k], ball(0.0))))[: self.size]

    def _sweep(self, nodes: list[Balls], period: Any, *, derivative: bool) -> OrbitSteps | None:
        """Return what the steps enclose from boxes about the nodes; None if a step has no enclosure."""
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
            if derivative:  # by the start, and by the period
                found.slopes.append(_matrix(np.array(step.derivative.tolist(), dtype=object)[: self.size, : self.size]))
                found.speeds.append(self._velocity(end, k + 1) * share)
        return found

    def _approximate_inverse(self) -> np.ndarray:
        """Return an inverse of the derivative of the equations, in floating-point numbers."""
        n, done = self.size, ball(0.0)
        matrix = np.zeros((n * self.count + (not self.forced),) * 2)
        for k, (x, share) in enumerate(zip(self.nodes, self.shares, strict=True)):
            end, slope = self.steps.linearised(self.with_time(x, done), share * self.period)
            done = done + share
            here, after = slice(k * n, (k + 1) * n), (k + 1) % self.count
            matrix[here, here] += _floats(slope)[:n, :n]
            matrix[here, after * n : (after + 1) * n] -= np.eye(n)
            if not self.forced:
                matrix[here, -1] = [float((v * share).mid()) for v in self.steps.field(end)]
        if not self.forced:
            matrix[-1, :n] = self.normal
        with contextlib.suppress(np.linalg.LinAlgError):
            inverse = np.linalg.inv(matrix)
            if np.linalg.norm(inverse, 1) * np.linalg.norm(matrix, 1) < SINGULAR:
                return inverse
        raise unproved("has another multiplier 1, as orbits in families have")

    def proof(self) -> Proof:
        """Return the proof that there is an orbit; raise `ValueError` if none is found."""
        inverse = self._approximate_inverse()
        self._inverse = _matrix(inverse)
        starts = range(0, len(inverse), self.size)  # unless forced, the last column is that of the phase
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
        for _ in range(CONTRACTIONS):  # the solution stays in the image of every box that holds it
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
        """Return the sizes of the unknowns and one."""
        unknowns = [v for node in self.nodes for v in node] + ([] if self.forced else [self.period])
        return [1 + abs(float(v.mid())) for v in unknowns]

    def _refine(self) -> None:
        """Improve the nodes and the period by Newton's method with a fixed derivative, on Taylor polynomials."""
        sizes = [np.inf]
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
            raise unproved("is not near a solution: Newton's method does not converge")

    def _polynomial(self, at: Balls, h: Any) -> Balls:
        return self.steps.at(self.steps.coefficients(at, ORDER), h)[: self.size]

    def _column(self, misses: list[Balls]) -> Any:
        """Return the values of the equations at the nodes; the condition of phase holds there."""
        flat = [v for miss in misses for v in miss]
        return flint().arb_mat([[v] for v in (flat if self.forced else [*flat, ball(0.0)])])

    def _krawczyk(self, newton: Any, radii: list[Any], share: float) -> Proof | None:
        """Return radii about the nodes and the period that hold the image of a box by Krawczyk's operator.

        None if a step cannot be enclosed, or the image has no bound.
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
    """Return balls about numbers."""
    made = (x + r * ball(0.0, 1.0) for x, r in zip(middle, radii, strict=True))
    return entries(made, (len(middle),))


def _middle(x: Balls) -> Balls:
    return entries((v.mid() for v in x), x.shape)


def _floats(matrix: Any) -> np.ndarray:
    return np.array([[float(v.mid()) for v in row] for row in matrix.tolist()])


def unproved(said: str) -> ValueError:
    """Return the error of an orbit for which no proof is found."""
    return argument_error("orbit", "be near a regular periodic orbit to be certified", said)


def _turn(shift: Any, size: int) -> tuple[Balls, int | None]:
    """Return what is added in a period, and the greatest common divisor of the turns, 0 if it is not known.

    Multiples of 2 pi count as such. Without a shift the second is None.
    """
    if shift is None:
        return balls(np.zeros(size)), None
    given = np.asarray(ravel_pytree(shift)[0], float)
    if given.shape != (size,):
        raise argument_error("shift", f"have {size} entries, as the state", f"has {given.size}")
    if not np.any(given):
        return balls(given), None
    turns = np.round(given / (2 * np.pi)).astype(int)
    if np.max(np.abs(given - 2 * np.pi * turns)) > 1e-9:
        return balls(given), 0
    return entries((2 * int(k) * flint().arb.pi() for k in turns), (size,)), int(np.gcd.reduce(turns))


def forcing_period(period: Any) -> Any:
    """Return the period of a forcing as a ball."""
    found = period if isinstance(period, flint().arb) else ball(float(number("period", period)))
    if not (found.is_finite() and found > 0):
        raise argument_error("period", "be positive", f"is {found}")
    return found


DIGITS = 40  # that are printed, at most: of a ball only those that it certifies


class CertifiedOrbit(NamedTuple):
    """A periodic orbit that exists: it passes within `radius` of `state` in every component.

    `period` is a ball of python-flint that holds its period; `least` says whether that is certified to be the least
    one. `multipliers` are balls that hold its Floquet multipliers, without the trivial one. `stability` is `stable`,
    `saddle` or `unstable` where the moduli of all are certified to be less or larger than one, and else `undecided`.

    The orbit is the only one whose states x at certain shares of its period are within `unique` (u + |x|) of the nodes
    in every component, the first one on the plane through its node orthogonal to the flow, and whose period is within
    `unique` (T + period). Here u are the units of the components, T is that of time, and lengths of what is orthogonal
    are measured in these: `units` are u and T, 1 for an orbit of order one, else powers of 1024.
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

    def __repr__(self) -> str:
        """Return the orbit in a line."""
        values = ", ".join((v.real if v.imag == 0 else v).str(DIGITS) for v in self.multipliers)
        least, period = "least period" if self.least else "period", self.period.str(DIGITS)
        return f"{self.stability} periodic orbit, certified: {least} {period}, multipliers {values}"


def certified_periodic_orbit(
    flow: AbstractFlow, orbit: PeriodicOrbit, *, period: Any = None, shift: Any = None
) -> CertifiedOrbit:
    """Return the periodic orbit of a smooth flow near one found in floating-point numbers, with a proof that it exists.

    The proof is one in units near the ranges of its states and its period, powers of two, which round nothing.

    Args:
        flow: the system, of states that are one array; on curved spaces states are ambient vectors.
        orbit: what `periodic_orbit` returned.
        period: of a forced flow the period of its forcing or a multiple, a ball of python-flint that holds it, such
            as `2 * flint.arb.pi()`. That the field has this period is checked at some times only.
        shift: as for `periodic_orbit`; multiples of 2 pi are taken as such, not as their floating-point values.

    Raises:
        ValueError: for bad input, a field that balls cannot enclose or that is not smooth, or if no proof is found.
        UnavailableError: without python-flint.
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
    """Return an orbit that was certified in units in those of the given flow."""
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
    """Return what is certified of the orbit in the box of a proof."""
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
    """Return whether no fraction of the period is one, certainly.

    During the first step a component grows or falls all the time, so that no fraction is as short as this step;
    the states after the others are not that of the beginning. A rotation has only the common divisors of its turns.
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
    """Return whether the state after a fraction 1/k of the period is certainly not that of the beginning."""
    done, step, fraction = ball(0.0), 0, ball(1.0) / k
    while done + equations.shares[step] < fraction:
        done, step = done + equations.shares[step], step + 1
    left = (fraction - done) * proof.period
    there = equations.steps.step(equations.with_time(proof.boxes[step], done), left)
    after = proof.boxes[0] + equations.turn / k
    return there is not None and not all(a.overlaps(b) for a, b in zip(there.end, after, strict=False))


def _without(values: tuple[Any, ...], known: list[Any]) -> tuple[Any, ...]:
    """Return enclosures of eigenvalues without known ones, largest modulus first.

    Where several enclosures hold a known one, it is not known which is left out, and their union stands for the others.
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
    """Return the real part of an enclosed eigenvalue of a real matrix that is alone in a ball about the real axis."""
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
