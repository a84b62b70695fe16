"""One of several candidates, named privately: winners, quantiles, top lists, ranks."""
