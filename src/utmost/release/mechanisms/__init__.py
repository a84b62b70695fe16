"""Mechanisms for one integer, several counts, or a candidate: designed from public parameters, proved, compared."""
