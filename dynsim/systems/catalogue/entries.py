"""The systems of the catalogue by name, each with an initial state and a window for its portrait."""

from collections.abc import Callable
from typing import Any, NamedTuple

from dynsim.systems.base import AbstractFlow, AbstractMap
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


class Entry(NamedTuple):
    """A catalogue system: its class, an initial state in the basin of interest, and the portrait's window.

    The window is (low, high) for each component. What is `counted`, such as populations, cannot be negative.
    """

    kind: Callable[..., AbstractFlow | AbstractMap]
    start: tuple[float, ...]
    box: tuple[float, ...]
    counted: str = ""

    def system(self, **parameters: Any) -> AbstractFlow | AbstractMap:
        """The system with these parameters, and defaults for the others."""
        return self.kind(**parameters)

    @property
    def text(self) -> str:
        """The first line of the system's description, without formulas."""
        return str(self.kind.__doc__).splitlines()[0].split(" $")[0].split("; ")[0].rstrip(",").rstrip(".")


CATALOGUE: dict[str, Entry] = {
    "van-der-pol": Entry(VanDerPol, (2.0, 0.0), (-3.0, 3.0, -4.0, 4.0)),
    "fitzhugh-nagumo": Entry(FitzHughNagumo, (0.5, 0.3), (-2.5, 2.5, -1.0, 2.0)),
    "duffing": Entry(Duffing, (0.7, -0.2), (-2.0, 2.0, -1.5, 1.5)),
    "pendulum": Entry(Pendulum, (1.0, 0.3), (-5.0, 5.0, -3.0, 3.0)),
    "double-pendulum": Entry(DoublePendulum, (2.0, 1.0, 0.0, 0.0), (-3.2, 3.2, -3.2, 3.2, -3.0, 3.0, -4.0, 4.0)),
    "josephson": Entry(Josephson, (0.5, 0.0), (-4.0, 4.0, -1.5, 4.0)),
    "double-well": Entry(DoubleWell, (0.4,), (-2.0, 2.0)),
    "lorenz": Entry(Lorenz, (1.0, 2.0, 20.0), (-20.0, 20.0, -30.0, 30.0, 0.0, 50.0)),
    "roessler": Entry(Roessler, (1.0, 2.0, 0.5), (-10.0, 12.0, -12.0, 9.0, 0.0, 24.0)),
    "henon-heiles": Entry(HenonHeiles, (0.1, 0.2, 0.3, -0.1), (-1.0, 1.0, -0.8, 1.2, -0.6, 0.6, -0.6, 0.6)),
    "lotka-volterra": Entry(LotkaVolterra, (0.7, 1.3), (0.1, 4.0, 0.1, 4.0), "populations"),
    "brusselator": Entry(Brusselator, (1.1, 2.0), (0.1, 4.5, 0.1, 6.0), "concentrations"),
    "kuramoto": Entry(Kuramoto, (0.1, 1.0, 2.5), (-3.2, 3.2) * 3),
    "logistic": Entry(Logistic, (0.3,), (0.0, 1.0)),
    "henon": Entry(Henon, (0.1, 0.1), (-1.5, 1.5, -0.45, 0.45)),
    "circle": Entry(CircleMap, (0.1,), (0.0, 1.0)),
    "standard": Entry(Standard, (2.0, 1.0), (0.0, 6.283185307179586) * 2),
    "ikeda": Entry(Ikeda, (0.1, 0.1), (-0.6, 1.9, -2.4, 1.0)),
}
