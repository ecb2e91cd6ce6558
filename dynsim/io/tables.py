"""Tables of numbers with names and units, printed in columns and written as CSV, Parquet or npz by the suffix."""

import csv
import importlib
import importlib.util
import io
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dynsim._core.checked import checked
from dynsim._core.printing import MANY
from dynsim.errors import ArgumentError, counted, reason
from dynsim.io.npz import write_arrays
from dynsim.io.whole_files import whole_file

SUFFIXES = (".csv", ".parquet", ".npz")
"""Suffixes of the files that hold tables."""
FORMAT = "dynsim table"
SHOWN = 20  # number of rows of a printed table; of longer ones the first and last are shown
TINY = 1e-300  # a number below this is printed as 0
WIDE = 100  # width of a printed table in characters; further columns are only named


class Table:
    """Columns of equal length with names and units: numbers, words, or yes and no.

    `table["x"]` is a column, `len(table)` the number of rows, and `table.rows()` lists them as dictionaries. Complex
    columns are split into `name` and `name_imag`.

    Example:
        >>> import numpy as np
        >>> from dynsim import Table
        >>> found = Table({"t": np.array([0.0, 0.5]), "V": np.array([-65.0, 0.1])}, {"t": "ms", "V": "mV"})
        >>> print(found)
        t (ms)  V (mV)
             0     -65
           0.5     0.1
        >>> found.rows()[1]
        {'t': 0.5, 'V': 0.1}
    """

    def __init__(self, columns: Mapping[str, Any], units: Mapping[str, str] | None = None):
        """Store columns by name, and the units of those that have one.

        Raises:
            ValueError: for columns of different lengths, or with more than one axis.
        """
        self.columns: dict[str, np.ndarray] = {}
        self.units = {name: unit for name, unit in (units or {}).items() if unit}
        for name, given in columns.items():
            values = np.asarray(given)
            if np.iscomplexobj(values):
                self.columns[name], self.columns[f"{name}_imag"] = np.real(values), np.imag(values)
                if name in self.units:
                    self.units[f"{name}_imag"] = self.units[name]
            else:
                self.columns[name] = values
        shapes = {values.shape for values in self.columns.values()}
        if len(shapes) > 1 or any(len(shape) != 1 for shape in shapes):
            raise ArgumentError("columns", "have one axis and the same length", f"have shapes {sorted(shapes)}")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.columns)

    @property
    def headings(self) -> list[str]:
        """The names with units in brackets."""
        return [f"{name} ({self.units[name]})" if name in self.units else name for name in self.columns]

    def __len__(self) -> int:
        """Count the rows."""
        return len(next(iter(self.columns.values()), ()))

    def __getitem__(self, name: str) -> np.ndarray:
        """Return a column by its name."""
        return self.columns[name]

    def __repr__(self) -> str:
        """Describe the table in one line."""
        named = ", ".join(self.names[:MANY]) + ", ..." * (len(self.names) > MANY)
        return f"Table({counted(len(self), 'row')}: {named})"

    def rows(self) -> list[dict[str, Any]]:
        """List the rows, each as a dictionary of Python numbers and words."""
        return [
            dict(zip(self.columns, row, strict=True))
            for row in zip(*(values.tolist() for values in self.columns.values()), strict=True)
        ]

    def __str__(self) -> str:
        """Print the columns below their names, the first and last rows of a long table."""
        count, half = len(self), SHOWN // 2
        some = list(range(count)) if count <= SHOWN else [*range(half), *range(count - half, count)]
        cells = [
            [head, *(_shown(values[k]) for k in some)]
            for head, values in zip(self.headings, self.columns.values(), strict=True)
        ]
        widths = [max(map(len, column)) for column in cells]
        kept = max(1, int(np.sum(np.cumsum(np.array(widths) + 2) <= WIDE + 2)))
        lines = [
            "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=False))
            for row in zip(*cells[:kept], strict=True)
        ]
        if count > SHOWN:
            lines.insert(1 + half, f"... {counted(count - SHOWN, 'more row')} ...")
        more = self.headings[kept:]
        return "\n".join([*lines, *([f"and {', '.join(more)}"] if more else [])])


def _shown(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, float | np.floating):
        return "0" if abs(value) < TINY else f"{value:.6g}"
    return str(value)


def check_table_file(name: str, path: Path) -> None:
    """Raise `ValueError` about an argument unless a table can be written to a file of this suffix."""
    if path.suffix not in SUFFIXES:
        raise ArgumentError(name, f"end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}", f"is `{path}`")
    if path.suffix == ".parquet" and importlib.util.find_spec("pyarrow") is None:
        raise ArgumentError(
            name, "end in .csv or .npz unless pyarrow is installed (`pip install dynsim[parquet]`)", f"is `{path}`"
        )


@checked
def write_table(path: str | Path, table: Table) -> None:
    """Write a table as `.csv`, `.parquet` or `.npz`; a reader sees the old file or the whole new one.

    Floats are written with as many digits as they need to be read back exactly. In CSV a heading is the name with the
    unit in brackets, such as `V (mV)`; Parquet keeps units as metadata of the columns, npz as the array `units`. The
    same table always gives the same bytes.

    Args:
        path: the file.
        table: the table, such as `dynsim.table(result)`.

    Raises:
        ValueError: for another suffix, if Parquet needs pyarrow, or if the file cannot be written.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> import dynsim as ds
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ds.write_table(f"{folder}/run.csv", ds.Table({"t": [0.0, 0.1], "V": [-65.0, -64.5]}, {"V": "mV"}))
        ...     Path(f"{folder}/run.csv").read_text().splitlines()
        ['t,V (mV)', '0.0,-65.0', '0.1,-64.5']
    """
    path = Path(path)
    check_table_file("path", path)
    if path.suffix == ".npz":
        header = json.dumps({"format": FORMAT, "columns": table.names, "units": table.units})
        write_arrays(path, {"header": np.array(header), **arrays_of(table)})
        return
    try:
        with whole_file(path, path.suffix) as part:
            if path.suffix == ".csv":
                part.write_bytes(_csv(table).encode())
            else:
                _write_parquet(part, table)
    except OSError as error:
        raise ArgumentError("path", "be a file that can be written", f"`{path}` is not ({reason(error)})") from None


def numbered(name: str, rows: np.ndarray) -> dict[str, np.ndarray]:
    """Split an array with rows on the first axis into columns `name_1`, `name_2` ...; numbers are one column."""
    if np.ndim(rows) == 1:
        return {name: rows}
    flat = np.reshape(rows, (len(rows), math.prod(np.shape(rows)[1:])))  # -1 would be undetermined without rows
    return {f"{name}_{k + 1}": column for k, column in enumerate(flat.T)}


def arrays_of(table: Table) -> dict[str, np.ndarray]:
    """The columns of a table as an npz file holds them: objects, such as exact fractions, as words."""
    return {name: _plain(values) for name, values in table.columns.items()}


def _csv(table: Table) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.headings)
    columns = [[_exact(value) for value in values.tolist()] for values in table.columns.values()]
    writer.writerows(zip(*columns, strict=True))
    return text.getvalue()


def _exact(value: Any) -> str:
    return repr(value) if isinstance(value, float) else str(value)


def _plain(values: np.ndarray) -> np.ndarray:
    """Convert objects, such as exact fractions, to words."""
    return values.astype(str) if values.dtype == object else values


def _write_parquet(path: Path, table: Table) -> None:
    pyarrow, parquet = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    arrays = [pyarrow.array(_plain(values).tolist()) for values in table.columns.values()]
    fields = [
        pyarrow.field(name, array.type, metadata={"unit": table.units[name]} if name in table.units else None)
        for name, array in zip(table.columns, arrays, strict=True)
    ]
    schema = pyarrow.schema(fields, metadata={"format": FORMAT})
    parquet.write_table(pyarrow.Table.from_arrays(arrays, schema=schema), path)


def frame(table: Table) -> Any:
    """Convert a table to a pandas DataFrame, with units in `attrs["units"]`.

    Raises:
        ValueError: if pandas is not installed.
    """
    try:
        import pandas
    except ImportError:
        raise ArgumentError(
            "result", "be converted by pandas (`pip install dynsim[io]`)", "pandas is not installed"
        ) from None
    made = pandas.DataFrame(table.columns)
    made.attrs["units"] = dict(table.units)
    return made
