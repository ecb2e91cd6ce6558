"""Errors in temperatures, hitting times, residual spectra and directional loss, and the claims that notice them."""

from tests.mutants import Mutant

TIMES, RESIDUALS = "analysis.growing.temperatures", "analysis.growing.residuals"
FLOW, STEPS = "dynsim.systems.growing.flow", "dynsim.systems.growing.descent"
EQUATION, MONOTONE, DECAY = "growing/lemma-6/corrected", "growing/lemma-6-monotone", "growing/lemma-7"
SKEWED, FIRST = "growing/lemma-8/corrected", "growing/theorem-3-discriminant/corrected"
ARRIVAL, SPLIT = "growing/theorem-3-hitting-time/corrected", "growing/theorem-3-divergence/corrected"
DWELL, STEP_COUNT = "growing/remark-3/corrected", "growing/lemma-17-iii/corrected"
CLIPPED, OVERSHOOT = "growing/lemma-17-i/clip", "growing/lemma-17-i/corrected"
SHARE, ROWS, BEST = "growing/definition-1", "growing/lemma-9", "growing/theorem-4/corrected"
GAIN, CAPTURED = "growing/proposition-2/corrected", "growing/lemma-10"

MUTANTS = (
    Mutant(
        "growing, temperatures: the activity is a sum over tokens",
        TIMES,
        "return distance_variance(z, p, temperature) / z.shape[0]",
        "return distance_variance(z, p, temperature)",
        (SKEWED,),
    ),
    Mutant(
        "growing, temperatures: hitting times integrate T and not T^2",
        TIMES,
        "half * weights / (u**4 * sigma)",
        "half * weights / (u**3 * sigma)",
        (ARRIVAL,),
    ),
    Mutant(
        "growing, temperatures: the printed time has squares of temperatures",
        TIMES,
        "return (start**3 - least**3) / (3 * rate * activity)",
        "return (start**2 - least**2) / (2 * rate * activity)",
        (DWELL, STEP_COUNT, ARRIVAL),
    ),
    Mutant(
        "growing, temperatures: the bound of the steps lacks the logarithm",
        TIMES,
        "float(ideal) + math.log(float(start) / float(least))",
        "float(ideal)",
        (STEP_COUNT,),
    ),
    Mutant(
        "growing, temperatures: the bound of the steps has another step",
        TIMES,
        "math.log(float(start) / float(least))) + 1",
        "math.log(float(start) / float(least))) + 3",
        (STEP_COUNT,),
    ),
    Mutant(
        "growing, temperatures: the cubes fall at the rate of the squares",
        FLOW,
        "factor = 3 * self.temperature_rate",
        "factor = 2 * self.temperature_rate",
        (EQUATION, DECAY, ARRIVAL),
    ),
    Mutant(
        "growing, temperatures: means over tokens cool as sums do",
        FLOW,
        'if self.loss.reduction == "sum" else 1)',
        'if self.loss.reduction == "mean" else 1)',
        (EQUATION,),
    ),
    Mutant(
        "growing, temperatures: they rise",
        FLOW,
        "cubes = jnp.where(warm, -factor",
        "cubes = jnp.where(warm, factor",
        (MONOTONE, EQUATION, DECAY),
    ),
    Mutant(
        "growing, temperatures: a step is not clipped from below",
        STEPS,
        "else max(moved, least)",
        "else min(moved, least)",
        (CLIPPED,),
    ),
    Mutant(
        "growing, temperatures: a step divides by the cube of the temperature",
        STEPS,
        "rate * activity / temperature**2",
        "rate * activity / temperature**3",
        (STEP_COUNT, DWELL),
    ),
    Mutant(
        "growing, residuals: the loss is the square of the ratio of the norms",
        RESIDUALS,
        "tokens=tokens, reading=reading)) / whole)",
        "tokens=tokens, reading=reading)) / whole) ** 2",
        (SHARE, BEST, GAIN),
    ),
    Mutant(
        "growing, residuals: the loss is relative to what is left",
        RESIDUALS,
        "whole = np.linalg.norm(residual_matrix(interaction, tokens=tokens, reading=reading))",
        "whole = np.linalg.norm(residual_matrix(interaction, frames, tokens=tokens, reading=reading))",
        (BEST,),
    ),
    Mutant(
        "growing, residuals: the energy is the norm",
        RESIDUALS,
        'return float(np.sum(np.asarray(reals("matrix", matrix), float) ** 2))',
        'return float(np.linalg.norm(np.asarray(reals("matrix", matrix), float)))',
        (SHARE, BEST),
    ),
    Mutant(
        "growing, residuals: the alignment has the variance of a row and not of an entry",
        RESIDUALS,
        "return sigma**2 / d * float(sum(parts))",
        "return sigma**2 * float(sum(parts))",
        (ROWS,),
    ),
    Mutant(
        "growing, residuals: one side of the normal law is counted",
        RESIDUALS,
        "np.log1p(-erfc(np.sqrt(x / 2)))",
        "np.log1p(-erfc(np.sqrt(x / 2)) / 2)",
        (ROWS,),
    ),
    Mutant(
        "growing, residuals: the planes are those of the least values",
        RESIDUALS,
        "int(np.sum(self.values > threshold))",
        "int(np.sum(self.values > threshold)) - 1",
        (SHARE,),
    ),
    Mutant(
        "growing: the bound on steps is rounded up",
        TIMES,
        "math.floor(float(ideal)",
        "math.ceil(float(ideal)",
        (STEP_COUNT,),
    ),
    Mutant(
        "growing: the printed number of steps lacks its last one",
        TIMES,
        "return math.ceil(printed_hitting_time(start, least, rate, activity)) + 1",
        "return math.ceil(printed_hitting_time(start, least, rate, activity))",
        (STEP_COUNT,),
    ),
)
