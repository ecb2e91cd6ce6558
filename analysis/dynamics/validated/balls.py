"""Functions of JAX evaluated in ball arithmetic: every result encloses the exact one. Needs python-flint.

The scalar operations of a function (`dynsim.programs`) are applied to balls or to Taylor series. Floating-point
constants count as the binary fractions that they are.
"""

import functools
from collections.abc import Callable, Iterable
from typing import Any

import jax
import numpy as np

from analysis.dynamics.validated.ball_operations import ENTRYWISE, ball, flint, may_jump
from dynsim.errors import ArgumentError
from dynsim.programs import Program, ProgramError, Tabulated, scalar_program

Balls = Any
"""A NumPy array of objects, balls of python-flint or Taylor series of balls."""


def balls(values: Any) -> Balls:
    """Convert an array of floating-point numbers to balls of radius zero."""
    array = np.asarray(values, float)
    return entries((ball(float(v)) for v in array.ravel()), array.shape)


def entries(values: Any, shape: tuple[int, ...]) -> Balls:
    """Collect values in an array of objects, because NumPy would convert a series to an array of its coefficients."""
    listed = list(values)
    return np.fromiter(listed, object, len(listed)).reshape(shape)


class BallFunction:
    """A function of one vector in JAX, and its Jacobian, in ball arithmetic, and for Taylor series of balls.

    Where a function branches within a box, both are enclosed on all sides; a series must not branch.
    """

    def __init__(self, fn: Callable[[Any], Any], size: int):
        """Trace the function of vectors of this size; its Jacobian is traced when it is first needed.

        Raises:
            ValueError: if the function uses what ball arithmetic cannot enclose, named.
            UnavailableError: without python-flint.
        """
        flint()
        self._fn, self._size, self._values = fn, size, _enclosed(fn, size)

    @functools.cached_property
    def _slopes(self) -> Tabulated:
        return _enclosed(jax.jacfwd(self._fn), self._size, drop_zeros=True)  # another entry has the factor without zero

    def __call__(self, x: Balls) -> Balls:
        """Enclose the values at all points of a box."""
        return entries(self.values(x), self._values.program.outputs[0].shape)

    def may_jump(self, x: Balls) -> bool:
        """Test whether the function may be discontinuous in a box, so that derivatives do not bound its changes."""
        return any(may_jump(*step) for step in self._values.taken([*x, *self._values.constants]))

    def jacobian(self, x: Balls) -> Balls:
        """Enclose the derivatives at all points of a box; see `may_jump`."""
        return entries(self.slopes(x), self._slopes.program.outputs[0].shape)

    def values(self, x: Iterable[Any]) -> list[Any]:
        """Compute the entries of the values for balls or Taylor series."""
        return self._values.run(x)

    def slopes(self, x: Iterable[Any]) -> list[Any]:
        """Compute the entries of the derivatives, row by row, for balls or Taylor series."""
        return self._slopes.run(x)


def _enclosed(fn: Callable[[Any], Any], size: int, *, drop_zeros: bool = False) -> Tabulated:
    """Prepare the scalar program of a vector function for balls; raise `ValueError` if it has none."""
    try:
        program = scalar_program(fn, (size,), drop_zeros=drop_zeros)
        _check_whole(program)
        return Tabulated(program, ENTRYWISE, _constant)
    except ProgramError as error:
        must = "use only operations that ball arithmetic can enclose"
        raise ArgumentError("flow", must, f"uses {error.uses}") from None


def _check_whole(program: Program) -> None:
    """Raise `ProgramError` for an operation that rounds its result to a whole number."""
    for operation in program.operations:
        if operation.dtype.kind in "iu" and (
            (operation.name == "convert_element_type" and program.types[operation.operands[0]].kind == "f")
            or operation.name == "div"
        ):
            raise ProgramError(f"`{operation.name}` to whole numbers")


def _constant(value: Any) -> Any:
    return bool(value) if isinstance(value, bool | np.bool_) else ball(float(value))
