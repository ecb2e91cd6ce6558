"""The right-hand side of a flow or a map as sympy expressions of its components and parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from dynsim._core.printing import one_line
from dynsim.errors import ArgumentError, nearest
from dynsim.programs.program import Program, ProgramError
from dynsim.programs.recording import scalar_program
from dynsim.spaces.euclidean import Flat
from dynsim.systems.base import AbstractFlow, AbstractMap
from dynsim.systems.named import changed, components, listed, parameters

EXACT = 2.0**53
"""Numbers in floating point from here on are whole, and taken for the shortest decimal that has their value."""

SIMPLE = 1000
"""Largest denominator of the fraction that a number in floating point is taken for, if it is the nearest number."""

COMPARISONS = {"gt": ">", "ge": ">=", "lt": "<", "le": "<=", "eq": "==", "ne": "!="}
"""Operations that compare numbers, as they are written."""

LARGEST = 2_000
"""Most scalar operations of a right-hand side that is written as expressions."""


class SymbolicField(NamedTuple):
    """Right-hand side of a flow, or next state of a map, as expressions of sympy.

    Attributes:
        names: names of the components.
        states: their symbols.
        values: exact values of the parameters by symbol, also of those that are kept as symbols.
        right: the expressions, one for each component.
        is_map: whether they give the next state.
    """

    names: tuple[str, ...]
    states: tuple[Any, ...]
    values: Mapping[Any, Any]
    right: tuple[Any, ...]
    is_map: bool

    __repr__ = one_line

    def __str__(self) -> str:
        """Write one equation on each line."""
        left = "[n+1]" if self.is_map else "'"
        return "\n".join(f"{name}{left} = {text(e)}" for name, e in zip(self.names, self.right, strict=True))

    @property
    def latex(self) -> str:
        """The equations as an aligned display."""
        import sympy as sp

        left = [sp.latex(state) + "_{n+1}" if self.is_map else rf"\dot{{{sp.latex(state)}}}" for state in self.states]
        return aligned(left, self.right)

    @property
    def residual(self) -> tuple[Any, ...]:
        """Expressions that vanish at equilibria, or at fixed points of a map."""
        return tuple(f - x for f, x in zip(self.right, self.states, strict=True)) if self.is_map else self.right

    @property
    def jacobian(self) -> Any:
        """Matrix of the derivatives of the right-hand side by the components."""
        import sympy as sp

        return sp.Matrix(self.right).jacobian(self.states)

    def parameter(self, name: str, argument: str = "parameters") -> Any:
        """The symbol of a parameter that is kept; raise `ArgumentError` with the nearest name if there is none."""
        known = {str(symbol): symbol for symbol in self.values}
        if name not in known:
            must = f"name parameters of the system, {listed(tuple(known)) or 'which has none'}"
            raise ArgumentError(argument, must, f"has `{name}`{nearest(name, known)}")
        return known[name]

    def at(self, *, kept: Iterable[str]) -> SymbolicField:
        """The field with exact values of all parameters but some."""
        symbols = {self.parameter(name) for name in kept}
        given = {symbol: value for symbol, value in self.values.items() if symbol not in symbols}
        return self._replace(right=tuple(e.subs(given) for e in self.right))

    def numerators(self, what: str) -> tuple[list[Any], list[Any]]:
        """Numerators of the residual, and denominators that must not vanish.

        Raises:
            ArgumentError: unless the residual is rational in the components; `what` says what needs it.
        """
        import sympy as sp

        above, below = [], []
        for name, e in zip(self.names, self.residual, strict=True):
            if not e.is_rational_function(*self.states):
                strange = [f for f in e.atoms(sp.Function, sp.Pow) if not f.is_rational_function(*self.states)]
                shown = text(min(strange, key=sp.count_ops)) if strange else text(e)
                but = f"that of `{name}` has `{shown}`"
                raise ArgumentError("system", f"have a rational right-hand side for {what}", but)
            p, q = sp.fraction(sp.cancel(sp.together(e)))
            above.append(p)
            if q.free_symbols & set(self.states):
                below.append(q)
        return above, list(dict.fromkeys(below))


def symbolic_field(system: AbstractFlow | AbstractMap, *, state: Any = None) -> SymbolicField:
    """Write the right-hand side of a flow, or the step of a map, as sympy expressions.

    All parameters are kept as symbols; numbers in floating point are taken for the fraction of a denominator up to 1000
    that they are nearest to, or else for their shortest decimal.

    ```python
    >>> import dynsim as ds
    >>> from analysis import dynamics as ad
    >>> field = ad.symbolic_field(ds.system("x' = y; y' = mu*(1 - x^2)*y - x", mu=0.2))
    >>> print(field)
    x' = y
    y' = mu*y*(1 - x^2) - x
    >>> field.jacobian[1, 1]
    mu*(1 - x**2)
    ```

    Args:
        system: an autonomous flow or map on a flat space, whose state is one vector, smooth in its state.
        state: any state, for a system that does not name its components.

    Raises:
        ArgumentError: for a system that depends on time, compares states, or has more than 2,000 operations.
    """
    if not isinstance(system, AbstractFlow | AbstractMap):
        raise ArgumentError("system", "be a flow or a map", f"is a {type(system).__name__}")
    if not isinstance(system.space, Flat):
        raise ArgumentError("system", "be on a flat space", f"is on {type(system.space).__name__}")
    names = tuple(getattr(system, "names", ())) if state is None else components(system, np.asarray(state)).names
    if not names:
        raise ArgumentError("state", "be given for a system without names of its components", "is not")
    is_map = isinstance(system, AbstractMap)
    given = {name: value for name, value in parameters(system).items() if jnp.ndim(value) < 2}

    def right(t: Any, x: Any, values: Mapping[str, Any]) -> Any:
        made: Any = changed(system, values)
        return made.step(t, x) if is_map else made.vector_field(t, x)

    time: Any = jax.ShapeDtypeStruct((), int) if is_map else ()
    shapes = {name: jax.ShapeDtypeStruct(np.shape(value), float) for name, value in given.items()}
    try:
        program = scalar_program(right, time, (len(names),), shapes)
    except ProgramError as error:
        raise ArgumentError("system", "consist of scalar operations", f"uses {error.uses}") from None
    if len(program.operations) > LARGEST:
        must = f"have at most {LARGEST:,} scalar operations to be written as expressions"
        raise ArgumentError("system", must, f"has {len(program.operations):,}")
    import sympy as sp

    symbol = lambda name: sp.Symbol(name, real=True)
    states = tuple(map(symbol, names))
    values: dict[Any, Any] = {}
    listed_: list[Any] = []
    for name in sorted(given):  # the order in which JAX flattens a mapping
        numbers = np.asarray(given[name], float)
        one = [symbol(name if numbers.ndim == 0 else f"{name}_{k + 1}") for k in range(numbers.size)]
        values.update(zip(one, map(rational, numbers.ravel().tolist()), strict=True))
        listed_ += one
    return SymbolicField(names, states, values, _expressions(program, (symbol("t"), *states, *listed_)), is_map)


def rational(value: float) -> Any:
    """The fraction that a number in floating point is taken for."""
    import sympy as sp

    if not math.isfinite(value):
        raise ArgumentError("system", "have finite parameters and constants", f"has {value}")
    simple = Fraction(value).limit_denominator(SIMPLE)
    found = simple if float(simple) == value and abs(value) < EXACT else Fraction(repr(float(value)))
    return sp.Rational(found.numerator, found.denominator)


def _expressions(program: Program, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """Carry out a program on symbols; the first one is the time, on which nothing may depend."""
    found: list[Any] = [*inputs, *(rational(float(c)) for c in program.constants)]
    functions = _functions()
    for operation in program.operations:
        if operation.name not in functions:
            must = "be smooth, a composition of arithmetic and elementary functions"
            compared = operation.name in COMPARISONS
            but = f"compares by `{COMPARISONS[operation.name]}`" if compared else f"uses `{operation.name}`"
            raise ArgumentError("system", must, but)
        given = [found[k] for k in operation.operands]
        if operation.parameter is not None and operation.name != "convert_element_type":
            given.append(operation.parameter)
        found.append(functions[operation.name](*given))
    outputs = tuple(found[k] for k in program.outputs[0].ravel().tolist())
    if any(inputs[0] in e.free_symbols for e in outputs):
        raise ArgumentError("system", "be autonomous", "depends on the time")
    return outputs


def _functions() -> dict[str, Callable[..., Any]]:
    import sympy as sp

    return {
        "add": lambda a, b: a + b, "add_any": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
        "div": lambda a, b: a / b, "neg": lambda a: -a, "square": lambda a: a**2, "integer_pow": lambda a, k: a**k,
        "pow": lambda a, b: a**b, "sqrt": sp.sqrt, "rsqrt": lambda a: 1 / sp.sqrt(a),
        "cbrt": lambda a: sp.real_root(a, 3),
        "exp": sp.exp, "exp2": lambda a: 2**a, "expm1": lambda a: sp.exp(a) - 1, "log": sp.log,
        "log1p": lambda a: sp.log(1 + a), "log2": lambda a: sp.log(a, 2), "one_minus_square": lambda a: 1 - a**2,
        "logistic": lambda a: 1 / (1 + sp.exp(-a)), "convert_element_type": lambda a: a,
        **{name: getattr(sp, name) for name in (
            "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf",
            "erfc",
        )},
    }  # fmt: skip


def text(e: Any) -> str:
    """An expression in the grammar of `dynsim.system`."""
    import sympy as sp

    return sp.sstr(e).replace("**", "^")


def aligned(left: Sequence[str], right: Sequence[Any], relation: str = "=") -> str:
    r"""Equations as an aligned display of LaTeX."""
    import sympy as sp

    if not right:
        return ""
    rows = [f"  {a} &{relation} {sp.latex(b)}" for a, b in zip(left, right, strict=True)]
    return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"
