"""Noise on integers: a law in each file, with its probabilities, its tail, exact draws and the proof of its level."""
