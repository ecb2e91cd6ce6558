"""Phase portraits in the plane, on circles, spheres and simplices."""
