"""Settings of JAX, types, validation of arguments, and what every other package builds on."""
