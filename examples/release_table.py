"""The tables of docs/accuracy.md: expected losses on the demonstration's questions against the usual alternatives.

Nothing is read: a plan knows all of it. What it knows from tallies drawn from the prior is rounded so that the standard
error is at most one unit of the last digit.
"""

import math
import tempfile
from pathlib import Path

import pyarrow.csv

import utmost as um
from utmost.design.rainbow import choice_facts
from utmost.queries.demo_table import write_survey

EPSILONS = (0.1, 0.5, 1, 2)
ROWS = 25_000
ROUNDED = 1e-8
"""How much the loss of integers that are proved private may exceed that of the formula they are rounded from."""
NOISES = ("Utmost", "geometric", "Laplace", "Gaussian, delta = 1e-06")
CHOICES = ("geometric noisy max", "nearest", "rainbow by winner", "permute and flip", "exponential mechanism")
TOWNS = ["Ash", "Briar", "Cole", "Dean"]
NUMBERS = {
    "count `age >= 65`, mean error": lambda s, r, e: s.plan.count("age >= 65", e),
    "sum of `hours_online`, mean error": lambda s, r, e: s.plan.sum("hours_online", 0, 60, e),
    "mean `income` of N rows, mean error": lambda s, r, e: s.plan.mean("income", 0, 100_000, e, expected_rows=ROWS),
    "majority `agrees`, wrong (10⁻⁴)": lambda s, r, e: s.plan.majority("agrees = 'yes'", e),
    "at least 3000 young noes, wrong (10⁻⁴)": lambda s, r, e: s.plan.threshold("age < 30 AND agrees = 'no'", 3000, e),
    "3 overlapping counts, each": lambda s, r, e: s.plan.counts(["age >= 65", "town = 'Briar'", "agrees = 'yes'"], e),
    "histogram of 4 towns, each": lambda s, r, e: s.plan.histogram("town", TOWNS, e),
    "the same under replace, each": lambda s, r, e: r.plan.histogram("town", TOWNS, e),
    "3 towns and the rest, replace, each": lambda s, r, e: r.plan.histogram("town", TOWNS[:3], e, other="elsewhere"),
}
WINNERS = {
    "most frequent town of four, wrong (10⁻⁴)": lambda s, r, e: s.plan.plurality("town", TOWNS, e),
    "most frequent of yes and no, wrong (10⁻⁴)": lambda s, r, e: s.plan.plurality("agrees", ["yes", "no"], e),
    "median age of 5, mean error (10⁻⁴)": lambda s, r, e: s.plan.quantile(
        "age", 0.5, range(20, 101, 20), e, loss="absolute"
    ),
    "median age of 15, mean error (10⁻⁴)": lambda s, r, e: s.plan.quantile(
        "age", 0.5, range(20, 91, 5), e, loss="absolute"
    ),
}


def noises(plan):
    """The expected loss of a plan's mechanism, of the alternatives, and whose is in bold: Utmost's, never worse."""
    loss = plan.before.loss
    by = {name: (found[loss], 0.0) for name, found in plan.details["compared"].items()}
    return least(by, "Utmost", ROUNDED), "Utmost"


def choices(plan):
    """The same with standard errors, of every mechanism that was looked at, compared on the same tallies."""
    taken = plan.details["mechanism"]
    by = {name: tuple(found[plan.before.loss]) for name, found in choice_facts(plan.solution).compared.items()}
    return least(by, taken, 0.0), taken


def least(by, name, rounded):
    """Losses, if no other is below the one of this name."""
    assert all(by[name][0] <= other * (1 + rounded) for other, _ in by.values()), (name, by)
    return by


def shown(value, error):
    """Four digits of an exact number; of an estimate those that it carries."""
    places = -math.ceil(math.log10(error)) if error else 0
    return f"{round(value, places):.{max(places, 0)}f}" if error else f"{value:.4g}"


def table(title, questions, names, losses):
    """One row a question, one column an epsilon, what Utmost takes in bold, a dash for what is not private there."""
    lines = [f"| {title} | " + " | ".join(f"ε = {e:g}" for e in EPSILONS) + " |", "|---" * (1 + len(EPSILONS)) + "|"]
    with tempfile.TemporaryDirectory() as folder:
        rows = pyarrow.csv.read_csv(write_survey(Path(folder) / "survey.csv", 10))  # plans read names and types only
        sessions = [um.Session(rows, "survey", um.rows(ROWS), kind, budget=1) for kind in ("add-remove", "replace")]
        for question, ask in questions.items():
            scale = 1e4 if "10⁻⁴" in question else 1
            cells = [cell(*losses(ask(*sessions, epsilon)), names, scale) for epsilon in EPSILONS]
            lines.append(f"| {question} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def cell(by, best, names, scale):
    """The losses of one question at one epsilon, in the order of the names."""
    values = {name: shown(by[name][0] * scale, by[name][1] * scale) if name in by else "–" for name in names}
    return " / ".join(f"**{value}**" if name == best else value for name, value in values.items())


def numbers():
    """Counts, sums, means, yes or no, and histograms."""
    return table("**Utmost** / geometric / Laplace / Gaussian (δ = 10⁻⁶)", NUMBERS, NOISES, noises)


def winners():
    """Winners and medians."""
    return table("noisy max / nearest / rainbow / permute and flip / exponential", WINNERS, CHOICES, choices)


if __name__ == "__main__":
    print(numbers(), winners(), sep="\n\n")
