"""Options of the workbench's commands that do not fit are refused before anything is computed, each by its own name."""

import dataclasses
import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dynsim.cli.basins.options import BasinsOptions
from dynsim.cli.building.flow_options import Simulate
from dynsim.cli.continuation.options import Continue
from dynsim.cli.lyapunov import Lyapunov
from dynsim.cli.parsing.options import other_words
from dynsim.cli.parsing.solvers import SOLVERS, advising_options, integrator
from dynsim.cli.parsing.system import SystemOptions, parse_system, separated
from dynsim.cli.section import Section
from dynsim.cli.series.chaos_test import ChaosTest
from dynsim.cli.series.recurrence import Recurrence
from dynsim.cli.series.spectrum import Spectrum
from dynsim.cli.simulate.fast_slow import FastSlowOptions
from dynsim.cli.simulate.growing.options import Growing
from dynsim.cli.simulate.prototypes.options import Prototypes
from dynsim.cli.sweep.options import Sweep
from dynsim.errors import ArgumentError, Outcome, nearest
from tests.support.commands import refused, run

MINE = """
import jax.numpy as jnp

from dynsim import FunctionFlow


def field(t, x, mu=1.0):
    return jnp.stack([x[1], mu * (1 - x[0] ** 2) * x[1] - x[0]])


def decay(t, x, rate=1.0):
    return -rate * x


def level(beta):
    return beta


def said(beta):
    return "hello"


flow = FunctionFlow(decay, names=("height",), parameters={"rate": 1.0})
"""


@pytest.fixture
def nothing_runs(tmp_path, monkeypatch):
    """Return a folder with functions of a user's, in which a computation fails: a refusal comes before it."""
    for name in (
        "dynsim.cli.simulate.flows.simulate",
        "dynsim.cli.simulate.flows.iterate",
        "dynsim.cli.simulate.ensembles.ensemble",
        "analysis.dynamics.equilibria.search.find_equilibria",
        "analysis.dynamics.diagrams.bifurcation_diagram",
        "analysis.dynamics.portraits.plane.phase_plane",
        "analysis.dynamics.orbit_diagrams.orbit_diagram",
        "analysis.dynamics.poincare.poincare_section",
    ):
        module, _, function = name.rpartition(".")
        computed = lambda *a, **k: pytest.fail("computed before the options were looked at")
        monkeypatch.setattr(importlib.import_module(module), function, computed)
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(MINE)
    return tmp_path


NAMES = "Argument `names` must have one entry for each of 2 components"
CONTINUE = "continue mine.py:field --parameter mu=0:1 --start 0.1 0"
SECTION = "section mine.py:field --start 1 0 --surface x_1=0"


@pytest.mark.parametrize(("line", "sentence"), [
    ("simulate mine.py:field --names a b c --dimension 2", f"{NAMES} (`--dimension`), but has 3."),
    ("simulate mine.py:field --names a b c", f"{NAMES}, but has 3."),
    ("simulate mine.py:field --names a b c --start 1 0", f"{NAMES}, but has 3."),
    ("simulate mine.py:decay --units a b c --dimension 2", "`units` must have one entry for each of 2 components"),
    ("simulate mine.py:decay --map --start 1 0 --names x", f"{NAMES}, but has 1."),
    ("portrait mine.py:field --names x", f"{NAMES}, but has 1."),
    ("portrait mine.py:decay --names x --box -1 1 -1 1", f"{NAMES}, but has 1."),
    ("basins mine.py:field --names x --box -1 1 -1 1", f"{NAMES}, but has 1."),
    ("lyapunov mine.py:field --names x --start 1 0", f"{NAMES}, but has 1."),
    (f"{CONTINUE} --names a b c", f"{NAMES}, but has 3."),
    ("continue lorenz --parameter rho", "`rho=0:56` around its value 28, but is `rho`, without a range."),
    ("continue lorenz --parameter roh", "but is `roh`, did you mean `rho`?"),
    ("continue double-well --parameter h", "such as `h=-1:1` around its value 0, but is `h`, without"),
    ("continue token-flow --tokens 2 --beta 4 --parameter beta", "such as `beta=0:8` around its value 4, but"),
    ("portrait token-flow --tokens 1 --through 0 1", "`through` must be left out on the sphere, but is (0.0, 1.0)."),
    ("portrait mine.py:decay --box -1 1 --trajectories 3", "`trajectories` must be left out on the line, but is 3"),
    (f"{CONTINUE} --component q", "`component` must name a component of the state, x_1, x_2, but is `q`."),
    (f"{CONTINUE} --step -1", "`step` must be a positive number, but is -1.0."),
    (f"{CONTINUE} --max-step nan", "`max_step` must be a positive number, but is nan."),
    (f"{CONTINUE} --max-points 1", "`max_points` must be at least 2, but is 1."),
    (f"{CONTINUE} --cycles --segments 2", "`segments` must be at least 3, but is 2."),
    (f"{SECTION} --returns q", "`returns` must name a component of the state, x_1, x_2, but is `q`."),
    (f"{SECTION} --plane x_1 q", "`plane` must name a component of the state, x_1, x_2, but is `q`."),
    (f"{SECTION} --plane x_1", "`plane` must name two components, but names 1."),
    (f"{SECTION} --plane x_1 x_2 --returns x_1", "`plane` must be left out with `--returns`"),
    ("section mine.py:decay --start 1 --surface x_1=0", "`surface` must leave a component that varies, but"),
    ("section logistic --plane x", "`plane` must be left out for a map of one component"),
    ("section lorenz --surface z=27 --returns z", "`returns` must name a component that varies on the surface"),
    ("simulate lorenz --end 0", "`end` must differ from the initial time, 0, but is 0."),
    ("simulate lorenz --end -1 --noise 0.1", "`end` must be after the initial time, 0, with noise, but is -1."),
    ("simulate lorenz --begin 2 --end 1 --event x=0", "`end` must be after the initial time, 2, with `--event`"),
    ("simulate logistic --begin 1", "`begin` must be left out for a map, but is 1."),
    ("simulate logistic --end 1e14", "to fit in half of the memory, but is 100000000000000."),
    ("section henon --count 99999999999999", "to fit in half of the memory, but is 99999999999999."),
    ("sweep lorenz --rho 0:1:99999999999", "`rho` must end in a count of at most 1000000, but ends in `99999999999`"),
    ("sweep --function mine.py --beta 1", "`function` must be `file.py:name` or `module:name`, but is `mine.py`."),
    ("simulate logistic --end 0.2", "`end` must be at least 1, but is 0.2."),
    ("simulate fast-slow/van-der-pol --end -1", "`end` must be a positive number, but is -1.0."),
    ("sweep lorenz --rho 1 --end 0", "`end` must differ from the initial time, 0, but is 0."),
    ("portrait van-der-pol --horizon -1", "`horizon` must be a positive number, but is -1.0."),
    ("portrait van-der-pol --through nan 1", "`through` must be finite, but is nan, 1.0."),
    ("simulate lorenz --start nan 1 2", "`start` must hold finite numbers, but is (nan, 1.0, 2.0)."),
    ("simulate logistic --start nan", "`start` must hold finite numbers, but is (nan,)."),
    ("simulate mine.py:decay --space sphere --start 2 0", "`start` must lie on the space, Sphere"),
    ("simulate mine.py:decay --space sphere --start 2 0 --members 2 --noise 1", "`start` must lie on the space, Sp"),
    ("simulate lorenz --out run.txt", "`out` must end in .npz, .csv or .parquet, but is `run.txt`."),
    ("simulate lorenz --rtol 1e-30", "`rtol` must be at least 2.2e-16, the rounding of numbers, but is 1e-30."),
    ("simulate lorenz --max-steps 0", "`max_steps` must be at least 1, but is 0."),
    ("simulate lorenz --max-steps 9 --noise 1", "`max_steps` must be left out with noise, but is 9."),
    ("simulate logistic --max-steps 9", "`max_steps` must be left out for a map, but is 9."),
    ("section henon --max-steps 9", "`max_steps` must be left out for a map"),
    ("simulate mine.py:decay --start 1 --rate 1 2", "`rate` must be one number, as its default, 1, but is `1,2`."),
    ("simulate mine.py:level", "`system` must take time, state and nothing else, but does not"),
    ("simulate mine.py:level --map", "`system` must take time, state and nothing else, but does not"),
    ("simulate token-flow --initial nope", "`initial` must be one of uniform, box, hemisphere, cluster, but"),
    ("figure consensus/figure-1 --out mine.py", "`out` must be a folder that can be written, but is"),
    ("basins henon --box -2 2 -2", "`box` must have two bounds for each axis, but has 3 numbers."),
    ("basins mine.py:field --box 1", "`box` must have two bounds for each axis, but has 1 number."),
    ("basins henon --box -2 2 -2 inf --sample 5", "`box` must have finite bounds, the lower one first, but is"),
    ("basins pendulum --angle angle=q", "`angle` must be given as NAME or NAME=PERIOD, but is `angle=q`."),
    ("basins pendulum --angle angle=1 --angle=x=1", "`angle` must be given once, with all of its values, but is"),
    ("simulate lorenz --start 1 2 3 --end 1 --start 1", "`start` must be given once, with all of its values, but"),
    ("portrait pendulum --out run.pdf", "parquet, but is `run.pdf` (`--figure run.pdf` draws a picture)."),
    ("explore pendulum --out run.png", "`out` must end in .html, but is `run.png`."),
    ("basins double-well --out run.txt", "`out` must end in .npz, .csv or .parquet, but is `run.txt`."),
    ("continue lorenz --parameter rho=0:1 --out run", "`out` must end in .npz, .csv or .parquet, but is `run`."),
    ("sweep lorenz --rho 1 --out run.h5", "`out` must end in .nc, .npz, .csv or .parquet, but is `run.h5`."),
    ("section henon --movie run.png", "`movie` must end in .gif, but is `run.png`."),
    ("section henon --plane x y --against a=1:2", "`plane` must be left out with `--against`, which draws one `--comp"),
    ("simulate lorenz --names a b", "`names` must be left out unless the system is a function of yours, which"),
    ("portrait pendulum --trajectories 1000000000", "`trajectories` must be at most 10000, but is 1000000000"),
    ("portrait pendulum --time nan", "Argument `time` must be finite, but is nan"),
    ("portrait pendulum --friction 1 --friction 2", "`friction` must be given once, with all of its values, but is"),
    ("section henon --start 0.1 0.1 --orbits 3", "`orbits` must be left out with `--start`, but is 3"),
    ("section henon --box 1 2", "`box` must hold a lower and an upper bound for each of 2 components"),
    ("section henon --orbits 1000000000", "`orbits` must be at most "),
    ("section henon --transient 1e300", " to fit in half of the memory, but is about 1e300."),
    ("section logistic --transient inf", "`transient` must be finite, but is inf"),
    ("continue lorenz --parameter rho=0:30 --num-starts 1000000000000", "`num_starts` must be at most "),
    ("continue henon --parameter a=0:1 --cycles", "`cycles` must be left out for a map, whose cycles are continued"),
    ("sweep lorenz --rho 1 2 --frames 1000000000000", "`frames` must be at most "),
    ("sweep lorenz --rho 0:1:1000000 --sigma 0:1:9", "`rho` and `sigma` must have at most 1000000 points together"),
    ("experiment consensus/7.4 --out mine.py", "`out` must be a folder that can be written, but is `mine.py/con"),
    ("portrait lorenz --space sphere", "`space` must be left out unless the system is a function of yours"),
    ("portrait oja --tokens 1 --space sphere", "`space` must be left out for `oja`, on which it has no effect"),
    ("portrait mine.py:flow --units m", "`units` must be left out unless the system is a function of yours, which"),
    ("simulate lorenz --start", "`start` must be given with a value, but is given without."),
    ("simulate lorenz --start= --end 1", "`start` must be given with a value, but is given without."),
    ("basins henon --box --shape 5", "`box` must be given with a value, but is given without."),
    ("continue double-well --parameter h=0:1 --second-bounds 0 1", "a parameter of `double-well`"),
    ("simulate lorenz --dimension 5", "`dimension` must be left out for `lorenz` with these options, on which it"),
    ("simulate lorenz --tokens 3", "`tokens` must be left out for `lorenz` with these options, on which it has no"),
    ("simulate mine.py:field --start 1 0 --initial box", "`initial` must be left out for `mine.py:field` with"),
    ("lyapunov lorenz --rtol nan", "`rtol` must be a finite number, but is nan."),
    ("simulate none.npz", "`system` must be a file, but `none.npz` is not one."),
    ("simulate token-flow --tokens 9 --density 3", "`density` must be at least 8, but is 3."),
    ("simulate token-flow --members 2 --theorems", "`theorems` must be left out for an ensemble, but is given."),
    ("simulate lorenz --theorems", "`theorems` must be left out for other systems than flows of tokens, but is given."),
    ("simulate henon --theorems", "`theorems` must be left out for a map, but is given."),
    ("simulate causal --norm pre", "`norm` must be left out for `causal` with these options, on which it has no"),
    ("simulate token-flow --norm pre --space euclidean",
     "`norm` must be `none` unless `--space` normalises tokens, but is `pre`."),
    ("simulate token-flow --scale inf", "`scale` must be a finite number, but is inf."),
    ("simulate oja --scale 2", "`scale` must be left out for `oja` with these options, on which it has no effect"),
    ("portrait attracted --tokens 1 --scale 2", "`scale` must be left out for `attracted`, on which it has no"),
    ("simulate token-flow --beta nan", "`beta` must be a finite number, but is nan."),
    ("simulate gradient --beta -1", "`beta` must be positive definite, but has the eigenvalue -1."),
    ("sweep lorenz --rho 1 --max-steps 0", "`max_steps` must be at least 1, but is 0."),
    ("sweep lorenz --rho 1 --rtol -1", "`rtol` must be positive, but is -1.0."),
    ("sweep logistic --r 1 --max-steps 9", "`max_steps` must be left out for a map, but is 9."),
    ("simulate growing --discrete --max-steps 9", "`max_steps` must be left out in discrete time, but is 9."),
    ("simulate prototypes --max-steps 0", "`max_steps` must be at least 1, but is 0."),
    ("simulate fast-slow --max-steps 0", "`max_steps` must be at least 1, but is 0."),
])  # fmt: skip
def test_an_option_that_does_not_fit_is_refused_before_the_computation(nothing_runs, capsys, line, sentence):
    assert sentence in refused(capsys, *line.split())
    assert [path.name for path in nothing_runs.iterdir() if path.is_file()] == ["mine.py"]


@pytest.mark.parametrize(("line", "sentence"), [
    ("simulate mine.py:field --foo", "a parameter of `mine.py:field` (mu), but is neither, did you mean `--force`?"),
    ("simulate lorenz -rho 28", "`-rho` must be an option of `dynsim simulate` or a parameter of `lorenz` (sigma"),
    ("simulate lorenz -rho=28", "but is neither, did you mean `--rho`?"),
    ("lyapunov lorenz -duraton 28", "but is neither, did you mean `--duration`?"),
    ("sweep lorenz -rho 1 2", "but is neither, did you mean `--rho`?"),
    ("sweep --function mine.py:level -beta 1 2", "but is not, did you mean `--beta`?"),
    ("simulate token-flow -beta 2", "but is not, did you mean `--beta`?"),
    ("simulate hardmax -layers=2", "must be an option of `dynsim simulate hardmax`, but is not, did you mean `--la"),
    ("simulate mine.py:field --mo 1", "but is neither, did you mean `--mu`?"),
    ("simulate mine.py:field --mo", "but is neither, did you mean `--mu`?"),
    ("simulate mine.py:field --fig x.pdf", "but is neither, did you mean `--figure`?"),
    ("simulate mine.py:field --mu", "`mu` must be given with a value, but is given without."),
    ("portrait lorenz --rh", "but is neither, did you mean `--rho`?"),
    ("portrait lorenz --start 1 2 3 --axes x y --box -1 1 -1 1", "`axes` must be an option of `dynsim portrait` or"),
    ("portrait token-flow --tokns", "but is neither, did you mean `--tokens`?"),
    ("portrait token-flow --tokens", "`tokens` must be given with a value, but is given without."),
    ("simulate token-flow --query-key", "`query_key` must be given with a value, but is given without."),
    ("sweep lorenz --rho 1 --sigm", "but is neither, did you mean `--sigma`?"),
    ("sweep lorenz --rho", "`rho` must be given with a value, but is given without."),
    ("sweep mine.py:flow --rte", "but is neither, did you mean `--rate`?"),
    ("sweep mine.py:flow --rate", "`rate` must be given with a value, but is given without."),
    ("sweep --function mine.py:level --bta",
     "must be an argument of `mine.py:level` (beta), but is not, did you mean `--beta`?"),
])  # fmt: skip
def test_an_option_that_does_not_exist_is_said_to_be_unknown_with_or_without_a_value(
    nothing_runs, capsys, line, sentence
):
    assert sentence in refused(capsys, *line.split())


@pytest.mark.parametrize("line", [
    "sweep --rho lorenz",
    "simulate --driven mine.py:field",
    "simulate --names x v mine.py:field --end 1",
    "portrait --causal token-flow",
    "lyapunov --start 1 0 0 lorenz --duration 50",
    "section --plane x y henon --count 9",
    "continue --box -1 1 double-well --parameter h=0:1",
    "basins",
])  # fmt: skip
def test_a_system_that_an_option_takes_as_its_value_is_said_to_come_first(nothing_runs, capsys, line):
    said = f"`system` must be given as the first word (see `dynsim {line.split()[0]} --help`), but is missing."
    assert said in refused(capsys, *line.split())


def test_an_option_that_takes_the_system_for_a_number_is_said_to_follow_it(nothing_runs, capsys):
    said = "`box` must be numbers with spaces between them, as in `--box -2 2`, and follow SYSTEM, but is `-2 2 henon`"
    assert said in refused(capsys, "basins", "--box", "-2", "2", "henon", "--shape", "5")


def test_a_system_may_come_after_the_numbers_of_its_parameters():
    line = "--rho 10 20 -1/3 --mu -1:.5:3 0:1 2d.py:field --end 1"
    rest, given = separated(line.split(), ("system", "end"))
    assert (rest, given) == (["2d.py:field", "--end", "1"], ("rho=10,20,-1/3", "mu=-1:.5:3,0:1"))


@pytest.mark.parametrize("system", ["growing", "fast-slow/van-der-pol", "prototypes"])
def test_a_system_with_options_of_its_own_is_said_to_come_first(nothing_runs, capsys, system):
    said = (
        f"`system` must be the first word after `dynsim simulate` if it has options of its own, but `{system}` is not."
    )
    assert said in refused(capsys, "simulate", "--end", "1", system)


def test_a_function_that_a_sweep_cannot_keep_is_refused(nothing_runs, capsys):
    said = "Argument `function` must return numbers, arrays of numbers, or a mapping of these, but returns 'hello'"
    assert said in refused(capsys, "sweep", "--function", "mine.py:said", "--beta", "1", "2")


@pytest.mark.parametrize(
    ("text", "hinted"),
    [
        ("x' = -x + y; y = 2", True),
        ("y' = -y; z = 2", False),  # a component
        ("x' = where(y == 2, 1, 0); k = 1", False),
    ],
)
def test_a_parameter_named_like_an_option_is_said_to_have_another_way(nothing_runs, text, hinted):
    for system in (text, "own.txt"):
        Path("own.txt").write_text(text)
        with pytest.raises(ArgumentError, match="must be one of") as refused:
            parse_system(Continue, [system, "--y", "0.7", "--parameter", "y=0:1"], "continue")
        assert ("the parameter `y` of the system is set by `--parameters y=VALUE`" in str(refused.value)) == hinted
    Path("own.py").write_text("def field(t, x, y: float = 2.0):\n    return y * x\n")
    with pytest.raises(ArgumentError, match="--parameters y=VALUE"):
        parse_system(Continue, ["own.py:field", "--y", "0.7"], "continue")


def test_a_toml_file_holds_parameters_of_the_system_too(nothing_runs):
    Path("run.toml").write_text('system = "mine.py:switched"\nmu = 2\nweights = [1, 0.5]\non = true\nseed = 3\n')
    o = parse_system(SystemOptions, ["--config", "run.toml", "--mu", "4", "--parameters", "a=1"], "simulate")
    assert (o.system, o.seed) == ("mine.py:switched", 3)
    assert o.parameters == ("mu=2", "weights=1,0.5", "on=true", "a=1", "mu=4")  # the last one counts
    assert other_words(SystemOptions, ["--config=run.toml"]) == o.parameters[:3]
    assert other_words(SystemOptions, ["lorenz"]) == ()


@pytest.mark.parametrize(("text", "sentence"), [
    ('system = "lorenz"\nroh = 14.0',
     "a parameter of `lorenz` (sigma, rho, beta), but is neither, did you mean `--rho`?"),
    ('system = "lorenz"\ninteg = "scipy"', "but is neither, did you mean `--integrator`?"),
    ('system = "lorenz"\n[rho]\na = 1', "give `rho` as a number, a text, true or false, or a list of these, but"),
    ('system = "lorenz"\nrho = []', "give `rho` as a number, a text, true or false, or a list of these, but"),
    ('system = "lorenz"\nrho = "high"',
     "`rho` must be a finite number, or several separated by commas, but is `high`."),
    ('system = "lorenz"\nstart = []', "`--config` must give `start` with a value, but `run.toml` gives []."),
    ('system = "token-flow"\nbta = 14.0', "`run.toml` holds `bta`, did you mean `beta`?"),
])  # fmt: skip
def test_a_name_in_a_toml_file_that_does_not_exist_gets_the_nearest(nothing_runs, capsys, text, sentence):
    Path("run.toml").write_text(text)
    assert sentence in refused(capsys, "simulate", "--config", "run.toml")


def test_a_sweep_takes_its_grid_from_a_toml_file(nothing_runs, capsys):
    Path("run.toml").write_text('system = "lorenz"\nrho = [10, 14.5]\nsgima = [1, 2]\n')
    assert "or a parameter of `lorenz`" in refused(capsys, "sweep", "--config", "run.toml")
    Path("run.toml").write_text('system = "lorenz"\nrho = [10, 14.5]\nframes = 1\n')
    assert "`frames` must be at least 2" in refused(capsys, "sweep", "--config", "run.toml")


def test_the_advice_on_a_lack_of_steps_names_options(capsys):
    status, _, said = run(capsys, "simulate", "lorenz", "--integrator", "scipy", "--max-steps", "9")
    assert status == 1
    assert "only reached t = " in said
    assert "after 9 steps" in said
    assert "take a shorter run, a larger `--rtol` or more `--max-steps`, or `--integrator stiff` where" in said
    assert "`max_steps`" not in said
    stiff: list[Any] = [integrator("stiff", 1e-6, steps) for steps in (None, 7)]
    assert [(one.method, one.max_steps) for one in stiff] == [("Radau", 1_000_000), ("Radau", 7)]


def test_commands_that_integrate_in_the_units_of_the_state_take_its_absolute_tolerance(nothing_runs, capsys):
    for name in ("diffrax", "scipy", "rkc2", "stiff"):
        made: Any = integrator(name, 1e-6, atol=1e-30), integrator(name, 1e-6)
        assert [(float(one.rtol), float(one.atol)) for one in made] == [(1e-6, 1e-30), (1e-6, 1e-8)]
    for table in (Simulate, Section, Sweep, FastSlowOptions, Growing, Prototypes):
        assert "atol" in table.__dataclass_fields__
    assert "`atol` must be a positive number, but is -1.0." in refused(capsys, *["section", "henon", "--atol", "-1"])
    assert "`atol` must be left out for a map" in refused(capsys, *["sweep", "logistic", "--r", "1", "--atol", "1e-9"])


def test_advice_names_options_that_the_command_has():
    own = {"fast-slow": FastSlowOptions, "growing": Growing, "prototypes": Prototypes}
    tables = {"section": Section, "sweep": Sweep, "simulate": Simulate, "lyapunov": Lyapunov}
    tables |= {"spectrum": Spectrum, "recurrence": Recurrence, "chaos": ChaosTest}
    tables |= {"basins": BasinsOptions} | {f"simulate {name}": table for name, table in own.items()}
    assert tables.keys() == SOLVERS.keys()
    for command, table in tables.items():
        fields = {field.name: str(field.type) for field in dataclasses.fields(table)}
        known = {"rtol", "max_steps", "integrator", "step_size"} & fields.keys()
        known |= {"stiff"} if "'stiff'" in fields.get("integrator", "") else set()
        assert {*SOLVERS[command]} == known, command
    own = Outcome.IMPLICIT_SOLVER.advice
    with advising_options("simulate", ["growing"]):
        assert Outcome.MAX_STEPS.advice == "take a shorter run, a larger `--rtol` or more `--max-steps`"
        assert Outcome.IMPLICIT_SOLVER.advice == "take a larger `--rtol` or another `--integrator`"
    with advising_options("portrait", ["lorenz"]):
        assert (Outcome.MAX_STEPS.advice, Outcome.IMPLICIT_SOLVER.advice) == ("take a shorter run", own)
    assert "`max_steps`" in Outcome.MAX_STEPS.advice


def test_trajectories_through_given_points_are_drawn_beside_those_that_are_spread(monkeypatch, capsys):
    kept = []

    def planned(*args, trajectories, **options):
        kept.append(trajectories)
        raise ArgumentError("figure", "be drawn", "is not")

    monkeypatch.setattr("analysis.dynamics.portraits.plane.phase_plane", planned)
    for words in ("--through 1 2", "--trajectories 4", "--through 1 2 0 1 --trajectories 4"):
        refused(capsys, *f"portrait van-der-pol {words}".split())
    given, spread, both = kept
    assert np.array_equal(given, [[1.0, 2.0]])
    assert spread.shape == (4, 2)
    assert np.array_equal(both, [[1.0, 2.0], [0.0, 1.0], *spread])


def test_the_portrait_of_one_token_is_that_of_a_vector(monkeypatch, capsys, tmp_path):
    kept = []

    def drawn(o, system, known, *rest):
        kept.append((system, known.names))
        raise ArgumentError("figure", "be drawn", "is not")

    monkeypatch.setattr("dynsim.cli.portrait.on_sphere", drawn)
    np.savetxt(tmp_path / "U.csv", [[1.0, 0.0], [0.0, 3.0]], delimiter=",")
    line = ("portrait", "token-flow", "--tokens", "1", "--dimension", "2", "--value", tmp_path / "U.csv")
    assert "`figure` must be drawn" in refused(capsys, *line)
    ((system, names),) = kept
    assert len(names) == 2
    v = system.vector_field(0.0, np.array([0.6, 0.8]))  # U x / sqrt(2) without its part along x
    np.testing.assert_allclose(np.sqrt(2) * v, 0.96 * np.array([-0.8, 0.6]), rtol=1e-12)


def test_the_nearest_word_takes_the_fewest_changes_for_its_length():
    assert nearest("mo", ["movie", "mu"]) == ", did you mean `mu`?"
    assert nearest("dim", ["d", "dimension"]) == ", did you mean `dimension`?"
    assert nearest("tokenflow", ["token", "token-flow"]) == ", did you mean `token-flow`?"
    assert nearest("roh", ["rtol", "rho"]) == ", did you mean `rho`?"
    assert nearest("foo", ["bar"]) == ""
