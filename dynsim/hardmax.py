"""Hardmax clustering: maps in floating point and in exact arithmetic, their softmax, and the theorem's conditions."""

from dynsim.simulation.hardmax import iterate_hardmax as iterate_hardmax
from dynsim.systems.hardmax.attention import ExactHardmax as ExactHardmax
from dynsim.systems.hardmax.attention import Hardmax as Hardmax
from dynsim.systems.hardmax.attention import Softmax as Softmax
from dynsim.systems.hardmax.hypotheses import hypotheses as hypotheses
from dynsim.systems.hardmax.maps import ExactHardmaxMap as ExactHardmaxMap
from dynsim.systems.hardmax.maps import HardmaxMap as HardmaxMap
from dynsim.systems.hardmax.maps import MultiHeadMap as MultiHeadMap
from dynsim.systems.hardmax.maps import SoftmaxMap as SoftmaxMap
