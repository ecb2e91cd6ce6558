"""What the faces promise, as text: each name with its signature and the first line of its docstring.

`python -m tests.core.faces` writes it to `faces.txt`, so that every change of a promise is a line in a diff. It is read
from the source, hence types and defaults are those that a reader of the code sees.
"""

import ast
import functools
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIST = Path(__file__).with_name("faces.txt")
LAZY = ("dynsim", "dynsim.networks", "analysis", "analysis.chains", "analysis.dynamics", "analysis.fast_slow",
    "analysis.growing", "analysis.hardmax", "analysis.ledger", "analysis.networks", "analysis.prototypes",
    "analysis.theorems", "analysis.tokens", "figures")  # fmt: skip
"""Packages with a stub, which import a module when one of its names is used."""
NAMESPACES = ("dynsim.catalogue", "dynsim.chains", "dynsim.fast_slow", "dynsim.growing", "dynsim.hardmax",
    "dynsim.prototypes", "dynsim.tokens")  # fmt: skip
"""Modules that `dynsim` imports when they are first used."""
SHORT = 80
"""Characters of a constant that is listed with its value."""
FACES = tuple(sorted(LAZY + NAMESPACES))


def file_of(module: str) -> Path:
    """The stub of a package, or else its `__init__`, or the file of a module."""
    place = ROOT.joinpath(*module.split("."))
    options = (place / "__init__.pyi", place / "__init__.py", place.with_suffix(".py"))
    return next(path for path in options if path.is_file())


@functools.cache
def tree_of(module: str) -> ast.Module:
    """The syntax tree of a module, of a package with a stub that of the stub."""
    return ast.parse(file_of(module).read_text(encoding="utf-8"))


@functools.cache
def names_of(face: str) -> dict[str, str]:
    """The module from which a face takes each of its names, sorted by name."""
    found = {}
    for node in tree_of(face).body:
        if isinstance(node, ast.ImportFrom):
            home = ".".join(part for part in (face * bool(node.level), node.module) if part)
            found |= {alias.asname or alias.name: home for alias in node.names}
    return dict(sorted(found.items()))


def definition(module: str, name: str) -> ast.stmt | None:
    """The statement that defines a name, looked up through modules that give it out; None for a module."""
    if file_of(module).suffix == ".pyi" and name not in names_of(module):
        raise KeyError(f"{module}.{name}")
    for node in reversed(tree_of(module).body):  # the last of several overloads is the one that runs
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            return node
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if name in {target.id for target in targets if isinstance(target, ast.Name)}:
            return node
    home = names_of(module)[name]
    return None if home == module else definition(home, name)


def promises(face: str) -> list[str]:
    """The lines of the list for a face."""
    lines = [face]
    for name in names_of(face):
        node = definition(face, name)
        lines += [f"  {name}: a package or module"] if node is None else _described(name, node)
    return lines


def _described(name: str, node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef):
        return [f"  {_signature(node)}", f"      {_first_line(node)}"]
    if not isinstance(node, ast.ClassDef):
        value = ast.unparse(node)
        return [f"  {value}" if len(value) < SHORT else f"  {name}: a constant"]
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    return [f"  class {name}({bases})", f"      {_first_line(node)}", *(f"      .{line}" for line in _members(node))]


def _members(node: ast.ClassDef) -> list[str]:
    """The fields of a class as they are declared, its initialisation, and its public methods and properties."""
    lines = []
    for member in node.body:
        if isinstance(member, ast.AnnAssign) and not ast.unparse(member.target).startswith("_"):
            lines.append(ast.unparse(member))
        elif isinstance(member, ast.FunctionDef) and (member.name == "__init__" or member.name[0] != "_"):
            kinds = {ast.unparse(decorator) for decorator in member.decorator_list}
            is_property = bool(kinds & {"property", "functools.cached_property"})
            result = f" -> {ast.unparse(member.returns)}" if member.returns else ""
            lines.append(f"{member.name}{result}" if is_property else _signature(member))
    return lines


def _signature(node: ast.FunctionDef) -> str:
    result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{node.name}({ast.unparse(node.args)}){result}"


def _first_line(node: ast.FunctionDef | ast.ClassDef) -> str:
    return (ast.get_docstring(node) or "no docstring").splitlines()[0]


def text() -> str:
    """The whole list."""
    return "\n".join(line for face in FACES for line in promises(face)) + "\n"


if __name__ == "__main__":
    LIST.write_text(text(), encoding="utf-8")
