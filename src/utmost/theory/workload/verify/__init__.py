"""Verifiers of workloads: recomputed variances, dual bounds of factorisations, flows for nested counts."""
