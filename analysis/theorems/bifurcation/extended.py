"""Bifurcation points as regular zeros of larger systems, and what their coefficients need, certified in balls."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from analysis.dynamics.validated.ball_operations import flint
from analysis.dynamics.validated.balls import Balls, balls
from analysis.dynamics.validated.enclosures import enclosed_eigenvalues
from analysis.theorems.bifurcation.forms import Forms, Varying
from analysis.theorems.conditions import FAILS, HOLDS, UNDECIDED, Hypothesis
from analysis.theorems.fields import field_of, step_of
from analysis.theorems.regions import written
from dynsim.errors import ArgumentError, shown
from dynsim.systems.named import with_parameter
from dynsim.systems.parameter import Parameter

BITS, TERMS = 256, 8
"""Precision of the balls, in which sums and products of a few binary fractions are exact, and terms of their series."""


def forms_of(
    parameters: Sequence[Parameter], dimension: int, theorem: str, *, is_map: bool = False, steps: int = 1
) -> Forms:
    """The derivatives of the field of a flow, or of steps of a map, as a function of the state and the parameters.

    Raises:
        ValueError: for a system of another kind, naming the theorem, or parameters that are not of one system.
    """
    first = parameters[0]
    (step_of if is_map else field_of)(first.system, dimension, theorem)
    names = [one.name for one in parameters]
    if len(set(names)) < len(names) or any(one.system is not first.system for one in parameters):
        raise ArgumentError("parameters", "be different parameters of one system", f"are {' and '.join(names)}")

    def field(z: Any) -> Any:
        x, system = z[:dimension], first.at(z[dimension])
        for k, one in enumerate(parameters[1:], dimension + 1):
            system = with_parameter(one.take, system, z[k])
        if not is_map:
            return jnp.reshape(system.vector_field(jnp.zeros(()), x), (dimension,))
        for _ in range(steps):
            x = jnp.reshape(system.step(jnp.zeros((), int), x), (dimension,))
        return x

    return Forms(field, dimension + len(parameters))


class ExtendedSystem:
    """Equations for the state, the parameters and vectors, with their Jacobian, in balls.

    Args of the constructor: the field's derivatives; a function from the unknowns to the equations; and the values of
    the first components of the field's argument that are no unknowns.
    """

    def __init__(self, forms: Forms, equations: Callable[[Varying], Varying], fixed: np.ndarray = np.empty(0)):
        self._forms, self._equations, self._fixed = forms, equations, balls(fixed)

    def __call__(self, z: Balls) -> Balls:
        """Enclose the values on a box."""
        return self._equations(Varying(z, balls(np.zeros((len(z), 0))))).value

    def jacobian(self, z: Balls) -> Balls:
        """Enclose the derivatives on a box."""
        return self._equations(Varying(z, balls(np.eye(len(z))))).slope

    def may_jump(self, z: Balls) -> bool:
        """Test whether the field may be discontinuous in a box."""
        return self._forms.may_jump(np.concatenate([self._fixed, z])[: self._forms.size])


def numbers(values: Balls) -> np.ndarray:
    """The middles of balls."""
    return np.array([float(v.mid()) for v in np.ravel(values)]).reshape(np.shape(values))


def largest(vector: np.ndarray) -> int:
    """Index of the largest entry, which eigenvectors are scaled by, so that simple ones are exact in balls."""
    sizes = np.abs(vector)
    return int(np.flatnonzero(sizes >= 0.999 * sizes.max())[0])


def no_zero(words: str, sense: str) -> tuple[Hypothesis]:
    """State that no zero of the equations of a bifurcation point was found."""
    return (Hypothesis(words, f"{sense} has a regular zero nearby", UNDECIDED, decided="balls"),)


@contextlib.contextmanager
def normal_form(rows: list[Hypothesis]) -> Iterator[None]:
    """Where a matrix may be singular, state that the normal form may not be defined, unless a row already says why."""
    try:
        yield
    except ZeroDivisionError:
        if all(row.status == HOLDS for row in rows):
            words, sense = "the normal form is defined", "no resonance of eigenvalues"
            rows.append(Hypothesis(words, sense, UNDECIDED, decided="balls"))


def two_parameters(parameters: Sequence[Any]) -> tuple[Parameter, Parameter]:
    """Read two parameters.

    Raises:
        ValueError: for anything else.
    """
    if len(parameters) != 2 or not all(isinstance(one, Parameter) for one in parameters):
        raise ArgumentError("parameters", "be two `Parameter` objects", f"is {shown(parameters)}")
    return tuple(parameters)


def named(parameters: Sequence[Parameter], values: np.ndarray) -> dict[str, float]:
    """The values of parameters by name."""
    return {one.name: float(v) for one, v in zip(parameters, values, strict=True)}


def located(sense: str, where: np.ndarray, parameters: Sequence[Parameter]) -> str:
    """Say where the equations of a bifurcation point hold: at a state followed by the values of the parameters."""
    states, values = np.split(where, [-len(parameters)])
    if len(parameters) == 1:
        return f"{sense} at {written(states)}, {parameters[0].name} = {values[0]:.8g}"
    return f"{sense} at {written(states)}, ({', '.join(one.name for one in parameters)}) = {written(values)}"


def others(J: Balls, critical: Sequence[Any], *, is_map: bool = False) -> Hypothesis:
    """Decide whether all but the critical eigenvalues are off the imaginary axis, or the multipliers off the circle.

    The characteristic polynomial is divided by the polynomial of the critical eigenvalues, so that these, which may
    coincide, do not blur the others.

    Args:
        J: the Jacobian, (n, n).
        critical: coefficients of the monic polynomial of the critical eigenvalues, without the leading one.
        is_map: whether eigenvalues are multipliers of a map.
    """
    name, sense = ("multiplier", "|mu| != 1") if is_map else ("eigenvalue", "Re lambda != 0")
    words = f"no other {name} is on the {'unit circle' if is_map else 'axis'}"
    count = len(J) - len(critical)
    if not count:
        return Hypothesis(words, f"there {'is one' if len(critical) == 1 else 'are two'}", HOLDS, decided="algebra")
    polynomial = flint().arb_mat(J.tolist()).charpoly()
    rest: list[Any] = []
    for k in range(1, count + 1):
        value = polynomial[len(J) - k]
        for j, coefficient in enumerate(critical, 1):
            value = value - coefficient * (rest[k - j - 1] if k > j else int(k == j))
        rest.append(value)
    companion = balls(np.eye(count, k=-1))
    companion[0] = companion[0] - np.array(rest, dtype=object)
    gaps = [abs(v) - 1 if is_map else v.real for v in enclosed_eigenvalues(companion)]
    sizes = [float(abs(gap).lower()) for gap in gaps if bool(gap != 0)]
    status = HOLDS if len(sizes) == count else FAILS if any(bool(gap == 0) for gap in gaps) else UNDECIDED
    return Hypothesis(words, sense, status, min(sizes) if status == HOLDS else 0.0, "balls")
