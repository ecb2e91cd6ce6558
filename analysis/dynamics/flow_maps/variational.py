"""Integrate the variational equation: a state and tangent vectors along a flow or a map."""

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array

from analysis.dynamics.flow_maps.rolled_solver import advanced
from dynsim._core.types import State
from dynsim._core.validation import number
from dynsim.errors import ArgumentError, shown
from dynsim.integrators.dop853 import MAX_STEPS
from dynsim.integrators.switched_field import SwitchedField, switched_field
from dynsim.integrators.switched_solver import switched_over, switched_velocity
from dynsim.integrators.time_structure import longest_step
from dynsim.programs import NumbersFunction, Programmed, compiles_little
from dynsim.systems.base import AbstractFlow, AbstractMap

if TYPE_CHECKING:
    import diffrax as dfx

    from dynsim.integrators import AbstractIntegrator


def solver_of(system: Any, integrator: Any) -> "dfx.AbstractAdaptiveSolver | None":
    """Choose the solver of a given integrator for a flow; None stands for Tsit5, the default.

    Raises:
        ValueError: for a map, or an integrator that cannot run inside a larger JAX program.
    """
    if integrator is None:
        return None
    if isinstance(system, AbstractMap):
        raise ArgumentError("integrator", "be left out for a map", f"is {type(integrator).__name__}")
    from dynsim.integrators import Diffrax

    if not isinstance(integrator, Diffrax):
        must = "solve many starts in one program, such as `Diffrax(Kvaerno4())` of a stiff flow"
        raise ArgumentError("integrator", must, f"is {shown(integrator)}")
    import diffrax as dfx

    return None if isinstance(integrator.solver, dfx.Tsit5) else integrator.solver


def tolerance_of(rtol: float, integrator: "AbstractIntegrator | None") -> float:
    """Choose the relative tolerance of a given integrator, or the default one."""
    if integrator is None:
        return number("rtol", rtol)
    from dynsim.integrators import Diffrax

    return float(integrator.rtol) if isinstance(integrator, Diffrax) else number("rtol", rtol)


class Moved(NamedTuple):
    """A state and tangent vectors after an interval, the mean step, whether the solver failed, and whether it slid."""

    x: Array
    V: Array
    step: Array
    failed: Array
    slid: Array | bool = False


class Linearised(eqx.Module):
    """Flow or map of a flattened state, together with its derivative along the columns of a matrix."""

    system: Any
    restored: Any
    solver: "dfx.AbstractAdaptiveSolver | None"
    switched: SwitchedField | None
    longest: Array | None
    atol: Array | None
    rolled: bool = eqx.field(static=True)

    def __init__(
        self,
        system: Any,
        state: State,
        solver: "dfx.AbstractAdaptiveSolver | None" = None,
        atol: Array | float | None = None,
        *,
        often: bool = False,
    ):
        """Store the system, the structure of its states, and the solver of a flow, by default Tsit5.

        The absolute tolerance `atol` is by default a hundredth of the relative one. `often` says that compiling saves
        time, since there will be hundreds of calls.

        Raises:
            ValueError: for a solver and a field that may jump on a surface of states.
        """
        flat, restored = ravel_pytree(state)
        self.system, self.restored = system, jax.tree_util.Partial(restored)
        self.solver, self.rolled = solver, solver is None and not often and compiles_little()
        self.atol = None if atol is None else jnp.asarray(atol, flat.dtype)
        self.switched, limit = None, math.inf
        if isinstance(system, AbstractFlow):
            self.switched, limit = switched_field(system, state), longest_step(system, state)
        self.longest = None if math.isinf(limit) else jnp.asarray(limit, flat.dtype)
        if self.switched is not None and solver is not None:
            must = f"be left out for a field that may jump where {self.switched.named()}"
            raise ArgumentError("integrator", must, f"is {type(solver).__name__}")

    def field(self, t: Any, y: tuple[Array, Array], args: Any = None) -> tuple[Array, Array]:
        """Compute the velocities of a state and of tangent vectors under a flow."""
        return self._with_vectors(lambda z: self.system.vector_field(t, self.restored(z)), y)

    def in_python(self, n: int) -> NumbersFunction | None:
        """The field of n entries of a state and n vectors for Python, or None if it should be compiled."""
        return _FIELD.numbers((self,), np.zeros(()), np.zeros(n), np.zeros((n, n)))

    def velocity(self, t: Array, x: Array) -> Array:
        """Compute the velocity of a flattened state, by Filippov's convention on a surface where the field jumps."""
        if self.switched is not None:
            return switched_velocity(self.switched, t, x)
        return ravel_pytree(self.system.vector_field(t, self.restored(x)))[0]

    def step(self, k: Any, y: tuple[Array, Array]) -> tuple[Array, Array]:
        """Compute the next state and the tangent vectors there under a map."""
        return self._with_vectors(lambda z: self.system.image(k, self.restored(z)), y)

    def on_space(self, x: Array, V: Array) -> tuple[Array, Array]:
        """Project a state to the space, and vectors to its tangent space there."""
        point = self.system.space.project(self.restored(x))
        tangent = lambda v: ravel_pytree(self.system.space.tangent(point, self.restored(v)))[0]
        return ravel_pytree(point)[0], jax.vmap(tangent, in_axes=1, out_axes=1)(V)

    def over(
        self,
        begin: Array,
        end: Array,
        step: Array,
        x: Array,
        V: Array,
        rtol: Array,
        *,
        rolled: bool = False,
        most: Array | int = MAX_STEPS,
    ) -> "Moved":
        """Integrate a state and tangent vectors over an interval.

        `step` is the first step. The tolerances hold for state and vectors. Where a field jumps on a surface, vectors
        are multiplied by the saltation matrix, which is singular where the trajectory slides on the surface; the state
        is NaN if it would slide on two surfaces at once. More than `most` steps fail, by diffrax more than its default.
        """
        if self.solver is not None:
            return self._over_steps(begin, end, step, x, V, rtol)
        atol = rtol / 100 if self.atol is None else self.atol
        if self.switched is not None:
            first, limit = jnp.minimum(step, end - begin), jnp.inf if self.longest is None else self.longest
            found = switched_over(self.switched, begin, end, first, x, V, rtol, limit, atol=atol, most=most)
            mean = (end - begin) / jnp.maximum(found.steps, 1).astype(x.dtype)
            return Moved(jnp.where(found.blocked, jnp.nan, found.x), found.V, mean, found.failed, found.slid)
        if self.rolled or rolled:
            return self._over_rolled(begin, end, step, x, V, rtol, atol, most)
        import diffrax as dfx

        from dynsim.integrators.embedded import solve_within

        first = jnp.minimum(step, end - begin)
        solution = solve_within(self.field, begin, end, (x, V), rtol=rtol, atol=atol, first=first, longest=self.longest)
        steps = jnp.maximum(solution.stats["num_accepted_steps"], 1)
        assert solution.ys is not None
        x, V = self.on_space(*(part[-1] for part in solution.ys))
        return Moved(x, V, (end - begin) / steps.astype(step.dtype), solution.result != dfx.RESULTS.successful)

    def _over_rolled(
        self, begin: Array, end: Array, step: Array, x: Array, V: Array, rtol: Array, atol: Array, most: Array | int
    ) -> "Moved":
        """Compute the same as `over` with a solver that compiles faster."""
        n, limit = x.shape[0], jnp.inf if self.longest is None else self.longest

        def field(t: Array, y: Array) -> Array:
            v, W = self.field(t, (y[:n], y[n:].reshape(V.shape)))
            return jnp.concatenate([v, jnp.ravel(W)])

        start = jnp.concatenate([x, jnp.ravel(V)])
        y, steps, failed = advanced(field, begin, end, start, jnp.minimum(step, end - begin), rtol, atol, limit, most)
        mean = (end - begin) / jnp.maximum(steps, 1).astype(float)
        return Moved(*self.on_space(y[:n], y[n:].reshape(V.shape)), mean, failed)

    def _over_steps(self, begin: Array, end: Array, step: Array, x: Array, V: Array, rtol: Array) -> "Moved":
        """Do the same as `over` with a given solver, by differentiating its steps along the vectors.

        The steps are chosen for the state alone, so that an implicit solver has as many equations as the state has
        entries.
        """
        import diffrax as dfx

        from dynsim.integrators.embedded import solve_within

        field = lambda t, z, args: ravel_pytree(self.system.vector_field(t, self.restored(z), args))[0]

        def moved(x: Array) -> tuple[Array, Array, Any]:
            first = jnp.minimum(step, end - begin)
            solution = solve_within(
                field, begin, end, x, rtol=rtol, atol=self.atol, first=first, solver=self.solver, longest=self.longest
            )
            assert solution.ys is not None
            failed = solution.result != dfx.RESULTS.successful
            return solution.ys[-1], solution.stats["num_accepted_steps"], failed

        along = lambda v: jax.jvp(lambda z: moved(z)[0], (x,), (v,))[1]
        turned = jax.vmap(along, in_axes=1, out_axes=1)(V)
        y, steps, failed = moved(x)
        mean = (end - begin) / jnp.maximum(steps, 1).astype(step.dtype)
        return Moved(*self.on_space(y, turned), mean, failed)

    def _with_vectors(self, fn: Any, y: tuple[Array, Array]) -> tuple[Array, Array]:
        x, V = y
        f = lambda z: ravel_pytree(fn(z))[0]
        return f(x), jax.vmap(lambda v: jax.jvp(f, (x,), (v,))[1], in_axes=1, out_axes=1)(V)


_FIELD = Programmed(lambda pair, t, x, V: pair.field(t, (x, V)))
