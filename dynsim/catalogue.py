"""Textbook systems with published numbers: oscillators, chaotic flows, populations, and maps."""

from dynsim.systems.catalogue.chaotic import HenonHeiles as HenonHeiles
from dynsim.systems.catalogue.chaotic import Lorenz as Lorenz
from dynsim.systems.catalogue.chaotic import Roessler as Roessler
from dynsim.systems.catalogue.maps import CircleMap as CircleMap
from dynsim.systems.catalogue.maps import Henon as Henon
from dynsim.systems.catalogue.maps import Ikeda as Ikeda
from dynsim.systems.catalogue.maps import Logistic as Logistic
from dynsim.systems.catalogue.maps import Standard as Standard
from dynsim.systems.catalogue.oscillators import DoublePendulum as DoublePendulum
from dynsim.systems.catalogue.oscillators import DoubleWell as DoubleWell
from dynsim.systems.catalogue.oscillators import Duffing as Duffing
from dynsim.systems.catalogue.oscillators import FitzHughNagumo as FitzHughNagumo
from dynsim.systems.catalogue.oscillators import Josephson as Josephson
from dynsim.systems.catalogue.oscillators import Pendulum as Pendulum
from dynsim.systems.catalogue.oscillators import VanDerPol as VanDerPol
from dynsim.systems.catalogue.populations import Brusselator as Brusselator
from dynsim.systems.catalogue.populations import Kuramoto as Kuramoto
from dynsim.systems.catalogue.populations import LotkaVolterra as LotkaVolterra
