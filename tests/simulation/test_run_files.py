"""Run files: open, complete, refused in one sentence, and reproducible to the bit in another process."""

import importlib
import json
import os
import re
import runpy
import subprocess
import sys
import zipfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import diffrax as dfx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dynsim.errors import Outcome
from dynsim.integrators import Diffrax, Event, Scipy
from dynsim.io.npz import read_arrays, write_arrays
from dynsim.io.serialisation import describe, import_path, rebuild, resolve, share
from dynsim.keys import random_key
from dynsim.simulation.ensemble import ensemble
from dynsim.simulation.run_files import FORMAT_VERSION, header, load, rerun, save, to_xarray
from dynsim.simulation.simulate import iterate, path_on_host, simulate, simulate_until
from dynsim.simulation.trajectory import Trajectory
from dynsim.spaces import Ellipsoid, Euclidean, Product, Sphere
from dynsim.systems.base import AbstractMap, FunctionFlow
from dynsim.systems.hardmax.maps import ExactHardmaxMap
from dynsim.systems.schedules import PiecewiseConstant, Resampled
from dynsim.systems.tokens.flow import LayerMap, TokenFlow
from dynsim.systems.tokens.published import published_hemisphere_flow
from tests.support.storage_systems import rotation

ROOT = Path(__file__).parents[2]
TS = np.linspace(0.0, 1.0, 4)
FLOW = published_hemisphere_flow()
START = FLOW.space.sample(jax.random.key(5), (4, 3))


class Two(NamedTuple):
    """A state of two parts."""

    place: object
    direction: object


class Halving(AbstractMap):
    """x <- x / 2 in exact arithmetic, on the host."""

    space: Euclidean
    on_host = True

    def step(self, k, x):
        return x / 2


def same(one: object, other: object) -> bool:
    """Return whether two runs agree in structure, types and every bit."""
    leaves, others = jax.tree.leaves(one), jax.tree.leaves(other)

    def same_leaf(a, b):
        if not hasattr(a, "dtype"):
            return a is b or a == b
        return type(a) is type(b) and a.dtype == b.dtype and np.asarray(a).tobytes() == np.asarray(b).tobytes()

    return jax.tree.structure(one) == jax.tree.structure(other) and all(map(same_leaf, leaves, others))


def in_another_process(code: str, *arguments: object) -> str:
    """Run `code` in a fresh interpreter in the repository's root and return what it prints."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.fixture(scope="module")
def path() -> Trajectory:
    return simulate(FLOW, START, TS)


@pytest.fixture
def file(path, tmp_path) -> Path:
    save(tmp_path / "run.npz", path, key=random_key(7, "start"), seed=7)
    return tmp_path / "run.npz"


def test_a_trajectory_comes_back_whole(path, file):
    assert same(load(file), path)


IMPLICIT = Diffrax(dfx.Kvaerno3(), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    "integrators",
    [(Diffrax(), Scipy()), pytest.param((IMPLICIT,), marks=pytest.mark.slow)],
    ids=["explicit", "implicit"],
)
def test_another_process_makes_the_same_bits_from_the_files_alone(integrators, tmp_path):
    runs = [simulate(FLOW, START, TS, integrator=integrator) for integrator in integrators]
    files = [tmp_path / f"{k}.npz" for k in range(len(runs))]
    for file, made in zip(files, runs, strict=True):
        save(file, made)
    code = "import sys, dynsim as ds; [ds.save(f'{file}.again', ds.rerun(file)) for file in sys.argv[1:]]"
    in_another_process(code, *files)
    for file, made in zip(files, runs, strict=True):
        again = file.with_suffix(".npz.again")
        assert again.read_bytes() == file.read_bytes()
        assert same(load(again), made)


def test_a_start_is_kept_to_the_bit(tmp_path):
    crooked = START * (1 + 1e-8)  # projected by `simulate`, hence not what is integrated from
    made = simulate(FLOW, crooked, TS)
    save(tmp_path / "run.npz", made)
    assert same(rerun(tmp_path / "run.npz"), made)
    assert same(simulate(FLOW, made.initial, TS), made)


def test_the_arrays_and_the_header_are_read_without_us(path, file):
    with np.load(file, allow_pickle=False) as arrays:
        assert np.array_equal(arrays["ys"], path.ys)
        assert np.array_equal(arrays["system.query_key.base"], FLOW.query_key.base)
        text = json.loads(str(arrays["header"]))
    system = text["run"]["fields"]["system"]
    assert system["class"] == "dynsim.systems.tokens.flow:TokenFlow"
    assert system["fields"]["query_key"]["class"] == "dynsim.systems.schedules:Modulated"
    assert (text["seed"], text["dtype"], text["kind"]) == (7, "float64", "Trajectory")
    assert text["key"]["data"] == np.asarray(jax.random.key_data(random_key(7, "start"))).tolist()
    assert text["versions"]["jax"] == jax.__version__
    assert text["environment"]["XLA_FLAGS"] == os.environ["XLA_FLAGS"]
    assert text == header(file)


def test_the_same_run_gives_the_same_file(path, file, tmp_path):
    save(tmp_path / "other.npz", path, key=random_key(7, "start"), seed=7)
    assert (tmp_path / "other.npz").read_bytes() == file.read_bytes()
    with zipfile.ZipFile(file) as archive:
        assert {member.date_time[0] for member in archive.infolist()} == {1980}  # the clock is not in the file


@pytest.mark.parametrize("system", [
    lambda: TokenFlow(PiecewiseConstant(np.ones((2, 1, 3, 3)), [0.5, 1.0]), 1.0, space=Ellipsoid(np.diag([1.0, 2, 3]))),
    lambda: TokenFlow(Resampled(jax.random.key(3), (2, 3, 3)), -1.0, scale=0.5),
    lambda: LayerMap(FLOW, 0.1),
    lambda: FunctionFlow(rotation, Product(Two(Sphere(), Euclidean())), breaks=(0.5,), fastest_period=2.0),
    lambda: IMPLICIT,
], ids=["piecewise", "resampled", "layers", "function", "implicit solver"])  # fmt: skip
def test_every_kind_of_system_comes_back(system):
    arrays = {}
    node = json.loads(json.dumps(describe("system", system(), arrays), allow_nan=False))
    back = rebuild(node, arrays, trust=("tests.support.storage_systems", "tests.simulation.test_run_files"))
    assert jax.tree.structure(back) == jax.tree.structure(system())
    again = {}
    assert describe("system", back, again) == node
    assert {k: (v.dtype, v.tobytes()) for k, v in again.items()} == {
        k: (v.dtype, v.tobytes()) for k, v in arrays.items()
    }


def test_a_weak_type_is_kept():
    arrays = {}
    for value in (jnp.asarray(0.5), jnp.asarray(0.5, float), jnp.full(2, jnp.nan), jnp.full((1, 2), -1)):
        back = rebuild(describe("a", value, arrays), arrays)
        assert back.weak_type is value.weak_type
        assert np.asarray(back).tobytes() == np.asarray(value).tobytes()


def test_a_mapping_of_numbers_comes_back_and_shares_its_arrays():
    arrays = {}
    node = share(describe("a", {1: np.ones(2), 2: np.ones(2)}, arrays), arrays, {})
    back = rebuild(json.loads(json.dumps(node)), arrays)
    assert (len(arrays), [(k, value.tolist()) for k, value in back.items()]) == (1, [(1, [1.0, 1.0]), (2, [1.0, 1.0])])


def test_a_map_in_jax_is_iterated_again(tmp_path):
    made = iterate(LayerMap(FLOW, 0.1), START, 6, every=3)
    save(tmp_path / "run.npz", made)
    assert same(rerun(tmp_path / "run.npz"), made)


def test_exact_states_are_stored_as_fractions(tmp_path):
    start = np.array([Fraction(1, 3), Fraction(-7)], dtype=object)
    made = iterate(Halving(Euclidean()), start, 2)
    save(tmp_path / "run.npz", made)
    back = rerun(tmp_path / "run.npz", trust=("tests.simulation.test_run_files:Halving",))
    assert list(np.load(tmp_path / "run.npz")["ys"][1]) == ["1/6", "-7/2"]
    assert back.ys.tolist() == made.ys.tolist()
    assert isinstance(back.ys[2, 0], Fraction)


def test_an_ensemble_comes_back_and_is_not_rerun(tmp_path):
    made = ensemble(FLOW, jnp.stack([START, START]), TS, lambda t, x: {"sum": jnp.sum(x)}, integrator=Scipy())
    save(tmp_path / "run.npz", made)
    assert same(load(tmp_path / "run.npz"), made)
    with pytest.raises(ValueError, match="must hold a trajectory, to be recomputed, but holds an Ensemble"):
        rerun(tmp_path / "run.npz")


def test_a_float32_run_keeps_its_type(tmp_path):
    made = simulate(FLOW, START.astype(jnp.float32), TS, integrator=Scipy(rtol=1e-5, atol=1e-6))
    save(tmp_path / "run.npz", made)
    assert header(tmp_path / "run.npz")["dtype"] == "float32"
    assert same(rerun(tmp_path / "run.npz"), made)


def turning(rhs: Callable, **options) -> Trajectory:
    return simulate(FunctionFlow(rhs, Sphere()), jnp.asarray([1.0, 0.0]), TS, integrator=Scipy(**options))


def test_a_function_is_imported_only_if_trusted(tmp_path):
    made = turning(rotation)
    save(tmp_path / "run.npz", made)
    with pytest.raises(
        ValueError, match="Argument `trust` must name `tests.support.storage_systems:rotation` before the file may"
    ):
        load(tmp_path / "run.npz")
    for trust in ("tests.support.storage_systems", "tests.support.storage_systems:rotation"):
        assert same(rerun(tmp_path / "run.npz", trust=(trust,)), made)


def forget(file: Path, monkeypatch):
    """Let the next import execute a file anew, as in another process."""
    for name, module in list(sys.modules.items()):
        if getattr(module, "__file__", None) == str(file):
            monkeypatch.delitem(sys.modules, name)


def test_a_function_of_a_script_is_found_by_its_file(tmp_path, monkeypatch):
    script = tmp_path / "mine.py"
    script.write_text(
        "import jax.numpy as jnp, sys\n"
        "def spin(t, x):\n    return jnp.stack([-x[1], x[0]])\n"
        "if __name__ == '__main__':\n"
        "    from dynsim.simulation.simulate import simulate\n    from dynsim.simulation.run_files import save\n"
        "    from dynsim.systems.base import FunctionFlow\n    from dynsim.integrators import Scipy\n"
        "    save(sys.argv[1], simulate(FunctionFlow(spin), jnp.array([1.0, 0.0]), [0.0, 1.0], integrator=Scipy()))\n"
    )
    run = tmp_path / "run.npz"
    monkeypatch.setattr(sys, "argv", [str(script), str(run)])
    runpy.run_path(str(script), run_name="__main__")
    name = header(run)["run"]["fields"]["system"]["fields"]["rhs"]["name"]
    assert name.endswith("mine.py:spin")
    with pytest.raises(ValueError, match=r"mine.py:spin` before the file may import it"):
        load(run)
    assert same(rerun(run, trust=(name,)), load(run, trust=(name,)))
    script.write_text(script.read_text().replace("-x[1]", "-2 * x[1]"))
    forget(script, monkeypatch)
    with pytest.raises(
        ValueError, match="must refer to functions as they were when it was written, but one has changed"
    ):
        rerun(run, trust=(name,))


def test_a_function_is_named_by_its_module_where_another_process_would_import_that(tmp_path, monkeypatch):
    for folder in ("first", "second"):
        (tmp_path / folder / "inner_of_mine").mkdir(parents=True)
        (tmp_path / folder / "module_of_mine.py").write_text("def spin(t, x):\n    return x\n")
        (tmp_path / folder / "inner_of_mine" / "part.py").write_text("def spin(t, x):\n    return x\n")
    monkeypatch.syspath_prepend(tmp_path / "first")
    top, inner = (importlib.import_module(name) for name in ("module_of_mine", "inner_of_mine.part"))
    assert import_path("rhs", top.spin) == "module_of_mine:spin"
    assert import_path("rhs", inner.spin) == "inner_of_mine.part:spin"
    monkeypatch.syspath_prepend(tmp_path / "second")  # hides the first one
    monkeypatch.chdir(tmp_path / "first")
    assert import_path("rhs", top.spin) == "module_of_mine.py:spin"
    monkeypatch.chdir(tmp_path / "second")
    assert import_path("rhs", top.spin) == (tmp_path / "first" / "module_of_mine.py").as_posix() + ":spin"
    for name in ("module_of_mine", "inner_of_mine.part", "inner_of_mine"):
        monkeypatch.delitem(sys.modules, name)


def test_functions_that_cannot_be_found_again_are_refused(tmp_path):
    def inner(t, x):
        return -x

    for rhs, why in ((lambda t, x: -x, "is a lambda"), (inner, "`test_functions.*` is defined inside a function")):
        made = turning(rhs)
        with pytest.raises(ValueError, match=f"Argument `system.rhs` must be named at the top level .* but {why}"):
            save(tmp_path / "run.npz", made)
    assert not (tmp_path / "run.npz").exists()


@pytest.mark.parametrize("name", ["os:system", "subprocess:run", "builtins:eval"])
def test_foreign_names_are_not_imported(name):
    with pytest.raises(ValueError, match="Argument `trust` must name"):
        resolve(name)


@pytest.mark.parametrize("name", ["dynsim.io.serialisation:sys.modules", "dynsim.io.npz:os.remove", "dynsim.io.npz:os"])
def test_foreign_things_are_not_reached_through_our_modules(name):
    with pytest.raises(ValueError, match="must name objects of trusted packages by their own modules"):
        resolve(name)


def test_a_path_cut_at_an_event_is_stored_and_not_rerun(tmp_path):
    stop = simulate_until(FunctionFlow(rotation), jnp.asarray([1.0, 0.0]), [0.0, 3.0], [Event(lambda t, x: x[0] - 0.5)],
        integrator=Scipy())  # fmt: skip
    save(tmp_path / "run.npz", stop.path)
    trust = ("tests.support.storage_systems",)
    assert same(load(tmp_path / "run.npz", trust=trust), stop.path)
    with pytest.raises(ValueError, match="must hold the integrator of its trajectory"):
        rerun(tmp_path / "run.npz", trust=trust)


def edited(file: Path, change: Callable[[dict], None]) -> Path:
    """Rewrite the header of a run file."""
    arrays = read_arrays(file)
    text = json.loads(str(arrays["header"]))
    change(text)
    write_arrays(file, {**arrays, "header": np.array(json.dumps(text))})
    return file


def test_a_truncated_file_is_refused(file):
    whole = file.read_bytes()
    for length in (0, 10, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="Argument `path` must be a complete npz file, but .* is not"):
            load(file)


def test_a_damaged_file_is_refused(file):
    whole = bytearray(file.read_bytes())
    whole[len(whole) // 2] ^= 1
    file.write_bytes(whole)
    with pytest.raises(ValueError, match="Argument `path` must be a complete npz file"):
        load(file)


def test_another_version_is_refused(file):
    edited(file, lambda text: text.update(format_version=FORMAT_VERSION + 1))
    with pytest.raises(
        ValueError, match=f"must be of format version {FORMAT_VERSION}, but .* is of version {FORMAT_VERSION + 1}"
    ):
        load(file)


def test_missing_fields_are_named(file, tmp_path):
    with pytest.raises(ValueError, match="is not one"):
        load(tmp_path / "nothing.npz")
    write_arrays(tmp_path / "plain.npz", {"a": np.zeros(2)})
    with pytest.raises(ValueError, match="must be a run file, but .* has no header"):
        load(tmp_path / "plain.npz")
    arrays = read_arrays(file)
    write_arrays(file, {k: v for k, v in arrays.items() if k != "ys"})
    with pytest.raises(ValueError, match="must hold the array `ys`, but does not"):
        load(file)
    write_arrays(file, arrays)
    edited(file, lambda text: text["run"]["fields"]["system"]["fields"].pop("mask"))
    with pytest.raises(
        ValueError, match="must hold the fields that .*TokenFlow` has in this version, but differs in `mask`"
    ):
        load(file)
    edited(file, lambda text: text.pop("versions"))
    with pytest.raises(ValueError, match="lacks the field `versions`"):
        load(file)


def test_a_pickle_is_refused(file):
    np.savez(file, header=np.array({"format": "dynsim run"}, dtype=object))
    with pytest.raises(ValueError, match="must be a complete npz file"):
        load(file)


def test_a_folder_that_cannot_be_written_is_refused(path, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="Argument `path` must be a folder that can be written, but is"):
        save(tmp_path / "file" / "run.npz", path)


def test_a_failed_write_leaves_the_old_file(file, path, monkeypatch):
    before = file.read_bytes()
    monkeypatch.setattr(np.lib.format, "write_array", lambda *a, **k: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(ValueError, match=r"`path` must be a file that can be written, but `.*` is not \(disk full\)"):
        save(file, path)
    assert file.read_bytes() == before
    assert [entry.name for entry in file.parent.iterdir()] == [file.name]


def test_a_write_that_the_system_stops_leaves_the_old_file(tmp_path):
    resource = pytest.importorskip("resource")
    write_arrays(tmp_path / "a.npz", {"a": np.zeros(3)})
    before = (tmp_path / "a.npz").read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, hard))  # as a full disk, half-way through the array
        with pytest.raises(
            ValueError, match=r"must be a file that can be written, but `.*a.npz` is not \(File too large"
        ):
            write_arrays(tmp_path / "a.npz", {"a": np.zeros(100_000)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (tmp_path / "a.npz").read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.npz"]


def test_xarray_names_the_dimensions(path):
    pytest.importorskip("xarray")
    data = to_xarray(path)
    assert data["state"].dims == ("time", "token", "coordinate")
    assert np.array_equal(data["state"], path.ys)
    assert np.array_equal(data["time"], path.ts)
    assert data.attrs["system"] == "TokenFlow"
    assert to_xarray(iterate(LayerMap(FLOW), START, 2))["state"].dims[0] == "layer"


def test_a_missing_xarray_is_said_in_one_sentence(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(
        ValueError, match=r"be converted by xarray \(`pip install dynsim\[io\]`\), but xarray is not installed"
    ):
        to_xarray(path)


def test_fractions_of_any_length_are_stored(tmp_path):
    start = np.array([[Fraction(3**9100, 7**5200 + 1)], [Fraction(-1, 3)], [Fraction(10**4300)]], dtype=object)
    path = path_on_host(ExactHardmaxMap("1/3"), [start, start], np.arange(2))
    save(tmp_path / "run.npz", path)
    found = load(tmp_path / "run.npz").ys
    assert np.all(found == np.stack([start, start]))


def test_values_of_every_kind_come_back_through_json():
    key, weak = jax.random.key(3), jnp.asarray(2.5)
    value = {
        "numbers": (1, 2.5, float("inf"), True, None, "a word"), "exact": [Fraction(-1, 3)], "pairs": {1: 2, (3, 4): 5},
        "arrays": [np.arange(3), jnp.ones(2, jnp.float32), weak, np.array([[Fraction(1, 3), 2]], object)],
        "key": key, "why": Outcome.MAX_STEPS, "state": Two(1.0, 2.0), "function": iterate,
    }  # fmt: skip
    arrays = {}
    told = json.loads(json.dumps(describe("value", value, arrays)))
    back = rebuild(told, arrays, trust=(__name__,))
    plain = ("numbers", "exact", "pairs", "why", "state", "function")
    assert [back[name] for name in plain] == [value[name] for name in plain]
    assert [type(entry) for entry in back["numbers"]] == [type(entry) for entry in value["numbers"]]
    for one, other in zip(back["arrays"], value["arrays"], strict=True):
        assert (type(one), one.dtype, one.tolist()) == (type(other), other.dtype, other.tolist())
    assert (back["arrays"][2].weak_type, back["arrays"][1].weak_type) == (True, False)
    assert jax.random.key_data(back["key"]).tolist() == jax.random.key_data(key).tolist()


@pytest.mark.parametrize(("node", "says"), [
    ({"fraction": "1e9"}, "hold fractions of integers, but holds `1e9`"),
    ({"fraction": "1/00"}, "hold fractions of integers, but holds `1/00`"),
    ({"fraction": 3}, "hold a str in every `fraction`, but holds a int"),
    ({"tuple": "abc"}, "hold a list in every `tuple`, but holds a str"),
    ({"numpy": "a"}, "hold the array `a`, but does not"),
    ({"class": "dynsim.errors:ArgumentError", "fields": {}}, "name only classes with fields, but names"),
    ({"matrix": "a"}, "hold only parts that this version knows, but holds a `matrix`"),
])  # fmt: skip
def test_parts_that_no_file_of_ours_has_are_refused(node, says):
    with pytest.raises(ValueError, match=re.escape(f"Argument `path` must {says}")):
        rebuild(node, {})
