"""How the pairs of a field are divided among the threads of a GPU: all of them once, enough threads, no tiny parts."""

import math

import pytest

from dynsim.systems.tokens.interactions import pair_kernel
from dynsim.systems.tokens.interactions.harmonic_kernels import DEGREES, groups_of
from dynsim.systems.tokens.interactions.pair_kernel import FEWEST_TOKENS, FILLED, LANES, MOST_REGISTERS, launch_for


@pytest.mark.parametrize("dtype", LANES)
@pytest.mark.parametrize("n", [1, 65, 4096, 2**15, 2**15 + 1, 10**6])
@pytest.mark.parametrize(("d", "heads"), [(2, 1), (3, 4), (12, 2), (60, 1)])
def test_threads_take_all_queries_once_and_parts_of_all_tokens(n, d, heads, dtype):
    found = launch_for(n, d, heads, dtype)
    registers = (d + 1) * (8 // LANES[dtype])
    fitting = [r for r in (2, 4, 8) if r * registers <= MOST_REGISTERS]
    assert (found.rows, found.threads) == (max([1, *fitting]), 128 if n > 2**15 else 64)
    blocks, parts, by_heads = found.grid
    assert (parts, by_heads) == (found.parts, heads)
    taken = found.rows * found.threads
    assert (blocks - 1) * taken < n <= blocks * taken
    working, small = blocks * found.threads * heads, math.ceil(n / FEWEST_TOKENS)
    assert parts == small if working * small < FILLED else (parts - 1) * working < FILLED <= parts * working
    assert launch_for(n, d, heads, dtype, rows=3).rows == 3


def test_the_text_of_the_kernel_has_the_sizes():
    launch = launch_for(100, 3, 2, "float32")
    text = pair_kernel.text_for(100, 3, 2, "float32", launch)
    for name, value in {"N": 100, "D": 3, "HEADS": 2, "PARTS": launch.parts, "ROWS": launch.rows,
                        "THREADS": launch.threads, "CHUNK": pair_kernel.CHUNK}.items():  # fmt: skip
        assert any(line.split()[-2:] == [name, str(value)] or f"{name} = {value}" in line for line in text.splitlines())


@pytest.mark.parametrize("dtype", DEGREES)
def test_groups_of_degrees_hold_each_order_and_degree_once(dtype):
    for degree in (0, 3, 9):
        pairs = [(m, l + k) for m, l in groups_of(degree, dtype).tolist() for k in range(DEGREES[dtype])]
        kept = [(m, l) for m, l in pairs if l <= degree]
        assert sorted(kept) == [(m, l) for m in range(degree + 1) for l in range(m, degree + 1)]
