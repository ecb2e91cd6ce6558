"""Fast-slow systems eps x' = A (x - phi(y)), y' = lambda y in the plane, and their invariant graphs x = k(y)."""


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
