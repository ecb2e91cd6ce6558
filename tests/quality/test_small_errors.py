"""Small errors: what an expression may become, and that code that no result depends on is left alone."""

import ast
from pathlib import Path

import pytest

from tests.quality.small_errors import changes, errors_of
from tests.quality.source_index import Source


def names(text: str) -> list[str]:
    return [str(error) for error in errors_of(Source("module", Path("module.py"), text))]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a - b", {"a + b", "a"}),
        ("a * b", {"a / b", "a", "b"}),
        ("a @ b", {"a @ b.T"}),
        ("A @ x", {"A.T @ x"}),
        ("A @ self.x", {"A.T @ self.x"}),
        ("x @ A", {"x @ A.T"}),
        ("A @ B", {"A @ B.T"}),
        ("f(a) @ x", {"f(a).T @ x"}),
        ("A @ (x - y)", {"A.T @ (x - y)"}),
        ("x @ A @ y", set()),
        ("(x - y) @ A @ (x - y)", set()),
        ("A @ B @ x", {"(A @ B).T @ x"}),
        ("a ** 2", {"a"}),
        ("a < b", {"a <= b", "a > b"}),
        ("a is None", {"a is not None"}),
        ("a in b", {"a not in b"}),
        ("-a", {"a"}),
        ("3", {"4"}),
        ("0.5", {"1.0"}),
        ("0.0", {"1.0"}),
        ("1e-8", {"1e-05"}),
        ("True", set()),
        ("'text'", set()),
        ("a.T", {"a"}),
        ("np.max", {"np.min"}),
        ("np.mean", {"np.sum"}),
        ("np.any", {"np.all"}),
        ("max(a, b)", {"min(a, b)"}),
        ("a and b", {"a or b", "a"}),
        ("a if b else c", {"c if b else a"}),
        ("f(a)", set()),
    ],
)
def test_an_expression_has_its_small_errors(before, after):
    assert {
        ast.unparse(ast.fix_missing_locations(new)) for new in changes(ast.parse(before, mode="eval").body)
    } == after


def test_statements_and_defaults_have_their_small_errors():
    assert names("def f(a, n=3, *, flag=False, name='x', low=-1):\n    a += g(n, keepdims=True)\n    return a") == [
        "f: 3 -> 4",
        "f: False -> True",
        "f: -1 -> 1",
        "f: a += g(n, keepdims=True) -> a -= g(n, keepdims=True)",
        "f: keepdims=True -> keepdims=False",
    ]
    assert names("class A:\n    def f(self, x):\n        if x:\n            return self\n        return x") == [
        "A.f: if x -> if not x"
    ]
    # a number alone would not say which one it is
    assert names("def f(x):\n    return x[0] @ g(2)") == [
        "f: x[0] @ g(2) -> x[0] @ g(2).T",
        "f: x[0] -> x[1]",
        "f: g(2) -> g(3)",
    ]


def test_code_that_no_result_depends_on_is_left_alone():
    text = """
def f(x: Float[Array, "1 - n"], y: int = None) -> Array[2]:
    "Words of 3 - 1."
    n: Float[Array, 2] = integer("n", x, least=3)
    if not isinstance(x, int) or not callable(y):
        raise ArgumentError("x", f"be {x - y}", 2)
    for a, b in zip(x, y, strict=True):
        check(a - b)
    assert x < 3
    if isinstance(x, list):
        last = x[3] + 1
        raise ArgumentError("x", f"be a number, but ends in {last}")
    try:
        found = given(x)
    except TypeError as error:
        words = str(error)[:8]
        raise ArgumentError("x", words) from None
    except ValueError:
        found = 3
    if error_in(x):
        for k in x:
            if k:
                return 2
        raise ArgumentError("x", "hold something")
    return f"{x - 1}"

def report(x):
    return x + 1
"""
    assert names(text) == [
        "f: not isinstance(x, int) or not callable(y) -> not isinstance(x, int) and (not callable(y))",
        "f: not isinstance(x, int) or not callable(y) -> not isinstance(x, int)",
        "f: 3 -> 4", "f: if k -> if not k", "f: 2 -> 3",
    ]  # fmt: skip


def test_an_error_stands_where_it_is_said_to_be():
    source = Source("module", Path("module.py"), "X = 1\n\ndef f(a, b):\n    c = a + a\n    return c - b\n")
    errors = {str(error): error for error in errors_of(source)}
    error = errors["f: c - b -> c + b"]
    assert error.place.line == 5
    assert ast.unparse(error.tree) == "X = 1\n\ndef f(a, b):\n    c = a + a\n    return c + b"
