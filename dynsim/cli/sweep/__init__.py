"""The command `dynsim sweep`."""
