"""The README's table: how often a private majority of 101 people is right, by mechanism, at epsilon = 1."""

import math

from scipy.optimize import brentq
from scipy.stats import norm

import utmost as um

EPSILON, DELTA = 1.0, 1e-6


def gaussian_sigma(epsilon, delta):
    """The least sigma for which N(0, sigma^2) on a count is (epsilon, delta)-private (Balle and Wang 2018)."""

    def excess(sigma):
        half, shift = 1 / (2 * sigma), epsilon * sigma
        return norm.cdf(half - shift) - math.exp(epsilon) * norm.cdf(-half - shift) - delta

    return brentq(excess, 0.1, 100)


def main():
    pure = um.binary.balanced(um.counts(101), lambda yes: yes > 50, EPSILON).mechanism
    approx = um.binary.balanced(um.counts(101), lambda yes: yes > 50, um.ApproxDP(EPSILON, DELTA)).mechanism
    sigma = gaussian_sigma(EPSILON, DELTA)
    rows = {
        "Utmost, proved best": lambda yes: pure.probability(yes, True),
        "geometric noise, then compare": lambda yes: 1 - math.exp(-EPSILON * (yes - 50)) / (1 + math.exp(-EPSILON)),
        "Laplace noise, then compare": lambda yes: 1 - math.exp(-EPSILON * (yes - 50.5)) / 2,
        "Utmost at (1, 1e-6), proved best": lambda yes: approx.probability(yes, True),
        "Gaussian noise at (1, 1e-6), then compare": lambda yes: norm.cdf((yes - 50.5) / sigma),
    }
    print("| yes of 101 | 51 | 52 | 53 | 55 | 60 |\n|---|---|---|---|---|---|")
    for name, right in rows.items():
        print(f"| {name} | " + " | ".join(f"{right(yes):.4f}" for yes in (51, 52, 53, 55, 60)) + " |")


if __name__ == "__main__":
    main()
