"""How good the tests are: mutants, random errors, seeds, kernels, kills, fuzzing, benchmarks."""
