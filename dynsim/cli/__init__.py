"""The commands of the command line, one module each; only `dynsim.__main__` imports them."""
