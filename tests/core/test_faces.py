"""Faces: what users import from, what it promises, and that nothing heavy is loaded before a name is used."""

import ast
import importlib
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.core.faces import FACES, LAZY, LIST, NAMESPACES, ROOT, definition, file_of, names_of, text

HEAVY = ("jax", "numpy", "scipy", "matplotlib", "diffrax", "equinox", "tyro", "sympy")
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
SOURCES = [path for package in ("dynsim", "analysis", "figures") for path in sorted((ROOT / package).rglob("*.py"))]


def test_the_list_of_promises_is_up_to_date():
    assert LIST.read_text(encoding="utf-8").splitlines() == text().splitlines(), (
        "`python -m tests.core.faces` writes it"
    )


def test_every_package_with_a_stub_is_a_face():
    stubs = [path.parent for package in ("dynsim", "analysis", "figures") for path in (ROOT / package).rglob("*.pyi")]
    found = {".".join(folder.relative_to(ROOT).parts) for folder in stubs}
    assert found == {*LAZY, "dynsim.integrators"}


@pytest.mark.parametrize("face", FACES)
def test_every_name_resolves_and_none_is_private(face):
    module = importlib.import_module(face)
    names = list(names_of(face))
    assert list(getattr(module, "__all__", names)) == names
    assert [name for name in names if name.startswith("_")] == []
    for name in names:
        found = getattr(module, name)
        if isinstance(definition(face, name), ast.FunctionDef | ast.ClassDef):
            assert found.__name__ == name
            assert found.__doc__


def test_no_name_is_given_out_twice():
    once = {}
    for face in FACES:
        if face.startswith("dynsim"):
            for name in names_of(face):
                assert once.setdefault(name, face) == face, f"{name} is in {once[name]} and {face}"


@pytest.mark.parametrize("path", [file_of(face) for face in LAZY], ids=lambda path: path.parent.name)
def test_stubs_give_names_out_as_type_checkers_want_it(path):
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        assert isinstance(node, ast.ImportFrom)
        assert node.level == 1
        assert all(alias.asname == alias.name for alias in node.names)


@pytest.mark.parametrize("package", ["dynsim", "analysis", "figures"])
def test_packages_are_typed(package):
    assert (ROOT / package / "py.typed").is_file()


def loaded(code: str) -> set[str]:
    """Run code in a new process and return the modules that it has loaded, of others the heavy ones."""
    code += "\nimport sys; print(*(m for m in sys.modules if m.split('.')[0] in "
    code += f"('dynsim', 'analysis', 'figures') or m in {HEAVY}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return set(done.stdout.splitlines()[-1].split())


def test_importing_faces_loads_nothing_but_them():
    own = {"dynsim", "dynsim._core", "dynsim._core.siblings", "analysis", "figures"}
    assert loaded("import dynsim, analysis, figures") == own
    assert not loaded(f"import {', '.join(LAZY)}").intersection({*HEAVY, *NAMESPACES})
    assert not loaded("import dynsim.__main__ as m; import analysis, figures; m.main(['--help'])").intersection(HEAVY)


def test_a_name_loads_its_module_and_no_namespace():
    found = loaded("import dynsim as ds; ds.random_key")
    assert "jax" in found
    assert not found.intersection(NAMESPACES)
    found = loaded("from analysis import tokens; tokens.diameter")
    assert "analysis.tokens.consensus" in found
    assert not {"analysis.tokens.densities", "analysis.dynamics"} & found


def clashes() -> dict[str, tuple[str, ...]]:
    """Names of each face that are also those of modules in it, the modules that it gives out left out."""
    found = {}
    for face in LAZY:
        folder = file_of(face).parent
        shared = [name for name, home in names_of(face).items() if home != face and _is_module(folder / name)]
        found |= {face: tuple(shared)} if shared else {}
    return found


def _is_module(place: Path) -> bool:
    return place.with_suffix(".py").is_file() or (place / "__init__.py").is_file()


def test_a_module_of_the_same_name_never_replaces_what_a_face_gives_out():
    assert {"dynsim", "dynsim.networks"}.isdisjoint(clashes())
    names = [f"{face}.{name}" for face, shared in clashes().items() for name in shared]
    assert "analysis.ledger.claim" in names
    code = "import importlib, types, sys\nfound = []\nfor name in sys.argv[1:]:\n    importlib.import_module(name)\n"
    code += "    face, _, last = name.rpartition('.')\n    found.append(getattr(sys.modules[face], last))\n"
    code += "print(all(isinstance(one, types.FunctionType) for one in found), len(found))"
    done = subprocess.run([sys.executable, "-c", code, *names], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split() == ["True", str(len(names))]


def imported_from_faces(tree: ast.AST) -> list[str]:
    """List the names that imports take from faces; a module inside a face is none of its names."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module in FACES:
            homes = names_of(node.module)
            found += [f"{node.module}.{a.name}" for a in node.names if homes.get(a.name, node.module) != node.module]
    return found


def test_the_library_does_not_import_from_faces():
    texts = {path: path.read_text(encoding="utf-8") for path in SOURCES}
    likely = re.compile(rf"from (?:{'|'.join(map(re.escape, FACES))}) import")  # few texts are parsed
    found = {path: imported_from_faces(ast.parse(text)) for path, text in texts.items() if likely.search(text)}
    assert {path.name: names for path, names in found.items() if names} == {}
    assert imported_from_faces(ast.parse("from dynsim.tokens import TokenFlow")) == ["dynsim.tokens.TokenFlow"]


def examples(page: str) -> list[str]:
    """Return the Python that a page shows: blocks, and files that a shell writes; without modules of the library."""
    blocks = re.findall(r"^ *```(\w*)[^\n]*\n(.*?)^ *```$", page, flags=re.MULTILINE | re.DOTALL)
    python = [textwrap.dedent(block) for kind, block in blocks if kind in ("python", "py")]
    shell = "\n".join(block for kind, block in blocks if kind in ("sh", "bash"))
    files = re.findall(r"^cat > \S+\.py <<'(\w+)'\n(.*?)^\1$", shell, flags=re.MULTILINE | re.DOTALL)
    return [block for block in python if not block.startswith("# dynsim/")] + [block for _, block in files]


def past_faces(block: str) -> list[str]:
    """List the imports of a block from our packages that do not go through a face."""
    found = []
    for node in ast.walk(ast.parse(block)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in ("dynsim", "analysis", "figures"):
            names = names_of(node.module) if node.module in FACES else {}
            found += [f"{node.module}.{alias.name}" for alias in node.names if alias.name not in names]
        elif isinstance(node, ast.Import):
            ours = [alias.name for alias in node.names if alias.name.split(".")[0] in ("dynsim", "analysis", "figures")]
            found += [name for name in ours if name not in FACES]
    return found


def test_an_import_past_the_faces_is_found():
    page = "```python\nfrom dynsim.simulation.simulate import simulate\n```\n"
    page += "```sh\ncat > a.py <<'END'\nimport figures.style\nEND\n```\n"
    assert [past_faces(block) for block in examples(page)] == [
        ["dynsim.simulation.simulate.simulate"],
        ["figures.style"],
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_pages_import_from_faces_only(page):
    assert [name for block in examples(page.read_text(encoding="utf-8")) for name in past_faces(block)] == []


@pytest.mark.parametrize("package", ["dynsim", "analysis", "figures"])
def test_examples_in_docstrings_import_from_faces_only(package):
    lines = {}
    for path in SOURCES:
        if path.is_relative_to(ROOT / package):
            shown = re.findall(r"^ *>>> ((?:from|import) .*)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
            lines |= {path: [name for line in shown for name in past_faces(line)]}
    assert {path.name: names for path, names in lines.items() if names} == {}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_names_in_a_page_are_names_of_faces(page):
    others = "develop" in page.parts or page.name in ("CONTRIBUTING.md", "CHANGELOG.md")  # these name modules, too
    shown = "" if others else page.read_text(encoding="utf-8")
    for name in re.findall(r"`((?:dynsim|analysis|figures)(?:\.\w+)+)[`(]", shown):
        parts = name.split(".")
        face = next(".".join(parts[:k]) for k in range(len(parts), 0, -1) if ".".join(parts[:k]) in FACES)
        rest = name.removeprefix(face).lstrip(".").split(".")[0]
        assert not rest or rest in names_of(face), name
