"""A disk that is full after some arrays."""

import errno
import os

import numpy as np


def fill_the_disk(monkeypatch, *, after):
    """Let `after` arrays be written, and stop in the middle of the next one as a full disk does."""
    write, written = np.lib.format.write_array, []

    def limited(file, array, **options):
        if len(written) == after:
            file.write(b"half of")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written.append(1)
        write(file, array, **options)

    monkeypatch.setattr(np.lib.format, "write_array", limited)
