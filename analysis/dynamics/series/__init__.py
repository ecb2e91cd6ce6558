"""Measures of time series: return maps, power spectra, recurrence plots and a test for chaos."""
