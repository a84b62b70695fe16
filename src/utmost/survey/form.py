"""A form: several questions with one total level, of which each has its share.

Every answer is randomised by itself, by the best survey at its share of epsilon; pure levels add up, so all responses
of a person together keep the total. The file of a form holds the certified integers of every question, from which a
browser, or anybody, can prove the level again.
"""

from __future__ import annotations

import hashlib
import math
import os
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from utmost.errors import BadFile, InvalidInput, UtmostError, shown
from utmost.exact import Number, as_rational
from utmost.exact.saved import NONSENSE, canonical, format_of, read_checked, write_checked
from utmost.mechanism.violations import growth_floor
from utmost.privacy import ApproxDP, Level, PureDP, as_level, level_from_json, promise_in_words, require_accepted
from utmost.solution.card import card
from utmost.space import label_from_json, label_to_json
from utmost.survey.cross_table import CrossTable, cross, speaks_for
from utmost.theory.local.design.estimation import Estimate
from utmost.theory.local.design.responses import (
    read_responses,
    read_stored_response,
    require_possible,
    store_response,
)
from utmost.theory.local.design.shuffle import Shuffled, shuffled
from utmost.theory.local.design.survey import FORMAT as SURVEY_FORMAT
from utmost.theory.local.design.survey import Survey, survey

FORMAT, VERSION = "utmost-form", 1
SHOWN = 16
"""How many digits of a form's identity travel with a response."""
MOST_QUESTIONS = 100


def form(
    title: str,
    questions: Mapping[str, Sequence[Any]] | Sequence[tuple[str, Sequence[Any]]],
    privacy: Level | Number,
    shares: Sequence[Number] | None = None,
    introduction: str = "",
) -> Form:
    """A form of several questions with one level for everything a person sends.

    Parameters
    ----------
    title : str
        What the form is about; respondents see it first. Say which occasion it is ("in 2026") where people may be asked
        again: the same form asked again repeats the response that was kept.
    questions : mapping, or list of pairs
        The text of every question and its answers. Let people who would rather not answer say so by an answer of its
        own ("I would rather not say"): leaving a question out would tell something.
    privacy : PureDP or number
        The total level: what all responses of a person together may tell.
    shares : numbers, optional
        How much of it each question gets, in any unit; alike if not said. A question with a larger share has smaller
        errors.
    introduction : str
        A few sentences under the title.

    Examples
    --------
    >>> import utmost as um
    >>> questions = {"How do you commute?": ["car", "bus", "bike"], "Happy with it?": ["no", "yes"]}
    >>> commute = um.survey.form("Commuting in 2026", questions, 2.0, shares=[3, 1])
    >>> commute
    Form of 2 questions at 2-DP in all: 1.5-DP (3 answers), 0.5-DP (2 answers)
    >>> len(commute.respond(["bus", "yes"]))
    2
    """
    total = as_level(privacy)
    if not isinstance(total, ApproxDP) or total.delta or not 0 < total.log_growth < math.inf:
        raise InvalidInput(f"privacy is {total}; a form needs a pure level, above 0 and finite, such as PureDP(2).")
    asked = list(questions.items()) if isinstance(questions, Mapping) else [tuple(pair) for pair in questions]
    if not 1 <= len(asked) <= MOST_QUESTIONS or any(len(pair) != 2 for pair in asked):
        raise InvalidInput(
            f"there are {len(asked)} questions; give from 1 to {MOST_QUESTIONS}, each with its text and its answers."
        )
    texts: list[Any] = [text for text, _ in asked]
    if any(not isinstance(text, str) or not text.strip() for text in (*texts, title)) or not isinstance(
        introduction, str
    ):
        raise InvalidInput("the title and every question must be text, and not empty.")
    if len(set(texts)) < len(texts):
        raise InvalidInput(
            "two questions have the same text; word them differently, so that people can tell them apart."
        )
    levels = _share_out(total, shares, len(asked))
    parts = zip(texts, asked, levels, strict=True)
    made = tuple(_asked(text, answers, level) for text, (_, answers), level in parts)
    try:
        canonical([title, introduction])
    except (TypeError, ValueError):
        raise InvalidInput("the title and the introduction must be plain text.") from None
    return Form(title, total, made, introduction)


def _asked(text: str, answers: Sequence[Any], level: ApproxDP) -> Survey:
    """The best survey of one question; what is wrong with its answers is said with its text."""
    try:
        return survey(answers, level, text)
    except InvalidInput as wrong:
        raise InvalidInput(f"the answers to {shown(text)} are no categories: {wrong}") from None


def _share_out(level: ApproxDP, shares: Sequence[Number] | None, count: int) -> list[ApproxDP]:
    """The level of every question: exact parts of epsilon."""
    if count == 1:
        return [level]
    if level.ratio != 1:
        raise InvalidInput(
            f"privacy is {level}, whose shares are not exact numbers; give an epsilon, such as PureDP(2)."
        )
    parts = [Fraction(1)] * count if shares is None else [as_rational(share, "a share") for share in shares]
    if len(parts) != count or min(parts) <= 0:
        raise InvalidInput(f"there are {len(parts)} shares for {count} questions; give one for each, all above 0.")
    whole = sum(parts)
    return [PureDP(Fraction(level.exponent) * part / whole) for part in parts]


@dataclass(frozen=True)
class Form:
    """A form: what is public about it. Made by `survey.form`.

    Attributes
    ----------
    title : what it is about
    level : the total level
    surveys : the survey of every question, at its share
    introduction : a few sentences
    """

    title: str
    level: ApproxDP
    surveys: tuple[Survey, ...]
    introduction: str = ""

    @classmethod
    def of(cls, asked: Survey) -> Form:
        """A form of one question that was designed by itself."""
        return cls(asked.question or "A question", asked.level, (asked,))

    @property
    def questions(self) -> tuple[str, ...]:
        """The questions in words."""
        return tuple(asked.question or self.title for asked in self.surveys)

    @property
    def promise(self) -> str:
        """What a person who sends all responses is promised, in words."""
        return promise_in_words(self.level)

    def verify(self) -> bool:
        """Whether the integers prove the level of every question, and all together the total, in exact arithmetic."""
        growth, odds = growth_floor(self.level), [asked.odds for asked in self.surveys]
        if growth is None or any(found is None for found in odds):
            return False
        return all(asked.verify() for asked in self.surveys) and math.prod(found for found in odds if found) <= growth

    def shuffled(self, n: int, delta: Number) -> Shuffled:
        """The central level of n people's responses if a shuffler strips order and identity; see `local.shuffled`.

        Of several questions each person's responses stay together, so the bound for any mechanism at the total holds.
        """
        return shuffled(self.surveys[0] if len(self.surveys) == 1 else self.level, n, delta)

    def report(self, people: int = 1000, delta: Number = 1e-6) -> str:
        """What the form promises and what it will tell, in words, before anybody is asked."""
        lines = [self.title, f"  the promise to a person, for all questions together: {self.promise}"]
        for asked in self.surveys:
            error = asked.standard_error(people)
            lines.append(
                f"  {asked.question or self.title}: {asked.level}, {len(asked.categories)} answers, {asked.size} named "
                f"in a response; standard error of a share with {people} people: {error:.3g}"
            )
        proved = "proved" if self.verify() else "NOT proved"
        lines.append(f"  private: {proved} in exact arithmetic from the integers in the file")
        lines.append(f"  if somebody shuffles: {self.shuffled(people, delta)}")
        return "\n".join(lines)

    # ---- on the client ----

    def respond(
        self, answers: Sequence[Any], kept: str | os.PathLike[str] | None = None, accept: bool = False
    ) -> tuple[Any, ...]:
        """One private response to every question, drawn exactly.

        Parameters
        ----------
        answers : sequence
            The true answer to every question, in order; they never leave this call.
        kept : path, optional
            A file on the person's device: the responses kept there are given again, whatever the answers are now.
        accept : bool
            Respond although the promise is weaker than epsilon = 5, for the person to say.
        """
        return self.read([self.sent(answers, kept, accept)["responses"]])[0]

    def sent(
        self, answers: Sequence[Any], kept: str | os.PathLike[str] | None = None, accept: bool = False
    ) -> dict[str, Any]:
        """What a person sends, as the page of the form makes it: the form, a receipt, and what `respond` draws.

        The receipt is a random number: a collector that gets the same response twice keeps it once.
        """
        if kept is not None and (found := read_stored_response(Path(kept), self.identity)) is not None:
            return self._checked(found, kept)
        require_accepted(self.level, accept)
        if len(answers) != len(self.surveys):
            raise InvalidInput(f"there are {len(answers)} answers to {len(self.surveys)} questions; answer each.")
        parts = zip(self.surveys, answers, strict=True)
        drawn = (secrets.token_hex(16), *(asked.respond(answer, accept=True) for asked, answer in parts))
        return self._checked(drawn if kept is None else store_response(Path(kept), self.identity, drawn), kept)

    def _checked(self, found: Any, kept: str | os.PathLike[str] | None) -> dict[str, Any]:
        """A receipt and responses as they are sent; out of a file they may be anything."""
        try:
            receipt, *responses = found
            responses = self._plainly(self.read([responses])[0])
        except (InvalidInput, *NONSENSE):
            raise BadFile(f"{kept} does not hold a response to this form; move it away to answer anew.") from None
        return {"form": self.identity[:SHOWN], "receipt": receipt, "responses": responses}

    def _plainly(self, responses: Sequence[Any]) -> list[Any]:
        """Responses as JSON, like those of the page: a category, or a list of several."""
        parts = zip(self.surveys, responses, strict=True)
        return [
            label_to_json(part) if asked.size == 1 else [label_to_json(name) for name in part] for asked, part in parts
        ]

    # ---- on the server ----

    def read(self, responses: Iterable[Any]) -> list[tuple[Any, ...]]:
        """Responses as they came, each checked against the form: the right number, every one possible.

        Parameters
        ----------
        responses : iterable
            A sequence of responses for every person, one for each question, as `respond` gives them or JSON reads them.
        """
        found = []
        for number, row in enumerate(responses, 1):
            if not isinstance(row, list | tuple) or len(row) != len(self.surveys):
                raise InvalidInput(
                    f"response number {number}, counted from 1, does not have {len(self.surveys)} parts, one for each "
                    "question; drop it, or ask where it comes from."
                )
            try:
                found.append(tuple(label_from_json(part) for part in row))
            except NONSENSE:
                raise InvalidInput(
                    f"response number {number}, counted from 1, is not one to this form; drop it."
                ) from None
        self._positions(found)
        return found

    def _positions(self, responses: Sequence[tuple[Any, ...]]) -> list[NDArray[np.int64]]:
        """For every question the positions that responses name, a row each."""
        tables = []
        for i, asked in enumerate(self.surveys):
            index = {name: place for place, name in enumerate(asked.categories)}
            tables.append(read_responses([row[i] for row in responses], index, asked.size, asked.identity))
        return tables

    def estimate(self, responses: Iterable[Any]) -> FormEstimate:
        """Frequencies of all answers among the people who responded, and cross-tables of two questions.

        Examples
        --------
        >>> import utmost as um
        >>> both = um.survey.form("Pets", {"A cat?": ["no", "yes"], "A dog?": ["no", "yes"]}, 2.0)
        >>> rows = [("no", "no")] * 350 + [("yes", "no")] * 250 + [("no", "yes")] * 220 + [("yes", "yes")] * 180
        >>> found = both.estimate(rows)
        >>> found["A cat?"].frequencies.round(3).tolist()
        [0.651, 0.349]
        >>> found.cross("A cat?", "A dog?").frequencies.round(3).tolist()
        [[0.504, 0.147], [0.212, 0.136]]
        """
        rows = self.read(responses)
        tables = self._positions(rows)
        for asked, table in zip(self.surveys, tables, strict=True):
            require_possible(table, asked.categories, float(asked.inside), float(asked.beside))
        columns = [[row[i] for row in rows] for i in range(len(self.surveys))]
        found = tuple(asked.estimate(column) for asked, column in zip(self.surveys, columns, strict=True))
        return FormEstimate(self, found, tuple(tables))

    # ---- as a file ----

    @cached_property
    def identity(self) -> str:
        """A checksum of what is public about the form: what a response belongs to."""
        return hashlib.sha256(canonical(self.to_json())).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """What the file holds: for every question the integers with which a response names the true answer."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "title": self.title,
            "introduction": self.introduction,
            "privacy": self.level.to_json(),
            "questions": [
                {
                    "question": asked.question,
                    "categories": [label_to_json(name) for name in asked.categories],
                    "privacy": asked.level.to_json(),
                    "size": asked.size,
                    "named": str(asked.inside.numerator),
                    "of": str(asked.inside.denominator),
                    "other": label_to_json(asked.other),
                }
                for asked in self.surveys
            ],
        }

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the form as one JSON file; complete or not there at all."""
        return write_checked(path, self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Form:
        """Read a form, or a survey as a form of one question; `BadFile` if it does not prove its level."""
        if format_of(path) == SURVEY_FORMAT:
            return cls.of(Survey.load(path))
        content = read_checked(path, FORMAT, VERSION, "form")
        try:
            surveys = tuple(
                survey(
                    [label_from_json(name) for name in q["categories"]],
                    level_from_json(q["privacy"]),
                    str(q["question"]),
                    label_from_json(q["other"]),
                    q["size"],
                )
                for q in content["questions"]
            )
            level = level_from_json(content["privacy"])
            if not isinstance(level, PureDP) or not surveys:
                raise InvalidInput("it has no question, or no pure level.")
            made = cls(str(content["title"]), level, surveys, str(content["introduction"]))
        except (UtmostError, *NONSENSE) as problem:
            raise BadFile(f"{path} does not hold a form: {problem}") from None
        if made.to_json() != content:
            raise BadFile(f"{path} has integers that are not those of its level; make the form again.")
        if not made.verify():
            raise BadFile(f"{path} promises {level} in all, which its questions exceed; make the form again.")
        return made

    def __repr__(self) -> str:
        parts = ", ".join(f"{asked.level} ({len(asked.categories)} answers)" for asked in self.surveys)
        count = f"{len(self.surveys)} question{'s' * (len(self.surveys) > 1)}"
        return f"Form of {count} at {self.level} in all: {parts}"

    def _repr_html_(self) -> str:
        return card(f"{self!r}\npromise: {self.promise}", *(asked._repr_html_() for asked in self.surveys))


@dataclass(frozen=True, eq=False)
class FormEstimate:
    """What the responses to a form tell. Made by `Form.estimate`; `found[question]` is the estimate of one question.

    Attributes
    ----------
    form : the form
    estimates : for every question frequencies with standard errors and intervals
    """

    form: Form
    estimates: tuple[Estimate, ...]
    positions: tuple[NDArray[np.int64], ...]

    @property
    def people(self) -> int:
        """How many responded."""
        return self.estimates[0].people

    def __getitem__(self, question: str | int) -> Estimate:
        return self.estimates[self._place(question)]

    def cross(self, first: str | int, second: str | int) -> CrossTable:
        """How often every pair of answers to two questions is given by the same person.

        Parameters
        ----------
        first, second : str or int
            The questions, by their text or their number, counted from 0.
        """
        i, j = self._place(first), self._place(second)
        if i == j:
            raise InvalidInput("a cross-table needs two different questions.")
        sides = []
        for place in (i, j):
            asked = self.form.surveys[place]
            sides.append(
                speaks_for(self.positions[place], len(asked.categories), float(asked.inside), float(asked.beside))
            )
        frequencies, errors = cross(*sides)
        names = self.form.questions
        rows, columns = (self.form.surveys[place].categories for place in (i, j))
        return CrossTable((names[i], names[j]), rows, columns, self.people, frequencies, errors)

    def _place(self, question: str | int) -> int:
        names = self.form.questions
        if isinstance(question, str) and question in names:
            return names.index(question)
        if isinstance(question, int) and not isinstance(question, bool) and 0 <= question < len(names):
            return question
        raise InvalidInput(f"{question!r} is not a question of this form; give its text or a number from 0 on.")

    def table(self, level: float = 0.95) -> str:
        """All estimates in words, with intervals of this level."""
        parts = [
            f"{name}\n{found.table(level)}" for name, found in zip(self.form.questions, self.estimates, strict=True)
        ]
        return "\n\n".join(parts)

    def __str__(self) -> str:
        return self.table()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        shown = zip(self.form.questions, self.estimates, strict=True)
        return "".join(card(name, found._repr_html_()) for name, found in shown)
