"""Mechanisms for integers on a line: designed from public parameters, with proof, accuracy and alternatives."""
