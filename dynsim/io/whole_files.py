"""Write files completely or not at all."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from dynsim._runtime.interrupts import wrote


@contextlib.contextmanager
def whole_file(path: Path, suffix: str = "") -> Iterator[Path]:
    """Yield a temporary path whose file replaces `path` atomically when the context ends without an error.

    `suffix` ends the temporary name, for writers that infer the format from it. After a failure the temporary file is
    removed.
    """
    part = path.with_name(f".{path.stem if suffix else path.name}.{os.getpid()}.part{suffix}")
    try:
        yield part
        os.replace(part, path)  # noqa: PTH105  (atomic, and the same on every system)
        wrote(str(path))
    finally:
        part.unlink(missing_ok=True)
