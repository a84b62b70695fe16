"""Checks of optimality for local mechanisms: partitions of the letters, and dual prices of all patterns."""
