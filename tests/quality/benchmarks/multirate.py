"""Steps of training of the multirate network against the same network in PyTorch, from the same weights and batches."""

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import numpy as np

from dynsim._runtime.cores import cores
from dynsim.keys import random_key
from dynsim.networks.multirate.byte_text import random_windows
from dynsim.networks.multirate.config import MultirateConfig, dense
from dynsim.networks.multirate.network import MultirateNetwork, draw_multirate, frozen, num_parameters
from dynsim.networks.multirate.training import train_multirate
from tests.quality.benchmarks.harness import Contender, Row, race

STEPS = 20
KEY = random_key(0, "multirate benchmark")


class InTorch:
    """The network with linear projector and one pass, written as a user of PyTorch would: fused attention and AdamW."""

    def __init__(self, model: MultirateNetwork, length: int):
        """Copy the weights, and make the tables of the positions."""
        import torch

        self.torch, self.functional = torch, torch.nn.functional
        put = lambda a: torch.tensor(np.asarray(a), requires_grad=bool(eqx.is_inexact_array(a)))
        arrays, rest = eqx.partition(model, eqx.is_array)
        self.leaves = [put(a) for a in jax.tree.leaves(arrays)]
        self.model = eqx.combine(jax.tree.unflatten(jax.tree.structure(arrays), self.leaves), rest)
        m = model.before[0].attention.query.shape[1]
        lengths = {length, *(-(-length // r.block) for r in model.rounds)}
        self.turns = {n: self._turns(n, m) for n in lengths}

    def _turns(self, n: int, m: int) -> tuple[Any, Any]:
        angle = self.torch.arange(n)[:, None] * 10000.0 ** (-self.torch.arange(0, m, 2) / m)
        return self.torch.cos(angle), self.torch.sin(angle)

    def norm(self, norm: Any, x: Any) -> Any:
        """Return the normalised tokens."""
        return self.functional.rms_norm(x, (x.shape[-1],), norm.gain, norm.epsilon)

    def rotated(self, x: Any) -> Any:
        """Return queries or keys turned by their position."""
        c, s = self.turns[x.shape[-2]]
        a, b = x[..., 0::2], x[..., 1::2]
        return self.torch.stack([a * c - b * s, a * s + b * c], dim=-1).flatten(-2)

    def attention(self, a: Any, x: Any) -> Any:
        """Return what attention adds."""
        F, (b, n, d), m = self.functional, x.shape, a.query.shape[1]
        heads = lambda W, bias: F.linear(x, W.view(-1, d), bias.view(-1)).view(b, n, -1, m).transpose(1, 2)
        q = self.rotated(self.norm(a.query_norm, heads(a.query, a.query_bias)))
        k = self.rotated(self.norm(a.key_norm, heads(a.key, a.key_bias)))
        v = heads(a.value, a.value_bias)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return F.linear(y.transpose(1, 2).reshape(b, n, d), a.output.permute(1, 0, 2).reshape(d, d), a.output_bias)

    def layer(self, layer: Any, x: Any) -> Any:
        """Return the tokens after a layer."""
        F, f = self.functional, layer.feedforward
        x = x + self.attention(layer.attention, self.norm(layer.attention_norm, x))
        z = F.gelu(F.linear(self.norm(layer.feedforward_norm, x), f.inner, f.inner_bias))
        return x + F.linear(z, f.outer, f.outer_bias)

    def round(self, r: Any, x: Any) -> Any:
        """Return the tokens after a round; their number is a multiple of the block's."""
        b, n, d = x.shape
        y = x.view(b, n // r.block, r.block, d).mean(dim=2)
        for layer in r.slow:
            y = self.layer(layer, y)
        c = self.functional.pad(y[:, :-1], (0, 0, 1, 0)).repeat_interleave(r.block, dim=1)
        gate = r.gate.detach() if bool(r.gate_frozen) else r.gate
        x = x + gate * self.functional.linear(self.norm(r.injection_norm, c), r.projector.matrix)
        for layer in r.after:
            x = self.layer(layer, x)
        return x

    def logits(self, ids: Any) -> Any:
        """Return the scores of the next symbol."""
        F, model = self.functional, self.model
        x = F.embedding(ids, model.token_embedding)
        for layer in model.before:
            x = self.layer(layer, x)
        for r in model.rounds:
            x = self.round(r, x)
        return F.linear(self.norm(model.final_norm, x), model.token_embedding)

    def train(self, batches: np.ndarray, threads: int) -> list[float]:
        """Return the loss before each step of AdamW."""
        self.torch.set_num_threads(threads)
        moved = [leaf for leaf in self.leaves if leaf.requires_grad]
        rule = self.torch.optim.AdamW(moved, lr=1e-3, weight_decay=1e-2, fused=True)
        losses = []
        for batch in self.torch.tensor(batches.astype(np.int64)):
            loss = self.functional.cross_entropy(self.logits(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
            rule.zero_grad(set_to_none=True)
            loss.backward()
            rule.step()
            losses.append(loss.item())
        return losses


def race_steps(title: str, model: MultirateNetwork, *, rounds: int, steps: int = STEPS, length: int = 256) -> list[Row]:
    """Race some steps of training; the error is the largest difference of a loss from ours, in nats.

    The ratio is to PyTorch on one thread, and its row on all cores is beside it: compare with the faster.
    """
    text = np.random.default_rng(0).integers(32, 127, 100_000).astype(np.uint8)
    batches = random_windows(text, batch=3, length=length)
    keys = [jax.random.split(jax.random.fold_in(KEY, k))[0] for k in range(steps)]
    known = np.stack([np.asarray(batches(k, key)) for k, key in enumerate(keys)])
    ours: Callable[[], Any] = lambda: (
        train_multirate(model, batches, KEY, num_steps=steps, every=steps, shown=False).losses
    )
    reference = ours()
    return race(
        f"{title}: {num_parameters(model):,} parameters, {steps} steps of 3 x {length} bytes; error of the losses",
        [
            # Threads of PyTorch wait for each other by spinning: on a busy machine one of them is faster than two.
            *(
                Contender(
                    f"PyTorch, {threads} threads", lambda threads=threads: InTorch(model, length).train(known, threads)
                )
                for threads in sorted({1, cores()})
            ),
            Contender("dynsim", ours, 1.0),
        ],
        lambda losses: float(np.max(np.abs(np.asarray(losses) - reference))),
        rounds=rounds,
    )


def everything(rounds: int, *, quick: bool = False) -> dict[str, object]:
    """Race the networks of Section 9 and say what the whole study takes at that speed."""
    config = MultirateConfig()
    model = draw_multirate(KEY, config)
    models = {"coupled": model, "frozen": frozen(model), "dense": draw_multirate(KEY, dense(config))}
    models["dense, four layers"] = draw_multirate(KEY, dense(config, 4))
    found: dict[str, object] = {}
    for name, one in list(models.items())[: 1 if quick else None]:
        rows = race_steps(name, one, rounds=rounds, steps=2 if quick else STEPS)
        found[name] = [row._asdict() for row in rows]
        each = rows[-1].seconds / (2 if quick else STEPS)
        print(f"  {each * 1e3:.1f} ms a step, {math.ceil(650 * each)} s for 650 of them")
    return found
