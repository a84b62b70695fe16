"""The README's table: expected losses on the demonstration's questions against the usual alternatives, from the laws.

Nothing is read and nothing drawn: a plan knows all of it.
"""

import tempfile
from pathlib import Path

import utmost as um
from utmost.demo_table import write_survey

OTHERS = ("geometric", "Laplace", "Gaussian, delta = 1e-06")


def plans(session, epsilon):
    """The demonstration's five questions at one level."""
    yield "count `age >= 65`, mean error", session.plan.count("age >= 65", epsilon)
    yield "sum of `hours_online`, mean error", session.plan.sum("hours_online", 0, 60, epsilon, grid="0.5")
    yield (
        "mean `income` in Briar, about",
        session.plan.mean("income", 0, 100_000, epsilon, grid=100, where="town = 'Briar'"),
    )
    yield "majority `agrees`, wrong (10⁻⁴)", session.plan.majority("agrees = 'yes'", epsilon)
    yield "at least 3000 young noes, wrong (10⁻⁴)", session.plan.threshold("age < 30 AND agrees = 'no'", 3000, epsilon)


def choices(session, epsilon):
    """Questions whose alternatives are other mechanisms, not other noise."""
    towns = ["Ash", "Briar", "Cole", "Dean"]
    yield "most frequent town of four, wrong (10⁻⁴)", session.plan.plurality("town", towns, epsilon)
    yield "most frequent of yes and no, wrong (10⁻⁴)", session.plan.plurality("agrees", ["yes", "no"], epsilon)
    yield "median age of 15 candidates, mean error (10⁻⁴)", session.plan.quantile("age", 0.5, range(20, 91, 5), epsilon)


def more_plans(session, replaced, epsilon):
    """Several counts at once; cells under both kinds of neighbours."""
    conditions = ["age >= 65", "town = 'Briar'", "agrees = 'yes'"]
    towns = ["Ash", "Briar", "Cole", "Dean"]
    yield "3 overlapping counts, mean error of each", session.plan.counts(conditions, epsilon)
    yield "histogram of 4 towns, add-remove, each", session.plan.histogram("town", towns, epsilon)
    yield "histogram of 4 towns, replace, each", replaced.plan.histogram("town", towns, epsilon)


def print_choices(session):
    """The second table: rainbow by winner, permute and flip, and the exponential mechanism."""
    names = ("rainbow by winner", "permute and flip", "exponential mechanism")
    print("\n| question, what is lost | ε | **Utmost** takes | rainbow by winner | permute and flip | exponential |")
    print("|---|---|---|---|---|---|")
    for epsilon in (0.1, 0.5, 1, 2):
        for name, plan in choices(session, epsilon):
            loss, taken = plan.accuracy["before"]["loss"], plan.details["mechanism"]
            by = {**plan.details["compared"], taken: plan.details["compared"]["Utmost"]}
            values = {each: by[each][loss] * 1e4 for each in names}
            assert values[taken] == min(values.values()), (name, epsilon)
            cells = [f"**{v:.4g}**" if each == taken else f"{v:.4g}" for each, v in values.items()]
            print(f"| {name} | {epsilon:g} | {taken} | " + " | ".join(cells) + " |")


def main():
    with tempfile.TemporaryDirectory() as folder:
        table = write_survey(Path(folder) / "survey.csv", 10)
        session = um.Session(table, "survey", um.rows(at_most=25_000), "add-remove", budget=1)
        replaced = um.Session(table, "survey", um.rows(at_most=25_000), "replace", budget=1)
        print("| question, what is lost | ε | **Utmost** | geometric | Laplace | Gaussian (δ = 10⁻⁶) |")
        print("|---|---|---|---|---|---|")
        for epsilon in (0.1, 0.5, 1, 2):
            for name, plan in (*plans(session, epsilon), *more_plans(session, replaced, epsilon)):
                loss = plan.accuracy["before"]["loss"]
                scale = 1e4 if loss == "zero-one" else 1
                values = [plan.details["compared"][who][loss] * scale for who in ("Utmost", *OTHERS)]
                assert all(values[0] <= other * (1 + 1e-12) for other in values[1:]), (name, epsilon)
                cells = [f"**{values[0]:.4g}**", *(f"{value:.4g}" for value in values[1:])]
                print(f"| {name} | {epsilon:g} | " + " | ".join(cells) + " |")
        print_choices(session)


if __name__ == "__main__":
    main()
