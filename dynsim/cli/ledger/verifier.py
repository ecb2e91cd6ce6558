"""`dynsim verifier`: write a standalone script that verifies a refutation."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from dynsim.cli.parsing.options import check_outputs, parse, say
from dynsim.errors import ArgumentError

SHOWN = 3  # largest number of similar ids that the error about an unknown one suggests


@dataclass(frozen=True)
class Verifier:
    """Write a script that verifies a refutation in exact arithmetic, independently of this package.

    It needs only Python's standard library: `python SCRIPT` checks its own witness, `python SCRIPT WITNESS.json`
    checks another one, such as the output of `dynsim check ID --witness WITNESS.json`.
    """

    statement: Annotated[str, tyro.conf.Positional]
    """the refuted statement, or one reading of it, as shown by `dynsim list verifiers`"""
    out: Path | None = None
    """the file (.py) to write; by default the script is printed"""
    force: bool = False
    """replace an existing file that dynsim did not write"""


def main(words: Sequence[str]) -> int:
    """Write or print the verifier script."""
    o = parse(Verifier, words, "verifier")
    from analysis.verifiers.pages import file_name, page, verifiers
    from dynsim.io.whole_files import whole_file

    check_outputs(o.force, out_endings=(".py",), out=o.out)
    files = {file_name(statement): path for statement, path in verifiers().items()}
    if file_name(o.statement) not in files:
        must = "have a verifier (`dynsim list verifiers`)"
        raise ArgumentError("statement", must, f"`{o.statement}` has none{_nearest(o.statement, [*verifiers()])}")
    text = page(files[file_name(o.statement)])
    if o.out is None:
        say(text.rstrip("\n"))
        return 0
    with whole_file(o.out) as part:
        part.write_text(text)
    say(f"wrote {o.out}; `python {o.out}` checks its witness")
    return 0


def _nearest(statement: str, known: Sequence[str]) -> str:
    """Suggest readings of a statement and similar ids, ", did you mean `x` or `y`?", or "" if there are none."""
    readings = [one for one in known if one.startswith(statement)]
    found = dict.fromkeys([*readings, *difflib.get_close_matches(statement, known, n=SHOWN, cutoff=0.5)])
    close = [f"`{one}`" for one in found][:SHOWN]
    *others, last = close or [""]
    return f", did you mean {', '.join(others)}{' or ' if others else ''}{last}?" if close else ""
