"""Queries with finitely many results: the optimum for a prior, or for a region of priors (REG)."""
