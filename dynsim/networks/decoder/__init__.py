"""Decoder-only transformers, pretrained weights, tokenizers, and a network's attention as a token flow."""
