"""Fast-slow systems: the full flow, the fast subsystem, the critical manifold, and the reduced flow."""
