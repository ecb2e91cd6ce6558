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


def gpt2_tensors():
    """A small network in the GPT-2 layout: weights for x W + b."""
    shapes = {"wte.weight": (VOCABULARY, D), "wpe.weight": (POSITIONS, D), "ln_f.weight": (D,), "ln_f.bias": (D,)}
    for i in range(LAYERS):
        for part, shape in (("attn.c_attn", (D, 3 * D)), ("attn.c_proj", (D, D)), ("mlp.c_fc", (D, 4 * D))):
            shapes |= {f"h.{i}.{part}.weight": shape, f"h.{i}.{part}.bias": shape[1:]}
        shapes |= {f"h.{i}.mlp.c_proj.weight": (4 * D, D), f"h.{i}.mlp.c_proj.bias": (D,)}
        shapes |= {f"h.{i}.ln_{j}.{part}": (D,) for j in (1, 2) for part in ("weight", "bias")}
    return {name: 0.4 * random(name, *shape) for name, shape in shapes.items()}


def gpt2_states(z, ids, feedforward=True):
    """The states of a forward pass in plain NumPy, the embedding first."""

    def norm(x, name):
        x = x - x.mean(-1, keepdims=True)
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5) * z[f"{name}.weight"] + z[f"{name}.bias"]

    def affine(x, name):
        return x @ z[f"{name}.weight"] + z[f"{name}.bias"]

    x = z["wte.weight"][ids] + z["wpe.weight"][: len(ids)]
    states, m = [x], D // HEADS
    for i in range(LAYERS):
        q, k, v = np.split(affine(norm(x, f"h.{i}.ln_1"), f"h.{i}.attn.c_attn"), 3, axis=-1)
        mixed = np.zeros_like(x)
        for h, j in itertools.product(range(HEADS), range(len(ids))):
            part = slice(h * m, (h + 1) * m)
            a = np.exp(k[: j + 1, part] @ q[j, part] / math.sqrt(m))
            mixed[j, part] = a / a.sum() @ v[: j + 1, part]
        x = x + affine(mixed, f"h.{i}.attn.c_proj")
        if feedforward:
            u = affine(norm(x, f"h.{i}.ln_2"), f"h.{i}.mlp.c_fc")
            u = 0.5 * u * (1 + np.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u**3)))
            x = x + affine(u, f"h.{i}.mlp.c_proj")
        states.append(x)
    return states, norm(x, "ln_f") @ z["wte.weight"].T
