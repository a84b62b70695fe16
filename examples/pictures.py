"""The pictures of the guides, into docs/images; those of the papers are made by gallery.py."""

from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import utmost as um
from utmost.queries.demo_table import write_survey

IMAGES = Path(__file__).parent.parent / "docs" / "images"


def main():
    votes = um.hamming(3, (1, 2))
    levels = um.per_edge(votes, {((1, 2, 1), (2, 2, 1)): 0.5, ((1, 1, 2), (2, 1, 2)): 0.5}, default=1)
    solution = um.binary.best_boundary(votes, lambda v: 2 if v.count(2) > 1 else 1, levels, outputs=(1, 2))
    print(solution, solution.verify(), sep="\n")
    um.plot.save(um.plot.draw(solution, "Majority of three votes, two edges better protected"), IMAGES / "votes.png")
    majority = um.binary.balanced(um.counts(101), lambda yes: yes > 50, 1.0)
    um.plot.save(um.plot.draw(majority, "Majority of 101 people, ε = 1"), IMAGES / "majority.png")
    draw_comparison()
    draw_losses()
    draw_release()
    draw_questions()
    draw_workloads()
    draw_noise()
    draw_local()
    draw_accounting()


def draw_comparison():
    """Expected losses of eight questions at epsilon 1, as multiples of Utmost's: what the README opens with."""
    import matplotlib.pyplot as plt

    three = ["age >= 65", "town = 'Briar'", "agrees = 'yes'"]
    with opened("add-remove") as s, opened("replace") as r:
        asked = {
            "sum of hours online": s.plan.sum("hours_online", 0, 60, 1, grid="0.5"),
            "mean income": s.plan.mean("income", 0, 100_000, 1, grid=100),
            "variance of income": s.plan.variance("income", 0, 100_000, 1, grid=1000),
            "3 overlapping counts": s.plan.counts(three, 1),
            "4 cells, rows replaced": r.plan.histogram("town", ["Ashford", "Briar", "Coldwell"], 1, other="elsewhere"),
            "cumulative counts, 30 edges": s.plan.cdf("age", list(range(20, 80, 2)), 1),
            "most frequent town of 4": s.plan.plurality("town", ["Ashford", "Briar", "Coldwell", "Dunmore"], 1),
            "median age of 15": s.plan.quantile("age", 0.5, range(20, 91, 5), 1),
        }
        losses = {name: {k: v[p.before.loss] for k, v in p.details["compared"].items()} for name, p in asked.items()}
    others = {
        "geometric noise, each number": "geometric",
        "Laplace noise, each number": "Laplace",
        "Gaussian noise, δ = 10⁻⁶": "Gaussian, delta = 1e-06",
        "permute and flip": "permute and flip",
        "exponential mechanism": "exponential mechanism",
    }
    figure, axes = plt.subplots(figsize=(8, 5.2), layout="constrained")
    height, colours = 0.24, ("#9db4cc", "#c9b79c", "#c99b9b", "#a9c2a0", "#b6a7c9")
    for j, (label, key) in enumerate(others.items()):
        places, ratios = [], []
        for i, by in enumerate(losses.values()):
            here = [k for k in others.values() if k in by]
            if key in by:
                places.append(i + (here.index(key) - (len(here) - 1) / 2) * height)
                ratios.append(by[key] / by["Utmost"])
        axes.barh(places, ratios, height * 0.9, label=label, color=colours[j])
        for y, ratio in zip(places, ratios, strict=True):
            axes.text(ratio * 1.02, y, f"{ratio:.2f}", va="center", fontsize=7.5, color="#444")
    axes.axvline(1, color="#4271ae", linewidth=2, label="Utmost")
    axes.set_yticks(range(len(losses)), list(losses))
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlim(0.9, 12)
    axes.set_xticks([1, 2, 4, 8], ["1", "2", "4", "8"])
    axes.minorticks_off()
    axes.set_xlabel("expected error at ε = 1, as a multiple of Utmost's (less is better)")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=8, loc="lower right", frameon=False)
    um.plot.save(figure, IMAGES / "comparison.png")


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


def draw_release():
    """What a sum over a table loses on average, against epsilon: the staircase against the usual noises."""
    epsilons = [0.25 * i for i in range(1, 17)]
    with opened("add-remove") as session:
        plans = [session.plan.sum("hours_online", 0, 60, e, grid="0.5") for e in epsilons]
        found = [{name: by["absolute"] for name, by in p.details["compared"].items()} for p in plans]
        bound = [p.details["proof"]["bound"] for p in plans]
    curves = {"Laplace or geometric noise": [by["geometric"] for by in found], "Utmost": [by["Utmost"] for by in found]}
    title = "Sum of hours, 0 to 60, of at most 25,000 people"
    figure = um.plot.losses(epsilons, curves, title, "expected absolute error, hours")
    axes = figure.axes[0]
    axes.plot(epsilons, bound, "k--", linewidth=1, label="no private mechanism is below")  # on top of Utmost's curve
    axes.set_yscale("log")
    axes.legend(frameon=False)
    um.plot.save(figure, IMAGES / "release-sum.png")


def draw_questions():
    """What each of several overlapping counts loses on average, against how many there are."""
    sizes = list(range(1, 21))
    with opened("add-remove") as session:
        plans = [session.plan.counts([f"age >= {20 + i}" for i in range(d)], 1) for d in sizes]
        found = [{name: by["absolute"] for name, by in p.details["compared"].items()} for p in plans]
    with opened("replace") as session:
        cube = [session.plan.counts([f"age >= {20 + i}" for i in range(d)], 1).before.average for d in sizes]
    curves = {
        "Utmost, rows added or removed": [by["Utmost"] for by in found],
        "Utmost, rows replaced": cube,
        "geometric noise at ε/d each": [by["geometric"] for by in found],
        "Gaussian noise, δ = 10⁻⁶": [by["Gaussian, delta = 1e-06"] for by in found],
    }
    figure = um.plot.losses(
        sizes, curves, "Overlapping counts at ε = 1 in all", "expected absolute error of each count"
    )
    figure.axes[0].set_xlabel("how many counts")
    figure.axes[0].set_xticks([1, 5, 10, 15, 20])
    um.plot.save(figure, IMAGES / "questions-counts.png")


@contextmanager
def opened(neighbours):
    """The demonstration's survey, to plan with: only the names and types of its columns are read."""
    with TemporaryDirectory() as folder:
        rows = write_survey(Path(folder) / "survey.csv", 10)
        yield um.Session(rows, "survey", um.rows(at_most=25_000), neighbours, budget=1)


def draw_workloads():
    """Many numbers at once: counts below m edges, and all two-way tables of four columns, beside independent noise."""
    import matplotlib.pyplot as plt

    from utmost.design.workload import best_marginals, even_split
    from utmost.theory.workload.verify.checks import marginal_optimum

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    edges = [10, 20, 30, 50, 70, 100, 128, 250, 500, 1000]
    with opened("add-remove") as session:
        cells = [sum_losses(m) for m in edges]
        ours = [session.plan.cdf("age", list(range(m)), 1).question.average for m in edges]
        normal = [session.plan.cdf("age", list(range(m)), um.GaussianDP(1)).question.average for m in edges]
    left.plot(edges, [1 / np.sinh(1 / m) for m in edges], color="0.6", label="noise on each count, ε/m")
    left.plot(edges, cells, color="0.3", linestyle="--", label="noise on cells, added up, ε = 1")
    left.plot(edges, ours, color="C0", label="Utmost, ε = 1")
    left.plot(edges, normal, color="C1", label="Utmost, μ = 1")
    left.set(xscale="log", yscale="log", xlabel="counts below m edges", ylabel="expected absolute error of a count")
    left.legend(frameon=False, fontsize=8)
    shape, pairs = (5, 10, 20, 50), ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
    for place, level in enumerate((um.PureDP(1), um.GaussianDP(1))):
        heights = [even_split(shape, pairs, "any", 1, level), best_marginals(shape, pairs, "any", 1, 1, level).value]
        heights += [marginal_optimum(shape, pairs) / 2100] if place else []
        for i, height in enumerate(heights):
            at = place * 4 + i
            right.bar(at, height, color=["0.6", "C0", "white"][i], edgecolor="k", linewidth=0.5)
            right.text(at, height, f"{height:.3g}", ha="center", va="bottom", fontsize=9)
    right.set(yscale="log", ylim=(1, 120), xticks=[0, 1, 4, 5, 6], ylabel="variance of a number")
    right.set_xticklabels(
        ["equal\nshares\nε = 1", "Utmost\n\nε = 1", "equal\nshares\nμ = 1", "Utmost\n\nμ = 1", "best\nGaussian\nμ = 1"],
        fontsize=8,
    )
    right.set_title("all two-way tables of 5, 10, 20 and 50 values", fontsize=9)
    um.plot.save(figure, IMAGES / "workloads.png")


def sum_losses(m):
    """What running sums of m cells with geometric noise err by on average."""
    from fractions import Fraction

    from utmost.mechanism.noise.independent import IndependentLaw
    from utmost.mechanism.noise.staircase import geometric_law
    from utmost.theory.workload.design.nested_counts import sum_losses

    law = IndependentLaw(m, geometric_law(Fraction(np.exp(-1.0))))
    return sum_losses(law, ["absolute"])["absolute"]


def draw_noise():
    """LIM Figures 2.2 and 2.3, and the costs of noise on two numbers against epsilon."""
    line = um.plot.noise_density(um.noise.staircase(1.0), title="The best noise on one number, ε = 1")
    um.plot.save(line, IMAGES / "noise-density.png")
    plane = um.plot.noise_density(um.noise.staircase(1.0, dimension=2), title="The best noise on two numbers, ε = 1")
    um.plot.save(plane, IMAGES / "noise-density-2.png")
    um.plot.save(um.plot.noise_gamma(), IMAGES / "noise-gamma.png")
    um.plot.save(um.plot.noise_costs([0.25 * i for i in range(1, 49)]), IMAGES / "noise-costs.png")


def draw_accounting():
    """Two budgets with some spends."""
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
