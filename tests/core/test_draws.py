"""The shortened draws of files that check many claims, and that other files have JAX's own."""

import jax
import numpy as np
import pytest

from dynsim.keys import numpy_rng, random_key
from tests.support.draws import first_of_one_draw

KEY = jax.random.key(3)


@pytest.mark.parametrize("draw", [jax.random.normal, jax.random.uniform])
def test_numbers_are_those_of_a_draw_of_the_shape(draw):
    for shape in ((), (3,), (4, 5)):
        np.testing.assert_array_equal(first_of_one_draw(draw)(KEY, shape), draw(KEY, shape))
    np.testing.assert_array_equal(
        jax.jit(lambda key: first_of_one_draw(draw)(key, (3,)))(KEY), jax.jit(lambda key: draw(key, (3,)))(KEY)
    )


def test_bounds_and_types_are_kept():
    drawn = first_of_one_draw(jax.random.uniform)(KEY, (3,), "float32", minval=-2.0, maxval=5.0)
    expected = jax.random.uniform(KEY, (3,), "float32", minval=-2.0, maxval=5.0)
    np.testing.assert_array_equal(drawn, expected)
    assert drawn.dtype == "float32"


def test_numbers_of_numpy_depend_on_the_key_and_on_the_purpose():
    first, again, other, key = (
        numpy_rng(*of).normal(size=3).tolist()
        for of in ((KEY, "starts"), (KEY, "starts"), (KEY, "order"), (random_key(1, "draws"), "starts"))
    )
    assert first == again
    assert first != other
    assert first != key
    assert numpy_rng(KEY).normal() == numpy_rng(KEY, "").normal()


def test_files_that_do_not_ask_draw_as_users_do():
    assert "first_of_one_draw" not in jax.random.normal.__code__.co_qualname
    assert "first_of_one_draw" not in jax.random.uniform.__code__.co_qualname


def test_files_that_ask_have_short_draws(short_draws):
    assert "first_of_one_draw" in jax.random.normal.__code__.co_qualname
