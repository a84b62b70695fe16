"""What tables of many numbers err by, against noise for one question at a time: for docs/questions.md and the README.

Run `python tools/tables.py` after a change; a long test holds both against it. All are expected errors of plans, at
epsilon 1 in all, of 20,000 rows that come or go; only those of quantiles are averaged over seeded draws.
"""

import pathlib

import numpy as np
import pyarrow

import utmost as um

ROOT = pathlib.Path(__file__).parents[1]
START, END = "<!-- errors of tables, made by tools/tables.py -->\n", "<!-- end of the table -->\n"
ROWS, GROUPS, EDGES = 20_000, 16, 100
SHARES = [i / 10 for i in range(1, 10)]


def opened(rows):
    return um.Session(
        pyarrow.table({"x": [1], "g": [1]}), "t", um.rows(at_most=rows), "add-remove", um.ApproxDP(10, "1e-6")
    )


def computed():
    """Rows of the table: what is asked, what ours errs by, what one question at a time does, and in which unit."""
    s, keys, group = opened(ROWS), um.keys(g=range(GROUPS)), opened(ROWS // GROUPS)
    edges, candidates = range(1, EDGES + 1), range(0, 100)
    alone = f"1/{GROUPS}"
    one = s.plan.count("x > 0", f"1/{EDGES}", unbiased=True).before.average
    gaussian = s.plan.count("x > 0", um.GaussianDP("0.1"), unbiased=True).before.average
    rank = s.plan.quantile("x", 0.5, candidates, f"1/{len(SHARES)}", loss="rank").before.average
    ours = rank_of_quantiles(s.plan.quantile("x", SHARES, candidates, 1).question)
    variance = s.plan.variance("x", 0, 100, 1)
    usual = {name: by["absolute"] for name, by in variance.question.losses.items() if name != "Utmost"}
    return [
        (
            f"means of {GROUPS} groups, values 0 to 100",
            s.plan.mean("x", 0, 100, 1, by=keys).before.average,
            group.plan.mean("x", 0, 100, alone).before.average,
            "of the mean",
        ),
        (f"a CDF of {EDGES} edges", s.plan.cdf("x", edges, 1).before.average, one, "rows"),
        ("the same at 1-Gaussian DP", s.plan.cdf("x", edges, um.GaussianDP(1)).before.average, gaussian, "rows"),
        (
            f"{len(SHARES)} quantiles among {len(candidates)} candidates",
            ours,
            rank,
            "rows",
        ),
        ("a variance, values 0 to 100", variance.before.average, min(usual.values()), "of the variance"),
    ]


def rank_of_quantiles(question, tables=400):
    """By how many rows named quantiles are off, averaged over seeded draws: of tables, all alike, and of noise."""
    rng, cells, noise = np.random.default_rng(0), len(question.candidates), question.solution.mechanism.noise
    decay, found = float(noise.single.decay), []
    for _ in range(tables):
        bars = np.sort(rng.choice(ROWS + cells, cells, replace=False))
        tally = np.diff(bars, prepend=-1) - 1  # of at most so many rows, all tallies alike
        point = np.array(question.point({f"c{i}": int(x) for i, x in enumerate(tally)}))
        drawn = point + rng.geometric(1 - decay, len(point)) - rng.geometric(1 - decay, len(point))
        sums = np.cumsum(tally)
        for q, named in question.value(question.released(drawn.tolist())).items():
            place, wanted = question.candidates.index(named), q * sums[-1]
            before = sums[place - 1] if place else 0
            found.append(max(wanted - sums[place], before - wanted, 0.0))
    return float(np.mean(found))


def table(rows):
    """The table in Markdown."""
    head = "| asked at ε = 1 of 20,000 rows | Utmost | one question at a time | mean error in |\n|---|---|---|---|\n"
    return head + "".join(f"| {what} | {ours:.3g} | {usual:.3g} | {unit} |\n" for what, ours, usual, unit in rows)


def sentence(rows):
    """The short form of the README."""
    parts = [f"{what} ({ours:.3g} instead of {usual:.3g})" for what, ours, usual, _ in rows[:2]]
    more = "([by groups](docs/questions.md#by-groups))"
    return f"Mean errors of many numbers from one release, at ε = 1: {'; '.join(parts)} {more}.\n"


def pages():
    """Both pages with what is computed."""
    rows, found = computed(), {}
    for path, made in (("docs/questions.md", f"\n{table(rows)}\n"), ("README.md", sentence(rows))):
        before, rest = (ROOT / path).read_text(encoding="utf-8").split(START)
        found[ROOT / path] = before + START + made + END + rest.split(END)[1]
    return found


if __name__ == "__main__":
    for where, text in pages().items():
        where.write_text(text, encoding="utf-8")
