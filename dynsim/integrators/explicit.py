"""Steps of explicit Runge-Kutta methods for many members at once."""

from typing import Any

import diffrax as dfx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from dynsim._core.types import State
from dynsim.integrators.any_member import any_member


class ByEntry(dfx.AbstractAdaptiveSolver):
    """An explicit Runge-Kutta method that combines stages one by one, not by a matrix product.

    For an ordinary differential equation, without derivatives in reverse mode. Diffrax multiplies a row of the tableau
    by all stages; under `vmap` this product copies the stages to put them first. The copies took a tenth of the time of
    an ensemble of large states, and a fifth of that of 256 Lorenz systems.
    """

    method: dfx.AbstractERK

    @property
    def term_structure(self):
        """The method's."""
        return self.method.term_structure

    @property
    def interpolation_cls(self):
        """The method's."""
        return self.method.interpolation_cls

    def error_order(self, terms):
        """Get the order of the method's error estimate."""
        return self.method.error_order(terms)

    def func(self, terms, t0, y0, args):
        """Evaluate the field."""
        return terms.vf(t0, y0, args)

    def init(self, terms, t0, t1, y0, args):
        """Begin without a known field: the memory is whether it is unknown, and the field at the end of a step."""
        return jnp.asarray(True), jax.tree.map(jnp.zeros_like, y0)

    def step(self, terms, t0, t1, y0, args, solver_state, made_jump):
        """Evaluate the stages in a loop; a method whose last stage is the next step's first begins with the second."""
        tableau: Any = self.method.tableau  # a single one: see `by_entry`
        control = terms.contr(t0, t1)
        dtype = jnp.result_type(*jax.tree.leaves(y0))
        rows, shares = jnp.asarray(_square(tableau), dtype), jnp.asarray(_shares(tableau), jnp.result_type(t0, t1))

        def stage(index: Array, carry: tuple[State, State, State]) -> tuple[State, State, State]:
            _, ks, _ = carry
            y = jax.tree.map(jnp.add, y0, _combined(rows[index], ks))
            t = jnp.where(shares[index] == 1, t1, t0 + shares[index] * (t1 - t0))
            f = terms.vf(t, y, args)
            return y, _written(ks, index, terms.prod(f, control)), f

        ks = jax.tree.map(lambda y: jnp.zeros((tableau.num_stages, *y.shape), y.dtype), y0)
        unknown, f0 = solver_state
        known = ~any_member(unknown | made_jump) & tableau.fsal
        f0 = jax.tree.map(lambda f: jnp.where(known, f, jnp.zeros_like(f)), f0)
        begun = y0, _written(ks, 0, terms.prod(f0, control)), f0
        y1, ks, f1 = jax.lax.fori_loop(known.astype(int), tableau.num_stages, stage, begun)
        if not tableau.ssal:
            y1 = jax.tree.map(jnp.add, y0, _combined(jnp.asarray(tableau.b_sol, dtype), ks))
        error = _combined(jnp.asarray(tableau.b_error, dtype), ks)
        return y1, error, {"y0": y0, "y1": y1, "k": ks}, (jnp.asarray(False), f1), dfx.RESULTS.successful


def by_entry(solver: dfx.AbstractAdaptiveSolver) -> dfx.AbstractAdaptiveSolver:
    """Wrap an explicit Runge-Kutta method with one tableau to combine stages one by one; return others unchanged."""
    if isinstance(solver, dfx.AbstractERK) and type(solver).step is dfx.AbstractERK.step:
        return ByEntry(solver) if isinstance(solver.tableau, dfx.ButcherTableau) else solver
    return solver


def _square(tableau: dfx.ButcherTableau) -> np.ndarray:
    """Build the strictly lower triangular matrix of Runge-Kutta coefficients."""
    rows = np.zeros((tableau.num_stages, tableau.num_stages))
    for index, row in enumerate(tableau.a_lower, start=1):
        rows[index, :index] = row
    return rows


def _shares(tableau: dfx.ButcherTableau) -> np.ndarray:
    """List the nodes of all stages, as fractions of the step."""
    return np.concatenate([[tableau.c1], tableau.c])


def _combined(row: Array, stages: State) -> State:
    """Compute the linear combination of stages with the entries of a row as coefficients."""
    return jax.tree.map(lambda ks: sum(a * k for a, k in zip(row, ks, strict=True)), stages)


def _written(stages: State, index: Any, stage: State) -> State:
    """Set one of the stages."""
    return jax.tree.map(lambda ks, k: ks.at[index].set(k), stages, stage)
