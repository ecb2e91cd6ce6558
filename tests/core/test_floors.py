"""Imports point down: a folder has the layer listed here, a module beside the folders that of what it imports."""

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("dynsim", "analysis", "figures")

# The floor of each folder, which the folders inside it share. An import leads to the same floor or to a lower one.
LAYERS = {
    "dynsim/_core": 0,
    "dynsim/_runtime": 0,
    "dynsim/io": 0,
    "dynsim/kernels": 0,
    "dynsim/programs": 0,
    "dynsim/spaces": 1,
    "dynsim/systems": 2,
    "dynsim/equations": 3,
    "dynsim/integrators": 3,
    "dynsim/simulation": 4,
    "dynsim/networks": 5,
    "analysis/tokens": 6,
    "analysis/dynamics": 6,
    "analysis/fast_slow": 6,
    "analysis/hardmax": 6,
    "analysis/chains": 6,
    "analysis/networks": 6,
    "analysis/prototypes": 6,
    "analysis/growing": 6,
    "analysis/experiments": 7,
    "analysis/theorems": 7,
    "analysis/ledger": 8,
    "analysis/claims": 9,
    "analysis/verifiers": 0,  # the standard library and their frames alone
    "figures/panels": 9,
    "figures": 10,
    "dynsim/cli": 11,
}
# Modules that only give out names of others, for users; they stand above everything, so that none of ours imports them.
NAMESPACES = {
    f"dynsim.{name}" for name in ("catalogue", "chains", "fast_slow", "growing", "hardmax", "prototypes", "tokens")
}
# The highest floor for a module beside the folders; `__main__` opens every folder.
HIGHEST = {"dynsim": 0, "analysis": 10, "figures": 10}


@functools.cache
def modules() -> dict[str, Path]:
    found = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a body and those inside of them, without those under `if TYPE_CHECKING`."""
    for node in body:
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            continue
        yield node
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            yield from statements(getattr(node, part, []))


@functools.cache
def imports(module: str) -> frozenset[str]:
    """Return our modules that a module imports; those under `if TYPE_CHECKING` do not run."""
    names = set()
    for node in statements(ast.parse(modules()[module].read_text()).body):
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
    apart = module in PACKAGES or module in NAMESPACES or module.endswith("__main__")
    return folder_of(module) in PACKAGES and not apart


@functools.cache
def layer(module: str) -> int:
    if module in PACKAGES:
        return 0  # the lists of public names
    if module in NAMESPACES:
        return max(LAYERS.values()) + 1
    if beside_the_folders(module):
        return max((layer(name) for name in imports(module)), default=0)
    if module.endswith("__main__"):
        return LAYERS["dynsim/cli"]
    parts = folder_of(module).split("/")
    found = [LAYERS[name] for k in range(len(parts), 0, -1) if (name := "/".join(parts[:k])) in LAYERS]
    assert found, f"the folder of {module} has no layer"
    return found[0]


def test_imports_point_down():
    up = [
        f"{module} ({layer(module)}) imports {name} ({layer(name)})"
        for module in modules()
        for name in imports(module)
        if layer(name) > layer(module)
    ]
    assert not up, "\n".join(up)


def test_modules_beside_the_folders_import_nothing_above_their_highest_floor():
    high = [
        f"{m} reaches layer {layer(m)}"
        for m in modules()
        if beside_the_folders(m) and layer(m) > HIGHEST[m.split(".")[0]]
    ]
    assert not high, "\n".join(high)


def room(module: str) -> str:
    """Return the folder of a module; a module beside the rooms of the workbench or of a package is one by itself."""
    folder = folder_of(module)
    alone = folder in (*PACKAGES, "analysis/dynamics") and modules()[module].name != "__init__.py"
    return f"{folder}/{modules()[module].stem}" if alone else folder


def test_no_folder_imports_itself_through_others():
    arrows: dict[str, set[str]] = {}
    for module in modules():
        if not module.startswith("dynsim.cli"):
            arrows.setdefault(room(module), set()).update({room(name) for name in imports(module)} - {room(module)})
    while free := [name for name, below in arrows.items() if not below & arrows.keys()]:
        for name in free:
            del arrows[name]
    assert not arrows, arrows


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
        if module != "dynsim._core.settings":
            assert "jax.config.update" not in path.read_text(), module
