"""npz files: their sizes are known before anything is decompressed, and outputs are regular files."""

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from dynsim.io import npz
from dynsim.io.npz import LIMIT, read_arrays, write_arrays


def _bomb(path: Path, size: int) -> None:
    content = io.BytesIO()
    np.lib.format.write_array_header_1_0(content, {"descr": "<f8", "fortran_order": False, "shape": (size // 8,)})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("a.npy", "w") as member:
        member.write(content.getvalue())
        for _ in range(size // 2**20):
            member.write(bytes(2**20))


def test_an_archive_that_expands_beyond_the_limit_is_refused_before_it_is_decompressed(tmp_path, monkeypatch):
    _bomb(tmp_path / "bomb.npz", 2**25)
    assert (tmp_path / "bomb.npz").stat().st_size < 2**16
    assert read_arrays(tmp_path / "bomb.npz")["a"].nbytes == 2**25
    monkeypatch.setenv(LIMIT, str(2**24))
    monkeypatch.setattr(np.lib.format, "read_array", lambda *a, **k: pytest.fail("decompressed"))
    must = r"hold at most 16,777,216 bytes of arrays \(the variable DYNSIM_MAX_BYTES sets the limit\)"
    with pytest.raises(ValueError, match=f"Argument `path` must {must}, but `.*` holds 33,554,560"):
        read_arrays(tmp_path / "bomb.npz")
    monkeypatch.setenv(LIMIT, "much")
    with pytest.raises(ValueError, match="Argument `DYNSIM_MAX_BYTES` must be a number of bytes, but is `much`"):
        read_arrays(tmp_path / "bomb.npz")


def test_a_header_that_promises_more_than_the_member_holds_allocates_nothing(tmp_path, monkeypatch):
    content = io.BytesIO()
    np.lib.format.write_array_header_1_0(content, {"descr": "<f8", "fortran_order": False, "shape": (2**40,)})
    with zipfile.ZipFile(tmp_path / "z.npz", "w") as archive:
        archive.writestr("a.npy", content.getvalue() + bytes(8))
    monkeypatch.setattr(np.lib.format, "read_array", lambda *a, **k: pytest.fail("allocated"))
    with pytest.raises(ValueError, match=r"must be a complete npz file, but `.*` is not \(`a.npy` is not as long"):
        read_arrays(tmp_path / "z.npz")


def test_a_device_is_not_replaced_by_a_file():
    device = Path("/dev/full")
    if not device.is_char_device():
        pytest.skip("there is no /dev/full")
    with pytest.raises(ValueError, match="Argument `path` must be a file, but is the device or pipe `/dev/full`"):
        write_arrays(device, {"a": np.zeros(1)})
    assert device.is_char_device()


def test_archives_beyond_the_counter_of_their_end_record_are_read(tmp_path, monkeypatch):
    path = tmp_path / "many.npz"
    write_arrays(path, {"a": np.arange(2.0), "b": np.ones(1)})
    monkeypatch.setattr(npz, "_number_of_members", lambda file: 0xFFFF)
    assert sorted(read_arrays(path)) == ["a", "b"]
    monkeypatch.setattr(npz, "_number_of_members", lambda file: 3)
    with pytest.raises(ValueError, match="does not have the number of members"):
        read_arrays(path)
