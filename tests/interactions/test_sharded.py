"""A flow on eight devices has the answer of one, and exchanges the bytes that are computed."""

import functools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dynsim.integrators import Diffrax, Stats
from dynsim.keys import random_key
from dynsim.simulation.run_files import load, save
from dynsim.simulation.trajectory import Trajectory
from dynsim.spaces import Sphere
from dynsim.systems.tokens.flow import TokenFlow
from dynsim.systems.tokens.interactions.base import Dense
from dynsim.systems.tokens.interactions.blocked import Blocked
from dynsim.systems.tokens.interactions.choice import Auto
from dynsim.systems.tokens.interactions.harmonic import Harmonic
from dynsim.systems.tokens.interactions.masks import AbstractMask, Causal, Window
from dynsim.systems.tokens.interactions.sharded import Sharded
from dynsim.systems.tokens.interactions.shards import Shard
from dynsim.systems.tokens.interactions.traffic import Traffic, measured_traffic

FEW = ("ring, window, large scores", "moments, causal, ellipsoid")
COARSE = ("coarse moments", "coarse moments, causal")  # some tokens are given NaN, on one device as on eight
OTHERS = ("ring", "ring, causal", "moments", "ring, not reflexive", "moments, differentiated", *COARSE)


@functools.cache
def found(*names: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.support.many_devices", *names]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("names", [FEW, pytest.param(OTHERS, marks=pytest.mark.slow)])
def test_eight_devices_have_the_answer_of_one_and_keep_the_tokens_where_they_are(names):
    for name, row in found(*names)["cases"].items():
        # one device takes the pairs within a block exactly, eight only those of a device
        assert row["field"] <= (2e-2 if name == "coarse moments, causal" else 2e-13), name
        assert 0 < row["unknown"] < 40 if name in COARSE else row["unknown"] == 0, name
        assert row["rows"] == row["rows of two"] == [5] * 8, name
        if name in ("ring", "moments"):
            assert row["path"] <= 1e-12
            assert row["path rows"] == [5] * 8


@pytest.mark.parametrize("names", [FEW, pytest.param(OTHERS, marks=pytest.mark.slow)])
def test_the_bytes_of_the_compiled_program_are_those_computed(names):
    turns = 7 * 5 * 3 * 8  # seven, with five tokens each
    for name, row in found(*names)["cases"].items():
        assert row["measured"] == row["computed"], name
        passed, reduced, gathered = row["measured"]
        assert passed == (turns if name.startswith("ring") else 0), name
        assert (reduced > 0) == (
            name in ("ring", "ring, causal", "ring, window, large scores", "moments", "coarse moments")
        )
        assert (gathered > 0) == (name.startswith(("moments, ", "coarse moments, ")))


@pytest.mark.parametrize("names", [FEW, pytest.param(OTHERS, marks=pytest.mark.slow)])
def test_a_run_on_eight_devices_is_stored_to_the_bit_with_a_flow_of_one(names):
    for name, row in found(*names)["cases"].items():
        assert row["same"], name
        assert row["loaded"] == ("Blocked" if name.startswith("ring") else "Harmonic"), name
        assert row["rerun"] <= 1e-12, name


@pytest.mark.slow  # two programs of gradients on eight devices
def test_derivatives_on_eight_devices_are_those_on_one():
    slopes = [row["slope"] for row in found(*OTHERS)["cases"].values() if "slope" in row]
    assert len(slopes) == 2
    assert max(slopes) <= 1e-11


def test_devices_that_do_not_divide_the_tokens_are_refused():
    sentence = "Argument `mesh` must have a number of devices that divides 41 tokens, but has 8."
    assert found(*FEW)["refused"] == [sentence, sentence]


@pytest.mark.parametrize("inner", [Blocked(3, 4), Harmonic(1e-13)], ids=lambda inner: type(inner).__name__)
def test_one_device_exchanges_nothing(inner):
    way: Any
    flow = TokenFlow(2 * np.eye(3)).computed_by(Sharded(inner, jax.make_mesh((1,), ("tokens",))))
    way, x = flow.interaction, Sphere().sample(random_key(3, "x"), (6, 3))
    program = jax.jit(lambda x: flow.velocity(0.0, x)).lower(x).compile()
    dense = flow.computed_by(Dense())
    np.testing.assert_allclose(program(x), jax.jit(lambda x: dense.velocity(0.0, x))(x), atol=1e-13)
    assert measured_traffic(program.as_text() or "") == way.traffic(flow, x) == Traffic()


def test_devices_know_what_comes_before_them_and_pass_on_to_the_next():
    shard, a = Shard(4, "tokens"), jnp.asarray([1.0, 3.0, 2.0, 5.0])
    asked = (lambda _: shard.first(6), shard.passed_on, shard.largest, shard.total, shard.total_before)
    of_all = jax.jit(jax.vmap(lambda part: [fn(part) for fn in asked], axis_name="tokens"))  # `vmap` for a mesh
    first, passed_on, largest, total, total_before = (np.asarray(answer).tolist() for answer in of_all(a))
    assert first == [0, 6, 12, 18]
    assert passed_on == [5, 1, 3, 2]
    assert largest == [5] * 4
    assert total == [11] * 4
    assert total_before == [0, 1, 4, 6]


class _Below(AbstractMask):
    """Tokens attend to those before them, the first to itself: not reflexive, and some devices' tokens are unseen."""

    def __call__(self, n):
        return jnp.tril(jnp.ones((n, n), bool), -1).at[0, 0].set(True)


@pytest.mark.parametrize(
    ("inner", "mask"), [(Blocked(2, 2), _Below()), (Harmonic(1e-13, reach=3.0), Causal())], ids=["ring", "moments"]
)
def test_the_parts_of_devices_are_those_of_the_dense_answer(inner, mask):
    many, n = Shard(4, "tokens"), 12
    flow = TokenFlow(3 * np.eye(2), mask=mask)
    way: Any = flow.computed_by(inner).interaction
    x = Sphere().sample(random_key(3, "x"), (n, 2))
    here = jax.vmap(lambda part: way.output_here(flow, 0.0, part, many), axis_name="tokens")
    parts, whole = jax.jit(lambda x: (here(x.reshape(4, 3, 2)), Dense().output(flow, 0.0, x)))(x)
    np.testing.assert_allclose(np.reshape(parts, (n, 2)), whole, atol=1e-12)


def test_traffic_is_computed_from_sizes():
    x, eight = jnp.ones((40, 3)), Shard(8, "tokens")
    flow = lambda mask: TokenFlow(np.eye(3), mask=mask)
    assert Blocked().traffic(flow(Window(9)), x, eight) == Traffic(passed=7 * 5 * 3 * 8, reduced=8)
    assert Blocked().traffic(flow(_Below()), x, eight) == Traffic(passed=7 * 5 * 3 * 8)
    moments: Any = flow(Causal()).computed_by(Harmonic(1e-6)).interaction
    size = (moments.degree + 1) * 2 * (moments.degree + 1) * 4 * 8
    assert moments.traffic(flow(Causal()), x, eight) == Traffic(gathered=8 * size)
    assert moments.traffic(flow(None), x, eight) == Traffic(reduced=size)


def test_a_stored_flow_names_no_mesh(tmp_path):
    flow = TokenFlow(2 * np.eye(3)).computed_by(Sharded(Blocked(3, 4), jax.make_mesh((1,), ("tokens",))))
    zero = np.asarray(0.0)
    stats = Stats(np.asarray(True), np.asarray(0), np.asarray(0), np.asarray(0), zero, zero)
    save(tmp_path / "run.npz", Trajectory(np.arange(2.0), np.ones((2, 6, 3)), flow, stats, Diffrax()))
    back: Any = load(tmp_path / "run.npz")
    assert back.system.interaction == Blocked(3, 4)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Sharded(Auto(), jax.make_mesh((1,), ("tokens",))),
         r"`inner` must be `Blocked\(\)` or a `Harmonic\(\)`, but is a `Auto`"),
        (lambda: Sharded(Blocked(), jax.make_mesh((1, 1), ("a", "b"))), "`mesh` must have one axis, but has 2"),
        (lambda: Sharded(Blocked(), 8), "`mesh` must be a `jax.sharding.Mesh`"),
        (lambda: TokenFlow(np.eye(4), interaction=Sharded(Harmonic(), jax.make_mesh((1,), ("tokens",)))),
         "unless the dimension is 2 or 3"),
    ],
)  # fmt: skip
def test_what_cannot_be_shared_is_refused(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


PROGRAM = """
%turn (p: f32[3]) -> f32[3] {
  %a = f32[3]{0} collective-permute(%p), channel_id=1
}

%outer (p: f32[3]) -> f32[3] {
  %b = (f32[3]{0}, s32[]) while(%p), condition=%end, body=%turn, backend_config={"known_trip_count":{"n":"5"}}
  %c = (f32[2,2]{1,0}, pred[]) all-reduce(%x, %y), to_apply=%add
}

ENTRY %main (p: f32[3]) -> f32[3] {
  %d = (f32[3]{0}, s32[]) while(%p), condition=%end, body=%outer, backend_config={"known_trip_count":{"n":"2"}}
  %e = f32[3]{0} conditional(%q, %p, %p), branch_computations={%left, %right}
}

%right (p: f32[3]) -> f32[3] {
  ROOT %f = f64[8,3]{1,0} all-gather(%p), dimensions={0}
}
"""


def test_the_bytes_of_a_program_count_turns_and_branches():
    assert measured_traffic(PROGRAM) == Traffic(passed=2 * 5 * 12, reduced=2 * 17, gathered=192)
    assert Traffic(100, 10, 40).sent(4) == 100 + 15 + 30


@pytest.mark.parametrize(("old", "new", "sentence"), [
    ('{"n":"5"}', "{}", "number of iterations in every loop with a collective operation, but has a loop without one"),
    ("all-gather(", "all-to-all(", "hold no collective operations but .*, but holds `all-to-all`"),
    ("all-gather(", "all-gather-start(", "hold no collective operations but .*, but holds `all-gather-start`"),
])  # fmt: skip
def test_a_program_that_hides_its_bytes_is_refused(old, new, sentence):
    with pytest.raises(ValueError, match=sentence):
        measured_traffic(PROGRAM.replace(old, new))
