"""Estimates from released sums, the noise these need, and what the estimates err by."""
