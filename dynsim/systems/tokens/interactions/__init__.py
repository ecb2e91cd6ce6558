"""Methods for the attention output sum_j w_ij U x_j of many tokens: dense, blocked, and by harmonics."""
