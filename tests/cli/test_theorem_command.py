"""`dynsim theorem`: tables, exit statuses, files and refusals."""

import json
import shlex
import sys

import matplotlib.image
import pytest

from dynsim.__main__ import main

WHEEL = "x' = x - y - x*(x^2 + y^2); y' = x + y - y*(x^2 + y^2)"


def test_a_theorem_that_applies_is_told_with_its_files(tmp_path, capsys):
    files = tmp_path / "found.json", tmp_path / "region.png"
    words = ["theorem", "poincare-bendixson", WHEEL, "--annulus", "0", "0", "0.5", "1.5", "--out", str(files[0])]
    assert main([*words, "--figure", str(files[1])]) == 0
    said = capsys.readouterr().out
    assert "It applies: the region has a periodic orbit" in said
    assert json.loads(files[0].read_text())["status"] == "holds"
    assert matplotlib.image.imread(files[1]).shape[0] > 300
    assert main(words) == 2  # the file exists and dynsim cannot know it


@pytest.mark.parametrize(("name", "system", "options", "status", "said"), [
    ("bendixson-dulac", "x' = c*y; y' = -x + y", "--c 2 --box -1 1 -1 1", 0, "div f > 0"),
    ("poincare-bendixson", WHEEL, "--annulus 0 0 0.5 0.9", 1, "It does not apply"),
    ("lyapunov", "x' = -k*x", "--k 3 --ball 0 1 --near 0 --function k*x^2", 0, "in its basin"),
    ("nagumo", "x' = y; y' = -x", '--box -2 2 -2 2 --where "1 - x^2 - y^2"', 0, "It applies"),
    ("fenichel", "u' = v - u; v' = -v", "--box -1 1 -1 1 --fast v", 0, "It applies"),
    ("liouville", "x' = y; y' = -x", "--box -1 1 -1 1 --conservative", 0, "keeps volumes"),
    ("conserved", "x' = y; y' = -x", '--ball 0 0 1 --function "x^2 + y^3"', 1, "not conserved"),
    ("newton-kantorovich", "x' = 2 - x^2", "--near 1.4 --reach 0.01", 1, "the box reaches far enough"),
    ("pitchfork", "x' = a*x - x*y; y' = x^2 - y", "--a 1 --parameter a=0.1 --near 0 0 --turned x", 0,
     "supercritical"),
    ("lyapunov-quadratic", "x' = -x + x^3", "--near 0", 0, "c = 0.49"),
    ("dulac-function", "x' = x*(2 - y); y' = y*(x - 1)", "--box 1 2 1 2", 3, "was found"),
    ("trapping-polygon", "x' = -x; y' = -y", "--box -1 1 -1 1 --strictly", 0, "It applies"),
    ("contraction-norm", "x' = -x", "--box -1 1 --rate 0.5", 0, "rate = 0.5, w1 = 1"),
    ("monotone", "x' = -y; y' = -x", "--box 0 1 0 1 --competitive", 0, "sign of y = 1"),
    pytest.param("lyapunov-quadratic", "x' = -x + x^3", "--near 0 --weights 2 --reach 0.5", 0, "c = 0.25, P11",
                 marks=pytest.mark.slow),
    pytest.param("lasalle", "x' = x - x^3", '--ball 0 1.5 --near -1 0 1 --function "x^4/4 - x^2/2"', 0,
                 "tends to one of the equilibria", marks=pytest.mark.slow),
    ("banach", "x[n+1] = 0.5*x + 0.9*y; y[n+1] = 0.1*x + 0.5*y", "--box -3 3 -1 1", 1, "fixed point"),
    ("banach", "x[n+1] = 0.5*x + 0.9*y; y[n+1] = 0.1*x + 0.5*y", "--box -3 3 -1 1 --weights 3 1", 0, "L = 0.8"),
    ("flip", "x[n+1] = r*x*(1 - x)", "--r 3 --parameter r=3.45 --near 0.44 --period 2", 0, "period 4"),
    pytest.param("lienard", "x'' = (1 - x^2)*x' - x*cosh(x)", "--reach 4", 0, "exactly one periodic orbit",
                 marks=pytest.mark.slow),
    pytest.param("lasalle", "x' = y; y' = -x - y",
                 '--box -1.1 1.1 -1.1 1.1 --near 0 0 --where "1 - x^2 - y^2" --function "x^2 + y^2" --along 1 0', 0,
                 "V rests on the line", marks=pytest.mark.slow),
    ("order-conditions", "x' = -x + 0.1*x*dW1", "--method milstein --strong 1", 0, "at most C h^1"),
    ("order-conditions", "x' = -x + 0.1*x*dW1", "--weak 2", 1, "weak order 2 is not implied"),
    pytest.param("multiple-lyapunov", "x' = -k*x; when(x > 0.5, k = 2); when(x < 0.25, k = 1)",
                 "--box -1 1 --near 0 --function k*x^2 --k 2", 1,
                 "no larger value after a switch from mode 2 to mode 1",
                 marks=pytest.mark.slow),
    ("chetaev", "x' = x^2", "--box -1 1 --near 0 --function x", 0, "unstable"),
    pytest.param("exponential-stability", "x' = -x", "--box -1 1 --near 0 --function x^2", 0, "gain = 1.02",
                 marks=pytest.mark.slow),
    pytest.param("barbalat", "x' = -x*(2 + cos(t))", "--ball 0 1 --function x^2 --period 6.2831853", 0, "as told",
                 marks=pytest.mark.slow),
    pytest.param("input-to-state", "x' = -k*x + u",
                 "--k 1 --u 0 --drive u=-0.1:0.1 --box -1 1 --near 0 --function x^2 --rate 1 --gain 1.0", 0,
                 "bound = 0.01",
                 marks=pytest.mark.slow),
    ("dissipative", "x' = y; y' = -x + u",
     '--u 0 --drive u=-1:1 --box -1 1 -1 1 --function "(x^2 + y^2)/2" --supply u*y', 0, "integral of the supply"),
    ("dwell-time", "x' = -x + a*y; y' = -y", "--a 0 --modes a=0,9 --time 0.1", 3, "undecided"),
    ("perron-frobenius", "x[n+1] = y; y[n+1] = x + y", "--primitive", 0, "r_low = 1.61803"),
    ("detailed-balance", "p' = q - 2*p; q' = 2*p - q", "", 0, "p1 = 0.333333"),
    ("foster", "x' = k - x", "--k 3 --jump k:1 x:-1 --function x --beyond 4", 0, "finite mean time"),
    ("positivity", "x' = y - x; y' = -x*y", "--box 0 1 0 1", 0, "It applies"),
    ("lienard", "x'' = mu*(1 - x^2)*x' - x", "--mu 3", 0, "exactly one periodic orbit"),
    ("reversible", "x' = y; y' = -x", "--box=-1 1 -1 1 --turned y", 0, "run backwards"),
    ("fold", "x' = a - x^2", "--a 1 --parameter a=0.1 --near 0.1", 0, "a = 0"),
    ("cusp", "x' = a + b*x - x^3", "--a=1 --b=1 --parameter a=0 b=0 --near=0", 0, "cubic = -1"),
    ("sharkovskii", "x[n+1] = 3.74*x*(1 - x)", "--box 0 1 --period 5", 0, "of every even period"),
    ("sharkovskii", "x[n+1] = 3.74*x*(1 - x)", "--box 0 1", 1, "least period three"),
    ("horseshoe", "x[n+1] = 5 - x^2 + 0.3*y; y[n+1] = x", "--sets -2 0 1 0 0 3 2 0 1 0 0 3 --covers 2-2", 1,
     "set 2 covers set 2"),
    ("twist", "x[n+1] = x + y; y[n+1] = y", "--box 0 1 0 1", 0, "between the rotation numbers"),
    ("shilnikov", "x' = -x - 2*y; y' = 2*x - y; z' = 2*z", "--near 0 0 0", 3, "homoclinic"),
    ("tikhonov", "u' = (v - u)/0.1; v' = -v", "--box -2 2 -1 1 --near 1 0.5", 0, "It applies"),
    ("averaging", "x' = 0.1*(1 - x + sin(t))", "--period 6.283185307179586 --box 0 2 --near 0.9", 0, "stable"),
    ("canard-point", "x' = y - x^2; y' = a - x", "--a 1 --parameter a=0 --near 0 0", 0, "a = 0"),
    ("folded-singularity", "x' = y - x^2; y' = -2*x - z; z' = 2", "--near 0 0 0", 1, "are real"),
])  # fmt: skip
def test_the_exit_status_says_whether_it_applies(name, system, options, status, said, capsys):
    assert main(["theorem", *filter(None, (name, system)), *shlex.split(options)]) == status
    assert said in capsys.readouterr().out


@pytest.mark.parametrize("name", ["common-lyapunov", "lyapunov-polynomial"])
def test_the_extra_that_a_function_is_looked_for_with_is_named(name, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "clarabel", None)
    words = ["theorem", name, "x' = -a*x", "--a", "1", "--near", "0"]
    assert main([*words, *(["--modes", "a=1,2"] if name == "common-lyapunov" else [])]) == 2
    said = capsys.readouterr().err.strip().splitlines()
    assert "need the package clarabel: install `dynsim[certificates]`" in said[-1]


def test_a_common_function_is_checked_from_the_command_line(capsys):
    """One given function falls in both modes; of two that turn the state, one is unstable together with the other."""
    words = ["theorem", "common-lyapunov", "x' = -a*x", "--a", "1", "--near", "0", "--modes", "a=1,2"]
    assert main([*words, "--box", "-1", "1", "--function", "x^2"]) == 0
    assert "however the modes are switched. c = 1" in " ".join(capsys.readouterr().out.split())
    pytest.importorskip("clarabel")
    assert main(words) == 0
    assert main([*words[:-1], "a=1,-2"]) == 1
    assert "together are unstable" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(("name", "system", "options", "said"), [
    ("", "", "", "`theorem` must be one of those that `dynsim theorems` lists, but is missing"),
    ("hopff", "lorenz", "", "did you mean `hopf`?"),
    ("hopf", "lorenz", "--box 0 1", "`box` must be left out for hopf, which takes `--parameter`, `--near`"),
    ("nagumo", "lorenz", "--box 0 1", "a lower and an upper bound of each of 3 components"),
    ("nagumo", "x' = -x", "", "`region` must be given by one of `--box`, `--ball` and `--annulus`"),
    ("nagumo", "x' = -x", "--ball 0 1 --where x", "`where` must come with bounds in `--box`"),
    ("lyapunov", "x' = -x", "--ball 0 1 --near 0", "`function` must be given as a text"),
    ("lyapunov", "x' = -x", '--ball 0 1 --near 0 --function "x^2 +"', "`function` must have a name"),
    ("lyapunov", "x' = -x", '--ball 0 1 --near 0 --function "x^2 + z"', "column 7"),
    ("hopf", "lorenz", "--near 1 1 1", "`parameter` must be NAME=VALUE"),
    ("hopf", "lorenz", "--parameter rho=x --near 1 1 1", "`parameter` must be NAME=VALUE with a"),
    ("lienard", "lorenz", "--box 0 1", "`box` must be left out for lienard, which takes `--reach`"),
    ("cusp", "lorenz", "--parameter rho=1 --near 1 1 1", "`parameter` must be NAME=VALUE 2 times"),
    ("routh-hurwitz", "lorenz", "--near 1 1", "`near` must hold 3 numbers"),
    ("lasalle", "x' = y; y' = -x", "--ball 0 0 1 --near 0 0 0 --function x", "`near` must"),
    ("dwell-time", "x' = -a*x", "--a 1 --modes a=1", "`modes` must hold two or more different values"),
    ("dissipative", "x' = u", "--u 0 --box 0 1 --function x --drive u=0", "NAME=LOW:HIGH"),
    ("foster", "x' = -x", "--function x --jump x:a", "`jump` must be RATE:CHANGES"),
    ("lyapunov", "x' = -x; when(x > 1, x = 0)", "--ball 0 1", "without transitions `when(...)` for lyapunov"),
    ("multiple-lyapunov", "x' = -x", "--ball 0 1", "`system` must be equations with transitions"),
    ("flip", "x[n+1] = a*x", "--a 1 --parameter a=1 --near 0 --period 0", "`period` must be"),
    ("order-conditions", "x' = -x + dW1", "--strong 1 --method milsten", "milstein"),
    ("order-conditions", "x' = -x", "--strong 1", "`flow` must be"),
    ("singer", "x' = -x", "--box 0 1", "`system` must be a map"),
    ("fenichel", "x' = -x", "--box 0 1 --fast u", "`fast` must name components, of x"),
    ("nagumo", "x' = -x", "--box 0 1 --out a.csv", "`out` must end in .json"),
    ("sharkovskii", "x[n+1] = x/2", "--box 0 1 --period 2.5", "`period` must be a number of steps"),
    ("averaging", "x' = -x", "--box 0 1 --near 0.5", "`period` must be given"),
    ("horseshoe", "x[n+1] = y; y[n+1] = x", "--sets 1 2", "`sets` must hold six numbers for each set"),
    ("horseshoe", "x[n+1] = y; y[n+1] = x", "--sets 0 0 1 0 0 1 --covers 1",
     "`covers` must be pairs of sets such as 1-2"),
])  # fmt: skip
def test_bad_input_is_told_in_a_sentence(name, system, options, said, capsys):
    assert main(["theorem", *filter(None, (name, system)), *shlex.split(options)]) == 2
    assert said in " ".join(capsys.readouterr().err.split())
