"""Design of strategies for workloads: which sums of cells to release, with how much noise, and the estimates."""
