"""`dynsim simulate trained --weights FILE`: the flow of a trained network, and files that are none."""

from pathlib import Path

import numpy as np
import pytest

from dynsim.simulation.run_files import load
from dynsim.systems.tokens.flow import TokenFlow
from dynsim.systems.tokens.interactions.masks import Causal
from tests.support.commands import answer, refused

safetensors = pytest.importorskip("safetensors.numpy")


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """A network of one layer in the layout of GPT-2, with P = I / sqrt(2) and U = I."""
    monkeypatch.chdir(tmp_path)
    sizes = {"h.0.ln_1": (2,), "h.0.ln_2": (2,), "h.0.mlp.c_fc": (2, 8), "h.0.mlp.c_proj": (8, 2), "ln_f": (2,)}
    tensors = {f"{name}.weight": np.ones(size) for name, size in sizes.items()}
    tensors |= {"h.0.attn.c_attn.weight": np.tile(np.eye(2), 3), "h.0.attn.c_proj.weight": np.eye(2)}
    tensors |= {name.replace("weight", "bias"): np.zeros(w.shape[-1]) for name, w in tensors.items()}
    tensors |= {"wte.weight": np.ones((3, 2)), "wpe.weight": np.ones((4, 2))}
    safetensors.save_file(tensors, "tiny.safetensors")
    return tensors


@pytest.mark.slow
def test_the_flow_of_a_file_is_that_of_its_matrices(capsys, tiny):
    words = ("--tokens", 3, "--end", 1, "--frames", 3, "--scale", 1, "--integrator", "scipy")
    said = answer(capsys, "simulate", "trained", "--weights", "tiny.safetensors", *words, "--out", "run.npz")
    assert "diameter" in said
    path = load("run.npz")
    same = TokenFlow(np.eye(2)[None] / np.sqrt(2), 1.0, mask=Causal(), scale=1.0)
    found, expected = (flow.vector_field(0.5, path.final) for flow in (path.system, same))
    np.testing.assert_allclose(found, expected, atol=1e-14)


def test_files_that_are_no_network_are_refused(capsys, tiny):
    assert "`weights` must be given, the file of a trained network" in refused(capsys, "simulate", "trained")
    np.savez("other.npz", a=np.ones(2))
    said = refused(capsys, "simulate", "trained", "--weights", "other.npz")
    assert "`weights` must be a file in the layout of" in said
    said = refused(capsys, "simulate", "trained", "--weights", "none.safetensors")
    assert "`weights` must be a file, but there is none at `none.safetensors`" in said
    Path("cut.safetensors").write_bytes(Path("tiny.safetensors").read_bytes()[:200])
    said = refused(capsys, "simulate", "trained", "--weights", "cut.safetensors")
    assert "`weights` must be a complete safetensors file" in said
    said = refused(capsys, "simulate", "trained", "--weights", "tiny.safetensors", "--heads", "3")
    assert "`heads` must divide 2, the width of the network, but is 3" in said
    said = refused(capsys, "simulate", "causal", "--weights", "tiny.safetensors")
    assert "`weights` must be left out for `causal`" in said
