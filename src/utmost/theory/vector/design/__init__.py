"""Design of noise on vectors of integers, and the evidence for its lower bound."""
