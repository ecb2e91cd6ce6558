"""The memory that commands predict, by the sizes that determine it: bytes of what is kept, of copies and of stages."""

import importlib
from typing import Any

import pytest

from dynsim.cli.building.flow_options import Simulate
from dynsim.cli.parsing import sizes
from dynsim.cli.simulate.fast_slow import FastSlowOptions
from dynsim.cli.simulate.growing.options import Growing
from dynsim.cli.simulate.hardmax import FRACTION, Hardmax
from dynsim.cli.simulate.master_equation import MasterEquation
from dynsim.cli.simulate.prototypes.options import Prototypes
from dynsim.errors import ArgumentError

COPIES, STAGES, FLOAT = 4, 16, 8


@pytest.fixture
def predicted(monkeypatch):
    """Give the bytes that a check of a module predicts for its own sizes."""

    def of(module: str, check: str, *given: Any) -> int:
        found: list[int] = []
        here = importlib.import_module(f"dynsim.cli.simulate.{module}")
        monkeypatch.setattr(here, "check_memory", lambda of, **numbers: found.append(of(**numbers)))
        getattr(here, check)(*given)
        return found[0]

    return of


@pytest.mark.parametrize(("options", "kept", "state", "weights"), [
    ({"system": "token-flow", "tokens": 5, "dimension": 3, "heads": 2}, 7 * 15, 15, 2 * (9 + 25)),
    ({"system": "token-flow", "tokens": 5, "dimension": 3, "members": 6}, 6 * (15 + 2 * 7), 15, 9 + 25),
    ({"system": "token-flow", "tokens": 5, "dimension": 3, "density": 50}, 7 * 50, 15, 9 + 25),
    ({"system": "token-flow", "tokens": 20_000, "dimension": 3}, 7 * 60_000, 60_000, 9 + 4096**2),
    ({"system": "mine.py:f", "dimension": 3}, 7 * 3, 3, 9),
    ({"system": "mine.py:f", "dimension": 3, "members": 6}, 6 * (3 + 3 * 7), 3, 9),
])  # fmt: skip
def test_a_run_keeps_states_or_what_is_measured(predicted, options, kept, state, weights):
    from dynsim.cli.simulate import flows

    pairs = weights - 9 if weights < 10**6 else flows.DENSE_MOST**2
    weights = weights if weights < 10**6 else 9 + pairs
    wanted = FLOAT * (COPIES * (kept + weights) + STAGES * state)
    assert predicted("flows", "check_sizes", Simulate(frames=7, **options)) == wanted


@pytest.mark.parametrize(("encoder", "own"), [("none", 0), ("linear", 25)])
def test_growing_heads_keep_their_banks_and_their_inputs(predicted, encoder, own):
    o = Growing(capacity=3, prototypes=2, frames=7, encoder=encoder)
    state = own + 3 * 2 * 5
    wanted = FLOAT * (COPIES * 7 * state + STAGES * state + COPIES * 11 * 3 * (5 + 2) + 4 * 25)
    assert predicted("growing.options", "check_sizes", o, 11, 5) == wanted


@pytest.mark.parametrize(
    ("encoder", "outputs", "own", "width"),
    [("frozen", None, 0, 5), ("free", None, 55, 5), ("mlp", 3, 9 * (5 + 3), 3), ("linear", 3, 6 * 3, 3)],
)
def test_prototypes_keep_their_banks_their_encoder_and_all_distances(predicted, encoder, outputs, own, width):
    o = Prototypes(prototypes=4, second=2, frames=7, encoder=encoder, outputs=outputs, hidden=9)
    state = own + 6 * width
    wanted = FLOAT * (COPIES * 7 * state + STAGES * state + COPIES * 11 * 6 * width)
    assert predicted("prototypes.options", "check_sizes", o, 11, 5) == wanted


@pytest.mark.parametrize(("chain", "matrix"), [("random", 36), ("birth-death", 16 * 6)])
def test_chains_keep_their_path_and_a_dense_or_sparse_matrix(predicted, chain, matrix):
    o = MasterEquation(chain=chain, size=6, frames=7)
    assert predicted("master_equation", "_check_sizes", o) == FLOAT * COPIES * (42 + matrix)


@pytest.mark.parametrize(("arithmetic", "entry"), [("float", COPIES * FLOAT), ("exact", FRACTION)])
def test_hardmax_keeps_some_layers_the_scores_and_the_gaps_of_all(predicted, arithmetic, entry):
    o = Hardmax(arithmetic=arithmetic, layers=12, every=4)
    assert predicted("hardmax", "_check_memory", o, 5, 3) == entry * (4 * 15 + 25 + 9 + 3 + 12)


def test_fast_slow_systems_keep_a_path_for_each_ratio(predicted):
    for more, entries in (({"fast": (1.0, 2.0, 3.0), "slow": (1.0,)}, 4), ({}, 2)):
        o = FastSlowOptions(frames=7, epsilon=(0.1, 0.01, 0.001), **more)
        assert predicted("fast_slow", "_check_numbers", o) == COPIES * FLOAT * 7 * 3 * entries


def test_the_largest_size_that_fits_is_told_for_the_largest_size_that_helps(monkeypatch):
    monkeypatch.setattr(sizes, "memory_limit", lambda: 1000)
    area = lambda width, height: width * height
    sizes.check_memory(area, width=40, height=25)
    with pytest.raises(ArgumentError, match="`width` must be at most 38 to fit in half of the memory, but is 50"):
        sizes.check_memory(area, width=50, height=26)
    with pytest.raises(
        ArgumentError, match=r"`width` and `height` must fit .*do not together \(width 2000, height 1001\)"
    ):
        sizes.check_memory(lambda width, height: 1001 + width + height, width=2000, height=1001)
    with pytest.raises(ArgumentError, match="is about 1e30"):
        sizes.check_memory(lambda width: width, width=10**30)
    assert sizes._largest(lambda n: n * n <= 50, 100) == 7
    monkeypatch.undo()
    monkeypatch.setattr(sizes.os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 1001}.__getitem__)
    assert sizes.memory_limit() == 4096 * 1001 // 2
    found = []
    monkeypatch.setattr(sizes, "check_memory", lambda of, **numbers: found.append(of(**numbers)))
    sizes.check_work(None, 3)
    sizes.check_work(7, 2)
    assert found == [10_000 + 3 * 400_000_000, 70_000 + 2 * 400_000_000]
    for trials, jobs, name in ((0, 1, "trials"), (1, 0, "jobs")):
        with pytest.raises(ArgumentError, match=f"`{name}` must be at least 1, but is 0"):
            sizes.check_work(trials, jobs)
