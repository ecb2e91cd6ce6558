"""Notebooks of the tutorials, made from the pages: one source for both."""

import re
from pathlib import Path

import jupytext
import nbformat

TUTORIALS = (
    "start/first-trajectory.md",
    "start/own-system.md",
    "workbench/continuation.md",
    "workbench/attractors-and-basins.md",
)


def notebook(text: str) -> nbformat.NotebookNode:
    """Return a page as a notebook: blocks of Python are cells, blocks of a shell cells that begin with `%%bash`.

    Pictures that blocks of a shell write are shown by the text that follows them, links to other pages become plain
    text, and ids of cells are numbered, so that a page always gives the same notebook.
    """
    text = re.sub(r"^```python[^\n]*$", "```python", text, flags=re.M)
    text = re.sub(r"^```sh[^\n]*\n", "```python\n%%bash\n", text, flags=re.M)
    text = re.sub(r"(?<!!)\[([^\]]+)\]\((?!https?:)[^)]*\)", r"\1", text)
    made = jupytext.reads(text, fmt="md")
    made.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    for number, cell in enumerate(made.cells):
        cell["id"] = f"cell-{number}"
    return made


def pages(folder: Path) -> dict[str, str]:
    """Return the notebooks of the tutorials by their names on the site."""
    there = [name for name in TUTORIALS if (folder / name).exists()]
    return {
        f"notebooks/{Path(name).stem}.ipynb": nbformat.writes(notebook((folder / name).read_text(encoding="utf-8")))
        + "\n"
        for name in there
    }
