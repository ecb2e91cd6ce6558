"""Networks with prototypes: the trainable read-out layer, quantisers, and a convolutional autoencoder."""
