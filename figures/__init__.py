"""Figures: computed numbers first, then ink."""
