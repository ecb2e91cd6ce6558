"""`dynsim simulate`: find the module that simulates the named system."""

import importlib
from collections.abc import Sequence

# Systems whose options differ from those of a flow, each read by the module of its name, and what they are.
WITH_OWN_OPTIONS = {
    "hardmax": "the clustering map of HARDMAX, in floats, exact, or with a softmax",
    "master-equation": "(26) of MULTIRATE: a Markov chain in continuous time, its law, gap and relaxation",
    "fast-slow": "(1) of MULTIRATE: fast and slow variables, their manifold and reduced flow",
    "multirate": "the network of MULTIRATE: read a text, continue it, look for leaks",
}


def main(words: Sequence[str]) -> int:
    """Simulate the system that the first word names."""
    own = words[0] if words and words[0] in WITH_OWN_OPTIONS else None
    module = importlib.import_module(f"{__name__}.{'flows' if own is None else own.replace('-', '_')}")
    return module.main(words if own is None else words[1:])
