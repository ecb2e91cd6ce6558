"""Verify an instance that refutes a sentence of Section 1.1 of Alcalde, Fantuzzi and Zuazua.

Printed: the cluster points S of (4.1), S = {x in K : max_l <v_l - x, x> = 0}, consist of the vertices v_l of K plus
projections of the origin onto the faces of K. Read: every such projection that lies in K belongs to S.

Instance: a triangle of leaders that does not contain the origin, A = I. Each token is a leader from the start and
stays, so that K is the triangle. The projection p of the origin onto an edge is a point of this edge, but the third
vertex v lies beyond it, <v - p, p> > 0: p is not in S. (It is if K lies on the side of the origin.)
"""

from fractions import Fraction

from analysis.verifiers.frames.linear_algebra import dot

STATEMENT = "hardmax/claim-s-all-projections"
WITNESS = {"tokens": [["4", "0"], ["0", "4"], ["3", "3"]], "edge": [0, 1]}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    z, (i, j) = [[Fraction(v) for v in row] for row in witness["tokens"]], witness["edge"]
    less = lambda a, b: [s - t for s, t in zip(a, b, strict=True)]
    margins = [dot(a, a) - max(dot(a, b) for b in z if b is not a) for a in z]
    yield "every token is a leader: least margin of <z_i, z_i> over <z_i, z_j>", min(margins), min(margins) > 0
    u, v = less(z[1], z[0]), less(z[2], z[0])
    yield (
        "K is a triangle, of which every edge is a face: twice its area",
        u[0] * v[1] - u[1] * v[0],
        u[0] * v[1] != u[1] * v[0],
    )
    along = less(z[j], z[i])
    share = -dot(z[i], along) / dot(along, along)
    p = [s + share * t for s, t in zip(z[i], along, strict=True)]
    yield "the projection p is on the edge: its coordinate along it", share, dot(p, along) == 0 and 0 < share < 1
    beyond = max(dot(less(w, p), p) for w in z)
    yield "p is not in S: max_l <v_l - p, p>", beyond, beyond > 0
