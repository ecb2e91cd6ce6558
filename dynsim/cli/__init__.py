"""Commands of the command line; they may import every package, and only `dynsim.__main__` imports them."""
