"""Means, variances and covariances, estimated from released sums."""
