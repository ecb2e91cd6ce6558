"""What a user would otherwise write for the ensemble of CONSENSUS, Section 7.4: NumPy, torch and plain JAX.

Each is written as well as its author could: the diagonal of D_h(t) scales the tokens instead of a d x d matrix, matrix
products are fused over members and heads, and the mask and the softmax are computed in place where that is possible.
"""

import math
from typing import Any, NamedTuple

import diffrax as dfx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.integrate

Answer = tuple[np.ndarray, np.ndarray]  # E (members, times) and the last tokens (members, n, d)


class Problem(NamedTuple):
    """P_h(t) = |2 sin(w t + phi)| P_h' causal on the sphere, U (heads, d, d) or the number 1 for the identity."""

    base: np.ndarray
    frequency: np.ndarray
    phase: np.ndarray
    value: np.ndarray | float
    starts: np.ndarray
    ts: np.ndarray

    def cast(self, dtype: Any) -> "Problem":
        """Return the same numbers in another type; times stay as they are."""
        value = self.value if np.ndim(self.value) == 0 else np.asarray(self.value, dtype)
        parts = (np.asarray(a, dtype) for a in (self.base, self.frequency, self.phase))
        return Problem(*parts, value, np.asarray(self.starts, dtype), self.ts)


def misalignment(x: Any, xp: Any) -> Any:
    """Return E of (25) for tokens on the last two axes, unit vectors."""
    first = x[..., :1, :]
    return 1 - xp.abs((x * first).sum(-1)).mean(-1)


def scipy_rk45(problem: Problem, rtol: float, atol: float) -> Answer:
    """Solve by SciPy's RK45 on a NumPy field, member by member."""
    p = problem
    (h, d), n = p.frequency.shape, p.starts.shape[1]
    flat = np.concatenate(list(p.base), axis=1)  # (d, h d): one product for both heads
    hidden = np.triu(np.full((n, n), -np.inf, p.base.dtype), 1)
    scale = 1 / math.sqrt(d)

    def field(t: float, y: np.ndarray) -> np.ndarray:
        y = y.reshape(n, d).astype(p.base.dtype, copy=False)
        x = y / np.linalg.norm(y, axis=1, keepdims=True)
        diagonal = np.abs(2 * np.sin(p.frequency * t + p.phase))
        if np.ndim(p.value):
            total = np.zeros_like(x)
        weights_sum = 0.0
        for k in range(h):
            scores = ((x * diagonal[k]) @ flat[:, k * d : (k + 1) * d]) @ x.T + hidden
            scores -= scores.max(axis=1, keepdims=True)
            np.exp(scores, out=scores)
            scores /= scores.sum(axis=1, keepdims=True)
            if np.ndim(p.value):
                total += (scores @ x) @ p.value[k].T
            else:
                weights_sum = weights_sum + scores
        m = scale * (total if np.ndim(p.value) else weights_sum @ x)
        return (m - (x * m).sum(axis=1, keepdims=True) * x).ravel()

    kept, ends = [], []
    for start in p.starts:
        solution = scipy.integrate.solve_ivp(
            field, (p.ts[0], p.ts[-1]), start.ravel(), method="RK45", t_eval=p.ts, rtol=rtol, atol=atol
        )
        if not solution.success:
            raise RuntimeError(solution.message)
        x = solution.y.T.reshape(len(p.ts), n, d)
        x /= np.linalg.norm(x, axis=-1, keepdims=True)
        kept.append(misalignment(x, np))
        ends.append(x[-1])
    return np.array(kept), np.array(ends)


def torchdiffeq_dopri5(problem: Problem, rtol: float, atol: float) -> Answer:
    """Solve by torchdiffeq's dopri5 on all members at once, with one step size for all."""
    import torch
    from torchdiffeq._impl.dopri5 import Dopri5Solver

    p = problem
    put = lambda a: torch.as_tensor(np.array(a))
    base, frequency, phase = put(p.base), put(p.frequency), put(p.phase)
    value = put(p.value) if np.ndim(p.value) else None
    n, d = p.starts.shape[1:]
    hidden = torch.triu(torch.full((n, n), -math.inf, dtype=base.dtype), 1)
    scale = 1 / math.sqrt(d)

    def field(t: Any, y: Any) -> Any:
        x = y / torch.linalg.vector_norm(y, dim=-1, keepdim=True)
        diagonal = torch.abs(2 * torch.sin(frequency * t + phase))
        keys = x.transpose(1, 2)
        total, weights = 0.0, 0.0
        for k in range(base.shape[0]):
            queries = (x * diagonal[k]).reshape(-1, d) @ base[k]
            attention = torch.softmax(torch.bmm(queries.reshape(x.shape), keys) + hidden, dim=-1)
            if value is None:
                weights = weights + attention
            else:
                total = total + torch.bmm(attention, x).reshape(-1, d) @ value[k].T
        m = scale * (torch.bmm(weights, x) if value is None else total.reshape(x.shape))
        return m - (x * m).sum(-1, keepdim=True) * x

    with torch.no_grad():
        ts, x = put(p.ts).to(base.dtype), put(p.starts)
        kept = []
        # interval by interval, so that only E is kept and not 200 states of all members (4 GB)
        solver = Dopri5Solver(_Perturbed(field), x, rtol, atol, norm=lambda e: e.pow(2).mean().sqrt())
        solver._before_integrate(ts)
        kept.append(misalignment(x, torch))
        for k in range(1, len(ts)):
            x = solver._advance(ts[k])
            x = x / torch.linalg.vector_norm(x, dim=-1, keepdim=True)
            kept.append(misalignment(x, torch))
    return torch.stack(kept, dim=1).numpy(), x.numpy()


class _Perturbed:
    """A field with the signature that torchdiffeq's solvers call."""

    def __init__(self, field: Any):
        self.field, self.callback_step = field, lambda *a: None
        self.callback_accept_step = self.callback_reject_step = self.callback_step

    def __call__(self, t: Any, y: Any, *, perturb: Any = None) -> Any:
        return self.field(t, y)


def diffrax_as_is(problem: Problem, rtol: float, atol: float) -> Answer:
    """Solve by diffrax's Tsit5 under `vmap`, on the field as the paper prints it: P_h(t) and U_h are formed."""
    return jax.tree.map(np.asarray, _diffrax(jax.tree.map(jnp.asarray, problem), rtol, atol))


@jax.jit
def _diffrax(problem: Problem, rtol: float, atol: float) -> Any:
    p, (n, d) = problem, problem.starts.shape[1:]
    value = p.value if jnp.ndim(p.value) else jnp.broadcast_to(jnp.eye(d, dtype=p.base.dtype), p.base.shape)
    hidden = jnp.triu(jnp.full((n, n), -jnp.inf, p.base.dtype), 1)

    def field(t: Any, y: Any, args: Any) -> Any:
        y = y / jnp.linalg.norm(y, axis=-1, keepdims=True)
        P = jax.vmap(jnp.diag)(jnp.abs(2 * jnp.sin(p.frequency * t + p.phase))) @ p.base
        weights = jax.nn.softmax(jnp.einsum("id,hde,je->hij", y, P, y) + hidden, axis=-1)
        m = jnp.einsum("hij,hde,je->id", weights, value, y) / math.sqrt(d)
        return m - jnp.sum(y * m, axis=-1, keepdims=True) * y

    def one(start: Any) -> Any:
        unit = lambda y: y / jnp.linalg.norm(y, axis=-1, keepdims=True)
        seen = dfx.SubSaveAt(ts=p.ts, fn=lambda t, y, args: misalignment(unit(y), jnp))
        values, final = dfx.diffeqsolve(
            dfx.ODETerm(field), dfx.Tsit5(), p.ts[0], p.ts[-1], None, start,
            saveat=dfx.SaveAt(subs=(seen, dfx.SubSaveAt(t1=True))),
            stepsize_controller=dfx.PIDController(rtol=rtol, atol=atol), max_steps=100_000,
        ).ys  # fmt: skip
        return values, unit(final[0])

    return jax.vmap(one)(p.starts)
