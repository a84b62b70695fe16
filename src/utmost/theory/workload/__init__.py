"""Many numbers at once: strategies for prefix sums, ranges, marginal tables and hierarchies."""
