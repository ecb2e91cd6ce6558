"""Which exceptions the command line answers in one sentence: those on input and those of the user's own code."""

import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

from dynsim.__main__ import main
from dynsim.errors import ArgumentError, OtherRunError, UnavailableError
from tests.support.commands import refused

LINE = ("simulate", "lorenz", "--end", "1", "--integrator", "scipy")
SIMULATE = "dynsim.cli.simulate.flows.simulate"
COUNTING = """
calls = []

def counting(t, x):
    calls.append(t)
    if len(calls) > 4:
        raise {error}("no more than four calls")
    return -x
"""


def a_bug(code: str):
    """Return a function in place of one of the library, in no file of a user's."""
    return eval(compile(f"lambda *args, **options: {code}", "<library>", "eval"), {"np": np})


def raising(error: BaseException):
    def raises(*args, **options):
        raise error

    return raises


def test_a_value_error_inside_the_library_is_no_refusal(monkeypatch):
    monkeypatch.setattr(SIMULATE, a_bug("np.zeros(3) + np.zeros(2)"))
    with pytest.raises(ValueError, match="operands could not be broadcast together"):
        main(LINE)
    monkeypatch.setattr(SIMULATE, a_bug("float('one')"))
    with pytest.raises(ValueError, match="could not convert string to float"):
        main(LINE)


@pytest.mark.parametrize(("error", "sentence"), [
    (ArgumentError("ts", "increase", "does not"), "dynsim: Argument `ts` must increase, but does not.\n"),
    (OtherRunError("out", "be free", "is\nnot"), "dynsim: Argument `out` must be free, but is not.\n"),
    (UnavailableError("No optax."), "dynsim: No optax.\n"),
    (PermissionError(13, "Denied", "x"), "dynsim: A file `x` cannot be read or written: Denied.\n"),
])  # fmt: skip
def test_what_is_refused_is_answered_in_one_sentence(monkeypatch, capsys, error, sentence):
    monkeypatch.setattr(SIMULATE, raising(error))
    assert refused(capsys, *LINE) == sentence


@pytest.mark.parametrize("error", ["ValueError", "ZeroDivisionError"])
def test_what_the_user_s_code_raises_in_a_run_is_answered_with_its_line(monkeypatch, capsys, tmp_path, error):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(COUNTING.format(error=error))
    line = ("simulate", "mine.py:counting", "--start", "1", "--end", "2")
    assert refused(capsys, *line) == (
        "dynsim: Your code must run without an exception, but line 7 of `mine.py`, "
        f'`raise {error}("no more than four calls")`, raised {error}: no more than four calls.\n'
    )


def test_an_error_on_several_arguments_keeps_its_parts_in_another_process():
    error = ArgumentError(("a", "b"), "differ", "are both 1")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) == "Arguments `a` and `b` must differ, but are both 1."
    assert (again.names, again.must, again.but) == (("a", "b"), "differ", "are both 1")


def test_a_file_imports_modules_beside_it_as_a_script_does(monkeypatch, capsys, tmp_path):
    """At the top of the file and inside a function; from another folder; a package and a module."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    folder = tmp_path / "models"
    (folder / "beside_rates").mkdir(parents=True)
    (folder / "beside_rates" / "__init__.py").write_text("FAST = 2.0\n")
    (folder / "beside_units.py").write_text("MINUTE = 0.5\n")
    (folder / "mine.py").write_text(
        "from beside_rates import FAST\n"
        "def field(t, x):\n    import beside_units\n    return -FAST * beside_units.MINUTE * x\n"
        "def value(c):\n    import beside_units\n    return c * beside_units.MINUTE\n"
    )
    monkeypatch.chdir(tmp_path)
    main(["simulate", "models/mine.py:field", "--start", "1", "--end", "1"])
    assert "to (0.367879) at t = 1" in capsys.readouterr().out
    main(["sweep", "--function", "models/mine.py:value", "--c", "4"])
    assert "2" in capsys.readouterr().out
    (folder / "json.py").write_text("")
    (folder / "clash.py").write_text("import json\ndef field(t, x):\n    return -x\n")
    said = refused(capsys, "simulate", "models/clash.py:field", "--start", "1", "--end", "1")
    assert "names that no other module has: `json.py`, but `json` in `models/clash.py` is a different" in said
    assert said.startswith("dynsim: Argument `file` must import")
