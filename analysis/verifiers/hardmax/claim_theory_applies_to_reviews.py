"""Verify an instance that refutes a claim of Section 6 of Alcalde, Fantuzzi and Zuazua.

Printed: the clustering theory applies to movie reviews Z^0 = X E, whose rows are the encoder values of n words, shorter
reviews being padded with the word <PAD>. Read: the tokens of a padded review meet the hypotheses of Theorem 1.1, which
are that they are nonzero and distinct.

Instance: a review with two or more words <PAD>. Their rows of X are equal, and so are their tokens, whatever E is. Nor
does the theorem hold for them by chance: here <PAD> has the largest value on the line, and A = I.

Argument for the second part. Equal tokens have equal scores, so that both or neither are in a set C_i, they are in
C_i together for their own i, and they remain equal. As long as all tokens are positive and those of <PAD> the largest,
every C_i is the set of all <PAD>: these do not move, and the others approach them from below. By induction no C_i is
ever {i}: the set of leaders is empty, whereas the theorem says that it is not.

Usage: python claim_theory_applies_to_reviews.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "hardmax/claim-theory-applies-to-reviews"
WITNESS = {
    "review": ["an", "amazing", "film"],
    "n": 6,
    "encoder": {"<PAD>": "2", "an": "1/2", "amazing": "3/2", "film": "1"},
    "alpha": "1/2",
    "layers": 8,
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    words = witness["review"] + ["<PAD>"] * (witness["n"] - len(witness["review"]))
    alpha, z = Fraction(witness["alpha"]), [Fraction(witness["encoder"][word]) for word in words]
    pads = [i for i, word in enumerate(words) if word == "<PAD>"]
    yield "the words of the padded review", words, len(words) == witness["n"]
    yield "its tokens, which are not distinct", [*map(str, z)], len({*z}) < len(z) and len(pads) > 1
    yield "alpha > 0", alpha, alpha > 0
    yield (
        "tokens are positive and those of <PAD> the largest",
        str(max(z)),
        min(z) > 0 and all((v == max(z)) == (i in pads) for i, v in enumerate(z)),
    )
    yield "at least one layer is checked", witness["layers"], witness["layers"] >= 1
    for k in range(witness["layers"]):
        followed = [[j for j, v in enumerate(z) if u * v == max(u * w for w in z)] for u in z]
        step = alpha / (1 + alpha)
        after = [u + step * (sum(z[j] for j in f) / len(f) - u) for u, f in zip(z, followed, strict=True)]
        kept = min(after) > 0 and all((v == z[pads[0]]) == (i in pads) and v <= z[pads[0]] for i, v in enumerate(after))
        yield (
            f"layer {k}: every token follows all <PAD>, the least token being",
            float(min(z)),
            followed == [pads] * len(z) and kept,
        )
        z = after


def main():
    """Print every check with OK or NOT; return 0 if all hold, 2 if the witness has other names, else 1."""
    given = json.loads(Path(sys.argv[1]).read_text()) if sys.argv[1:] else {"witness": WITNESS}
    witness = given.get("witness", given)  # a file of `dynsim check --witness` has more than the witness
    if not WITNESS.keys() <= witness.keys():
        print("the witness must have the names", ", ".join(WITNESS))
        return 2
    results = list(checks(witness))
    for what, value, fact in results:
        print("OK " if fact else "NOT", f"{what}: {value}")
    refuted = all(fact for _, _, fact in results)
    print(STATEMENT, "is refuted" if refuted else "is not refuted by this witness")
    return 0 if refuted else 1


if __name__ == "__main__":
    sys.exit(main())
