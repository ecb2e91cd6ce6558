"""The JavaScript of a page: the methods, which also run without a browser, and the view."""

from pathlib import Path

from dynsim.programs.javascript import functions

FOLDER = Path(__file__).parent / "script"
METHODS = ("linear", "numerics")


def methods() -> str:
    """Numerical methods and the functions that generated fields call."""
    return "\n".join([functions(), *(text(f"{name}.js") for name in METHODS)])


def text(name: str) -> str:
    """A file of the page."""
    return (FOLDER / name).read_text(encoding="utf-8")
