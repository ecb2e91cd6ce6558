"""Panels: each takes its axes first, draws arrays in them, and returns the artist that holds the data."""

from figures.panels.curves import bands, curves, over_time
from figures.panels.matrices import attention
from figures.panels.phase import circle_portrait, equilibria, planar_portrait, sphere_portrait
from figures.panels.spectra import eigenvalues
from figures.panels.tokens import View, surface, token_paths

__all__ = [
    "View",
    "attention",
    "bands",
    "circle_portrait",
    "curves",
    "eigenvalues",
    "equilibria",
    "over_time",
    "planar_portrait",
    "sphere_portrait",
    "surface",
    "token_paths",
]
