"""Bad equations get one sentence with a column; hostile ones execute nothing, and long ones take no time."""

import sys
import time

import jax.numpy as jnp
import numpy as np
import pytest

import dynsim as ds
from dynsim.equations import graph
from dynsim.errors import ArgumentError

REFUSED = [
    ("", "have an equation such as"),
    ("x", "consist of equations such as .* has none at column 1, `x`"),
    ("x' = nu*x; mu = 1", "define `nu` or give it a value.* at column 6, `nu\\*x; mu = 1`, did you mean `mu`?"),
    ("x' = y\ny' = -x*\n  nu", "at line 3, column 3, `nu`"),
    ("x' = -x; x' = 2", "one equation for each variable, but has a second one for `x` at column 10"),
    ("dx/dt = 1; dx/dt = 2", "one equation for each variable, but has a second one for `x` at column 12"),
    ("x' = 1; x = 2", r"define each name once \(`x\(0\) = ...` gives a start\), but defines `x` again at column 9"),
    ("a = 1; a = 2; x' = a", "define each name once, but defines `a` again at column 8"),
    ("a = x; a = 2*x; x' = a", "define each name once, but defines `a` again at column 8"),
    ("x' = 2x", r"have an operator between factors, as in `2\*x`, but has none at column 7, `x`"),
    ("x' = x y", r"as in `x\*y`"),
    ("x' = (x)(x)", r"as in `\(...\)\*\(...\)`"),
    ("x' = \u221ax", r"give the function `sqrt` its arguments in parentheses"),
    ("x' = 2\u00bd*x", r"have an operator between factors, as in `2\*\(...\)`.* column 7"),
    ("x[i=1..N]' = x[i]", "give `N`, which bounds a range, a whole number, as in `N = 20`, but gives it none"),
    ("x' = sin x", r"give the function `sin` its arguments in parentheses, as in `sin\(...\)`.* column 10"),
    ("x' = 1 if x > 0 else 2", r"the function `if` its arguments in parentheses, as in `if\(x > 0, a, b\)`.* column 8"),
    ("x' = |x|", r"\(an absolute value is `abs\(x\)`\).* at column 6"),
    ("\n\nx' = y", "define `y` .* at line 3, column 6"),
    ("mu = 1; x' = mu(1 - x)", r"an operator between factors, as in `mu\*\(...\)`.* column 14"),
    ("x' = \u03c9t; omega = 1", r"as in `omega\*t`, but has none at column 7, `t; omega = 1`"),
    ("x' = e^x", r"Euler's number is `exp\(1\)`"),
    ("x + y = 1; x' = 1", "an algebraic equation.* at column 1"),
    ("0 = x - y; x' = 1", "an algebraic equation"),
    ("C*V' = -V; C = 1", "a factor that must be divided out"),
    ("x' = y'; y' = 1", "have derivatives on the left only"),
    ("x[n+1] = x; y[k+1] = y", "count steps by one index, `n`, but has `k` at column 13"),
    ("x[i=1..3,j]' = 1", "give an index one range, as in `i=1..20`, but goes on at column 9"),
    ("x'[n+1] = x", "have one name or one derivative on the left"),
    ("x' = sum(j=1..3 x)", "have `,` after the index of a sum here, .* at column 17"),
    ("x' = sum(j=1 3, x)", "give an index its range, .* has no `..` at column 14"),
    ("x' = (1, 2)", "have an operator here, but has something else at column 8"),
    ("x' = 2 .. 3", "have an operator here, but has something else at column 8"),
    ("x[i=1..2]' = 1; x_1' = 2", "name components differently, but `x_1` is an entry of a family"),
    (f"x' = {'sum(j=1..2, ' * 9}x{')' * 9}", "hold at most 8 sums inside each other, .* at column 102"),
    ("x' = -x(t - 1)", "delays are not supported, but uses another at column 7"),
    ("x' = delay(x, 1)", "be without delays"),
    ("x[n+1] = x; dx[n+1]/dt = x", "one name or one derivative on the left.* at column 13"),
    ("x[n+1] = x; x[1] = 3", r"the start of a map as `x\[0\] = ...`, but gives another state at column 13"),
    ("x' = sum(i=1..2.5, i)", "of whole numbers, but has no whole number at column 15"),
    ("dx[1]^2/dt = x", "one name or one derivative on the left"),
    ("x[n+1] = x[n-1]", "a delay needs a variable of its own"),
    ("x' = (x", r"matching brackets, but has `\(` without its partner at column 6"),
    ("x' = x)", r"has `\)` without its partner at column 7"),
    ("x' = [x)", r"has `\)` without its partner"),
    ("x' = x +", "have a name, a number or `\\(` here, but ends at column 9, the end"),
    ("x' = * x", "a number or `\\(` here, but has something else at column 6"),
    ("x' = sin", "give the function `sin` its arguments"),
    ("x' = sin(x, 1)", "give `sin` 1 argument, but gives 2"),
    ("x' = if(x)", "give `if` 3 arguments, but gives 1"),
    ("x' = f(x); f(u, v) = u", "give `f` 2 arguments, but gives 1"),
    ("x' = sni(x)", "uses the unknown `sni` at column 6, `sni\\(x\\)`, did you mean `sin`?"),
    ("sin(u) = u; x' = x", "`sin` is built in"),
    ("x' = f(1); f(u, u) = u", "name each argument of a function once"),
    ("x' = 1/0", "divides by zero at column 7"),
    ("x' = 1e999", "have finite numbers"),
    ("x' = 1; x(0) = log(0)", "give finite numbers"),
    ("x' = 1; y(0) = 1", "give starts of components, but gives one of `y`"),
    ("x' = 1; x(0) = 1; x(0) = 2", "give each start once"),
    ("x' = x; y[n+1] = y", "be a flow or a map, and not both"),
    ("x' = a; a = b; b = a", "has a circle of"),
    ("x' = f(x); f(u) = f(u)", "has a circle of"),
    ("x' = 0 < x < 1", "compare two values at a time"),
    ("x' = x = 1", r"have one `=` in a statement \(`==` compares\), but has another one at column 8"),
    ("x' = x[1]", "use `x` without an index"),
    ("x[i=1..3]' = x", "give `x` an index"),
    ("x[i=1..3]' = x[i+1]", r"define `x\[4\]` by a line of its own.* a ring.* at column 14"),
    ("x[i=1..3]' = x[i*2]", "have indices that are `i`, `i\\+1`"),
    ("x[i=3..1]' = 1", "have a range that is not empty"),
    ("x[i=1..1000000000]' = 1", "ranges of at most 100,000 entries"),
    ("x[i=1..2]' = 1; x[2]' = 1", r"a second one for `x\[2\]`"),
    ("x' = 1; x[i=1..2]' = 1", "with an index always or never"),
    ("x' = sum(j=1..2, sum(j=1..2, j))", "give each index a name of its own"),
    ("x' = sin(dW1)", "multiplied by its amplitude"),
    ("x' = dW1*dW2", "multiplied by its amplitude"),
    ("x' = x/dW1", "multiplied by its amplitude"),
    ("x' = {x}", "use parentheses, but has another character at column 6"),
    ("x' = x % 2", r"a remainder is mod\(a, b\)"),
    ("x' = \u2211x", "has another character at column 6"),
    ("x' = " + "x" * 101, "names of at most 100 characters"),
]  # fmt: skip

HOSTILE = [
    "__import__('os').system('{}')", "eval(\"__import__('os').system('{}')\")", "exec('{}')", "open('{}', 'w')",
    "().__class__.__bases__[0].__subclasses__()", "x.__class__", "lambda: 0", "[c for c in ()]", "f'{{x}}'", "`{}`",
    "globals()", "__builtins__", "getattr(x, 'real')", "compile('1', '', 'eval')",
    "x; import os",
    "x\nimport os\nos.abort()", "os.abort()", "sympify('x')", "(x := 1)", "yield x", "x if x else x", "print(x)",
    "__name__",
    "${{x}}", "\\input{{x}}", "x' = 1' or '1'='1", "#{{x}}\n1/(", "\x00", "\ud800", "9**9**9**9*eval", "breakpoint()",
    "exit()", "help()",
]  # fmt: skip


@pytest.mark.parametrize(("text", "sentence"), REFUSED)
def test_bad_equations_get_a_sentence_with_a_place(text, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        ds.system(text)


def test_hostile_texts_execute_nothing(tmp_path):
    heard, listening = [], False

    def hear(event, arguments):
        if listening and event.split(".")[0] in ("exec", "compile", "import", "open", "os", "subprocess", "ctypes"):
            heard.append(event)

    sys.addaudithook(hear)
    for seen, text in enumerate([*HOSTILE, *HOSTILE]):
        listening = seen >= len(HOSTILE)  # the first time functions of ours are still prepared
        whole = "x' = " + text.replace("{}", str(tmp_path / "made")).replace("{{", "{").replace("}}", "}")
        with pytest.raises(ArgumentError) as refused:
            ds.system(whole)
        listening = False
        str(refused.value).encode()  # can be printed
    assert heard == []
    assert not (tmp_path / "made").exists()


def test_arguments_are_checked():
    with pytest.raises(ArgumentError, match="`a` must be a parameter of the equations, but is not in them"):
        ds.system("x' = -x", a=1.0)
    with pytest.raises(ArgumentError, match="`a` must be given by the text or as a parameter, but not both"):
        ds.system("x' = a; a = 2*x", a=1.0)
    with pytest.raises(ArgumentError, match="`a` must be a finite number"):
        ds.system("x' = a", a=float("inf"))
    for text, value, sentence in (
        ("x' = w[0]*x", [1.0, 2.0], "must have an entry 0, which the equations use, but has 2 entries, counted from 1"),
        ("x[i=1..3]' = w[i]*x[i]", [1.0, 2.0], "must have the entries 1 to 3, which the equations use, but has 2 ent"),
        ("x' = w[2]", 2.0, "must have an entry 2, which the equations use, but is the number 2"),
        ("x' = w[1]*w[2]", 2.0, "must have the entries 1 to 2, which the equations use, but is the number 2"),
        ("x' = w[1] + w", 2.0, "must be a number, because the equations use `w` without an index, but has one, too"),
        ("x' = w", [2.0], "must be a number, because the equations use `w` without an index, but has 1 entry"),
    ):
        with pytest.raises(ArgumentError, match=f"`w` {sentence}"):
            ds.system(text, w=value)
    for text in ("x' = w[1]*x", "x[i=1..1]' = w[i]*x[i]", "x' = w[1]*x; w = 2"):
        given = {} if "w =" in text else {"w": 2.0}
        assert ds.system(text, **given).velocity(0.0, np.array([3.0])).tolist() == [6.0]  # one entry is a number
    with pytest.raises(ArgumentError, match="`text` must have at most 1,000,000 characters"):
        ds.system("x" * 1_000_001)
    with pytest.raises(ArgumentError, match="`y0` must have one entry for each component, x, y"):
        ds.system("x' = y; y' = x").velocity(0.0, [1.0])


@pytest.mark.parametrize(
    "text",
    [
        "x' = " + " + ".join(["x"] * 8000), "x' = " + "(" * 12_000 + "x" + ")" * 12_000, "x' = " + "-" * 25_000 + "x",
        "x' = " + "sin(" * 5000 + "x" + ")" * 5000, "x' = " + "if(x > 0, x, " * 2000 + "1" + ")" * 2000,
        "x' = a0\n" + "\n".join(f"a{k} = a{k + 1}" for k in range(2000)) + "\na2000 = x", "'" * 25_000,
        "\n".join(f"x{k}' = -x{k}" for k in range(6500))[:100_000], "x'=1," * 8_000,
        "x' = f25(x); f0(u) = u;" + ";".join(f"f{k}(u) = f{k - 1}(u)*f{k - 1}(u + 1)" for k in range(1, 26)),
    ],
)  # fmt: skip
def test_long_and_deep_texts_are_read_in_linear_time(text):
    before, said = time.process_time(), ""
    try:
        ds.system(text)
    except ArgumentError as error:
        said = str(error)
    assert len(said) < 400
    assert time.process_time() - before < 3.0  # 0.2 s in the mean; quadratic reading takes 10 s


def test_a_function_that_doubles_itself_is_refused_at_a_limit(monkeypatch):
    monkeypatch.setattr(graph, "MOST", 2000)
    twice = ";".join(f"f{k}(u) = f{k - 1}(u + {k}) + f{k - 1}(2*u)" for k in range(1, 31))
    with pytest.raises(ArgumentError, match="consist of at most 2,000 operations"):
        ds.system(f"x' = f30(x); f0(u) = u; {twice}")


def test_a_singular_start_gives_infinities():
    flow = ds.system("x' = 1/x; x(0) = 0")
    assert np.isinf(flow.velocity(0.0, jnp.array(flow.start))[0])
    assert np.isinf(ds.system("x' = 1/t").velocity(0.0, jnp.ones(1))[0])  # not an error of Python's numbers
    assert np.isinf(ds.system("x[n+1] = 1/n").step(0, jnp.ones(1))[0])


def test_a_file_that_is_not_in_toml_is_refused(tmp_path):
    (tmp_path / "a.toml").write_text('equations = "x')
    with pytest.raises(ArgumentError, match="`path` must name a file in TOML, but does not"):
        ds.system(tmp_path / "a.toml")


def test_nothing_has_no_caret_and_other_text_has_one():
    with pytest.raises(ArgumentError) as empty:
        ds.system(" \n")
    with pytest.raises(ArgumentError) as other:
        ds.system("x' = 2x")
    assert not getattr(empty.value, "__notes__", [])
    assert other.value.__notes__ == ["  x' = 2x\n        ^"]


def test_an_unknown_parameter_is_one_of_the_equations():
    with pytest.raises(ArgumentError, match="must name a parameter of the equations, a, but is `b`"):
        ds.Parameter(ds.system("x' = -a*x", a=1.0), "b", 0.0, 1.0)
