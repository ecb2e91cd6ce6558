"""The solve of an ordinary differential equation as a part of a larger program, which calls no Python."""

from collections.abc import Callable
from typing import Any

import diffrax as dfx
import jax.numpy as jnp
from jaxtyping import Array

from dynsim._core.types import Scalar
from dynsim.integrators.diffrax_wrappers import AbstractWrapping


class FirstStep(AbstractWrapping):
    """A controller with a given first step, whose sign is known: diffrax would have the program check it in Python."""

    length: Array

    def wrap(self, direction):
        """Wrap the inner controller."""
        return FirstStep(self.controller.wrap(direction), self.length)  # pyright: ignore[reportCallIssue]

    def init(self, terms, t0, t1, y0, dt0, args, func, error_order):
        """Begin with the given step."""
        return self.controller.init(terms, t0, t1, y0, self.length, args, func, error_order)

    def adapt_step_size(self, *given):
        """Adapt as the inner controller does."""
        return self.controller.adapt_step_size(*given)


def solve_within(
    field: Callable[[Any, Any, Any], Any],
    begin: Array,
    end: Array,
    y0: Any,
    *,
    rtol: Array | float,
    atol: Array | float | None = None,
    first: Array | None = None,
    longest: Array | None = None,
    jumps: Array | None = None,
    norm: Callable[[Any], Scalar] | None = None,
    saveat: Any = None,
    reverse: bool = False,
    max_steps: int = 100_000,
    solver: dfx.AbstractAdaptiveSolver | None = None,
    stops: Array | None = None,
) -> dfx.Solution:
    """Solve with diffrax inside a compiled function, by default saving only the end; `result` reports a failure.

    Args:
        field: a function of time, state and None.
        begin: the first time, before `end`.
        end: the last time.
        y0: the state at `begin`, any tree of arrays.
        rtol: the relative tolerance.
        atol: the absolute tolerance, by default a hundredth of `rtol`.
        first: the first step, positive; by default diffrax's own choice.
        longest: the longest step, none by default.
        jumps: times at which the field jumps; a step ends there.
        norm: the norm of an error, by default the root mean square.
        saveat: what is saved, as diffrax has it.
        reverse: whether the solution has derivatives in reverse mode, not only forwards.
        max_steps: after which the solve fails.
        solver: the method, Tsit5 by default.
        stops: times at which a step ends, so that the state there is not interpolated.
    """
    chosen: dict[str, Any] = {} if norm is None else {"norm": norm}
    if isinstance(solver, dfx.AbstractImplicitSolver):  # else every other step is rejected, measured on relaxations
        chosen |= {"pcoeff": 0.3, "icoeff": 0.4}
    control: Any = dfx.PIDController(rtol=rtol, atol=rtol / 100 if atol is None else atol, dtmax=longest, **chosen)
    jumps = None if jumps is None or not jumps.shape[0] else jumps
    if stops is not None or jumps is not None:
        control = dfx.ClipStepSizeController(control, step_ts=stops, jump_ts=jumps)
    if first is not None:
        control = FirstStep(control, jnp.asarray(first))  # pyright: ignore[reportCallIssue]
    return dfx.diffeqsolve(
        dfx.ODETerm(field),  # pyright: ignore[reportArgumentType]
        dfx.Tsit5() if solver is None else solver,
        begin,
        end,
        None,
        y0,
        stepsize_controller=control,
        saveat=dfx.SaveAt(t1=True) if saveat is None else saveat,
        max_steps=max_steps,
        throw=False,
        adjoint=dfx.RecursiveCheckpointAdjoint() if reverse else dfx.ForwardMode(),
    )
