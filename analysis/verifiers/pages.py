"""Standalone pages of verifiers: one Python file for a verifier, which needs nothing but the standard library.

A verifier is a function of a witness that yields checks, decorated by `verifies` with the statement and a witness that
refutes it. Its page has the definitions of its own module and of `analysis.verifiers.frames` that it uses, directly or
not, as they are written there, and at its end the lines that run it. Nothing is renamed, so that a name that would have
two meanings on one page is refused.
"""

import ast
import functools
import re
import symtable
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
FRAMES = "analysis.verifiers.frames"
SCRIPT = """
if __name__ == "__main__":
    raise SystemExit(main(STATEMENT, WITNESS, checks))
"""
PAPERS = {
    "consensus": "Rodriguez Abella, Silvestre and Tabuada",
    "hardmax": "Alcalde, Fantuzzi and Zuazua",
    "multirate": '"Attention is just another name for coupling?"',
    "prototypes": '"DDCL-Attention"',
    "growing": '"DDCL-INCRT"',
}
"""The papers, as first lines of pages name them."""
CHECKS = '"""Yield what is checked, the number measured, and whether the check holds."""'


@dataclass(frozen=True)
class Verifier:
    """The verifier of a statement: a function of a module."""

    statement: str
    path: Path
    function: str


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


def verifiers() -> dict[str, Verifier]:
    """The verifier of each statement that one refutes, as the ledger spells it."""
    files = [path for path in sorted(FOLDER.glob("*/*.py")) if path.parent.name != "frames"]
    found = {one.statement: one for path in files for one in verifiers_in(path)}
    return dict(sorted(found.items()))


def verifiers_in(path: Path) -> list[Verifier]:
    """The verifiers in a file: the functions with a decorator."""
    functions = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)]
    return [
        Verifier(str(ast.literal_eval(_arguments(one)[0])), path, one.name) for one in functions if one.decorator_list
    ]


def _arguments(verifier: ast.FunctionDef) -> list[ast.expr]:
    """What a verifier says in its decorator: the statement and the witness."""
    (call,) = verifier.decorator_list
    assert isinstance(call, ast.Call)
    return call.args


def file_name(statement: str) -> str:
    """The name of the verifier of a statement or of a reading: `growing/lemma_4` for `growing/lemma-4`."""
    key, _, rest = statement.partition("/")
    return f"{key}/{re.sub('[-./]', '_', rest)}"


def title(statement: str) -> str:
    """The statement and its paper in words: `Theorem 8 (iv) of "DDCL-INCRT"` for `growing/theorem-8-iv/corrected`."""
    key, name, *_ = statement.split("/")
    kind, number, *parts = name.split("-")
    return " ".join([kind.capitalize(), number, *(f"({part})" for part in parts), "of", PAPERS[key]])


def page(verifier: Verifier, frames: Path = FOLDER / "frames") -> str:
    """The standalone page of a verifier: its function as `checks`, and what it uses of its module and of `frames`.

    Raises:
        ValueError: A name would have two meanings, or a module has what a page cannot take.
    """
    module = parsed(verifier.path, verifier.path.stem)
    modules = frame_modules(module, frames) | {module.name: module}
    one, name = written_alone(verifier, module), file_name(verifier.statement).split("/")[1]
    modules |= frame_modules(one, frames)
    every = definitions(one, one.statements, modules)
    check_meanings(one, every, modules)
    before = definitions(one, one.statements[:-1], modules)
    own = [found for place, found in every.items() if place[0] == module.name]
    constants, (checks, tail) = one.statements[:2], one.statements[2:]
    blocks = [
        *(found.text for place, found in before.items() if place[0] != module.name),
        *(found.text for found in own if found.is_function),
        checks.text,
        *(found.text for place, found in every.items() if place not in before),
        tail.text,
    ]
    values = [found.text for found in (*constants, *own) if not found.is_function]
    head = [with_usage(one.docstring, f"{name}.py"), imports(one, every, modules), "\n".join(values)]
    return "\n\n\n".join(["\n\n".join(part for part in head if part), *blocks]) + "\n"


def written_alone(verifier: Verifier, module: Module) -> Module:
    """The statements of a page: STATEMENT, WITNESS and `checks` of a verifier, and the lines that run it."""
    text = verifier.path.read_text()
    tree, lines = ast.parse(text), text.splitlines()
    node = next(one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name == verifier.function)
    doc, witness = node.body[0], _arguments(node)[1]
    if isinstance(witness, ast.Name):
        assigned = [one for one in tree.body if isinstance(one, ast.Assign)]
        witness = next(one.value for one in assigned if ast.unparse(one.targets[0]) == witness.id)
    value, indent = str(ast.get_source_segment(text, witness)), " " * lines[(witness.end_lineno or 1) - 1].find("}")
    values = textwrap.dedent(indent + value)
    docstring = textwrap.dedent("\n".join(lines[doc.lineno - 1 : doc.end_lineno]))
    if not docstring.startswith('"""Verify '):  # it begins with what is printed
        docstring = f'"""Verify an instance that refutes {title(verifier.statement)}.\n\n{docstring[3:]}'
    function = [lines[node.lineno - 1].replace(f"def {node.name}(", "def checks(", 1), f"    {CHECKS}"]
    texts = [
        f'STATEMENT = "{verifier.statement}"', f"WITNESS = {values}",
        "\n".join([*function, *lines[doc.end_lineno : node.end_lineno]]), SCRIPT.strip("\n"),
    ]  # fmt: skip
    statements = tuple(statement(ast.parse(one).body[0], one) for one in texts)
    own = {one.name: (module.name, one.name) for one in module.statements}
    known = {**module.imports, **own, "main": (f"{FRAMES}.script", "main")}
    used = {name: known[name] for one in statements for name in one.reads & known.keys()}
    return Module(file_name(verifier.statement), docstring, used, statements)


def parsed(path: Path, name: str) -> Module:
    """The parts of the module in a file; raise `ValueError` for an import that a page cannot have."""
    return _parsed(path.read_text(), path.name, name)


@functools.cache
def _parsed(text: str, file: str, name: str) -> Module:
    lines, found, statements = text.splitlines(), {}, []
    docstring, *body = ast.parse(text).body
    end = docstring.end_lineno or 0
    for node in body:
        above, end = end, node.end_lineno or 0
        if isinstance(node, ast.Import | ast.ImportFrom):
            found |= imported(node, file)
        elif not (isinstance(node, ast.FunctionDef) and node.decorator_list):
            statements.append(statement(node, "\n".join(lines[above:end]).strip("\n")))
    return Module(name, "\n".join(lines[: docstring.end_lineno]), found, tuple(statements))


def imported(node: ast.Import | ast.ImportFrom, file: str) -> dict[str, tuple[str, str]]:
    """The module and the name of each name that an import binds."""
    names = [alias.name for alias in node.names]
    found = {n: (n, "") for n in names} if isinstance(node, ast.Import) else {n: (str(node.module), n) for n in names}
    known = [module.startswith(f"{FRAMES}.") or module in sys.stdlib_module_names for module, _ in found.values()]
    if not all(known) or any(alias.asname for alias in node.names):
        raise ValueError(f"{file}: `{ast.unparse(node)}` must name a frame or the standard library, without `as`")
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
