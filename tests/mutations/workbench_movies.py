"""Errors in movies of sections and exponents, and the tests that notice them."""

from tests.mutants import Mutant

DATA, EXPONENTS, MOVIE = "figures.panels.growing_data", "figures.panels.exponents", "figures.movie"
TESTS = "tests/test_growing_panels.py::test_"
SHARE = (TESTS + "a_share_is_drawn_on_the_axes_of_all",)
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
    Mutant("workbench movies: the last frame is not the whole", MOVIE,
           "drawing(min(1.0, phase + 1 / FRAMES))", "drawing(phase)", tests=LAST),
)  # fmt: skip
