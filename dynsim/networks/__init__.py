"""Networks whose parts are the systems of this library: decoders with trained weights, and their tokenizers."""
