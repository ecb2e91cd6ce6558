"""Write the result of a command to the file of `--out`: whole as .npz, or as a table."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dynsim.cli.parsing.options import say, typed_as


def write_out(
    path: Path | None,
    result: Any,
    store: Callable[[Path], None] | None = None,
    what: str = "run file",
    drawing: Mapping[str, Any] | None = None,
) -> None:
    """Write a result to a file: by `store` if it ends in .npz, otherwise as the table of `dynsim.table`.

    Args:
        path: the file; nothing is written if it is None.
        result: the result.
        store: writes all of the result to an .npz file, of the kind `what`; without it that file is a table, which
            also holds the whole result if `save_result` can store it.
        what: what is printed about that file.
        drawing: options of the result's `plot` with which `dynsim draw` draws it again.
    """
    if path is None:
        return
    if path.suffix == ".npz" and store is not None:
        store(path)
        say(f"{what} {path}")
        return
    from analysis.stored_results import is_stored, save_result
    from analysis.tables import table
    from dynsim.io.tables import write_table

    with typed_as(path="out"):
        if path.suffix == ".npz" and is_stored(result):
            save_result(path, result, **(drawing or {}))
        else:
            write_table(path, table(result))
    say(f"table {path}")
