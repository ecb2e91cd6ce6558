"""Follower sets of the hardmax map, ties included, against what a user would otherwise write."""

from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import scipy.spatial

from dynsim.simulation.hardmax import iterate_hardmax
from dynsim.systems.hardmax.maps import ExactHardmaxMap, HardmaxMap
from dynsim.systems.hardmax.search.follower_sets import FollowerSets
from tests.quality.benchmarks.harness import Contender, Row, in_fresh_process, race

BLOCKS = (2, 4, 8, 16, 32, 64, 128, 256, 512)  # rows at a time, from which each NumPy contender gets its best


class Sets(NamedTuple):
    """Pairs (i, j) with j in C_i, in order of i and then j."""

    token: np.ndarray
    member: np.ndarray


def by_numpy(x: np.ndarray, rows: int) -> Sets:
    """Find all maximisers by blocks of scores."""
    found = []
    for first in range(0, len(x), rows):
        scores = x[first : first + rows] @ x.T
        where = np.flatnonzero(scores >= np.max(scores, axis=1, keepdims=True))  # four times as fast as `nonzero`
        found.append((first + where // len(x), where % len(x)))
    return Sets(*(np.concatenate(part) for part in zip(*found, strict=True)))


def by_tokens(x: np.ndarray) -> Sets:
    """Find all maximisers token by token."""
    members = []
    for z in x:
        scores = x @ z
        members.append(np.flatnonzero(scores == np.max(scores)))
    return Sets(np.repeat(np.arange(len(x)), [len(m) for m in members]), np.concatenate(members))


def by_torch(x: np.ndarray, rows: int) -> Sets:
    """Find all maximisers by blocks of scores, in torch."""
    import torch

    u, found = torch.as_tensor(x), []
    for first in range(0, len(x), rows):
        scores = u[first : first + rows] @ u.T
        i, j = torch.nonzero(scores >= scores.amax(dim=1, keepdim=True), as_tuple=True)
        found.append(((i + first).numpy(), j.numpy()))
    return Sets(*(np.concatenate(part) for part in zip(*found, strict=True)))


def by_tree(x: np.ndarray) -> Sets:
    """Find maximisers by nearest neighbours in one more dimension, where all tokens have one length; two at least."""
    squares = np.sum(x**2, axis=1)
    lifted = np.column_stack([x, np.sqrt(np.max(squares) - squares)])
    queries = np.column_stack([x, np.zeros(len(x))]) / np.linalg.norm(x, axis=1, keepdims=True)
    _, near = scipy.spatial.cKDTree(lifted).query(queries * np.sqrt(np.max(squares)), k=2)
    scores = np.einsum("nd,nkd->nk", x, x[near])
    i, k = np.nonzero(scores >= np.max(scores, axis=1, keepdims=True))
    return Sets(i, near[i, k])


def pairs(sets: FollowerSets) -> Sets:
    """Return our answer as pairs."""
    sizes, starts = sets.sizes, sets.starts[:-1][sets.which]
    bounds = np.cumsum(sizes) - sizes
    return Sets(
        np.repeat(np.arange(len(sizes)), sizes),
        sets.members[np.repeat(starts - bounds, sizes) + np.arange(np.sum(sizes))],
    )


def wrong(reference: Sets) -> Any:
    """Return a function: in how many pairs an answer differs from `reference`."""
    n = int(np.max(reference.token)) + 1
    keys = lambda sets: sets.token * n + sets.member
    return lambda answer: float(len(np.setxor1d(keys(answer), keys(reference))))


def best_block(x: np.ndarray) -> int:
    """Return the rows at a time with which NumPy is the fastest here, the better of two runs each."""

    def seconds(rows: int) -> float:
        begin = perf_counter()
        by_numpy(x, rows)
        return perf_counter() - begin

    return min(BLOCKS, key=lambda rows: min(seconds(rows) for _ in range(2)))


def one_layer(n: int, rounds: int, *, clouds: dict[str, float], others: tuple[str, ...]) -> list[Row]:
    """Race for the sets of one layer of some clouds, each with the ratio to NumPy that is aimed at."""
    rows, map = [], HardmaxMap(1)
    for name, aim in clouds.items():
        x = cloud(name, n)
        block = best_block(x) if "NumPy" in others else 0
        ways = {
            "NumPy": lambda x=x, block=block: by_numpy(x, block),
            "k-d tree, two neighbours": lambda x=x: by_tree(x),
            "token by token": lambda x=x: by_tokens(x),
            "torch": lambda x=x, block=block: by_torch(x, block),
        }
        ours = lambda x=x: pairs(map.follower_sets(x))
        contenders = [Contender(way, ways[way]) for way in others] + [Contender("dynsim", ours, aim)]
        rows += race(
            f"one layer, {name}, n={n}, blocks of {block}; pairs that differ", contenders, wrong(ours()), rounds=rounds
        )
    return rows


def cloud(name: str, n: int) -> np.ndarray:
    """Return tokens by the name of their law."""
    rng = np.random.default_rng(0)
    d = int(name.split("d=")[1])
    x = rng.normal(size=(n, d))
    if "lattice" in name:
        side = 2 * round(n ** (1 / d) / 2)  # even: no token at zero, which a tree cannot find
        return np.stack(np.meshgrid(*[np.arange(side) - side / 2 + 0.5] * d), -1).reshape(-1, d)
    if "ball" in name:
        return x / np.linalg.norm(x, axis=1, keepdims=True) * rng.random((n, 1)) ** (1 / d)
    if "sphere" in name or "circle" in name:
        return x / np.linalg.norm(x, axis=1, keepdims=True)
    return x * rng.lognormal(0.0, 0.5, (n, 1)) if "spread" in name else x


def layers(n: int, rounds: int) -> list[Row]:
    """Race for 20 layers in R^64: Gaussian tokens, all of them leaders, and tokens of spread lengths, few of them."""
    rows = []
    ours = lambda x: np.asarray(iterate_hardmax(HardmaxMap(0.5), x, 20, every=20).path.final)
    for name in ("Gaussian d=64", "spread d=64"):
        x = cloud(name, n)
        block = best_block(x)
        rows += race(
            f"20 layers, {name}, n={n}, alpha=1/2, blocks of {block}; error of the last state",
            [
                Contender("NumPy", lambda x=x, block=block: by_numpy_layers(x, 20, block)),
                Contender("dynsim", lambda x=x: ours(x), 15.0),
            ],
            lambda answer, x=x: float(np.max(np.abs(answer - ours(x)))),
            rounds=rounds,
        )
    return rows


def by_numpy_layers(x: np.ndarray, count: int, rows: int) -> np.ndarray:
    """Return the tokens after some layers with alpha = 1/2."""
    for _ in range(count):
        sets = by_numpy(x, rows)
        starts = np.searchsorted(sets.token, np.arange(len(x)))
        means = np.add.reduceat(x[sets.member], starts, axis=0) / np.diff([*starts, len(sets.token)])[:, None]
        x = x + (means - x) / 3
    return x


def exact(n: int, rounds: int) -> list[Row]:
    """Time 100 layers in fractions, alpha = 1/2."""
    x = cloud("Gaussian d=2", n)
    run = lambda: iterate_hardmax(ExactHardmaxMap("1/2"), x, 100, every=100).path.final
    ours = Contender("dynsim, fractions", run)
    return race(f"100 layers in fractions, d=2, n={n}", [ours], lambda answer: 0.0, rounds=rounds)


_MANY = """
import time
import numpy as np
from dynsim.systems.hardmax.maps import HardmaxMap
from dynsim.simulation.hardmax import iterate_hardmax
x = np.random.default_rng(0).normal(size=({n}, 2))
begin = time.perf_counter()
run = iterate_hardmax(HardmaxMap({alpha}), x, 50, every=50)
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(time.perf_counter() - begin, peak / 1024, run.certain)
"""


def many(n: int) -> dict[str, list[float]]:
    """Print and return seconds, peak memory of the process in megabytes, and certain layers, of 50 layers."""
    print(f"\n50 layers, d=2, n={n}, first and last state kept (aim: 20 s, 1000 MB)")
    found = {}
    for alpha in (0.5, 1.0):
        values = [float(word) for word in in_fresh_process(_MANY.format(n=n, alpha=alpha)).split()[-3:]]
        found[f"alpha={alpha:g}"] = values
        print(
            f"alpha={alpha:g}{'':35s} {values[0]:9.2f}s {values[1]:7.0f} MB, {values[2]:.0f} layers certain", flush=True
        )
    return found


def everything(rounds: int, *, quick: bool) -> dict[str, Any]:
    """Run all of them."""
    n, more = (2_000, 5_000) if quick else (10_000, 100_000)
    planes = {"Gaussian d=2": 15.0, "ball d=2": 15.0, "lattice d=2": 15.0, "circle d=2": 1.0}
    spaces = {"Gaussian d=3": 6.0, "ball d=3": 6.0, "sphere d=3": 1.0}
    ways = ("NumPy", "k-d tree, two neighbours", "token by token", "torch")
    rows = one_layer(n, rounds, clouds=planes, others=ways)
    rows += one_layer(n, rounds, clouds=spaces, others=ways)
    rows += one_layer(more, rounds, clouds={"Gaussian d=2": 3.0, "ball d=2": 3.0}, others=("k-d tree, two neighbours",))
    rows += layers(n, rounds)
    rows += exact(100 if quick else 500, rounds)
    return {"rows": [row._asdict() for row in rows], "many": many(20_000 if quick else 1_000_000)}
