"""Neural networks built from the systems of this library: decoders, classifiers, and multirate networks."""
