"""The user's lines that raised an exception, and what to write in place of what JAX cannot trace."""

import linecache
import re
import sysconfig
import traceback
from pathlib import Path

import jax
import jax.numpy as jnp

SHOWN = 100  # characters of a source line that an error quotes
OURS = tuple(Path(__file__).resolve().parents[2] / package for package in ("dynsim", "analysis", "figures"))
NOT_THE_USERS = (*OURS, *(Path(sysconfig.get_path(p)).resolve() for p in ("stdlib", "purelib", "platlib")))
CALL = re.compile(r"\b(?:np|numpy|math)\.(\w+(?:\.\w+)?)\(")
ENTRY = re.compile(r"`(\w+)\[[^`]*?\] *[-+*/]?=[^=]")
KINDS = (
    (jax.errors.TracerBoolConversionError, "branches on its state", "`jnp.where(condition, a, b)` in place of `if`"),
    (jax.errors.TracerArrayConversionError, "calls NumPy on its state", "`jnp` in place of `np`"),
    (jax.errors.TracerIntegerConversionError, "uses its state as an index", "`jnp.take` of a JAX array"),
)  # fmt: skip


def line_of(error: BaseException) -> str:
    """Quote the user's line that raised an exception: "line 3 of `mine.py`, `return y`, "; "" if none did."""
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return quoted(error.filename, error.lineno)
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if is_the_users(frame.filename)]
    return quoted(own[-1].filename, own[-1].lineno or 1) if own else ""


def quoted(file: str, line: int) -> str:
    """Quote a line of a file with its number: "line 3 of `mine.py`, `return y`, "."""
    linecache.checkcache(file)
    path, here = Path(file), Path.cwd()
    shown = path.relative_to(here) if path.is_relative_to(here) else path
    text = linecache.getline(file, line).strip()[:SHOWN]  # empty for a file that cannot be decoded
    return f"line {line} of `{shown}`, {f'`{text}`, ' if text else ''}"


def is_the_users(file: str) -> bool:
    """Whether a file is neither part of this package, nor of Python, nor installed."""
    path = Path(file).resolve()
    return not file.startswith("<") and not any(path.is_relative_to(folder) for folder in NOT_THE_USERS)


def is_ours(file: str) -> bool:
    """Whether a file is part of this package."""
    return any(Path(file).resolve().is_relative_to(folder) for folder in OURS)


def untraceable(error: BaseException) -> str:
    """Say what a user's function does that JAX cannot trace, in which line, and what to write in its place."""
    line = line_of(error)
    known = [(what, advice) for kind, what, advice in KINDS if isinstance(error, kind)]
    what, advice = known[0] if known else ("makes a number of its state", "the array itself, without `float`")
    called = next((name for name in CALL.findall(line) if _in_jax(name)), "")
    if called and not isinstance(error, jax.errors.TracerBoolConversionError):
        what, advice = "calls NumPy or `math` on its state", f"`jnp.{called}`"
    if (entry := ENTRY.search(line)) and not known:
        what, advice = "sets an entry of an array of NumPy", f"`{entry[1]} = jnp.stack([...])` of all entries"
    return f"{line}{what}: write {advice}"


def _in_jax(name: str) -> bool:
    """Whether `jax.numpy` has a function of this name, such as `sin` or `linalg.norm`."""
    found = jnp
    for part in name.split("."):
        found = getattr(found, part, None)
    return callable(found)
