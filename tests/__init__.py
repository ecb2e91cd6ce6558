"""Runtime checks of the annotations: an int may stand for a float, as everywhere in Python."""

from beartype import BeartypeConf, beartype

typechecked = beartype(conf=BeartypeConf(is_pep484_tower=True))
