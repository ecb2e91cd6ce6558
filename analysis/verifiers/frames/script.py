"""The script of a verifier: a witness is read, every check is printed, and the exit status is the verdict."""

import json
import sys
from pathlib import Path


def verifies(statement, witness):
    """Join a function that yields checks of a witness to the statement that it refutes, and to a witness that does."""
    return lambda checks: (statement, witness, checks)


def main(statement, own, checks):
    """Print every check with OK or NOT; return 0 if all hold, 2 if the witness has other names, else 1."""
    given = json.loads(Path(sys.argv[1]).read_text()) if sys.argv[1:] else {"witness": own}
    witness = given.get("witness", given)  # a file of `dynsim check --witness` has more than the witness
    if not own.keys() <= witness.keys():
        print("the witness must have the names", ", ".join(own))
        return 2
    results = list(checks({name: witness[name] for name in own}))
    for what, value, fact in results:
        print("OK " if fact else "NOT", f"{what}: {value}")
    refuted = all(fact for _, _, fact in results)
    print(statement, "is refuted" if refuted else "is not refuted by this witness")
    return 0 if refuted else 1
