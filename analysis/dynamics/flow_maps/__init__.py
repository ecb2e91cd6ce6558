"""Flow maps: states after a time, their derivatives, angular variables, and integration at nearly unit speed."""
