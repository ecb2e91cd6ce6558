"""Verify from printed numbers that figures of the DDCL-Attention paper contradict each other.

Printed: hard VQ with K = 64 needs 44 epochs to full utilisation (Section 7.4, Table 5), and 26 (Figure 4); eps of the
text experiments is .1 (Section 7.3: eta_P = 1e-3, eta_W = 1e-4) and .05 (Table 4). In rationals.
"""

from fractions import Fraction

STATEMENT = "prototypes/experiment-consistency"
WITNESS = {
    "epochs to full utilisation of hard VQ with K = 64": {"Table 5": "44", "Figure 4": "26"},
    "eps of Section 7.3 (text)": {"Section 7.3": "1/10", "Table 4": "1/20"},
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    for quantity in WITNESS:
        printed = {place: Fraction(value) for place, value in witness[quantity].items()}
        shown = [f"{place}: {value}" for place, value in printed.items()]
        yield f"two printed values differ: {quantity}", shown, len(set(printed.values())) > 1
