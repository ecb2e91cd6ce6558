"""A class has a name of its own: two files have no classes of the same name, public or private, for different things.

Left out are the option classes of the command line: a command has the name of what it computes.
"""

import ast
import re
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]


def classes(*folders: str) -> dict[str, set[str]]:
    """Return the files in which classes of each name are defined; only names that two texts have are parsed for."""
    texts = {path: path.read_text(encoding="utf-8") for folder in folders for path in (ROOT / folder).rglob("*.py")}
    named = {path: {*re.findall(r"^[ \t]*class (\w+)", text, flags=re.MULTILINE)} for path, text in texts.items()}
    counts = Counter(name for names in named.values() for name in names)
    found: dict[str, set[str]] = defaultdict(set)
    for path in (path for path, names in named.items() if any(counts[name] > 1 for name in names)):
        for node in ast.walk(ast.parse(texts[path])):
            if isinstance(node, ast.ClassDef) and not _is_command(path, node):
                found[node.name].add(str(path.relative_to(ROOT)))
    return found


def _is_command(path: Path, node: ast.ClassDef) -> bool:
    """Whether a class holds the options of a command."""
    return path.is_relative_to(ROOT / "dynsim/cli") and any("dataclass" in ast.unparse(d) for d in node.decorator_list)


def test_no_two_files_have_classes_of_the_same_name():
    twice = {name: sorted(files) for name, files in classes("analysis", "dynsim", "figures").items() if len(files) > 1}
    assert twice == {}
