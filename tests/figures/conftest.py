"""Compare the ink of the figures that tests draw with `ink.txt`: colours, widths, marks, orders, words and places."""

from pathlib import Path

import matplotlib
import pytest
from matplotlib.figure import Figure

from tests.support.ink import ink
from tests.support.kept import Kept

INK = Kept(Path(__file__).with_name("ink.txt"), f"matplotlib {matplotlib.__version__}")


@pytest.fixture(autouse=True)
def drawn_figures(monkeypatch):
    """List the figures that a test makes."""
    figures, initialise = [], Figure.__init__

    def noted(self, *given, **options):
        initialise(self, *given, **options)
        figures.append(self)

    monkeypatch.setattr(Figure, "__init__", noted)
    return figures


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    """Compare the figures of a test with those that are kept for it."""
    answer = yield
    INK.compare(pyfuncitem, [line for one in pyfuncitem.funcargs["drawn_figures"] for line in ink(one)])
    return answer


def pytest_sessionfinish():
    """Keep the ink, if asked."""
    INK.write()
