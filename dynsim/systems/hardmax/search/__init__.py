"""Search for all maximisers of <A z_i, z_j> over j; all algorithms return the same follower sets."""
