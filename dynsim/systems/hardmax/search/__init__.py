"""Search for all maximisers of <A z_i, z_j> over j, by algorithms that return the same follower sets."""
