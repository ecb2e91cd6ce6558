"""The verbs of the command line, one file each; only `dynsim.__main__` imports them."""
