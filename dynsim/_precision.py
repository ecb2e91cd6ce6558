"""The one precision policy: float64 is available, and matrix products are never rounded below their type."""

import jax

jax.config.update("jax_enable_x64", True)  # jnp.asarray would round a NumPy float64 array without a word
jax.config.update("jax_default_matmul_precision", "highest")  # "float32" on recent GPUs is else 10 bits
