"""Draw synthetic objects in four orbital regimes, with the features of PROTOTYPES, (18), and options it leaves open."""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import jax
import numpy as np
from jaxtyping import Float, Int

from dynsim._core.types import Key
from dynsim.errors import ArgumentError

EARTH = 398_600.4418
"""Gravitational parameter mu of the Earth, in km^3 / s^2."""

REGIMES = ("LEO", "MEO", "GEO", "HEO")
FEATURES = ("a / a_max", "e", "sin i", "cos i", "sin Omega", "RCS / RCS_max", "T_orb / T_max")

CrossSection = Literal["uniform", "class", "log-normal"]
"""Distribution of RCS / RCS_max: uniform on [0, 1], a constant of each regime, or log-normal."""


@dataclass(frozen=True)
class Catalogue:
    """Choices for the synthetic objects; the first six lines are printed, the others are defaults chosen here.

    Attributes:
        objects: number of objects of each regime.
        noise: least and largest standard deviation of the Gaussian noise; each regime draws its own in this range.
        axes: semi-major axes of LEO, MEO, GEO, HEO in km.
        eccentricities: their eccentricities.
        inclinations: their inclinations in degrees; those of LEO and MEO are not printed, and are those of the
            ISS and of GPS: then k-means has the scores of Table 3, which it has not if LEO is sun-synchronous.
        largest: a_max and T_max are those of GEO, or the largest in the data.
        nodes: the right ascension Omega is uniform on the circle, or 0 for all.
        cross_section: the distribution of RCS / RCS_max.
        cross_sections: the constants of the regimes.
        noise_on: noise is added to the seven features, or to a (relatively), e, i and Omega (radians), and RCS.
    """

    objects: int = 400
    noise: tuple[float, float] = (0.02, 0.04)
    axes: tuple[float, float, float, float] = (7200.0, 20_200.0, 42_164.0, 26_560.0)
    eccentricities: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.74)
    inclinations: tuple[float, float, float, float] = (51.6, 55.0, 0.0, 63.4)
    largest: Literal["GEO", "data"] = "GEO"
    nodes: Literal["uniform", "zero"] = "uniform"
    cross_section: CrossSection = "uniform"
    cross_sections: tuple[float, float, float, float] = (0.1, 0.4, 0.8, 0.5)
    noise_on: Literal["features", "elements"] = "features"


class Objects(NamedTuple):
    """Features of objects, their regimes as numbers in `REGIMES`, and the standard deviation of each regime's noise."""

    features: Float[np.ndarray, "objects 7"]
    labels: Int[np.ndarray, " objects"]
    deviations: Float[np.ndarray, " 4"]


def period(axis: Float[np.ndarray, " objects"]) -> Float[np.ndarray, " objects"]:
    r"""Compute the orbital period $2 \pi \sqrt{a^3 / \mu}$ in seconds, from semi-major axes in km.

    Source: PROTOTYPES, eq. (18).
    """
    return 2 * math.pi * np.sqrt(axis**3 / EARTH)


def draw_objects(key: Key, catalogue: Catalogue) -> Objects:
    """Draw random objects, regime by regime.

    Raises:
        ValueError: if the noise is not a range of non-negative numbers.
    """
    low, high = catalogue.noise
    if not 0 <= low <= high:
        raise ArgumentError("noise", "be a range of non-negative numbers", f"is {catalogue.noise}")
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    count = catalogue.objects
    deviations = rng.uniform(low, high, len(REGIMES))
    sigma = np.repeat(deviations, count)
    a, e, i = (
        np.repeat(np.array(column), count)
        for column in (catalogue.axes, catalogue.eccentricities, np.radians(catalogue.inclinations))
    )
    node = rng.uniform(0, 2 * math.pi, sigma.shape) * (catalogue.nodes == "uniform")
    section = _cross_sections(rng, catalogue)
    noise = sigma[:, None] * rng.standard_normal((len(sigma), len(FEATURES)))
    if catalogue.noise_on == "elements":
        a, e = a * (1 + noise[:, 0]), np.clip(np.abs(e + noise[:, 1]), 0, 0.99)
        i, node, section = i + noise[:, 2], node + noise[:, 3], section + noise[:, 4]
        noise = np.zeros_like(noise)
    largest = catalogue.axes[REGIMES.index("GEO")] if catalogue.largest == "GEO" else np.max(a)
    longest = period(np.array([largest]))
    columns = [a / largest, e, np.sin(i), np.cos(i), np.sin(node), section, period(a) / longest]
    return Objects(np.stack(columns, axis=1) + noise, np.repeat(np.arange(len(REGIMES)), count), deviations)


def _cross_sections(rng: np.random.Generator, catalogue: Catalogue) -> Float[np.ndarray, " objects"]:
    size = len(REGIMES) * catalogue.objects
    if catalogue.cross_section == "uniform":
        return rng.uniform(0, 1, size)
    if catalogue.cross_section == "class":
        return np.repeat(np.array(catalogue.cross_sections), catalogue.objects)
    drawn = rng.lognormal(0.0, 1.0, size)
    return drawn / np.max(drawn)


def standardised(x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
    """Standardise columns to mean zero and variance one; constant columns become zero."""
    centred = x - np.mean(x, axis=0)
    scale = np.std(x, axis=0)
    return centred / np.where(scale > 0, scale, 1.0)
