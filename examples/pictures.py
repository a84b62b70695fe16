"""The pictures of the documentation: three votes, a majority, and figures of RAIN and LIM."""

from pathlib import Path

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
    draw_accounting()


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


def draw_accounting():
    """LIM Figures 2.1, 2.4 and 2.5, and a budget with some spends."""
    um.plot.save(um.plot.level_region(1, 0.1), IMAGES / "lim-figure-2-1.png")
    for part, delta in (("a", 0), ("b", 0.1)):
        level = um.ApproxDP(0.4, delta)
        figure = um.plot.composition_regions(level, range(1, 6), f"LIM Figure 2.4 ({part}): k releases at {level}")
        um.plot.save(figure, IMAGES / f"lim-figure-2-4{part}.png")
    um.plot.save(um.plot.theorem_regions(0.1, 0.001, 30), IMAGES / "lim-figure-2-5.png")
    ledger = um.Ledger(None)
    survey = ledger.open("survey-2026", um.ApproxDP(2, 1e-5), "rows, at most 20000", "add-remove")
    with survey.reserve_batch([0.05] * 60, {"histogram": "age"}, delta=1e-6) as entry:
        entry.complete("...")
    clinic = ledger.open("clinic", 1, "people, 3 visits each", "replace")
    with clinic.reserve(0.3, {"count": "all"}) as entry:
        entry.complete("...")
    um.plot.save(um.plot.budget([survey, clinic]), IMAGES / "budgets.png")


if __name__ == "__main__":
    main()
