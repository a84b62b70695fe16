"""Private selection: winners, quantiles, top lists, ranks."""
