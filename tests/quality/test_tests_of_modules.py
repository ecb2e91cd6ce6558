"""Which files of tests are tried for a module."""

from pathlib import Path

import pytest

from tests.quality.source_index import Index, Source, project
from tests.quality.tests_of_modules import TESTS, files_for, files_of_tests

MODULES = {
    "dynsim/__init__.py": "",
    "dynsim/flows/__init__.py": "",
    "dynsim/flows/attention.py": "class TokenFlow:\n    pass\n\n\ndef weights(x):\n    return x\n",
    "dynsim/flows/inner.py": "def rounded(x):\n    return x\n",
    "dynsim/simulation.py": "from dynsim.flows.inner import rounded\n\n\ndef simulate(x):\n    return rounded(x)\n",
    "dynsim/tokens.py": "from dynsim.flows.attention import TokenFlow as TokenFlow\n",
    "dynsim/cli/continue.py": "def main():\n    return 1\n",
    "dynsim/cli/basins/command.py": "def main():\n    return 1\n",
}
TESTS_OF_PROJECT = {
    "test_flat.py": "import numpy as np\n\nassert np.weights == 1\n",
    "dynamics/flows/test_face.py": "import dynsim as ds\n\nds.flows.weights(ds.flows.weights(ds.flows.weights(1)))\n",
    "dynamics/test_direct.py": "from dynsim.flows.attention import TokenFlow\n",
    "dynamics/test_namespace.py": "import dynsim as ds\n\nds.tokens.TokenFlow(ds.tokens.TokenFlow())\n",
    "dynamics/test_twice.py": "from dynsim.flows import attention\n\nattention.weights(attention.weights(2))\n",
    "dynamics/test_runs.py": "from dynsim import simulate as run\n\nrun(1)\n",
    "cli/test_commands.py": "call('dynsim continue --parameter r=0:3')\n",
    "cli/test_basins.py": "call('dynsim basins duffing')\n",
    "benchmarks/test_times.py": "from dynsim.flows.attention import TokenFlow\n",
}


def written(folder: Path, texts: dict[str, str]) -> Path:
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.fixture
def chosen(tmp_path):
    def names(module: str) -> list[str]:
        found = files_for(index.by_module[module], index, tests)
        return [str(Path(path).relative_to(tests)) for path in found]

    index = Index(
        Source(path.removesuffix(".py").removesuffix("/__init__").replace("/", "."), Path(path), text)
        for path, text in MODULES.items()
    )
    tests = written(tmp_path, TESTS_OF_PROJECT)
    return names


def test_files_in_folders_are_found_by_imports_and_faces_those_with_most_references_first(chosen):
    assert chosen("dynsim.flows.attention") == [
        "dynamics/test_twice.py",
        "dynamics/test_direct.py",
        "dynamics/flows/test_face.py",
        "dynamics/test_namespace.py",
    ]


def test_a_module_that_no_test_names_is_tested_through_those_that_import_it(chosen):
    assert chosen("dynsim.flows.inner") == ["dynamics/test_runs.py"]


def test_a_module_that_nothing_imports_is_tested_by_its_name_in_command_lines(chosen):
    assert chosen("dynsim.cli.continue") == ["cli/test_commands.py"]
    assert chosen("dynsim.cli.basins.command") == ["cli/test_basins.py"]


def test_tests_of_this_project_are_found():
    (source,) = project().defining("continue_equilibria")
    files = files_for(source)
    assert len(files) == TESTS
    assert "continue_equilibria" in Path(files[0]).read_text(encoding="utf-8")


def test_benchmarks_are_left_out(tmp_path):
    folder = written(tmp_path, TESTS_OF_PROJECT)
    assert len(files_of_tests(folder)) == len(TESTS_OF_PROJECT) - 1
