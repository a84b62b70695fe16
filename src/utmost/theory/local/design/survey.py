"""A survey of categories: respond on the client with exact draws, estimate frequencies on the server.

A response is a random set of `size` categories that holds the true one e^eps times as often (in odds) as chance would:
subset selection, which is randomised response where the best size is 1. It has the least variance of its kind, and no
private way is better in the limit of many people (Ye and Barg 2019); for two categories none is better at all.
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
from utmost.privacy import ApproxDP, level_from_json, promise_in_words, require_accepted
from utmost.solution.card import card
from utmost.space import label_from_json, label_to_json
from utmost.space.edge_levels import Privacy
from utmost.theory.local.design.alphabet import distributions, pure_level
from utmost.theory.local.design.category_columns import like, positions_of
from utmost.theory.local.design.estimation import Estimate, estimate_from
from utmost.theory.local.design.responses import Responses, draw_sets, keep, read_kept, read_responses, require_possible
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
    """A survey whose answers are private on each person's device, with the least variance of the estimates.

    Parameters
    ----------
    categories : the answers a person can give: text, numbers, truth values or tuples of them
    privacy : PureDP or number: what each person is promised, whoever sees the response
    question : the question in words; a person who is asked it again repeats the kept response, so say which occasion
        it is where answers may have changed
    other : the category that stands for everything not listed, nulls included; needed for whole columns, where an
        error would tell that someone's value is not listed
    size : how many categories a response names; None for the size with the least variance

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
    written = [label_to_json(name) for name in names]
    try:
        canonical([written, question])
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
    chosen = best_survey_size(len(names), level) if size is None else as_whole(size, "size", 1)
    if chosen >= len(names):
        raise InvalidInput(f"size is {size} of {len(names)} categories; give fewer than there are.")
    return Survey(names, level, chosen, question, other)


def best_survey_size(k: int, level: ApproxDP) -> int:
    """How many categories a response names for the least variance: next to k/(e^eps + 1) (Ye and Barg 2018)."""
    shrink = math.exp(-level.log_growth)
    middle = k * shrink / (1 + shrink)
    near = [min(max(s, 1), k - 1) for s in (math.floor(middle), math.ceil(middle))]
    return min(near, key=lambda s: (s + (k - s) * shrink) ** 2 / (s * (k - s)))


@dataclass(frozen=True)
class Survey:
    """A survey: what is public about it. Made by `local.survey`.

    Attributes
    ----------
    categories : the answers a person can give
    level : the promise to each person
    size : how many categories a response names
    question : the question in words
    other : the category for everything not listed, or None
    """

    categories: tuple[Any, ...]
    level: ApproxDP
    size: int
    question: str = ""
    other: Any = None
    _index: dict[Any, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_index", {name: i for i, name in enumerate(self.categories)})

    # ---- what it promises ----

    @property
    def promise(self) -> str:
        """What a person who responds is promised, in words: read it, or show it, before anything is sent.

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

        Rounded down, with a rational below e^eps, so that odds never exceed the promise; at levels too small for 62
        bits it is the chance s/k, and responses do not depend on the answer.
        """
        k, s = len(self.categories), self.size
        growth = growth_floor(self.level)
        share = Fraction(s) * growth / (s * growth + k - s) if growth is not None else Fraction(1)
        rounded = Fraction(math.floor(share * 2**WORD), 2**WORD)
        return rounded if rounded * k > s else Fraction(s, k)

    @property
    def beside(self) -> Fraction:
        """The probability that a response names one given category that is not the true one."""
        return (self.size - self.inside) / (len(self.categories) - 1)

    @property
    def odds(self) -> Fraction | None:
        """How many times likelier a response is if it names the true category, exactly; None if only then possible."""
        k, s = len(self.categories), self.size
        return None if self.inside == 1 else self.inside * (k - s) / ((1 - self.inside) * s)

    def verify(self) -> bool:
        """Whether the promise holds in exact arithmetic: the odds are at least 1 and at most e^eps."""
        growth = growth_floor(self.level)
        return growth is None or (self.odds is not None and 1 <= self.odds <= growth)

    @property
    def optimal(self) -> Literal["theorem", "asymptotic", "unproved"]:
        """Why no private survey is better: by a theorem for two categories, in the limit of many people for more.

        Two: every private response can be simulated from this one (LIM Theorem 3.6.1). More: the sum of squared errors
        is the least in the worst case as people grow in number (Ye and Barg 2019), with the best size; nothing is
        proved about another size that was asked for.
        """
        k = len(self.categories)
        return "theorem" if k == 2 else "asymptotic" if self.size == best_survey_size(k, self.level) else "unproved"

    def standard_error(self, people: int, frequency: float | None = None) -> float:
        """The standard error of one frequency to expect from so many people; by default for the average frequency.

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
        named = float(self.beside) + slope * share
        return math.sqrt(named * (1 - named) / as_whole(people, "people", 1)) / slope

    @property
    def mechanism(self) -> FiniteMechanism:
        """All probabilities, where the sets are few enough to list."""
        found = subset(len(self.categories), self.level, self.size)
        names = [self._label([int(i) for i in chosen]) for chosen in found.outputs]
        return FiniteMechanism(found.matrix, self.categories, names)

    # ---- on the client ----

    def respond(self, value: Any, kept: str | os.PathLike[str] | None = None, accept: bool = False) -> Any:
        """One private response to the question: a category, or a tuple of `size` of them; drawn exactly.

        Parameters
        ----------
        value : the true answer; it never leaves this call
        kept : file on the person's device; a response kept there for this survey is given again, whatever the value is
            now, because every new one would spend the promise again
        accept : respond although the promise is weaker than epsilon = 5, which is otherwise refused (`WeakPromise`);
            for the person to say, after they saw `promise`

        Examples
        --------
        >>> import utmost as um
        >>> len(um.local.survey(range(12), 0.5).respond(7))
        5
        """
        if kept is not None and (found := read_kept(Path(kept), self.identity)) is not None:
            return self._checked(found, kept)
        require_accepted(self.level, accept)
        response = self._label(self._draw(np.array([self._find(value, strict=True)]))[0].tolist())
        return response if kept is None else self._checked(keep(Path(kept), self.identity, response), kept)

    def respond_column(self, column: Any, accept: bool = False) -> Any:
        """A private response for every value of a column, of the kind it was given as.

        For someone who holds the answers and hands them on. What is not listed, nulls included, counts as `other`, a
        rule chosen before anyone answered: so a survey without `other` takes no columns. A promise weaker than
        epsilon = 5 is refused unless you `accept` it for all of them.

        Examples
        --------
        >>> import utmost as um
        >>> colours = um.local.survey(["red", "blue", "else"], 1.0, other="else")
        >>> len(colours.respond_column(["red", "blue", None, "mauve"]))
        4
        """
        if self.other is None:
            raise InvalidInput(
                "a column may hold nulls and values that are not listed, and an error would tell; make the survey with "
                "other=, the category that stands for them."
            )
        require_accepted(self.level, accept)
        drawn = self._draw(positions_of(column, lambda value: self._find(value, strict=False)))
        names = self.categories
        if self.size == 1:
            return like(column, [names[i] for i in drawn[:, 0].tolist()])
        return like(column, [tuple(names[i] for i in row) for row in drawn.tolist()])

    def draw(self, positions: ArrayLike, accept: bool = False) -> Responses:
        """Responses to answers that are given as positions of categories: the fastest way.

        A promise weaker than epsilon = 5 is refused unless you `accept` it for all of them.

        Examples
        --------
        >>> import utmost as um
        >>> colours = um.local.survey(["red", "blue", "green"], 1.0)
        >>> drawn = colours.draw([0, 2, 2, 1])
        >>> drawn.positions.shape, colours.estimate(drawn).people
        ((4, 1), 4)
        """
        given = np.asarray(positions)
        if given.ndim != 1 or not np.issubdtype(given.dtype, np.integer):
            raise InvalidInput("positions must be one array of whole numbers, those of the categories.")
        if given.size and not 0 <= given.min() <= given.max() < len(self.categories):
            raise UnknownPoint("a position is not that of a category; they run from 0 to the last.")
        require_accepted(self.level, accept)
        return Responses(self.identity, self._draw(given))

    def _draw(self, true: NDArray[np.int64]) -> NDArray[np.int64]:
        return draw_sets(true, len(self.categories), self.size, self.inside)

    def _find(self, value: Any, strict: bool) -> int:
        plain = value.item() if isinstance(value, np.generic) else value
        try:
            found = self._index.get(plain)
        except TypeError:
            found = None
        if found is None and self.other is not None:
            return self._index[self.other]
        if found is None and strict:
            raise UnknownPoint("that is not a category of this survey; its categories are in `.categories`.")
        return -1 if found is None else found

    def _label(self, positions: list[int]) -> Any:
        names = tuple(self.categories[i] for i in positions)
        return names[0] if self.size == 1 else names

    def _checked(self, response: Any, kept: str | os.PathLike[str]) -> Any:
        """A response out of a file, which may hold anything."""
        try:
            read_responses([response], self._index, self.size, self.identity)
        except InvalidInput:
            raise BadFile(f"{kept} does not hold a response to this survey; move it away to answer anew.") from None
        return response

    # ---- on the server ----

    def estimate(self, responses: Any) -> Estimate:
        """Frequencies of the categories among the people who responded, with their errors.

        Parameters
        ----------
        responses : what `respond` or `respond_column` gave, names of categories, in a list or column; or what `draw`
            made. Those of another survey are refused where they say so, or where no answers explain their frequencies.

        Examples
        --------
        >>> import utmost as um
        >>> yes_or_no = um.local.survey(["no", "yes"], 1.0)
        >>> found = yes_or_no.estimate(["yes"] * 600 + ["no"] * 400)
        >>> found.frequencies.round(4).tolist(), found.interval(0.95)[1].round(3).tolist()
        ([0.2836, 0.7164], [0.649, 0.782])
        """
        if self.inside == self.beside:
            raise InvalidInput(f"responses at {self.level} say nothing about the answers; allow a larger epsilon.")
        return estimate_from(self._heard(responses), self.categories, float(self.inside), float(self.beside))

    def decide(self, responses: Any, p0: ArrayLike, p1: ArrayLike, prior: float = 0.5) -> Decision:
        """Which of two hypotheses about the frequencies the responses speak for, and how often that is wrong.

        Responses are reduced to how many of their categories are likelier under p1, which loses nothing for two
        categories. `local.for_testing` designs a mechanism for the very question; `prior` is the probability of p0
        beforehand.

        Examples
        --------
        >>> import utmost as um
        >>> yes_or_no = um.local.survey(["no", "yes"], 1.0)
        >>> found = yes_or_no.decide(["yes"] * 60 + ["no"] * 40, [0.7, 0.3], [0.3, 0.7])
        >>> found.answer, round(found.false_alarm, 3), found.exact
        (1, 0.024, True)
        """
        first, second = distributions(p0, p1)
        if len(first) != len(self.categories):
            raise InvalidInput(f"p0 has {len(first)} entries for {len(self.categories)} categories; give one for each.")
        named = second > first
        hits = named[self._heard(responses)].sum(axis=1)
        counts = np.bincount(hits, minlength=self.size + 1)
        laws = self._hits(int(named.sum()))
        m0, m1 = (float(p[~named].sum()) * laws[0] + float(p[named].sum()) * laws[1] for p in (first, second))
        return decide_counts(counts, m0 / m0.sum(), m1 / m1.sum(), prior)

    def _hits(self, marked: int) -> NDArray[np.float64]:
        """How many marked categories a response names, for a true one that is not marked, and for one that is."""
        k, s, p = len(self.categories), self.size, float(self.inside)
        laws = np.zeros((2, s + 1))
        for truth in (0, 1):
            others = marked - truth
            for h in range(s + 1):
                for held, chance in ((1, p), (0, 1 - p)):
                    drawn, needed = s - held, h - held * truth
                    if 0 <= needed <= min(drawn, max(others, 0)) and drawn - needed <= k - 1 - others:
                        ways = math.comb(max(others, 0), needed) * math.comb(k - 1 - others, drawn - needed)
                        laws[truth, h] += chance * float(Fraction(ways, math.comb(k - 1, drawn)))
        return laws

    def _heard(self, responses: Any) -> NDArray[np.int64]:
        """Responses as positions, a row each; refused where they cannot be this survey's."""
        table = read_responses(responses, self._index, self.size, self.identity)
        require_possible(table, self.categories, float(self.inside), float(self.beside))
        return table

    # ---- as a file ----

    @cached_property
    def identity(self) -> str:
        """A checksum of what is public about the survey: what a kept response belongs to."""
        return hashlib.sha256(canonical(self._plain())).hexdigest()

    def _plain(self) -> dict[str, Any]:
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
        """Write the survey as one JSON file, for clients and the server; complete or not there at all."""
        return write_checked(path, self._plain())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Survey:
        """Read a survey written by `save`; `BadFile` if it was changed, cut short or is of another version."""
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
        asked = f"\nquestion: {self.question}" if self.question else ""
        few = ", ".join(str(name) for name in self.categories[:MOST_LISTED])
        more = f" and {len(self.categories) - MOST_LISTED:,} more" if len(self.categories) > MOST_LISTED else ""
        return card(f"{self!r}{asked}\ncategories: {few}{more}\npromise: {self.promise}")
