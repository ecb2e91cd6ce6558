"""Wrappers of diffrax solvers: non-finite trial steps are rejected, and runs that cannot go on end early."""

import diffrax as dfx
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

MOST_REJECTIONS = 100  # in a row; a healthy run was never seen to need more than a dozen


class Guarded(dfx.AbstractWrappedSolver):
    """A solver whose non-finite candidates become rejections.

    A trial step that overflows makes the controller's next step NaN, after which every step is rejected; here the
    candidate is replaced by the old state with an error so large that the controller shrinks by its full factor.
    """

    solver: dfx.AbstractSolver

    @property
    def term_structure(self):
        """The wrapped solver's."""
        return self.solver.term_structure

    @property
    def interpolation_cls(self):
        """The wrapped solver's."""
        return self.solver.interpolation_cls

    @property
    def root_finder(self):
        """The wrapped solver's, which the controller's tolerances are handed to."""
        return self.solver.root_finder  # pyright: ignore[reportAttributeAccessIssue]

    def order(self, terms):
        """Return the wrapped solver's order."""
        return self.solver.order(terms)

    def strong_order(self, terms):
        """Return the wrapped solver's strong order."""
        return self.solver.strong_order(terms)

    def error_order(self, terms):
        """Return the wrapped solver's error order."""
        return self.solver.error_order(terms)

    def init(self, terms, t0, t1, y0, args):
        """Initialise the wrapped solver."""
        return self.solver.init(terms, t0, t1, y0, args)

    def func(self, terms, t0, y0, args):
        """Evaluate the field as the wrapped solver does."""
        return self.solver.func(terms, t0, y0, args)

    def step(self, terms, t0, t1, y0, args, solver_state, made_jump):
        """Step, and turn a candidate that is not finite, or an implicit stage that failed, into a rejection."""
        y1, error, dense, state, result = self.solver.step(terms, t0, t1, y0, args, solver_state, made_jump)
        leaves = jax.tree.leaves((y1, error))
        finite = jnp.all(jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in leaves]))
        y1 = jax.tree.map(lambda new, old: jnp.where(finite, new, old), y1, y0)
        error = jax.tree.map(lambda e: jnp.where(finite, e, jnp.finfo(e.dtype).max ** 0.25), error)
        result = dfx.RESULTS.where(finite, result, dfx.RESULTS.successful)
        return y1, error, dense, state, result


class Watch(eqx.Module):
    """State of the controller: rejections in a row, whether the last candidate was finite, the last accepted time."""

    inner: object
    in_a_row: Array
    finite: Array
    time: Array


class StopEarly(dfx.AbstractAdaptiveStepSizeController):
    """A controller that ends a run after too many rejections in a row, or when the step falls to rounding error."""

    controller: dfx.AbstractAdaptiveStepSizeController

    @property
    def rtol(self):
        """The wrapped controller's."""
        return self.controller.rtol  # pyright: ignore[reportAttributeAccessIssue]

    @property
    def atol(self):
        """The wrapped controller's."""
        return self.controller.atol  # pyright: ignore[reportAttributeAccessIssue]

    @property
    def norm(self):
        """The wrapped controller's."""
        return self.controller.norm  # pyright: ignore[reportAttributeAccessIssue]

    def wrap(self, direction):
        """Wrap the inner controller."""
        return StopEarly(self.controller.wrap(direction))  # pyright: ignore[reportCallIssue]

    def init(self, terms, t0, t1, y0, dt0, args, func, error_order):
        """Start with no rejection."""
        t0 = jnp.asarray(t0)
        t1, inner = self.controller.init(terms, t0, t1, y0, dt0, args, func, error_order)
        t1 = jnp.where(jnp.isfinite(t1), t1, t0 + jnp.asarray(1e-6, t0.dtype))  # a field not finite at the start
        return t1, Watch(inner, jnp.zeros((), int), jnp.ones((), bool), t0)

    def adapt_step_size(self, t0, t1, y0, y1_candidate, args, y_error, error_order, controller_state):
        """Adapt as the inner controller does, and count."""
        t0 = jnp.asarray(t0)
        keep, next0, next1, jump, inner, result = self.controller.adapt_step_size(
            t0, t1, y0, y1_candidate, args, y_error, error_order, controller_state.inner
        )
        in_a_row = jnp.where(keep, 0, controller_state.in_a_row + 1)
        finite = jnp.all(
            jnp.stack([jnp.all(jnp.abs(e) < jnp.finfo(e.dtype).max ** 0.25) for e in jax.tree.leaves(y_error)])
        )
        shortest = 10 * jnp.finfo(t0.dtype).eps * jnp.maximum(jnp.abs(t0), jnp.finfo(t0.dtype).tiny)
        stuck = (in_a_row >= MOST_REJECTIONS) | (~keep & (t1 - t0 < shortest))
        result = dfx.RESULTS.where(stuck, dfx.RESULTS.dt_min_reached, result)
        return keep, next0, next1, jump, Watch(inner, in_a_row, finite, jnp.where(keep, t1, t0)), result
