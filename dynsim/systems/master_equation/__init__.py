"""Master equations p' = Q p of continuous-time Markov chains: generators, the flow, and its forward-Euler map."""
