"""The command `dynsim simulate prototypes`."""
