"""Repeat results of books and papers: each theorem applies, with the known numbers, and not to its near miss."""

import pytest

from tests.theorems.literature import RESULTS, Result

pytest.importorskip("flint")
MARKED = [pytest.param(one, marks=[pytest.mark.slow] if one.is_slow else [], id=one.name) for one in RESULTS]
MISSED = [case for case in MARKED if case.values[0].miss]  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("result", MARKED)
def test_a_known_result_is_repeated(result: Result):
    found = result.call()
    assert [(row.words, row.status) for row in found.hypotheses if row.status != "holds"] == []
    assert found.is_certified == result.is_certified
    assert result.says in " ".join(str(found).split())
    for name, (value, error) in result.numbers.items():
        assert found.numbers[name] == pytest.approx(value, abs=error, rel=0)


@pytest.mark.parametrize("result", MISSED)
def test_a_near_miss_is_named(result: Result):
    assert result.miss is not None
    call, expected = result.miss
    found = call()
    assert {row.words: row.status for row in found.hypotheses if row.status != "holds"} == expected
    assert found.is_certified or not result.is_certified


def test_each_result_is_told_once():
    assert len(RESULTS) >= 40
    assert len({one.name for one in RESULTS}) == len(RESULTS)
