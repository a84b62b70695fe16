"""Workloads: strategies for running counts, ranges, marginal tables and hierarchies, with their lower bounds."""
