"""Rosenbrock's method Rodas5P for stiff flows with few unknowns: linear equations only, and no iteration."""

import functools
import operator
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import diffrax as dfx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array

DIRECT = 12
"""Most unknowns in lanes, and of a matrix that is inverted; with more, LAPACK is faster and more accurate."""


Solver = Callable[[Array], Array]
"""Solves linear equations for a right-hand side (d, ...)."""


def _lower(*rows: list[float]) -> np.ndarray:
    found = np.zeros((len(rows), len(rows)))
    for k, row in enumerate(rows):
        found[k, : len(row)] = row
    return found


class RosenbrockTableau(NamedTuple):
    """Coefficients: stages k solve (1/(gamma h) - J) k_i = f(t + times_i h, y + a_i k) + c_i k/h + rates_i h f_t."""

    gamma: float
    times: np.ndarray
    rates: np.ndarray
    a: np.ndarray
    c: np.ndarray
    inside: np.ndarray

    @property
    def num_stages(self) -> int:
        """Number of stages."""
        return len(self.times)


SIXTH = [-7.502846399306121, 2.561846144803919, -11.627539656261098, -0.18268767659942256, 0.030198172008377946]
RODAS5P = RosenbrockTableau(
    0.21193756319429014,
    np.array([0, 0.6358126895828704, 0.4095798393397535, 0.9769306725060716, 0.4288403609558664, 1, 1, 1]),
    np.array([
        0.21193756319429014, -0.42387512638858027, -0.3384627126235924, 1.8046452872882734, 2.325825639765069, 0, 0, 0,
    ]),
    _lower(
        [], [3.0], [2.849394379747939, 0.45842242204463923],
        [-6.954028509809101, 2.489845061869568, -10.358996098473584],
        [2.8029986275628964, 0.5072464736228206, -0.3988312541770524, -0.04721187230404641],
        SIXTH, [*SIXTH, 1.0], [*SIXTH, 1.0, 1.0],
    ),
    _lower(
        [], [-14.155112264123755], [-17.97296035885952, -2.859693295451294],
        [147.12150275711716, -1.41221402718213, 71.68940251302358],
        [165.43517024871676, -0.4592823456491126, 42.90938336958603, -5.961986721573306],
        [24.854864614690072, -3.0009227002832186, 47.4931110020768, 5.5814197821558125, -0.6610691825249471],
        [
            30.91273214028599, -3.1208243349937974, 77.79954646070892, 34.28646028294783, -19.097331116725623,
            -28.087943162872662,
        ],
        [
            37.80277123390563, -3.2571969029072276, 112.26918849496327, 66.9347231244047, -40.06618937091002,
            -54.66780262877968, -9.48861652309627,
        ],
    ),
    np.array([
        [
            25.948786856663858, -2.5579724845846235, 10.433815404888879, -2.3679251022685204, 0.524948541321073,
            1.1241088310450404, 0.4272876194431874, -0.17202221070155493,
        ],
        [
            -9.91568850695171, -0.9689944594115154, 3.0438037242978453, -24.495224566215796, 20.176138334709044,
            15.98066361424651, -6.789040303419874, -6.710236069923372,
        ],
        [
            11.419903575922262, 2.8879645146136994, 72.92137995996029, 80.12511834622643, -52.072871366152654,
            -59.78993625266729, -0.15582684282751913, 4.883087185713722,
        ],
    ]),
)  # fmt: skip


def stages(
    tableau: RosenbrockTableau,
    field: Callable[[Any, Array], Array],
    t: Any,
    end: Any,
    y: Array,
    f: Array,
    solver: Callable[[Array], Solver],
) -> tuple[list[Array], Array, Array]:
    """Compute the stages of a step, the state at its end, and the error estimate.

    Further axes behind the first one of `y` are members, which have times of their own.

    Args:
        tableau: the coefficients.
        field: the right-hand side f(t, y).
        t: the beginning of the step.
        end: its end.
        y: the state at the beginning, shape (d, ...).
        f: the field there.
        solver: makes a function that solves linear equations from their matrix, shape (d, d, ...).
    """
    kind, h = y.dtype.type, end - t
    solved, rate = _derivatives(tableau, field, t, h, y, solver)
    ks: list[Array] = []
    u = y
    for a, c, share, weight in zip(tableau.a, tableau.c, tableau.times, tableau.rates, strict=True):
        u = y + _combined(a, ks) if ks else y
        right = field(end if share == 1 else t + kind(share) * h, u) if ks else f
        right = right + _combined(c, ks) / h if ks else right
        ks.append(solved(right + kind(weight) * h * rate if weight else right))
    return ks, u + ks[-1], ks[-1]


def _derivatives(
    tableau: RosenbrockTableau, field: Any, t: Any, h: Any, y: Array, solver: Callable[[Array], Solver]
) -> tuple[Solver, Array]:
    """The solution of equations with the matrix 1/(gamma h) - J, as a function, and the derivative by time."""
    d, members = y.shape[0], y.shape[1:]
    units = np.eye(d, dtype=y.dtype).reshape(d, d, *(1 for _ in members))
    along = lambda unit: jax.jvp(lambda y: field(t, y), (y,), (jnp.broadcast_to(unit, y.shape),))[1]
    columns = jax.vmap(along)(units)  # of the Jacobian, (d, d, ...)
    rate = jax.jvp(lambda t: field(t, y), (t,), (jnp.ones_like(t),))[1]
    scale = 1 / (y.dtype.type(tableau.gamma) * h)
    return solver(units * scale - jnp.swapaxes(columns, 0, 1)), rate


def by_lapack(a: Array) -> Solver:
    """Solve with a matrix of many unknowns."""
    factors = jax.scipy.linalg.lu_factor(a)
    return lambda b: jax.scipy.linalg.lu_solve(factors, b)


def by_inverse(a: Array) -> Solver:
    """Solve with the matrices of many members; few operations on whole arrays, of which XLA compiles few."""
    known = inverse(a)
    return lambda b: jnp.sum(known * b[None], axis=1)


def by_elimination(a: Array) -> Solver:
    """Solve with one matrix by Gauss's elimination with partial pivoting, in few scalar operations, for kernels.

    The largest entry of a column comes up by exchanges with one row after the other, which need no index.
    """
    d, exchanged, factors = len(a), {}, {}
    rows = [list(row) for row in a]
    for k in range(d):
        for i in range(k + 1, d):
            larger = jnp.abs(rows[i][k]) > jnp.abs(rows[k][k])
            exchanged[k, i] = larger
            for j in range(k, d):
                up, down = rows[k][j], rows[i][j]
                rows[k][j], rows[i][j] = jnp.where(larger, down, up), jnp.where(larger, up, down)
        for i in range(k + 1, d):
            factors[k, i] = rows[i][k] / rows[k][k]
            for j in range(k + 1, d):
                rows[i][j] = rows[i][j] - factors[k, i] * rows[k][j]

    def solved(b: Array) -> Array:
        x = list(b)
        for k in range(d):
            for i in range(k + 1, d):
                up, down = x[k], x[i]
                x[k], x[i] = jnp.where(exchanged[k, i], down, up), jnp.where(exchanged[k, i], up, down)
            for i in range(k + 1, d):
                x[i] = x[i] - factors[k, i] * x[k]
        for k in reversed(range(d)):
            for j in range(k + 1, d):
                x[k] = x[k] - rows[k][j] * x[j]
            x[k] = x[k] / rows[k][k]
        return jnp.stack(x)

    return solved


def inverse(a: Array) -> Array:
    """Invert the matrices (d, d, ...) of all members by elimination with partial pivoting, in few whole operations."""
    d, places = len(a), np.arange(len(a)).reshape(-1, *(1 for _ in a.shape[2:]))
    chosen = []
    for k in range(d):
        sizes = jnp.abs(a[k:, k])
        largest = jnp.min(jnp.where(sizes == jnp.max(sizes, axis=0), places[: d - k], d - 1 - k), axis=0) + k
        chosen.append(places == largest)
        pivot = jnp.sum(jnp.where(chosen[k][k:, None], a[k:], 0), axis=0)
        a = jnp.where(chosen[k][:, None], a[k], a)
        column = jnp.where(places == k, -1, a[:, k])
        row = pivot / pivot[k]
        row = jnp.where(places == k, 1 / pivot[k], row)
        a = jnp.where((places == k)[:, None], 0, a)
        a = jnp.where((places == k)[None], 0, a)
        a = a - column[:, None] * row[None]
    for k in reversed(range(d)):
        other = jnp.sum(jnp.where(chosen[k][None, k:], a[:, k:], 0), axis=1)
        a = jnp.where(chosen[k][None], a[:, k : k + 1], a)
        a = jnp.where((places == k)[None], other[:, None], a)
    return a


def _combined(row: np.ndarray, ks: list[Array]) -> Array:
    parts = [k.dtype.type(a) * k for a, k in zip(row.tolist(), ks, strict=False) if a]
    return functools.reduce(operator.add, parts)


class RodasPath(dfx.AbstractLocalInterpolation):
    """The dense output of the method: a polynomial of degree 4 in the share of a step."""

    t0: Any
    t1: Any
    y0: Any
    y1: Any
    k: Any

    def evaluate(self, t0: Any, t1: Any = None, left: bool = True) -> Any:
        """State at a time; diffrax asks for no difference of two."""
        x = (t0 - self.t0) / jnp.where(self.t1 == self.t0, 1, self.t1 - self.t0)
        weights = jnp.asarray(RODAS5P.inside)
        weights = (1 - x) * (weights[0] + x * (weights[1] + x * weights[2]))

        def of(y0: Array, y1: Array, k: Array) -> Array:
            share = x.astype(y0.dtype)
            return (1 - share) * y0 + share * (y1 + jnp.tensordot(weights.astype(k.dtype), k, 1))

        return jax.tree.map(of, self.y0, self.y1, self.k)


class Rodas5P(dfx.AbstractAdaptiveSolver):
    r"""Rosenbrock's method of order 5 with 8 stages for stiff flows of few unknowns, as a solver for `Diffrax`.

    A step takes one Jacobian, by automatic differentiation, and linear equations instead of an iteration. It is
    stiffly accurate and L-stable, and has a dense output of order 4. Ensembles of systems with up to 12 unknowns are
    solved in lanes, each member with steps of its own, on a GPU by a kernel. Steps are more accurate than needed where
    the Jacobian is large and changes fast; of many unknowns `stiff()` is faster.

    Source: G. Steinebach, Construction of Rosenbrock-Wanner method Rodas5P and numerical benchmarks within the Julia
    Differential Equations package, BIT 63 (2023).

    Example:
        >>> import dynsim as ds
        >>> import numpy as np
        >>> relaxing = ds.FunctionFlow(lambda t, x: -1000 * (x - 1))
        >>> method = ds.Diffrax(ds.Rodas5P(), rtol=1e-6)
        >>> runs = ds.ensemble(relaxing, np.zeros((3, 1)), [0.0, 1.0], lambda t, x: x[0], integrator=method)
        >>> runs.solved, round(float(runs.final[0, 0]), 4)
        ('in lanes, in JAX', 1.0)
    """

    tableau: ClassVar[RosenbrockTableau] = RODAS5P
    term_structure: ClassVar[type] = dfx.AbstractTerm
    interpolation_cls: ClassVar[Callable[..., RodasPath]] = RodasPath

    def order(self, terms: Any) -> int:
        """Order of the method."""
        return 5

    def init(self, terms: Any, t0: Any, t1: Any, y0: Any, args: Any) -> Any:
        """The field at the start."""
        return terms.vf(t0, y0, args)

    def func(self, terms: Any, t0: Any, y0: Any, args: Any) -> Any:
        """The field."""
        return terms.vf(t0, y0, args)

    def step(
        self, terms: Any, t0: Any, t1: Any, y0: Any, args: Any, solver_state: Any, made_jump: Any
    ) -> tuple[Any, Any, dict[str, Any], Any, Any]:
        """Take a step."""
        y, restored = ravel_pytree(y0)
        field = lambda t, y: ravel_pytree(terms.vf(t, restored(y), args))[0]
        f = jax.lax.cond(made_jump, lambda: field(t0, y), lambda: ravel_pytree(solver_state)[0])
        ks, y1, error = stages(self.tableau, field, t0, t1, y, f, by_inverse if y.size <= DIRECT else by_lapack)
        after = restored(y1)
        path = {"y0": y0, "y1": after, "k": jax.vmap(restored)(jnp.stack(ks))}
        return after, restored(error), path, terms.vf(t1, after, args), dfx.RESULTS.successful
