"""Measures of the growing system: residual spectra, separation forces, temperatures, functionals and events."""
