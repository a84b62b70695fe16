"""The pictures of the documentation: HET Figure 1 (three votes), a majority of 101 people, RAIN Figure 2."""

from pathlib import Path

import numpy as np

import utmost as um

IMAGES = Path(__file__).parent.parent / "docs" / "images"


def main():
    votes = um.hamming(3, (1, 2))
    levels = um.per_edge(votes, {((1, 2, 1), (2, 2, 1)): 0.5, ((1, 1, 2), (2, 1, 2)): 0.5}, default=1)
    solution = um.binary.best_boundary(votes, lambda v: 2 if v.count(2) > 1 else 1, levels, outputs=(1, 2))
    print(solution, solution.verify(), sep="\n")
    um.plot.save(um.plot.draw(solution, "Majority of three votes, two edges better protected"), IMAGES / "votes.png")
    majority = um.binary.balanced(um.counts(101), lambda yes: yes > 50, 1.0)
    um.plot.save(um.plot.draw(majority, "Majority of 101 people, ε = 1"), IMAGES / "majority.png")
    for part, start in (("a", (0.0545, 0.1636, 0.7819)), ("b", (0.1636, 0.0545, 0.7819))):
        figure = um.plot.rainbow(start, 0.1823, 21, ("blue", "red", "green"), f"RAIN Figure 2 ({part}), ε = 0.1823")
        um.plot.save(figure, IMAGES / f"rain-figure-2{part}.png")
    draw_losses()
    draw_local()


def draw_local():
    """LIM Figures 3.3, 3.4, 3.6 and 3.7 on random instances: the simple local mechanisms against the optimum."""
    rng = np.random.default_rng(0)
    pairs = [tuple(rng.dirichlet(np.ones(6), 2)) for _ in range(40)]
    epsilons = [0.25, 0.5, 1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10]
    figure = um.plot.simple_against_optimal(pairs, epsilons, "Two hypotheses on six letters, 40 random instances")
    um.plot.save(figure, IMAGES / "local-divergence.png")
    priors = [p for p, _ in pairs]
    figure = um.plot.information_shares(priors, epsilons, "Information on six letters, 40 random priors")
    um.plot.save(figure, IMAGES / "local-information.png")
    figure = um.plot.local_shares(pairs, epsilons, "The better of binary and randomised response / optimum (KL)")
    um.plot.save(figure, IMAGES / "local-shares.png")


def draw_losses():
    """Mean absolute error of a sum of six values 0..5 against epsilon: the optimum and the usual ways."""
    space = um.sums(6, 5)
    epsilons = [0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0]
    curves = {
        "geometric noise": [
            um.finite.geometric(31, e / 5).expected_loss(loss="absolute", remap="none") for e in epsilons
        ],
        "geometric, best remap": [um.finite.geometric(31, e / 5).expected_loss(loss="absolute") for e in epsilons],
        "optimal, proved": [um.finite.optimal(space, e, loss="absolute").value for e in epsilons],
    }
    figure = um.plot.losses(epsilons, curves, "A sum of six values 0..5, uniform prior", "mean absolute error")
    um.plot.save(figure, IMAGES / "sum-losses.png")
    best = um.finite.optimal(space, 1.0, loss="absolute")
    um.plot.save(
        um.plot.heat_map(best.mechanism, "Best for the mean absolute error, ε = 1"), IMAGES / "sum-optimal.png"
    )


if __name__ == "__main__":
    main()
