"""The wheel: all three packages, typed, and usable outside of the checkout; and the source distribution."""

import email
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

from dynsim.papers import PAPERS

ROOT = Path(__file__).parents[2]
PACKAGES = ("dynsim", "analysis", "figures")


def built(kind: str, folder: Path) -> Path:
    """Build the wheel or the source distribution and return its file."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (file,) = folder.iterdir()
    return file


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    zipfile.ZipFile(built("wheel", tmp_path_factory.mktemp("wheel"))).extractall(folder)
    return folder


def test_the_wheel_holds_the_three_packages_and_nothing_else(unpacked):
    names = {path.name for path in unpacked.iterdir() if not path.name.endswith(".dist-info")}
    assert names == {*PACKAGES}
    assert all((unpacked / name / "py.typed").is_file() for name in PACKAGES)
    (info,) = unpacked.glob("*.dist-info")
    assert {path.name for path in (info / "licenses").iterdir()} == {"LICENSE", "NOTICE"}
    assert "dynsim = dynsim.__main__:command_line" in (info / "entry_points.txt").read_text()
    here = {path.relative_to(ROOT) for name in names for path in (ROOT / name).rglob("*.py*") if path.suffix != ".pyc"}
    there = {path.relative_to(unpacked) for name in names for path in (unpacked / name).rglob("*.py*")}
    assert there == here


def test_the_metadata_name_authors_licence_and_topics(unpacked):
    (info,) = unpacked.glob("*.dist-info")
    found = email.message_from_string((info / "METADATA").read_text(encoding="utf-8"))
    assert found["Author"] == "the dynsim developers"
    assert found["License-Expression"] == "Apache-2.0"
    kinds = found.get_all("Classifier")
    assert not [kind for kind in kinds if kind.startswith("License ::")]  # PEP 639: the expression stands alone
    assert {"Intended Audience :: Science/Research", "Typing :: Typed"} <= {*kinds}


def test_the_citation_is_that_of_the_package():
    said = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    ((author,), (known,)) = project["authors"], said["authors"]
    assert (said["version"], said["license"], known) == (project["version"], project["license"], author)
    begins = [re.split(r"[:,?]", paper.title)[0] for paper in PAPERS.values()]
    assert [re.split(r"[:,?]", one["title"])[0] for one in said["references"]] == begins
    assert all(one["authors"] for one in said["references"])


def test_the_source_distribution_has_the_documents(tmp_path):
    with tarfile.open(built("sdist", tmp_path)) as file:
        names = {name.split("/", 1)[1] for name in file.getnames()}
    documents = {"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "CITATION.cff", "LICENSE", "NOTICE", "Makefile"}
    assert {*documents, "docs/pages/develop/architecture.md", "constraints.txt", "pyproject.toml"} <= names
    pages = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert pages <= names


def test_the_packages_work_outside_of_the_checkout_and_drawing_needs_no_pyplot(unpacked, tmp_path):
    code = (
        "import sys, dynsim, analysis.claims, figures.gallery, numpy as np\n"
        "figures.gallery.FIGURES\n"
        "assert 'matplotlib' in sys.modules and 'matplotlib.pyplot' not in sys.modules\n"
        "flow = dynsim.tokens.TokenFlow(query_key=np.eye(3))\n"
        "path = dynsim.simulate(flow, flow.space.sample(dynsim.random_key(0, 'x'), (4, 3)), [0.0, 1.0])\n"
        "print(dynsim.__file__, analysis.__file__, figures.__file__, len(analysis.claims.statements()) > 0)\n"
        "print(path.ys.shape)"
    )
    environment = {**os.environ, "PYTHONPATH": str(unpacked)}
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    said = done.stdout.strip()
    assert said.count(str(unpacked)) == 3
    assert said.endswith("True\n(2, 4, 3)")


def test_the_constraints_are_names_and_versions_only():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9_.-]+==[0-9][A-Za-z0-9.]*", line)] == []
    pinned = {re.sub("[-_.]+", "-", line.split("==")[0]).lower() for line in lines}
    wanted = re.findall(r'"([A-Za-z0-9_-]+)(?:[>=]=)', (ROOT / "pyproject.toml").read_text())
    assert {re.sub("[-_.]+", "-", name).lower() for name in wanted} - pinned == set()
