"""How often private winners are wrong, by mechanism: exact laws under public priors, 30 people, 3 candidates.

Geometric noisy max and the winner-rainbow against permute-and-flip (= report noisy max with exponential noise), the
exponential mechanism and report noisy max with Laplace noise, all at the same epsilon with "replace". Losses: the wrong
winner is named; by how many votes the one named is behind.
"""

import math
from itertools import permutations

import numpy as np
from scipy.stats import laplace, multinomial

import utmost as um

PEOPLE, NAMES = 30, ("a", "b", "c")


def geometric_max(counts, epsilon, terms=200):
    """The largest count plus twice a geometric number, ties to the first: the winner's lead moves by two a vote."""
    beta, draws, chance = math.exp(-epsilon), np.arange(math.ceil(terms / epsilon)), []
    for c in range(len(counts)):
        law = (1 - beta) * beta**draws
        for other in range(len(counts)):
            if other != c:  # the other is behind: counts[other] + 2g is smaller, or equal and listed later
                most = np.floor((counts[c] + 2 * draws - counts[other] - (other < c)) / 2)
                law = law * np.where(most < 0, 0.0, 1 - beta ** (np.maximum(most, 0) + 1))
        chance.append(law.sum())
    return np.array(chance)


def exponential(counts, epsilon):
    """Probability in proportion to exp(epsilon · count / 2): a replaced vote moves two counts by one each."""
    weights = np.exp(epsilon / 2 * (np.array(counts) - max(counts)))
    return weights / weights.sum()


def permute_and_flip(counts, epsilon):
    """In random order, name a candidate with probability exp(epsilon/2 · (count - best)), until one is named."""
    flip = np.exp(epsilon / 2 * (np.array(counts) - max(counts)))
    chance = np.zeros(len(counts))
    for order in permutations(range(len(counts))):
        left = 1.0
        for c in order:
            chance[c] += left * flip[c] / math.factorial(len(counts))
            left *= 1 - flip[c]
    return chance


def noisy_max(counts, epsilon):
    """The largest count plus Laplace noise of scale 2/epsilon, by integration over the winner's noisy count."""
    scale, grid = 2 / epsilon, np.linspace(-60, 60, 4001)
    chance = []
    for c in range(len(counts)):
        x = counts[c] + scale * grid / 3
        density = laplace.pdf(x, counts[c], scale)
        for other in range(len(counts)):
            if other != c:
                density = density * laplace.cdf(x, counts[other], scale)
        chance.append(np.trapezoid(density, x))
    return np.array(chance) / sum(chance)


def priors():
    """Public priors over the votes: any histogram alike, three equal candidates, a favourite, two that matter."""
    points = list(um.histograms(PEOPLE, 3).points)
    yield "every histogram alike", points, np.full(len(points), 1 / len(points))
    for name, shares in (("three alike", (1 / 3,) * 3), ("50:30:20", (0.5, 0.3, 0.2)), ("48:48:4", (0.48, 0.48, 0.04))):
        yield name, points, multinomial.pmf(points, PEOPLE, shares)


def main():
    print(
        "| prior | ε | loss | noisy max (geometric) | rainbow | permute-and-flip | exponential | noisy max (Laplace) |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for name, points, weights in priors():
        for epsilon in (0.1, 0.5, 1.0, 2.0):
            vote = um.rainbow.plurality(PEOPLE, NAMES, epsilon)
            laws = (
                lambda p, e=epsilon: geometric_max(p, e),
                lambda p, vote=vote: np.array([vote.probabilities(p)[c] for c in NAMES]),
                lambda p, e=epsilon: permute_and_flip(p, e),
                lambda p, e=epsilon: exponential(p, e),
                lambda p, e=epsilon: noisy_max(p, e),
            )
            wrong, behind = np.zeros(len(laws)), np.zeros(len(laws))
            for point, weight in zip(points, weights, strict=True):
                winner = max(range(3), key=lambda c, p=point: (p[c], -c))
                for i, law in enumerate(laws):
                    chance = law(point)
                    wrong[i] += weight * (1 - chance[winner])
                    behind[i] += weight * float(chance @ (max(point) - np.array(point)))
            for loss, values in (("wrong", wrong), ("votes behind", behind)):
                cells = [f"**{v:.4f}**" if v == values.min() else f"{v:.4f}" for v in values]
                print(f"| {name} | {epsilon:g} | {loss} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
