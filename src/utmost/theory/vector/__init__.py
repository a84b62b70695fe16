"""Noise on vectors of integers, and lower bounds on its error."""
