"""Design of selection mechanisms: winners, quantiles and top lists, with their lower bounds."""
