"""Phase of oscillators: phase response curves, isochrons, and averaged locking to a periodic forcing."""
