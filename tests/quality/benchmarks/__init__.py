"""Side-by-side benchmarks: `python -m tests.quality.benchmarks` (not part of the tests)."""
