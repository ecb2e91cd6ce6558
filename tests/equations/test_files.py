"""Equations from files: plain text, TOML, and `.ode` files of XPPAUT."""

import re

import jax.numpy as jnp
import numpy as np
import pytest

import dynsim as ds
from dynsim.equations import files
from dynsim.equations.ode import from_ode
from dynsim.errors import ArgumentError

ODE = """# a small neuron
"{v=1} a comment that XPPAUT shows
par gca=4.4 vca=120,
param iapp=90, C=20   # capacity
number vk=-84
p zero
minf(V)=.5*(1+tanh((v+1.2)/18))
!half=iapp/2
ica=gca*minf(v)*(v-vca)
table ramp % 51 0 5 t^2
dv/dt = (iapp - ica \\
   - 8*w*(V-vk))/c + if(t<10)then(0)else(half) + zero
w'=.04*(.5*(1+tanh((v-2)/30))-w)+ramp(w)*heav(v)
x[1..3]' = -x[j] + x[j-1]
x0 = w
s' = sum(1,3)of(shift_(x1)*i')
shift_(u)=u
init v=-40,w=.01
x[2..3](0)=[j]
aux I.ca=ica
aux ica=ica
@ total=200,xp=v,yp=w,xlo=-80,xhi=60
@ ylo=-.1,yhi=1,maxstor=100000
done
this is not read"""


def test_an_ode_file_is_read():
    flow = ds.system(from_ode(ODE))
    assert flow.names == ("v", "w", "x1", "x2", "x3", "s")
    assert flow.start == (-40.0, 0.01, 0.0, 2.0, 3.0, 0.0)
    assert flow.ranges == (("v", -80.0, 60.0), ("w", -0.1, 1.0), ("t", 0.0, 200.0))
    assert {name: float(value) for name, value in flow.parameters.items()} == {
        "gca": 4.4, "vca": 120.0, "iapp": 90.0, "c": 20.0, "vk": -84.0, "zero": 0.0,
    }  # fmt: skip
    v, w, x = -30.0, 0.2, np.array([0.2, 0.5, 2.0, 3.0])
    ica = 4.4 * 0.5 * (1 + np.tanh((v + 1.2) / 18)) * (v - 120)
    expected = [(90 - ica - 8 * w * (v + 84)) / 20 + 45, 0.04 * (0.5 * (1 + np.tanh((v - 2) / 30)) - w)]
    found = flow.velocity(11.0, jnp.array([v, w, 0.5, 2.0, 3.0, 1.0]))
    assert np.asarray(found) == pytest.approx([*expected, *(x[:3] - x[1:]), 3.0], rel=1e-12)
    assert float(flow.quantity("i_ca", 0.0, [v, w, 0.5, 2.0, 3.0, 1.0])) == pytest.approx(ica)


def test_indices_of_arrays_have_factors_and_offsets():
    flow = ds.system(from_ode("x[1..6]'=0\ny[1..2]'=x[2*j+1]-x[j]+x[3]-x[3*j - 2]\ndone"))
    x = np.array([1.0, 10.0, 100.0, 1e3, 1e4, 1e5])
    found = flow.velocity(0.0, jnp.array([*x, 0.0, 0.0]))
    assert np.asarray(found[6:]).tolist() == [100.0 - 1.0 + 100.0 - 1.0, 1e4 - 10.0 + 100.0 - 1e3]


def test_shifted_entries_of_arrays_are_read():
    text = (
        "x[0..2]'=sum(0,2)of(([j]-i')*shift(x0,i')^2)-shift(x1,[j]-1)\n"
        "s'=sum(1,0)of(shift(x0,i'))+2*sum(1,2*1)of(i'*shift(c1,i'-1))\nc[1..2]=[j]*x0\nr[1]=x[1]\naux q=r[1]\ndone"
    )
    x = np.array([2.0, 3.0, 5.0])
    found = np.asarray(ds.system(from_ode(text)).velocity(0.0, jnp.array([*x, 0.0])))
    assert found.tolist() == [*(sum((j - i) * x[i] ** 2 for i in range(3)) - x[j] for j in range(3)), 2 * (2 + 8)]


@pytest.mark.parametrize(("line", "what"), [
    ("x[1..2]'=sum(1,n)of(shift(x1,i'))", "a sum over shifted variables without whole numbers as its ends"),
    ("x[1..2]'=shift(x1,n)", "a variable that is not shifted by a whole number"),
    ("x[1..2]'=shift(x1,0.5)", "a variable that is not shifted by a whole number"),
    ("x[1..2]'=shift(y,1)", "shifted variables that are no entries of an array"),
    ("x[1..2]'=ishift(x1,1)", "shifted variables"),
])  # fmt: skip
def test_other_shifts_are_refused(line, what):
    with pytest.raises(ValueError, match=re.escape(f"has {what}.")):
        from_ode(f"par n=2\ny'=1\n{line}\ndone")


def test_blocks_of_equations_are_written_out_for_each_index():
    flow = ds.system(from_ode("%[1..2]\nx[j]'=k*x[j+1]+[j]\ninit x[j]=[2*j]\n%\nx3'=1\npar k=2\ndone"))
    assert (flow.names, flow.start) == (("x1", "x2", "x3"), (2.0, 4.0, 0.0))
    assert flow.velocity(0.0, jnp.array([1.0, 10.0, 100.0])).tolist() == [21.0, 202.0, 1.0]


def test_events_of_ode_files_are_transitions_in_their_direction():
    text = from_ode(
        "x'=-x\npar k=2\nglobal -1 x-1 {x=2*k;k=x+1}\nglobal 1 x-3 {x=0;no_interp=1;arret=1}\nglobal 0 x {k=1}\ndone"
    )
    assert "when(x-1 < 0, x=2*k, k=(2*k)+1)" in text
    assert "when(x-3 > 0, x=0, stop)" in text
    assert "when(x == 0, k=1)" in text


def test_options_become_ranges_and_comments_are_left_out():
    text = "% a comment\npar q=2,r=1\nx'=-q*x\naux x=2*x\naux y=x\naux y=3*x\n@ total=30,t0=5,parmin=-1 parmax=.5\ndone"
    flow = ds.system(from_ode(text))
    assert flow.ranges == (("q", -1.0, 0.5), ("t", 5.0, 35.0))
    assert "# t: 5..35" in str(flow)
    assert ds.system(str(flow)).ranges == flow.ranges
    quantities = [float(flow.quantity(name, 0.0, [7.0])) for name in ("x_aux", "y", "y_aux")]
    assert quantities == [14.0, 7.0, 21.0]


def test_each_option_is_read_or_named():
    text = from_ode(
        "wiener w\npar q=2\nx'=-q*x+w\n@ dt=.05,bounds=100,meth=CVODE,total=30 maxstor=5000\n@ xp=t,xlo=0,xhi=9,yp=x\n"
        "@ ylo=0,yhi=inf,parmin=1\ndone"
    )
    assert text.endswith("\n# not used: maxstor, xp, xlo, xhi, yp, ylo, yhi, parmin")
    flow = ds.system(text)
    assert flow.defaults == (("step_size", "0.05"), ("bounds", "100.0"), ("integrator", "stiff"))
    assert ds.system(str(flow.flow)).defaults == flow.defaults
    map = ds.system(from_ode("x(t+1)=2*x\n@ dt=-1,bounds=0,total=40,method=euler,xp=x,xlo=0,xhi=2\ndone"))
    assert (map.defaults, map.ranges) == ((), (("x", 0.0, 2.0), ("t", 0.0, 40.0)))
    assert ds.system("x' = -x # simulate: bounds=3").defaults == (("bounds", "3"),)
    assert ds.system("x' = -x\n# simulate: rtol=1, bounds=-, integrator=euler").defaults == ()


def test_a_discrete_method_makes_a_map():
    text = from_ode("x'=a*x*(1-x)\npar a=3.2\ninit x=.1\n@ meth=discrete,total=400\ndone")
    assert "not used" not in text
    logistic = ds.system(text)
    orbit = np.asarray(ds.iterate(logistic, jnp.array([0.1]), 300).ys)
    assert sorted(orbit[-2:, 0]) == pytest.approx([0.5130445095, 0.7994554905])


def test_maps_and_noise_of_ode_files():
    standard = ds.system(from_ode("y(t+1)=y+k*sin(x)\nx(t+1)=mod(x+y+t,2*pi)\npar k=.5\ndone"))
    assert np.asarray(standard.step(2, jnp.array([1.0, 7.0]))) == pytest.approx([1 + 0.5 * np.sin(7), 10 - 2 * np.pi])
    assert float(ds.system(from_ode("par n=3\nf(t)=t^2\nx(t+1)=n*x+f(t)")).step(2, jnp.array([1.0]))[0]) == 7.0
    with pytest.raises(ArgumentError, match="has noise in a map"):
        from_ode("wiener w\nx(t+1)=x+w")
    noisy = ds.system(from_ode("wiener w1 w2\nx'=-x+s*w1\ny'=w2*x\npar s=2"))
    assert np.asarray(noisy.kick(0.0, jnp.array([3.0, 1.0]), jnp.ones(2))).tolist() == [2.0, 3.0]


def values(content: str, *state: float, t: float = 0.0) -> list[float]:
    """The right-hand side that a file gives at a state."""
    return np.asarray(ds.system(from_ode(content)).rhs(t, np.array(state))).tolist()


def test_comparisons_and_powers_are_grouped_as_in_xppaut():
    """By its priorities, comparisons are like powers, which group to the left; `&` is like `*`, and `|` like `+`."""
    text = "a'=if(t<a-2)then(1)else(0)\nb'=2^3^2\nc'=-a^2+3*(not(b>1)*4)\nd'=a>1&b<9\ne'=2*a==4\nf'=-2>-a|0\n"
    # (t < a) - 2 is not zero; (2^3)^2; not(b > 1) is a factor; 2*(a == 4); -(2 > (-a))
    assert values(text.replace("-a|0", "(-a)|0"), 4.0, 5.0, 0, 0, 0, 0, t=9) == [1.0, 64.0, -16.0, 1.0, 2.0, 1.0]
    assert values("g(x)=if(x+1>3)then(5)else(6)\nx'=g(x)", -1.0) == [5.0]  # x + (1 > 3) is not zero
    assert values("g(x)=if(x+1>3)then(5)else(6)\nx'=g(x)", 0.0) == [6.0]


def test_words_are_told_by_their_first_letters_and_names_by_what_follows():
    text = from_ode(
        "numbers vk=3\nparameter k=2\ninitial x=3,y=1;\nd = 5\nauxiliary z=x\nsech(u)=2*u\nand=7\nx'=-d*x+sech(k)+and\n"
        "y[3..2]'=y[j]+y[j*1]\nvi'=sum(1,2)of(i')\n@ parmin=0,parmax=4,bound=7\ndobe\nw'=1"
    )
    flow = ds.system(text.replace("y(0) = 1", ""))
    assert flow.names == ("x", "y3", "y2", "vi")
    assert set(flow.ranges) == {("k", 0.0, 4.0)}
    assert flow.defaults == (("bounds", "7.0"),)
    assert np.asarray(flow.rhs(0.0, np.arange(1.0, 5.0), **flow.parameters)).tolist() == [6.0, 4.0, 6.0, 3.0]
    assert float(flow.quantity("z", 0.0, np.ones(4))) == 1.0


def test_runs_start_at_zero_where_a_file_gives_no_start_as_in_xppaut():
    assert ds.system(from_ode("y'=x\nx'=1\ndone")).start == (0.0, 0.0)


def test_the_components_of_a_block_alternate():
    assert ds.system(from_ode("%[1..2]\nu[j]'=v[j]\nv[j]'=-u[j]\n%\ndone")).names == ("u1", "v1", "u2", "v2")


def test_errors_name_the_line_of_the_file():
    text = from_ode("# a comment\npar k=1\n\nx[1..2]'=-k*x[j]\ny'=-k*z \\\n +1\ndone")
    with pytest.raises(ArgumentError, match="define `z` or give it a value.* at line 5, column 7"):
        ds.system(text)
    with pytest.raises(ArgumentError, match="`z`.* at line 3, column 6"):
        ds.hybrid_system(from_ode("#\nglobal 1 x-1 {x=0}\nx'=1+z\ndone"))
    with pytest.raises(ArgumentError, match="`z`.* at line 4, column 6"):
        ds.hybrid_system("x' = 1\nwhen(x > 1,\n  x = 0)\ny' = z")


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("x'=delay(x,2)", "has delays"), ("markov z 2", "Markov"),
        ("b x-1", "has boundary conditions"), ("table h file.tab", "has tables from files"), ("0=x+y", "algebraic"),
        ("x'=int{exp(-t)#x}", "Volterra"), ("x'=ran(1)", "random numbers"), ("2 0 1 4", "old format"),
        ("special k=conv(even,101,21,w,u)", "special network functions"), ("x'=besselj(1,x)", "Bessel"),
        ("volt u=exp(-t)", "Volterra equations"), ("x'=besseli(0,x)", "Bessel"), ("group a 2", "groups"),
        ("par k=1/3", "the formula `1/3` where XPPAUT reads a number only"), ("init x=x0", "the formula `x0`"),
        ("par k=1 : l=2", "more than names with values"), ("fudge x", "an unknown declaration, `fudge`"),
        ("#include more.ode", "included files"),
    ],
)  # fmt: skip
def test_what_ode_files_have_beyond_equations_is_refused_by_name(line, what):
    with pytest.raises(ArgumentError, match=f"line 2, `.*{what}"):
        from_ode(f"# a comment\n{line}\nx'=-x\ndone")


@pytest.mark.parametrize("suffix", [".txt", ".toml", ".ode", ".xml", ".sbml"])
def test_a_file_is_named_by_a_path_or_a_text(suffix, monkeypatch, tmp_path):
    """Any other text holds the equations, and any other path is refused."""
    for name in ("from_toml", "from_ode", "from_sbml"):
        monkeypatch.setattr(files, name, lambda content: f"read {content}")
    path = tmp_path / f"model{suffix}"
    path.write_text("x' = -x")
    expected = "x' = -x" if suffix == ".txt" else "read x' = -x"
    assert files.text_of(path) == files.text_of(str(path)) == expected
    assert files.text_of(f"{path}x") == f"{path}x"
    with pytest.raises(ArgumentError, match="`path` must end in .txt, "):
        files.text_of(tmp_path / f"model{suffix}x")


def test_toml_and_text_files(tmp_path):
    (tmp_path / "a.toml").write_text(
        'equations = """\nx\' = -k*x\ny\' = x\n"""\ntime_unit = \'s\'\n[parameters]\nk = 2\n[start]\nx = 1\n'
        "[units]\nx = 'm'\nk = '1/s'\n[ranges]\nk = [0, 5]\ny = [-1.5, 2]\n"
    )
    flow = ds.system(tmp_path / "a.toml")
    assert (flow.start, flow.units, flow.time_unit) == ((1.0, 0.0), ("m", ""), "s")
    assert flow.parameter_units == (("k", "1/s"),)
    assert set(flow.ranges) == {("k", 0.0, 5.0), ("y", -1.5, 2.0)}
    (tmp_path / "a.toml").write_text(
        (tmp_path / "a.toml").read_text(), encoding="utf-8-sig"
    )  # as editors of Windows do
    assert ds.system(tmp_path / "a.toml").rhs == flow.rhs
    (tmp_path / "b.txt").write_text(str(flow), encoding="utf-8-sig")
    assert ds.system(str(tmp_path / "b.txt"), k=2.0).rhs == flow.rhs
    with pytest.raises(ArgumentError, match="`c.ode` cannot"):
        ds.system("c.ode")
    (tmp_path / "d.toml").write_text("equation = 'x'")
    with pytest.raises(ArgumentError, match="has `equation`"):
        ds.system(tmp_path / "d.toml")
