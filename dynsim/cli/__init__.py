"""The command line, above everything else: it may import every package, and only `dynsim.__main__` imports it."""
