"""The command `dynsim basins`."""
