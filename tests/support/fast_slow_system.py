"""A user's own fast-slow systems, in a module of its own as users write them."""

from dynsim.fast_slow import FastSlowFlow


def fast(x, y):
    """Relax x to y squared."""
    return y**2 - x


def slow(x, y):
    """Let y decay."""
    return -x


given = FastSlowFlow(fast, slow, 0.1)


def by_epsilon(epsilon):
    """Return the system at an epsilon."""
    return FastSlowFlow(fast, slow, epsilon)


vectors = FastSlowFlow(lambda x, y: y - x[0], slow, 0.1)


def wrong(epsilon):
    """Return what is no system."""
    return epsilon
