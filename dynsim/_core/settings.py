"""The settings of JAX: float64 is there, products keep their precision, and a CPU runs a program where it is called."""

import jax

jax.config.update("jax_enable_x64", True)  # jnp.asarray would round a NumPy float64 array without a word
jax.config.update("jax_default_matmul_precision", "highest")  # "float32" on recent GPUs is else 10 bits
jax.config.update(
    "jax_cpu_enable_async_dispatch", False
)  # another thread takes 7 us to begin: a small field, twice over
