"""The command `dynsim continue`."""
