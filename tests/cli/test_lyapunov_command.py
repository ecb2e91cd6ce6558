"""What `dynsim lyapunov` computes, says and draws for its options; exponents are given by hand."""

import contextlib
import importlib

import numpy as np
import pytest

from analysis.dynamics.exponents import LyapunovSpectra
from analysis.dynamics.lyapunov import LyapunovSpectrum
from dynsim.errors import IntegrationError, Outcome
from figures.panels import exponents as panels
from tests.support.commands import answer, run

command = importlib.import_module("dynsim.cli.lyapunov")
GIVEN = LyapunovSpectrum(
    np.array([0.9, 0.0, -14.5]), np.array([0.01, 0.002, 0.03]), np.arange(2.0), np.ones((2, 3)), True, ""
)


@pytest.fixture
def asked(monkeypatch):
    """Return what is asked for and drawn; `rows` are the spectra that are given back in turn."""
    found = {"calls": [], "rows": [GIVEN]}

    def spectrum(system, start, duration, **options):
        found["calls"].append((system, np.asarray(start), duration, options))
        row = found["rows"][(len(found["calls"]) - 1) % len(found["rows"])]
        if row is None:
            raise IntegrationError("It escapes.", outcome=Outcome.NON_FINITE)
        return row

    def spectra(systems, start, duration, **options):
        rows = []
        for system in systems:
            with contextlib.suppress(IntegrationError):
                rows.append(spectrum(system, start, duration, **options))
                continue
            rows.append(None)
        return LyapunovSpectra(tuple(rows), "in lanes, in JAX")

    monkeypatch.setattr("analysis.dynamics.lyapunov.lyapunov_spectrum", spectrum)
    monkeypatch.setattr("analysis.dynamics.exponents.lyapunov_spectra", spectra)
    for name in ("running_exponents", "exponents_against"):
        draw = lambda ax, *arrays, name=name, **options: found.update({"kind": name, "arrays": arrays, **options})
        monkeypatch.setattr(panels, name, draw)
    monkeypatch.setattr(command, "_draw", lambda o, draw, title: (draw(0.5), found.update(title=title)))
    return found


def test_exponents_with_errors_their_sum_and_their_dimension(asked, capsys, tmp_path):
    said = answer(capsys, "lyapunov", "lorenz", "--start", 1, 2, 3, "--figure", tmp_path / "a.png")
    assert said.splitlines() == [
        "exponent 1: 0.9 +- 0.01", "exponent 2: 0 +- 0.002", "exponent 3: -14.5 +- 0.03",
        "sum -13.6, Kaplan-Yorke dimension 2.0621",
    ]  # fmt: skip
    system, start, duration, options = asked["calls"][0]
    assert (type(system).__name__, start.tolist(), duration) == ("Lorenz", [1, 2, 3], None)
    del options["integrator"]
    assert options == {"count": None, "transient": None, "interval": None, "rtol": 1e-8, "atol": None}
    np.testing.assert_array_equal(asked["arrays"][1], GIVEN.running)
    assert (asked["kind"], asked["xlabel"], asked["until"]) == ("running_exponents", "time $t$", 0.5)
    assert asked["title"] == "Lyapunov exponents of lorenz"
    words = ("--duration", 200, "--transient", 7, "--interval", 0.5, "--count", 2, "--rtol", 1e-6)
    answer(capsys, "lyapunov", "lorenz", *words)
    _, _, duration, options = asked["calls"][1]
    assert (duration, options["count"], options["transient"], options["interval"]) == (200, 2, 7, 0.5)
    assert options["rtol"] == 1e-6


def test_what_is_not_converged_or_not_resolved_is_said(asked, capsys, tmp_path):
    asked["rows"] = [GIVEN._replace(converged=False, reason="the halves differ", resolved=(True, True, False))]
    status, said, _ = run(capsys, "lyapunov", "lorenz")
    assert status == 1
    assert said.splitlines()[2:] == [
        f"exponent 3: below -14 ({GIVEN.bounded_by})", "sum at most -13.6, Kaplan-Yorke dimension at most 2.0621",
        "not converged: the halves differ; take a longer `--duration`",
    ]  # fmt: skip
    one = GIVEN._replace(exponents=np.array([np.nan]), errors=np.ones(1), converged=False, reason="it escapes")
    asked["rows"] = [one._replace(running=np.array([[-np.inf], [1.0]]))]
    status, said, _ = run(capsys, "lyapunov", "logistic", "--figure", tmp_path / "a.png")
    assert (status, said.splitlines()) == (1, ["exponent 1: nan +- 1", "not converged: it escapes"])
    assert asked["xlabel"] == "step $k$"
    np.testing.assert_array_equal(asked["arrays"][1], [[np.nan], [1.0]])


def test_values_of_a_parameter_at_which_orbits_escape_are_left_out(asked, capsys, tmp_path):
    late = GIVEN._replace(converged=False, exponents=np.array([0.5, -np.inf, -3.0]))
    asked["rows"] = [GIVEN, None, late, GIVEN._replace(exponents=np.array([np.nan] * 3))]
    words = ("--against", "rho=10:40:4", "--figure", tmp_path / "a.png")
    said = answer(capsys, "lyapunov", "lorenz", *words)
    assert said.splitlines() == [
        "rho = 10: 0.9 +- 0.01, 0 +- 0.002, -14.5 +- 0.03", "rho = 30: 0.5 +- 0.01, -inf, -3 +- 0.03 (not converged)",
        "2 of 4 orbits escape, 1 have not converged", "solved in lanes, in JAX",
    ]  # fmt: skip
    assert [float(call[0].rho) for call in asked["calls"]] == [10, 20, 30, 40]
    xs, exponents, errors = asked["arrays"]
    np.testing.assert_array_equal(xs, [10, 30])
    np.testing.assert_array_equal(exponents, [[0.9, 0.0, -14.5], [0.5, np.nan, -3.0]])
    np.testing.assert_array_equal(errors, [GIVEN.errors] * 2)
    assert asked["converged"].tolist() == [True, False]
    asked["rows"] = [None]
    status, _, err = run(capsys, "lyapunov", "lorenz", *words)
    assert status
    assert "The orbit escapes for all values of `rho`" in err
