"""The shortened draws of files that check many claims, and that other files have JAX's own."""

import zlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dynsim.keys import numpy_rng, random_key, uniform_numbers
from tests.support.draws import first_of_one_draw

pytestmark = pytest.mark.retraced

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


def test_keys_and_numbers_in_numpy_have_the_bits_of_jax(monkeypatch):
    def by_jax():
        key = jax.random.fold_in(jax.random.fold_in(jax.random.key(7), zlib.crc32(b"starts")), 2**32 - 1)
        return jax.random.key_data(key), jax.random.uniform(jax.random.fold_in(key, 3), (5,))

    expected = by_jax()
    monkeypatch.setattr(jax.random, "fold_in", None)  # nothing is compiled for them
    key = random_key(7, "starts", 2**32 - 1)
    assert jnp.issubdtype(key.dtype, jax.dtypes.prng_key)
    np.testing.assert_array_equal(jax.random.key_data(key), expected[0])
    np.testing.assert_array_equal(uniform_numbers(key, 3, 5), expected[1])


def test_numbers_of_another_generator_of_jax_are_its_own():
    key = jax.random.key(1, impl="rbg")
    np.testing.assert_array_equal(uniform_numbers(key, 3, 2), jax.random.uniform(jax.random.fold_in(key, 3), (2,)))
