"""Systems and the means to run them."""
