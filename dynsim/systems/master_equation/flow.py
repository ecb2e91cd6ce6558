"""The master equation as a flow on the probability simplex, and its forward-Euler map."""

import math
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from dynsim._core.types import Step, Time
from dynsim._core.validation import number
from dynsim.errors import ArgumentError
from dynsim.exact import rational
from dynsim.spaces import Simplex
from dynsim.systems.base import AbstractFlow, AbstractMap
from dynsim.systems.master_equation.checks import Matrix, check_generator, exit_rates
from dynsim.systems.master_equation.rates import SparseGenerator
from dynsim.systems.schedules import AbstractSchedule, Constant

CHECKED_TIMES = 65  # number of evenly spaced times at which a time-dependent Q is checked


class MasterEquationFlow(AbstractFlow):
    r"""The master equation $\dot p = Q(t)\, p$ on the probability simplex; columns of Q sum to zero.

    For constant Q, the integrator `analysis.chains.integrator.Exponential` computes $e^{Qt} p(0)$.

    Source: MULTIRATE, (26) and (27).
    """

    generator: AbstractSchedule
    space: Simplex

    def __init__(self, generator: AbstractSchedule | Matrix | Any):
        """Store Q, an array or sparse array of shape (k, k), or a one-head schedule, checked by `check_horizon`."""
        if not isinstance(generator, AbstractSchedule):
            Q = check_generator(generator)
            dense = isinstance(Q, np.ndarray)
            generator = Constant(Q.astype(float), name="generator") if dense else SparseGenerator(Q)
        if generator.shape[0] != 1:
            raise ArgumentError("generator", "have one head", f"has {generator.shape[0]}")
        self.generator = generator
        self.space = Simplex()

    def velocity(self, t: Time, x: Float[Array, "*batch k"]) -> Float[Array, "*batch k"]:
        """The time derivative Q(t) p of a distribution or a batch of distributions."""
        p = x
        if p.shape[-1] != self.generator.shape[-1]:
            raise ArgumentError("y0", f"have {self.generator.shape[-1]} states", f"has {p.shape[-1]}")
        if isinstance(self.generator, SparseGenerator):
            return self.generator.apply(p)
        return p @ self.generator(t)[0].astype(p.dtype).T

    def matrix(self) -> Matrix:
        """The constant generator Q, as an array or a SciPy sparse array.

        Raises:
            ValueError: if Q depends on time.
        """
        if isinstance(self.generator, SparseGenerator):
            return self.generator.matrix()
        if isinstance(self.generator, Constant):
            return np.asarray(self.generator.value[0])
        raise ArgumentError("flow", "have a constant generator", f"has a {type(self.generator).__name__}")

    def breakpoints(self, t0: float, t1: float) -> np.ndarray:
        """Times strictly between `t0` and `t1` at which Q jumps."""
        return self.generator.breakpoints(t0, t1)

    def step_limit(self) -> float:
        """Longest step for a solver: half of the shortest period of Q."""
        return self.generator.fastest_period() / 2

    def check_horizon(self, t0: float, t1: float) -> None:
        """Raise `ValueError` unless Q is defined on [t0, t1] and a generator at each of the checked times."""
        end = type(self.generator).end(self.generator)
        if t1 > end or (t0 < 0 and math.isfinite(end)):
            raise ArgumentError(
                "ts",
                f"stay inside the schedule of `generator`, [0, {end}]",
                f"ends at {t1}" if t1 > end else f"begins at {t0}",
            )
        if isinstance(self.generator, SparseGenerator):
            return
        constant = isinstance(self.generator, Constant)
        times = np.linspace(t0, t1, 1 if constant else CHECKED_TIMES)
        matrices = _matrices(self.generator, jnp.asarray(times))
        if not isinstance(matrices, Tracer):
            for t, Q in zip(times, np.asarray(matrices, float), strict=True):
                check_generator(Q, name="generator" if constant else f"generator(t = {t:.6g})")


@eqx.filter_jit
def _matrices(generator: Any, times: Array) -> Array:
    """The generator at each of several times, shape (times, k, k)."""
    return jax.lax.map(lambda t: generator(t)[0], times)


class MasterEquationMap(AbstractMap):
    r"""The forward-Euler map $p \leftarrow (I + \tau Q)\, p$ of the master equation, exact if Q is.

    Columns of $I + \tau Q$ sum to one for every $\tau$. Its entries are nonnegative for $\tau$ up to `step_bound`, the
    inverse of the largest exit rate. A larger step is refused, because $I + \tau Q$ is then not a transition matrix. At
    the bound the chain may be periodic, so that the iterates do not converge: see
    `analysis.chains.spectra.euler_bounds`. An object array of Fractions is iterated exactly.

    Source: MULTIRATE, Theorem 28 (iii).
    """

    generator: Any
    step_size: Any
    space: Simplex
    on_host: ClassVar[bool] = True

    def __init__(self, generator: Matrix | Any, step_size: Any):
        """Store Q of shape (k, k), dense, sparse or exact, and the step size tau in the time unit of Q.

        Raises:
            ValueError: if Q is not a generator, or if tau is not positive or exceeds `step_bound`.
        """
        Q = check_generator(generator)
        self.step_size = rational("step_size", step_size) if Q.dtype == object else number("step_size", step_size)
        bound = step_bound(Q)
        if not self.step_size > 0:
            raise ArgumentError("step_size", "be positive", f"is {step_size}")
        if self.step_size > bound:
            must = f"be at most 1 / (largest exit rate) = {bound}, above which probabilities become negative"
            raise ArgumentError("step_size", must, f"is {self.step_size}")
        self.generator = Q if isinstance(Q, np.ndarray) else SparseGenerator(Q)
        self.space = Simplex()

    def matrix(self) -> Matrix:
        """The generator Q as it was given: dense, exact or sparse."""
        Q = self.generator
        return Q.matrix() if isinstance(Q, SparseGenerator) else Q

    def step(self, k: Step, x: Any) -> np.ndarray:
        """Distribution of shape (k,), or a batch of shape (..., k), after one step."""
        p = np.asarray(x)
        if p.shape[-1] != self.generator.shape[-1]:
            raise ArgumentError("x0", f"have {self.generator.shape[-1]} states", f"has {p.shape[-1]}")
        return p + self.step_size * (self.matrix() @ p.T).T


def step_bound(generator: Matrix) -> Any:
    """Largest step size, 1 / (largest exit rate), for which I + tau Q has no negative entry; infinite for Q = 0."""
    fastest = np.max(exit_rates(generator))
    return 1 / fastest if fastest > 0 else math.inf
