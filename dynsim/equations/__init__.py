"""Systems from equations as text: the grammar, its evaluation in JAX, files of other programs, and export.

No text is ever given to Python: names are looked up in closed lists, and expressions become lists of operations.
"""
