"""Run the code blocks of a page one after the other in one folder, and keep what each of them shows.

A block of a page is a fence of Python or of a shell. Words after the language say how it is treated: `slow` blocks are
run when the site is built but not by `make test`; `data` blocks need the data files and are run where there are any;
`unrun` blocks need what a machine rarely has, such as a cluster, and are only compiled.
"""

import ast
import contextlib
import datetime
import gc
import io
import linecache
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import textwrap
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>python|sh)(?P<words>[^\n`]*)\n(?P<code>.*?)^(?P=indent)```$", re.M | re.S
)
WORDS = ("slow", "data", "unrun")
LOCAL = (
    (re.compile(r"(?<![\w.:/-])/(?:[\w.-]+/)+[\w.-]*"), "a path of this machine"),
    (re.compile(r" at 0x[0-9a-f]{6,}"), "the address of an object"),
    (re.compile(r"\b\d{1,2}:\d{2}:\d{2}\b"), "a time of day"),
)
"""What differs from one build to the next and may not be printed."""
QUICK = (
    "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
)
VARIABLE = re.compile(r"'[^']*'|\"[^\"]*\"|\$([A-Z_]+)\b")
PIPE = re.compile(r"(?P<command>(?:'[^']*'|\"[^\"]*\"|[^|'\"])*?)(?P<errors>2>&1)?\s*\|(?!\|)(?P<rest>.*)", re.S)


class BlockError(Exception):
    """A block that failed, or that printed what differs from one build to the next."""


@dataclass(frozen=True)
class Block:
    """A block of code of a page: its language, its code, the words after the language, and its first line's number."""

    language: str
    code: str
    words: frozenset[str]
    line: int


@dataclass(frozen=True)
class Shown:
    """What a block shows: text, and pictures as PNG."""

    text: str = ""
    pictures: tuple[bytes, ...] = ()


def blocks(text: str) -> list[Block]:
    """Find the blocks of a page, in order.

    Raises:
        BlockError: for a word after the language that is not known.
    """
    found = []
    for match in FENCE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        words = frozenset(match["words"].split())
        if strange := words - {*WORDS}:
            raise BlockError(
                f"line {line}: a block's words must be among {', '.join(WORDS)}, but `{min(strange)}` is not"
            )
        found.append(Block(match["language"], textwrap.dedent(match["code"]), words, line))
    return found


def run_page(name: str, text: str, skipped: Sequence[str] = ("unrun",)) -> tuple[list[Shown], dict[str, bytes]]:
    """Run the blocks of a page in a new folder; return what each shows, and the files of the text that they wrote.

    Args:
        name: the page's name, for errors.
        text: the page in Markdown.
        skipped: words of blocks that are not run.

    Raises:
        BlockError: naming the page and the line of a block that fails, warns, or prints what differs between builds.
    """
    os.environ.update(MPLBACKEND="agg", SOURCE_DATE_EPOCH="0", COLUMNS="100")
    names: dict[str, Any] = {"__name__": "__main__"}
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            shown = [_shown(names, f"{name}, line {block.line}", block, skipped) for block in blocks(text)]
            written = {one: Path(one).read_bytes() for one in sorted(images(text) | frames(text)) if Path(one).exists()}
        finally:
            os.chdir(before)
    return shown, written


def prepare_process(compiled: str) -> None:
    """Prepare a process that runs pages: it ends with its parent, and shares compiled programs through a folder.

    Programs run for milliseconds, so that compiling them takes most of the time, and that a third without optimisation.
    """
    from dynsim._runtime.interrupts import end_with_parent

    end_with_parent()
    gc.set_threshold(50_000)  # tracing makes many small objects, and the default looks at them too often
    os.environ.update(
        JAX_COMPILATION_CACHE_DIR=compiled,
        JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS="0",
        XLA_FLAGS=f"{QUICK} --xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    )


def images(text: str) -> set[str]:
    """Return the names of the images that lie beside a page, or that its blocks write."""
    return {path for path in re.findall(r"!\[[^\]]*\]\(([\w./-]+)\)", text) if not path.startswith((".", "/"))}


def frames(text: str) -> set[str]:
    """Return the names of the pages that a page shows in frames, which its blocks write."""
    return {path for path in re.findall(r'<iframe src="([\w./-]+)"', text) if not path.startswith((".", "/"))}


def _shown(names: dict[str, Any], where: str, block: Block, skipped: Sequence[str]) -> Shown:
    if block.words & {*skipped}:
        if block.language == "python":
            compile(block.code, where, "exec")
        return Shown()
    shown = run_python(names, where, block.code) if block.language == "python" else run_shell(where, block.code)
    check_same_everywhere(where, shown.text)
    return shown


def run_python(names: dict[str, Any], where: str, code: str) -> Shown:
    """Run a block in the page's names; its last expression is shown as a notebook shows it."""
    printed = io.StringIO()
    try:
        tree = ast.parse(code, where)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        linecache.cache[where] = (len(code), None, code.splitlines(keepends=True), where)  # functions have their source
        with contextlib.redirect_stdout(printed), warnings.catch_warnings():
            warnings.simplefilter("error")
            exec(compile(tree, where, "exec"), names)
            value = None if last is None else eval(compile(ast.Expression(last.value), where, "eval"), names)
            picture = _picture(value)
    except Exception as error:
        raise BlockError(f"{where}: the block ends with {type(error).__name__}: {error}") from error
    text = printed.getvalue().rstrip()
    if picture is None and value is not None:
        text = f"{text}\n{value!r}".lstrip("\n")
    return Shown(text, () if picture is None else (picture,))


def _picture(value: Any) -> bytes | None:
    """Return the PNG of a value that has one: a figure of matplotlib, or a result that draws itself."""
    if hasattr(value, "savefig"):
        from figures.files import rendered

        return rendered(value)[0]
    found = value._repr_png_() if hasattr(value, "_repr_png_") else None
    return found[0] if isinstance(found, tuple) else found


def pieces(code: str) -> list[str]:
    """Split a block of the shell into its commands, each with its here-document and the lines that continue it."""
    found, lines = [], iter(code.splitlines())
    for line in lines:
        piece = [line]
        while piece[-1].endswith("\\"):
            piece.append(next(lines))
        if here := re.search(r"<<'(\w+)'", line):
            for more in lines:
                piece.append(more)
                if more == here[1]:
                    break
        found.append("\n".join(piece))
    return [piece for piece in found if piece.strip()]


def plain_command(piece: str) -> list[str] | None:
    """Return the words after `dynsim` of a command that needs no shell: no pipe, no redirection; variables are read."""
    joined = VARIABLE.sub(
        lambda match: shlex.quote(os.environ.get(match[1], "")) if match[1] else match[0], piece.replace("\\\n", " ")
    )
    words = shlex.split(joined, comments=True)
    unquoted = re.sub(r"\s#.*|'[^']*'|\"[^\"$`]*\"", "", joined)
    return words[1:] if words[:1] == ["dynsim"] and not set("|&;<>()$`\n") & set(unquoted) else None


def piped_command(piece: str) -> tuple[list[str], bool, str] | None:
    """Split `dynsim ... | rest`: the words after `dynsim`, whether errors go through the pipe, too, and the rest."""
    found = PIPE.fullmatch(piece)
    words = found and plain_command(found["command"])
    return (words, bool(found["errors"]), found["rest"]) if found and words is not None else None


def run_shell(where: str, code: str) -> Shown:
    """Run the commands of a block, and stop at the first that fails.

    A command `dynsim`, alone or before a pipe, runs in this process, which has imported what it needs; all others run
    in bash.
    """
    printed = []
    for piece in pieces(code):
        if (words := plain_command(piece)) is not None:
            status, out, errors = run_command(words)
        elif (parts := piped_command(piece)) is not None:
            _, out, errors = run_command(parts[0])  # as in bash, the status is that of the last command
            status, out, errors = run_bash(where, parts[2], errors + out if parts[1] else out)
        else:
            status, out, errors = run_bash(where, piece)
        if status:
            said = (errors.strip() or out.strip()).splitlines()
            raise BlockError(f"{where}: the block ends with exit status {status}: {said[-1] if said else ''}")
        printed.append(out)
    return Shown("".join(printed).rstrip())


def run_command(words: Sequence[str]) -> tuple[int, str, str]:
    """Run a command `dynsim` in this process; return its exit status, and what it wrote."""
    from dynsim.__main__ import main

    printed, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(errors):
        status = main(words)
    return status, printed.getvalue(), errors.getvalue()


def run_bash(where: str, code: str, given: str = "") -> tuple[int, str, str]:
    """Run a command in bash, where `dynsim` is that of this environment; return its exit status, and what it wrote."""
    place = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    bash = shutil.which("bash")
    if bash is None:
        raise BlockError(f"{where}: the block needs bash, which is not installed")
    ran = subprocess.run(
        [bash, "-e", "-c", code],
        input=given,
        text=True,
        capture_output=True,
        env={**os.environ, "PATH": place},
        check=False,
    )
    return ran.returncode, ran.stdout, ran.stderr


def check_same_everywhere(where: str, text: str) -> None:
    """Raise `BlockError` if a text names a path of this machine, the address of an object, a time or today's date."""
    for pattern, what in (
        *LOCAL,
        (re.compile(datetime.datetime.now(tz=datetime.UTC).date().isoformat()), "today's date"),
    ):
        if match := pattern.search(text):
            raise BlockError(
                f"{where}: what a block prints must be the same on every build, but holds {what}: `{match[0].strip()}`"
            )
