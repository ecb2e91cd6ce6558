"""Tokens of the examples in HARDMAX: as printed for the text, and chosen by us for the figures, which print none.

Numbers are ints or strings such as `1/3`, which the maps accept in floating-point and in exact arithmetic. A = I unless
a comment says otherwise.
"""

ALPHA = "1/2"  # step size of Example 5.2 and Figure 2

EXAMPLE_5_2 = ((-1, 1), (0, 3), (12, 4))
REMARK_1_3 = ((-1,), ("-1/2",), (0,), ("1/2",), (1,))

# Figure 1: token 0 follows tokens 1 and 2 for A = I, and token 3 for FIGURE_1_ATTENTION.
FIGURE_1 = ((1, 0), (2, 1), (2, -1), ("3/2", 3), (-1, "-1/2"), ("-1/2", 2))
FIGURE_1_ATTENTION = ((2, 1), (1, 1))

# Figure 2, by panel: three leaders from the start; a leader after layer 1; four leaders; four leaders and two ties.
_CORNERS = ((2, 1), (-2, 1), (-2, -1), (2, -1))
_INNER = ((1, "1/4"), (-1, "-1/2"), ("-1/2", "3/5"), ("3/4", "-1/4"))
FIGURE_2 = {
    "A": ((0, 3), (-3, -2), (3, -2), (1, "1/2"), (-1, "1/3"),
          ("1/2", -1), (2, "-1/2"), (-1, -1), ("-1/4", 2), ("1/3", "3/2")),
    "B": ((-1, 1), (0, 3), (12, 4), (-5, -4), (3, -6), (2, 1), (-2, "-3/2"), (1, -2), (5, -2), (4, 3)),
    "C": (*_CORNERS, *_INNER, ("1/2", "1/10"), ("1/10", "-1/3")),
    "D": (*_CORNERS, *_INNER, ("1/2", 0), (0, "-1/3")),
}  # fmt: skip
