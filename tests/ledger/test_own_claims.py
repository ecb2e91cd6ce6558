"""Claims of the user's own, outside of this tree, in files that the command line names."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from analysis.findings_file import read_findings
from analysis.json_types import exact, plain
from analysis.provenance import source_digest
from dynsim.cli.ledger.own_claims import A_TRIAL, library
from dynsim.papers import Paper
from tests.support.annotations import unchecked
from tests.support.commands import answer, refused, run
from tests.support.own_paper import CLAIMS, GOOD, HEAD, ONE, STATEMENTS, write


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_claims_of_a_file_are_checked_alone(capsys, folder):
    write("mine.py", HEAD, CLAIMS)
    out = answer(capsys, "check", "mine.py", "--json", "found.json", "--trials-out", "trials.jsonl")
    rows = [json.loads(row) for row in Path("found.json").read_text().splitlines()]
    assert [(row["statement"], row["finding"]) for row in rows] == [
        ("mine/theorem-1", "HOLDS"),
        ("mine/theorem-2", "FAILS"),
    ]
    assert rows[0]["text"] == "The square of a number in the unit interval is at most 1."
    assert rows[0]["claims"][0]["control"] == "REFUTED"
    assert "consensus" not in out
    trials = [json.loads(row) for row in Path("trials.jsonl").read_text().splitlines()]
    assert [(row["claim"], row["index"], row["seed"]) for row in trials] == [
        *(("mine/theorem-1", index, 0) for index in range(3)),
        ("mine/theorem-2", 0, 0),
    ]
    measured = trials[3]["conclusions"][0]
    assert measured["verdict"] == "fails"
    assert measured["slack"] == pytest.approx(-(trials[3]["witness"]["x"] ** 2))
    assert trials[3]["witness"]["many"] == "array of shape (65,)"
    assert trials[0]["hypotheses"][0]["verdict"] == "holds"


def test_patterns_choose_among_the_claims_of_files(capsys, folder):
    write("mine.py", HEAD, CLAIMS)
    write("yours.py", HEAD.replace('"mine"', '"yours"'), CLAIMS.replace("mine/", "yours/"))
    for pattern, ids in {
        "theorem-2": ["mine/theorem-2", "yours/theorem-2"],
        "yours": ["yours/theorem-1", "yours/theorem-2"],
        "mine/*-1": ["mine/theorem-1"],
    }.items():
        out = answer(capsys, "check", "mine.py", "yours.py", pattern, "--trials", 1)
        assert [line.split()[0] for line in out.splitlines() if " printed " in line] == ids
    assert "`theorem-3` names none, did you mean `theorem-" in refused(capsys, "check", "mine.py", "theorem-3")
    assert "`lemma-3.1` names none" in refused(capsys, "check", "mine.py", "lemma-3.1")


@pytest.mark.slow
def test_every_number_of_processes_and_a_kept_line_give_the_same_bytes(capsys, folder):
    write("constants_beside.py", "OFFSET = 0.0\n")
    write(
        "mine.py",
        HEAD,
        "from constants_beside import OFFSET\n",
        CLAIMS.replace("x * x + offset", "x * x + offset + OFFSET"),
    )
    assert run(capsys, "check", "mine.py", "--trials-out", "one")[0] == 0
    assert run(capsys, "check", "mine.py", "--trials-out", "two", "--jobs", 2, "--lines", "kept")[0] == 0
    stamps = {path: path.stat().st_mtime_ns for path in Path("kept").iterdir()}
    assert run(capsys, "report", "mine.py", "--trials-out", "three", "--lines", "kept")[0] == 0
    assert {path: path.stat().st_mtime_ns for path in Path("kept").iterdir()} == stamps
    assert len(stamps) == 2
    assert Path("one").read_bytes() == Path("two").read_bytes() == Path("three").read_bytes()


def test_a_worker_that_ends_is_named_in_one_sentence(capsys, folder):
    write("mine.py", HEAD, "import os\nos.chdir('/')\n", *(ONE.format(id, id, "os._exit(3)") for id in "ab"))
    said = refused(capsys, "check", "mine.py", "--jobs", 2)
    assert "`jobs` must be a number of processes that memory can hold, but one of 2 ended before" in said


@pytest.mark.slow
def test_the_digest_of_a_kept_line_covers_the_file_and_what_it_imports_from_beside(folder):
    write("inner_beside.py", "X = 1\n")
    write("outer_beside.py", "import inner_beside, package_beside\n")
    Path("package_beside").mkdir()
    write("package_beside/__init__.py", "")
    write("package_beside/part.py", "X = 1\n")
    write("stranger_beside.py", "raise RuntimeError\n")
    digest = lambda: source_digest(library(["mine.py"]).claims[0])
    write("mine.py", HEAD, "import outer_beside\n", CLAIMS)
    before = digest()
    write("stranger_beside.py", "raise ValueError\n")
    assert digest() == before
    write("inner_beside.py", "X = 2\n")
    after = digest()
    assert after != before
    write("package_beside/part.py", "X = 2\n")
    assert digest() not in (before, after)
    write("mine.py", HEAD, "import outer_beside\n", CLAIMS, "# more\n")
    assert digest() not in (before, after)


def test_a_report_is_that_of_the_file_alone(capsys, folder):
    write(
        "mine.py",
        HEAD,
        CLAIMS,
        "from analysis.ledger.statement import Statement",
        'S = PAPER.at("Theorem")',
        STATEMENTS,
    )
    Path("README.md").write_text("top\n<!-- ledger -->\n<!-- /ledger -->\n")
    words = ("--markdown", "found.md", "--json", "found.json", "--readme", "README.md", "--lines", "kept", "--jobs", 1)
    words += ("--site", "site.json", "--seed", 3)
    head = {"format": "dynsim ledger", "version": 1, "date": "2000-01-02", "dynsim": "0.1.0"}
    former = {"id": "mine/theorem-1", "finding": "fails", "claims": []}
    Path("site.json").write_text(json.dumps(head | {"version": 2}))
    assert "`site` must have version 1 of the format" in refused(capsys, "report", "mine.py", *words)
    Path("site.json").write_text(json.dumps(head | {"statements": [former]}))
    out = answer(capsys, "report", "mine.py", *words, "--trials", 1)
    assert "| `mine` | 1 | 0 | 1 | 0 | 1 |" in out
    assert "| `mine` | 1 | 0 | 1 | 0 | 1 |" in Path("README.md").read_text()
    assert "consensus" not in Path("found.md").read_text()
    rows = [json.loads(row) for row in Path("found.json").read_text().splitlines()]
    assert [(row["statement"], row["finding"]) for row in rows] == [
        ("mine/theorem-1", "HOLDS"),
        ("mine/theorem-2", "FAILS"),
        ("mine/theorem-3", "OPEN"),
    ]
    assert rows[2]["text"] == "Text 3."
    site = read_findings(Path("site.json"))
    assert (site["claims"], site["trials"], site["seed"], [*site["papers"]]) == (2, 2, 3, ["mine"])
    assert [(one["id"], one["finding"], len(one["claims"])) for one in site["statements"]] == [
        ("mine/theorem-1", "holds", 1),
        ("mine/theorem-2", "fails", 1),
        ("mine/theorem-3", "open", 0),
    ]
    assert [len(one["history"]) for one in site["statements"]] == [2, 1, 1]
    assert site["statements"][0]["history"][0] == [0, "fails", ""]
    assert "name Python files or the keys of papers (mine), but `yours`" in refused(
        capsys, "report", "mine.py", "yours"
    )


def test_some_of_the_claims_on_a_statement_give_no_finding(capsys, folder):
    write("mine.py", HEAD, ONE.format("a", "f", GOOD), ONE.format("a/corrected", "g", GOOD))
    assert "mine/a: holds" in answer(capsys, "check", "mine.py", "a", "--trials", 1)
    out = answer(capsys, "check", "mine.py", "a/corrected", "--trials", 1)
    assert "mine/a: 1 of 2 claims checked, the finding needs all (`dynsim check mine/a`)" in out


def test_a_counterexample_is_written_in_exact_numbers(capsys, folder):
    write("mine.py", HEAD, CLAIMS)
    assert run(capsys, "check", "mine.py", "theorem-2", "--witness", "found.json")[0] == 0
    found = json.loads(Path("found.json").read_text())
    assert (found["claim"], found["seed"], found["index"]) == ("mine/theorem-2", 0, 0)
    assert found["statement"].startswith("The square")
    x = Fraction(found["witness"]["x"])
    assert x.denominator & (x.denominator - 1) == 0  # a float
    assert Fraction(found["conclusions"][0]["slack"]) == Fraction(1.0 - (float(x) * float(x) + 1.0))
    assert found["witness"]["many"] == 65 * [str(Fraction(0.1))]
    said = refused(capsys, "check", "mine.py", "theorem-1", "--witness", "other.json")
    assert (
        "a claim whose verdict is REFUTED (`--trials-out` writes the instances of any claim), but the verdict" in said
    )
    assert "on `mine/theorem-1` is SUPPORTED" in said
    assert "2 are chosen: `mine/theorem-1`, `mine/theorem-2`" in refused(
        capsys, "check", "mine.py", "--witness", "o.json"
    )
    assert not Path("other.json").exists()


def test_numbers_are_written_without_loss():
    class Ball:  # as those of python-flint
        def __init__(self, mantissa, exponent, radius=None):
            self.parts, self.radius = (mantissa, exponent), radius

        def man_exp(self):
            return self.parts

        def mid(self):
            return self

        def rad(self):
            return self.radius

        def is_finite(self):
            return True

    value = {
        "float": 0.1,
        "numbers": (1, Fraction(2, 6), np.float32(0.5), np.int64(3), True, None, "a"),
        "matrix": np.arange(100.0).reshape(50, 2),
        "not finite": [float("inf"), float("nan")],
        "fractions": np.array([Fraction(1, 3)], dtype=object),
        "complex": np.array([1 + 0.5j]),
        "ball": Ball(3, -1, Ball(1, -2)),
    }
    found = exact(value)
    assert json.loads(json.dumps(found)) == found
    assert Fraction(found["float"]) == Fraction(0.1)
    assert found["numbers"] == [1, "1/3", "1/2", 3, True, None, "a"]
    assert found["matrix"][49] == ["98", "99"]
    assert found["not finite"] == ["inf", "nan"]
    assert found["fractions"] == ["1/3"]
    assert found["complex"] == [{"real": "1", "imag": "1/2"}]
    assert found["ball"] == ["5/4", "7/4"]
    assert plain(lambda: 0) == exact(lambda: 0)  # no address in memory


LINE = ONE.format("a", "f", GOOD).splitlines()[0]
CALL = 'f = claim("mine/{}", PAPER.at("Theorem 1"), statement="A text.", trial=t)'


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        (["x = ("], "line 1 of `bad.py`, `x = (`, raised SyntaxError"),
        (["1 / 0"], "line 1 of `bad.py`, `1 / 0`, raised ZeroDivisionError"),
        (["raise SystemExit(0)"], "line 1 of `bad.py`, `raise SystemExit(0)`, raised SystemExit"),
        (["x = 1"], '`file` must define `PAPER = Paper("key", "title", "authors")`, but `bad.py` does not'),
        ([HEAD], "hold claims made by `@claim`, but `bad.py` has none"),
        ([HEAD.replace("mine", "consensus")], "`consensus` in `bad.py` is taken by a paper of `dynsim`"),
        ([HEAD.replace('"mine"', '"a/b"')], "raised ArgumentError: Argument `key` must be a word of letters, digits"),
        (
            [HEAD, ONE.format("a", "f", GOOD), ONE.format("a", "g", GOOD)],
            f"define `mine/a` once, but line 12 of `bad.py`, `{LINE}` and line 17 of `bad.py`, `{LINE}` define it",
        ),
        (
            [HEAD, ONE.format("a", "f", GOOD), "g = f.with_control(f.trial)"],
            "give `mine/a` and its control one name, as `@NAME.with_control` over `def NAME` does, but line 12 of",
        ),
        (
            [HEAD, ONE.format("a", "f", GOOD).replace("mine/a", "other/a")],
            f"line 12 of `bad.py`, `{LINE.replace('mine', 'other')}`, raised ArgumentError: Argument `id` must be `mi",
        ),
        (
            [HEAD, ONE.format("a", "f", GOOD).replace("mine/a", "o/a").replace("PAPER", 'Paper("o", "", "")')],
            'of its own paper, `mine`, but line 12 of `bad.py`, `@claim("o/a"',
        ),
        (
            [
                HEAD,
                ONE.format("theorem-4", "f", GOOD),
                "from analysis.ledger.statement import Statement",
                'S = PAPER.at("")',
            ]
            + [STATEMENTS],
            "hold claims of the statements in `STATEMENTS` only, but line 12 of `bad.py`",
        ),
        ([HEAD, ONE.format("a", "f", GOOD), "STATEMENTS = 3"], "give `STATEMENTS` as a tuple of `Statement`"),
        (
            [HEAD, ONE.format("a", "f", "return 3")],
            f"Argument `trial` must {A_TRIAL}, but the trial of `mine/a`, line 12 of `bad.py`, `{LINE}`, returns int.",
        ),
        ([HEAD, ONE.format("a", "f", 'return Trial(holds("a", True), ())')], "gives `hypotheses` as Measurement"),
        ([HEAD, ONE.format("a", "f", "return Trial((), ())")], "gives no conclusion"),
        (
            [HEAD, ONE.format("a", "f", GOOD), ONE.format("b", "f", GOOD)],
            "name each claim differently, but line 18 of `bad.py`, `def f(key, integrator):`, repeats the name of line",
        ),
        (
            [HEAD, "def t(key):", f"    {GOOD}", *(CALL.format(id) for id in "ab")],
            f"name each claim differently, but line 15 of `bad.py`, `{CALL.format('b')}`, repeats the name of line 14",
        ),
        (
            [HEAD, ONE.format("a", "f", GOOD[:-1] + ', parameters={"n": key})')],
            "gives a parameter as PRNGKeyArray, not as a number or a word",
        ),
        (
            [HEAD, ONE.format("a", "f", 'return Trial((), (holds("b", True),), 3)')],
            "a witness or parameters that are no",
        ),
    ],
)
def test_bad_files_are_refused_with_the_users_line(capsys, folder, parts, sentence):
    write("bad.py", *parts)
    with unchecked():  # whose errors would come before ours
        assert sentence in refused(capsys, "check", "bad.py")


def test_missing_files_and_two_with_one_key_are_refused(capsys, folder):
    for command in ("check", "report", "figure"):
        assert "`file` must name a file, but `none.py` does not exist" in refused(capsys, command, "none.py")
    write("one.py", HEAD, CLAIMS)
    write("two.py", HEAD, CLAIMS)
    assert "`mine` in `two.py` is taken by a paper of `one.py`" in refused(capsys, "check", "one.py", "two.py")


def test_a_trial_that_raises_is_named_with_its_line_and_the_others_are_checked(capsys, folder):
    write("mine.py", HEAD, ONE.format("a", "f", "raise SystemExit(3)"), ONE.format("b", "g", GOOD))
    status, out, err = run(capsys, "check", "mine.py")
    assert (status, err) == (1, "")
    assert (
        "mine/a: trial 0: ArgumentError: Argument `trial` must run without an exception, but line 15 of `mine.py`"
        in out
    )
    assert "mine/b: holds" in out


@pytest.mark.parametrize(
    ("needs", "body", "why"),
    [
        (
            "from dynsim import IntegrationError\nfrom dynsim.errors import Outcome",
            'raise IntegrationError("It stopped.", outcome=Outcome.MAX_STEPS)',
            "It stopped.",
        ),
        ("from dynsim.io.data import data_file", 'data_file("none.txt", ".")', "Argument `data` must name a folder"),
    ],
    ids=["integration", "data"],
)
def test_a_failed_integration_or_missing_data_leaves_a_trial_undecided(capsys, folder, needs, body, why):
    write("mine.py", HEAD, needs, ONE.format("a", "f", body))
    out = answer(capsys, "check", "mine.py")
    assert f"mine/a: {why}" in out
    assert "INCONCLUSIVE" in out


def test_nothing_but_the_named_file_and_its_imports_is_run(capsys, folder):
    write("stranger_beside.py", "from pathlib import Path\nPath('ran').touch()\n")
    for module in ("optax", "xarray", "sitecustomize"):
        write(f"{module}.py", "from pathlib import Path\nPath('ran').touch()\n")
    write("mine.py", HEAD, ONE.format("a", "f", GOOD))
    assert run(capsys, "check", "mine.py")[0] == 0
    assert not Path("ran").exists()


def test_a_module_beside_a_file_is_not_mistaken_for_another_of_its_name(capsys, folder):
    Path("inner").mkdir()
    write("twice_beside.py", "X = 1\n")
    write("inner/twice_beside.py", "X = 2\n")
    body = ONE.format("a", "f", GOOD)
    write("mine.py", HEAD, "import twice_beside\n", body)
    write("inner/yours.py", HEAD.replace('"mine"', '"yours"'), "import twice_beside\n", body.replace("mine", "yours"))
    said = refused(capsys, "check", "mine.py", "inner/yours.py")
    assert "import modules from its folder by names that no other module has: `twice_beside.py`" in said
    write("figures.py", "")
    said = refused(capsys, "check", "mine.py")
    assert "no other module has: `figures.py`, but `figures` in `mine.py` is a different module" in said


def test_the_key_of_a_paper_is_a_word():
    for key in ("", "a/b", "a b", "a*", "mine.py", "../a"):
        with pytest.raises(ValueError, match="`key` must be a word of letters, digits"):
            Paper(key, "", "")
    assert str(Paper("mine-2", "", "").at("Lemma 1")) == "mine-2, Lemma 1"
