"""Questions by themselves, without a session: what the engine is asked, and the private point it leads to."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from oracles.lattices import numbers_by_key

import utmost as um
from utmost.queries.aggregates import AGGREGATES
from utmost.queries.aggregates.aggregate import Ratio
from utmost.queries.methods import QueryMethods
from utmost.queries.questions import Question, Terms
from utmost.queries.questions.aggregates import ByKeys, OneNumber, SeveralSums
from utmost.queries.questions.by_found_keys import ByFoundKeys
from utmost.queries.questions.top_found import TopFound
from utmost.queries.units_per_key import KeyTotals

CONDITIONS = (
    "n >= 0",
    "x > 2.5",
    "n < 4.5",
    "n BETWEEN -2 AND 5.5",
    "NOT x <= 0.5",
    "x = 2.25 OR ok",
    "id IN ('a', 'a|b', '')",
    "id LIKE 'a%'",
    "id <> 'b' AND n IS NOT NULL",
    "ok IS NULL",
    "x >= -1e299",
)


@dataclass(frozen=True)
class Setting:
    """A table, whose data are protected, and who neighbours whom."""

    source: Any
    unit: Any
    neighbours: str


@dataclass(frozen=True)
class Asked:
    """A question about a table, ready to be read."""

    question: Question
    source: Any

    def reader(self, secret) -> Callable[[Any], Any]:
        """The private point as a function of the table, of those with the same columns: it is compiled only once."""
        made = self.statement(secret)
        return lambda table: self.question.point(replace(self.source, frame=table).execute(made))

    def statement(self, secret):
        """What the engine is asked."""
        return self.question.statement(self.source, secret)

    def private_point(self, secret):
        """The private point, as a point of the question's space."""
        return self.question.point(self.source.execute(self.statement(secret)))

    def point(self, statement):
        """The private point, by name."""
        point = self.question.point(self.source.execute(statement))
        if isinstance(point, list | np.ndarray):
            return {"tally": [np.asarray(part).tolist() for part in point]}
        if isinstance(point, KeyTotals):
            return numbers_by_key(point)
        question, point = self.question, point if isinstance(point, tuple) else (point,)
        whole = isinstance(question, OneNumber | SeveralSums)
        names = question.statistic.parts if whole else getattr(question, "names", ("yes",))
        if len(names) != len(point):  # noise is on other sums than those that have names
            return {"tally": list(point)}
        return dict(zip(names, point, strict=True))

    def release(self, statement):
        """What is released."""
        return self.question.draw(self.question.point(self.source.execute(statement)))


class QueryMaker(QueryMethods[Asked]):
    """Makes questions, and asks nobody."""

    def __init__(self, setting):
        self.source, self.terms = setting.source, Terms(setting.unit, setting.neighbours, setting.source.fixed_rows)

    def ask(self, question, fresh):
        return Asked(question, self.source)


def count(setting, where, privacy, of="rows", loss="absolute", prior=None):
    return QueryMaker(setting).count(where, privacy, of=of, loss=loss, prior=prior)


def total(setting, column, lower, upper, grid, where, privacy, loss="absolute", prior=None):
    return QueryMaker(setting).sum(column, lower, upper, privacy, grid=grid, where=where, loss=loss, prior=prior)


def mean(setting, column, lower, upper, grid, where, privacy, loss="absolute"):
    return QueryMaker(setting).mean(column, lower, upper, privacy, grid=grid, where=where, loss=loss)


def majority(setting, where, privacy, loss="zero-one", prior=None):
    return QueryMaker(setting).majority(where, privacy, loss=loss, prior=prior)


def threshold(setting, where, at_least, privacy, of="rows", loss="zero-one", prior=None):
    return QueryMaker(setting).threshold(where, at_least, privacy, of=of, loss=loss, prior=prior)


def counts(setting, conditions, privacy, of="rows", loss="absolute"):
    return QueryMaker(setting).counts(conditions, privacy, of=of, loss=loss)


def histogram(setting, column, categories, privacy, other=None, where=None, of="rows", loss="absolute"):
    return QueryMaker(setting).histogram(column, categories, privacy, other=other, where=where, of=of, loss=loss)


def cdf(setting, column, edges, privacy, where=None, of="rows", loss="absolute"):
    return QueryMaker(setting).cdf(column, edges, privacy, where=where, of=of, loss=loss)


def plurality(setting, column, candidates, privacy, where=None, of="rows", loss="zero-one", prior=None):
    return QueryMaker(setting).plurality(column, candidates, privacy, where=where, of=of, loss=loss, prior=prior)


def quantile(setting, column, q, candidates, privacy, where=None, of="rows", loss="absolute", prior=None):
    return QueryMaker(setting).quantile(column, q, candidates, privacy, where=where, of=of, loss=loss, prior=prior)


def clamped(setting, column, lower, upper, privacy, where=None, loss="absolute"):
    return QueryMaker(setting).clamped(column, lower, upper, privacy, where=where, loss=loss)


def variance(setting, column, lower, upper, grid, where, privacy, by=None):
    return QueryMaker(setting).variance(column, lower, upper, privacy, grid=grid, where=where, by=by)


def covariance(setting, x, y, x_range, y_range, privacy, where=None):
    return QueryMaker(setting).covariance(x, y, x_range, y_range, privacy, where=where)


def share(setting, where, privacy):
    """Of people wherever they are protected: a share of several rows each is refused."""
    of = "rows" if setting.unit.id is None else "people"
    return QueryMaker(setting).share(where, privacy, among=setting.unit.at_most, of=of)


def left_out(setting, where, privacy, loss="absolute"):
    return QueryMaker(setting).left_out(where, privacy, loss=loss)


def keys(setting, column, keys_each=1):
    return QueryMaker(setting).keys(column, um.ApproxDP(1, 0.01), keys_each=keys_each)


def every_question(source, unit, neighbours):
    """Every kind of question, in many conditions."""
    setting = Setting(source, unit, neighbours)
    yield from (count(setting, where, 1, "rows", "absolute", None) for where in CONDITIONS)
    yield count(setting, lambda t: t.id.startswith("a") | t.id.endswith("b"), 1, "rows", "absolute", None)
    yield total(setting, "x", -2, 5, "0.5", "ok", 1, "absolute", None)
    yield total(setting, "x", -3, 6, 3, None, 1, "absolute", None)
    yield total(setting, "n", 2, 7, 1, None, 1, "absolute", None)
    yield total(setting, "n", -4, 8, "0.1", "x < 5", 1, "absolute", None)
    yield mean(setting, "x", -2, 5, "0.5", "n < 5 OR ok", 1, "absolute")
    yield majority(setting, "x > 0", 1, "zero-one", None)
    yield threshold(setting, "ok IS NULL OR x <= 2.5", 2, 1, "rows", "zero-one", None)
    yield counts(setting, ["n >= 0", "x > 1", "ok"], 1, "rows", "absolute")
    yield counts(setting, ["n >= 0", "n > 3 OR n IS NULL", "n IS NULL"], 1)
    yield counts(setting, ["n >= 0", "n > 3"], 1)
    yield counts(setting, ["n >= 3", "n < 0"], 1)
    yield cdf(setting, "x", [-1, 0, 2.5], 1)
    yield histogram(setting, "id", ["a", "a|b"], 1, "elsewhere", None, "rows", "absolute")
    yield histogram(setting, ["ok", "n"], [[True, False], [1, 2]], 1, None, "x > 0", "rows", "absolute")
    yield histogram(setting, "x", [0.5, 2.25, 0], 1, None, None, "rows", "absolute")
    yield plurality(setting, "n", [1, -1, 0], 1, None, "rows", "zero-one", None)
    yield quantile(setting, "x", "1/2", [-2, 0.5, 4], 1, None, "rows", "absolute", None)
    yield quantile(setting, "n", "1/3", [-2, 1, 5], 1, "ok", "rows", "absolute", None)


def sort_of(question):
    """What sort of query it is: its name and its class, for an aggregate is asked in several ways."""
    return question.name, type(question).__name__


def sorts():
    """Every sort of query: each aggregate in each of its groupings, and all queries that are no aggregates."""
    of_aggregates = {OneNumber, SeveralSums, ByKeys, ByFoundKeys}
    found = {("sum", "SeveralSums")}  # of fine steps, at levels other than pure ones
    for name, aggregate in AGGREGATES.items():
        whole = "SeveralSums" if issubclass(aggregate, Ratio) else "OneNumber"
        ways = {"whole": whole, "keys": "ByKeys", "found keys": "ByFoundKeys"}
        found |= {(name, ways[grouping]) for grouping in aggregate.groupings}
    rest = {kind for kind in _below(Question) if not inspect.isabstract(kind)} - of_aggregates
    return found | {("top" if kind is TopFound else kind.name, kind.__name__) for kind in rest}


def _below(kind):
    return {kind} | {one for each in kind.__subclasses__() for one in _below(each)}
