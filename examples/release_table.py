"""The README's tables: expected losses on the demonstration's questions against the usual alternatives.

Nothing is read: a plan knows all of it. What it knows from tallies drawn from the prior is rounded so that the standard
error is at most one unit of the last digit.
"""

import math
import tempfile
from pathlib import Path

import utmost as um
from utmost.design.rainbow import choice_facts
from utmost.release.demo_table import write_survey
from utmost.space.integers import Tallies

EPSILONS = (0.1, 0.5, 1, 2)
NOISES = ("Utmost", "geometric", "Laplace", "Gaussian, delta = 1e-06")
CHOICES = ("geometric noisy max", "rainbow by winner", "permute and flip", "exponential mechanism")
TOWNS = ["Ash", "Briar", "Cole", "Dean"]
NUMBERS = {
    "count `age >= 65`, mean error": lambda s, r, e: s.plan.count("age >= 65", e),
    "sum of `hours_online`, mean error": lambda s, r, e: s.plan.sum("hours_online", 0, 60, e, grid="0.5"),
    "mean `income` of N rows, mean error": lambda s, r, e: s.plan.mean("income", 0, 100_000, e, grid=100),
    "majority `agrees`, wrong (10⁻⁴)": lambda s, r, e: s.plan.majority("agrees = 'yes'", e),
    "at least 3000 young noes, wrong (10⁻⁴)": lambda s, r, e: s.plan.threshold("age < 30 AND agrees = 'no'", 3000, e),
    "3 overlapping counts, each": lambda s, r, e: s.plan.counts(["age >= 65", "town = 'Briar'", "agrees = 'yes'"], e),
    "histogram of 4 towns, each": lambda s, r, e: s.plan.histogram("town", TOWNS, e),
    "the same under replace, each": lambda s, r, e: r.plan.histogram("town", TOWNS, e),
}
ROWS = 25_000
WINNERS = {
    "most frequent town of four, wrong (10⁻⁴)": lambda e: um.rainbow.best_winner(tallies(4), e),
    "most frequent of yes and no, wrong (10⁻⁴)": lambda e: um.rainbow.best_winner(tallies(2), e),
    "median age of 15, mean error (10⁻⁴)": lambda e: um.rainbow.best_quantile(tallies(15), 0.5, range(20, 91, 5), e),
}


def tallies(cells):
    """All tallies of at most so many rows, which come or go."""
    return Tallies(cells, ROWS, "add-remove")


def losses(plan):
    """The expected losses of a plan's mechanism and of the alternatives, in the declared loss; never worse.

    Estimates are compared on the same tallies.
    """
    loss, taken = plan.accuracy["before"]["loss"], plan.details["mechanism"]
    by = {who: found[loss] for who, found in plan.details["compared"].items()}
    by[taken] = by["Utmost"]
    assert all(by["Utmost"] <= other * (1 + 1e-12) for other in by.values()), plan
    return by, taken


def errors(plan):
    """The standard errors of the same, 0 where they are exact."""
    loss, joint = plan.accuracy["before"]["loss"], plan.question.joint
    by = getattr(joint.design, "errors", {}) if joint else {}
    return {name: found[loss] for name, found in by.items()}


def shown(value, error):
    """Four digits of an exact number; of an estimate those that it carries."""
    places = -math.ceil(math.log10(error)) if error else 0
    return f"{round(value, places):.{max(places, 0)}f}" if error else f"{value:.4g}"


def table(title, questions, names, scaled, sessions):
    """One row a question, one column an epsilon, Utmost's choice in bold."""
    lines = [f"| {title} | " + " | ".join(f"ε = {e:g}" for e in EPSILONS) + " |", "|---" * (1 + len(EPSILONS)) + "|"]
    for question, ask in questions.items():
        cells, scale = [], 1e4 if scaled in question else 1
        for epsilon in EPSILONS:
            plan = ask(*sessions, epsilon)
            (by, taken), carried = losses(plan), errors(plan)
            best = "Utmost" if "Utmost" in names else taken
            values = {name: shown(by[name] * scale, carried.get(name, 0) * scale) for name in names}
            cells.append(" / ".join(f"**{v}**" if n == best else v for n, v in values.items()))
        lines.append(f"| {question} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def numbers():
    """Counts, sums, means, yes or no, and histograms."""
    return table("**Utmost** / geometric / Laplace / Gaussian (δ = 10⁻⁶)", NUMBERS, NOISES, "10⁻⁴", opened())


def winners():
    """Winners and medians: every mechanism that was compared, the one that is taken in bold."""
    title = "geometric noisy max / rainbow by winner / permute and flip / exponential"
    lines = [f"| {title} | " + " | ".join(f"ε = {e:g}" for e in EPSILONS) + " |", "|---" * (1 + len(EPSILONS)) + "|"]
    for question, design in WINNERS.items():
        cells = []
        for epsilon in EPSILONS:
            best = design(epsilon)
            by = {name: found[best.problem.data["loss"]] for name, found in choice_facts(best).compared.items()}
            values = {name: shown(by[name].value * 1e4, by[name].error * 1e4) for name in CHOICES}
            cells.append(" / ".join(f"**{v}**" if n == best.certificate.method else v for n, v in values.items()))
        lines.append(f"| {question} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def opened():
    """A session for each kind of neighbours; only the names and types of columns are read."""
    with tempfile.TemporaryDirectory() as folder:
        rows = write_survey(Path(folder) / "survey.csv", 10)
        return [
            um.Session(rows, "survey", um.rows(at_most=ROWS), neighbours, budget=1)
            for neighbours in ("add-remove", "replace")
        ]


if __name__ == "__main__":
    print(numbers(), winners(), sep="\n\n")
