"""Keep how tests draw and what commands say in a file beside the tests, and compare with it in later runs.

`python -m tests.support.kept tests/figures tests/cli` keeps what these folders do now, where a change is meant. It runs
them twice, with and without optimisation of programs, and keeps what both agree on, so that rounding does not matter.
Tests that a file lacks are not compared, and neither are slow ones.
"""

import itertools
import os
import re
import subprocess
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path

QUICK = "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false --xla_cpu_multi_thread_eigen=false"
WRITE = "DYNSIM_KEEP"
"""The variable that names a suffix: files with it hold what the tests of this run do."""
COMPARED = "DYNSIM_KEPT"
"""The variable that is set to `no` where numbers are rounded otherwise, as by other kernels of BLAS."""
NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:e[-+]?\d+)?")
TINY = 1e-7


class Kept:
    """What tests do, as lines of text for each test; a file holds four digits for each line.

    Args:
        file: the file.
        header: its first line; a file with another one is not compared.
    """

    def __init__(self, file: Path, header: str):
        self.file, self.header, self.writes = file, header, os.environ.get(WRITE, "")
        self.now: dict[str, str] = {}
        found, *lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else [""]
        same = found == header and not self.writes and os.environ.get(COMPARED, "yes") == "yes"
        self.wanted = dict(line.split("\t") for line in lines) if same else {}

    def compare(self, test, lines: Sequence[str]) -> None:
        """Compare what a test does with what is kept for it; fail with the lines that differ."""
        name = f"{test.path.name}::{test.name}"
        if self.writes and lines and test.get_closest_marker("slow") is None:
            self.now[name] = " ".join(map(code, lines))
        if name in self.wanted:
            kept = self.wanted[name].split()
            other = [line for line, was in itertools.zip_longest(lines, kept) if line is None or code(line) != was]
            assert not other, f"{len(other)} of {len(kept)} lines are others than in {self.file.name}: {other[:3]}"

    def write(self) -> None:
        """Write what the tests of this run did, if asked."""
        if self.writes and self.now:
            rows = [f"{name}\t{digits}" for name, digits in sorted(self.now.items())]
            text = "\n".join([self.header, *rows]) + "\n"
            self.file.with_suffix(self.writes).write_text(text, encoding="utf-8")


def code(line: str) -> str:
    """Return four hexadecimal digits for a line."""
    return f"{zlib.crc32(line.encode()) % 16**4:04x}"


def rounded(text: str) -> str:
    """Replace the numbers of a text by their first three digits, about, and tiny ones by zero."""
    return NUMBER.sub(_rounded, text)


def _rounded(found: re.Match[str]) -> str:
    value = float(found[0])
    return f"{value:.0f}" if value.is_integer() else f"{value + 1.2345e-6 * value:.3g}" if abs(value) > TINY else "0"


def main(folders: Sequence[str]) -> None:
    """Run the tests of some folders twice, and keep what both runs agree on."""
    for suffix, flags in ((".quick", QUICK), (".full", "--xla_cpu_multi_thread_eigen=false")):
        environment = os.environ | {WRITE: suffix, "XLA_FLAGS": flags}
        subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *folders], env=environment)
    for file in (file for folder in folders for file in Path(folder).glob("*.quick")):
        texts = [one.read_text(encoding="utf-8").splitlines() for one in (file, file.with_suffix(".full"))]
        both = [line for line in texts[0] if line in set(texts[1])]
        file.with_suffix(".txt").write_text("\n".join(both) + "\n", encoding="utf-8")
        for one in (file, file.with_suffix(".full")):
            one.unlink()


if __name__ == "__main__":
    main(sys.argv[1:])
