"""The examples in the docstrings of the faces run and give what they show."""

import ast
import doctest
import importlib
import inspect
import re

import pytest

from tests.core.faces import LAZY
from tests.core.test_faces import ROOT

COMPLETE = (
    "analysis.chains",
    "analysis.fast_slow",
    "analysis.growing",
    "analysis.hardmax",
    "analysis.ledger",
    "analysis.networks",
    "analysis.prototypes",
    "analysis.tokens",
    "dynsim",
    "dynsim.networks",
    "figures",
)
"""Faces whose functions all have an example, and the meaning of their arguments if there are several."""
SLOW = ("analysis.dynamics", "analysis.fast_slow", "analysis.growing", "analysis.prototypes", "dynsim")
"""Faces whose examples compile much; `make test-all` runs them."""


def promised(face: str) -> dict[str, object]:
    """The functions and classes of a face by name."""
    stub = ROOT.joinpath(*face.split("."), "__init__.pyi").read_text(encoding="utf-8")
    names = [one.asname for node in ast.parse(stub).body if isinstance(node, ast.ImportFrom) for one in node.names]
    found = {name: getattr(importlib.import_module(face), name) for name in names if name}
    return {name: one for name, one in found.items() if inspect.isfunction(one) or inspect.isclass(one)}


@pytest.mark.parametrize(
    "face", [pytest.param(face, marks=[pytest.mark.slow] if face in SLOW else []) for face in sorted(LAZY)]
)
def test_examples_give_what_they_show(face):
    finder, runner, said = doctest.DocTestFinder(recurse=True), doctest.DocTestRunner(), []
    for name, one in promised(face).items():
        for test in finder.find(one, name, globs={}):
            runner.run(test, out=said.append)
    assert not said, "".join(said)


@pytest.mark.parametrize("face", COMPLETE)
def test_every_function_has_an_example_and_says_what_its_arguments_are(face):
    for name, one in promised(face).items():
        if inspect.isfunction(one):
            text = inspect.getdoc(one) or ""
            assert ">>> " in text, name
            several = len(inspect.signature(one).parameters) > 1
            assert not several or re.search(r"^Args:$", text, re.M), name
