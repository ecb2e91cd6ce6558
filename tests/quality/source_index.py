"""Find definitions of this project by qualified name, and expressions in them, on the syntax tree.

A place is named without its file and quoted without its format: `Index.find("TokenFlow.velocity", "-d / temperature")`
parses the expression and compares syntax trees, in every definition of that name. Functions may move between files, and
be formatted anew, and are still found.
"""

import ast
import copy
import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "pyproject.toml").is_file())
PACKAGES = ("dynsim", "analysis", "figures")
VERIFIERS = "analysis.verifiers"
"""Independent pages that repeat formulas of the papers; nothing imports them."""
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
DEFINING = re.compile(r"^[ \t]*(?:(?:(?:async )?def|class) (\w+)|([\w, ()]+?)[ \t]*(?::[^\n]*)?=)", re.MULTILINE)
"""Lines that may define a name; only modules with such a line for a wanted name are parsed."""


@dataclass(frozen=True, eq=False)
class Source:
    """A module and, parsed when they are first asked for, its syntax tree and definitions."""

    module: str
    path: Path
    text: str

    @functools.cached_property
    def tree(self) -> ast.Module:
        """The syntax tree."""
        return ast.parse(self.text)

    @functools.cached_property
    def words(self) -> frozenset[str]:
        """Names that the text may define, without parsing it."""
        found = (name for groups in DEFINING.findall(self.text) for name in groups if name)
        return frozenset(word for name in found for word in re.findall(r"\w+", name))

    @functools.cached_property
    def definitions(self) -> dict[str, list[ast.stmt]]:
        """Statements that define functions, classes, constants and fields of classes, by qualified name."""
        found: dict[str, list[ast.stmt]] = {}
        for name, node in _definitions(self.tree.body, "", in_function=False):
            found.setdefault(name, []).append(node)
        return found

    @functools.cached_property
    def above(self) -> dict[int, tuple[ast.AST, str, int | None]]:
        """The parent of each node, by the node's `id`, with the field and the position in it where the node stands."""
        found: dict[int, tuple[ast.AST, str, int | None]] = {}
        for parent in ast.walk(self.tree):
            for field, value in ast.iter_fields(parent):
                if isinstance(value, list):
                    found |= {id(child): (parent, field, k) for k, child in enumerate(value)}
                elif isinstance(value, ast.AST):
                    found[id(value)] = (parent, field, None)
        return found

    def __repr__(self) -> str:
        return f"Source({self.module})"


@dataclass(frozen=True)
class Place:
    """Where an expression or a run of statements stands: in a field of `parent`, for lists from `start` to `stop`."""

    source: Source
    parent: ast.AST
    field: str
    start: int | None = None
    stop: int | None = None

    @property
    def nodes(self) -> list[ast.AST]:
        """The syntax trees that stand here."""
        value = getattr(self.parent, self.field)
        return [value] if self.start is None else value[self.start : self.stop]

    @property
    def line(self) -> int:
        """The line where it begins."""
        return self.nodes[0].lineno  # pyright: ignore[reportAttributeAccessIssue]

    def replaced(self, new: list[ast.AST]) -> ast.Module:
        """Copy the module's tree with other nodes here; unchanged parts are shared with the original."""
        old = self.nodes[0]
        new = [_located(copy.deepcopy(node), old) for node in new]
        if not new and self.field in ("body", "orelse", "finalbody") and len(getattr(self.parent, self.field)) == 1:
            new = [_located(ast.Pass(), old)] if self.field == "body" else []
        return _copied(self.source, self.parent, self.field, self.filled(new))

    def filled(self, new: list[ast.AST]) -> ast.AST | list[ast.AST]:
        """Give the field of the parent with other nodes here."""
        if self.start is None:
            (value,) = new
            return value
        value = list(getattr(self.parent, self.field))
        value[self.start : self.stop] = new
        return value


class Index:
    """Definitions of several modules by qualified name."""

    def __init__(self, sources: Iterable[Source]):
        self.sources = tuple(sources)
        self.by_module = {source.module: source for source in self.sources}
        self.packages = {source.module for source in self.sources if source.path.name == "__init__.py"}

    def defining(self, name: str) -> list[Source]:
        """List the modules that define a qualified name."""
        wanted = set(name.split("."))
        return [s for s in self.sources if wanted <= s.words and name in s.definitions]

    def find(self, name: str, old: str, new: str, beside: str = "") -> list[tuple[Place, list[ast.AST]]]:
        """List the places of `old` in definitions called `name`, each with the nodes of `new` that fit there.

        Args:
            name: Qualified name without the module: a function, class, method, constant, or field of a class.
            old: An expression, a keyword argument or default `name=value`, or statements, as Python source.
            new: What it becomes, of the same kind; an empty text takes a keyword argument or statements away.
            beside: Another definition of the same module, where several modules define `name` with `old` in it.

        Raises:
            SyntaxError: If `old` or `new` is no Python.
        """
        for text in (old, new):
            ast.parse(text)  # refused even where nothing is found
        found = []
        for source in self.defining(name):
            if not beside or beside in source.definitions:
                for node in source.definitions[name]:
                    found.extend(_matches(source, node, old, new))
        return found


@functools.cache
def project() -> Index:
    """Index all modules of this project, without the verifiers."""
    paths = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    named = [(module_of(path), path) for path in paths]
    return Index(source_of(module, path) for module, path in named if not module.startswith(VERIFIERS))


def module_of(path: Path) -> str:
    """Give the name under which a file of this project is imported."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def source_of(module: str, path: Path) -> Source:
    """Read the file of a module."""
    return Source(module, path, path.read_text(encoding="utf-8"))


def _definitions(body: list[ast.stmt], prefix: str, *, in_function: bool) -> Iterator[tuple[str, ast.stmt]]:
    for node in body:
        if isinstance(node, SCOPES):
            yield prefix + node.name, node
            yield from _definitions(
                node.body, f"{prefix}{node.name}.", in_function=in_function or not isinstance(node, ast.ClassDef)
            )
            continue
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and not in_function:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for name in (part for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)):
                yield prefix + name.id, node
        for field in ("body", "orelse", "finalbody"):
            yield from _definitions(getattr(node, field, []), prefix, in_function=in_function)


def _matches(source: Source, node: ast.stmt, old: str, new: str) -> Iterator[tuple[Place, list[ast.AST]]]:
    expression, changed = _expression(old), _expression(new)
    if expression is not None and changed is not None:
        yield from ((place, [changed]) for place in _expressions(source, node, expression))
        return
    binding, bound = _binding(old), _binding(new)
    if binding is not None and (bound is not None or not new):
        yield from _bindings(source, node, binding, bound)
    statements = ast.parse(old).body
    if statements:
        yield from ((place, list(ast.parse(new).body)) for place in _runs(source, node, statements))


def _expressions(source: Source, node: ast.AST, expression: ast.expr) -> Iterator[Place]:
    kind, wanted = type(expression), ast.dump(expression)
    for parent in ast.walk(node):
        for field, value in ast.iter_fields(parent):
            if isinstance(value, list):
                for k, child in enumerate(value):
                    if type(child) is kind and ast.dump(child) == wanted:
                        yield Place(source, parent, field, k, k + 1)
            elif type(value) is kind and ast.dump(value) == wanted:
                yield Place(source, parent, field)


def _bindings(
    source: Source, node: ast.AST, old: ast.keyword, new: ast.keyword | None
) -> Iterator[tuple[Place, list[ast.AST]]]:
    """Yield keyword arguments and defaults; the default of a parameter cannot be taken away."""
    wanted = ast.dump(old.value)
    for parent in ast.walk(node):
        if isinstance(parent, (ast.Call, ast.ClassDef)):
            for k, keyword in enumerate(parent.keywords):
                if keyword.arg == old.arg and ast.dump(keyword.value) == wanted:
                    yield Place(source, parent, "keywords", k, k + 1), [] if new is None else [new]
        elif isinstance(parent, ast.arguments) and new is not None and new.arg == old.arg:
            positional = [*parent.posonlyargs, *parent.args]
            for field, names in (("defaults", positional[-len(parent.defaults) :]), ("kw_defaults", parent.kwonlyargs)):
                for k, (name, default) in enumerate(zip(names, getattr(parent, field), strict=False)):
                    if name.arg == old.arg and default is not None and ast.dump(default) == wanted:
                        yield Place(source, parent, field, k, k + 1), [new.value]


def _runs(source: Source, node: ast.AST, statements: list[ast.stmt]) -> Iterator[Place]:
    """Yield the places where statements follow each other; `node` itself is such a place in its parent's body."""
    wanted = [ast.dump(statement) for statement in statements]
    kind, count = type(statements[0]), len(statements)
    for parent in (source.tree, *ast.walk(node)):
        for field in ("body", "orelse", "finalbody"):
            body = getattr(parent, field, None)
            for k, child in enumerate(body if isinstance(body, list) else ()):
                if type(child) is not kind or (parent is source.tree and child is not node):
                    continue
                if [ast.dump(s) for s in body[k : k + count]] == wanted:
                    yield Place(source, parent, field, k, k + count)


@functools.cache
def _expression(text: str) -> ast.expr | None:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        return None


@functools.cache
def _binding(text: str) -> ast.keyword | None:
    """Parse `name=value` as a keyword argument, or give None."""
    try:
        call = ast.parse(f"f({text})", mode="eval").body
    except SyntaxError:
        return None
    return call.keywords[0] if isinstance(call, ast.Call) and not call.args and len(call.keywords) == 1 else None


def _located(node: ast.AST, old: ast.AST) -> ast.AST:
    for part in ast.walk(node):
        if "lineno" in part._attributes:
            ast.copy_location(part, old)
    return node


def _copied(source: Source, parent: ast.AST, field: str, value) -> ast.Module:
    """Copy a tree along the way to `parent`, whose field gets another value."""
    changed = copy.copy(parent)
    setattr(changed, field, value)
    while parent is not source.tree:
        parent, name, k = source.above[id(parent)]
        upper = copy.copy(parent)
        if k is not None:
            siblings = getattr(parent, name)
            changed = [*siblings[:k], changed, *siblings[k + 1 :]]
        setattr(upper, name, changed)
        changed = upper
    assert isinstance(changed, ast.Module)
    return changed
