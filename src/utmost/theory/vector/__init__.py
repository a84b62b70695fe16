"""Several integers with one vector of noise."""
