"""The command line: one door, and nothing heavy behind it until a verb is chosen."""

import importlib
import os
import sys
from collections.abc import Sequence

VERBS = {
    "demo": "simulate, check and draw the paper's first experiment, in a few seconds",
    "list": "list systems, initial laws, statements and figures",
    "simulate": "follow a system, or an ensemble of starts, from options or a TOML file",
    "experiment": "run one of the papers' experiments",
    "check": "check claims and print their verdicts",
    "figure": "compute and draw figures",
    "report": "write the ledger: every statement with its finding",
}


def usage() -> str:
    """Return the help text."""
    rows = "\n".join(f"  {verb:<12}{text}" for verb, text in VERBS.items())
    return f"usage: dynsim VERB [OPTIONS]\n\n{rows}\n\n`dynsim VERB --help` lists the options of a verb."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; bad input is one sentence on stderr and exit status 2."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words or words[0] in ("-h", "--help"):
        print(usage())
        return 0
    verb, rest = words[0], words[1:]
    if verb not in VERBS:
        from dynsim.errors import argument_error, nearest

        return _refuse(
            str(argument_error("verb", f"be one of {', '.join(VERBS)}", f"is `{verb}`{nearest(verb, VERBS)}"))
        )
    try:
        return importlib.import_module(f"dynsim.commands.{verb}").main(rest)
    except KeyboardInterrupt as stop:
        return _refuse(str(stop) or "Stopped.", 130)
    except BrokenPipeError:  # the reader, `head` for example, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except (ValueError, OSError) as error:
        return _refuse(" ".join(str(error).split()))
    except RuntimeError as error:
        from dynsim.errors import IntegrationError, TrainingError

        if not isinstance(error, IntegrationError | TrainingError):
            raise
        return _refuse(str(error))


def _refuse(sentence: str, status: int = 2) -> int:
    print(f"dynsim: {sentence}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
