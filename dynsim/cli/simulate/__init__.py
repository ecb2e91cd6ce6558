"""`dynsim simulate`: call the module that simulates the named system."""

import importlib
from collections.abc import Sequence

WITH_OWN_OPTIONS = {
    "hardmax": "(1.1) of HARDMAX: the clustering map, in floats, in exact arithmetic, or with a softmax",
    "master-equation": "(26) of MULTIRATE: a continuous-time Markov chain, its stationary distributions and relaxation",
    "fast-slow": "(1) of MULTIRATE: fast and slow variables, the critical manifold and the reduced flow",
    "prototypes": "(11)-(12) of PROTOTYPES: prototypes that compete for embeddings, alone or with an encoder",
    "growing": "(45)-(48) of GROWING: heads of prototypes that are added, cooled, clipped and removed",
    "multirate": "the network of MULTIRATE: its loss on a text, a continuation, and a causality check",
}
"""Systems with a module and options of their own, and their descriptions; `flows` simulates all others."""

FOLDERS = ("prototypes", "growing")
"""The systems whose module is a folder; its module `command` simulates the system."""


def main(words: Sequence[str]) -> int:
    """Simulate the system that the first argument names."""
    if {"-h", "--help"} & set(words) and words[0] not in WITH_OWN_OPTIONS:
        from dynsim.cli.building.flow_options import Simulate
        from dynsim.cli.parsing.options import parse

        parse(Simulate, ["--help"], "simulate")  # prints the help and ends the command
    own, _, example = words[0].partition("/") if words else ("", "", "")  # as in `fast-slow/van-der-pol`
    if own not in WITH_OWN_OPTIONS or set(".:/") & set(example):  # a file in a folder of that name
        return importlib.import_module(f"{__name__}.flows").main(words)
    name = f"{own}.command" if own in FOLDERS else own.replace("-", "_")
    module = importlib.import_module(f"{__name__}.{name}")
    return module.main([example] * bool(example) + [*words[1:]])
