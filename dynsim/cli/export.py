"""`dynsim export`: write equations for XPPAUT, LaTeX, Python, Julia or SBML."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dynsim.cli.parsing.options import Force, say
from dynsim.cli.parsing.system import SystemOptions, parse_system
from dynsim.io.outputs import check_output


@dataclass(frozen=True)
class Export(SystemOptions):
    """Write equations for another program: dynsim export "x' = y; y' = -sin(x) - c*y" --c 0.1 --to python.

    SYSTEM is a text of equations, or a file with one (.ode, .xml, .toml, .txt); its parameters are options of their
    own. Transitions `when(...)` become global events of XPPAUT, or events of SBML.
    """

    to: Literal["xpp", "latex", "python", "julia", "sbml"] = "xpp"
    """xpp (an .ode file), latex, python (with SciPy), julia (with OrdinaryDiffEq) or sbml"""
    out: Path | None = None
    """the file to write; printed if it is not given"""
    force: Force = False


def main(words: Sequence[str]) -> int:
    """Print the equations in the chosen format, or write them to a file."""
    o = parse_system(Export, words, "export")
    if o.out is not None:
        check_output("out", o.out, force=o.force)
    from dynsim.cli.building.systems import found
    from dynsim.equations.export import export

    made = found(o, "export")
    text = export(made.hybrid or made.system, o.to)
    if o.out is None:
        say(text)
        return 0
    from dynsim.io.whole_files import whole_file

    with whole_file(o.out) as part:
        part.write_text(f"{text}\n", encoding="utf-8")
    say(f"file {o.out}")
    return 0
