"""Ten tokens in R^3: what `simulate` adds to a solve by hand, with diffrax and SciPy, and from a process' start."""

import diffrax as dfx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp

from dynsim.integrators import Diffrax, Scipy
from dynsim.keys import random_key
from dynsim.simulation.simulate import simulate
from dynsim.systems.tokens.published import published_gradient_flow
from tests.quality.benchmarks.harness import Contender, Row, race, show, start_to_end

TS = np.linspace(0.0, 15.0, 200)
CALLS = 20


_FIELD = """
P = jnp.asarray(np.array([[0.9432, 0.0587, -0.1813], [0.0587, 0.8450, -0.1013], [-0.1813, -0.1013, 0.5519]]))
def field(t, y, args=None):
    y = y / jnp.sqrt(jnp.sum((y @ P) * y, axis=-1, keepdims=True))
    m = jax.nn.softmax(y @ P @ y.T, axis=-1) @ y / np.sqrt(3.0)
    return m - jnp.sum((y @ P) * m, axis=-1, keepdims=True) * y
y0 = np.random.default_rng(0).normal(size=(10, 3))
y0 = y0 / np.sqrt(np.sum((y0 @ np.asarray(P)) * y0, axis=-1, keepdims=True))
ts = np.linspace(0.0, 15.0, 200)
"""

_IMPORTS = """
import jax
jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp, numpy as np
import diffrax as dfx, equinox, optimistix, scipy.integrate
"""

SCRIPTS = {
    "bare, SciPy": _IMPORTS + _FIELD + """
f = jax.jit(lambda t, y: field(t, y.reshape(10, 3)).ravel())
g = lambda t, y: np.asarray(f(t, y))
s = scipy.integrate.solve_ivp(g, (0.0, 15.0), y0.ravel(), method="DOP853", t_eval=ts, rtol=1e-8, atol=1e-10)
print(s.y[0, -1])
""",
    "dynsim, Scipy()": """
import numpy as np
from dynsim import Scipy
from dynsim.tokens import published_gradient_flow
from dynsim.simulation.simulate import simulate
flow = published_gradient_flow()
P = np.asarray(flow.query_key.value[0])
y0 = np.random.default_rng(0).normal(size=(10, 3))
y0 = y0 / np.sqrt(np.sum((y0 @ P) * y0, axis=-1, keepdims=True))
path = simulate(flow, y0, np.linspace(0.0, 15.0, 200), integrator=Scipy(rtol=1e-8, atol=1e-10))
print(np.asarray(path.ys)[-1, 0, 0])
""",
    "bare, diffrax": _IMPORTS + _FIELD + """
@jax.jit
def solve(y0):
    return dfx.diffeqsolve(dfx.ODETerm(field), dfx.Tsit5(), 0.0, 15.0, None, y0, saveat=dfx.SaveAt(ts=jnp.asarray(ts)),
                           stepsize_controller=dfx.PIDController(rtol=1e-8, atol=1e-10), max_steps=100_000).ys
print(np.asarray(solve(jnp.asarray(y0)))[-1, 0, 0])
""",
    "dynsim, Diffrax()": """
import numpy as np
from dynsim import Diffrax
from dynsim.tokens import published_gradient_flow
from dynsim.simulation.simulate import simulate
flow = published_gradient_flow()
P = np.asarray(flow.query_key.value[0])
y0 = np.random.default_rng(0).normal(size=(10, 3))
y0 = y0 / np.sqrt(np.sum((y0 @ P) * y0, axis=-1, keepdims=True))
path = simulate(flow, y0, np.linspace(0.0, 15.0, 200), integrator=Diffrax(rtol=1e-8, atol=1e-10))
print(np.asarray(path.ys)[-1, 0, 0])
""",
}  # fmt: skip


def repeated(rounds: int) -> list[Row]:
    """Race `simulate` against a jitted `diffeqsolve` of the same field, written by hand."""
    flow = published_gradient_flow()
    y0 = flow.space.sample(random_key(0, "ten tokens"), (10, 3))
    P, ts = flow.query_key(0.0)[0], jnp.asarray(TS)
    integrator = Diffrax(rtol=1e-8, atol=1e-10)

    def field(t, y, args):
        y = y / jnp.sqrt(jnp.sum((y @ P) * y, axis=-1, keepdims=True))
        m = jax.nn.softmax(y @ P @ y.T, axis=-1) @ y / np.sqrt(3.0)
        return m - jnp.sum((y @ P) * m, axis=-1, keepdims=True) * y

    @jax.jit
    def by_hand(y0):
        return dfx.diffeqsolve(
            dfx.ODETerm(field), dfx.Tsit5(), ts[0], ts[-1], None, y0, saveat=dfx.SaveAt(ts=ts),
            stepsize_controller=dfx.PIDController(rtol=1e-8, atol=1e-10), max_steps=100_000,
        ).ys  # fmt: skip

    def many(call):
        for _ in range(CALLS - 1):
            jax.block_until_ready(call())
        return (np.asarray(call()),)

    reference = np.asarray(simulate(flow, y0, TS, integrator=Diffrax(rtol=1e-12, atol=1e-13)).ys)
    return race(
        f"ten tokens in R^3, rtol 1e-8, 200 frames, {CALLS} calls; error of the states",
        [
            Contender("hand-written diffeqsolve, jitted", lambda: many(lambda: by_hand(y0))),
            Contender(
                "dynsim simulate", lambda: many(lambda: simulate(flow, y0, TS, integrator=integrator).ys), 1 / 1.5
            ),
        ],
        lambda answer: float(np.max(np.abs(answer[0] - reference))),
        rounds=rounds,
    )


def by_scipy(rounds: int) -> list[Row]:
    """Race `simulate` with `Scipy()` against SciPy on a field in NumPy, at the tolerances of the referee."""
    flow, integrator = published_gradient_flow(), Scipy()
    y0 = np.asarray(flow.space.sample(random_key(0, "ten tokens"), (10, 3)))
    P = np.asarray(flow.query_key(0.0)[0])

    def field(t, y):
        y = y.reshape(10, 3)
        y = y / np.sqrt(np.sum((y @ P) * y, axis=-1, keepdims=True))
        s = y @ P @ y.T
        w = np.exp(s - np.max(s, axis=-1, keepdims=True))
        m = w @ y / (np.sum(w, axis=-1, keepdims=True) * np.sqrt(3.0))
        return (m - np.sum((y @ P) * m, axis=-1, keepdims=True) * y).ravel()

    def by_hand():
        run = solve_ivp(field, (TS[0], TS[-1]), y0.ravel(), "DOP853", TS, rtol=integrator.rtol, atol=integrator.atol)
        return (run.y.T.reshape(-1, 10, 3),)

    reference = np.asarray(simulate(flow, y0, TS, integrator=Diffrax(rtol=1e-13, atol=1e-14)).ys)
    return race(
        f"ten tokens in R^3, rtol {integrator.rtol:g}, 200 frames; error of the states",
        [
            Contender("SciPy DOP853, NumPy", by_hand),
            Contender(
                "dynsim Scipy()", lambda: (np.asarray(simulate(flow, y0, TS, integrator=integrator).ys),), 9.8 / 15
            ),
        ],
        lambda answer: float(np.max(np.abs(answer[0] - reference))),
        rounds=rounds,
    )


def from_the_start(rounds: int) -> list[Row]:
    """Race scripts from process start to the first answer."""
    medians = start_to_end(SCRIPTS, rounds=rounds)
    rows = []
    for name, seconds in medians.items():
        against = "bare, SciPy" if "cipy" in name.lower() else "bare, diffrax"
        rows.append(Row(name, seconds, 0.0, 0.0, medians[against] / seconds, 1 / 1.3, against))
    show("from process start to the first answer", rows)
    return rows
