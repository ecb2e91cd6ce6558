"""A small network in the GPT-2 layout, as named arrays and as a forward pass in plain NumPy."""

import itertools
import math

import jax
import numpy as np

from dynsim.keys import random_key

D, HEADS, LAYERS, VOCABULARY, POSITIONS = 12, 3, 2, 7, 9
IDS = np.array([3, 0, 6, 6, 1])


def random(name, *shape):
    return np.asarray(jax.random.normal(random_key(1, name), shape))


def gpt2_tensors(*, output_norms=False):
    """A small network in the GPT-2 layout: weights for x W + b, on request with norms of outputs."""
    shapes = {"wte.weight": (VOCABULARY, D), "wpe.weight": (POSITIONS, D), "ln_f.weight": (D,), "ln_f.bias": (D,)}
    for i in range(LAYERS):
        for part, shape in (("attn.c_attn", (D, 3 * D)), ("attn.c_proj", (D, D)), ("mlp.c_fc", (D, 4 * D))):
            shapes |= {f"h.{i}.{part}.weight": shape, f"h.{i}.{part}.bias": shape[1:]}
        shapes |= {f"h.{i}.mlp.c_proj.weight": (4 * D, D), f"h.{i}.mlp.c_proj.bias": (D,)}
        shapes |= {f"h.{i}.ln_{j}.{part}": (D,) for j in (1, 2) for part in ("weight", "bias")}
        if output_norms:
            shapes |= {f"h.{i}.out_{j}.{part}": (D,) for j in (1, 2) for part in ("weight", "bias")}
    return {name: 0.4 * random(name, *shape) for name, shape in shapes.items()}


def gpt2_states(z, ids, feedforward=True, placement="pre"):
    """The states of a forward pass in plain NumPy, the embedding first, and the scores of the next token."""

    def norm(x, name):
        x = x - x.mean(-1, keepdims=True)
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5) * z[f"{name}.weight"] + z[f"{name}.bias"]

    def affine(x, name):
        return x @ z[f"{name}.weight"] + z[f"{name}.bias"]

    def attention(x, i):
        q, k, v = np.split(affine(x, f"h.{i}.attn.c_attn"), 3, axis=-1)
        mixed, m = np.zeros_like(x), D // HEADS
        for h, j in itertools.product(range(HEADS), range(len(ids))):
            part = slice(h * m, (h + 1) * m)
            a = np.exp(k[: j + 1, part] @ q[j, part] / math.sqrt(m))
            mixed[j, part] = a / a.sum() @ v[: j + 1, part]
        return affine(mixed, f"h.{i}.attn.c_proj")

    def perceptron(x, i):
        u = affine(x, f"h.{i}.mlp.c_fc")
        u = 0.5 * u * (1 + np.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u**3)))
        return affine(u, f"h.{i}.mlp.c_proj")

    def after(x, F, i, j):
        inner, outer = f"h.{i}.ln_{j}", f"h.{i}.out_{j}"
        if placement == "post":
            return norm(x + F(x, i), inner)
        if placement == "peri":
            return x + norm(F(norm(x, inner), i), outer)
        return x + (F(x, i) if placement == "none" else F(norm(x, inner), i))

    x = z["wte.weight"][ids] + z["wpe.weight"][: len(ids)]
    states = [x]
    for i in range(LAYERS):
        x = after(x, attention, i, 1)
        x = after(x, perceptron, i, 2) if feedforward else x
        states.append(x)
    return states, (norm(x, "ln_f") if placement in ("pre", "peri") else x) @ z["wte.weight"].T
