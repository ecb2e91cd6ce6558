"""Output files are looked at before anything is computed, and only files that dynsim wrote are replaced."""

from pathlib import Path

import numpy as np
import pytest

from dynsim.__main__ import main
from dynsim.cli.parsing.options import check_outputs
from dynsim.integrators import Scipy
from dynsim.simulation.run_files import save
from dynsim.simulation.simulate import simulate
from dynsim.systems.tokens.published import published_gradient_flow

COMMANDS = {"a flow": ("simulate", "oja", "--end", "1", "--frames", "2", "--out"), "clustering": ("simulate", "hardmax",
    "--layers", "2", "--out"), "a chain": ("simulate", "master-equation", "--out"), "two time scales": ("simulate",
    "fast-slow", "--epsilon", "0.1", "--out"), "prototypes": ("simulate", "prototypes", "--out"),
    "a network": ("simulate", "multirate", "--out"), "verdicts": ("check", "equation-5", "--json"),
    "the ledger": ("report", "--json"), "the ledger in Markdown": ("report", "--markdown"),
    "the summary": ("report", "--readme")}  # fmt: skip


@pytest.fixture
def nothing_runs(monkeypatch):
    """Fail on any computation: a refusal comes before it."""
    imported = "dynsim.cli.simulate.flows.simulate"  # first: a module imported later would keep the patch
    lazily = (
        "dynsim.simulation.simulate.simulate",
        "analysis.report.run_checks",
        "dynsim.simulation.hardmax.iterate_hardmax",
    )
    for name in (imported, *lazily):
        monkeypatch.setattr(name, lambda *a, **k: pytest.fail("computed before the output was looked at"))


@pytest.mark.parametrize("name", COMMANDS)
def test_a_stranger_s_file_is_not_replaced(name, tmp_path, capsys, nothing_runs):
    stranger = tmp_path / ("thesis.npz" if COMMANDS[name][-1] == "--out" else "thesis.txt")
    stranger.write_text("years of work")
    assert main([*COMMANDS[name], str(stranger)]) == 2
    assert ("must hold" if name == "the summary" else "must be a new file") in capsys.readouterr().err
    assert stranger.read_text() == "years of work"


def test_missing_and_unreadable_readmes_are_named_at_once(tmp_path, capsys, nothing_runs):
    assert main(["report", "--readme", str(tmp_path / "missing.md")]) == 2
    assert "Argument `readme` must be a file that can be read, but" in capsys.readouterr().err


def test_our_own_files_and_with_force_all_are_replaced(tmp_path):
    flow = published_gradient_flow()
    run = simulate(flow, np.asarray(flow.space.project(np.eye(3))), [0, 1], integrator=Scipy())
    save(tmp_path / "run.npz", run)
    check_outputs(False, out=tmp_path / "run.npz")
    (tmp_path / "other.npz").write_bytes(b"PK\x03\x04")
    with pytest.raises(ValueError, match="`out` must be a new file, or one that dynsim wrote"):
        check_outputs(False, out=tmp_path / "other.npz")
    check_outputs(True, out=tmp_path / "other.npz")
    (tmp_path / "folder.npz").mkdir()
    with pytest.raises(ValueError, match="Argument `out` must be a regular file, but `.*` is a folder"):
        check_outputs(True, out=tmp_path / "folder.npz")
    with pytest.raises(ValueError, match=r"Argument `out` must end in \.nc, but is `.*run.npz`"):
        check_outputs(True, out=tmp_path / "run.npz", out_endings=(".nc",))
    with pytest.raises(ValueError, match=r"Argument `figure` must end in \.pdf, \.svg, \.png"):
        check_outputs(False, figure=tmp_path / "a.bmp")


def test_figures_and_reports_are_recognised(tmp_path):
    from analysis.report import markdown
    from figures.files import write_figure
    from figures.style import canvas

    for kind in ("pdf", "svg", "png"):
        write_figure(canvas()[0], tmp_path / f"a.{kind}", "a title")
        check_outputs(False, figure=tmp_path / f"a.{kind}")
    (tmp_path / "a.md").write_text(markdown((), {}))
    check_outputs(False, markdown=tmp_path / "a.md")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_device_is_never_replaced(capsys):
    assert main(["check", "equation-5", "--json", "/dev/full", "--force"]) == 2
    sentence = "dynsim: Argument `json` must be a regular file, but `/dev/full` is a device."
    assert capsys.readouterr().err.splitlines()[-1] == sentence  # a slow machine says the time before
    assert Path("/dev/full").is_char_device()
