"""Decide signs of balls."""

from typing import Any

from analysis.theorems.conditions import FAILS, HOLDS, UNDECIDED, Hypothesis


def above_zero(words: str, inequality: str, value: Any) -> Hypothesis:
    """Decide whether a ball is positive."""
    status = HOLDS if bool(value > 0) else FAILS if bool(value <= 0) else UNDECIDED
    return Hypothesis(words, inequality, status, float(value.lower() if status == HOLDS else value.upper()), "balls")


def different_from_zero(words: str, inequality: str, value: Any) -> Hypothesis:
    """Decide whether a ball excludes zero; one that is exactly zero fails, and a wider one about zero is undecided."""
    status = HOLDS if bool(value != 0) else FAILS if bool(value == 0) else UNDECIDED
    return Hypothesis(words, inequality, status, float(abs(value).lower()), "balls")
