"""Compare what commands say in some tests with `words.txt`."""

from pathlib import Path

import pytest

from dynsim.cli.parsing import options
from tests.support.kept import Kept, hooks

TESTS = ("test_theorem_command.py", "test_printed_results.py", "test_runs_reach.py", "test_chains_command.py")
WORDS = Kept(Path(__file__).with_name("words.txt"), TESTS)


@pytest.fixture(autouse=True)
def said(monkeypatch, tmp_path):
    """List the lines that commands say in a test."""
    lines: list[str] = []

    def noted(text, *rest, **how):
        lines.append(str(text).replace(str(tmp_path), ""))
        print(text, *rest, **how)  # noqa: T201

    monkeypatch.setattr(options, "print", noted, raising=False)
    return lines


pytest_pyfunc_call, pytest_sessionfinish = hooks(WORDS, "said", iter)
