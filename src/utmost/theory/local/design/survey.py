"""A survey of categories: respond on the client with exact draws, estimate frequencies on the server.

A response is a random set of `size` categories whose odds of containing the true one are e^eps times those of chance:
subset selection, which is randomised response where the best size is 1. It has the least variance of its kind, and no
private mechanism is better in the limit of many people (Ye and Barg 2019); for two categories none is better at all.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from utmost.errors import MOST_LISTED, BadFile, InvalidInput, UnknownPoint
from utmost.exact import as_whole
from utmost.exact.saved import NONSENSE, canonical, read_checked, write_checked
from utmost.mechanism import FiniteMechanism
from utmost.mechanism.sampling import WORD
from utmost.mechanism.violations import growth_floor
from utmost.messages import Argument
from utmost.privacy import ApproxDP, level_from_json, promise_in_words, require_accepted
from utmost.solution.card import card
from utmost.space import label_from_json, label_to_json
from utmost.space.edge_levels import Privacy
from utmost.theory.local.design.alphabet import distributions, pure_level
from utmost.theory.local.design.category_columns import like, positions_of
from utmost.theory.local.design.estimation import Estimate, estimate_from
from utmost.theory.local.design.responses import (
    Responses,
    draw_sets,
    read_responses,
    read_stored_response,
    require_possible,
    store_response,
)
from utmost.theory.local.design.simple import subset
from utmost.theory.local.design.two_hypotheses import Decision, decide_counts

FORMAT, VERSION = "utmost-survey", 1
MOST_CATEGORIES = 10**6


def survey(
    categories: Sequence[Any],
    privacy: Privacy,
    question: str = "",
    other: Any = None,
    size: int | None = None,
) -> Survey:
    """A survey whose answers are randomised on each person's device, with the least variance of the estimates.

    Parameters
    ----------
    categories : sequence
        The possible answers: text, numbers, truth values or tuples of them.
    privacy : PureDP or number
        The level for each person, against anyone who sees the response.
    question : str
        The question in words. A person who is asked it again repeats the stored response, so name the occasion where
        answers may have changed.
    other : category, optional
        The category that stands for everything not listed, nulls included; needed for whole columns, where an error
        would reveal that someone's value is not listed.
    size : int, optional
        How many categories a response names; None for the size with the least variance.

    Examples
    --------
    >>> import utmost as um
    >>> sports = um.local.survey(["never", "sometimes", "often"], 1.0)
    >>> sports
    Survey of 3 categories at 1-DP, 1 in a response
    >>> sports.respond("often") in sports.categories
    True
    """
    if isinstance(categories, str | bytes) or not isinstance(categories, Iterable):
        raise InvalidInput("categories must be several; give a list of them.")
    names = tuple(c.item() if isinstance(c, np.generic) else c for c in categories)
    labels = [label_to_json(name) for name in names]
    try:
        canonical([labels, question])
    except (TypeError, ValueError):
        raise InvalidInput("categories must be finite and, like the question, of plain text and numbers.") from None
    if len(set(names)) < len(names) or not 2 <= len(names) <= MOST_CATEGORIES or None in names:
        raise InvalidInput(
            f"{len(names)} categories, {len(set(names))} of them different; give from 2 to {MOST_CATEGORIES}, each "
            "once, and none of them None."
        )
    if other is not None and other not in names:
        raise InvalidInput(f"other is {other!r}, which is not a category; add it to the categories.")
    level = pure_level(privacy)
    set_size = best_survey_size(len(names), level) if size is None else as_whole(size, "size", 1)
    if set_size >= len(names):
        raise InvalidInput(f"size is {size} of {len(names)} categories; give fewer than there are.")
    return Survey(names, level, set_size, question, other)


def best_survey_size(k: int, level: ApproxDP) -> int:
    """The number of categories in a response with the least variance: next to k/(e^eps + 1) (Ye and Barg 2018)."""
    shrink = math.exp(-level.log_growth)
    middle = k * shrink / (1 + shrink)
    near = [min(max(s, 1), k - 1) for s in (math.floor(middle), math.ceil(middle))]
    return min(near, key=lambda s: (s + (k - s) * shrink) ** 2 / (s * (k - s)))


@dataclass(frozen=True)
class Survey:
    """The public parameters of a survey, with its client and its server side. Made by `local.survey`.

    Attributes
    ----------
    categories : tuple
        The possible answers.
    level : PureDP
        The level for each person.
    size : int
        How many categories a response names.
    question : str
        The question in words.
    other : category, optional
        The category for everything not listed, or None.
    """

    categories: tuple[Any, ...]
    level: ApproxDP
    size: int
    question: str = ""
    other: Any = None
    _index: dict[Any, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_index", {name: i for i, name in enumerate(self.categories)})

    # ---- guarantee ----

    @property
    def promise(self) -> str:
        """The guarantee to a person who responds, in words: to be read, or shown, before anything is sent.

        Examples
        --------
        >>> import utmost as um
        >>> print(um.local.survey(["no", "yes"], 1.0).promise)
        1-DP: whoever thinks two answers equally likely and sees your response guesses yours with probability 73.11 % at
        most (50 % without it).
        """
        return promise_in_words(self.level)

    @cached_property
    def inside(self) -> Fraction:
        """The probability that a response names the true category: exact, a multiple of 2^-62.

        Rounded down, with a rational below e^eps, so that odds never exceed the level; at levels too small for 62
        bits it is the chance s/k, and responses do not depend on the answer.
        """
        k, s = len(self.categories), self.size
        growth = growth_floor(self.level)
        share = Fraction(s) * growth / (s * growth + k - s) if growth is not None else Fraction(1)
        rounded = Fraction(math.floor(share * 2**WORD), 2**WORD)
        return rounded if rounded * k > s else Fraction(s, k)

    @property
    def beside(self) -> Fraction:
        """The probability that a response names a particular category that is not the true one."""
        return (self.size - self.inside) / (len(self.categories) - 1)

    @property
    def odds(self) -> Fraction | None:
        """The likelihood ratio of responses with and without the true category, exactly; None if infinite."""
        k, s = len(self.categories), self.size
        return None if self.inside == 1 else self.inside * (k - s) / ((1 - self.inside) * s)

    def verify(self) -> bool:
        """Whether the level holds in exact arithmetic: the odds are at least 1 and at most e^eps."""
        growth = growth_floor(self.level)
        return growth is None or (self.odds is not None and 1 <= self.odds <= growth)

    @property
    def optimal(self) -> Literal["theorem", "asymptotic", "unproved"]:
        """The kind of optimality: by a theorem for two categories, in the limit of many people for more.

        Two: every private response can be simulated from this one (LIM Theorem 3.6.1). More: with the best size, the
        sum of squared errors is the least in the worst case as the number of people grows (Ye and Barg 2019); nothing
        is proved about other sizes.
        """
        k = len(self.categories)
        return "theorem" if k == 2 else "asymptotic" if self.size == best_survey_size(k, self.level) else "unproved"

    def standard_error(self, people: int, frequency: float | None = None) -> float:
        """The expected standard error of one frequency from this many people; by default of the average frequency.

        Examples
        --------
        >>> import utmost as um
        >>> round(um.local.survey(["no", "yes"], 1.0).standard_error(1000, 0.5), 6)
        0.034215
        """
        share = 1 / len(self.categories) if frequency is None else float(frequency)
        if not 0 <= share <= 1:
            raise InvalidInput(f"frequency is {frequency!r}; give a number between 0 and 1.")
        slope = float(self.inside - self.beside)
        if slope == 0:
            return math.inf
        chance = float(self.beside) + slope * share
        return math.sqrt(chance * (1 - chance) / as_whole(people, "people", 1)) / slope

    @property
    def mechanism(self) -> FiniteMechanism:
        """The mechanism as a table of all probabilities, if the sets are few enough to list."""
        listed_mechanism = subset(len(self.categories), self.level, self.size)
        names = [self._label([int(i) for i in positions]) for positions in listed_mechanism.outputs]
        return FiniteMechanism(listed_mechanism.matrix, self.categories, names)

    # ---- on the client ----

    def respond(self, value: Any, kept: str | os.PathLike[str] | None = None, accept: bool = False) -> Any:
        """One private response to the question: a category, or a tuple of `size` of them; drawn exactly.

        Parameters
        ----------
        value : category
            The true answer; it never leaves this call.
        kept : path, optional
            A file on the person's device; a response stored there for this survey is repeated, whatever the value is
            now, because every new one would spend the level again.
        accept : bool
            Respond although the guarantee is weaker than epsilon = 5, which is otherwise refused (`WeakPromise`); for
            the person to decide, after reading `promise`.

        Examples
        --------
        >>> import utmost as um
        >>> len(um.local.survey(range(12), 0.5).respond(7))
        5
        """
        if kept is not None and (stored := read_stored_response(Path(kept), self.identity)) is not None:
            return self._checked(stored, kept)
        require_accepted(self.level, accept)
        response = self._label(self._draw(np.array([self._find(value, strict=True)]))[0].tolist())
        return response if kept is None else self._checked(store_response(Path(kept), self.identity, response), kept)

    def respond_column(self, column: Any, accept: bool = False) -> Any:
        """A private response for every value of a column, as a column of the same kind.

        For a holder of answers who passes them on. Values that are not listed, nulls included, count as `other`, a rule
        fixed before anyone answered: so a survey without `other` takes no columns. A guarantee weaker than epsilon = 5
        is refused unless you `accept` it for all of them.

        Examples
        --------
        >>> import utmost as um
        >>> colours = um.local.survey(["red", "blue", "else"], 1.0, other="else")
        >>> len(colours.respond_column(["red", "blue", None, "mauve"]))
        4
        """
        if self.other is None:
            raise InvalidInput(
                "a column may hold nulls and values that are not listed, and an error would tell; make the survey "
                "with ",
                Argument("other"),
                ", the category that stands for them.",
            )
        require_accepted(self.level, accept)
        sets = self._draw(positions_of(column, lambda value: self._find(value, strict=False)))
        names = self.categories
        if self.size == 1:
            return like(column, [names[i] for i in sets[:, 0].tolist()])
        return like(column, [tuple(names[i] for i in row) for row in sets.tolist()])

    def draw(self, positions: ArrayLike, accept: bool = False) -> Responses:
        """Responses to answers that are given as positions of categories: the fastest interface.

        A guarantee weaker than epsilon = 5 is refused unless you `accept` it for all of them.

        Examples
        --------
        >>> import utmost as um
        >>> colours = um.local.survey(["red", "blue", "green"], 1.0)
        >>> responses = colours.draw([0, 2, 2, 1])
        >>> responses.positions.shape, colours.estimate(responses).people
        ((4, 1), 4)
        """
        answers = np.asarray(positions)
        if answers.ndim != 1 or not np.issubdtype(answers.dtype, np.integer):
            raise InvalidInput("positions must be one array of whole numbers, those of the categories.")
        if answers.size and not 0 <= answers.min() <= answers.max() < len(self.categories):
            raise UnknownPoint("a position is not that of a category; they run from 0 to the last.")
        require_accepted(self.level, accept)
        return Responses(self.identity, self._draw(answers))

    def _draw(self, true: NDArray[np.int64]) -> NDArray[np.int64]:
        return draw_sets(true, len(self.categories), self.size, self.inside)

    def _find(self, value: Any, strict: bool) -> int:
        """The position of a category; that of `other` for the rest, else an error if `strict`, or -1."""
        plain = value.item() if isinstance(value, np.generic) else value
        try:
            position = self._index.get(plain)
        except TypeError:
            position = None
        if position is None and self.other is not None:
            return self._index[self.other]
        if position is None and strict:
            raise UnknownPoint("that is not a category of this survey; its categories are in `.categories`.")
        return -1 if position is None else position

    def _label(self, positions: list[int]) -> Any:
        names = tuple(self.categories[i] for i in positions)
        return names[0] if self.size == 1 else names

    def _checked(self, response: Any, path: str | os.PathLike[str]) -> Any:
        """A response read from a file, refused if it cannot be one to this survey."""
        try:
            read_responses([response], self._index, self.size, self.identity)
        except InvalidInput:
            raise BadFile(f"{path} does not hold a response to this survey; move it away to answer anew.") from None
        return response

    # ---- on the server ----

    def estimate(self, responses: Any) -> Estimate:
        """Frequencies of the categories among the people who responded, with their errors.

        Parameters
        ----------
        responses : list, column or Responses
            Results of `respond` or `respond_column`, names of categories, in a list or column; or that of `draw`.
            Responses to another survey are refused if they name it, or if no answers explain their frequencies.

        Examples
        --------
        >>> import utmost as um
        >>> yes_or_no = um.local.survey(["no", "yes"], 1.0)
        >>> estimate = yes_or_no.estimate(["yes"] * 600 + ["no"] * 400)
        >>> estimate.frequencies.round(4).tolist(), estimate.interval(0.95)[1].round(3).tolist()
        ([0.2836, 0.7164], [0.649, 0.782])
        """
        if self.inside == self.beside:
            raise InvalidInput(f"responses at {self.level} say nothing about the answers; allow a larger epsilon.")
        return estimate_from(self._read(responses), self.categories, float(self.inside), float(self.beside))

    def decide(self, responses: Any, p0: ArrayLike, p1: ArrayLike, prior: float = 0.5) -> Decision:
        """Decide between two hypotheses about the frequencies, with the error probabilities of the rule.

        Responses are reduced to how many of their categories are likelier under p1, which is sufficient for two
        categories. `local.for_testing` designs a mechanism for this question alone; `prior` is the prior probability of
        p0.

        Examples
        --------
        >>> import utmost as um
        >>> yes_or_no = um.local.survey(["no", "yes"], 1.0)
        >>> decision = yes_or_no.decide(["yes"] * 60 + ["no"] * 40, [0.7, 0.3], [0.3, 0.7])
        >>> decision.answer, round(decision.false_alarm, 3), decision.exact
        (1, 0.024, True)
        """
        first, second = distributions(p0, p1)
        if len(first) != len(self.categories):
            raise InvalidInput(f"p0 has {len(first)} entries for {len(self.categories)} categories; give one for each.")
        favoured = second > first
        hits = favoured[self._read(responses)].sum(axis=1)
        counts = np.bincount(hits, minlength=self.size + 1)
        laws = self._hits(int(favoured.sum()))
        m0, m1 = (float(p[~favoured].sum()) * laws[0] + float(p[favoured].sum()) * laws[1] for p in (first, second))
        return decide_counts(counts, m0 / m0.sum(), m1 / m1.sum(), prior)

    def _hits(self, marked: int) -> NDArray[np.float64]:
        """The law of the number of marked categories in a response, if the true one is not marked, and if it is."""
        k, s, p = len(self.categories), self.size, float(self.inside)
        laws = np.zeros((2, s + 1))
        for truth in (0, 1):
            other_marked = marked - truth
            for h in range(s + 1):
                for with_true, chance in ((1, p), (0, 1 - p)):
                    fillers, marked_fillers = s - with_true, h - with_true * truth
                    if (
                        0 <= marked_fillers <= min(fillers, max(other_marked, 0))
                        and fillers - marked_fillers <= k - 1 - other_marked
                    ):
                        ways = math.comb(max(other_marked, 0), marked_fillers) * math.comb(
                            k - 1 - other_marked, fillers - marked_fillers
                        )
                        laws[truth, h] += chance * float(Fraction(ways, math.comb(k - 1, fillers)))
        return laws

    def _read(self, responses: Any) -> NDArray[np.int64]:
        """Responses as positions, a row each; refused if they cannot belong to this survey."""
        table = read_responses(responses, self._index, self.size, self.identity)
        require_possible(table, self.categories, float(self.inside), float(self.beside))
        return table

    # ---- as a file ----

    @cached_property
    def identity(self) -> str:
        """A checksum of the survey's public parameters, which ties a stored response to it."""
        return hashlib.sha256(canonical(self._plain())).hexdigest()

    def _plain(self) -> dict[str, Any]:
        """The survey as plain JSON data."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "categories": [label_to_json(c) for c in self.categories],
            "privacy": self.level.to_json(),
            "size": self.size,
            "question": self.question,
            "other": label_to_json(self.other),
        }

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the survey as one JSON file, for clients and the server; atomically."""
        return write_checked(path, self._plain())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Survey:
        """Read a survey written by `save`; `BadFile` if it was changed, truncated or is of another version."""
        content = read_checked(path, FORMAT, VERSION, "survey")
        try:
            return survey(
                [label_from_json(c) for c in content["categories"]],
                level_from_json(content["privacy"]),
                str(content["question"]),
                label_from_json(content["other"]),
                content["size"],
            )
        except (InvalidInput, *NONSENSE) as problem:
            raise BadFile(f"{path} does not hold a survey: {problem}") from None

    def __repr__(self) -> str:
        return f"Survey of {len(self.categories)} categories at {self.level}, {self.size} in a response"

    def _repr_html_(self) -> str:
        question_line = f"\nquestion: {self.question}" if self.question else ""
        few = ", ".join(str(name) for name in self.categories[:MOST_LISTED])
        more = f" and {len(self.categories) - MOST_LISTED:,} more" if len(self.categories) > MOST_LISTED else ""
        return card(f"{self!r}{question_line}\ncategories: {few}{more}\npromise: {self.promise}")
