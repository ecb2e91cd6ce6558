from .leaks import affected_positions as affected_positions
from .leaks import leak_matrix as leak_matrix
from .leaks import worst_leak as worst_leak
