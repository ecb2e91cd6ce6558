"""A sentence classifier whose prototype layer grows heads along the directed part of its attention."""
