"""Estimates from released sums, with their noise, intervals and expected errors."""
