"""The standalone pages of verifiers, run as a reader runs them, and the claims whose witness is none of theirs."""

import ast
import atexit
import functools
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from analysis.verifiers import pages

FRAMES = sorted((pages.FOLDER / "frames").glob("*.py"))
FILES = {pages.file_name(statement): one for statement, one in pages.verifiers().items()}
"""The verifiers by the names of their pages."""

RUN_OF_A_NETWORK = (
    "the claim runs a network with random weights; the verifier has a layer of the kind with rational states"
)
RUN_OF_THE_ALGORITHM = (
    "the claim runs the Algorithm from a random start; the verifier has a rational state of such a run"
)
OTHER_WITNESS = {
    "growing/claim-prototypes-raise-residual": RUN_OF_THE_ALGORITHM,
    "growing/corollary-2/algorithm": RUN_OF_THE_ALGORITHM,
    "multirate/claim-euler-step": RUN_OF_A_NETWORK,
    "multirate/proposition-21-full-slow": RUN_OF_A_NETWORK,
    "multirate/proposition-21/secant-over-the-sequence": RUN_OF_A_NETWORK,
}
"""Claims with a verifier that takes another witness than theirs, and why."""


@functools.cache
def folder() -> Path:
    """Return an empty folder for the pages of this session, which is removed at its end."""
    made = tempfile.TemporaryDirectory(prefix="pages-of-verifiers-")
    atexit.register(made.cleanup)
    return Path(made.name)


@functools.cache
def written(name: str) -> Path:
    """Write the page of a verifier, once in a session, and return its file."""
    file = folder() / f"{name}.py"
    file.parent.mkdir(exist_ok=True)
    file.write_text(pages.page(FILES[name]))
    return file


BATCH = """
import contextlib, io, json, runpy, sys
done = []
for page, *arguments in json.load(sys.stdin):
    sys.argv = [page, *arguments]
    with contextlib.redirect_stdout(io.StringIO()) as said:
        try:
            runpy.run_path(page, run_name="__main__")
            status = None
        except SystemExit as end:
            status = end.code
    done.append((status, said.getvalue()))
json.dump(done, sys.stdout)
"""


def run_several(commands: Sequence[Sequence[str]]) -> list[tuple[int, str]]:
    """Run pages one after another in one interpreter like that of `run`; return exit statuses and outputs.

    Each command has the name of a verifier and its arguments. To start an interpreter takes longer than most pages.
    """
    pages_with_arguments = json.dumps([[str(written(name)), *arguments] for name, *arguments in commands])
    command = [sys.executable, "-I", "-S", "-c", BATCH]
    done = subprocess.run(command, input=pages_with_arguments, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return json.loads(done.stdout)


@functools.cache
def run(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a verifier's page in an interpreter without site packages, environment or current directory on its path."""
    command = [sys.executable, "-I", "-S", str(written(name)), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def constant(name: str, of: str) -> Any:
    """Return a constant of a verifier, read from its page."""
    assigned = [node for node in ast.parse(written(name).read_text()).body if isinstance(node, ast.Assign)]
    return ast.literal_eval(next(node.value for node in assigned if ast.unparse(node.targets[0]) == of))
