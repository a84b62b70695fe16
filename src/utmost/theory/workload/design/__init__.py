"""Which sums of cells to release, with how much noise each, and what is made of them."""
