"""Verify an instance that refutes Lemma 21 of "DDCL-INCRT".

Printed: W does not increase at a growth event.

Instance: a new head with two prototypes at a given distance. No old term changes; the new ones are L_q >= 0,
Phi(T_init) = 0, and the barrier lambda / distance^2.
"""

from fractions import Fraction

STATEMENT = "growing/lemma-21"
WITNESS = {"lambda": "1/4", "distance": "2", "T_init": "1", "T of the new head": "1", "eta_T": "1/100"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    names = ("lambda", "distance", "T_init", "T of the new head", "eta_T")
    lam, distance, first, T, eta = (Fraction(witness[k]) for k in names)
    yield "lambda and the distance, positive", f"{lam} and {distance}", lam > 0 and distance > 0
    potential = (first**3 - T**3) / (3 * eta)
    yield "Phi of the new head", str(potential), potential == 0
    barrier = lam / distance**2
    yield "W increases by more than", str(barrier + potential), barrier + potential > 0
