"""The matrices of Sections 7.1 to 7.3, copied from the text of the paper, against which those that ship are held."""

import numpy as np


def _matrix(text: str) -> np.ndarray:
    return np.array([[float(number) for number in row.split()] for row in text.split(";")])


P_OF_7_1 = _matrix("0.9432 0.0587 -0.1813; 0.0587 0.8450 -0.1013; -0.1813 -0.1013 0.5519")
P1_OF_7_2 = _matrix("0.0805 -0.1929 0.1991; -0.2312 0.3131 -0.2335; 0.1788 -0.1732 -0.1594")
P2_OF_7_2 = _matrix("-0.3067 0.0349 0.1107; 0.0572 -0.0557 0.1343; 0.1375 0.1083 0.1018")
P_OF_7_3 = _matrix("0.3598 0.4150 0.1319; 0.0971 -0.0668 -0.2046; 0.1548 -0.2102 0.1220")
U_OF_7_3 = _matrix("-0.2590 0.4965 0.5609; 0.4965 -0.7174 -0.5003; 0.5609 -0.5003 -0.0247")


def _diagonal(first: float, third: float, t: float) -> np.ndarray:
    a, b = first * np.pi * t, third * np.pi * t
    return np.diag([2 * np.cos(a), 2 * np.sin(a), 2 * np.cos(b)])


def heads_of_7_2(t: float) -> np.ndarray:
    """Return P_1(t) = D_1(t) P_1' and P_2(t) = D_2(t) P_2', shape (2, 3, 3)."""
    return np.stack([_diagonal(10, 6, t) @ P1_OF_7_2, _diagonal(6, 4, t) @ P2_OF_7_2])


def head_of_7_3(t: float) -> np.ndarray:
    """Return P(t) = D(t) P', shape (1, 3, 3)."""
    return (_diagonal(10, 6, t) @ P_OF_7_3)[None]
