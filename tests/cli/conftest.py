"""Compare what commands say in tests with `words.txt`, apart from the last digits of numbers."""

from pathlib import Path

import pytest

from dynsim.cli.parsing import options
from tests.support.kept import Kept, rounded

WORDS = Kept(Path(__file__).with_name("words.txt"), "what commands say")


@pytest.fixture(autouse=True)
def said(monkeypatch, tmp_path):
    """List the lines that commands say in a test."""
    lines: list[str] = []

    def noted(text, *rest, **how):
        lines.append(rounded(str(text).replace(str(tmp_path), "")))
        print(text, *rest, **how)  # noqa: T201

    monkeypatch.setattr(options, "print", noted, raising=False)
    return lines


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    """Compare what commands say in a test with what is kept for it."""
    answer = yield
    WORDS.compare(pyfuncitem, pyfuncitem.funcargs["said"])
    return answer


def pytest_sessionfinish():
    """Keep the words, if asked."""
    WORDS.write()
