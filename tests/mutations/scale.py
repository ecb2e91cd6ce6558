"""Errors in ensembles and in stored runs of many devices, and the tests that notice them."""

from tests.mutants import Mutant

EXPLICIT, STORAGE = "dynsim.integrators.explicit", "dynsim.storage"
MEMBER = ("tests/test_ensemble.py::test_a_member_is_what_simulate_gives",)

MUTANTS = (
    Mutant("scale: the last stage of a step is left out", EXPLICIT,
           "zip(row, ks, strict=True)", "zip(row[:-1], ks[:-1], strict=True)", tests=MEMBER),
    Mutant("scale: a stored flow names its mesh", STORAGE,
           "part.inner if sharded(part) else part", "part",
           tests=("tests/test_sharded.py::test_a_stored_flow_names_no_mesh",)),
    Mutant("scale: a part begins when the first one has ended", "dynsim.ensembles",
           """            finally:
                compiled.set()
            return jax.block_until_ready(found)""",
           """                return jax.block_until_ready(found)
            finally:
                compiled.set()""",
           tests=("tests/test_ensemble.py::test_parts_run_at_once_as_soon_as_their_program_is_compiled",)),
)  # fmt: skip
