"""Why no local mechanism is better: partitions of the letters, and prices of all patterns."""
