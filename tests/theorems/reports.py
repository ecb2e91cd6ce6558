"""Systems of text, and the hypotheses of a theorem that do not hold."""

from typing import Any

import dynsim as ds


def flow(text: str, **values: float) -> Any:
    """The system of a text."""
    return ds.system(text, **values)


def not_holding(found: Any) -> list[tuple[str, str]]:
    """The words and the status of each hypothesis that does not hold."""
    return [(one.words, one.status) for one in found.hypotheses if one.status != "holds"]


def failing(found: Any) -> list[str]:
    """The words of each hypothesis that does not hold."""
    return [words for words, _ in not_holding(found)]
