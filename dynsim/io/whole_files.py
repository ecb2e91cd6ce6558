"""Files that are written whole or not at all."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from dynsim._runtime.interrupts import wrote


@contextlib.contextmanager
def whole_file(path: Path, suffix: str = "") -> Iterator[Path]:
    """Yield a temporary name beside a file, which what is written there replaces at once when the context ends well.

    `suffix` is that of the temporary name, for writers that take the format from it. What a failure leaves is removed.
    """
    part = path.with_name(f".{path.stem if suffix else path.name}.{os.getpid()}.part{suffix}")
    try:
        yield part
        os.replace(part, path)  # noqa: PTH105  (atomic, and the same on every system)
        wrote(str(path))
    finally:
        part.unlink(missing_ok=True)
