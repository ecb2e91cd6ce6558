"""The ensemble of CONSENSUS, Section 7.4: 100 trajectories of 50 tokens in R^500, two heads, causal, P(t) as given."""

import math
from typing import Any

import diffrax as dfx
import jax
import jax.numpy as jnp
import numpy as np

from dynsim.integrators import AbstractIntegrator, Diffrax, InSpan
from dynsim.keys import random_key
from dynsim.simulation.ensemble import ensemble
from dynsim.systems.schedules import ScaledIdentity
from dynsim.systems.tokens.flow import TokenFlow
from dynsim.systems.tokens.initial import initial_tokens
from dynsim.systems.tokens.interactions.masks import Causal
from dynsim.systems.tokens.published import published_ensemble_flow
from tests.quality.benchmarks import opponents
from tests.quality.benchmarks.harness import Contender, Row, in_fresh_process, largest_gap, race

RTOL, ATOL = 1e-3, 1e-6
TS = np.linspace(0.0, 200.0, 200)
SHORT = np.linspace(0.0, 10.0, 11)
HEADS, N, D = 2, 50, 500


def seen(t: Any, x: Any) -> Any:
    """Return E of (25)."""
    del t
    return opponents.misalignment(x, jnp)


def solved(flow: TokenFlow, starts: Any, integrator: AbstractIntegrator, ts: np.ndarray = TS) -> opponents.Answer:
    """Return E and the last tokens, by dynsim."""
    run = ensemble(flow, starts, ts, seen, integrator=integrator, shown=False)
    if not bool(jnp.all(run.stats.succeeded)):
        raise RuntimeError(str(run))
    return np.asarray(run.values), np.asarray(run.final)


def flows(dtype: Any, d: int = D) -> tuple[TokenFlow, TokenFlow]:
    """Return the flow of 7.4, and the same with two general value matrices, whose parameters have a type."""
    cast = lambda tree: jax.tree.map(lambda a: a.astype(dtype) if jnp.issubdtype(a.dtype, jnp.floating) else a, tree)
    identity = published_ensemble_flow(random_key(0, "parameters"), d=d)
    value = jax.random.normal(random_key(0, "value"), (HEADS, d, d)) / math.sqrt(d)
    return cast(identity), cast(TokenFlow(identity.query_key, np.asarray(value), mask=Causal()))


def starts(members: int, dtype: Any, d: int = D) -> jax.Array:
    """Return tokens uniform in ]-0.5, 0.5[ in every entry, projected to the sphere."""
    keys = jax.random.split(random_key(0, "starts"), 100)[:members]
    return jax.vmap(lambda key: initial_tokens("uniform", key, (N, d)))(keys).astype(dtype)


def fast(solver: Any = None, **options: Any) -> Diffrax:
    """Return diffrax at the tolerances of the benchmark, with the error control alone to choose the step, as others."""
    return Diffrax(solver, rtol=RTOL, atol=ATOL, longest_step=math.inf, **options)


EXACT = Diffrax(rtol=1e-7, atol=1e-9)
FEW = 8  # members of the naive contender, and of the reference for general U


def problem(flow: TokenFlow, starts: Any, ts: np.ndarray = TS) -> opponents.Problem:
    """Return the numbers of a flow for the opponents."""
    P = flow.query_key
    value = 1.0 if isinstance(flow.value, ScaledIdentity) else np.asarray(flow.value(0.0))
    tables = (np.asarray(a) for a in (P.base, P.frequency, P.phase))  # pyright: ignore
    return opponents.Problem(*tables, value, np.asarray(starts), ts)


def identity(members: int, rounds: int, d: int = D) -> list[Row]:
    """Race for the ensemble with U = I."""
    flow, y64 = flows(jnp.float64, d)[0], starts(members, jnp.float64, d)
    flow32, y32 = flows(jnp.float32, d)[0], starts(members, jnp.float32, d)
    plain = problem(flow, y64)
    few = plain._replace(starts=plain.starts[:FEW])
    reference = solved(flow, y64, InSpan(EXACT))[0]
    rows = race(
        f"U = I: {members} trajectories, {N} tokens in R^{d}, rtol {RTOL:g}, atol {ATOL:g}; error of E",
        [
            Contender("SciPy RK45, NumPy", lambda: opponents.scipy_rk45(plain, RTOL, ATOL)),
            Contender("torchdiffeq dopri5, float64", lambda: opponents.torchdiffeq_dopri5(plain, RTOL, ATOL)),
            Contender(
                "torchdiffeq dopri5, float32",
                lambda: opponents.torchdiffeq_dopri5(plain.cast(np.float32), RTOL, ATOL),
            ),
            Contender("dynsim span form, float64", lambda: solved(flow, y64, InSpan(fast())), 3.0),
            Contender("dynsim span form, float32", lambda: solved(flow32, y32, InSpan(fast())), 6.0),
            Contender("dynsim span form, float64, default step cap",
                      lambda: solved(flow, y64, InSpan(Diffrax(rtol=RTOL, atol=ATOL)))),
            Contender("dynsim direct form, float64", lambda: solved(flow, y64, fast())),
        ],
        largest_gap(reference),
        rounds=rounds,
    )  # fmt: skip
    rows += [_against(rows, "dynsim span form, float64", "torchdiffeq dopri5, float64", 4.0)]
    return rows + race(
        f"U = I: {len(few.starts)} of these trajectories",
        [
            Contender("diffrax Tsit5 as is, float64", lambda: opponents.diffrax_as_is(few, RTOL, ATOL)),
            Contender("dynsim span form, float64", lambda: solved(flow, y64[:FEW], InSpan(fast())), 10.0),
        ],
        largest_gap(reference),
        rounds=min(rounds, 3),
    )


def general(members: int, rounds: int, d: int = D) -> list[Row]:
    """Race for the ensemble with two general value matrices, in float32; the reference has fewer members."""
    flow32, y32 = flows(jnp.float32, d)[1], starts(members, jnp.float32, d)
    full = problem(flow32, y32)
    return race(
        f"general U: {members} trajectories, {N} tokens in R^{d}, rtol {RTOL:g}, atol {ATOL:g}; error of E",
        [
            Contender("torchdiffeq dopri5, float32", lambda: opponents.torchdiffeq_dopri5(full, RTOL, ATOL)),
            Contender("dynsim Tsit5, float32", lambda: solved(flow32, y32, fast())),
            Contender("dynsim Dopri5, float32", lambda: solved(flow32, y32, fast(dfx.Dopri5())), 2.0),
        ],
        largest_gap(solved(flows(jnp.float64, d)[1], starts(min(FEW, members), jnp.float64, d), EXACT)[0]),
        rounds=rounds,
    )


def general_in_both_types(rounds: int, d: int = D) -> list[Row]:
    """Race for few members and a short time, in which the large products are nearly all of the work, in both types."""
    flow, y = flows(jnp.float64, d)[1], starts(FEW, jnp.float64, d)
    flow32, y32 = flows(jnp.float32, d)[1], y.astype(jnp.float32)
    plain = problem(flow, y, SHORT)
    third = fast(dfx.Bosh3())  # at these tolerances the third order takes the fewest evaluations
    torch, single = "torchdiffeq dopri5, float64", "dynsim Bosh3, float32"
    rows = race(
        f"general U: {FEW} trajectories, {N} tokens in R^{d}, T = 10, rtol {RTOL:g}, atol {ATOL:g}; error of E",
        [
            Contender("SciPy RK45, NumPy", lambda: opponents.scipy_rk45(plain, RTOL, ATOL)),
            Contender(torch, lambda: opponents.torchdiffeq_dopri5(plain, RTOL, ATOL)),
            Contender("dynsim Tsit5, float64", lambda: solved(flow, y, fast(), SHORT)),
            Contender("dynsim Bosh3, float64", lambda: solved(flow, y, third, SHORT), 1.3),
            Contender(single, lambda: solved(flow32, y32, third, SHORT), 2.2),
        ],
        largest_gap(solved(flow, y, EXACT, SHORT)[0]),
        rounds=rounds,
    )
    return [*rows, _against(rows, "dynsim Bosh3, float64", torch, 1.3), _against(rows, single, torch, 2.2)]


def _against(rows: list[Row], name: str, other: str, aim: float) -> Row:
    """Print and return the ratio of two rows of a race."""
    a, b = (next(row for row in rows if row.name == wanted) for wanted in (name, other))
    row = a._replace(ratio=b.seconds / a.seconds, aim=aim, against=other)
    print(f"{row.name:44s} {'':29s}{row.ratio:6.2f} x {other}  (aim {aim:g})")
    return row


_MEMORY = """
import diffrax, equinox, jax, numpy, optimistix, scipy.integrate
import tests.quality.benchmarks.ensemble as e
import jax.numpy as jnp
from pathlib import Path
jnp.zeros(3).block_until_ready()
Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten
peak = lambda: next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
bare = peak()
flow = e.flows(jnp.{dtype}, {d})[{general}]
e.solved(flow, e.starts({members}, jnp.{dtype}, {d}), {integrator})
print((peak() - bare) / 1024)
"""


def memory(members: int, d: int = D) -> dict[str, float]:
    """Print and return the peak memory above the bare imports, in megabytes, each way in its own process."""
    print(f"\npeak memory above the bare imports, {members} trajectories (aim: at most 500 MB)")
    ways = {
        "span form, float64": {"dtype": "float64", "general": 0, "integrator": "e.InSpan(e.fast())"},
        "span form, float32": {"dtype": "float32", "general": 0, "integrator": "e.InSpan(e.fast())"},
        "general U, float32": {"dtype": "float32", "general": 1, "integrator": "e.fast()"},
    }
    found = {}
    for name, way in ways.items():
        found[name] = float(in_fresh_process(_MEMORY.format(members=members, d=d, **way)).split()[-1])
        print(f"{name:44s} {found[name]:9.0f} MB", flush=True)
    return found
