"""Hardmax clustering: maps in floating point and in exact arithmetic, their softmax, and the theorem's conditions."""

from dynsim.simulation.hardmax import iterate_hardmax
from dynsim.systems.hardmax.attention import ExactHardmax, Hardmax, Softmax
from dynsim.systems.hardmax.hypotheses import hypotheses
from dynsim.systems.hardmax.maps import ExactHardmaxMap, HardmaxMap, MultiHeadMap, SoftmaxMap

__all__ = [
    "ExactHardmax",
    "ExactHardmaxMap",
    "Hardmax",
    "HardmaxMap",
    "MultiHeadMap",
    "Softmax",
    "SoftmaxMap",
    "hypotheses",
    "iterate_hardmax",
]
