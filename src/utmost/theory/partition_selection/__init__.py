"""Partition selection: keys found privately, which nobody listed."""
