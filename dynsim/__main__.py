"""Entry point of the command line `dynsim`: import the module of the chosen command, and run it."""

import contextlib
import gc
import importlib
import io
import os
import sys
from collections.abc import Iterator, Sequence
from typing import NoReturn

from dynsim._runtime import interrupts
from dynsim._runtime.progress import running

COMMANDS = {
    "demo": "simulate, check and draw the first experiment of the first paper, in a few seconds",
    "list": "list systems, initial distributions, theorems, papers, claims, verifiers, experiments and figures",
    "simulate": "simulate a system from one initial state or many, with options from flags or a TOML file",
    "sweep": "evaluate a function of yours, or measure runs of a system, on a grid of parameters",
    "portrait": "draw the phase portrait of a system of the catalogue, of a paper, or of your own",
    "explore": "write a page with sliders that explores a system in a browser",
    "lyapunov": "compute Lyapunov exponents of a system, for one parameter value or many",
    "section": "draw a Poincare section, a return map, an orbit diagram in one direction or both, or a cobweb",
    "spectrum": "estimate the power spectrum of a trajectory",
    "recurrence": "draw the recurrence plot of a trajectory, with determinism, laminarity and other measures",
    "chaos": "test a trajectory for chaos by the 0-1 test",
    "basins": "find the attractors of a system, and draw their basins or compute basin fractions",
    "continue": "continue equilibria and periodic orbits in a parameter, and draw the bifurcation diagram",
    "phase": "compute the phase response curve of an oscillator, and draw isochrons in the plane",
    "theorem": "check the conditions of a classical theorem for a system",
    "draw": "draw a stored result again, in another size, with other limits, labels and fonts",
    "symbolic": "derive equilibria, stability conditions and bifurcation curves as formulas",
    "export": "write equations for XPPAUT, LaTeX, Python or Julia",
    "cite": "print BibTeX entries of the papers, of dynsim, and of the solver of a run",
    "experiment": "run one of the papers' experiments",
    "check": "check claims and print their verdicts",
    "verifier": "write a standalone script that verifies a refutation with Python's standard library",
    "figure": "compute and draw figures",
    "report": "write the ledger: every statement of the papers with its finding",
}

MODULES = {
    "check": "ledger.check",
    "report": "ledger.report",
    "figure": "ledger.figure",
    "verifier": "ledger.verifier",
    "basins": "basins.command",
    "continue": "continuation.command",
    "sweep": "sweep.command",
    "spectrum": "series.spectrum",
    "recurrence": "series.recurrence",
    "chaos": "series.chaos_test",
    "theorem": "theorem.command",
}
"""Modules in `dynsim.cli` of the commands whose module has another name."""

LISTS = ("systems", "theorems", "papers", "claims", "verifiers", "experiments", "figures")
"""Words that stand for `dynsim list WORD`."""


def usage() -> str:
    """Build the help text of the command line."""
    rows = "\n".join(f"  {command:<12}{text}" for command, text in COMMANDS.items())
    more = (
        "`dynsim COMMAND --help` lists the options of a command, `dynsim systems` the systems, `dynsim theorems` the\n"
        "theorems, `dynsim --version` prints the version."
    )
    where = (
        "Every command takes `--device cpu` or `gpu`, where it computes; by default large work runs on a GPU if there\n"
        "is one, and small work does not. `dynsim --version --verbose` lists the devices."
    )
    return f"usage: dynsim COMMAND [OPTIONS]\n\n{rows}\n\n{more}\n{where}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status: 2 for invalid input, with one sentence on stderr.

    Below the sentence stands the line of a text of equations that is wrong, with a caret.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return _run(words)
    except BrokenPipeError:  # the reader of the pipe, `head` for example, has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def _run(words: list[str]) -> int:
    """Run the command that the first word names."""
    if not words or words[0] in ("-h", "--help"):
        print(usage())
        return 0
    if words[0] == "--version":
        from importlib.metadata import version

        print(f"dynsim {version('dynsim')}")
        if "--verbose" in words[1:]:
            from dynsim._core.placement import report
            from dynsim.kernels import why_no_kernels

            print(report())
            why = why_no_kernels()
            print("CUDA kernels are used." if why is None else f"CUDA kernels are not used: {why}.")
        return 0
    command, rest = ("list", words) if words[0] in LISTS else (words[0], words[1:])
    if command not in COMMANDS:
        from dynsim.errors import ArgumentError, nearest

        but = f"is `{command}`{nearest(command, COMMANDS)}"
        return _refuse(str(ArgumentError("command", f"be one of {', '.join(COMMANDS)}", but)))
    return _answered(command, rest)


def _answered(command: str, rest: list[str]) -> int:
    """Run a command where `--device` says, and report errors that the user can fix in one sentence."""
    from dynsim._core.siblings import SIBLINGS, HiddenPackageError, check_not_hidden
    from dynsim.cli.parsing.solvers import advising_options

    try:
        check_not_hidden(*SIBLINGS)  # before a user's file of the same name would be imported in place of ours
        module = importlib.import_module(f"dynsim.cli.{MODULES.get(command, command)}")
        with advising_options(command, rest), _placed(command, rest) as rest:
            return module.main(rest)
    except KeyboardInterrupt as stop:
        return _refuse(str(stop) or interrupts.message(), interrupts.INTERRUPTED)
    except SystemExit as stop:  # after `--help`
        sys.stdout.flush()
        return int(stop.code or 0)
    except BrokenPipeError:
        raise
    except HiddenPackageError as error:
        return _refuse(str(error))
    except OSError as error:
        place = f" `{error.filename}`" if error.filename else ""
        return _refuse(f"A file{place} cannot be read or written: {error.strerror or error}.")
    except Exception as error:
        sentence = _sentence(error)
        if not sentence:
            raise
        carets = [note for note in getattr(error, "__notes__", ()) if note.endswith("^")]  # JAX adds notes of its own
        return _refuse("\n".join([sentence, *carets]))


@contextlib.contextmanager
def _placed(command: str, words: list[str]) -> Iterator[list[str]]:
    """Take `--device` out of the arguments, and compute there; in this context, also in other processes.

    Without it commands run on the host, apart from experiments, which train networks, and from large work, which
    `simulate` and `ensemble` place by its size.

    Raises:
        ValueError: for a device that is not here.
    """
    rest = [part for word in words for part in (word.split("=", 1) if word.startswith("--device=") else (word,))]
    if command == "list" or "--help" in rest or "-h" in rest:
        yield words  # without importing JAX
        return
    from dynsim._core.placement import VARIABLE, as_device, placed
    from dynsim.errors import ArgumentError

    before = os.environ.get(VARIABLE)
    if "--device" in rest:
        at = rest.index("--device")
        if at + 1 == len(rest):
            raise ArgumentError("--device", "be followed by a device, such as `cpu` or `gpu`", "is not")
        as_device("--device", rest[at + 1])
        os.environ[VARIABLE] = rest[at + 1]
        words = [*rest[:at], *rest[at + 2 :]]
    try:
        with contextlib.nullcontext() if command == "experiment" else placed(0, None):
            yield words
    finally:
        if before is None:
            os.environ.pop(VARIABLE, None)
        else:
            os.environ[VARIABLE] = before


def _sentence(error: Exception) -> str:
    """Word an error that the user can fix; "" for an error in the program."""
    from dynsim.errors import ArgumentError, IntegrationError, TrainingError, UnavailableError

    if isinstance(error, ArgumentError | UnavailableError | IntegrationError | TrainingError):
        return " ".join(str(error).split())
    from dynsim.cli.building.own_code import raised_by_user

    return raised_by_user(error)


def _refuse(sentence: str, status: int = 2) -> int:
    print(f"dynsim: {sentence}", file=sys.stderr)
    return status


def _open_streams() -> None:
    """Make all standard streams writable: closed ones go to the null device, ASCII ones replace other characters.

    Python sets a closed stream to None, and the next file that it opens would get the stream's descriptor.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
            setattr(sys, name, os.fdopen(number, "r" if name == "stdin" else "w", encoding="utf-8"))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def command_line() -> NoReturn:
    """Run the command of this process and end it with its exit status."""
    _open_streams()
    gc.set_threshold(50_000)  # importing and tracing make many small objects that live on
    with interrupts.watched(), running(" ".join(["dynsim", *sys.argv[1:2]])):
        status = main()
    if status == interrupts.INTERRUPTED:
        interrupts.leave(status)
    sys.exit(status)


if __name__ == "__main__":
    command_line()
