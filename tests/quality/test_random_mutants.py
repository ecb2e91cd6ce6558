"""Errors drawn at random: which they are, that a seed draws the same ones, and what notices them."""

import ast

import pytest

from tests.quality.mutants import file_of
from tests.quality.random_mutants import PER_FUNCTION, changes, draw, expressions, importing_files, main

DRIVEN = "dynsim.systems.tokens.scalar_driven"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a - b", {"a + b", "a"}),
        ("a @ b", {"a @ b.T"}),
        ("a < b", {"a <= b", "a > b"}),
        ("-a", {"a"}),
        ("3", {"4"}),
        ("0.5", {"1.0"}),
        ("True", set()),
        ("a.T", {"a"}),
        ("np.max", {"np.min"}),
        ("a and b", {"a or b"}),
        ("a if b else c", {"c if b else a"}),
        ("f(a)", set()),
    ],
)
def test_an_expression_has_its_small_errors(before, after):
    assert {
        ast.unparse(ast.fix_missing_locations(new)) for new in changes(ast.parse(before, mode="eval").body)
    } == after


def test_annotations_docstrings_and_messages_are_left_alone():
    body = ast.parse('"words"\nx: Float[Array, "1 - n"] = a - b\nraise argument_error("x", f"be {c - d}", "is")\n')
    assert [ast.unparse(e) for e in expressions(body) if isinstance(e, ast.BinOp)] == ["a - b"]


def test_a_seed_draws_the_same_errors_of_functions_that_the_tables_know():
    drawn = draw(8, seed=3, patterns=[DRIVEN])
    assert drawn == draw(8, seed=3, patterns=[DRIVEN])
    assert drawn != draw(8, seed=4, patterns=[DRIVEN])
    where = [error.name.split(":")[1].split()[1] for error in drawn]
    assert len(drawn) >= 4
    assert max(map(where.count, where)) <= PER_FUNCTION
    for error in drawn:
        assert error.claims
        assert error.mutated() != file_of(DRIVEN).read_text()


def test_the_tests_of_a_module_are_those_that_import_it():
    assert "tests/measures/test_energies.py" in importing_files("analysis.tokens.hemispheres")


def test_errors_for_tests_are_drawn_from_functions_that_no_table_knows():
    drawn = draw(500, patterns=["dynsim.networks.sentiment.words"], by_tests=True)
    assert all("tests/networks/test_reviews.py" in error.tests for error in drawn)
    assert not any(error.claims for error in drawn)
    assert {"__call__", "encode"} <= {error.name.split(":")[1].split()[1] for error in drawn}
    assert main(["dynsim.nowhere", "--tests"]) == 2


def test_a_module_that_no_table_knows_is_refused(capsys):
    assert main(["dynsim.nowhere"]) == 2
    assert capsys.readouterr().err == "no table has errors in dynsim.nowhere\n"
