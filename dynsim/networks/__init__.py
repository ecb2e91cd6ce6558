"""Neural networks built from the systems of this library: decoders, sentiment classifiers, multirate networks."""
