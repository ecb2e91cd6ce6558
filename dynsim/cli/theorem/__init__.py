"""`dynsim theorem`: check the conditions of a classical theorem for a system."""
