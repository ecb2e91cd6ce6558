"""Collect the figures of users' papers, with functions whose errors quote the user's line."""

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import matplotlib.figure

from dynsim.cli.building.own_code import definition, own_code
from dynsim.cli.ledger.own_papers import OwnPaper, is_file, left_out, own_papers
from dynsim.errors import ArgumentError
from figures.figure import Figure
from figures.gallery import FIGURES


def known_figures(words: Iterable[str]) -> tuple[tuple[Figure, ...], tuple[str, ...]]:
    """Collect the figures of the files among the words, or without a file those of dynsim and registered packages.

    Returns:
        the figures, and an error message for each registered package that cannot be used.

    Raises:
        ValueError: for a file that cannot be used or has no figures.
    """
    words = tuple(words)
    alone = any(is_file(word) for word in words)
    found = [] if alone else [*FIGURES]
    papers, problems = own_papers(words)
    for own in papers:
        try:
            found += _figures(own)
        except ArgumentError as error:
            if alone:
                raise
            problems.append(left_out(own.where, error))
    if not found:
        files = ", ".join(f"`{own.where}`" for own in papers)
        raise ArgumentError("names", "name a file with figures made by `@figure`", f"{files} has none")
    return tuple(found), tuple(problems)


def _figures(own: OwnPaper) -> tuple[Figure, ...]:
    """Collect the figures of a module, with functions whose errors quote the user's line."""
    names: dict[str, Figure] = {}
    for figure in own.unique(Figure):
        if figure.name in names:
            first, second = (definition(f.compute).rstrip(", ") for f in (names[figure.name], figure))
            raise ArgumentError("file", f"define `{figure.name}` once", f"{first} and {second} define it")
        if figure.draw is None:
            must = "draw each figure by `@NAME.with_drawing`"
            raise ArgumentError("file", must, f"{definition(figure.compute)}has no drawing")
        names[figure.name] = figure
    return tuple(
        replace(
            figure,
            compute=_computing(figure.compute),
            compute_paper_size=figure.compute_paper_size and _computing(figure.compute_paper_size),
            draw=figure.draw and _drawing(figure.draw),
            animate=figure.animate and _drawing(figure.animate),
        )
        for figure in names.values()
    )


def _computing(compute: Callable[..., Any]) -> Callable[..., Any]:
    return _guarded(compute, "compute", Mapping, "a dictionary of arrays")


def _drawing(draw: Callable[..., Any]) -> Callable[..., Any]:
    return _guarded(draw, "draw", matplotlib.figure.Figure, "a figure of Matplotlib")


def _guarded(function: Callable[..., Any], name: str, kind: type, words: str) -> Callable[..., Any]:
    """Wrap a figure's function so that an exception or a wrong result becomes one error that quotes the user's line."""

    @functools.wraps(function)
    def guarded(*args: Any) -> Any:
        found = None
        with own_code(name, "run without an exception"):
            found = function(*args)
        if not isinstance(found, kind):
            raise ArgumentError(name, f"return {words}", f"{definition(function)}returns {type(found).__name__}")
        return found

    return guarded
