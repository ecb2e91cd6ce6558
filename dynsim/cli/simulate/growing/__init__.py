"""The command `dynsim simulate growing`."""
