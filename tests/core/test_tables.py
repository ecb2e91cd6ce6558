"""Results as tables: columns with names and units, and files that are read back exactly."""

import csv
import importlib.util
from fractions import Fraction
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.attractors.basins import Basins
from analysis.dynamics.attractors.fractions import FractionCurves
from analysis.dynamics.codim2.planes import StabilityMap
from analysis.dynamics.continuation.bifurcations import Bifurcation
from analysis.dynamics.continuation.branches import Branch
from analysis.dynamics.continuation.orbit_curve import Cycle
from analysis.dynamics.convergence import Fit
from analysis.dynamics.diagrams import Diagram
from analysis.dynamics.equilibria.newton import equilibria
from analysis.dynamics.lyapunov import LyapunovSpectrum
from analysis.dynamics.orbit_diagrams import OrbitDiagram
from analysis.dynamics.poincare import Section
from dynsim.io.npz import read_arrays
from dynsim.io.tables import Table, write_table
from dynsim.results import table, to_pandas, to_xarray
from dynsim.simulation.simulate import iterate
from dynsim.systems.base import FunctionFlow, FunctionMap
from figures.diagrams import measured
from figures.quantities import label, shown
from tests.support.commands import answer

EXACT = np.array([0.1, 1 / 3, np.nextafter(1.0, 2.0), 5e-324, -0.0, np.inf, np.nan])


def made() -> Table:
    words, turning = np.array(["a", 'b "c", d', "", "\u00e4", "e", "f", "g"]), np.zeros(7, complex)
    turning.imag = EXACT
    columns = {"t": EXACT, "n": np.arange(7), "w": words, "ok": EXACT > 0.2, "z": turning}
    return Table(columns, {"t": "ms", "z": "mV"})


def test_numbers_in_csv_are_read_back_exactly_and_bytes_are_the_same(tmp_path):
    path = tmp_path / "a.csv"
    write_table(path, made())
    first = path.read_bytes()
    write_table(path, made())
    assert path.read_bytes() == first
    assert [one.name for one in tmp_path.iterdir()] == ["a.csv"]
    head, *rows = csv.reader(path.read_text(encoding="utf-8").splitlines())
    assert head == ["t (ms)", "n", "w", "ok", "z (mV)", "z_imag (mV)"]
    t, n, w, ok, _, imaginary = zip(*rows, strict=True)
    assert np.array([float(x) for x in t]).tobytes() == EXACT.tobytes()
    assert np.array_equal([float(x) for x in imaginary], EXACT, equal_nan=True)
    assert (n[2], w[1], ok[:2]) == ("2", 'b "c", d', ("False", "True"))


def test_a_table_in_npz_has_its_units_in_the_header(tmp_path):
    write_table(tmp_path / "a.npz", made())
    found = read_arrays(tmp_path / "a.npz")
    assert found["t"].tobytes() == EXACT.tobytes()
    assert '"units": {"t": "ms", "z": "mV", "z_imag": "mV"}' in str(found["header"])


def test_files_that_cannot_be_written_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"`path` must end in \.csv, \.parquet or \.npz, but is `a.txt`"):
        write_table("a.txt", made())
    if importlib.util.find_spec("pyarrow") is None:
        with pytest.raises(ValueError, match=r"unless pyarrow is installed \(`pip install dynsim\[parquet\]`\)"):
            write_table("a.parquet", made())
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(ValueError, match="`path` must be a file that can be written"):
        write_table(tmp_path / "folder.csv", made())
    assert [one.name for one in tmp_path.iterdir()] == ["folder.csv"]
    with pytest.raises(ValueError, match="`columns` must have one axis and the same length"):
        Table({"a": [1, 2], "b": [1]})


def test_a_long_table_prints_its_first_and_last_rows_and_names_columns_that_do_not_fit():
    many = Table({f"column {k}": np.arange(30) * 1e-320 if k else np.arange(30) for k in range(20)}, {"column 0": "ms"})
    lines = str(many).splitlines()
    assert (len(lines), lines[11], lines[-2].split()[0]) == (23, "... 10 more rows ...", "29")
    assert lines[0].startswith("column 0 (ms)  column 1")
    assert lines[1].split()[1] == "0"
    assert lines[-1].startswith("and column ")
    assert all(len(line) <= 102 for line in lines[:-1])
    assert repr(many).startswith("Table(30 rows: column 0, column 1")


def test_runs_have_the_names_and_units_of_their_components():
    step = FunctionMap(lambda k, x: x / 2, names=("V", "w"), units=("mV", ""))
    run = iterate(step, [1.0, 2.0], 2)
    assert str(table(run)) == "k  V (mV)    w\n0       1    2\n1     0.5    1\n2    0.25  0.5"
    frame = to_pandas(run)
    assert (list(frame.columns), frame.attrs["units"], frame["w"].tolist()) == (
        ["k", "V", "w"],
        {"V": "mV"},
        [2, 1, 0.5],
    )
    halves = Table({"x": np.array([Fraction(1, 3), Fraction(2)], object)})
    assert halves.rows()[0] == {"x": Fraction(1, 3)}


def test_lists_of_runs_are_numbered():
    step = FunctionMap(lambda k, x: x / 2)
    found = table([iterate(step, [1.0], 1), iterate(step, [4.0], 2)])
    assert found["number"].tolist() == [1, 1, 2, 2, 2]
    assert found["x_1"].tolist() == [1, 0.5, 4, 2, 1]


def test_equilibria_are_listed_with_their_types_and_eigenvalues():
    flow = FunctionFlow(lambda t, x: jnp.stack([x[1], -x[0] - 2 * x[1]]))
    found = table(equilibria(flow, np.array([[0.3, 0.2]])))
    assert found.rows()[0]["type"] == "stable degenerate node"
    assert found["eigenvalue_1"] == pytest.approx([-1.0])
    assert found.names == ("x_1", "x_2", "type", "kind", "index", "speed", "eigenvalue_1", "eigenvalue_1_imag",
                           "eigenvalue_2", "eigenvalue_2_imag")  # fmt: skip


def orbits() -> Branch:
    """Circles of radius 1, 2, 3 with periods 2, 4, 8, and a fold between the last two."""
    angles = np.linspace(0.0, 2 * np.pi, 8, endpoint=False)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    states = Cycle(np.array([1.0, 2.0, 3.0])[:, None, None] * circle, np.array([2.0, 4.0, 8.0]))
    fold = Bifurcation("fold", Cycle(2.5 * circle, np.array(5.0)), 1.5, np.ones(2, complex), 0.0, 1.5, np.zeros(18))
    kinds = ("stable", "stable", "unstable")
    return Branch(states, np.arange(3.0), np.arange(3.0), np.ones((3, 2), complex), kinds, (fold,), ("bounds", "lost"))


def rest() -> Branch:
    point = Bifurcation("branch point", np.zeros(2), 0.5, np.zeros(2, complex), 0.0, 0.5, np.zeros(3), form="pitchfork",
                        coefficient=-1.0, natural_size=1.0)  # fmt: skip
    rows, values = np.zeros((2, 2)), np.ones((2, 2), complex)
    return Branch(rows, np.arange(2.0), np.arange(2.0), values, ("stable", "saddle"), (point,), ("bounds", "bounds"))


def test_a_diagram_lists_equilibria_and_orbits_with_period_frequency_and_extremes():
    found = table(Diagram("r", (rest(),), (1,), (orbits(),), names=("x", "y"), units=("mV", "")))
    assert found["branch"].tolist() == [1, 1, 1, 2, 2, 2, 2]
    assert found["solution"].tolist() == ["equilibrium"] * 3 + ["periodic orbit"] * 4
    assert found["bifurcation"].tolist() == ["", "supercritical pitchfork", "", "", "", "fold", ""]
    assert found["period"][3:].tolist() == [2, 4, 5, 8]
    assert found["frequency"][3:].tolist() == [0.5, 0.25, 0.2, 0.125]
    assert np.isnan(found["period"][:3]).all()
    assert found["x_max"].tolist() == pytest.approx([0, 0, 0, 1, 2, 2.5, 3])
    assert found["x_amplitude"].tolist() == pytest.approx([0, 0, 0, 1, 2, 2.5, 3])
    assert found.units["x_min"] == "mV"
    assert found["eigenvalue_2"][[0, 2]].tolist() == [1, 1]
    assert np.isnan(found["multiplier_1"][:3]).all()
    marks = table(list(rest().bifurcations) + list(orbits().bifurcations))
    assert marks["bifurcation"].tolist() == ["supercritical pitchfork", "fold"]


def test_a_diagram_can_show_the_period_the_frequency_and_the_amplitude_of_orbits():
    diagram = Diagram("r", (rest(),), (1,), (orbits(),), names=("x", "y"))
    both = measured(diagram._replace(orbits=()))
    extremes = np.array([[-1.0, 1.0], [-2.0, 2.0], [-3.0, 3.0]]), np.array([[-2.5, 2.5]])
    both = both._replace(diagram=diagram, branches=(*both.branches, (orbits(), True)), values=(*both.values, extremes))
    assert shown(both, "range") is both
    periods = shown(both, "period")
    assert [is_orbit for _, is_orbit in periods.branches] == [True]
    assert [part.ravel().tolist() for part in periods.values[0]] == [[2, 4, 8], [5]]
    assert shown(both, "frequency").values[0][0].ravel().tolist() == [0.5, 0.25, 0.125]
    for name, expected in (("minimum", [-1, -2, -3]), ("maximum", [1, 2, 3]), ("amplitude", [1, 2, 3])):
        assert shown(both, name).values[1][0].ravel().tolist() == expected
        assert shown(both, name).values[0][0].ravel().tolist() == [0, 0]
    with pytest.raises(ValueError, match="`y` must be a component's range"):
        shown(measured(diagram._replace(orbits=())), "period")
    assert label("frequency", "x", "mV", "ms") == "frequency (1 / ms)"
    assert label("amplitude", "V", "mV", "ms") == "amplitude of $V$ (mV)"


class Mixed(NamedTuple):
    """A result with arrays of two lengths."""

    a: np.ndarray
    b: np.ndarray
    c: np.ndarray
    word: str
    number: float


def test_other_results_have_columns_of_their_own():
    spectrum = LyapunovSpectrum(np.array([0.4, -1.0]), np.array([0.1, 0.2]), np.arange(3.0), np.ones((3, 2)), True, "")
    assert table(spectrum).rows()[1]["exponent"] == -1.0
    section = Section(np.arange(2.0), np.eye(2), np.ones(2), 0.01, True, ("x", "y"), ("mV", ""))
    assert (table(section).headings[1], table(section)["t"].tolist()) == ("x (mV)", [0, 1])
    assert len(table(section._replace(times=np.zeros(0), states=np.zeros((0, 2)), directions=np.zeros(0)))) == 0
    diagram = table(OrbitDiagram(np.arange(2.0), np.array([[1.0, 2.0], [3.0, 4.0]]), "r"))
    assert [diagram[name].tolist() for name in diagram.names] == [[0, 0, 1, 1], [0, 1, 0, 1], [1, 2, 3, 4]]
    shares = np.array([[0.25, 0.75], [0.5, 0.5]])
    curves = table(FractionCurves(np.arange(2.0), np.arange(2), shares, shares, shares, ({}, {})))
    assert curves["share"].tolist() == [0.25, 0.75, 0.5, 0.5]
    basins = Basins(np.array([[0, -1]]), (np.zeros(1), np.arange(2.0)), ("x", "y"), (), (), 1.0, 1, np.ones(2))
    assert table(basins)["label"].tolist() == [0, -1]
    assert to_xarray(basins)["basin"].dims == ("x", "y")
    assert table(Fit(1.0, 0.1, "algebraic", 8)).rows()[0]["rate"] == 1.0
    assert to_xarray(section)["x"].attrs["units"] == "mV"
    numbers = np.arange(6).reshape(3, 2)
    counts = StabilityMap(np.arange(2.0), np.arange(3.0), numbers, numbers, numbers)
    assert to_xarray(counts)["found"].sel(first=1.0, second=2.0) == 5
    assert to_xarray(counts)["found"].dims == ("second", "first")
    mixed = Mixed(np.arange(3.0), np.ones((3, 2)), np.arange(5.0), "a word", 2.0)  # the most common length counts
    assert (table(mixed).names, len(table(mixed))) == (("a", "b_1", "b_2"), 3)
    for bad in ("words", None, []):
        with pytest.raises(ValueError, match="`result` must be a result that holds numbers"):
            table(bad)


def test_commands_write_tables_by_the_suffix(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = answer(capsys, "simulate", "logistic", "--r", "2", "--start", "0.25", "--end", "2", "--out", "run.csv")
    assert "table run.csv" in said
    assert (tmp_path / "run.csv").read_text() == "k,x\n0,0.25\n1,0.375\n2,0.46875\n"
    said = answer(capsys, "lyapunov", "logistic", "--against", "r=3.9:4:2", "--duration", "200", "--out", "l.npz")
    assert read_arrays("l.npz")["r"].tolist() == [3.9, 4.0]


def test_small_numbers_and_tables_at_the_limits_of_their_size_are_printed_whole():
    assert str(Table({"ok": [True, False]})).split() == ["ok", "yes", "no"]
    text = str(Table({"x": np.array([1e-5, 1e-301])}))
    assert text.split() == ["x", "1e-05", "0"]
    assert "more" not in str(Table({"k": np.arange(20)}))
    assert "... 1 more row ..." in str(Table({"k": np.arange(21)}))
    fits, wider = ({"a" * 49: np.arange(2), "b" * n: np.arange(2)} for n in (49, 50))
    assert len(str(Table(fits)).splitlines()[0]) == 100
    assert str(Table(wider)).endswith(f"and {'b' * 50}")
