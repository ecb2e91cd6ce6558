"""The standalone scripts of refutations, run as a reader runs them, and the claims whose witness is none of theirs."""

import ast
import functools
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "analysis" / "verifiers"
FILES = {path.relative_to(FOLDER).with_suffix("").as_posix(): path for path in sorted(FOLDER.rglob("*.py"))}

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
def run(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a verifier in an interpreter without site packages, environment or current directory on its path."""
    command = [sys.executable, "-I", "-S", str(FILES[name]), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def constant(name: str, of: str) -> Any:
    """Return a constant of a verifier, read from its source."""
    assigned = [node for node in ast.parse(FILES[name].read_text()).body if isinstance(node, ast.Assign)]
    return ast.literal_eval(next(node.value for node in assigned if ast.unparse(node.targets[0]) == of))


def file_of(statement: str) -> str:
    """Return the name of the verifier of a statement or a reading of one."""
    key, _, rest = statement.partition("/")
    return f"{key}/{re.sub('[-./]', '_', rest)}"
