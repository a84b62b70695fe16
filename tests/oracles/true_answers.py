"""What is asked of the skewed table, each question with its answer by numpy."""

from itertools import combinations

import numpy as np
import pyarrow
from oracles.skewed import GROUPS, REGIONS, SIZES, inverted_cdf

import utmost as um

LEVEL, FOUND_LEVEL = um.PureDP("0.5"), um.ApproxDP(1, "1e-6")
BOTH = um.keys(region=["few", "many"], stops=[0, 1, 2, 3])
LEAVES = um.keys(pyarrow.table({"region": list(REGIONS.values()), "group": list(REGIONS)}))
EDGES, CANDIDATES = [0, 0.1, 0.25, 0.5, 1.1], [0, 5, 10, 20, 40, 80, 160]


def by_group(of):
    """What is true of each group."""
    return lambda table: {name: of(table.group(name)) for name in SIZES}


def found_keys(asking):
    """Every group of a person, so that all rows that are used have their key."""
    return um.discover("group", keys_each=1 if asking.terms.unit.id is None else len(SIZES))


def mean(name, lower, upper):
    return lambda table: float(table.clamped(name, lower, upper).mean())


def total(name, lower, upper):
    return lambda table: float(table.clamped(name, lower, upper).sum())


def variance(name, lower, upper):
    return lambda table: float(table.clamped(name, lower, upper).var())


def quantile(name, lower, upper, q):
    return lambda table: inverted_cdf(table.clamped(name, lower, upper), q)


def covariance(table):
    x, y = table["share"], np.clip(table["amount"], 0, 100)
    both = float(np.cov(x, y, bias=True)[0, 1])
    return {"covariance": both, "correlation": float(np.corrcoef(x, y)[0, 1]), "slope": both / float(x.var())}


def late(table):
    return int(table["late"].sum())


def ranges(table):
    x = table["share"]
    return {f"[{low}, {high})": int(((x >= low) & (x < high)).sum()) for low, high in combinations(EDGES, 2)}


def marginals(table):
    found = {(..., ...): len(table)}
    for region in ("few", "many"):
        rows_of = table.where(table["region"] == region)
        found |= {(region, stops): int((rows_of["stops"] == stops).sum()) for stops in range(4)}
        found[region, ...] = len(rows_of)
    return found


def hierarchy(table):
    regions = {(region, ...): int((table["region"] == region).sum()) for region in ("few", "many")}
    return {(..., ...): len(table)} | regions | {(REGIONS[name], name): len(table.group(name)) for name in SIZES}


CASES = {
    "count": (lambda a, e: a.count("late", e), late),
    "counts": (
        lambda a, e: a.counts({"late": "late", "stops": "stops >= 2"}, e),
        lambda table: {"late": late(table), "stops": int((table["stops"] >= 2).sum())},
    ),
    "nested counts": (
        lambda a, e: a.counts({"none": "stops <= 0", "one": "stops <= 1", "two": "stops <= 2"}, e),
        lambda table: {name: int((table["stops"] <= i).sum()) for i, name in enumerate(("none", "one", "two"))},
    ),
    "clamped": (lambda a, e: a.clamped("amount", 0, 50, e), lambda table: int((table["amount"] > 50).sum())),
    "sum of floats": (lambda a, e: a.sum("amount", 0, 100, e), total("amount", 0, 100)),
    "sum of whole numbers": (lambda a, e: a.sum("stops", 0, 3, e), lambda table: int(table["stops"].sum())),
    "mean of shares": (lambda a, e: a.mean("share", 0, 1, e), mean("share", 0, 1)),
    "mean with infinities": (lambda a, e: a.mean("delay", -30, 120, e), mean("delay", -30, 120)),
    "mean of few": (
        lambda a, e: a.mean("share", 0, 1, e, where="\"group\" = 'tiny'"),
        lambda table: mean("share", 0, 1)(table.group("tiny")),
    ),
    "variance": (
        lambda a, e: a.variance("share", 0, 1, e),
        lambda table: {"variance": table["share"].var(), "standard deviation": table["share"].std()},
    ),
    "covariance": (lambda a, e: a.covariance("share", "amount", (0, 1), (0, 100), e), covariance),
    "histogram": (lambda a, e: a.histogram("group", list(SIZES), e), by_group(len)),
    "cdf": (
        lambda a, e: a.cdf("share", EDGES[1:4], e),
        lambda table: {f"<= {edge}": int((table["share"] <= edge).sum()) for edge in EDGES[1:4]},
    ),
    "ranges": (lambda a, e: a.ranges("share", EDGES, e), ranges),
    "marginals": (lambda a, e: a.marginals(BOTH, [("region", "stops"), ("region",), ()], e), marginals),
    "hierarchy": (lambda a, e: a.hierarchy(["region", "group"], LEAVES, e), hierarchy),
    "median": (
        lambda a, e: a.quantile("delay", 0.5, lower=-30, upper=300, privacy=e),
        quantile("delay", -30, 300, 0.5),
    ),
    "deciles": (
        lambda a, e: a.quantile("amount", [0.1, 0.5, 0.9], lower=0, upper=200, privacy=e),
        lambda table: {q: quantile("amount", 0, 200, q)(table) for q in (0.1, 0.5, 0.9)},
    ),
    "median among candidates": (
        lambda a, e: a.quantile("amount", 0.5, CANDIDATES, e),
        lambda table: inverted_cdf(table["amount"], 0.5),
    ),
    "quartiles among candidates": (
        lambda a, e: a.quantile("amount", [0.25, 0.5, 0.75], CANDIDATES, e),
        lambda table: {q: inverted_cdf(table["amount"], q) for q in (0.25, 0.5, 0.75)},
    ),
    "counts by keys": (lambda a, e: a.count("late", e, by=GROUPS), by_group(late)),
    "sums by keys": (lambda a, e: a.sum("amount", 0, 100, e, by=GROUPS), by_group(total("amount", 0, 100))),
    "means by keys": (lambda a, e: a.mean("share", 0, 1, e, by=GROUPS), by_group(mean("share", 0, 1))),
    "variances by keys": (lambda a, e: a.variance("share", 0, 1, e, by=GROUPS), by_group(variance("share", 0, 1))),
    "medians by keys": (
        lambda a, e: a.quantile("delay", 0.5, lower=-30, upper=300, privacy=e, by=GROUPS),
        by_group(quantile("delay", -30, 300, 0.5)),
    ),
    "quartiles by keys": (
        lambda a, e: a.quantile("amount", [0.25, 0.75], lower=0, upper=200, privacy=e, by=GROUPS),
        lambda table: {
            (name, q): quantile("amount", 0, 200, q)(table.group(name)) for name in SIZES for q in (0.25, 0.75)
        },
    ),
}
OF_FOUND = {
    "counts of found keys": (lambda a, e: a.count("late", e, by=found_keys(a)), by_group(late)),
    "sums of found keys": (
        lambda a, e: a.sum("amount", 0, 100, e, by=found_keys(a)),
        by_group(total("amount", 0, 100)),
    ),
    "means of found keys": (lambda a, e: a.mean("share", 0, 1, e, by=found_keys(a)), by_group(mean("share", 0, 1))),
}
