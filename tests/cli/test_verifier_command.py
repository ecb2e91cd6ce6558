"""`dynsim verifier` prints and writes the page of a verifier."""

import re

from tests.support.commands import answer, refused, run
from tests.support.verifiers import FILES, written


def test_the_command_prints_a_page_and_writes_it(capsys, tmp_path):
    text = written("growing/theorem_1_convexity").read_text()
    for statement in ("growing/theorem-1-convexity", "growing/theorem-1/convexity"):
        assert run(capsys, "verifier", statement) == (0, text, "")
    out = tmp_path / "scripts" / "convexity.py"
    said = answer(capsys, "verifier", "growing/theorem-1/convexity", "--out", out)
    assert str(out) in said
    assert out.read_text() == text
    assert run(capsys, "verifier", "growing/lemma-4", "--out", out)[0] == 0  # replaces a page
    assert out.read_text() == written("growing/lemma_4").read_text()
    assert list(out.parent.iterdir()) == [out]


def test_the_command_replaces_other_files_only_with_force(capsys, tmp_path):
    out = tmp_path / "mine.py"
    out.write_text("print(1)")
    assert "--force" in refused(capsys, "verifier", "growing/lemma-4", "--out", out)
    assert out.read_text() == "print(1)"
    assert run(capsys, "verifier", "growing/lemma-4", "--out", out, "--force")[0] == 0
    assert out.read_text() == written("growing/lemma_4").read_text()
    assert "must end in .py" in refused(capsys, "verifier", "growing/lemma-4", "--out", tmp_path / "mine.txt")


def test_an_unknown_statement_is_refused_with_the_nearest_ones(capsys):
    said = refused(capsys, "verifier", "prototypes/theorem-2")
    assert "`dynsim list verifiers`" in said
    assert re.search("did you mean `prototypes/theorem-2-[a-z]+`, `prototypes/theorem-2-[a-z]+` or `.*`\\?", said)
    assert "did you mean `growing/lemma-4`, " in refused(capsys, "verifier", "growing/lemma-4x")
    assert "did you mean" not in refused(capsys, "verifier", "zzz")
    assert "must be given" in refused(capsys, "verifier")


def test_the_list_of_verifiers_has_every_statement_once(capsys):
    said = answer(capsys, "list", "verifiers")
    assert said.split()[1:] == sorted(one.statement for one in FILES.values())
