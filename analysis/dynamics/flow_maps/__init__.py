"""The flow map: states after a time, their derivatives, angles, and integration at nearly unit speed."""
