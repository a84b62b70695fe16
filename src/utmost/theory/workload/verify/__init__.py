"""Why nothing private is better for a workload: stated variances, dual prices, flows of nested counts."""
