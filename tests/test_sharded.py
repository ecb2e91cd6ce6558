"""A flow on eight devices has the answer of one, and exchanges the bytes that are computed."""

import functools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from dynsim.keys import stream
from dynsim.spaces import Sphere
from dynsim.systems.tokens.flow import TokenFlow
from dynsim.systems.tokens.interactions.base import Dense
from dynsim.systems.tokens.interactions.blocked import Blocked
from dynsim.systems.tokens.interactions.choice import Auto
from dynsim.systems.tokens.interactions.harmonic import Harmonic
from dynsim.systems.tokens.interactions.sharded import Sharded
from dynsim.systems.tokens.interactions.traffic import Traffic, measured_traffic

FEW = ("ring, causal", "ring, window, large scores", "moments", "moments, causal, ellipsoid")
COARSE = ("coarse moments", "coarse moments, causal")  # some tokens are given NaN, on one device as on eight
OTHERS = ("ring", "ring, not reflexive", "moments, differentiated", *COARSE)


@functools.cache
def found(*names: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.many_devices", *names]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parent.parent, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("names", [FEW, pytest.param(OTHERS, marks=pytest.mark.slow)])
def test_eight_devices_have_the_answer_of_one_and_keep_the_tokens_where_they_are(names):
    for name, row in found(*names)["cases"].items():
        # one device takes the pairs within a block exactly, eight only those of a device
        assert row["field"] <= (2e-2 if name == "coarse moments, causal" else 2e-13), name
        assert 0 < row["unknown"] < 40 if name in COARSE else row["unknown"] == 0, name
        assert row["rows"] == [5] * 8, name
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
    way, x = flow.interaction, Sphere().sample(stream(3, "x"), (6, 3))
    program = jax.jit(lambda x: flow.velocity(0.0, x)).lower(x).compile()
    np.testing.assert_allclose(program(x), flow.computed_by(Dense()).velocity(0.0, x), atol=1e-13)
    assert measured_traffic(program.as_text() or "") == way.traffic(flow, x) == Traffic()


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


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('{"n":"5"}', "{}", "a loop whose number of turns the program leaves open"),
        ("all-gather(", "all-to-all(", "A program with `all-to-all` is not read"),
        ("all-gather(", "all-gather-start(", "A program with `all-gather-start` is not read"),
    ],
)
def test_a_program_that_hides_its_bytes_is_refused(old, new, sentence):
    with pytest.raises(ValueError, match=sentence):
        measured_traffic(PROGRAM.replace(old, new))
