"""Imports point down: every module is on a floor, and imports from its own floor or below."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("dynsim", "analysis", "figures")

# the longest prefix that matches counts
FLOORS = {
    "dynsim": 0,
    "dynsim._precision": 0,
    "dynsim._types": 0,
    "dynsim.errors": 0,
    "dynsim.papers": 0,
    "dynsim.keys": 0,
    "dynsim.archive": 0,
    "dynsim.progress": 0,
    "dynsim.shelf": 0,
    "dynsim.recipe": 0,
    "dynsim.data": 0,
    "dynsim.spaces": 1,
    "dynsim.systems": 1.1,
    "dynsim.initial_laws": 1.1,
    "dynsim.integrators": 2,
    "dynsim.trajectory": 3,
    "dynsim.systems.hardmax.run": 3.2,
    "dynsim.simulation": 3.1,
    "dynsim.ensembles": 3.2,
    "dynsim.storage": 3.2,
    "dynsim.networks": 3.3,
    "analysis": 4,
    "analysis.chains": 4,
    "analysis.experiments": 4.1,
    "analysis.evidence": 5,
    "analysis.verdict": 5.1,
    "analysis.claim": 5.2,
    "analysis.statement": 5.2,
    "analysis.check": 6,
    "analysis.claims": 8,
    "analysis.ledger": 7,
    "analysis.provenance": 8.5,
    "analysis.report": 9,
    "figures": 7,
    "figures.style": 7,
    "figures.files": 7.05,
    "figures.movie": 7.05,
    "figures.figure": 7.1,
    "figures.panels": 8,
    "figures.consensus": 9,
    "figures.consensus_networks": 9,
    "figures.hardmax": 9,
    "figures.hardmax_reviews": 9.05,
    "figures.multirate": 9,
    "figures.multirate_chains": 9,
    "figures.multirate_network": 9,
    "figures.gallery": 9.1,
    "dynsim.commands": 10,
    "dynsim.__main__": 10,
}
MEASURES = {
    "consensus", "energies", "hemispheres", "linearisation", "monotone", "rates", "equilibria", "limits", "shooting",
    "clusters", "exact", "portrait", "leaders", "polytopes", "candidates", "frozen", "tails", "certificate",
    "approach", "leaks", "folds", "quasi_steady_states", "slow_manifolds", "reductions",
}  # fmt: skip


def modules():
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def floor(module: str) -> float:
    parts = module.split(".")
    if parts[0] == "analysis" and len(parts) == 2 and parts[1] in MEASURES:
        return FLOORS["analysis"]
    for length in range(len(parts), 0, -1):
        prefix = ".".join(parts[:length])
        if prefix in FLOORS:
            if length == 1 and len(parts) > 1:
                break  # a module of its own needs a floor of its own
            return FLOORS[prefix]
    raise AssertionError(f"{module} is on no floor")


def imports(path: Path):
    """Yield the imported modules of our packages; those under `if TYPE_CHECKING` do not run."""
    tree = ast.parse(path.read_text())
    idle = {
        child
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        for child in ast.walk(node)
    }
    for node in ast.walk(tree):
        if node in idle:
            continue
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
            if node.module in PACKAGES or (ROOT / node.module.replace(".", "/")).is_dir():
                whole = [f"{node.module}.{alias.name}" for alias in node.names]
                found = dict(modules())
                names = [name if name in found else node.module for name in whole]
        yield from (name for name in names if name.split(".")[0] in PACKAGES)


@pytest.mark.parametrize(("module", "path"), list(modules()), ids=lambda v: v if isinstance(v, str) else "")
def test_imports_point_down(module, path):
    here = floor(module)
    for name in imports(path):
        if name == module or module == "dynsim" and name == "dynsim":
            continue
        assert floor(name) <= here, f"{module} (floor {here}) imports {name} (floor {floor(name)})"


def test_measures_know_no_claims_and_figures_none_either():
    for module, path in modules():
        parts = module.split(".")
        if parts[0] == "figures" or (parts[0] == "analysis" and len(parts) == 2 and parts[-1] in MEASURES):
            assert not any(name.startswith(("analysis.claim", "analysis.check")) for name in imports(path)), module


def test_the_precision_is_set_in_one_place():
    for module, path in modules():
        if module != "dynsim._precision":
            assert "jax.config.update" not in path.read_text(), module
