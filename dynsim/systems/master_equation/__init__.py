"""Master equations p' = Q p: generators, the flow, and its forward-Euler map."""
