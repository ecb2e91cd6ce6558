"""The wheel: all three packages, typed, and usable outside of the checkout."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "site")
    return folder / "site"


def test_the_wheel_holds_the_three_packages_and_nothing_else(unpacked):
    names = {path.name for path in unpacked.iterdir() if not path.name.endswith(".dist-info")}
    assert names == {"dynsim", "analysis", "figures"}
    (info,) = unpacked.glob("*.dist-info")
    assert (info / "licenses" / "LICENSE").is_file()
    assert "dynsim = dynsim.__main__:command_line" in (info / "entry_points.txt").read_text()
    here = {path.relative_to(ROOT) for name in names for path in (ROOT / name).rglob("*.py*") if path.suffix != ".pyc"}
    there = {path.relative_to(unpacked) for name in names for path in (unpacked / name).rglob("*.py*")}
    assert there == here


def test_the_packages_work_outside_of_the_checkout(unpacked, tmp_path):
    code = (
        "import dynsim, analysis.claims, figures.gallery, numpy as np\n"
        "flow = dynsim.TokenFlow(query_key=np.eye(3))\n"
        "path = dynsim.simulate(flow, flow.space.sample(dynsim.stream(0, 'x'), (4, 3)), [0.0, 1.0])\n"
        "print(dynsim.__file__, analysis.__file__, figures.__file__, len(analysis.claims.claims()) > 0, path.ys.shape)"
    )
    environment = {**os.environ, "PYTHONPATH": str(unpacked)}
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    said = done.stdout.strip()
    assert said.count(str(unpacked)) == 3
    assert said.endswith("True (2, 4, 3)")


def test_the_constraints_are_names_and_versions_only():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9_.-]+==[0-9][A-Za-z0-9.]*", line)] == []
    pinned = {re.sub("[-_.]+", "-", line.split("==")[0]).lower() for line in lines}
    wanted = re.findall(r'"([A-Za-z0-9_-]+)(?:[>=]=)', (ROOT / "pyproject.toml").read_text())
    assert {re.sub("[-_.]+", "-", name).lower() for name in wanted} - pinned == set()
