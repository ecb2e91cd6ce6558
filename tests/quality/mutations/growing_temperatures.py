"""Errors in temperatures, hitting times, residual spectra and directional loss, and the claims that notice them."""

from tests.quality.mutants import Mutant

EQUATION = "growing/lemma-6/corrected"
DECAY = "growing/lemma-7"
ARRIVAL = "growing/theorem-3-hitting-time/corrected"
DWELL = "growing/remark-3/corrected"
STEP_COUNT = "growing/lemma-17-iii/corrected"
SHARE = "growing/definition-1"
ROWS = "growing/lemma-9"
BEST = "growing/theorem-4/corrected"

# fmt: off
MUTANTS = (
    Mutant("growing, temperatures: the activity is a sum over tokens", "activity",
           "distance_variance(z, p, temperature) / z.shape[0]", "distance_variance(z, p, temperature)",
           ("growing/lemma-8/corrected",)),
    Mutant("growing, temperatures: hitting times integrate T and not T^2", "_quadrature", "u**4", "u**3", (ARRIVAL,)),
    Mutant("growing, temperatures: the printed time has squares of temperatures", "printed_hitting_time",
           "(start**3 - least**3) / (3 * rate * activity)", "(start**2 - least**2) / (2 * rate * activity)",
           (DWELL, STEP_COUNT, ARRIVAL)),
    Mutant("growing, temperatures: the bound of the steps lacks the logarithm", "step_bound",
           "float(ideal) + math.log(float(start) / float(least))", "float(ideal)", (STEP_COUNT,)),
    Mutant("growing, temperatures: the bound of the steps has another step", "step_bound",
           "math.floor(float(ideal) + math.log(float(start) / float(least))) + 1",
           "math.floor(float(ideal) + math.log(float(start) / float(least))) + 3", (STEP_COUNT,)),
    Mutant("growing, temperatures: the cubes fall at the rate of the squares", "GrowingFlow.velocity",
           "3 * self.temperature_rate", "2 * self.temperature_rate", (EQUATION, DECAY, ARRIVAL)),
    Mutant("growing, temperatures: means over tokens cool as sums do", "GrowingFlow.velocity",
           'self.loss.reduction == "sum"', 'self.loss.reduction == "mean"', (EQUATION,)),
    Mutant("growing, temperatures: they rise", "GrowingFlow.velocity",
           "-factor.astype(dtype)", "factor.astype(dtype)", ("growing/lemma-6-monotone", EQUATION, DECAY)),
    Mutant("growing, temperatures: a step is not clipped from below", "temperature_step",
           "max(moved, least)", "min(moved, least)", ("growing/lemma-17-i/clip",)),
    Mutant("growing, temperatures: a step divides by the cube of the temperature", "temperature_step",
           "temperature**2", "temperature**3", (STEP_COUNT, DWELL)),
    Mutant("growing, residuals: the loss is the square of the ratio of the norms", "directional_loss",
           "float(np.linalg.norm(residual_matrix(interaction, frames, tokens=tokens, reading=reading)) / whole)",
           "float(np.linalg.norm(residual_matrix(interaction, frames, tokens=tokens, reading=reading)) / whole) ** 2",
           (SHARE, BEST, "growing/proposition-2/corrected")),
    Mutant("growing, residuals: the loss is relative to what is left", "directional_loss",
           "residual_matrix(interaction, tokens=tokens, reading=reading)",
           "residual_matrix(interaction, frames, tokens=tokens, reading=reading)", (BEST,)),
    Mutant("growing, residuals: the energy is the norm", "squared_norm",
           'np.sum(np.asarray(reals("matrix", matrix), float) ** 2)',
           'np.linalg.norm(np.asarray(reals("matrix", matrix), float))', (SHARE, BEST)),
    Mutant("growing, residuals: the alignment has the variance of a row and not of an entry", "expected_best_alignment",
           "sigma**2 / d", "sigma**2", (ROWS,)),
    Mutant("growing, residuals: one side of the normal law is counted", "expected_best_alignment",
           "-erfc(np.sqrt(x / 2))", "-erfc(np.sqrt(x / 2)) / 2", (ROWS,)),
    Mutant("growing, residuals: the planes are those of the least values", "PairedSpectrum.above",
           "int(np.sum(self.values > threshold))", "int(np.sum(self.values > threshold)) - 1", (SHARE,)),
    Mutant("growing: the bound on steps is rounded up", "step_bound", "math.floor", "math.ceil", (STEP_COUNT,)),
    Mutant("growing: the printed number of steps lacks its last one", "printed_step_bound",
           "math.ceil(printed_hitting_time(start, least, rate, activity)) + 1",
           "math.ceil(printed_hitting_time(start, least, rate, activity))", (STEP_COUNT,)),
)
# fmt: on
