"""The examples in the docstrings of the faces run and give what they show."""

import doctest
import importlib
import importlib.util
import inspect
import re

import pytest

from tests.core.faces import LAZY, names_of

SLOW = ("analysis.dynamics", "analysis.fast_slow", "analysis.growing", "analysis.prototypes", "analysis.theorems")
SLOW += ("analysis.networks", "dynsim", "dynsim.networks", "figures")
"""Faces whose examples compile much; `make test-all` runs them."""
NEEDS = {"lyapunov_polynomial": "clarabel", "common_lyapunov": "clarabel"}
"""Packages of extras that examples need; without them they are left out."""


class Unfenced(doctest.DocTestParser):
    """Reads examples without the fences of Markdown around them."""

    def parse(self, string, name="<string>"):
        """Read the examples of a docstring."""
        return super().parse(re.sub(r"^\s*```\w*$", "", string, flags=re.M), name)


def promised(face: str) -> dict[str, object]:
    """The functions and classes of a face by name."""
    found = {name: getattr(importlib.import_module(face), name) for name in names_of(face)}
    return {name: one for name, one in found.items() if inspect.isfunction(one) or inspect.isclass(one)}


@pytest.mark.parametrize(
    "face", [pytest.param(face, marks=[pytest.mark.slow] if face in SLOW else []) for face in sorted(LAZY)]
)
def test_examples_give_what_they_show(face):
    finder, runner, said = doctest.DocTestFinder(parser=Unfenced(), recurse=True), doctest.DocTestRunner(), []
    for name, one in promised(face).items():
        if importlib.util.find_spec(NEEDS.get(name, "numpy")) is None:
            continue
        for test in finder.find(one, name, globs={}):
            runner.run(test, out=said.append)
    assert not said, "".join(said)


@pytest.mark.parametrize("face", [*sorted(LAZY), "dynsim.integrators"])
def test_every_function_has_an_example_and_says_what_its_arguments_are(face):
    for name, one in promised(face).items():
        if inspect.isfunction(one):
            text = inspect.getdoc(one) or ""
            assert ">>> " in text, name
            several = len(inspect.signature(one).parameters) > 1
            assert not several or re.search(r"^Args:$", text, re.M), name
