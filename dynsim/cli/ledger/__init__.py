"""The commands `dynsim check`, `dynsim report`, `dynsim figure` and `dynsim verifier`."""
