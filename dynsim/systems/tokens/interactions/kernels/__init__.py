"""CUDA C++ text of the interactions' kernels."""

from collections.abc import Mapping
from importlib import resources

REAL = {"float32": "float", "float64": "double"}  # the types of numbers that kernels serve, and their names in C


def text_of(file: str, dtype: str, sizes: Mapping[str, float]) -> str:
    """Write the text of a file of this folder after the type of its numbers and its sizes."""
    known = f"using Real = {REAL[dtype]};\n" + "".join(f"#define {name} {size}\n" for name, size in sizes.items())
    return known + resources.files(__name__).joinpath(file).read_text()
