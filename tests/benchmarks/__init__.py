"""Side-by-side benchmarks: `python -m tests.benchmarks` (not part of the tests)."""
