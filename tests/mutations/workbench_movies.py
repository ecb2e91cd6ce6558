"""Errors in movies of sections and exponents, and the tests that notice them."""

from tests.mutants import Mutant

DATA, EXPONENTS, MOVIE = "figures.panels.growing_data", "figures.panels.exponents", "figures.movie"
TESTS = "tests/test_growing_panels.py::test_"
SHARE = (TESTS + "a_share_is_drawn_on_the_axes_of_all",)
DIAGRAM = "figures.panels.bifurcations"
DIAGRAMS = (TESTS + "a_diagram_is_shown_up_to_a_share_of_the_parameter",)
FRAME = (TESTS + "a_movie_has_the_colours_and_the_size_of_all_its_frames",)
LAST = (TESTS + "the_last_frame_of_a_growing_movie_shows_all",)

MUTANTS = (
    Mutant("workbench movies: the last points are drawn first", DATA,
           "found[max(2, round(until * len(found))) :] = np.nan",
           "found[: len(found) - max(2, round(until * len(found)))] = np.nan",
           tests=(TESTS + "the_share_is_that_of_the_first_points",)),
    Mutant("workbench movies: the axes are those of what is drawn", DATA,
           "ax.update_datalim(points[np.all(np.isfinite(points), axis=1)])", "del points", tests=SHARE),
    Mutant("workbench movies: the exponents are the last ones from the start", EXPONENTS,
           "last = known[np.isfinite(known)][-1:]", "last = row[-1:]",
           tests=(TESTS + "exponents_are_those_at_the_time_and_have_errors_at_the_end",)),
    Mutant("workbench movies: the palette is that of the first frame", MOVIE,
           "for k, picture in enumerate(pictures)]", "for k, picture in enumerate(pictures[:1])]", tests=FRAME),
    Mutant("workbench movies: smaller frames are at the right", MOVIE,
           "(0, width - picture.width), (0, 0))", "(width - picture.width, 0), (0, 0))", tests=FRAME),
    Mutant("workbench movies: marks of a diagram are not hidden", DIAGRAM,
           "line.set_visible(float(", "float(float(", tests=DIAGRAMS),
    Mutant("workbench movies: lines of a diagram are not cut", DIAGRAM,
           "Rectangle((0, 0), share, 1,", "Rectangle((0, 0), 1, 1,", tests=DIAGRAMS),
    Mutant("workbench movies: the last frame is not the whole", MOVIE,
           "drawing(min(1.0, phase + 1 / FRAMES))", "drawing(phase)", tests=LAST),
)  # fmt: skip
