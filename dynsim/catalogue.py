"""Textbook systems with published numbers: oscillators, chaotic flows, populations, and maps."""

from dynsim.systems.catalogue.chaotic import HenonHeiles, Lorenz, Roessler
from dynsim.systems.catalogue.maps import CircleMap, Henon, Ikeda, Logistic, Standard
from dynsim.systems.catalogue.oscillators import (
    DoublePendulum,
    DoubleWell,
    Duffing,
    FitzHughNagumo,
    Josephson,
    Pendulum,
    VanDerPol,
)
from dynsim.systems.catalogue.populations import Brusselator, Kuramoto, LotkaVolterra

__all__ = [
    "Brusselator",
    "CircleMap",
    "DoublePendulum",
    "DoubleWell",
    "Duffing",
    "FitzHughNagumo",
    "Henon",
    "HenonHeiles",
    "Ikeda",
    "Josephson",
    "Kuramoto",
    "Logistic",
    "Lorenz",
    "LotkaVolterra",
    "Pendulum",
    "Roessler",
    "Standard",
    "VanDerPol",
]
