"""Design of mechanisms for one number: staircases, canonical noise, chains, thresholds, tiers (LIM chapter 2)."""
