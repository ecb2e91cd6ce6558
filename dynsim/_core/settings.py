"""JAX settings: float64 is enabled, products keep their precision, and CPU calls run synchronously."""

import jax

jax.config.update("jax_enable_x64", True)  # otherwise `jnp.asarray` silently rounds float64 to float32
jax.config.update("jax_default_matmul_precision", "highest")  # otherwise float32 products on recent GPUs have 10 bits
jax.config.update(
    "jax_cpu_enable_async_dispatch", False
)  # dispatch to another thread takes 7 us, twice the time of a small field
