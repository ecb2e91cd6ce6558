"""Papers of installed packages, registered by the entry points `dynsim.papers`."""

import sys
from pathlib import Path

import pytest

from analysis.provenance import source_digest
from dynsim.cli.ledger.own_claims import library
from dynsim.io import neighbours
from dynsim.papers import PAPERS
from tests.support.commands import answer, run
from tests.support.own_paper import CLAIMS, FIGURES, GOOD, HEAD, ONE, write


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """Return a function that installs a package, of one module, which registers it as a paper."""

    def install(name: str, *parts: str) -> None:
        write(f"{name}.py", *parts)
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[dynsim.papers]\npaper = {name}\n")

    before = set(sys.modules)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield install
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


def test_a_registered_paper_is_listed_checked_reported_and_drawn(capsys, packages):
    packages("squares_package", HEAD, CLAIMS, FIGURES)
    _, out, err = run(capsys, "list", "papers")
    assert "mine                  Notes on a square, of the package squares_package" in out
    assert all(key in out for key in PAPERS)
    assert err == ""
    assert "mine/theorem-2 " in run(capsys, "list", "claims")[1]
    assert "mine/square " in run(capsys, "list", "figures")[1]
    assert "mine/theorem-1: holds" in run(capsys, "check", "mine/theorem-1", "--trials", 1)[1]
    out = answer(capsys, "check", "theorem-2", "--trials", 1)
    assert "mine/theorem-2: fails" in out
    assert "| `mine` | 1 | 0 | 1 | 0 | 0 |" in run(capsys, "report", "mine", "--trials", 1, "--jobs", 1)[1]
    assert "out/mine/index.md" in run(capsys, "figure", "mine", "--formats", "svg")[1]
    write("yours.py", HEAD, CLAIMS)
    assert run(capsys, "check", "yours.py", "--trials", 1)[0] == 0  # packages have no part in a file that is named


def test_the_digest_of_a_kept_line_covers_all_of_a_package(packages, tmp_path, monkeypatch):
    Path("deep_package").mkdir()
    for part in ("__init__", "other"):
        write(f"deep_package/{part}.py", "")
    write("deep_package/claims.py", HEAD, CLAIMS)
    packages("papers_of_deep_package", "from deep_package.claims import *\n")
    monkeypatch.setattr(neighbours, "INSTALLED", (tmp_path.resolve(),))  # as if all of it were among installed packages
    digest = lambda: source_digest(next(c for c in library(()).claims if c.key == "mine"))
    before = digest()
    assert digest() == before
    write("deep_package/other.py", "X = 1\n")
    assert digest() != before


@pytest.mark.parametrize(
    "parts",
    [
        ["1 / 0"],
        ["raise SystemExit(3)"],
        ["import a_module_that_is_nowhere"],
        ["x = 1"],
        [HEAD.replace("mine", "consensus"), CLAIMS.replace("mine", "consensus")],
        [
            HEAD,
            ONE.format("a", "f", GOOD),
            ONE.format("a", "g", GOOD),
            FIGURES.replace("with_drawing", "with_paper_size"),
        ],
    ],
)
def test_a_broken_package_is_named_in_one_sentence_and_nothing_fails(capsys, packages, parts):
    packages("broken_package", *parts)
    for words in (("list", "claims"), ("list", "figures"), ("check", "consensus/lemma-3.1", "--trials", 1)):
        status, out, err = run(capsys, *words)
        assert status == 0
        assert out
        assert err.startswith("dynsim: The package `broken_package` registers a paper that is left out: Argument `")
        assert len(err.splitlines()) == 1
    write("yours.py", HEAD.replace('"mine"', '"yours"'), ONE.format("a", "f", GOOD).replace("mine/", "yours/"))
    assert run(capsys, "check", "yours.py")[2] == ""  # a named file is read alone: no package is imported
