"""Errors in master equations and the analysis of chains, and the claims and tests that notice them."""

from tests.mutants import Mutant

FLOW = "dynsim.systems.master_equation.flow"
GENERATORS = "dynsim.systems.master_equation.generators"
CHECKS = "dynsim.systems.master_equation.checks"
RATES = "dynsim.systems.master_equation.rates"
CHAINS = "analysis.chains."
KERNEL = "multirate/theorem-28-i"
UNIQUE = "multirate/theorem-28-ii"
RELAXES = "multirate/theorem-28-iii-flow"
INTEGRATED = "multirate/theorem-28-iii-flow/integrated"
SUMMARY = "multirate/remark-32/irreducible"
EULER = "multirate/theorem-28-iii-euler"
H_THEOREM = "multirate/claim-h-theorem"
STRICT = "multirate/claim-h-theorem/irreducible"
CONTRACTS = "multirate/remark-25-norm-constraints/corrected"
MINIMUM = "multirate/corollary-29/divergence"
EQUILIBRIUM = "multirate/claim-qss-equals-stationary/irreducible"

MUTANTS = (
    Mutant(
        "chains: the generator is transposed in the flow",
        FLOW,
        "return p @ self.generator(t)[0].astype(p.dtype).T",
        "return p @ self.generator(t)[0].astype(p.dtype)",
        (KERNEL, EQUILIBRIUM, STRICT),
    ),
    Mutant(
        "chains: the flow applies the transposed generator, and its trajectories",
        FLOW,
        "return p @ self.generator(t)[0].astype(p.dtype).T",
        "return p @ self.generator(t)[0].astype(p.dtype)",
        (RELAXES, INTEGRATED, CONTRACTS),
    ),
    Mutant(
        "chains: a sparse generator is transposed in the flow",
        RATES,
        "return jnp.moveaxis(sums, 0, -1)",
        "return jnp.moveaxis(jax.ops.segment_sum(jnp.moveaxis(p, -1, 0)[self.rows] "
        "* self.values.reshape(-1, *(1,) * (p.ndim - 1)), self.columns, self.size), 0, -1)",
        (RELAXES,),
    ),
    Mutant(
        "chains: the generator is transposed in the Euler map",
        FLOW,
        "return p + self.step_size * (self.matrix() @ p.T).T",
        "return p + self.step_size * (p @ self.matrix())",
        (KERNEL, EULER, EQUILIBRIUM, SUMMARY),
    ),
    Mutant(
        "chains: the Euler map forgets its step size",
        FLOW,
        "return p + self.step_size * (self.matrix() @ p.T).T",
        "return p + (self.matrix() @ p.T).T",
        (EULER,),
    ),
    Mutant(
        "chains: the step bound is that of the slowest state",
        FLOW,
        "fastest = np.max(exit_rates(generator))",
        "fastest = np.min(exit_rates(generator))",
        (EULER, SUMMARY),
    ),
    Mutant(
        "chains: a step beyond the bound is accepted",
        FLOW,
        "if self.step_size > bound:",
        "if self.step_size > 2 * bound:",
        (EULER,),
    ),
    Mutant(
        "chains: the exponential from a later time counts that time",
        CHAINS + "integrator",
        "times - times[0]",
        "times",
        (RELAXES,),
    ),
    Mutant(
        "chains: the dense exponential is transposed",
        CHAINS + "dense_exponential",
        "    return P, EPSILON",
        "    return P.T, EPSILON",
        (RELAXES,),
    ),
    Mutant(
        "chains: the dense exponential squares once too few",
        CHAINS + "dense_exponential",
        "for _ in range(squarings):",
        "for _ in range(squarings - 1):",
        (RELAXES,),
    ),
    Mutant(
        "chains: uniformisation keeps the transposed matrix",
        CHAINS + "polynomial_exponential",
        "now = stay @ now\n",
        "now = stay.T @ now\n",
        (RELAXES,),
    ),
    Mutant(
        "chains: Poisson weights are off by one",
        CHAINS + "polynomial_exponential",
        "steps = np.log(mean / np.arange(1, terms))",
        "steps = np.log(mean / np.arange(2, terms + 1))",
        (RELAXES,),
    ),
    Mutant(
        "chains: the first Chebyshev coefficient is doubled",
        CHAINS + "polynomial_exponential",
        "    series[:, 0] /= 2\n",
        "",
        (RELAXES,),
    ),
    Mutant(
        "chains: births and deaths are exchanged in the rational exponential",
        CHAINS + "rational_exponential",
        "np.asarray(generator.diagonal(-1), float), np.asarray(generator.diagonal(1), float)",
        "np.asarray(generator.diagonal(1), float), np.asarray(generator.diagonal(-1), float)",
        (RELAXES,),
    ),
    Mutant(
        "chains: sources are taken for closed classes",
        CHAINS + "classes",
        "left = np.unique(labels[begin[labels[begin] != labels[end]]])",
        "left = np.unique(labels[end[labels[begin] != labels[end]]])",
        (KERNEL,),
    ),
    Mutant(
        "chains: the period is off by one edge",
        CHAINS + "classes",
        "level[begin] + 1 - level[end]",
        "level[begin] - level[end]",
        (EULER,),
    ),
    Mutant(
        "chains: elimination by rows",
        CHAINS + "elimination",
        "share, inflow = R[:n, n] / exit_rate[n], R[n, :n]",
        "share, inflow = R[n, :n] / exit_rate[n], R[:n, n]",
        (UNIQUE,),
    ),
    Mutant(
        "chains: elimination substitutes back with the exit rate of the state before",
        CHAINS + "elimination",
        "p[n] = (R[n, :n] * p[:n]).sum() / exit_rate[n]",
        "p[n] = (R[n, :n] * p[:n]).sum() / exit_rate[n - 1]",
        (UNIQUE,),
    ),
    Mutant(
        "chains: the factorisation fixes a probability on the wrong side",
        CHAINS + "elimination",
        "x[free] = solve(Q[free][:, [fixed]].toarray()[:, 0])",
        "x[free] = solve(Q[[fixed]][:, free].toarray()[0])",
        equivalent="two steps of iterative refinement follow, from residuals of Q",
    ),
    Mutant(
        "chains: the factorisation is that of the transpose",
        CHAINS + "elimination",
        "solve = lu_factors(scipy.sparse.csc_array(-Q[free][:, free])).solve",
        "solve = lu_factors(scipy.sparse.csc_array(-Q.T[free][:, free])).solve",
        (UNIQUE,),
    ),
    Mutant(
        "chains: the tree weighs states by their exit, not their entry",
        CHAINS + "reversibility",
        "weights = self.log_weights - np.max(self.log_weights)",
        "weights = np.max(self.log_weights) - self.log_weights",
        (UNIQUE,),
    ),
    Mutant(
        "chains: absorption forgets where transient states begin",
        CHAINS + "stationary",
        "inside = [p[classes.states(c)].sum() for c in range(classes.num_closed)]",
        "inside = [p[classes.states(c)].sum() * 0 for c in range(classes.num_closed)]",
        (KERNEL,),
    ),
    Mutant(
        "chains: the spectral gap is that of the fastest mode",
        CHAINS + "spectra",
        "slowest = order[np.argmax(values[order].real)]\n    angle",
        "slowest = order[np.argmin(values[order].real)]\n    angle",
        (RELAXES,),
    ),
    Mutant(
        "chains: the largest convergent step is halved",
        CHAINS + "spectra",
        "return EulerBounds(bound, 2 * _least_ratio(Q, closed), at_bound)",
        "return EulerBounds(bound, _least_ratio(Q, closed), at_bound)",
        (EULER,),
    ),
    Mutant(
        "chains: the mixing time takes the distance without its half",
        CHAINS + "mixing",
        "np.asarray(q, float)), axis=-1) / 2",
        "np.asarray(q, float)), axis=-1)",
        (RELAXES, MINIMUM),
    ),
    Mutant(
        "chains: columns that do not sum to zero are accepted",
        CHECKS,
        "bad = np.flatnonzero(abs(sums) > allowed)\n    if bad.size:\n        j = bad[0]",
        "bad = np.flatnonzero(abs(sums) > 1 + allowed)\n    if bad.size:\n        j = bad[0]",
        (KERNEL,),
    ),
    Mutant(
        "chains: negative rates are accepted",
        CHECKS,
        "bad = np.flatnonzero((rows != columns) & (values < 0))",
        "bad = np.flatnonzero((rows == columns) & (values < 0) & False)",
        (KERNEL,),
    ),
    Mutant(
        "chains: the diagonal of rates that depend on y is the sum of a row",
        RATES,
        "return (R - jnp.diag(jnp.sum(R, axis=0)))[None]",
        "return (R - jnp.diag(jnp.sum(R, axis=1)))[None]",
        (EQUILIBRIUM,),
    ),
    Mutant(
        "chains: the temperature of a walk is inverted",
        GENERATORS,
        "drop = (V.flat[low] - V.flat[high]) / (2 * temperature)",
        "drop = (V.flat[low] - V.flat[high]) * temperature / 2",
        (UNIQUE,),
    ),
    Mutant(
        "chains: a walk climbs its potential",
        GENERATORS,
        "values = rate * np.exp(np.concatenate([drop, -drop]))",
        "values = rate * np.exp(np.concatenate([-drop, drop]))",
        (UNIQUE,),
    ),
    Mutant(
        "chains: a walk takes the whole drop of the potential",
        GENERATORS,
        "drop = (V.flat[low] - V.flat[high]) / (2 * temperature)",
        "drop = (V.flat[low] - V.flat[high]) / temperature",
        (UNIQUE,),
    ),
    Mutant(
        "chains: exact births and deaths are exchanged",
        GENERATORS,
        'R[np.arange(1, k), np.arange(k - 1)] = rationals("birth", up)\n'
        '        R[np.arange(k - 1), np.arange(1, k)] = rationals("death", down)',
        'R[np.arange(k - 1), np.arange(1, k)] = rationals("birth", up)\n'
        '        R[np.arange(1, k), np.arange(k - 1)] = rationals("death", down)',
        (UNIQUE,),
    ),
    Mutant(
        "chains: the dissipation exchanges source and target",
        CHAINS + "entropies",
        "_excess(relative[i], relative[j])",
        "_excess(relative[j], relative[i])",
        (H_THEOREM, STRICT),
    ),
    Mutant(
        "chains: the dissipation is that of the chi-square distance",
        CHAINS + "entropies",
        "far = y - np.where(y < -0.5, np.log(top / bottom), np.log1p(y))",
        "far = y**2 / 2 + 0 * np.log(np.where(y > -1, 1 + y, 0.0))",
        (STRICT,),
    ),
    Mutant(
        "chains: the Krylov exponential inverts with the transposed generator",
        CHAINS + "krylov_exponential",
        "self.solve = lu_factors(scipy.sparse.csc_array(scipy.sparse.eye_array(len(start)) - shift * S)).solve",
        "self.solve = lu_factors(scipy.sparse.csc_array(scipy.sparse.eye_array(len(start)) - shift * S.T)).solve",
        (RELAXES,),
    ),
    Mutant(
        "chains: the Krylov exponential forgets its shift",
        CHAINS + "krylov_exponential",
        "H, times = self.H[:m, :m], ts / self.shift",
        "H, times = self.H[:m, :m], ts",
        (RELAXES,),
    ),
    Mutant(
        "chains: the gap of the reversibilisation is doubled",
        CHAINS + "spectra",
        "return _symmetric(_symmetrised(Q, stationary), 1).value",
        "return 2 * _symmetric(_symmetrised(Q, stationary), 1).value",
        (RELAXES,),
    ),
    Mutant(
        "chains: the mixing bound takes the gap for the relaxation time",
        CHAINS + "mixing",
        "lower = math.log(1 / (2 * distance)) / gap if",
        "lower = math.log(1 / distance) / gap if",
        (RELAXES,),
    ),
    Mutant(
        "chains: inverse iteration shifts to the wrong side",
        CHAINS + "elimination",
        "moved = x + solve((exact @ x.astype(np.longdouble)).astype(float))",
        "moved = x - solve((exact @ x.astype(np.longdouble)).astype(float)) / 2",
        (UNIQUE,),
    ),
    Mutant(
        "chains: a mass that is not one is accepted",
        CHECKS,
        "if abs(p.sum() - 1) > (0 if p.dtype == object else tolerance):",
        "if abs(p.sum() - 1) > (0 if p.dtype == object else 1):",
        (RELAXES,),
    ),
    Mutant(
        "chains: sparse births and deaths are exchanged",
        GENERATORS,
        "scipy.sparse.diags_array([up, down], offsets=[-1, 1], shape=(k, k))",
        "scipy.sparse.diags_array([up, down], offsets=[1, -1], shape=(k, k))",
        (UNIQUE,),
    ),
    Mutant(
        "chains: the Euler map of a batch mixes its distributions",
        FLOW,
        "return p + self.step_size * (self.matrix() @ p.T).T",
        "return p + self.step_size * (self.matrix() @ p)",
        (EULER, EQUILIBRIUM),
    ),
    Mutant(
        "chains: absorption counts transitions among transient states",
        CHAINS + "stationary",
        "leaves = (classes.labels[columns] >= classes.num_closed) & (rows != columns)",
        "leaves = (classes.labels[columns] < classes.num_closed) & (rows != columns)",
        (KERNEL,),
    ),
    Mutant(
        "chains: the spectral gap leaves out one eigenvalue, whatever the number of closed classes",
        CHAINS + "spectra",
        "order = np.argsort(abs(values))[closed:]\n    slowest = order[np.argmax(values[order].real)]\n    angle",
        "order = np.argsort(abs(values))[1:]\n    slowest = order[np.argmax(values[order].real)]\n    angle",
        (KERNEL,),
    ),
    Mutant(
        "chains: rates from a state to itself are accepted",
        GENERATORS,
        "bad = np.flatnonzero((values < 0) | (rows == columns))",
        "bad = np.flatnonzero(values < 0)",
        (UNIQUE,),
    ),
    Mutant(
        "chains: the residual is looked at in states of large flux only",
        CHAINS + "stationary",
        "through = flux > 0\n    if",
        "through = flux > 1\n    if",
        tests=("tests/test_chains.py::test_the_residual_is_relative_to_the_flux_whatever_the_unit_of_time",),
    ),
    Mutant(
        "chains: the error of an eigenvalue is not that of its equation",
        CHAINS + "spectra",
        "Q @ v - values[slowest] * v",
        "Q @ v - values[slowest]",
        tests=("tests/test_chains.py::test_gaps_of_a_line_a_cycle_and_a_reducible_chain",),
    ),
    Mutant(
        "chains: the spectral gap is that of the eigenvalue nearest to zero",
        "analysis.chains.spectra",
        "    slowest = order[np.argmax(values[order].real)]\n    angle",
        "    slowest = order[0]\n    angle",
        ("multirate/theorem-28-iii-flow",),
    ),
)
