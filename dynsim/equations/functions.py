"""The closed list of operators and functions of equations, with what each is called elsewhere."""

from collections.abc import Mapping
from typing import NamedTuple


class Operator(NamedTuple):
    """A binary operator: the name of its operation, how strongly it binds, and whether it groups to the right."""

    name: str
    binds: int
    right: bool = False


OR, AND, NOT, COMPARING, SUM, PRODUCT, SIGN, POWER = range(1, 9)
"""How strongly operators bind, in increasing order."""

BINARY = {
    "or": Operator("or", OR), "and": Operator("and", AND),
    "<": Operator("lt", COMPARING), "<=": Operator("le", COMPARING), ">": Operator("gt", COMPARING),
    ">=": Operator("ge", COMPARING), "==": Operator("eq", COMPARING), "!=": Operator("ne", COMPARING),
    "+": Operator("add", SUM), "-": Operator("sub", SUM), "*": Operator("mul", PRODUCT), "/": Operator("div", PRODUCT),
    "^": Operator("pow", POWER, right=True),
}  # fmt: skip


class Grouping(NamedTuple):
    """Which operators bind more strongly: binary ones, and `not`."""

    binary: Mapping[str, Operator]
    negation: int = NOT


USUAL = Grouping(BINARY)
XPPAUT = Grouping(
    {
        **BINARY, **{one: BINARY[one]._replace(binds=POWER) for one in ("<", "<=", ">", ">=", "==", "!=")},
        "and": BINARY["and"]._replace(binds=PRODUCT), "or": BINARY["or"]._replace(binds=SUM),
        "^": BINARY["^"]._replace(right=False),
    },
    negation=SIGN,
)  # fmt: skip
"""XPPAUT's priorities (parser.h): comparisons are like powers, which group to the left, `&` like `*`, `|` like `+`."""

SYMBOLS = {operator.name: sign for sign, operator in BINARY.items()}
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
TRUTHS = (*COMPARISONS, "and", "or", "not")
"""Operations whose result is true or false."""

ARGUMENTS = {
    **dict.fromkeys((
        "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sec", "csc",
        "cot", "sech", "csch", "coth", "exp", "log", "log10", "log2", "sqrt", "cbrt", "abs", "sign", "floor", "ceil",
        "round", "heaviside", "erf", "erfc", "lgamma",
    ), (1, 1)),
    **dict.fromkeys(("atan2", "mod", "hypot"), (2, 2)), "power": (2, 2), "if": (3, 3),
    **dict.fromkeys(("min", "max"), (2, 99)),
}  # fmt: skip
"""Least and largest number of arguments of each function."""

ALIASES = {
    "ln": "log", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2", "arcsinh": "asinh",
    "arccosh": "acosh", "arctanh": "atanh", "tg": "tan", "sgn": "sign", "signum": "sign", "Heaviside": "heaviside",
    "heav": "heaviside", "pow": "power", "ceiling": "ceil", "flr": "floor", "gammaln": "lgamma",
}  # fmt: skip
"""Other names of functions."""

SPECIAL = ("sum", "delay")
"""Names that are read as functions by the parser itself, or refused by name."""

CONSTANTS = {"pi": 3.141592653589793}

GREEK = (
    "alpha", "beta", "gamma", "delta", "epsilon", "theta", "lambda", "mu", "nu", "omega", "phi", "psi", "rho",
    "sigma", "tau", "xi", "zeta", "eta", "kappa", "iota", "upsilon", "chi", "pi", "Gamma", "Delta", "Theta",
    "Lambda", "Xi", "Pi", "Sigma", "Phi", "Psi", "Omega",
)  # fmt: skip
"""Names that are typeset as Greek letters."""
