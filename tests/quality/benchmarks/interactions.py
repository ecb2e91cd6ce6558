"""One field of many tokens on a sphere against torch's scaled dot-product attention, with the answers compared."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dynsim.keys import random_key
from dynsim.spaces import Sphere
from dynsim.systems.tokens.flow import TokenFlow
from dynsim.systems.tokens.interactions.base import AbstractInteraction, Dense
from dynsim.systems.tokens.interactions.blocked import Blocked
from dynsim.systems.tokens.interactions.choice import Auto
from dynsim.systems.tokens.interactions.harmonic import Harmonic
from tests.quality.benchmarks.harness import Contender, Row, in_fresh_process, race

BETA = 5.0
TOLERANCE = {"float32": 2e-6, "float64": 1e-12}
SDPA = "torch SDPA"


def tokens(n: int, d: int, dtype: str) -> jax.Array:
    """Return uniformly distributed tokens."""
    return Sphere().sample(random_key(0, "tokens", n + d), (n, d)).astype(dtype)


def field(interaction: AbstractInteraction, d: int) -> Any:
    """Return a compiled function of the tokens: their means, the output of attention without its scale."""
    flow = TokenFlow(BETA * np.eye(d), scale=1.0, interaction=interaction)
    return jax.jit(lambda x: flow.velocity(0.0, x))


def sdpa(x: jax.Array) -> Any:
    """Return torch's attention of the same tokens, as a function of nothing."""
    import torch

    torch.set_num_threads(1)
    k = torch.as_tensor(np.array(x))[None, None]

    def attend() -> np.ndarray:
        with torch.no_grad():
            return torch.nn.functional.scaled_dot_product_attention(BETA * k, k, k, scale=1.0)[0, 0].numpy()

    return attend


def against_torch(n: int, d: int, dtype: str, rounds: int, aims: dict[str, float]) -> list[Row]:
    """Race the interactions against torch; errors are those of the first thousand means, in float64."""
    x = tokens(n, d, dtype)
    y = x.astype(jnp.float64)
    exact = np.asarray(jax.nn.softmax(BETA * y[:1000] @ y.T, axis=-1) @ y)
    ways: dict[str, AbstractInteraction] = {"blocked": Blocked()}
    if n <= 10_000:
        ways["dense"] = Dense()
    if d <= 3:
        ways["harmonic"] = Harmonic(TOLERANCE[dtype])
    fields = {name: field(way, d) for name, way in ways.items()}
    contenders = [Contender(SDPA, sdpa(x))]
    for name, fn in fields.items():
        contenders.append(Contender(name, lambda fn=fn: jax.block_until_ready(fn(x)), aims.get(name, 0.0)))
    gap = lambda answer: float(np.max(np.abs(np.asarray(answer)[:1000] - exact)))
    return race(
        f"one field of {n} tokens in R^{d}, beta = 5, {dtype}; error of the means", contenders, gap, rounds=rounds
    )


def crossovers(rounds: int) -> list[Row]:
    """Race exact sums against harmonics around the number of tokens at which `Auto` changes from one to the other."""
    rows = []
    for n in (128, 512, 2048):
        x = tokens(n, 3, "float64")
        flow = TokenFlow(BETA * np.eye(3), interaction=Auto(1e-10))
        way: Any = flow.interaction
        print(f"{n} tokens: {str(way.chosen(flow, n))}")
        ways = {"dense": Dense(), "blocked": Blocked(), "harmonic": Harmonic(1e-10)}
        fields = {name: field(way, 3) for name, way in ways.items()}
        contenders = [Contender(name, lambda fn=fn, x=x: jax.block_until_ready(fn(x))) for name, fn in fields.items()]
        exact = np.asarray(fields["dense"](x))
        gap = lambda answer, exact=exact: float(np.max(np.abs(np.asarray(answer) - exact)))
        rows += race(f"{n} tokens on the sphere, float64", contenders, gap, rounds=rounds)
    return rows


_MEMORY = """
import diffrax, equinox, jax, numpy, scipy.spatial
import tests.quality.benchmarks.interactions as e
from pathlib import Path
x = e.tokens({n}, 3, "{dtype}").block_until_ready()
Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten
peak = lambda: next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
bare = peak()
e.field(e.{way}, 3)(x).block_until_ready()
print((peak() - bare) / 1024)
"""


def memory(n: int) -> dict[str, float]:
    """Print and return the memory of one field beyond the tokens and the imports, in megabytes."""
    print(f"\nmemory of one field of {n} tokens, float32 (aim: at most 300 MB)")
    found = {}
    for way in ("Harmonic(2e-6)", "Blocked()") if n <= 100_000 else ("Harmonic(2e-6)",):
        found[way] = float(in_fresh_process(_MEMORY.format(n=n, dtype="float32", way=way)).split()[-1])
        print(f"{way:44s} {found[way]:9.0f} MB", flush=True)
    return found


def everything(rounds: int, *, quick: bool = False) -> dict[str, Any]:
    """Run all races of fields; the larger ones of 1e5 tokens unless `quick`."""
    n = 2_000 if quick else 10_000
    rows = [
        against_torch(n, d, "float32", rounds, {"blocked": 3.0, "harmonic": 6.0 if d <= 3 else 0.0}) for d in (2, 3, 16)
    ]
    rows += [against_torch(n, 3, "float64", rounds, {})]
    if not quick:
        rows += [against_torch(100_000, 3, "float32", 1, {"harmonic": 40.0})]
    found = {"fields": [row._asdict() for part in rows for row in part]}
    found["crossovers"] = [row._asdict() for row in crossovers(rounds)]
    return found | {"memory": memory(n) | {f"1e6, {k}": v for k, v in ({} if quick else memory(10**6)).items()}}
