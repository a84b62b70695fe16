"""The tight-constraints mechanism, regular priors, and the optimum as a linear program."""
