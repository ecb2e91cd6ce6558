"""`dynsim cite`: print the BibTeX entries of the papers, of dynsim, and of the solvers that a run used."""

import contextlib
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import tyro

from dynsim.cli.parsing.options import check_outputs, parse, say, typed_as
from dynsim.errors import ArgumentError, nearest
from dynsim.papers import PAPERS

METHODS = {
    "DOP853": "hairer2008solving-i",
    "RK45": "dormand1980family",
    "RK23": "bogacki1989pair",
    "Radau": "hairer2002solving-ii",
    "BDF": "shampine1997matlab",
    "LSODA": "petzold1983automatic",
}
"""References of SciPy's methods, by their names."""

SOLVERS = {
    "diffrax": ("diffrax:Tsit5",),
    "scipy": ("scipy", "hairer2008solving-i"),
    "stiff": ("scipy", "hairer2002solving-ii"),
    "rkc2": ("diffrax:", "sommeijer1998rkc"),
    "symplectic": ("yoshida1990construction",),
    "noise": ("kloeden1992numerical",),
}
"""References of the solvers of the command line; what follows `diffrax:` is a solver that diffrax cites."""

OF_CLASSES = {
    "RKC2": SOLVERS["rkc2"],
    "Symplectic": SOLVERS["symplectic"],
    "EulerMaruyama": SOLVERS["noise"],
    "EulerHeun": SOLVERS["noise"],
    "StochasticHeun": SOLVERS["noise"],
}
"""References of dynsim's own methods."""

PAPER_OF = {
    "tokens": "consensus", "hardmax": "hardmax", "prototypes": "prototypes", "growing": "growing",
    "fast_slow": "multirate", "master_equation": "multirate",
}  # fmt: skip
"""Papers of the systems in the folders of `dynsim.systems`."""

ENTRY = re.compile(r"^@\w+\{([^,]+),.*?^\}", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Cite:
    """Print BibTeX entries: of dynsim, the five papers and the default solver, or of what is named.

    Of a run file they are those of dynsim, of the paper that its system belongs to, and of the solver that was used.
    """

    what: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """keys of papers, solvers (diffrax, scipy, stiff, rkc2, symplectic, noise), or run files (.npz)"""
    out: Path | None = None
    """a BibTeX file (.bib) to write, instead of printing"""
    force: bool = False
    """replace an existing file that dynsim did not write"""


def main(words: Sequence[str]) -> int:
    """Print or write the entries."""
    o = parse(Cite, words, "cite")
    check_outputs(o.force, out=o.out, out_endings=(".bib",))
    text = "\n\n".join(entries(o.what or (*PAPERS, "diffrax")).values()) + "\n"
    if o.out is None:
        say(text.rstrip())
        return 0
    from dynsim.io.whole_files import whole_file

    with whole_file(o.out) as part:
        part.write_text(text, encoding="utf-8")
    say(f"references {o.out}")
    return 0


def entries(what: Sequence[str]) -> dict[str, str]:
    """Find the entries of dynsim and of what is named, by their keys.

    Raises:
        ValueError: for a name that is no paper, solver or run file.
    """
    own, found = _own(), {}
    for key in ["dynsim", *(key for word in what for key in _keys(word))]:
        found |= _of_diffrax(key.removeprefix("diffrax:")) if key.startswith("diffrax:") else {key: own[key]}
    return found


def _keys(word: str) -> list[str]:
    """Keys of the references of a paper, a solver or a run file."""
    if word.endswith(".npz"):
        return _of_run(word)
    if word in SOLVERS:
        return [*SOLVERS[word]]
    if word not in PAPERS:
        known = [*PAPERS, *SOLVERS]
        raise ArgumentError("what", f"be {', '.join(known)}, or a run file", f"is `{word}`{nearest(word, known)}")
    return [word]


def _of_run(file: str) -> list[str]:
    """Keys of the paper and of the solver of a run file, from its header; no code of it is imported."""
    from dynsim.simulation.run_files import header

    with typed_as(path="what"):
        recipe = header(file)["run"]
    found = []
    for name, fields in _classes(recipe):
        module, _, kind = name.partition(":")
        folder = module.removeprefix("dynsim.systems.").partition(".")[0]
        if module.startswith("dynsim.systems.") and folder in PAPER_OF:
            found.append(PAPER_OF[folder])
        elif kind == "Scipy":
            found += ["scipy", METHODS[fields["method"]]]
        elif kind in OF_CLASSES:
            found += OF_CLASSES[kind]
        elif module.startswith("diffrax."):
            found.append(f"diffrax:{kind}")
    return found


def _classes(recipe: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Names and fields of all classes in a recipe, from the outside in."""
    parts = recipe if isinstance(recipe, list) else recipe.values() if isinstance(recipe, dict) else ()
    if isinstance(recipe, dict) and isinstance(recipe.get("class"), str) and isinstance(recipe.get("fields"), dict):
        yield recipe["class"], recipe["fields"]
    for part in parts:
        yield from _classes(part)


def _own() -> dict[str, str]:
    """The entries that dynsim knows, by their keys."""
    text = (Path(__file__).parent / "references.bib").read_text(encoding="utf-8")
    return _split(text.replace("VERSION", version("dynsim")))


def _of_diffrax(kind: str) -> dict[str, str]:
    """Entries that `diffrax.citation` knows for diffrax itself and a solver, if `kind` is the name of one."""
    import diffrax

    made: Any = getattr(diffrax, kind, None)
    is_solver = isinstance(made, type) and issubclass(made, diffrax.AbstractSolver)
    if kind and not is_solver:
        return {}  # a part of a solver, such as its root finder
    control = diffrax.PIDController(rtol=1e-6, atol=1e-6)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        diffrax.citation(stepsize_controller=control, **({"solver": made()} if is_solver else {}))
    return _split(printed.getvalue())


def _split(text: str) -> dict[str, str]:
    """The entries of a BibTeX text by their keys, the first of each."""
    found: dict[str, str] = {}
    for match in ENTRY.finditer(text):
        found.setdefault(match[1], match[0])
    return found
