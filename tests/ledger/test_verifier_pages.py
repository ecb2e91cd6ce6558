"""Pages of verifiers have what they use of the frames, and nothing else."""

import ast
import os
import subprocess
import sys

import pytest

from analysis.verifiers.pages import CHECKS, file_name, page, parsed, verifiers, verifiers_in
from tests.support.verifiers import FILES, FRAMES, run, written

VERIFIER = '''"""Verifiers of Section 1."""

import math
from fractions import Fraction

from analysis.verifiers.frames.script import verifies
from analysis.verifiers.frames.sizes import length

HALF = Fraction(1, 2)


def half(x):
    """Return half of a number."""
    return HALF * x


@verifies("key/lemma-1", {"u": [1, 1]})
def lemma_1(u):
    """Verify that sums of squares are positive."""
    return half(length(u))


@verifies("key/lemma-2", {"n": 2})
def lemma_2(n):
    """Verify that 2 is not prime."""
    return math.isqrt(n)
'''
SCRIPT = '''"""The script of a verifier."""

from analysis.verifiers.frames.sizes import report


def main(statement, own, checks):
    """Print what is found."""
    report(checks(own))
'''
SIZES = '''"""Sizes of vectors."""

import sys
from math import prod

from analysis.verifiers.frames.products import dot


def length(u):
    """Return the squared length."""
    return dot(u, u)


def volume(u):
    """Return the product of the entries."""
    return prod(u)


# Where a number goes.
def report(x):
    """Print a number."""
    sys.stdout.write(f"{x}\\n")
'''
PRODUCTS = '''"""Products of vectors."""


def cross(u, v):
    """Return the cross product."""
    return u[0] * v[1] - u[1] * v[0]


def dot(u, v):
    """Return the inner product."""
    return sum(cross * factor for cross, factor in zip(u, v, strict=True))
'''
PAGE = '''"""Verify that sums of squares are positive.

Usage: python lemma_1.py [WITNESS.json]
"""

import sys
from fractions import Fraction

STATEMENT = "key/lemma-1"
WITNESS = {"u": [1, 1]}
HALF = Fraction(1, 2)


def dot(u, v):
    """Return the inner product."""
    return sum(cross * factor for cross, factor in zip(u, v, strict=True))


def length(u):
    """Return the squared length."""
    return dot(u, u)


def half(x):
    """Return half of a number."""
    return HALF * x


def checks(u):
    """Yield what is checked, the number measured, and whether the check holds."""
    return half(length(u))


# Where a number goes.
def report(x):
    """Print a number."""
    sys.stdout.write(f"{x}\\n")


def main(statement, own, checks):
    """Print what is found."""
    report(checks(own))


if __name__ == "__main__":
    raise SystemExit(main(STATEMENT, WITNESS, checks))
'''


def page_of(folder, verifier=VERIFIER, sizes=SIZES, products=PRODUCTS):
    """Return the page of a verifier with three frames, all of which are written to a folder."""
    for name, text in (("section_1", verifier), ("sizes", sizes), ("products", products), ("script", SCRIPT)):
        (folder / f"{name}.py").write_text(text)
    return page(verifiers_in(folder / "section_1.py")[0], folder)


def test_a_page_has_what_it_uses_in_the_order_of_its_use_and_nothing_else(tmp_path):
    assert page_of(tmp_path) == PAGE


def test_what_only_the_last_lines_use_stands_before_them(tmp_path):
    both = VERIFIER.replace("return half", "report(u)\n    return half").replace("length\n", "length, report\n")
    assert page_of(tmp_path, both).index("def report") < page_of(tmp_path, both).index("def checks")


def test_a_page_has_the_constants_of_frames(tmp_path):
    sizes = SIZES.replace("def length", "TWO = 2  # the exponent\n\n\ndef length").replace(
        "dot(u, u)", "dot(u, u) * TWO"
    )
    text = page_of(tmp_path, sizes=sizes)
    assert "\n\n\nTWO = 2  # the exponent\n\n\ndef length(u):" in text
    exec(compile(text, "page", "exec"), scope := {"__name__": "page"})
    assert scope["checks"]([1, 1]) == 2


@pytest.mark.parametrize(
    ("changed", "old", "new", "said"),
    [
        (
            "verifier",
            "return HALF * x",
            "return dot(x)\n\n\ndef dot(u):\n    return u",
            "`dot` is defined in .* and in `section_1`",
        ),
        ("verifier", "HALF = ", "dot = 0\nHALF = dot + ", "`dot` is defined in .* and in `section_1`"),
        ("verifier", "from fractions", "from cmath import prod as dot\nfrom fractions", "without `as`"),
        (
            "verifier",
            "HALF = ",
            "from fractions import dot\n\nHALF = dot + ",
            "`dot` is defined in `.*` and in `fractions`",
        ),
        (
            "verifier",
            "return HALF * x",
            "return sys(x)\n\n\ndef sys(u):\n    return u",
            "`sys` is defined in `section_1` and in `sys`",
        ),
        (
            "verifier",
            "return HALF * x",
            "return sum(x)\n\n\ndef sum(u):\n    return u",
            "`dot` of `.*products` means another `sum`",
        ),
        ("products", "def dot", "def Fraction(a, b):\n    return b\n\n\ndef dot", None),
        ("products", "sum(", "Fraction(", "`dot` of `.*products` means another `Fraction` than `fractions`"),
        (
            "verifier",
            "from fractions",
            "import numpy\nfrom fractions",
            "`import numpy` must name a frame or the standard",
        ),
        ("sizes", "# Where", "print(0)\n\n\n# Where", "a frame must hold functions and constants alone"),
    ],
)
def test_a_name_with_two_meanings_is_refused(tmp_path, changed, old, new, said):
    texts = {"verifier": VERIFIER, "sizes": SIZES, "products": PRODUCTS}
    texts[changed] = texts[changed].replace(old, new, 1)
    if said is None:  # the page does not use it
        assert page_of(tmp_path, **texts) == PAGE
        return
    with pytest.raises(ValueError, match=said):
        page_of(tmp_path, **texts)


def test_a_page_defines_what_its_parts_define_word_for_word():
    shared = {one.name: one.text for path in FRAMES for one in parsed(path, path.stem).statements}
    for name, verifier in FILES.items():
        text = written(name).read_text()
        tree, file = ast.parse(text), verifier.path
        own = {one.name: one.text for one in parsed(file, name).statements}
        defined = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
        assert len(defined) == len(set(defined)), name
        assert text.split(f"    {CHECKS}\n")[1].split("\n\n\n")[0] in file.read_text(), name
        for one in {*defined} - {"checks"}:
            assert f"\n\n\n{own.get(one, shared.get(one))}\n" in text, name
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        assert set(defined) <= used, name
        assert f"\n\nUsage: python {name.split('/')[1]}.py [WITNESS.json]\n" in text


def test_each_function_of_the_frames_is_on_two_pages_or_more():
    pages = [written(name).read_text() for name in FILES]
    for path in FRAMES:
        for one in parsed(path, path.stem).statements:
            assert one.name == "verifies" or sum(f"\n\n\n{one.text}\n" in text for text in pages) > 1, one.name


def test_pages_do_not_depend_on_the_order_of_sets():
    code = "from analysis.verifiers.pages import page, verifiers\nprint(*map(page, [*verifiers().values()][::8]))"
    other = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"  # a random one, or that of a test run
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, env=os.environ | {"PYTHONHASHSEED": other}
    )
    assert said.stdout.decode().rstrip("\n") == " ".join(map(page, [*verifiers().values()][::8])).rstrip("\n")


def test_a_verifier_runs_in_the_repository_as_its_page_does():
    command = [sys.executable, "-m", "analysis.verifiers", "growing/lemma-4"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == run("growing/lemma_4").stdout


def test_a_verifier_is_named_after_its_statement_in_the_folder_of_its_paper():
    for statement, one in verifiers().items():
        assert file_name(statement) == f"{one.path.parent.name}/{one.function}"
