"""Compute a digest of everything that a verdict depends on: source code and records of experiments."""

import ast
import functools
import hashlib
import importlib.util
import inspect
from pathlib import Path

from analysis.experiments import results_folder
from analysis.ledger.claim import Claim
from dynsim.io.neighbours import sources

CLAIMS = "analysis.claims"


def source_digest(claim: Claim) -> str:
    """Compute a hexadecimal digest of the code that a claim depends on, and of the records if it reads any.

    The code is all of dynsim, all of analysis except claims and standalone verifiers, the claim's module, and the claim
    modules that it imports. For a user's file it includes the modules beside it that it imports; for another package,
    all of its modules. Records of experiments enter by name, size and modification time.
    """
    digest = hashlib.sha256(_library_digest())
    texts = claim_sources(claim)
    for text in texts:
        digest.update(text)
    if any(b"analysis.experiments" in text for text in texts):
        for path in sorted(results_folder().glob("*/*/*.npz")):
            found = path.stat()
            digest.update(f"{path} {found.st_size} {found.st_mtime_ns}".encode())
    return digest.hexdigest()[:12]


def claim_sources(claim: Claim) -> list[bytes]:
    """Read the modules of claims in which a claim and its trial are written, and those that they import."""
    trial = claim.trial
    own = (CLAIMS,) if trial is None else dict.fromkeys((claim.module, inspect.unwrap(trial).__module__))
    return [path.read_bytes() for module in own if module for path in _sources(module)]


def _sources(module: str) -> list[Path]:
    """List the files of a module of claims and of the modules that it may import, except the library's."""
    package, _, inner = module.partition(".")
    if package == CLAIMS.split(".")[0]:
        return [_file(name) for name in sorted(_imported(module))]
    return sorted(_file(package).parent.rglob("*.py")) if inner else sources(_file(package))


@functools.cache
def _library_digest() -> bytes:
    """Compute a digest of the sources of dynsim and of analysis except its claims and verifiers."""
    digest = hashlib.sha256()
    for path in library_files():
        digest.update(path.read_bytes())
    return digest.digest()


def library_files() -> list[Path]:
    """List the files of dynsim and of analysis on which any claim may depend; claims and verifiers are excluded."""
    tops = [_file(package).parent for package in ("analysis", "dynsim")]
    own = lambda path, top: path.relative_to(top).parts[0] not in ("claims", "verifiers")
    return [path for top in tops for path in sorted(top.rglob("*.py")) if own(path, top)]


@functools.cache
def _imported(module: str) -> frozenset[str]:
    """List a module of claims and the modules of claims that it imports, directly or indirectly."""
    tree = ast.parse(_file(module).read_text())
    named = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    inner = [name for name in named if name.startswith(f"{CLAIMS}.")]
    return frozenset({module}).union(*(_imported(name) for name in inner if name != module))


def _file(module: str) -> Path:
    spec = importlib.util.find_spec(module)
    return Path(str(spec.origin)) if spec is not None else Path()
