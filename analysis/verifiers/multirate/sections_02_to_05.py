"""Verifiers of refuted statements of Sections 2 to 5 of "Attention is just another name for coupling?"."""

import math
from fractions import Fraction

from analysis.verifiers.frames.script import verifies


def invariant_graph(A, phi, graph, rate, epsilon):
    """Yield the checks that the coefficients of a graph make it invariant, and that it is near that of phi."""
    (a, b), (c, d) = A
    inverse = max(abs(d) + abs(b), abs(c) + abs(a)) / abs(a * d - b * c)
    small = 2 * epsilon * abs(rate) * len(phi) * inverse
    yield "2 epsilon |lambda| j |A^-1|, at most 1", float(small), epsilon > 0 and small <= 1
    for j, (k, v) in enumerate(zip(graph, phi, strict=True), 1):
        gap = [p - q for p, q in zip(k, v, strict=True)]
        image = [a * gap[0] + b * gap[1], c * gap[0] + d * gap[1]]
        residual = [epsilon * rate * j * p - q for p, q in zip(k, image, strict=True)]
        yield f"the graph is invariant: residual of the coefficient {j}", [*map(str, residual)], not any(residual)
        bound = 2 * epsilon * abs(rate) * j * inverse * max(map(abs, v))
        yield f"|k_{j} - b_{j}| and its bound", (float(max(map(abs, gap))), float(bound)), max(map(abs, gap)) <= bound


@verifies(
    "multirate/proposition-19",
    {
        "width": 128,
        "width of keys and values": 64,
        "width of the MLP": 512,
        "N": 256,
        "P": 8,
        "layers": {"L_pre": 1, "R": 1, "L_post": 2, "L_slow": 1},
    },
)
def proposition_19(witness):
    """Printed: the cost in fast layers, attention layers on all N tokens, is C = L_pre + R (L_post + L_slow / P^2),
    (20), each slow layer on N / P pooled tokens costing 1 / P^2 of a fast layer.

    Instance: layers of the kind of Section 3 (grouped queries, output projection, MLP). A layer on n tokens needs w(n)
    = A n + B n^2 multiplications, A > 0 for the matrices applied to each token and B > 0 for the scores and the sums of
    values. Then w(N / P) = A N / P + B N^2 / P^2 > w(N) / P^2 for P >= 2. (Only the scores have the factor 1 / P^2. The
    projector of the injection, which (20) leaves out, is not counted here either.)
    """
    d, kv, m = (witness[name] for name in ("width", "width of keys and values", "width of the MLP"))
    N, P, layers = witness["N"], witness["P"], witness["layers"]
    yield "widths are positive", (d, kv, m), min(d, kv, m) > 0
    yield (
        "P divides N, P >= 2, and there is a slow layer",
        (N, P),
        N % P == 0 and P >= 2 and layers["R"] * layers["L_slow"] > 0,
    )
    A = 2 * d * d + 2 * d * kv + 2 * d * m  # queries and outputs, keys and values, MLP
    B = 2 * d  # scores, sums of values
    w = lambda n: A * n + B * n * n
    share = Fraction(w(N // P), w(N))
    yield (
        "a slow layer in fast layers, and 1 / P^2",
        (float(share), float(Fraction(1, P * P))),
        share > Fraction(1, P * P),
    )
    cost = lambda slow: layers["L_pre"] + layers["R"] * (layers["L_post"] + layers["L_slow"] * slow)
    counted, printed = cost(share), cost(Fraction(1, P * P))
    yield "the cost counted and the cost by (20)", (float(counted), float(printed)), counted != printed


SCALE = 10**40


def plus(u, v, factor=1):
    """Bounds of u + factor v, intervals being pairs of ends."""
    ends = sorted([factor * v[0], factor * v[1]])
    return u[0] + ends[0], u[1] + ends[1]


def times(u, v):
    """Bounds of a product."""
    ends = [a * b for a in u for b in v]
    return min(ends), max(ends)


def normalised_number(x, epsilon):
    """Bounds of R(x) = x / sqrt(x^2 + epsilon), which increases, from its bounds at the ends."""
    found = []
    for v in x:
        below = math.isqrt(math.floor((v * v + epsilon) * SCALE**2))
        found += [v * SCALE / below, v * SCALE / (below + 1)]
    return min(found), max(found)


def layer(x, w, epsilon):
    """Bounds of G(x)."""
    first, second = (normalised_number(v, epsilon) for v in x)
    return [plus(x[0], first, w), plus(x[1], plus(first, second), w / 2)]


def secant(x, w, epsilon, tokens):
    """Bounds of token 1 after the secant step, with inner products over the first `tokens` tokens."""
    x1 = layer(x, w, epsilon)
    x2 = layer(x1, w, epsilon)
    r0, r1 = ([plus(a, b, -1) for a, b in zip(*pair, strict=True)] for pair in ((x1, x), (x2, x1)))
    change = [plus(a, b, -1) for a, b in zip(r1, r0, strict=True)][:tokens]
    sums = [
        [sum(times(a, b)[k] for a, b in zip(u, change, strict=True)) for k in (0, 1)] for u in (r1[:tokens], change)
    ]
    theta = times(sums[0], (1 / sums[1][1], 1 / sums[1][0]))  # the denominator is positive: checked by its own bounds
    return sums[1][0], plus(x2[0], times(theta, plus(x2[0], x1[0], -1)), -1)


@verifies(
    "multirate/proposition-21/secant-over-the-sequence",
    {"token 1": "1", "token 2": "2", "other token 2": "-1", "w": "1/2", "epsilon": "1/4", "span": "sequence"},
)
def proposition_21_secant_over_the_sequence(witness):
    """Verify an instance that refutes a reading of Section 11.3 of "Attention is just another name for coupling?".

    Printed: the two-point secant method accelerates the passes of Post; by Proposition 21 perturbing an input token
    does not change any logit at earlier positions. Read: with one coefficient theta = <r_1, r_1 - r_0> / |r_1 - r_0|^2,
    r_m = G(x_m) - x_m, whose inner products sum over all tokens of the sequence. (With a coefficient for each token it
    holds.)

    Instance: two tokens of width 1 and Post a layer of causal attention with zero queries and W_o W_v = w: G(x)_1 = x_1
    + w R(x_1), G(x)_2 = x_2 + w (R(x_1) + R(x_2)) / 2, R(x) = x / sqrt(x^2 + epsilon). After x_1 = G(x_0) the secant
    gives x_2 = G(x_1) - theta (G(x_1) - G(x_0)). Token 1 of x_2 is enclosed in rational intervals, square roots by
    integer square roots, for two values of token 2; the intervals are disjoint. Head and final norm of width 1 are
    injective.
    """
    read = lambda name: Fraction(witness[name])
    w, epsilon, first = read("w"), read("epsilon"), read("token 1")
    yield "epsilon > 0 and token 2 differs", epsilon, epsilon > 0 and read("token 2") != read("other token 2")
    yield "one coefficient for the sequence", witness["span"], witness["span"] == "sequence"
    tokens = 2 if witness["span"] == "sequence" else 1
    found = []
    for name in ("token 2", "other token 2"):
        least, end = secant([(first, first), (read(name), read(name))], w, epsilon, tokens)
        yield (
            f"{name}: |r_1 - r_0|^2, and token 1 after the step",
            (float(least), float(end[0])),
            (least > 0 and end[1] - end[0] < Fraction(1, 10**20)),
        )
        found.append(end)
    gap = max(found[0][0] - found[1][1], found[1][0] - found[0][1])
    yield "token 1 differs by at least", float(gap), gap > 0


DIGITS = 10**30


def root(low, high):
    """Bounds of the square root on [low, high]."""
    below = math.isqrt(math.floor(low * DIGITS**2))
    return Fraction(below, DIGITS), Fraction(math.isqrt(math.ceil(high * DIGITS**2)) + 1, DIGITS)


def square(v):
    """Bounds of the square of the numbers in an interval."""
    ends = sorted([v[0] * v[0], v[1] * v[1]])
    return (Fraction(0) if v[0] < 0 < v[1] else ends[0]), ends[1]


def normalised(v, epsilon):
    """Bounds of RMSNorm of a plane vector of intervals."""
    squares = [square(c) for c in v]
    low, high = root(*(sum(s[k] for s in squares) / 2 + epsilon for k in (0, 1)))
    return [(min(c[0] / low, c[0] / high), max(c[1] / low, c[1] / high)) for c in v]


def logits(tokens, mask, epsilon):
    """Bounds of the logits at token 2."""
    plus = lambda u, v: [(a[0] + b[0], a[1] + b[1]) for a, b in zip(u, v, strict=True)]
    pooled = [[((a + b) / 2,) * 2 for a, b in zip(tokens[k], tokens[k + 1], strict=True)] for k in (0, 2, 4)]
    seen = [normalised(p, epsilon) for p in pooled[: 3 if mask == "full" else 1]]
    mean = [(sum(p[k][0] for p in seen) / len(seen), sum(p[k][1] for p in seen) / len(seen)) for k in (0, 1)]
    context = plus(pooled[0], mean)
    return normalised(plus([(v, v) for v in tokens[2]], normalised(context, epsilon)), epsilon)


@verifies(
    "multirate/proposition-21-full-slow",
    {
        "tokens": [["1", "0"], ["0", "1"], ["1", "1"], ["2", "-1"], ["1", "2"], ["0", "3"]],
        "other token 5": ["0", "-3"],
        "slow mask": "full",
        "epsilon": "1/100000",
    },
)
def proposition_21_full_slow(witness):
    """Verify an instance that refutes causality with full slow attention in "Attention is just another name for
    coupling?".

    Printed: the slow path is full attention over the pooled tokens (abstract, Section 3.2), and by Proposition 21
    perturbing an input token does not change any logit at earlier positions. (The proof of the proposition uses a
    causal slow mask, with which it holds.)

    Instance: six tokens of width 2, P = 2, one round, one slow layer with zero queries (uniform weights), value and
    output matrices I, gate and projector 1; all other layers are the identity (zero output matrices), and so is the
    head. Token 2 reads the slow state of block 0, which with full attention contains the mean of the normalised pooled
    tokens of all blocks: it depends on token 5. With RMSNorm(v) = v / sqrt(|v|^2 / 2 + epsilon) the logits at token 2
    are enclosed in rational intervals, square roots by integer square roots, for two values of token 5; the intervals
    are disjoint.
    """
    tokens = [[Fraction(v) for v in row] for row in witness["tokens"]]
    other = [*tokens[:5], [Fraction(v) for v in witness["other token 5"]]]
    yield "the slow attention has no mask", witness["slow mask"], witness["slow mask"] == "full"
    yield "token 5 differs", (witness["tokens"][5], witness["other token 5"]), tokens[5] != other[5]
    epsilon = Fraction(witness["epsilon"])
    first, second = (logits(x, witness["slow mask"], epsilon) for x in (tokens, other))
    for name, found in (("first", first), ("other", second)):
        width = max(b - a for a, b in found)
        yield (
            f"logits at token 2, {name} token 5, up to {float(width):.0e}",
            [float(a) for a, _ in found],
            width < Fraction(1, 10**20),
        )
    gap = max(max(a[0] - b[1], b[0] - a[1]) for a, b in zip(first, second, strict=True))
    yield "they differ by at least", float(gap), gap > 0


@verifies(
    "multirate/remark-24-rmsnorm/gain",
    {"gain": ["1", "1", "5/4", "1"], "context": ["0", "0", "7", "0"], "epsilon": "1/100000"},
)
def remark_24_rmsnorm_gain(witness):
    """Verify an instance that refutes a reading of Remark 24 of "Attention is just another name for coupling?".

    Printed: the RMSNorm already in the injection path bounds the context to the norm sqrt(d). Read for RMSNorm with a
    trained gain g, c -> g c / sqrt(mean(c^2) + epsilon). (Without a gain, as at the start of training, the bound
    holds.)

    Instance: a context along a coordinate whose gain is greater than one.
    """
    gain, c = ([Fraction(v) for v in witness[name]] for name in ("gain", "context"))
    epsilon, d = Fraction(witness["epsilon"]), len(c)
    yield "epsilon > 0", epsilon, epsilon > 0
    square = sum((g * v) ** 2 for g, v in zip(gain, c, strict=True)) / (sum(v * v for v in c) / d + epsilon)
    yield f"the squared norm after RMSNorm, more than d = {d}", float(square), square > d


@verifies(
    "multirate/remark-25-norm-constraints",
    {
        "S": ["-1", "1", "2"],
        "x": ["11/15", "2/3", "2/15"],
        "z": ["1", "0", "0"],
        "M": [["1/2", "1/2", "0"], ["1/4", "1/4", "1/2"], ["1/4", "1/4", "1/2"]],
    },
)
def remark_25_norm_constraints(witness):
    """Verify instances that refute a sentence of Remark 25 of "Attention is just another name for coupling?".

    Printed: norm constraints (a state on a sphere, a doubly stochastic matrix) keep the fast subsystem bounded and
    contractive. Read: the distance of any two states decreases. (They keep it bounded.)

    Instance 1: x' = (I - x x^T) S x on the unit sphere, S diagonal, at two states x and z near e_1 or equal to it, an
    unstable equilibrium: they move apart.
    Instance 2: x' = M x - x with M doubly stochastic. M maps (1, ..., 1) to itself, so that two states that differ by
    it keep their distance for all times.
    """
    S, x, z = ([Fraction(v) for v in witness[name]] for name in ("S", "x", "z"))
    velocities = []
    for name, y in (("x", x), ("z", z)):
        norm, q = sum(v * v for v in y), sum(s * v * v for s, v in zip(S, y, strict=True))
        yield f"{name} is on the unit sphere", norm, norm == 1
        velocities.append([(s - q) * v for s, v in zip(S, y, strict=True)])
        along = sum(v * f for v, f in zip(y, velocities[-1], strict=True))
        yield f"the constraint is kept: {name}.{name}'", along, along == 0
    gap, change = ([a - b for a, b in zip(*pair, strict=True)] for pair in ((x, z), velocities))
    growth = 2 * sum(a * b for a, b in zip(gap, change, strict=True))
    yield "they differ, and do not approach each other: (d/dt) |x - z|^2", growth, any(gap) and growth >= 0
    M = [[Fraction(v) for v in row] for row in witness["M"]]
    sums = [str(sum(row)) for row in M] + [str(sum(column)) for column in zip(*M, strict=True)]
    least = min(map(min, M))
    yield "M is doubly stochastic: sums of rows and columns", sums, {*sums} == {"1"} and least >= 0
    rate = [sum(row) - 1 for row in M]
    yield "derivative of a difference (1, ..., 1)", [*map(str, rate)], not any(rate)


@verifies(
    "multirate/claim-euler-step",
    {
        "W": [["1", "0", "0", "0"], ["0", "1", "0", "0"], ["1/2", "0", "1", "0"], ["0", "0", "0", "1"]],
        "tokens": [["0", "0", "3", "4"], ["1", "1", "1", "1"], ["3", "4", "0", "0"]],
        "norms": ["5", "2", "5"],
        "p": ["2", "8", "0", "0"],
        "norm of the last token and p": "13",
    },
)
def claim_euler_step(witness):
    """Verify an instance that refutes a claim of Section 2.2 of "Attention is just another name for coupling?".

    Printed: the full fast update is one forward-Euler step, (2), of two additive terms: the attention and MLP layers
    are the state-dependent dynamics, the gated injection is the slow forcing, the only place where the slow context
    enters. Read: a round maps x to x + F(x) + alpha proj(c), with x + F(x) = Post(x) for alpha = 0.

    Instance: P = 2, three tokens, and Post a layer of causal attention with zero queries: token i is moved by the mean
    of W RMSNorm(x_j), j <= i, with W = W_o W_v and RMSNorm(x) = x sqrt(d) / |x| without epsilon. Only the last token,
    of the second block, gets an injected term p = alpha proj(c). By (15) and (16) Post acts on the state after the
    injection, so that the round differs from the sum by W (RMSNorm(x_3 + p) - RMSNorm(x_3)) / 3 at the last token. This
    is not zero, and it depends on the slow context. (The round is a splitting: a step of length alpha of the forcing,
    then those of the layers.) The norms of the instance are rational.
    """
    W, tokens = ([[Fraction(v) for v in row] for row in witness[name]] for name in ("W", "tokens"))
    p, norms = ([Fraction(v) for v in witness[name]] for name in ("p", "norms"))
    injected = [*tokens[:2], [a + b for a, b in zip(tokens[2], p, strict=True)]]
    later = [*norms[:2], Fraction(witness["norm of the last token and p"])]
    yield "three tokens of width d = 4, so that sqrt(d) = 2", (len(tokens), len(p)), len(tokens) == 3 and len(p) == 4
    for name, rows, sizes in (("x", tokens, norms), ("x + p", injected, later)):
        squares = [sum(v * v for v in row) for row in rows]
        fact = squares == [s * s for s in sizes] and min(sizes) > 0
        yield f"squared norms of the tokens {name}", [*map(str, squares)], fact

    def post(rows, sizes):
        mean = [sum(2 * row[k] / s for row, s in zip(rows, sizes, strict=True)) / 3 for k in range(4)]
        return [v + sum(a * m for a, m in zip(row, mean, strict=True)) for v, row in zip(rows[2], W, strict=True)]

    after, added = post(injected, later), [v + q for v, q in zip(post(tokens, norms), p, strict=True)]
    gap = [a - b for a, b in zip(after, added, strict=True)]
    yield "the last token after the round less the sum x + F(x) + alpha proj(c)", [*map(str, gap)], any(gap)


@verifies(
    "multirate/remark-25-hyperbolicity",
    {
        "A": [["1", "0"], ["0", "2"]],
        "phi": [["2", "1"], ["0", "1"], ["1", "0"]],
        "lambda": "-1/2",
        "epsilon": "1/10",
        "graph": [["40/21", "40/41"], ["0", "20/21"], ["20/23", "0"]],
    },
)
def remark_25_hyperbolicity(witness):
    """Verify an instance that refutes a sentence of Remark 25 of "Attention is just another name for coupling?".

    Printed: Fenichel's theorem requires normal hyperbolicity, the fast dynamics must be contractive transverse to the
    slow manifold, for it to persist under perturbation. (Fenichel's theorem requires that no transverse eigenvalue has
    real part zero. Contraction is what makes the manifold attracting.)

    Instance: epsilon x' = A (x - phi(y)), y' = lambda y, with x in the plane and a polynomial phi(y) = sum_j b_j y^j. A
    is regular, and the fast dynamics is not contractive.

    The graph x = sum_j k_j y^j is invariant if and only if epsilon lambda j k_j = A (k_j - b_j) for all j. For all
    epsilon with 2 epsilon |lambda| j |A^-1| <= 1 (norms: largest absolute row sums) there is one, by Neumann's series,
    with |k_j| <= 2 |b_j|, so that |k_j - b_j| = |epsilon lambda j A^-1 k_j| <= 2 epsilon |lambda| j |A^-1| |b_j|: the
    critical manifold x = phi(y) persists.
    """
    A, phi, graph = ([[Fraction(v) for v in row] for row in witness[name]] for name in ("A", "phi", "graph"))
    rate, epsilon = Fraction(witness["lambda"]), Fraction(witness["epsilon"])
    (a, b), (c, d) = A
    determinant, trace = a * d - b * c, a + d
    contracts = determinant > 0 > trace
    yield "the fast dynamics is not contractive: det A and tr A", (str(determinant), str(trace)), not contracts
    yield from invariant_graph(A, phi, graph, rate, epsilon)


@verifies(
    "multirate/remark-25-necessary",
    {
        "A": [["-1", "0"], ["0", "-2"]],
        "phi": [["2", "1"], ["0", "1"], ["1", "0"]],
        "lambda": "-1/2",
        "epsilon": "1/10",
        "graph": [["40/19", "40/39"], ["0", "20/19"], ["20/17", "0"]],
    },
)
def remark_25_necessary(witness):
    """Verify an instance that refutes a sentence of Remark 25 of "Attention is just another name for coupling?".

    Printed: norm constraints are necessary for a well-posed fast-slow reduction. Read: without a bound of the norm of
    the fast state, there is no unique and attracting quasi-steady state for each y, or there is no slow manifold within
    O(epsilon) of the critical manifold.

    Instance: epsilon x' = A (x - phi(y)), y' = lambda y, with x in the plane and a polynomial phi(y) = sum_j b_j y^j.
    There is no constraint. All eigenvalues of A have negative real part, so that for each y the quasi-steady state x =
    phi(y) is unique and attracts; y follows the reduced flow.

    The graph x = sum_j k_j y^j is invariant if and only if epsilon lambda j k_j = A (k_j - b_j) for all j. For all
    epsilon with 2 epsilon |lambda| j |A^-1| <= 1 (norms: largest absolute row sums) there is one, by Neumann's series,
    with |k_j| <= 2 |b_j|, so that |k_j - b_j| = |epsilon lambda j A^-1 k_j| <= 2 epsilon |lambda| j |A^-1| |b_j|: the
    slow manifold is within O(epsilon) of the critical one. Its states are unbounded.
    """
    A, phi, graph = ([[Fraction(v) for v in row] for row in witness[name]] for name in ("A", "phi", "graph"))
    rate, epsilon = Fraction(witness["lambda"]), Fraction(witness["epsilon"])
    (a, b), (c, d) = A
    determinant, trace = a * d - b * c, a + d
    contracts = determinant > 0 > trace
    yield (
        "x = phi(y) is the only quasi-steady state, and attracts: det A and tr A",
        (str(determinant), str(trace)),
        contracts,
    )
    unbounded = rate != 0 and any(map(any, phi))
    yield "it is unbounded: phi is not constant, and lambda is not 0", witness["phi"], unbounded
    yield from invariant_graph(A, phi, graph, rate, epsilon)


@verifies("multirate/proposition-22/arrival", {"tokens": [["1"], ["2"], ["3"], ["4"], ["5"], ["7"], ["8"]], "P": 4})
def proposition_22_arrival(witness):
    """Verify an instance that refutes a reading of Proposition 22 of "Attention is just another name for coupling?".

    Printed: the slow variable changes at most once every P tokens. Read for the pooled sequence of Definition 3, whose
    tail block is averaged over its real number of tokens, while tokens arrive one by one. (The context that tokens
    read, the slow state of the previous block, does change only once per block if the slow attention is causal.)

    Instance: the tail mean of the second block changes with every token that arrives in it.
    """
    x, P = [[Fraction(v) for v in row] for row in witness["tokens"]], int(witness["P"])
    yield "P >= 2, and the last block is begun and not complete", (len(x), P), P >= 2 and len(x) % P > 1
    mean = lambda block: [sum(column) / len(block) for column in zip(*block, strict=True)]
    pooled = [[mean(x[k : min(k + P, n)]) for k in range(0, n, P)] for n in range(len(x) + 1)]
    seen = pooled[len(x) // P * P :]
    changes = sum(a != b for a, b in zip(seen, seen[1:], strict=False))
    last = [[*map(str, row[-1])] for row in seen[1:]]
    yield f"the pooled token of the last block as {len(last)} < P tokens arrive", last, len(last) < P
    yield "the number of changes of the pooled sequence, more than one", changes, changes > 1
