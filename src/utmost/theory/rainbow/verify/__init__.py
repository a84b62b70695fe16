"""Checks of optimality for ranked answers: forced prefixes, dual prices, pairs across borders."""
