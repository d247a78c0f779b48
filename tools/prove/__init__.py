"""Small mistakes, drawn by a number, that some test must notice: `make prove SEED=1`."""
