"""Small work runs on the host and large work on the accelerator, unless a device is named; two simulated devices."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

from dynsim.__main__ import main
from dynsim._core import placement
from dynsim.simulation.simulate import iterate
from dynsim.systems.base import FunctionMap
from tests.core.faces import ROOT


@pytest.fixture(scope="module")
def found() -> dict:
    command = [sys.executable, "-m", "tests.support.two_devices"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_small_work_runs_on_the_host_and_large_work_on_the_accelerator(found):
    solves = found["solves"]
    assert solves["flow"] == solves["flow, by SciPy"] == solves["small"] == "host"
    assert solves["small, made on the accelerator"] == "host"
    assert solves["large"] == solves["large flow"] == "accelerator"
    assert solves["ensemble"] == "host"
    assert solves["large ensemble"] == solves["ensemble, told"] == "accelerator"


def test_arrays_that_were_put_on_a_device_stay_there(found):
    solves = found["solves"]
    assert solves["small, put on the accelerator"] == "accelerator, bound"
    assert solves["large, put on the host"] == solves["put on the host, variable"] == "host, bound"
    assert solves["with an array of the accelerator"] == "accelerator"  # results of the host are not bound to it


def test_a_device_that_is_named_overrules_the_rule(found):
    solves = found["solves"]
    for name in ("flow, told", "small, device='cpu:0'", "small, JAX's default set", "small, variable"):
        assert solves[name] == "accelerator", name
    for name in ("put on the accelerator, device=HOST", "small, variable, device=HOST", "small, variable=auto"):
        assert solves[name] == "host", name


def test_traced_work_is_not_moved(found):
    assert {place.removesuffix(", bound") for place in found["traced"].values()} == {"accelerator"}


def test_contexts_within_contexts(found):
    nested = found["nested"]
    assert [nested[k] for k in ("small", "large in small", "carried to another thread", "moved")] == [
        "host", "accelerator", "host", "host",
    ]  # fmt: skip
    assert nested["small in one that is told"] == "accelerator"
    assert nested["in another thread"] == "accelerator"  # a thread starts with JAX's own default
    assert nested["weak type"] == [True, True, "host"]
    assert nested["traced"] == 2  # one program for each size and device


def test_the_workbench_makes_no_array_on_the_accelerator(found):
    workbench = found["workbench"]
    assert workbench["held"] == ["host", "accelerator", "accelerator, bound"]
    np.testing.assert_allclose(workbench["matrix"], [-1.0, -1.0])
    np.testing.assert_allclose(workbench["exponents"], [-1.0, -1.0], atol=1e-3)


def test_the_numbers_of_a_step_are_those_of_its_largest_array(found):
    assert found["numbers"] == {"field of pairs": 2500, "within a loop": 3600, "not traceable": 50, "ragged": 61}


def test_a_device_that_is_not_here_is_refused_in_one_sentence(found):
    must, version = "Argument `device` must be one of `auto`, `cpu`, or a device of JAX, but is", jax.__version__
    assert found["bad"] == {
        "word": f"{must} `cpx`, did you mean `cpu`?",
        "not here": f"{must} `tpu`, which JAX {version} does not find here.",
        "object": f"{must} 3.",
        "number": "Argument `device` must name a device that is here, `cpu:0` to `cpu:1`, but is `cpu:2`.",
        "digits": "Argument `device` must name a device that is here, `cpu:0` to `cpu:1`, but is `cpu:one`.",
    }
    assert found["solves"]["bad variable"] == f"{must} `gpv`.".replace("`device`", "`DYNSIM_DEVICE`")


def test_the_report_lists_devices_the_rule_and_its_variable(found):
    solves = found["solves"]
    for word in ("default device cpu:0", "\n  cpu:1 (cpu)\n", "fewer than 2,000 numbers", "It is not set"):
        assert word in solves["report"]
    assert "`cpu:0`: everything runs on cpu:0" in solves["report, variable"]
    assert "cannot be used: Argument `DYNSIM_DEVICE` must be one of" in solves["report, bad variable"]
    assert solves["said"].endswith("It ran on cpu:1 (cpu).")


def test_with_the_host_alone_nothing_is_said_or_changed(monkeypatch):
    monkeypatch.delenv(placement.VARIABLE, raising=False)
    assert placement.chosen_device(3, np.ones(3)) == (None, "")
    path = iterate(FunctionMap(lambda k, x: x / 2), [1.0], 2, device="cpu")
    assert placement.where(path.ys) == ""
    assert not path.ys.committed


def test_too_little_memory_is_said_in_one_sentence():
    said = "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 74.51GiB.\nmore"
    with (
        pytest.raises(
            ValueError, match=r"^Argument `y0` must fit into the memory of .*, but 74.51GiB could not be all"
        ),
        placement.memory_explained("y0"),
    ):
        raise jax.errors.JaxRuntimeError(said)
    with pytest.raises(jax.errors.JaxRuntimeError, match="INTERNAL"), placement.memory_explained("y0"):
        raise jax.errors.JaxRuntimeError("INTERNAL: something else")


def test_the_command_line_takes_a_device(capsys):
    assert main(["--version", "--verbose"]) == 0
    said = capsys.readouterr().out
    assert f"JAX {jax.__version__}; default device" in said
    assert "\nCUDA kernels are " in said
    for words in (["--device", "gpv"], ["--device=gpv"], ["--device"]):
        assert main(["portrait", "pendulum", *words]) == 2
        assert "Argument `--device` must be" in capsys.readouterr().err
    assert placement.VARIABLE not in os.environ


def test_devices_are_used_without_private_names():
    assert "_src" not in Path(placement.__file__).read_text()
