"""A digest of everything that a verdict depends on: source code and records of experiments."""

import ast
import functools
import hashlib
import importlib.util
from pathlib import Path

from analysis.experiments import results_folder
from analysis.ledger.claim import Claim

CLAIMS = "analysis.claims"


def source_digest(claim: Claim) -> str:
    """Return a hexadecimal digest of the code that a claim depends on, and of the records if it reads any.

    The code is all of dynsim, all of analysis but its claims, the claim's module, and the claim modules that it
    imports. Records of experiments enter by name, size and modification time.
    """
    digest = hashlib.sha256(_library_digest())
    own = claim.trial.__module__ if claim.trial is not None else CLAIMS
    sources = [_file(module).read_bytes() for module in sorted(_imported(own))]
    for source in sources:
        digest.update(source)
    if any(b"analysis.experiments" in source for source in sources):
        for path in sorted(results_folder().glob("*/*/*.npz")):
            found = path.stat()
            digest.update(f"{path} {found.st_size} {found.st_mtime_ns}".encode())
    return digest.hexdigest()[:12]


@functools.cache
def _library_digest() -> bytes:
    """Return a digest of the sources of dynsim and of all of analysis but its claims."""
    digest = hashlib.sha256()
    for package in ("analysis", "dynsim"):
        for path in sorted(_file(package).parent.rglob("*.py")):
            if "claims" not in path.parts:
                digest.update(path.read_bytes())
    return digest.digest()


@functools.cache
def _imported(module: str) -> frozenset[str]:
    """Return a module of claims and the modules of claims that it imports, directly or indirectly."""
    tree = ast.parse(_file(module).read_text())
    named = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    inner = [name for name in named if name.startswith(f"{CLAIMS}.")]
    return frozenset({module}).union(*(_imported(name) for name in inner if name != module))


def _file(module: str) -> Path:
    spec = importlib.util.find_spec(module)
    return Path(str(spec.origin)) if spec is not None else Path()
