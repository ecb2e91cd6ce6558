"""Draw errors at random in the code that claims rest on, and estimate the share of them that claims or tests notice.

`python -m tests.quality.random_mutants [MODULE ...] [--count 50] [--seed 0]`: an error changes one operator, number, sign,
comparison, transpose, function or branch in a function for which the tables in `tests/quality/mutations/` have an error, too.
It is tried against the claims of that function, up to `CLAIMS` of them, and if these do not notice it, against the
files of tests that import the module, up to `TESTS`. Some errors change nothing that can be seen (a transpose of a
symmetric matrix, a tolerance): what survives has to be read, and goes to the tables or is equivalent.
With `--tests` errors are drawn from every function of the modules, and tried against their tests alone.
"""

import argparse
import ast
import collections
import dataclasses
import fnmatch
import random
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from scipy.stats import binomtest

from tests.quality.mutants import ROOT, Mutant, file_of, mutants, prepare, run

CLAIMS, TESTS, PER_FUNCTION = 3, 6, 2
CHECKS = ("error", "check", "require", "warn", "finite", "instance", "integer", "real")  # calls that refuse bad input
OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
STRICTNESS = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
DIRECTION = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE}
NAMES = ("max min", "maximum minimum", "sum mean", "sin cos", "sinh cosh", "argmax argmin", "exp expm1")
OTHER = {a: b for pair in map(str.split, NAMES) for a, b in (pair, pair[::-1])}


def changes(node: ast.AST) -> Iterator[ast.expr]:
    """Yield what an expression may become by a small error."""
    match node:
        case ast.BinOp(left, ast.MatMult(), right):
            yield ast.BinOp(left, ast.MatMult(), ast.Attribute(right, "T", ast.Load()))
        case ast.BinOp(left, op, right) if type(op) in OPERATORS and not isinstance(left, ast.JoinedStr):
            yield ast.BinOp(left, OPERATORS[type(op)](), right)
            yield left
        case ast.Compare(left, [op], right):
            for table in (STRICTNESS, DIRECTION):
                if type(op) in table:
                    yield ast.Compare(left, [table[type(op)]()], right)
        case ast.Constant(bool() | str() | bytes() | None):
            return
        case ast.Constant(int(value)):
            yield ast.Constant(value + 1)
        case ast.Constant(float(value)):
            yield ast.Constant(2 * value)
        case ast.UnaryOp(ast.USub() | ast.Not(), operand):
            yield operand
        case ast.BoolOp(op, values):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
        case ast.Attribute(value, "T" | "mT"):
            yield value
        case ast.Attribute(value, name, context) if name in OTHER:
            yield ast.Attribute(value, OTHER[name], context)
        case ast.IfExp(test, body, orelse):
            yield ast.IfExp(test, orelse, body)


def expressions(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the expressions of a function's body, without annotations, docstrings and checks of its input."""
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.Raise() | ast.FunctionDef() | ast.ClassDef() | ast.arguments() | ast.JoinedStr():
                continue
            case ast.Expr(ast.Constant()):
                continue
            case ast.Call(func) if any(word in ast.unparse(func).split(".")[-1] for word in CHECKS):
                continue
            case ast.AnnAssign(value=value):
                if value is not None:
                    yield value
                    yield from expressions(value)
                continue
            case ast.expr():
                yield child
        yield from expressions(child)


def errors_of(module: str, known: Sequence[tuple[int, Sequence[str]]], tests: tuple[str, ...] = ()) -> Iterator[Mutant]:
    """Yield the errors in those functions of a module that the tables know, given lines with the claims they name.

    With files of tests given, those in all its functions, for these tests.
    """
    source = file_of(module).read_text(encoding="utf-8")
    lines = source.splitlines(keepends=True)
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef) or function.name in ("explain", "__init__", "__repr__"):
            continue
        named = [ids for line, ids in known if function.lineno <= line <= int(function.end_lineno or 0)]
        claims = [id for id, _ in collections.Counter(id for ids in named for id in ids).most_common(CLAIMS)]
        body = ast.Module(function.body, [])
        for node in expressions(body) if claims or tests else ():
            first, last = node.lineno - 1, int(node.end_lineno or node.lineno)
            old = "".join(lines[first:last])
            head, tail = (
                lines[first].encode()[: node.col_offset],
                lines[last - 1].encode()[int(node.end_col_offset or 0) :],
            )
            for new in changes(node):
                text = f"({ast.unparse(ast.fix_missing_locations(new))})"
                changed = f"{head.decode()}{text}{tail.decode()}"
                words = f"{module}:{node.lineno} {function.name}: {ast.unparse(node)[:80]} -> {text[:80]}"
                mutant = Mutant(words, module, old, changed, () if tests else tuple(claims), tests=tests)
                if source.count(old) == 1 and _compiles(mutant):
                    yield mutant


def _compiles(mutant: Mutant) -> bool:
    try:
        compile(mutant.mutated(), mutant.path, "exec")
    except (SyntaxError, ValueError):
        return False
    return True


def draw(count: int, *, seed: int = 0, patterns: Sequence[str] = ("*",), by_tests: bool = False) -> list[Mutant]:
    """Return errors drawn at random, at most `PER_FUNCTION` of a function, in modules that match a pattern."""
    pool = list(_in_all_functions(patterns) if by_tests else _in_known_functions(patterns))
    random.Random(seed).shuffle(pool)
    drawn: collections.Counter[str] = collections.Counter()
    chosen = []
    for error in pool:
        where = re.sub(r":\d+", "", error.name.split(": ")[0])
        drawn[where] += 1
        if drawn[where] <= PER_FUNCTION:
            chosen.append(error)
    return chosen[:count]


def _in_all_functions(patterns: Sequence[str]) -> Iterator[Mutant]:
    for path in sorted(path for top in ("dynsim", "analysis", "figures") for path in Path(ROOT, top).rglob("*.py")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        if any(fnmatch.fnmatchcase(module, p) for p in patterns) and (files := importing_files(module)):
            yield from errors_of(module, (), files)


def _in_known_functions(patterns: Sequence[str]) -> Iterator[Mutant]:
    table = collections.defaultdict(list)
    for mutant in mutants():
        if mutant.claims and any(fnmatch.fnmatchcase(mutant.module, p) for p in patterns):
            place = mutant.path.read_text(encoding="utf-8").split(mutant.old)[0].count("\n") + 1
            table[mutant.module].append(
                (place + mutant.old[: len(mutant.old) - len(mutant.old.lstrip())].count("\n"), mutant.claims)
            )
    for module, known in table.items():
        yield from errors_of(module, known)


def importing_files(module: str) -> tuple[str, ...]:
    """Return files of tests of a module, up to `TESTS`: those that the tables name, import it, or name its parts."""
    tabled = [test.split("::")[0] for mutant in mutants() if mutant.module == module for test in mutant.tests]
    source = file_of(module).read_text(encoding="utf-8")
    public = [*re.findall(r"^(?:def|class) ([A-Za-z]\w{4,})", source, re.MULTILINE)]
    files = {path: path.read_text(encoding="utf-8") for path in sorted(Path(ROOT, "tests").glob("test_*.py"))}
    direct = [path for path, text in files.items() if re.search(rf"from {re.escape(module)} import", text)]
    other = [path for path, text in files.items() if any(re.search(rf"\b{name}\b", text) for name in public)]
    found = [str(path.relative_to(ROOT)) for path in (*direct, *other)]
    return tuple(dict.fromkeys([*tabled, *found]))[:TESTS]


def tried(error: Mutant) -> str:
    """Return what noticed an error: `claims`, `tests`, `exception` (of a claim), or `nothing`."""
    (result,) = run([error])
    if error.tests:
        return "tests" if result.noticed else "nothing"
    if result.noticed:
        return "claims"
    if any("Error" in words for words in result.survived):
        return "exception"
    files = importing_files(error.module)
    if files and all(r.killed for r in run([dataclasses.replace(error, claims=(), tests=files)])):
        return "tests"
    return "nothing"


def main(words: Sequence[str]) -> int:
    """Draw errors, print what noticed each of them, and the share that was noticed with its confidence interval."""
    parser = argparse.ArgumentParser(prog="python -m tests.quality.random_mutants", description=__doc__)
    parser.add_argument("modules", nargs="*", default=["*"], help="names of modules, or shell patterns; all by default")
    parser.add_argument("--count", type=int, default=50, help="number of errors")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--tests", action="store_true", help="errors in all functions, tried against tests alone")
    options = parser.parse_args(words)
    found: collections.Counter[str] = collections.Counter()
    with prepare():
        for error in draw(options.count, seed=options.seed, patterns=options.modules, by_tests=options.tests):
            by = tried(error)
            found[by] += 1
            print(f"{by:9}  {error.name}", flush=True)
    total = found.total()
    if not total:
        none = "no module with tests matches" if options.tests else "no table has errors in"
        print(f"{none} {' or '.join(options.modules)}", file=sys.stderr)
        return 2
    seen = total - found["nothing"]
    low, high = binomtest(seen, total).proportion_ci(method="wilson")
    print(f"{seen} of {total} noticed ({low:.0%} to {high:.0%}): {dict(found)}; the rest has to be read")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
