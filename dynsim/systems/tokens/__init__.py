"""Self-attention as a flow of tokens on ellipsoids, and the scalar-driven flows of its proofs."""
