"""The commands `dynsim check`, `dynsim report` and `dynsim figure`."""
