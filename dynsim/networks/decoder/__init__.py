"""Decoder-only transformers, loaders of trained weights, tokenizers, and the attention of a network as a token flow."""
