"""Random sparse generators of Markov chains."""

import numpy as np
import scipy.sparse

from dynsim.systems.master_equation.generators import generator_from_rates


def random_sparse_generator(seed: int, size: int, degree: int) -> scipy.sparse.csc_array:
    """Draw a generator with `degree` random transitions out of each state, whose rates have the mean one."""
    rng = np.random.default_rng(seed)
    columns = np.repeat(np.arange(size), degree)
    rows = (columns + rng.integers(1, size, len(columns))) % size
    R = scipy.sparse.coo_array((rng.exponential(size=len(columns)), (rows, columns)), shape=(size, size))
    return generator_from_rates(R)
