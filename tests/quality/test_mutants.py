"""The mutants: each row finds its place, also after moves and new format; claims notice the quick ones."""

import ast
from pathlib import Path

import pytest

from analysis.claims import claims
from tests.quality.attempts import run
from tests.quality.mutants import Mutant, attempts, mutants, stale
from tests.quality.source_index import ROOT, Index, Source

QUICK = [mutant for mutant in mutants() if mutant.quick]
FLOW = """
WIDTH, DEPTH = 3, 4

class Flow:
    scale: float = 0.5

    def velocity(self, t, x, *, factor=2.0):
        "Words."
        if self.scale > 0:
            x = self.form(x, space=self.space)
        return -x * (
            factor +  t)
"""
MAP = """
class Map:
    def step(self, x): return x + 1

def norm(x): return abs(x) ** 2
"""


def index(**texts: str) -> Index:
    return Index(Source(module, Path(f"{module}.py"), text) for module, text in texts.items())


def change(where: str, old: str, new: str, *, beside: str = "", **texts: str) -> tuple[str, str]:
    """Make a mutant in modules that are given by their texts; return the module and the lines that differ."""
    modules = index(**texts)
    changed = Mutant("mutant", where, old, new, ("id",), beside=beside).changed(modules)
    before = ast.unparse(ast.parse(texts[changed.module])).splitlines()
    after = ast.unparse(changed.tree).splitlines()
    return changed.module, "\n".join(line.strip() for line in after if line not in before)


def test_each_row_finds_its_place_and_compiles():
    lines = stale(mutants())
    assert not lines, "\n" + "\n".join(lines)


def test_each_row_names_claims_with_controls_or_tests_or_why_nothing_can_notice_it():
    known = {claim.id: claim for claim in claims()}
    wrong = [m.name for m in mutants() if [bool(m.claims), bool(m.tests), bool(m.equivalent)].count(True) != 1]
    for file, name in {(*test.split("[")[0].split("::"), "")[:2] for m in mutants() for test in m.tests}:
        wrong += [] if f"def {name}" in (ROOT / file).read_text(encoding="utf-8") else [f"{file}: {name}"]
    # a claim without a control may be refuted as it stands, and would then seem to notice every mutant
    wrong += [f"{m.name}: {id}" for m in mutants() for id in m.claims if id not in known or not known[id].control]
    assert not wrong


@pytest.mark.parametrize(
    ("where", "old", "new", "line"),
    [
        ("Flow.velocity", "-x*(factor + t)", "x", "return x"),
        ("Flow.velocity", "self.scale>0", "self.scale >= 0", "if self.scale >= 0:"),
        ("Flow.velocity", "space = self.space", "space=None", "x = self.form(x, space=None)"),
        ("Flow.velocity", "space=self.space", "", "x = self.form(x)"),
        ("Flow.velocity", "factor=2.0", "factor=3.0", "def velocity(self, t, x, *, factor=3.0):"),
        ("Flow.velocity", "x = self.form(x, space=self.space)", "", "pass"),
        ("Flow.velocity", "return -x * (factor + t)", "x = 2 * x\nreturn x", "x = 2 * x\nreturn x"),
        ("Flow.scale", "0.5", "1.0", "scale: float = 1.0"),
        ("Flow", "0.5", "1.0", "scale: float = 1.0"),
        ("DEPTH", "4", "5", "WIDTH, DEPTH = (3, 5)"),
    ],
)
def test_an_expression_an_argument_and_a_statement_are_found_in_any_format(where, old, new, line):
    assert change(where, old, new, flow=FLOW, map=MAP) == ("flow", line)


def test_a_row_follows_its_function_to_another_module():
    where, old, new = "norm", "abs(x) ** 2", "abs(x)"
    assert change(where, old, new, flow=FLOW, map=MAP) == ("map", "return abs(x)")
    head, moved = MAP.split("def norm")
    assert change(where, old, new, flow=f"{FLOW}\ndef norm{moved}", map=head) == ("flow", "return abs(x)")


def test_a_name_of_two_modules_is_told_apart_by_the_expression_or_by_its_neighbour():
    other = "def norm(x): return max(abs(x))\nBOUND = 1\n"
    twice = f"{other}\ndef step(x): return 2 * x\n"
    assert change("norm", "abs(x) ** 2", "abs(x)", map=MAP, other=other)[0] == "map"
    assert change("norm", "max", "min", map=MAP, other=other)[0] == "other"
    with pytest.raises(ValueError, match=r"must occur once in `norm`, but does 2 times \(other, twice\)"):
        change("norm", "max", "min", other=other, twice=twice)
    assert change("norm", "max", "min", beside="step", other=other, twice=twice)[0] == "twice"


def test_an_expression_that_occurs_elsewhere_only_is_not_found():
    with pytest.raises(ValueError, match="but does 0 times"):
        change("Flow.velocity", "abs(x)", "x", flow=FLOW, map=MAP)
    with pytest.raises(ValueError, match=r"but does 2 times \(twice\)"):
        change("f", "x", "y", twice="def f(x): return x + x")


def test_the_other_nodes_of_the_module_stay():
    modules = index(flow=FLOW)
    before = ast.dump(modules.sources[0].tree)
    changed = Mutant("mutant", "Flow.velocity", "self.scale", "1", ("id",)).changed(modules)
    assert ast.dump(modules.sources[0].tree) == before
    assert ast.dump(changed.tree) == ast.dump(ast.parse(FLOW.replace("if self.scale", "if 1")))


def test_each_stale_row_is_a_line():
    rows = [
        Mutant("gone", "Flow.speed", "2 * t", "t", ("id",)),
        Mutant("good", "Map.step", "x + 1", "x", ("id",)),
        Mutant("renamed", "Flow.velocity", "self.width > 0", "True", ("id",)),
        Mutant("the same", "Map.step", "x + 1", "x+1", ("id",)),
        Mutant("no Python", "Map.step", "x + 1", "x +", ("id",)),
        Mutant("no target", "Map.step", "return x + 1", "f(x) = 1", ("id",)),
    ]
    assert stale(rows, index(flow=FLOW, map=MAP)) == [
        "mutant `gone`: `2 * t` must occur once in `Flow.speed`, but does 0 times",
        "mutant `renamed`: `self.width > 0` must occur once in `Flow.velocity`, but does 0 times",
        "mutant `the same`: `x + 1` becomes itself in `Map.step`",
        "mutant `no Python`: `x + 1` or `x +` is no Python (invalid syntax)",
        "mutant `no target`: `return x + 1` or `f(x) = 1` is no Python "
        "(cannot assign to function call here. Maybe you meant '==' instead of '='?)",
    ]


@pytest.mark.slow
def test_claims_notice_the_quick_mutants():
    survived = [result for result in run(attempts(QUICK)) if not result.killed]
    assert not survived


def test_a_claim_that_does_not_see_a_mutant_is_reported():
    unseen = Mutant(
        "other words of an error, which no claim can see",
        "Window.__init__",
        '"width"',
        '"the width"',
        ("consensus/equation-18-19",),
    )
    (result,) = run(attempts([unseen]))
    assert not result.killed
    assert result.survived == ("consensus/equation-18-19: EXACT",)
