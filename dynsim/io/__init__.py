"""Files: arrays in npz archives, objects as data, and checkpoints of long runs."""
