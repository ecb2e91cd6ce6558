"""Small errors made on purpose in the code that ships, each with the claims or tests that must notice it.

`python -m tests.quality.mutants [PATTERN ...]` tries those whose names match, or all; `--jobs 2` at a time. The
tables are in `mutations/` beside this file; a row names a definition and an expression in it, and no file: see
`source_index`.
"""

import argparse
import ast
import fnmatch
import importlib
import pkgutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tests.quality.attempts import Attempt, Changed, prepare, run
from tests.quality.source_index import Index, Source, project


@dataclass(frozen=True)
class Mutant:
    """An error: in the definition `where`, `old`, which occurs once, becomes `new`; claims or tests must notice it.

    Each of `claims` must notice it, or one of `tests`, which are addresses of pytest; tests are for code that no claim
    uses. `where` is a qualified name without a module, `TokenFlow.velocity`. `old` and `new` are Python: expressions, a
    keyword argument or default `name=value`, or statements; an empty `new` takes away. They are compared as syntax
    trees. If `old` occurs in definitions of that name in several modules, `beside` names another definition of the
    module that is meant. `equivalent` says why nothing can notice it, where nothing can. `quick` mutants are tried by
    `make test`.
    """

    name: str
    where: str
    old: str
    new: str
    claims: tuple[str, ...] = ()
    equivalent: str = ""
    quick: bool = False
    beside: str = ""
    tests: tuple[str, ...] = ()

    def changed(self, index: Index | None = None) -> Changed:
        """Make the module with the error; raise `ValueError` unless `old` occurs once and `new` is another thing."""
        try:
            found = (index or project()).find(self.where, self.old, self.new, self.beside)
        except SyntaxError as error:
            raise ValueError(f"mutant `{self.name}`: `{self.old}` or `{self.new}` is no Python ({error.msg})") from None
        if len(found) != 1:
            modules = ", ".join(sorted({place.source.module for place, _ in found}))
            times = f"{len(found)} times" + (f" ({modules})" if modules else "")
            raise ValueError(f"mutant `{self.name}`: `{self.old}` must occur once in `{self.where}`, but does {times}")
        ((place, new),) = found
        if list(map(ast.dump, place.nodes)) == list(map(ast.dump, new)):
            raise ValueError(f"mutant `{self.name}`: `{self.old}` becomes itself in `{self.where}`")
        return Changed(place.source.module, str(place.source.path), place.replaced(new))


def stale(rows: Iterable[Mutant], index: Index | None = None) -> list[str]:
    """List the rows whose place is gone, or whose module does not compile with the error, a line for each."""
    lines = []
    for row in rows:
        try:
            changed = row.changed(index)
            _compile(changed, (index or project()).by_module[changed.module])
        except (ValueError, SyntaxError) as error:
            lines.append(str(error))
    return lines


def _compile(changed: Changed, source: Source) -> None:
    """Compile the statements of a changed module that are not those of its source."""
    kept = set(map(id, source.tree.body))
    new = [statement for statement in changed.tree.body if id(statement) not in kept]
    compile(ast.Module(new, []), changed.path, "exec", dont_inherit=True)


def mutants() -> tuple[Mutant, ...]:
    """Return all mutants, table by table; raise `ValueError` for a name that occurs twice."""
    tables = importlib.import_module(f"{__package__}.mutations")
    found: list[Mutant] = []
    for module in pkgutil.iter_modules(tables.__path__):
        found.extend(importlib.import_module(f"{tables.__name__}.{module.name}").MUTANTS)
    names = [mutant.name for mutant in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"names of mutants must differ, but these occur twice: {', '.join(twice)}")
    return tuple(found)


def attempts(chosen: Iterable[Mutant]) -> list[Attempt]:
    """Make the modules of mutants that claims or tests must notice."""
    return [Attempt(m.name, m.changed(), m.claims, m.tests) for m in chosen if not m.equivalent]


def main(words: Sequence[str]) -> int:
    """Try the chosen mutants, print what the claims and tests said, and return 1 if one survived."""
    parser = argparse.ArgumentParser(prog="python -m tests.quality.mutants", description=__doc__)
    parser.add_argument("patterns", nargs="*", help="names of mutants, or shell patterns; all by default")
    parser.add_argument("--jobs", type=int, default=1, help="number of parallel processes")
    options = parser.parse_args(words)
    patterns = options.patterns or ["*"]
    chosen = [m for m in mutants() if any(fnmatch.fnmatchcase(m.name, p) for p in patterns)]
    if not chosen:
        print(f"no mutant is called {' or '.join(patterns)}", file=sys.stderr)
        return 2
    survivors = 0
    with prepare():
        for result in run(attempts(chosen), jobs=options.jobs):
            survivors += not result.killed
            print(f"{'killed  ' if result.killed else 'SURVIVED'}  {result.attempt.name}", flush=True)
            for line in result.survived:
                print(f"            {line}", flush=True)
    same = sum(bool(m.equivalent) for m in chosen)
    print(f"{len(chosen) - same - survivors} killed, {survivors} survived, {same} equivalent")
    return int(survivors > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
