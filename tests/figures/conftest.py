"""Compare what the figures of some tests show with `drawings.txt`: colours, widths, marks, orders, words, places."""

from pathlib import Path

import matplotlib
import pytest
from matplotlib.figure import Figure

from tests.support.ink import text_of
from tests.support.kept import Kept, hooks

TESTS = tuple(f"test_{name}.py" for name in (
    "gallery_drawings", "growing_figures", "own_axes", "panel_data", "panels", "rare_pictures", "record_figures",
    "result_data", "shown_limits", "sweep_figures", "theorem_figures", "workbench_figures",
))  # fmt: skip
DRAWINGS = Kept(Path(__file__).with_name("drawings.txt"), TESTS, f"matplotlib {matplotlib.__version__}")


@pytest.fixture(autouse=True)
def drawn_figures(monkeypatch):
    """List the figures that a test makes."""
    figures, initialise = [], Figure.__init__

    def noted(self, *given, **options):
        initialise(self, *given, **options)
        figures.append(self)

    monkeypatch.setattr(Figure, "__init__", noted)
    return figures


pytest_pyfunc_call, pytest_sessionfinish = hooks(DRAWINGS, "drawn_figures", text_of)
