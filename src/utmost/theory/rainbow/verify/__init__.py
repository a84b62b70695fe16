"""Why nothing private is better for ranked answers: forced prefixes, dual prices, pairs across borders."""
