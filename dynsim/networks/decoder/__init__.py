"""Decoder-only transformers with trained weights, their tokenizers, and their attention as a token flow."""
