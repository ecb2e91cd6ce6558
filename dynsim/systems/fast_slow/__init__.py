"""Fast-slow systems: the full flow, the critical manifold, and the reduced flow."""
