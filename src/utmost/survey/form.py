"""A form: several questions whose levels add up to one total level.

Every answer is randomised separately, by the optimal survey at its share of epsilon; by basic composition all responses
of a person together satisfy the total. The file of a form holds the certified integers of every question, from which a
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
from utmost.messages import Call, Name
from utmost.privacy import ApproxDP, Level, PureDP, as_level, level_from_json, promise_in_words, require_accepted
from utmost.solution.card import card
from utmost.space import label_from_json, label_to_json
from utmost.survey.cross_table import CrossTable, cross, indicator_estimates
from utmost.theory.local.design.estimation import Estimate
from utmost.theory.local.design.responses import (
    read_responses,
    read_stored_response,
    require_possible,
    store_response,
)
from utmost.theory.local.design.shuffle import Shuffled, shuffled
from utmost.theory.local.design.survey import FORMAT as SURVEY_FORMAT
from utmost.theory.local.design.survey import Survey
from utmost.theory.local.design.survey import survey as best_survey

FORMAT, VERSION = "utmost-form", 1
SHOWN = 16
"""The number of digits of a form's identity in a response."""
MOST_QUESTIONS = 100


def form(
    title: str,
    questions: Mapping[str, Sequence[Any]] | Sequence[tuple[str, Sequence[Any]]],
    privacy: Level | Number,
    shares: Sequence[Number] | None = None,
    introduction: str = "",
) -> Form:
    """A form of several questions with one level for all responses of a person.

    Parameters
    ----------
    title : str
        The subject of the form; respondents see it first. Include the occasion ("in 2026") if people may be asked
        again: the same form repeats the stored response.
        questions : mapping or list of pairs
        The text of every question and its answers. Include an answer such as "I would rather not say", since skipping
        a question would reveal something.
    privacy : PureDP or number
        The total level of all responses of a person together.
    shares : sequence of number, optional
        The share of each question, in any unit; equal by default. A question with a larger share has smaller errors.
    introduction : str, optional
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
        raise InvalidInput(
            Name("privacy"),
            f" is {total}; a form needs a pure level, above 0 and finite, such as ",
            Call("PureDP", 2),
            ".",
        )
    pairs = list(questions.items()) if isinstance(questions, Mapping) else [tuple(pair) for pair in questions]
    if not 1 <= len(pairs) <= MOST_QUESTIONS or any(len(pair) != 2 for pair in pairs):
        raise InvalidInput(
            f"there are {len(pairs)} questions; give from 1 to {MOST_QUESTIONS}, each with its text and its answers."
        )
    texts: list[Any] = [text for text, _ in pairs]
    if any(not isinstance(text, str) or not text.strip() for text in (*texts, title)) or not isinstance(
        introduction, str
    ):
        raise InvalidInput("the title and every question must be text, and not empty.")
    if len(set(texts)) < len(texts):
        raise InvalidInput(
            "two questions have the same text; word them differently, so that people can tell them apart."
        )
    levels = _share_out(total, shares, len(pairs))
    parts = zip(texts, pairs, levels, strict=True)
    surveys = tuple(_survey_of(text, answers, level) for text, (_, answers), level in parts)
    try:
        canonical([title, introduction])
    except (TypeError, ValueError):
        raise InvalidInput("the title and the introduction must be plain text.") from None
    return Form(title, total, surveys, introduction)


def _survey_of(text: str, answers: Sequence[Any], level: ApproxDP) -> Survey:
    """The optimal survey of one question; an error about its answers names the question."""
    try:
        return best_survey(answers, level, text)
    except InvalidInput as wrong:
        raise InvalidInput(f"the answers to {shown(text)} are no categories: {wrong}") from None


def _share_out(level: ApproxDP, shares: Sequence[Number] | None, count: int) -> list[ApproxDP]:
    """The level of every question: exact shares of epsilon."""
    if count == 1:
        return [level]
    if level.ratio != 1:
        raise InvalidInput(
            Name("privacy"),
            f" is {level}, whose shares are not exact numbers; give an epsilon, such as ",
            Call("PureDP", 2),
            ".",
        )
    parts = [Fraction(1)] * count if shares is None else [as_rational(share, "a share") for share in shares]
    if len(parts) != count or min(parts) <= 0:
        raise InvalidInput(f"there are {len(parts)} shares for {count} questions; give one for each, all above 0.")
    total = sum(parts)
    return [PureDP(Fraction(level.exponent) * part / total) for part in parts]


@dataclass(frozen=True)
class Form:
    """The public description of a form. Made by `survey.form`.

    Attributes
    ----------
    title : str
        Its subject.
    level : PureDP
        The total level.
    surveys : tuple of Survey
        The survey of every question, at its share of the level.
    introduction : str
        A few sentences.
    """

    title: str
    level: ApproxDP
    surveys: tuple[Survey, ...]
    introduction: str = ""

    @classmethod
    def of(cls, asked: Survey) -> Form:
        """A form of one question, from its survey."""
        return cls(asked.question or "A question", asked.level, (asked,))

    @property
    def questions(self) -> tuple[str, ...]:
        """The questions in words."""
        return tuple(survey.question or self.title for survey in self.surveys)

    @property
    def promise(self) -> str:
        """The guarantee to a person who sends all responses, in words."""
        return promise_in_words(self.level)

    def verify(self) -> bool:
        """Whether the integers prove the level of every question, and together the total, in exact arithmetic."""
        growth, odds = growth_floor(self.level), [survey.odds for survey in self.surveys]
        if growth is None or any(ratio is None for ratio in odds):
            return False
        return all(survey.verify() for survey in self.surveys) and math.prod(ratio for ratio in odds if ratio) <= growth

    def shuffled(self, n: int, delta: Number) -> Shuffled:
        """The central level of n people's responses if a shuffler removes order and identity; see `local.shuffled`.

        With several questions each person's responses stay together, so the bound for any mechanism at the total level
        applies.
        """
        return shuffled(self.surveys[0] if len(self.surveys) == 1 else self.level, n, delta)

    def report(self, people: int = 1000, delta: Number = 1e-6) -> str:
        """The guarantee and the expected errors of the form, in words."""
        lines = [self.title, f"  the promise to a person, for all questions together: {self.promise}"]
        for survey in self.surveys:
            error = survey.standard_error(people)
            lines.append(
                f"  {survey.question or self.title}: {survey.level}, {len(survey.categories)} answers, "
                f"{survey.size} named in a response; standard error of a share with {people} people: {error:.3g}"
            )
        verdict = "proved" if self.verify() else "NOT proved"
        lines.append(f"  private: {verdict} in exact arithmetic from the integers in the file")
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
            A file on the person's device: responses stored there are repeated, whatever the answers are now.
        accept : bool
            Respond although the guarantee is weaker than epsilon = 5; the person decides.
        """
        return self.read([self.sent(answers, kept, accept)["responses"]])[0]

    def sent(
        self, answers: Sequence[Any], kept: str | os.PathLike[str] | None = None, accept: bool = False
    ) -> dict[str, Any]:
        """The message that a person sends, as the form's page makes it: the form, a receipt, and the responses.

        The receipt is a random number, by which a collector stores a response that it gets twice only once.
        """
        if kept is not None and (stored := read_stored_response(Path(kept), self.identity)) is not None:
            return self._as_sent(stored, kept)
        require_accepted(self.level, accept)
        if len(answers) != len(self.surveys):
            raise InvalidInput(f"there are {len(answers)} answers to {len(self.surveys)} questions; answer each.")
        parts = zip(self.surveys, answers, strict=True)
        record = (secrets.token_hex(16), *(survey.respond(answer, accept=True) for survey, answer in parts))
        return self._as_sent(record if kept is None else store_response(Path(kept), self.identity, record), kept)

    def _as_sent(self, record: Any, path: str | os.PathLike[str] | None) -> dict[str, Any]:
        """A stored record as a message; `BadFile` if the record is not a response to this form."""
        try:
            receipt, *responses = record
            responses = self._json_responses(self.read([responses])[0])
        except (InvalidInput, *NONSENSE):
            raise BadFile(f"{path} does not hold a response to this form; move it away to answer anew.") from None
        return {"form": self.identity[:SHOWN], "receipt": receipt, "responses": responses}

    def _json_responses(self, responses: Sequence[Any]) -> list[Any]:
        """Responses as JSON data, like those of the page: a category, or a list of categories."""
        parts = zip(self.surveys, responses, strict=True)
        return [
            label_to_json(part) if survey.size == 1 else [label_to_json(name) for name in part]
            for survey, part in parts
        ]

    # ---- on the server ----

    def read(self, responses: Iterable[Any]) -> list[tuple[Any, ...]]:
        """Check responses against the form: their number, and that each is possible.

        Parameters
        ----------
        responses : iterable
            For every person a sequence with one response per question, as returned by `respond` or read from JSON.
        """
        rows = []
        for number, row in enumerate(responses, 1):
            if not isinstance(row, list | tuple) or len(row) != len(self.surveys):
                raise InvalidInput(
                    f"response number {number}, counted from 1, does not have {len(self.surveys)} parts, one for each "
                    "question; drop it, or ask where it comes from."
                )
            try:
                rows.append(tuple(label_from_json(part) for part in row))
            except NONSENSE:
                raise InvalidInput(
                    f"response number {number}, counted from 1, is not one to this form; drop it."
                ) from None
        self._positions(rows)
        return rows

    def _positions(self, responses: Sequence[tuple[Any, ...]]) -> list[NDArray[np.int64]]:
        """For every question an array of the positions named in each response."""
        tables = []
        for i, survey in enumerate(self.surveys):
            index = {name: place for place, name in enumerate(survey.categories)}
            tables.append(read_responses([row[i] for row in responses], index, survey.size, survey.identity))
        return tables

    def estimate(self, responses: Iterable[Any]) -> FormEstimate:
        """Estimate the frequencies of all answers among the respondents; the result also has cross-tables.

        Examples
        --------
        >>> import utmost as um
        >>> both = um.survey.form("Pets", {"A cat?": ["no", "yes"], "A dog?": ["no", "yes"]}, 2.0)
        >>> rows = [("no", "no")] * 350 + [("yes", "no")] * 250 + [("no", "yes")] * 220 + [("yes", "yes")] * 180
        >>> pets = both.estimate(rows)
        >>> pets["A cat?"].frequencies.round(3).tolist()
        [0.651, 0.349]
        >>> pets.cross("A cat?", "A dog?").frequencies.round(3).tolist()
        [[0.504, 0.147], [0.212, 0.136]]
        """
        rows = self.read(responses)
        tables = self._positions(rows)
        for survey, table in zip(self.surveys, tables, strict=True):
            require_possible(table, survey.categories, float(survey.inside), float(survey.beside))
        columns = [[row[i] for row in rows] for i in range(len(self.surveys))]
        estimates = tuple(survey.estimate(column) for survey, column in zip(self.surveys, columns, strict=True))
        return FormEstimate(self, estimates, tuple(tables))

    # ---- as a file ----

    @cached_property
    def identity(self) -> str:
        """A hash of the form's public description, by which responses refer to it."""
        return hashlib.sha256(canonical(self.to_json())).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """The form as JSON data: for every question the integers with which a response names the true answer."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "title": self.title,
            "introduction": self.introduction,
            "privacy": self.level.to_json(),
            "questions": [
                {
                    "question": survey.question,
                    "categories": [label_to_json(name) for name in survey.categories],
                    "privacy": survey.level.to_json(),
                    "size": survey.size,
                    "named": str(survey.inside.numerator),
                    "of": str(survey.inside.denominator),
                    "other": label_to_json(survey.other),
                }
                for survey in self.surveys
            ],
        }

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the form as one JSON file, atomically."""
        return write_checked(path, self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Form:
        """Read a form, or a survey as a form of one question; `BadFile` if it does not prove its level."""
        if format_of(path) == SURVEY_FORMAT:
            return cls.of(Survey.load(path))
        content = read_checked(path, FORMAT, VERSION, "form")
        try:
            surveys = tuple(
                best_survey(
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
            loaded = cls(str(content["title"]), level, surveys, str(content["introduction"]))
        except (UtmostError, *NONSENSE) as problem:
            raise BadFile(f"{path} does not hold a form: {problem}") from None
        if loaded.to_json() != content:
            raise BadFile(f"{path} has integers that are not those of its level; make the form again.")
        if not loaded.verify():
            raise BadFile(f"{path} promises {level} in all, which its questions exceed; make the form again.")
        return loaded

    def __repr__(self) -> str:
        parts = ", ".join(f"{survey.level} ({len(survey.categories)} answers)" for survey in self.surveys)
        count = f"{len(self.surveys)} question{'s' * (len(self.surveys) > 1)}"
        return f"Form of {count} at {self.level} in all: {parts}"

    def _repr_html_(self) -> str:
        return card(f"{self!r}\npromise: {self.promise}", *(survey._repr_html_() for survey in self.surveys))


@dataclass(frozen=True, eq=False)
class FormEstimate:
    """Estimates from the responses to a form. Made by `Form.estimate`; indexing by a question gives its estimate.

    Attributes
    ----------
    form : Form
        The form.
    estimates : tuple of Estimate
        For every question frequencies with standard errors and intervals.
    """

    form: Form
    estimates: tuple[Estimate, ...]
    positions: tuple[NDArray[np.int64], ...]

    @property
    def people(self) -> int:
        """The number of respondents."""
        return self.estimates[0].people

    def __getitem__(self, question: str | int) -> Estimate:
        return self.estimates[self._place(question)]

    def cross(self, first: str | int, second: str | int) -> CrossTable:
        """The joint frequencies of the answers to two questions.

        Parameters
        ----------
        first, second : str or int
            The questions, by text or by number from 0.
        """
        i, j = self._place(first), self._place(second)
        if i == j:
            raise InvalidInput("a cross-table needs two different questions.")
        sides = []
        for place in (i, j):
            survey = self.form.surveys[place]
            sides.append(
                indicator_estimates(
                    self.positions[place], len(survey.categories), float(survey.inside), float(survey.beside)
                )
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
        """All estimates as text tables, with intervals of this level."""
        parts = [
            f"{name}\n{estimate.table(level)}"
            for name, estimate in zip(self.form.questions, self.estimates, strict=True)
        ]
        return "\n\n".join(parts)

    def __str__(self) -> str:
        return self.table()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        pairs = zip(self.form.questions, self.estimates, strict=True)
        return "".join(card(name, estimate._repr_html_()) for name, estimate in pairs)
