"""Check the conditions of a theorem: the command `dynsim theorem`."""

from collections.abc import Sequence

from dynsim.cli.parsing.options import check_outputs, say
from dynsim.cli.parsing.system import parse_system
from dynsim.cli.theorem.entries import ENTRIES, TheoremEntry
from dynsim.cli.theorem.given import TheoremInput
from dynsim.cli.theorem.options import OWN, Theorem
from dynsim.errors import ArgumentError, check_at_least, nearest
from dynsim.io.outputs import check_output

MUST = "be one of those that `dynsim theorems` lists"


def main(words: Sequence[str]) -> int:
    """Check the conditions, print the table, and write the files; the exit status says whether the theorem applies."""
    if not words or (words[0].startswith("-") and words[0] not in ("-h", "--help")):
        raise ArgumentError("theorem", MUST, "is missing")
    if words[0] in ("-h", "--help"):
        parse_system(Theorem, words, "theorem")
        return 0
    name, rest = words[0], words[1:]
    if name not in ENTRIES:
        raise ArgumentError("theorem", MUST, f"is `{name}`{nearest(name, ENTRIES)}")
    o = parse_system(Theorem, rest, "theorem")
    entry = ENTRIES[name]
    _check_options(o, name, entry)
    check_at_least(1, boxes=o.boxes)
    check_outputs(o.force, figure=o.figure)
    if o.out is not None:
        if o.out.suffix != ".json":
            raise ArgumentError("out", "end in .json", f"is `{o.out}`")
        check_output("out", o.out, force=o.force)
    from dynsim.cli.building.systems import found

    made = found(o, "theorem")
    if made.hybrid is not None and not entry.hybrid:
        raise ArgumentError("system", f"be without transitions `when(...)` for {name}", "has some")
    if made.hybrid is None and entry.hybrid:
        raise ArgumentError("system", f"be equations with transitions `when(...)` for {name}", "has none")
    found_ = entry.call(o, TheoremInput(o, made))
    say(str(found_))
    if o.out is not None:
        from dynsim.io.whole_files import whole_file

        with whole_file(o.out) as part:
            part.write_text(f"{found_.to_json()}\n", encoding="utf-8")
        say(f"file {o.out}")
    if o.figure is not None:
        found_.plot().save(o.figure, f"{found_.theorem}")
        say(f"figure {o.figure}")
    return {"holds": 0, "fails": 1, "undecided": 3}[found_.status]


def _check_options(o: Theorem, name: str, entry: TheoremEntry) -> None:
    """Refuse options that the theorem does not take."""
    usual = {field: Theorem.__dataclass_fields__[field].default for field in OWN}
    for option in OWN:
        if option not in entry.options and getattr(o, option) != usual[option]:
            takes = ", ".join(f"`--{one}`" for one in entry.options) or "none"
            raise ArgumentError(option, f"be left out for {name}, which takes {takes}", "is given")
