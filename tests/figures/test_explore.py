"""Pages to explore a system: what they hold and do not hold, what reproduces their view, and what they refuse."""

import json
import re
import shlex
import sys
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from dynsim import FunctionFlow, FunctionMap, NoisyFlow, Sphere, explore, system
from dynsim.__main__ import main
from dynsim.cli.building.systems import found
from dynsim.cli.parsing.system import parse_system
from dynsim.cli.portrait import Portrait
from dynsim.cli.section import Section
from dynsim.systems.catalogue.entries import CATALOGUE
from figures.explore.model import label, model
from figures.explore.scripts import methods, text
from figures.explore.source import source_of, source_of_own
from figures.style import COLOURS
from tests.support.node import NODE, WHY_NOT, in_node

OSCILLATOR = "x' = y  # [m] -3..3\ny' = mu*(1 - x^2)*y - x  # -4..4\nmu = 1  # 0..4"


@pytest.fixture(scope="module")
def pages():
    """The page of a text, made twice."""
    pytest.importorskip("bokeh")
    return [explore(system(OSCILLATOR)) for _ in range(2)]


class Pair(NamedTuple):
    """A number and a vector."""

    a: Any
    b: Any


def without_library(html):
    """A page without BokehJS, which is its longest line but one."""
    return re.sub(r"<script>/\* BEGIN bokeh.*?</script>", "", html, count=1, flags=re.S)


def test_a_page_is_the_same_every_time_and_holds_nothing_of_the_machine(pages, tmp_path):
    one, other = (page.html for page in pages)
    assert one == other
    ours = without_library(one)
    assert 50_000 < len(ours) < 200_000 < len(one)
    assert "://" not in ours
    assert not re.search(r"(/home/|/root|/work/|/tmp/|/usr/|site-packages|\.venv)", ours)
    assert "default-src 'none'" in ours
    kinds = json.loads(re.search(r'"kinds": ?({[^}]*})', ours)[1])  # pyright: ignore[reportOptionalSubscript]
    assert kinds == {"stable": COLOURS["stable"], "unstable": COLOURS["field"], "saddle": COLOURS["field"],
                     "undecided": COLOURS["undecided"]}  # fmt: skip
    path = pages[0].save(tmp_path / "page.html")
    assert path.read_text(encoding="utf-8") == one
    assert str(pages[0]).startswith("Page to explore x' = y, 1.")
    assert 'srcdoc="&lt;!DOCTYPE html&gt;' in pages[0]._repr_html_()[:200]


def test_names_cannot_end_a_script_or_an_element():
    pytest.importorskip("bokeh")
    flow = FunctionFlow(lambda t, x: -x, names=("</script><b>", "<!--"), parameters={})
    html = without_library(explore(flow, [1.0, 2.0]).html)
    assert html.lower().count("</script>") == 1
    assert "<b>" not in html


def test_every_system_of_the_catalogue_has_a_model():
    for entry in CATALOGUE.values():
        made = model(entry.system()).described
        assert tuple(made["start"]) == entry.start
        assert np.array(made["box"]).ravel().tolist() == list(entry.box)
        assert made["forced"] == (entry.kind.__name__ == "Duffing")
    assert model(CATALOGUE["duffing"].system()).described["forcing"] == {"by": "omega", "period": 2 * np.pi}
    assert model(CATALOGUE["pendulum"].system()).described["periods"] == [2 * np.pi, None]
    assert [model(CATALOGUE[name].system()).described["horizon"] for name in ("duffing", "logistic", "henon")] == [
        50,
        50,
        1000,
    ]
    assert [one["name"] for one in model(CATALOGUE["kuramoto"].system()).described["parameters"]][0] == "frequencies[1]"


def test_ranges_windows_and_order_come_from_the_text_and_from_the_caller():
    made = model(system(OSCILLATOR + "\nb = -2  # [m/s]"), ranges={"b": (-5, 5), "y": (-9, 9)}).described
    assert [(one["name"], one["range"]) for one in made["parameters"]] == [("mu", [0, 4]), ("b", [-5, 5])]
    assert made["box"] == [[-3, 3], [-9, 9]]
    assert made["units"] == ["m", ""]
    assert [one["unit"] for one in made["parameters"]] == ["", "m/s"]
    assert made["start"] == [round(a, 2) for a in made["start"]]
    twin = FunctionFlow(lambda t, x, x1: x1 * x, names=("x1", "y"), parameters={"x1": -1.0})
    made = model(twin, [1.0, 2.0], {"x1": (-2.0, 0.5), "x1(0)": (0.0, 7.0)}).described
    assert made["parameters"][0]["range"] == [-2.0, 0.5]
    assert made["box"] == [[0.0, 7.0], [-6.0, 6.0]]
    assert model(twin, [0.5, -0.25]).described["box"] == [[-3.0, 3.0], [-3.0, 3.0]]
    pair = FunctionMap(lambda k, x: Pair(x.a / 2, x.b / 2))
    assert model(pair, Pair(1.0, [2.0, 3.0]), {"b_2": (0, 9)}).described["names"] == ["a", "b_1", "b_2"]
    assert [label(name) for name in ("lambda", "Omega_1", "theta", "mass")] == ["λ", "Ω_1", "θ", "mass"]


@pytest.mark.parametrize(("made", "start", "ranges", "sentence"), [
    (3, None, {}, "`system` must be a flow or a map"),
    (system("x' = -x + 0.1*dW1"), None, {}, "be deterministic to be explored, but is a flow with noise"),
    (FunctionFlow(lambda t, x: -x, Sphere()), [1.0, 0.0], {}, "but is on the sphere"),
    (FunctionFlow(lambda t, x: -x), np.ones(13), {}, "from 1 to 12 components to be explored, but has 13"),
    (FunctionFlow(lambda t, x: -x), np.ones(0), {}, "from 1 to 12 components to be explored, but has 0"),
    (FunctionFlow(lambda t, x: -x), None, {}, "`start` must be given for a system whose components have no names"),
    (FunctionMap(lambda k, x: lax.sort(x)), [1.0, 2.0], {}, "scalar operations to be explored, but uses `sort`"),
    (FunctionMap(lambda k, x: x if x[0] > 0 else -x), [1.0], {}, "raises TracerBoolConversionError"),
    (FunctionMap(lambda k, x: np.sort(x)), [1.0], {}, "raises TracerArrayConversionError"),
    (system(OSCILLATOR), None, {"nu": (0, 1)}, "component, mu, x, y, but names `nu`, did you mean `mu`?"),
    (system(OSCILLATOR), None, {"mu": (1, 0)}, "a lower and a higher number for each name, but hold"),
    (system(OSCILLATOR), None, {"mu": "ab"}, "a lower and a higher number for each name, but hold"),
    (system(OSCILLATOR), "a", {}, "`start` must hold real numbers"),
])  # fmt: skip
def test_what_has_no_page_is_refused_in_a_sentence(made, start, ranges, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        model(made, start, ranges)


def test_planes_and_horizons_are_checked():
    lorenz = CATALOGUE["lorenz"].system()
    assert model(lorenz, plane=("z", "x"), horizon=7).described["plane"] == [2, 0]
    for plane, horizon, sentence in (
        (("x",), None, "name two different"),
        (("x", "w"), None, "is `w`"),
        ((), -1, "be a pos"),
    ):
        with pytest.raises(ValueError, match=sentence):
            model(lorenz, plane=plane, horizon=horizon)


def test_without_bokeh_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "bokeh", None)
    with pytest.raises(ValueError, match=r"pip install dynsim\[explore\]`\), but Bokeh is not installed"):
        explore(CATALOGUE["logistic"].system())


def texts(made, source, change=""):
    """Command, Python and address of a view, by Node.js, and the address of what is read from it."""
    page = json.dumps({"system": made.described, "source": source._asdict()})
    script = "\n".join([f"const PAGE = {page};", methods(), made.script, text("state.js")])
    value = "[command(s), python(s), spelled(s), spelled(read(spelled(s)))]"
    return in_node(f"{script}\nconst s = initialState();\n{change};", value)


CASES = {
    "text": (system(OSCILLATOR), "s.values[0] = 2.5; s.starts = [[2, 0], [1, 1]]; s.selected = 1; s.backwards = true"),
    "lorenz": (CATALOGUE["lorenz"].system(), "s.axes = [2, 0]; s.at = [0, 0, 27]; s.box[2] = [1, 40]; s.horizon = 3"),
    "kuramoto": (CATALOGUE["kuramoto"].system(), "s.values[1] = 0.25"),
    "duffing": (CATALOGUE["duffing"].system(), "s.time = 0.5; s.forcing = {by: '', period: 3}; s.ranges[0] = [0, 9]"),
    "double-well": (CATALOGUE["double-well"].system(), "s.box[0] = [-1.5, 1.5]; s.starts = []"),
    "henon": (CATALOGUE["henon"].system(), "s.horizon = 100; s.nullclines = true; s.swept = 1; s.series = 1"),
}


@pytest.mark.skipif(NODE is None, reason=WHY_NOT)
@pytest.mark.parametrize("name", CASES)
def test_addresses_commands_and_python_spell_the_view(name):
    made, change = CASES[name]
    command, python, address, again = texts(model(made), source_of(made), change)
    assert address == again != ""
    compile(python, name, "exec")
    words = shlex.split(command)
    options = parse_system({"portrait": Portrait, "section": Section}[words[1]], words[2:], words[1])
    built = found(options, words[1])
    assert len(python.splitlines()) <= 14
    if name == "text":
        assert float(built.system.parameters["mu"]) == 2.5
        assert (options.box, options.through) == ((-3.0, 3.0, -4.0, 4.0), (2.0, 0.0, 1.0, 1.0))
    if name == "lorenz":
        assert (options.plane, options.start, options.box) == (("z", "x"), (0.0, 0.0, 27.0), (1.0, 40.0, -20.0, 20.0))
        assert "axes=(2, 0), at=[0.0, 0.0, 27.0]" in python


@pytest.mark.skipif(NODE is None, reason=WHY_NOT)
def test_what_an_address_spells_wrongly_is_left_as_it_is():
    made = CATALOGUE["van-der-pol"].system()
    strange = "p.mu=abc&box.x=3,1&starts=1;2&plane=x,x&swept=9&selected=7&horizon=-1&period=omega%201&time=&other=1"
    assert texts(model(made), source_of(made), f"Object.assign(s, read('{strange}'))")[2] == ""


@pytest.mark.skipif(NODE is None, reason=WHY_NOT)
@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_commands_and_python_run_and_draw(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made, change = CASES[name]
    command, python, *_ = texts(model(made), source_of(made), change)
    assert main([*shlex.split(command)[1:], "--figure", "picture.png"]) == 0
    exec(python, {})
    assert len(list(tmp_path.glob("*.png"))) >= 2


def field(t, s, mu=1.0):
    """Van der Pol's oscillator."""
    return jnp.stack([s[1], mu * (1 - s[0] ** 2) * s[1] - s[0]])


def test_a_file_of_yours_is_named_without_its_folder():
    made = source_of_own("/secret/place/mine.py:field", field, {"names": ("x", "y"), "units": ()}, False)
    assert made.words == "mine.py:field --names x y"
    assert made.imports == ("from mine import field",)
    assert made.before == "ds.FunctionFlow(field, names=('x', 'y'), parameters="
    flow = FunctionFlow(field, names=("x", "y"), parameters={"mu": 1.0})
    assert source_of_own("mine.py:flow", flow, {}, False).before == "changed(flow, "
    assert source_of_own("a.b:Flow", FunctionFlow, {}, True).before == "changed(Flow(), "
    step = source_of_own("a.b:step", field, {}, True)
    assert (step.words, step.before) == ("a.b:step --map", "ds.FunctionMap(step, parameters=")
    assert source_of(flow).before == "changed(system, "
    assert source_of(NoisyFlow(flow, 0.1, calculus="ito")).words == ""


def test_the_command_writes_pages_and_refuses_in_a_sentence(tmp_path, monkeypatch, capsys):
    pytest.importorskip("bokeh")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(
        "def field(t, s, mu=1.0):\n    return [s[1], mu * (1 - s[0] ** 2) * s[1] - s[0]]\n"
    )
    place = tmp_path / "mine.py"
    assert (
        main(["explore", f"{place}:field", "--box", "-3", "3", "-4", "4", "--range", "mu=0:4", "--out", "a.html"]) == 0
    )
    assert capsys.readouterr().out == "Page to explore mine.py:field, 1.4 MB: page a.html\n"
    html = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert str(tmp_path) not in html
    assert '"range": [0.0, 4.0]' in html
    for words, sentence in (
        ([OSCILLATOR, "--out", "a.png"], "`out` must end in .html"),
        ([OSCILLATOR, "--box", "1", "2"], "a lower and an upper bound for each of x, y, but holds 2 numbers"),
        ([OSCILLATOR, "--box", "1", "0", "1", "2"], "hold a lower bound before each upper bound, but holds 1 before 0"),
        ([OSCILLATOR, "--range", "nu=0:1"], "`range` must name a parameter or a component, mu, x, y"),
        ([OSCILLATOR, "--horizon", "-1"], "`horizon` must be"),
        (["logistic", "--plane", "x", "y"], "is `y`"),
    ):
        assert main(["explore", *words]) == 2
        assert sentence in capsys.readouterr().err
