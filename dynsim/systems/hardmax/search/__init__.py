"""Search for the maximisers of <A z_i, z_j>: four algorithms that return the same follower sets, ties included."""
