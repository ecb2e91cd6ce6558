"""Errors in growth, banks, candidates, J* and the reduced loss of prototypes, and what notices them."""

from tests.mutants import Mutant

BOUNDED = "analysis.prototypes.boundedness"
BANK = "analysis.prototypes.bank"
LYAPUNOV = "analysis.prototypes.lyapunov"
HESSIAN, COLLAPSE = "analysis.prototypes.hessian", "analysis.prototypes.collapse"
MANIFOLD = "analysis.prototypes.slow_manifold"

GROWTH = ("prototypes/fact-1/growth",)
BANKS = ("prototypes/claim-separation-monotone/near-collapse",)
DECREASE = ("prototypes/theorem-2-decrease",)

MUTANTS = (
    Mutant("growth: logarithmic time lacks its factor", BOUNDED, "(1 + when).astype(v.dtype) * v", "v", GROWTH),
    Mutant("growth: the factor of logarithmic time is t", BOUNDED, "(1 + when).astype(v.dtype) * v",
           "when.astype(v.dtype) * v", GROWTH),
    Mutant("growth: the field is that at the logarithmic time", BOUNDED, "self.flow.velocity(when, x))",
           "self.flow.velocity(t, x))", GROWTH),
    Mutant("growth: kinks are left out in logarithmic time", BOUNDED,
           "return np.log1p(self.flow.breakpoints(float(np.expm1(t0)), float(np.expm1(t1))))", "return np.empty(0)",
           GROWTH),
    Mutant("growth: kinks are looked for at logarithmic times", BOUNDED,
           "self.flow.breakpoints(float(np.expm1(t0)), float(np.expm1(t1)))", "self.flow.breakpoints(t0, t1)", GROWTH),
    Mutant("growth: times end a decade early", BOUNDED, "10.0 ** np.linspace(-1.0, end,",
           "10.0 ** np.linspace(-2.0, end - 1,", GROWTH),
    Mutant("growth: the law is a square root", BOUNDED, "max(abs(value - 0.25) for value in exponents)",
           "max(abs(value - 0.5) for value in exponents)", GROWTH),
    Mutant("growth: the law needs no barrier alone", BOUNDED,
           "_pushed(flow, final, jnp.asarray(end)) <= ALONE", "_pushed(flow, final, jnp.asarray(end)) > ALONE", GROWTH),
    Mutant("growth: equilibria of any kind are limits", BOUNDED, 'and spectrum(flow, rest, t).kind == "stable"', "",
           GROWTH),
    Mutant("growth: an equilibrium comes before a certificate of a bound", BOUNDED, "if np.isfinite(bound):",
           "if np.isfinite(bound) and not _converges(flow, final, end):", GROWTH),
    Mutant("growth: the constant is that of r^2", BOUNDED, "(last[2] ** 4 - last[1] ** 4)",
           "(last[2] ** 2 - last[1] ** 2)", GROWTH),
    Mutant("growth: each of the others repels as all do", BOUNDED, '(integer("k", k, least=1) - 1)',
           'integer("k", k, least=1)', GROWTH),
    Mutant("growth: radii are those of the nearest prototype", BOUNDED,
           "return jnp.sqrt(jnp.max(jnp.sum((p - jnp.mean(z, axis=0)[None]) ** 2, axis=1)))",
           "return jnp.sqrt(jnp.min(jnp.sum((p - jnp.mean(z, axis=0)[None]) ** 2, axis=1)))", GROWTH),
    Mutant("growth: radii are distances from the origin", BOUNDED,
           "return jnp.sqrt(jnp.max(jnp.sum((p - jnp.mean(z, axis=0)[None]) ** 2, axis=1)))",
           "return jnp.sqrt(jnp.max(jnp.sum(p**2, axis=1)))", GROWTH),
    Mutant("bank: the spread is that of the prototypes about the mean embedding", BANK,
           "(p - jnp.mean(p, axis=0)[None]) ** 2", "(p - jnp.mean(z, axis=0)[None]) ** 2", BANKS),
    Mutant("bank: the spread is summed over prototypes", BANK, "jnp.mean(jnp.sum((p - jnp.mean(p",
           "jnp.sum(jnp.sum((p - jnp.mean(p", BANKS),
    Mutant("bank: the variance is not divided by the number of embeddings", BANK,
           "prototype_variance(z, p, temperature) / z.shape[0],", "prototype_variance(z, p, temperature),", BANKS),
    Mutant("bank: the utilisation ignores its threshold", BANK, "utilisation(q, threshold),", "utilisation(q, 0.01),",
           BANKS),
    Mutant("bank: the threshold is a thousandth", BANK, "temperature: Scalar, threshold: float = 0.01) -> Bank:",
           "temperature: Scalar, threshold: float = 0.001) -> Bank:", BANKS),
    Mutant("bank: the covariance is divided by n - 1", BANK, "return away.T @ away / z.shape[0]",
           "return away.T @ away / (z.shape[0] - 1)", BANKS),
    Mutant("bank: the covariance is about the origin", BANK, "away = z - jnp.mean(z, axis=0)[None]", "away = z", BANKS),
    Mutant("bank: along a trajectory the temperature is the first one", BANK, "flow.temperature(t), threshold)",
           "flow.temperature(ts[0]), threshold)", BANKS),
    Mutant("candidates: the error is that of the trapezoidal rule", LYAPUNOV,
           "weights = (2 - b / a, (a + b) ** 2 / (a * b), 2 - a / b)",
           "weights = (3 * a / (a + b), 3 + 0 * a, 3 * b / (a + b))", DECREASE),
    Mutant("candidates: the quadrature is that for equal steps", LYAPUNOV,
           "weights = (2 - b / a, (a + b) ** 2 / (a * b), 2 - a / b)", "weights = (1.0, 4.0, 1.0)", DECREASE),
    Mutant("candidates: the rise is the change from first to last", LYAPUNOV, "float(np.max(np.diff(values)))",
           "float(values[-1] - values[0])", DECREASE),
    Mutant("candidates: a rise within the error is an increase", LYAPUNOV, "return self.rise > self.error",
           "return self.rise < self.error", DECREASE),
    Mutant("hessian: J* has the rates of its columns", HESSIAN, "return _rates(flow, blocks)[:, None] * blocks.matrix",
           "return blocks.matrix * _rates(flow, blocks)", ("prototypes/proposition-3-sufficient",)),
    Mutant("hessian: (14) holds above its bound", HESSIAN, "return self.ratio < self.bound",
           "return self.ratio > self.bound", ("prototypes/proposition-3-sufficient",)),
    Mutant("collapse: the index counts splitting eigenvalues once", COLLAPSE, "return int(np.sum(self.values < 0))",
           "return int(np.sum(self.splitting < 0))", ("prototypes/claim-collapse-saddle/corrected",)),
    Mutant("slow manifold: the reduced loss is that at the prototypes given", MANIFOLD,
           "return float(flow.potential(0.0, Coupled(encoder, _at_rest(flow, encoder, start))))",
           "return float(flow.potential(0.0, Coupled(encoder, start)))", ("prototypes/appendix-a-7/corrected",)),
    Mutant("readout: the entropy of heads is that of the next", "dynsim.networks.prototypes.layer",
           "return jax.vmap(entropy)(self.assignments(z, temperature))",
           "return jax.vmap(entropy)(self.assignments(z, temperature)[::-1])",
           ("prototypes/claim-multihead/corrected",)),
)  # fmt: skip
