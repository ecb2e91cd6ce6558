"""Vectors and matrices of fractions, as lists of numbers and of rows, and polynomials as lists of coefficients."""

from fractions import Fraction


def vector(values):
    """A vector, as a list of fractions."""
    return [Fraction(v) for v in values]


def matrix(rows):
    """A matrix, as rows of fractions."""
    return [[Fraction(v) for v in row] for row in rows]


def integer_matrix(rows):
    """A matrix of integers, as rows of fractions; other numbers are refused."""
    found = matrix(rows)
    if any(v.denominator != 1 for row in found for v in row):
        raise ValueError("coordinates must be integers")
    return found


def dot(u, v):
    """The inner product of two vectors."""
    return sum((a * b for a, b in zip(u, v, strict=True)), Fraction(0))


def squared_distance(u, v):
    """|u - v|^2, the squared distance of two vectors."""
    return sum(((a - b) ** 2 for a, b in zip(u, v, strict=True)), Fraction(0))


def transpose(A):
    """The transpose of a matrix."""
    return [list(column) for column in zip(*A, strict=True)]


def linear_image(A, x):
    """The vector A x."""
    return [dot(row, x) for row in A]


def matrix_product(A, B):
    """The product of two matrices."""
    return [[dot(row, column) for column in zip(*B, strict=True)] for row in A]


def bilinear_form(x, A, y):
    """x^T A y."""
    return sum(a * m * b for a, row in zip(x, A, strict=True) for m, b in zip(row, y, strict=True))


def frobenius_product(A, B):
    """The sum of products of the entries of two matrices."""
    return sum(x * y for r, s in zip(A, B, strict=True) for x, y in zip(r, s, strict=True))


def orthonormal(rows):
    """Whether rows have length one and are orthogonal to each other."""
    return all(dot(u, v) == (i == j) for i, u in enumerate(rows) for j, v in enumerate(rows))


def rank(A):
    """The rank of a matrix, by elimination."""
    rows, found = [row[:] for row in A], 0
    for column in range(len(A[0])):
        pivot = next((i for i in range(found, len(rows)) if rows[i][column] != 0), None)
        if pivot is None:
            continue
        rows[found], rows[pivot] = rows[pivot], rows[found]
        for i in range(found + 1, len(rows)):
            factor = rows[i][column] / rows[found][column]
            rows[i] = [a - factor * b for a, b in zip(rows[i], rows[found], strict=True)]
        found += 1
    return found


def pivots(A):
    """The pivots of elimination without exchanges, up to the first that is not positive."""
    rows, found = [row[:] for row in A], []
    for k in range(len(rows)):
        found.append(rows[k][k])
        if found[-1] <= 0:
            break
        for i in range(k + 1, len(rows)):
            factor = rows[i][k] / rows[k][k]
            rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
    return found


def column_sums(Q):
    """Yield the check that a matrix is a generator: rates are not negative, and columns sum to zero."""
    n = len(Q)
    rates = [Q[i][j] for i in range(n) for j in range(n) if i != j]
    sums = [str(sum(row[j] for row in Q)) for j in range(n)]
    yield "Q is a generator: column sums", sums, sums == ["0"] * n and min(rates) >= 0


def product(p, q):
    """The coefficients of the product of two polynomials."""
    return [sum(p[i] * q[k - i] for i in range(len(p)) if 0 <= k - i < len(q)) for k in range(len(p) + len(q) - 1)]
