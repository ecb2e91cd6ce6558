"""Two data (+-a, +-y), the encoder z = (x_0, theta x_1), and two prototypes at (+-a r, 0)."""


def eigenvalue_bounds(r):
    """A lower bound of the first coordinates' eigenvalues, and an upper bound."""
    low, high = r, r + r**3 / (3 * (1 - r * r))
    falls = (2 * (1 - r * r) / r, 2 * r * (1 - r * r))
    return min(2 - fall * high for fall in falls), max(2 - fall * low for fall in falls)
