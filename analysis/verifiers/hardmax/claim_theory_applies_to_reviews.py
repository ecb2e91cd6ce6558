"""Verify an instance that refutes a claim of Section 6 of Alcalde, Fantuzzi and Zuazua.

Printed: the clustering theory applies to movie reviews Z^0 = X E, whose rows are the encoder values of n words, shorter
reviews being padded with the word <PAD>. Read: the tokens of a padded review meet the hypotheses of Theorem 1.1, which
are that they are nonzero and distinct.

Instance: a review with a word, such as <PAD>, that occurs more than once. Its rows of X are equal, and so are its
tokens, whatever E is. Nor can the theorem hold for them by chance, A = I here: equal tokens have equal scores, so that
both or neither are in a set C_j; neither is ever a leader, C_i = {i}, and they remain equal. In the instance below the
words <PAD> have the largest value on the line, all tokens follow them, and the set of leaders is empty in all layers,
whereas the theorem says that it is not.
"""

from fractions import Fraction

STATEMENT = "hardmax/claim-theory-applies-to-reviews"
WITNESS = {
    "review": ["an", "amazing", "film", "<PAD>", "<PAD>", "<PAD>"],
    "encoder": {"<PAD>": ["2"], "an": ["1/2"], "amazing": ["3/2"], "film": ["1"]},
    "alpha": "1/2",
    "layers": 8,
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    words, alpha = witness["review"], Fraction(witness["alpha"])
    z = [[Fraction(v) for v in witness["encoder"][str(word)]] for word in words]
    yield "alpha > 0", alpha, alpha > 0
    yield "the tokens of the padded review are not zero: their number", len(z), all(map(any, z))
    alike = [i for i, x in enumerate(z) if z.count(x) > 1]
    yield "they are not distinct: tokens that have an equal one", len(alike), len(alike) > 1
    yield "at least one layer is checked", witness["layers"], witness["layers"] >= 1
    for k in range(witness["layers"]):
        after, leaders = [], []
        for i, x in enumerate(z):
            scores = [sum(a * b for a, b in zip(x, y, strict=True)) for y in z]
            followed = [j for j, score in enumerate(scores) if score == max(scores)]
            leaders += [i] if followed == [i] else []
            mean = [sum(column) / len(followed) for column in zip(*(z[j] for j in followed), strict=True)]
            after.append([u + alpha / (1 + alpha) * (v - u) for u, v in zip(x, mean, strict=True)])
        apart = [i for i in alike if i in leaders or after.count(after[i]) == 1]
        yield f"layer {k}: leaders, none of those tokens, which remain equal", leaders, not apart
        z = after
