"""CUDA kernels of the interactions: C++ text, and the functions of JAX arrays that launch it."""
