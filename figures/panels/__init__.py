"""Panels: functions that draw arrays in given axes, their first argument, and return the artist of the data."""

from figures.panels.curves import bands, curves, over_sizes, over_time, with_range
from figures.panels.growing import forces, head_colours, head_lives, levels, temperature_fan
from figures.panels.hulls import balls, followed_tokens, half_plane, plane_axes, polygon
from figures.panels.manifolds import critical_manifold, error_against, relaxations
from figures.panels.matrices import attention, leaks, weight_bar
from figures.panels.names import place_names
from figures.panels.phase import circle_portrait, equilibria, nullclines, sphere_portrait, streamlines
from figures.panels.prototypes import pair_portrait, prototype_paths, timed_path
from figures.panels.simplices import orbits, simplex_portrait
from figures.panels.spectra import eigenvalues
from figures.panels.tokens import View, surface, token_paths

__all__ = [
    "View",
    "attention",
    "balls",
    "bands",
    "circle_portrait",
    "curves",
    "eigenvalues",
    "equilibria",
    "error_against",
    "followed_tokens",
    "forces",
    "half_plane",
    "head_colours",
    "head_lives",
    "leaks",
    "levels",
    "nullclines",
    "orbits",
    "over_sizes",
    "over_time",
    "pair_portrait",
    "place_names",
    "plane_axes",
    "polygon",
    "prototype_paths",
    "relaxations",
    "simplex_portrait",
    "critical_manifold",
    "sphere_portrait",
    "streamlines",
    "surface",
    "temperature_fan",
    "timed_path",
    "token_paths",
    "weight_bar",
    "with_range",
]
