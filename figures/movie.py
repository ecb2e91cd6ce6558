"""Write movies as animated GIFs with reproducible bytes, one drawing for each phase in [0, 1)."""

import io
import itertools
import math
from collections.abc import Callable
from pathlib import Path

import matplotlib.figure
import numpy as np
from PIL import Image

from dynsim.errors import ArgumentError
from dynsim.io.whole_files import whole_file
from figures.style import settings

DPI = 120  # lowest resolution of a movie
LEAST = 800  # smallest width of a movie, in pixels
FRAMES = 36
MILLISECONDS = 80
COLOURS = 256


def write_movie(
    file: Path, drawing: Callable[[float], matplotlib.figure.Figure], *, frames: int = FRAMES, pause: int = MILLISECONDS
) -> Path:
    """Write the drawings at the phases 0, 1/frames, ... as an endlessly looping GIF, at least 800 pixels wide.

    Args:
        file: the file, which is written atomically.
        drawing: returns the figure at a phase in [0, 1).
        frames: the number of frames, at least 2.
        pause: the time between frames, in milliseconds.

    Raises:
        ValueError: for fewer than two frames.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from figures import canvas, write_movie
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_movie(Path(folder) / "empty.gif", lambda phase: canvas(1.0)[0], frames=2).name
        'empty.gif'
    """
    if frames < 2:
        raise ArgumentError("frames", "be at least 2", f"is {frames}")
    first = drawing(0.0)
    dpi = max(DPI, math.ceil(LEAST / float(first.get_figwidth())))
    rest = (drawing(k / frames) for k in range(1, frames))
    pictures = _of_one_size([_picture(one, dpi) for one in itertools.chain([first], rest)])
    palette, undithered = _palette(pictures), Image.Dither.NONE
    turned = [Image.fromarray(picture).quantize(COLOURS, palette=palette, dither=undithered) for picture in pictures]
    with whole_file(file, ".gif") as part:
        turned[0].save(part, save_all=True, append_images=turned[1:], duration=pause, loop=0)
    return file


def growing(drawing: Callable[[float], matplotlib.figure.Figure]) -> Callable[[float], matplotlib.figure.Figure]:
    """Convert a drawing of a share of the data to a drawing of a phase, such that the last frame shows all data."""
    return lambda phase: drawing(min(1.0, phase + 1 / FRAMES))


def _of_one_size(pictures: list[Image.Image]) -> list[np.ndarray]:
    """Pixels of pictures, padded with white below and on the right to the largest height and width."""
    height, width = (max(getattr(picture, side) for picture in pictures) for side in ("height", "width"))
    room = lambda picture: ((0, height - picture.height), (0, width - picture.width), (0, 0))
    return [np.pad(np.asarray(picture), room(picture), constant_values=255) for picture in pictures]


def _palette(pictures: list[np.ndarray]) -> Image.Image:
    """Common palette of all pictures, from as many of their pixels as one of them has."""
    thin = math.ceil(math.sqrt(len(pictures)))
    parts = [picture[k % thin :: thin, ::thin] for k, picture in enumerate(pictures)]
    return Image.fromarray(np.concatenate(parts)).quantize(COLOURS)


def _picture(drawn: matplotlib.figure.Figure, dpi: int) -> Image.Image:
    stream = io.BytesIO()
    with settings():
        drawn.savefig(stream, format="png", dpi=dpi)
    stream.seek(0)
    return Image.open(stream).convert("RGB")
