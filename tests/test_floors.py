"""Imports point down: a folder has the layer listed here, a module beside the folders that of what it imports."""

import ast
import functools
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("dynsim", "analysis", "figures")

# Of the folders; a folder inside one of these has its layer. ARCHITECTURE: the order in which one may import.
LAYERS = {
    "dynsim/io": 0,
    "dynsim/spaces": 1,
    "dynsim/systems": 2,
    "dynsim/integrators": 3,
    "dynsim/networks": 4,
    "analysis/tokens": 5,
    "analysis/dynamics": 5,
    "analysis/fast_slow": 5,
    "analysis/hardmax": 5,
    "analysis/chains": 5,
    "analysis/networks": 5,
    "analysis/prototypes": 5,
    "analysis/growing": 5,
    "analysis/experiments": 6,
    "analysis/ledger": 7,
    "analysis/claims": 8,
    "analysis/verifiers": 0,  # scripts that import the standard library and each other's frames alone
    "figures/panels": 8,
    "figures": 9,
    "dynsim/commands": 10,
}
# What a module beside the folders may reach at most; `__main__` opens every folder.
HIGHEST = {"dynsim": 4, "analysis": 9, "figures": 9}


@functools.cache
def modules() -> dict[str, Path]:
    found = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@functools.cache
def imports(module: str) -> frozenset[str]:
    """Return our modules that a module imports; those under `if TYPE_CHECKING` do not run."""
    tree = ast.parse(modules()[module].read_text())
    idle = {
        child
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        for child in ast.walk(node)
    }
    names = set()
    for node in ast.walk(tree):
        if node in idle:
            continue
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= {name if name in modules() else node.module for name in inner}
    return frozenset(name for name in names if name.split(".")[0] in PACKAGES) - {module}


def folder_of(module: str) -> str:
    return modules()[module].parent.relative_to(ROOT).as_posix()


def beside_the_folders(module: str) -> bool:
    """Whether a module lies in a package itself and not in one of its folders; `__main__` is a command."""
    return folder_of(module) in PACKAGES and module not in PACKAGES and not module.endswith("__main__")


@functools.cache
def layer(module: str) -> int:
    if module in PACKAGES:
        return 0  # the lists of public names
    if beside_the_folders(module):
        return max((layer(name) for name in imports(module)), default=0)
    if module.endswith("__main__"):
        return LAYERS["dynsim/commands"]
    parts = folder_of(module).split("/")
    found = [LAYERS[name] for k in range(len(parts), 0, -1) if (name := "/".join(parts[:k])) in LAYERS]
    assert found, f"the folder of {module} has no layer"
    return found[0]


@pytest.mark.parametrize("module", modules())
def test_imports_point_down(module):
    if beside_the_folders(module):
        assert layer(module) <= HIGHEST[module.split(".")[0]], f"{module} reaches layer {layer(module)}"
    for name in imports(module):
        assert layer(name) <= layer(module), f"{module} ({layer(module)}) imports {name} ({layer(name)})"


def test_no_module_imports_itself_through_others():
    done: set[str] = set()

    def walk(module: str, above: tuple[str, ...]) -> None:
        assert module not in above, " -> ".join([*above, module])
        if module not in done:
            for name in imports(module):
                walk(name, (*above, module))
            done.add(module)

    for module in modules():
        walk(module, ())


def test_measures_and_figures_know_no_claims():
    for module in modules():
        if module.split(".")[0] == "figures" or layer(module) <= LAYERS["analysis/experiments"]:
            known = {name for name in imports(module) if name.startswith(("analysis.ledger", "analysis.claims"))}
            assert not known, f"{module} imports {known}"


def test_the_settings_are_made_in_one_place():
    for module, path in modules().items():
        if module != "dynsim._settings":
            assert "jax.config.update" not in path.read_text(), module
