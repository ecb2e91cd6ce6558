"""Ways to compute the attention outputs sum_j w_ij U x_j of many tokens: dense, in blocks, and by harmonics."""
