"""Questions by themselves, without a session: what the engine is asked, and the private point it leads to."""

from dataclasses import dataclass
from typing import Any

from oracles.lattices import numbers_by_key

import utmost as um
from utmost.release.holders import Found
from utmost.release.questions import Question, Questions, Terms


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

    def statement(self, secret):
        """What the engine is asked."""
        return self.question.statement(self.source, secret)

    def private_point(self, secret):
        """The private point, as a point of the question's space."""
        return self.question.point(self.source.found(self.statement(secret)))

    def point(self, statement):
        """The private point, by name."""
        point = self.question.point(self.source.found(statement))
        if isinstance(point, list):
            return {"tally": point}
        if isinstance(point, Found):
            return numbers_by_key(point)
        names = getattr(self.question, "names", ("yes",))
        return dict(zip(names, point if isinstance(point, tuple) else (point,), strict=True))

    def release(self, statement):
        """What is released."""
        return self.question.draw(self.question.point(self.source.found(statement)))


class Asking(Questions[Asked]):
    """Makes questions, and asks nobody."""

    def __init__(self, setting):
        self.source, self.terms = setting.source, Terms(setting.unit, setting.neighbours)

    def ask(self, question, fresh):
        return Asked(question, self.source)


def count(setting, where, privacy, of="rows", loss="absolute", prior=None):
    return Asking(setting).count(where, privacy, of=of, loss=loss, prior=prior)


def total(setting, column, lower, upper, grid, where, privacy, loss="absolute", prior=None):
    return Asking(setting).sum(column, lower, upper, privacy, grid=grid, where=where, loss=loss, prior=prior)


def mean(setting, column, lower, upper, grid, where, privacy, loss="absolute"):
    return Asking(setting).mean(column, lower, upper, privacy, grid=grid, where=where, loss=loss)


def majority(setting, where, privacy, loss="zero-one", prior=None):
    return Asking(setting).majority(where, privacy, loss=loss, prior=prior)


def threshold(setting, where, at_least, privacy, of="rows", loss="zero-one", prior=None):
    return Asking(setting).threshold(where, at_least, privacy, of=of, loss=loss, prior=prior)


def counts(setting, conditions, privacy, of="rows", loss="absolute"):
    return Asking(setting).counts(conditions, privacy, of=of, loss=loss)


def histogram(setting, column, categories, privacy, other=None, where=None, of="rows", loss="absolute"):
    return Asking(setting).histogram(column, categories, privacy, other=other, where=where, of=of, loss=loss)


def cdf(setting, column, edges, privacy, where=None, of="rows", loss="absolute"):
    return Asking(setting).cdf(column, edges, privacy, where=where, of=of, loss=loss)


def plurality(setting, column, candidates, privacy, where=None, of="rows", loss="zero-one", prior=None):
    return Asking(setting).plurality(column, candidates, privacy, where=where, of=of, loss=loss, prior=prior)


def quantile(setting, column, q, candidates, privacy, where=None, of="rows", loss="absolute", prior=None):
    return Asking(setting).quantile(column, q, candidates, privacy, where=where, of=of, loss=loss, prior=prior)


def clamped(setting, column, lower, upper, privacy, where=None, loss="absolute"):
    return Asking(setting).clamped(column, lower, upper, privacy, where=where, loss=loss)


def left_out(setting, where, privacy, loss="absolute"):
    return Asking(setting).left_out(where, privacy, loss=loss)


def keys(setting, column, keys_each=1):
    return Asking(setting).keys(column, um.ApproxDP(1, 0.01), keys_each=keys_each)
