"""Files: arrays in npz archives, serialised objects, and checkpoints of long runs."""
