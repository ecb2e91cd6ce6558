"""Standalone pages of verifiers: one Python file for a verifier, which needs nothing but the standard library.

A verifier has a `STATEMENT`, a `WITNESS` that refutes it, and `checks` of a witness; it imports what it shares with
others from `analysis.verifiers.frames`. Instead of these imports its page has the definitions that it uses, directly or
not, as they are written there, and at its end the lines that run it. Nothing is renamed, so that a name that would have
two meanings on one page is refused.
"""

import ast
import re
import symtable
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
FRAMES = "analysis.verifiers.frames"
SCRIPT = f"""
from {FRAMES}.script import main

if __name__ == "__main__":
    raise SystemExit(main(STATEMENT, WITNESS, checks))
"""


@dataclass(frozen=True)
class PageStatement:
    """A statement at the top level of a module, with the comments above it.

    `name` is what it defines, "" if it defines nothing; `reads` are the global and builtin names that it uses.
    """

    name: str
    text: str
    reads: frozenset[str]
    is_function: bool


@dataclass(frozen=True)
class Module:
    """A verifier or a frame: `imports` maps each imported name to its module and its name there, "" for a module."""

    name: str
    docstring: str
    imports: Mapping[str, tuple[str, str]]
    statements: tuple[PageStatement, ...]

    def meaning(self, name: str) -> tuple[str, str] | None:
        """Where a name of the module is defined, None if it is a builtin."""
        if name in self.imports:
            return self.imports[name]
        return (self.name, name) if any(one.name == name for one in self.statements) else None


Definitions = Mapping[tuple[str, str], PageStatement]
"""Definitions of frames by module and name, in the order in which a page has them."""


def verifiers() -> dict[str, Path]:
    """The file of each verifier by the statement that it refutes, as the ledger spells it."""
    files = [path for path in FOLDER.glob("*/*.py") if path.parent.name != "frames"]
    found = {str(constant(path, "STATEMENT")): path for path in files}
    return dict(sorted(found.items()))


def constant(path: Path, name: str) -> object:
    """The value of a constant of a verifier, read from its source."""
    assigned = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.Assign)]
    return ast.literal_eval(next(node.value for node in assigned if ast.unparse(node.targets[0]) == name))


def file_name(statement: str) -> str:
    """The name of the verifier of a statement or of a reading: `growing/lemma_4` for `growing/lemma-4`."""
    key, _, rest = statement.partition("/")
    return f"{key}/{re.sub('[-./]', '_', rest)}"


def page(path: Path, frames: Path = FOLDER / "frames") -> str:
    """The standalone page of the verifier in a file: its text, and what it uses of the modules in `frames`.

    Raises:
        ValueError: A name would have two meanings, or a module has what a page cannot take.
    """
    verifier = parsed(path, path.stem, SCRIPT)
    modules = frame_modules(verifier, frames)
    ends = [i for i, one in enumerate(verifier.statements, 1) if one.is_function]
    first, last = (ends[0] - 1, ends[-1]) if ends else (len(verifier.statements),) * 2
    before = definitions(verifier, verifier.statements[:last], modules)
    every = definitions(verifier, verifier.statements, modules)
    check_meanings(verifier, every, modules)
    constants, functions, tail = (
        [one.text for one in part]
        for part in (verifier.statements[:first], verifier.statements[first:last], verifier.statements[last:])
    )
    late = [one.text for place, one in every.items() if place not in before]
    blocks = [*(one.text for one in before.values()), *functions, *late, *tail]
    top = [with_usage(verifier.docstring, path.name), imports(verifier, every, modules)]
    head = "\n\n".join(part for part in (*top, "\n".join(constants)) if part)
    return "\n\n\n".join([head, *blocks]) + "\n"


def parsed(path: Path, name: str, ending: str = "") -> Module:
    """The parts of the module in a file and its ending; raise `ValueError` for an import that a page cannot have."""
    text = path.read_text() + ending
    lines, found, statements = text.splitlines(), {}, []
    docstring, *body = ast.parse(text).body
    end = docstring.end_lineno or 0
    for node in body:
        above, end = end, node.end_lineno or 0
        if isinstance(node, ast.Import | ast.ImportFrom):
            found |= imported(node, path)
        else:
            statements.append(statement(node, "\n".join(lines[above:end]).strip("\n")))
    return Module(name, "\n".join(lines[: docstring.end_lineno]), found, tuple(statements))


def imported(node: ast.Import | ast.ImportFrom, path: Path) -> dict[str, tuple[str, str]]:
    """The module and the name of each name that an import binds."""
    names = [alias.name for alias in node.names]
    found = {n: (n, "") for n in names} if isinstance(node, ast.Import) else {n: (str(node.module), n) for n in names}
    known = [module.startswith(f"{FRAMES}.") or module in sys.stdlib_module_names for module, _ in found.values()]
    if not all(known) or any(alias.asname for alias in node.names):
        raise ValueError(f"{path.name}: `{ast.unparse(node)}` must name a frame or the standard library, without `as`")
    return found


def statement(node: ast.stmt, text: str) -> PageStatement:
    """A statement with the names that it defines and uses."""
    is_function = isinstance(node, ast.FunctionDef)
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    name = node.name if is_function else target.id if isinstance(target, ast.Name) else ""
    return PageStatement(name, text, frozenset(reads(symtable.symtable(text, "statement", "exec"))), is_function)


def reads(table: symtable.SymbolTable) -> Iterator[str]:
    """Yield the global and builtin names that a scope and the scopes in it use."""
    yield from (symbol.get_name() for symbol in table.get_symbols() if symbol.is_global() and symbol.is_referenced())
    for inner in table.get_children():
        yield from reads(inner)


def frame_modules(module: Module, frames: Path) -> dict[str, Module]:
    """The frames that a module imports, directly or not, each after those that it imports itself."""
    found: dict[str, Module] = {}
    for name in sorted({name for name, _ in module.imports.values() if name.startswith(f"{FRAMES}.")}):
        frame = parsed(frames / f"{name.removeprefix(FRAMES)[1:]}.py", name)
        if not all(one.name for one in frame.statements):
            raise ValueError(f"{name}: a frame must hold functions and constants alone")
        found |= frame_modules(frame, frames) | {name: frame}
    return found


def definitions(module: Module, statements: Iterable[PageStatement], modules: Mapping[str, Module]) -> Definitions:
    """The definitions of frames that statements of a module use, directly or not."""
    wanted: set[tuple[str, str]] = set()

    def collect(place: Module, used: Iterable[PageStatement]) -> None:
        for name in {name for one in used for name in one.reads}:
            meaning = place.meaning(name)
            if meaning is not None and meaning[0] in modules and meaning not in wanted:
                wanted.add(meaning)
                frame = modules[meaning[0]]
                collect(frame, [one for one in frame.statements if one.name == meaning[1]])

    collect(module, statements)
    known = {(name, one.name): one for name, frame in modules.items() for one in frame.statements}
    return {place: one for place, one in known.items() if place in wanted}


def check_meanings(verifier: Module, used: Definitions, modules: Mapping[str, Module]) -> None:
    """Raise `ValueError` unless each name that a page defines or reads means there what it means in its module."""
    owners = [(verifier, one) for one in verifier.statements] + [(modules[m], one) for (m, _), one in used.items()]
    defined = [(module.name, one.name) for module, one in owners if one.name]
    bound: dict[str, tuple[str, str]] = {}
    for meaning in [*defined, *verifier.imports.values(), *needed(used, modules)]:
        name = meaning[1] or meaning[0]
        if bound.setdefault(name, meaning) != meaning:
            raise ValueError(f"`{name}` is defined in `{bound[name][0]}` and in `{meaning[0]}`: rename one of them")
    for module, one in owners:
        for name in sorted(one.reads):
            if bound.get(name) != module.meaning(name):
                place = bound[name][0]
                raise ValueError(f"`{one.name}` of `{module.name}` means another `{name}` than `{place}`: rename that")


def needed(used: Definitions, modules: Mapping[str, Module]) -> set[tuple[str, str]]:
    """What definitions use of the standard library, as modules and names."""
    meanings = {modules[module].meaning(name) for (module, _), one in used.items() for name in one.reads}
    return {meaning for meaning in meanings if meaning is not None and meaning[0] not in modules}


def imports(verifier: Module, used: Definitions, modules: Mapping[str, Module]) -> str:
    """The imports of a page, which are of the standard library alone."""
    wanted = {*verifier.imports.values(), *needed(used, modules)}
    standard = {(module, name) for module, name in wanted if module not in modules}
    whole = sorted(module for module, name in standard if not name)
    named = {module: sorted(n for m, n in standard if m == module and n) for module, name in sorted(standard) if name}
    return "\n".join(
        [*(f"import {m}" for m in whole), *(f"from {m} import {', '.join(ns)}" for m, ns in named.items())]
    )


def with_usage(docstring: str, file: str) -> str:
    """A docstring with a last paragraph that says how the page is run."""
    text = docstring.removesuffix('"""').rstrip()
    return f'{text}\n\nUsage: python {file} [WITNESS.json]\n"""'
