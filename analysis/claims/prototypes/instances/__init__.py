"""Instances for the claims of `prototypes`: banks with rational assignments, and data with known collapse."""
