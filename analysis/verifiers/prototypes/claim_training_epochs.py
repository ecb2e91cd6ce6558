"""Verify from printed numbers that the reported experiments have more than 155 training epochs in total.

Printed in Section 3.4: "In all experiments reported here, zero violations were observed across 155 total training
epochs". One run of Section 7.2 has 500 epochs, one of Section 7.6 has 300. The total of all runs is computed
in integers.
"""

STATEMENT = "prototypes/claim-training-epochs"
PRINTED = 155
WITNESS = {
    "Section 7.2, space debris": {"runs": 1, "epochs": 500},
    "Section 7.3, SST-2, IMDB, 20 Newsgroups": {"runs": 3, "epochs": 15},
    "Section 7.4, Table 5: K = 16 and K = 64": {"runs": 2, "epochs": 50},
    "Section 7.5, eps of .05 and .1, lambda of .5 and 1.5": {"runs": 4, "epochs": 15},
    "Section 7.6, five ratios eps": {"runs": 5, "epochs": 300},
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    runs = {place: (int(witness[place]["runs"]), int(witness[place]["epochs"])) for place in WITNESS}
    yield "every section has a run", list(runs.values()), all(n >= 1 and epochs >= 1 for n, epochs in runs.values())
    total = sum(n * epochs for n, epochs in runs.values())
    yield f"the total is not the printed {PRINTED}", total, total != PRINTED
