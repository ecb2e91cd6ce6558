"""The reference: a page for each face with every name that it promises, and the command line from its own help."""

import ast
import os
import subprocess
import sys
from pathlib import Path

COMMANDS = "reference/command-line.md"


def pages(root: Path) -> dict[str, str]:
    """Return the pages of the reference by their names on the site."""
    faces = sorted(path for top in ("dynsim", "analysis", "figures") for path in (root / top).rglob("__init__.pyi"))
    found = {}
    for path in faces:
        module = ".".join(path.parent.relative_to(root).parts)
        if names := promised(path, module):
            found[f"reference/{module}.md"] = _face(module, names)
    index = "".join(f"- [{name.split('/')[1].removesuffix('.md')}]({name.split('/')[1]})\n" for name in found)
    found["reference/index.md"] = f"# Python\n\nWhat a user imports stands in these packages.\n\n{index}"
    return found | {COMMANDS: _commands()}


def promised(stub: Path, module: str) -> dict[str, str]:
    """Return the names that a stub promises with the places where they are defined; modules are left out."""
    found = {}
    for node in ast.parse(stub.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            base = module.split(".")[: len(module.split(".")) - node.level + 1] if node.level else []
            for name in node.names:
                found[name.asname or name.name] = ".".join([*base, node.module, name.name])
    return found


def _face(module: str, names: dict[str, str]) -> str:
    parts = [f"# {module}\n"]
    for name, place in sorted(names.items(), key=lambda item: (item[0][0].isupper(), item[0].lower())):
        parts.append(f"::: {place}\n    options:\n      heading: {module}.{name}\n      toc_label: {name}\n")
    return "\n".join(parts)


def _commands() -> str:
    """Return the help of every command, as the command prints it."""
    from dynsim.__main__ import COMMANDS as commands

    parts = ["# Command line\n", "Every command prints this with `--help`.\n"]
    for command in ("", *commands):
        title = f"dynsim {command}".strip()
        parts.append(f"## {title}\n\n```text\n{_help(command)}\n```\n")
    return "\n".join(parts)


def _help(command: str) -> str:
    words = [sys.executable, "-m", "dynsim", *([command] if command else []), "--help"]
    environment = {**os.environ, "COLUMNS": "110", "NO_COLOR": "1"}
    ran = subprocess.run(words, capture_output=True, text=True, env=environment, check=True)
    return ran.stdout.rstrip()
