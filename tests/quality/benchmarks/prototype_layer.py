"""The read-out layer of prototypes, forward and backward, against the same layer in PyTorch, with answers compared."""

import os
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from dynsim._runtime.cores import cores
from dynsim.keys import random_key
from dynsim.networks.prototypes.layer import PrototypeReadout, draw_readout
from tests.quality.benchmarks.harness import Contender, Row, race

TEMPERATURE = 8.0


@eqx.filter_jit
def _ours(layer: PrototypeReadout, z: Any, weights: Any) -> tuple[Any, Any, Any]:
    """Return the output, and the derivatives of its weighted sum by parameters and tokens."""

    def loss(both: tuple[PrototypeReadout, Any]) -> tuple[Any, Any]:
        h = both[0](both[1], TEMPERATURE)
        return jnp.sum(weights * h), h

    (_, h), (by_layer, by_tokens) = eqx.filter_value_and_grad(loss, has_aux=True)((layer, z))
    return h, by_tokens, by_layer


def in_torch(layer: PrototypeReadout, z: np.ndarray, weights: np.ndarray, threads: int) -> Callable[[], Any]:
    """Return the same computation as a user of PyTorch would write it: distances by products, heads by `bmm`."""
    import torch
    import torch.nn.functional as F

    put = lambda a: torch.tensor(np.asarray(a), requires_grad=True)
    tokens, p, out = put(z), put(layer.prototypes), put(layer.output)
    gain, shift, epsilon = put(layer.norm.gain), put(layer.norm.bias), layer.norm.epsilon
    project = None if layer.projections is None else put(np.asarray(layer.projections).reshape(z.shape[1], -1))
    moved = [a for a in (tokens, p, project, out, gain, shift) if a is not None]
    heads, _, width = p.shape
    given = torch.tensor(weights)

    def run() -> Any:
        torch.set_num_threads(threads)
        y = tokens if project is None else F.linear(tokens, project)
        y = y.view(-1, heads, width).transpose(0, 1)
        d = (y**2).sum(-1, keepdim=True) + torch.baddbmm((p**2).sum(-1)[:, None], y, p.transpose(1, 2), alpha=-2)
        mu = torch.bmm(torch.softmax(d / -TEMPERATURE, dim=-1), p)
        h = F.layer_norm(tokens + F.linear(mu.transpose(0, 1).reshape(z.shape), out), z.shape[1:], gain, shift, epsilon)
        return h.detach().numpy(), *(g.numpy() for g in torch.autograd.grad((given * h).sum(), moved))

    return run


def _gap(a: Any, b: Any) -> float:
    return float(np.max(np.abs(np.asarray(a) - np.asarray(b))) / np.max(np.abs(np.asarray(b))))


def race_layer(n: int, m: int, k: int, heads: int, *, rounds: int, threads: tuple[int, ...]) -> list[Row]:
    """Race at one size in single precision; the error is the largest relative difference of output and derivatives."""
    key, more, last = jax.random.split(random_key(0, "prototype layer benchmark"), 3)
    layer = draw_readout(key, m, k, heads=heads, dtype=jnp.float32)
    z = 2 * jax.random.normal(more, (n, m), jnp.float32)
    weights = jax.random.normal(last, (n, m), jnp.float32)

    def ours() -> Any:
        h, by_tokens, g = jax.block_until_ready(_ours(layer, z, weights))
        projections = () if g.projections is None else (g.projections.reshape(m, m),)
        return h, by_tokens, g.prototypes, *projections, g.output, g.norm.gain, g.norm.bias

    reference = in_torch(layer, np.asarray(z), np.asarray(weights), threads[0])()
    error = lambda answer: max(_gap(a, b) for a, b in zip(answer, reference, strict=True))
    others = [
        Contender(f"PyTorch, {t} threads", in_torch(layer, np.asarray(z), np.asarray(weights), t)) for t in threads
    ]
    title = f"read-out layer, {n} tokens in R^{m}, {heads} heads of {k} prototypes, forward and backward, float32"
    rows = race(title, [*others, Contender("dynsim", ours, 1.0)], error, rounds=rounds)
    fastest = min(rows[:-1], key=lambda row: row.seconds)
    load = "/".join(f"{x:.1f}" for x in os.getloadavg())
    print(f"  dynsim is {fastest.seconds / rows[-1].seconds:.2f} x as fast as {fastest.name}; load {load}")
    return rows


def everything(rounds: int, *, quick: bool = False) -> dict[str, object]:
    """Race with one head and with several, and with few and many prototypes."""
    threads = tuple(sorted({1, int(os.environ.get("OMP_NUM_THREADS", cores()))}))
    sizes = [(4096, 64, 20, 1), (4096, 128, 64, 4), (16384, 64, 256, 1)]
    return {
        str(size): [row._asdict() for row in race_layer(*size, rounds=rounds, threads=threads)]
        for size in sizes[: 1 if quick else None]
    }
