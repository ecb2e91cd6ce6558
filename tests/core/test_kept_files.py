"""Files that are found, kept, locked and replaced: neighbours of a file, parts of a run, outputs, locks, data."""

import contextlib
import json
import os
import socket
import sys

import numpy as np
import pytest

from dynsim.errors import ArgumentError, OtherRunError, UnavailableError
from dynsim.io import locks, neighbours, outputs
from dynsim.io.checkpoints import Checkpoints, array_bytes, without_addresses
from dynsim.io.data import VARIABLE, data_file, use_data
from dynsim.io.parts import collected, interrupted
from dynsim.io.whole_files import whole_file


def written(folder, **files):
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_py", ".py").replace("INIT", "__init__")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def code(tmp_path):
    written(
        tmp_path, main_py="import os\nimport numpy as np, first\nfrom pack.inner import x\nfrom .hidden import z\n",
        first_py="from second import y\nimport main\n", second_py="y = 1\n",
        third_py="y = 2\n", hidden_py="", pack__INIT_py="", pack__inner_py="import fourth\nx = 1\n",
        pack__deep__more_py="import fifth", fourth_py="this is no Python", fifth_py="",
    )  # fmt: skip
    return tmp_path


def test_neighbours_are_found_through_one_another_and_a_package_with_all_of_its_files(code):
    found = neighbours.neighbours(code / "main.py")
    paths = {"fifth": "fifth.py", "first": "first.py", "fourth": "fourth.py", "pack": "pack/__init__.py",
             "second": "second.py"}  # fmt: skip
    assert {name: path.relative_to(code).as_posix() for name, path in found.items()} == paths
    assert list(found) == sorted(found)
    package = ["__init__.py", "deep/more.py", "inner.py"]
    listed = [path.relative_to(code / "pack").as_posix() for path in neighbours.modules(code / "pack/__init__.py")]
    assert listed == package
    assert neighbours.modules(code / "first.py") == [code / "first.py"]
    every = [path.relative_to(code).as_posix() for path in neighbours.sources(code / "main.py")]
    assert every[0] == "main.py"
    assert sorted(every[1:]) == sorted(
        ["first.py", "second.py", "fourth.py", "fifth.py", *(f"pack/{name}" for name in package)]
    )
    assert neighbours.neighbours(np.__path__[0] + ".py") == {}  # beside installed packages


def test_modules_beside_a_file_are_found_after_all_others(code, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("first", "second", "fourth", "fifth", "pack", "main"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    with neighbours.importable(code / "main.py"):
        assert sys.path[-1] == str(code)
        import second

        assert second.y == 1
    count = sys.path.count(str(code))
    with neighbours.importable(code / "main.py"):
        pass
    assert sys.path.count(str(code)) == count == 1
    monkeypatch.setitem(sys.modules, "first", os)
    with pytest.raises(ArgumentError, match=r"`first` in `.*main.py` is a different module"), \
            neighbours.importable(code / "main.py"):  # fmt: skip
        pass


def test_only_files_of_dynsim_and_empty_ones_are_replaced(tmp_path, monkeypatch):
    monkeypatch.setattr(outputs, "LOOKED_AT", 32)
    space = b"\n" * 100
    contents = {"own": b"made by dynsim" + space, "at the end": space + b"<!-- dynsim -->", "empty": b"",
                "wide": "dynsim".encode("utf-32-le") + space, "claim": b'{"claim": 1}' + space}  # fmt: skip
    foreign = {"other": b"something" + space, "amid": space + b"dynsim" + space, "near": b"dynsi m"}
    for name, content in {**contents, **foreign}.items():
        (tmp_path / name).write_bytes(content)
        if name in contents:
            outputs.check_output("out", tmp_path / name, force=False)
        else:
            with pytest.raises(ArgumentError, match="`out` must be a new file, or one that dynsim wrote"):
                outputs.check_output("out", tmp_path / name, force=False)
        outputs.check_output("out", tmp_path / name, force=True)
    outputs.check_output("out", tmp_path / "new folder" / "file", force=False)
    assert (tmp_path / "new folder").is_dir()
    for path, what in ((tmp_path, "a folder"), ("/dev/null", "a device")):
        with pytest.raises(ArgumentError, match=f"`out` must be a regular file, but `.*` is {what}"):
            outputs.check_output("out", type(tmp_path)(path), force=True)


def test_parts_are_collected_in_order_and_those_that_are_kept_are_not_computed_again(tmp_path):
    kept, asked = Checkpoints(tmp_path, "one", None), []
    read = lambda kept, k: float(kept.read(k)["value"])
    write = lambda kept, k, value: kept.write(k, {"value": np.asarray(value)})

    def run(numbers, said):
        asked.append((numbers, said()))
        for k in reversed(numbers):
            if k == 0 and len(asked) == 1:
                raise KeyboardInterrupt
            yield k, 10.0 * k

    with pytest.raises(KeyboardInterrupt, match=r"The trial was interrupted after 7 of 9 members; they are kept in"):
        collected("trial", "members", [2, 3, 4], run, kept, read, write, False)
    assert [kept.has(k) for k in range(3)] == [False, True, True]
    assert collected("trial", "members", [2, 3, 4], run, kept, read, write, False) == [0.0, 10.0, 20.0]
    assert [numbers for numbers, _ in asked] == [[0, 1, 2], [0]]
    assert asked[1][1] == interrupted("trial", "members", 7, 9, kept).rstrip(".")
    assert collected("trial", "members", [2, 3], lambda n, said: ((k, -k) for k in n), None, read, write, False) == [
        0, -1,
    ]  # fmt: skip
    assert interrupted("a", "b", 1, 2, None).endswith("after 1 of 2 b; none is kept, because no `folder` was given.")
    kept.check()
    with pytest.raises(OtherRunError, match="holds parts of another run"):
        Checkpoints(tmp_path, "two", None).check()
    with pytest.raises(OtherRunError, match="holds parts of another run"):
        Checkpoints(tmp_path, "two", None).has(1)
    assert not Checkpoints(tmp_path, "two", None).has(7)


def test_parts_of_trees_come_back_as_they_were(tmp_path):
    part = {"a": np.arange(3), "b": (np.float32(2.5), np.eye(2))}
    import jax

    kept = Checkpoints(tmp_path, "one", jax.tree.structure(part))
    kept.save(12, part)
    assert (tmp_path / "part-00012.npz").is_file()
    for one, two in zip(jax.tree.leaves(kept.load(12)), jax.tree.leaves(part), strict=True):
        np.testing.assert_array_equal(one, two)
        assert one.dtype == np.asarray(two).dtype
    assert without_addresses("<f at 0x7f3a>, 12") == "<f at >, 12"
    same = array_bytes(np.ones((2, 3)))
    others = [np.ones((3, 2)), np.ones(6), np.ones((2, 3), np.float32), 2 * np.ones((2, 3))]
    assert same == array_bytes(np.ones((2, 3)))
    assert same not in [array_bytes(one) for one in others]


def test_a_lock_holds_while_its_process_runs_and_not_after(tmp_path):
    own = {"process": os.getpid(), "began": locks._began(os.getpid()), "machine": socket.gethostname()}
    lock = tmp_path / locks.NAME
    with locks.held("folder", tmp_path):
        assert json.loads(lock.read_text()) == own
        with pytest.raises(ArgumentError, match=f"is held by process {os.getpid()} on {socket.gethostname()}"), \
                locks.held("folder", tmp_path):  # fmt: skip
            pass
        assert [path.name for path in tmp_path.iterdir()] == [locks.NAME]
        with locks.held("folder", tmp_path, "another"):
            pass
    assert list(tmp_path.iterdir()) == []
    gone = {**own, "process": 2**22 + 12345}  # above the largest number of a process
    for found in (gone, {**own, "began": "earlier"}, {"process": "none"}, [1, 2]):
        lock.write_text(json.dumps(found))
        with locks.held("folder", tmp_path):
            assert json.loads(lock.read_text()) == own
        assert not lock.exists()
    lock.write_text("no json")
    with locks.held("folder", tmp_path):
        lock.write_text(json.dumps(gone))  # of another run by now
    assert json.loads(lock.read_text()) == gone
    lock.write_text(json.dumps({**gone, "machine": "elsewhere"}))
    with pytest.raises(ArgumentError, match="on elsewhere"), locks.held("folder", tmp_path):
        pass


def test_data_files_are_in_the_folder_that_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "elsewhere"))
    (tmp_path / "two.txt").write_text("2")
    assert data_file("two.txt", tmp_path) == tmp_path / "two.txt"
    with pytest.raises(UnavailableError, match="a folder that holds `two.txt`, but `.*elsewhere` does not"):
        data_file("two.txt")
    use_data(None)
    assert os.environ[VARIABLE] == str(tmp_path / "elsewhere")
    use_data(tmp_path)
    assert data_file("two.txt") == tmp_path / "two.txt"
    with pytest.raises(ArgumentError, match="`data` must name a folder"):
        use_data(tmp_path / "two.txt")
    monkeypatch.setenv(VARIABLE, "")
    with pytest.raises(UnavailableError, match="but none is given"):
        data_file("two.txt")


def test_a_file_is_replaced_as_a_whole_or_stays(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    failing = contextlib.ExitStack()
    part = failing.enter_context(whole_file(path, ".txt"))
    part.write_text("half")
    assert (part.suffix, path.read_text()) == (".txt", "old")
    with pytest.raises(ZeroDivisionError), failing:
        raise ZeroDivisionError
    assert [one.name for one in tmp_path.iterdir()] == ["a.txt"]
    with whole_file(path) as part:
        part.write_text("new")
    assert (path.read_text(), len(list(tmp_path.iterdir()))) == ("new", 1)
