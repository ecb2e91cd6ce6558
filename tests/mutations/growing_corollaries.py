"""Errors in the growing system, its functional and what heads give out, and the claims of corollaries that notice."""

from tests.mutants import Mutant

ASSIGNMENTS, EVENTS = "dynsim.systems.prototypes.assignments", "dynsim.systems.growing.transitions"
VOCABULARY = "growing/corollary-16/corrected"

MUTANTS = (
    Mutant(
        "growing corollaries: centroids are weighted by the square roots of the assignments",
        ASSIGNMENTS,
        "return q @ p",
        "return q**0.5 @ p",
        (VOCABULARY,),
    ),
    Mutant(
        "growing corollaries: a clip sets half of the cube of the least temperature",
        EVENTS,
        "x._replace(cubes=jnp.where(reached, least, x.cubes))",
        "x._replace(cubes=jnp.where(reached, least / 2, x.cubes))",
        (VOCABULARY,),
    ),
)
