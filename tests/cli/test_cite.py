"""`dynsim cite`: entries of papers and solvers, of stored runs by the solver that was used, and bad input."""

import re

import diffrax
import numpy as np
import pytest

from dynsim.cli.cite import METHODS, PAPER_OF, SOLVERS, _own, entries
from dynsim.integrators import RKC2, Diffrax, EulerMaruyama, Scipy
from dynsim.integrators.scipy_backend import METHODS as OF_SCIPY
from dynsim.papers import PAPERS
from dynsim.simulation.run_files import save
from dynsim.simulation.simulate import map_stats
from dynsim.simulation.trajectory import Trajectory
from dynsim.systems.catalogue.oscillators import Pendulum
from dynsim.systems.tokens.published import published_gradient_flow
from tests.support.commands import answer, refused


def stored(path, system, integrator, *shape):
    """Write a run file that has not been computed."""
    ys = np.ones((2, *shape))
    save(path, Trajectory(np.array([0.0, 1.0]), ys, system, map_stats(True, 1, np.zeros(())), integrator))
    return str(path)


def test_the_five_papers_and_the_default_solver_are_cited(capsys, tmp_path):
    said = answer(capsys, "cite")
    keys = re.findall(r"^@\w+\{(.+),$", said, re.MULTILINE)
    assert keys[:6] == ["dynsim", *PAPERS]
    assert {"kidger2021on", "jax2018github", "tsitouras2011runge"} < set(keys)
    assert len(set(keys)) == len(keys)
    assert said.count("{") == said.count("}")
    answer(capsys, "cite", "--out", tmp_path / "mine.bib")
    assert (tmp_path / "mine.bib").read_text(encoding="utf-8") == said
    answer(capsys, "cite", "hardmax", "--out", tmp_path / "mine.bib")  # which dynsim wrote


@pytest.mark.parametrize(
    ("integrator", "key"),
    [(Diffrax(diffrax.Kvaerno3()), "kvaerno2004singly"), (Diffrax(RKC2()), "sommeijer1998rkc"),
     (Scipy("LSODA"), "petzold1983automatic"), (EulerMaruyama(), "kloeden1992numerical")],
)  # fmt: skip
def test_a_stored_run_names_the_solver_that_was_used(tmp_path, integrator, key):
    found = entries([stored(tmp_path / "run.npz", Pendulum(), integrator, 2)])
    assert key in found
    assert "tsitouras2011runge" not in found
    assert not set(PAPERS) & set(found)
    assert ("kidger2021on" in found) == isinstance(integrator, Diffrax)


def test_a_stored_run_of_a_papers_system_names_the_paper(tmp_path):
    found = entries([stored(tmp_path / "run.npz", published_gradient_flow(), None, 2, 3)])
    assert [*found] == ["dynsim", "consensus"]


def test_every_method_and_paper_has_an_entry():
    assert set(METHODS) == set(OF_SCIPY)
    assert set(PAPER_OF.values()) == set(PAPERS)
    known = set(_own())
    assert {key for keys in (*SOLVERS.values(), [*METHODS.values()]) for key in keys if ":" not in key} <= known
    assert set(PAPERS) <= known


@pytest.mark.parametrize(("words", "sentence"), [
    ("gravity", "`what` must be consensus, hardmax, prototypes, growing, multirate, diffrax, scipy, stiff,"),
    ("hardmx", "did you mean `hardmax`?"),
    ("none.npz", "`what` must be a file, but `none.npz` is not one"),
    ("hardmax --out a.txt", "`out` must end in .bib, but is `a.txt`"),
])  # fmt: skip
def test_what_has_no_reference_is_refused(capsys, tmp_path, monkeypatch, words, sentence):
    monkeypatch.chdir(tmp_path)
    assert sentence in refused(capsys, "cite", *words.split())
