"""The best of all mechanisms known that name winners, quantiles and top lists, with their bounds."""
