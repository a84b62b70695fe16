"""One number on a line, and thresholds and tiers of it: the laws that may be released."""
