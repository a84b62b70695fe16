"""Why nothing private is better for one number: the staircase's dual, thresholds, tiers."""
