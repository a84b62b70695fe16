"""Every query as a method, written out once: of a session, its plans, a schedule, and a server's client.

A method checks nothing itself: it makes a query of its arguments, which checks them (`questions`, `aggregates`), and
passes it to `ask`. A client sends the method's name and arguments instead (`QueryMethods._call`).
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from utmost.backends.source import Source, as_column
from utmost.errors import InvalidInput, shown
from utmost.exact import Number
from utmost.privacy import as_level
from utmost.queries.aggregates import Clamped, Count, Covariance, LeftOut, Mean, Sum, Variance
from utmost.queries.aggregates.aggregate import Ratio
from utmost.queries.aggregates.clamping import ClampedColumn
from utmost.queries.arguments import Condition, ExpectedRows, Of, Prior, Privacy, TallyPrior, Values
from utmost.queries.contributions import is_whole
from utmost.queries.found_keys import Discover, as_discover
from utmost.queries.keys import Keys, require_keys
from utmost.queries.losses import ERROR_LOSSES
from utmost.queries.predicate import as_where
from utmost.queries.questions import QUESTIONS
from utmost.queries.questions.aggregates import OneNumber, SeveralSums, is_pure, require_groups, require_no_prior
from utmost.queries.questions.cdf import Cdf
from utmost.queries.questions.counts import Counts, named_conditions
from utmost.queries.questions.hierarchy import HierarchyOf
from utmost.queries.questions.histogram import Histogram, as_column_categories
from utmost.queries.questions.majority import Majority
from utmost.queries.questions.marginals import Marginals
from utmost.queries.questions.numeric import grouped_by
from utmost.queries.questions.plurality import Plurality
from utmost.queries.questions.priors import require_unbiased
from utmost.queries.questions.quantile import quantile_query
from utmost.queries.questions.question import Question, Terms, as_of
from utmost.queries.questions.ranges import Ranges
from utmost.queries.questions.rows_per_person import DEFAULT_LARGEST, RowsPerPerson
from utmost.queries.questions.share import Share
from utmost.queries.questions.share_left_out import ShareLeftOut
from utmost.queries.questions.shown_keys import ShownKeys
from utmost.queries.questions.threshold import Threshold
from utmost.queries.questions.tiered import TieredCount
from utmost.queries.questions.top import Top
from utmost.queries.questions.top_found import TopFound

Result = TypeVar("Result", covariant=True)
"""What a method returns: an `Answer`, or a `Plan`."""
Arguments = ParamSpec("Arguments")


def query_method(
    method: Callable[Concatenate[QueryMethods[Result], Arguments], Result],
) -> Callable[Concatenate[QueryMethods[Result], Arguments], Result]:
    """Decorate a query's method: its arguments are bound first, and `InvalidInput` says which do not fit."""
    signature = inspect.signature(method)

    @wraps(method)
    def bound(self: QueryMethods[Result], /, *positional: Arguments.args, **named: Arguments.kwargs) -> Result:
        try:
            arguments = signature.bind(self, *positional, **named).arguments
        except TypeError:
            raise InvalidInput(misuse(method.__name__, signature, positional, named)) from None
        del arguments["self"]
        return self._call(method, arguments)

    return bound


def parameters_of(name: str) -> dict[str, inspect.Parameter]:
    """The parameters of a query's method, by name."""
    method = getattr(QueryMethods, name, None)
    if method is None:
        raise NotImplementedError(
            f"the query {name!r} is registered, but has no method; write QueryMethods.{name} in queries/methods.py."
        )
    parameters = dict(inspect.signature(method).parameters)
    del parameters["self"]
    return parameters


def misuse(name: str, signature: inspect.Signature, positional: tuple[Any, ...], named: Mapping[str, Any]) -> str:
    """The message for arguments that do not fit: which are missing or unknown, and the remedy."""
    parameters = [parameter for parameter in signature.parameters if parameter != "self"]
    places = [n for n in parameters if signature.parameters[n].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    usage = f"{name} takes {', '.join(parameters)}"
    unknown = [parameter for parameter in named if parameter not in parameters]
    if unknown == ["by"]:
        with_keys = [query for query in QUESTIONS if "by" in parameters_of(query)]
        return f"{name} is not asked by keys; {', '.join(with_keys)} take `by`."
    if unknown:
        return f"{name} has no argument {shown(unknown[0])}; {usage}."
    if len(positional) > len(places):
        return f"{name} takes {', '.join(places)} by position, and all else by name, such as where=...; {usage}."
    twice = [parameter for parameter in places[: len(positional)] if parameter in named]
    if twice:
        return f"{name} is given {twice[0]} twice, by position and by name; give it once."
    lacking = [n for n in parameters if signature.parameters[n].default is inspect.Parameter.empty]
    lacking = [n for n in lacking if n not in named and n not in places[: len(positional)]]
    help_of = {option.name: option.help.rstrip(".") for option in getattr(QUESTIONS.get(name), "options", ())}
    words = [f"{n} ({help_of[n][0].lower()}{help_of[n][1:]})" if help_of.get(n) else n for n in lacking]
    return f"{name} needs {', '.join(words)}: give what is public knowledge, never what the table says; {usage}."


class QueryMethods(ABC, Generic[Result]):
    """A method for every query, with the same arguments for sessions, plans, schedules and clients.

    Attributes
    ----------
    source : Source
        The table.
    terms : Terms
        The privacy unit and the adjacency.
    """

    source: Source
    terms: Terms

    @abstractmethod
    def ask(self, question: Question, fresh: bool) -> Result:
        """Answer the question, or plan it."""

    def _call(self, method: Callable[..., Result], arguments: Mapping[str, Any]) -> Result:
        """Run a query's method; a client sends its name and arguments instead."""
        return method(self, **arguments)

    def _level(self, privacy: Privacy) -> Privacy:
        """The level of a question; a subclass may have a default."""
        return privacy

    def _is_whole(self, column: str) -> bool:
        """Whether a column has an integer type in the public schema, so that its values need no rounding."""
        return is_whole(self.source, as_column(column))

    def _ask(
        self, kind: Callable[..., Question], privacy: Privacy, where: Condition, fresh: bool, **parameters: Any
    ) -> Result:
        """Ask a question of this kind about the rows that satisfy a condition."""
        level, condition = self._level(privacy), as_where(where, self.source)
        return self.ask(kind(terms=self.terms, privacy=level, where=condition, **parameters), fresh)

    def _ask_ratio(
        self,
        aggregate: Ratio,
        privacy: Privacy,
        where: Condition,
        loss: str,
        by: Keys | Discover | None,
        expected_rows: ExpectedRows,
        min_rows: int | None,
        fresh: bool,
    ) -> Result:
        """Ask for a ratio of sums, such as a mean, of the rows of a condition."""
        parameters = {"aggregate": aggregate, "loss": loss, "expected_rows": expected_rows}
        if by is None:
            require_groups(min_rows)
            return self._ask(SeveralSums, privacy, where, fresh, **parameters)
        return self._ask(grouped_by(by), privacy, where, fresh, by=by, min_rows=min_rows, **parameters)

    @query_method
    def count(
        self,
        where: Condition = None,
        privacy: Privacy = None,
        *,
        of: Of = "rows",
        loss: str = "absolute",
        prior: Prior = None,
        unbiased: bool = False,
        by: Keys | Discover | None = None,
        fresh: bool = False,
    ) -> Result:
        """The number of rows (or of people with such a row) that satisfy a condition.

        Parameters
        ----------
        where : str or callable, optional
            Which rows are counted: SQL such as ``"age >= 65"``, or a function of the table such as
            ``lambda t: t.age >= 65``. Rows for which it is unknown (null) are not counted. Every row without it.
        privacy : level or number
            What this answer may spend. A number is an epsilon: 0.5 means that no one's presence changes the
            probability of any answer by more than a factor e^0.5 = 1.65. `um.ApproxDP(1, 1e-6)`, `um.GaussianDP(1)` and
            `um.ZCDP(0.5)` are levels too.
        of : "rows" or "people"
            What is counted. People can be counted where the session's unit is `um.people(...)`: then every person
            with at least one such row counts once.
        loss : "absolute", "squared", "zero-one" or such as "within 5"
            What the mechanism is best for: the error, its square, being wrong at all, being off by more than 5.
        prior : sequence of probabilities, optional
            How likely each count 0, 1, ..., the most there can be, is thought to be beforehand. Uniform without it.
            The number shown is the best guess given this prior and the noisy count.
        unbiased : bool
            True gives the noisy count itself instead of the best guess: a whole number, possibly below 0, whose error
            has mean 0; right for numbers that are added up or compared later.
        by : um.keys or um.discover, optional
            Answer once for every public key, such as ``by=um.keys(town=["Ash", "Briar"])``. Groups are disjoint, so all
            of them together cost `privacy`; the answers are unbiased. Or for every key that the table has and the
            level lets be shown: ``by=um.discover("town")``; `privacy` needs a delta then.
        fresh : bool
            True draws again, and spends again, although the identical question was answered before; otherwise the
            recorded answer comes back and nothing is spent.

        Returns
        -------
        Answer (of a session) or Plan (of `session.plan`)
            `answer.value` is the count, `answer.interval` holds the true one with 95 %. By keys `answer.value` is
            {key: count}, and `answer.table` an Arrow table with both ends of every interval.

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"age": [70, 25, 80, 41] * 25})
        >>> s = um.Session(table, "survey", um.rows(at_most=120), "add-remove", budget=1)
        >>> answer = s.count("age >= 65", privacy=0.5)
        >>> 0 <= answer.value <= 120, bool(answer.verify())
        (True, True)
        """
        if self.terms.unit.tiers and by is None:
            return self._ask(TieredCount, privacy, where, fresh, of=of, loss=loss, prior=prior, unbiased=unbiased)
        aggregate = Count(counted=as_of(of, self.terms.unit))
        if by is None:
            return self._ask(
                OneNumber, privacy, where, fresh, aggregate=aggregate, loss=loss, prior=prior, unbiased=unbiased
            )
        require_no_prior(prior, unbiased)
        return self._ask(grouped_by(by), privacy, where, fresh, by=by, aggregate=aggregate, loss=loss)

    @query_method
    def sum(
        self,
        column: str,
        lower: Number,
        upper: Number,
        privacy: Privacy = None,
        *,
        grid: Number | None = None,
        where: Condition = None,
        loss: str = "absolute",
        prior: Prior = None,
        unbiased: bool = False,
        by: Keys | Discover | None = None,
        fresh: bool = False,
    ) -> Result:
        """The sum of a column, its values clamped to lower..upper and rounded to the grid; nulls take no part.

        Parameters
        ----------
        column : str
            A column of numbers, or of text that is read as numbers.
        lower, upper : numbers
            The public range of a value, multiples of the grid; what lies outside counts as the nearer end. It says how
            far one row can move the sum, and must not be read off the table.
        privacy : level or number
            What this answer may spend, as for `count`.
        grid : number, optional
            The step that values are rounded to, half up. The sum is a multiple of it. Without it whole numbers (a
            column of an integer type, whole bounds) are not rounded, and other values are rounded to a step so fine
            that rounding every row moves the answer by at most 1 % of its expected error, or as fine as 64-bit integers
            allow (groups of very many rows), and intervals contain what rounding can do. A coarser step that is named
            here counts: with `at_most`, interval and planned error contain half a step for each row that there may be;
            without it both are of the values rounded to the grid, and rounding itself moves the sum by at most half a
            step for each row.
        where : condition, optional
            Only rows with this condition take part.
        loss : "absolute", "squared", "zero-one" or such as "within 5"
            What the mechanism is best for; "within k" means within k *steps of the grid*.
        prior : sequence of probabilities, optional
            How likely each possible sum is, in increasing order. Uniform without it.
        unbiased : bool
            True gives the noisy sum itself, whose error has mean 0, instead of the best guess. Without `at_most`, and
            for values that are no whole numbers at levels other than pure ones, it is unbiased anyway.
        by : um.keys or um.discover, optional
            Answer once for every public key, or for every key that is shown, as for `count`; all groups together cost
            `privacy`.
        fresh : bool
            True draws and spends again although the identical question was answered before.

        Returns
        -------
        Answer (of a session) or Plan (of `session.plan`)

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"hours": [1, 5, 3, 0] * 25})
        >>> s = um.Session(table, "survey", um.rows(at_most=120), "add-remove", budget=1)
        >>> s.plan.sum("hours", 0, 5, privacy=0.5).question.words
        'What does hours add up to, values cut to 0..5, as the best guess under a uniform prior?'
        """
        whole = self._is_whole(column)
        aggregate = Sum(values=ClampedColumn(column=column, lower=lower, upper=upper, grid=grid, whole=whole))
        if by is not None:
            require_no_prior(prior, unbiased)
            return self._ask(grouped_by(by), privacy, where, fresh, by=by, aggregate=aggregate, loss=loss)
        level = self._level(privacy)
        is_listed = level is not None and not is_pure(as_level(level))  # noise on a line: for few steps only
        if is_listed and grid is None and not whole and prior is None and loss in ERROR_LOSSES:
            require_unbiased(unbiased)
            return self._ask(SeveralSums, privacy, where, fresh, aggregate=aggregate, loss=loss)
        return self._ask(
            OneNumber, privacy, where, fresh, aggregate=aggregate, loss=loss, prior=prior, unbiased=unbiased
        )

    @query_method
    def mean(
        self,
        column: str,
        lower: Number,
        upper: Number,
        privacy: Privacy = None,
        *,
        grid: Number | None = None,
        where: Condition = None,
        loss: str = "absolute",
        by: Keys | Discover | None = None,
        expected_rows: ExpectedRows = None,
        min_rows: int | None = None,
        fresh: bool = False,
    ) -> Result:
        """The mean of a column, its values clamped to lower..upper and rounded to the grid; nulls take no part.

        Parameters
        ----------
        column : str
            A column of numbers, or of text that is read as numbers.
        lower, upper : numbers
            The public range of a value, multiples of the grid, lower below upper; what lies outside counts as the
            nearer end. It must not be read off the table.
        privacy : level or number
            What this answer may spend, as for `count`.
        grid : number, optional
            The step that values are rounded to, half up. Without it whole numbers (a column of an
            integer type, whole bounds) are not rounded, and other values are rounded to a step so fine that rounding
            every row moves the answer by at most 1 % of its expected error, or as fine as 64-bit integers allow
            (groups of very many rows). Intervals contain what rounding can do, half a step, and so do planned errors: a
            coarse step that is named here makes both as much larger.
        where : condition, optional
            Only rows with this condition take part.
        loss : "absolute" or "squared"
            What the noise is best for.
        by : um.keys or um.discover, optional
            Answer once for every public key, as for `count`; all groups together cost `privacy`.
        expected_rows : number, mapping or list, optional
            How many rows the answer, or each group, is made of, roughly: a public number, no larger than `at_most`
            allows; for groups also {key: number}, or a list in the order of the keys. The plan's error and the
            comparisons are stated for it; without it the plan states them as a function of the rows. The error depends
            on where values lie as well: the plan has its least and its largest over all tables, and one number, such as
            `allot` needs, is the largest. The answer itself does not depend on it, and asking again with another one
            costs nothing.
        min_rows : int, optional
            With `by`: groups whose released number of rows is below this are suppressed: listed without a value. It is
            decided from released numbers alone, and asking again with another one costs nothing.
        fresh : bool
            True draws and spends again although the identical question was answered before.

        Returns
        -------
        Answer (of a session) or Plan (of `session.plan`)
            `answer.value` is the mean, the middle of the range where nobody seems to have a value; `answer.interval`
            holds the mean of the clamped values with 95 %. `answer.after.rows` is how many rows it is made of, as far
            as what was released says, `answer.after.rows_between` holds that number with 95 %, and
            `answer.after.expected` is the expected loss with so many rows and a mean where the answer says. With `by`,
            `answer.table` has all of these for each group (value, lower, upper, rows, rows_lower, rows_upper), and
            reliable: whether the interval is narrower than half of the range.

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"age": [70, 25, 80, 41] * 25})
        >>> s = um.Session(table, "survey", um.rows(at_most=120), "add-remove", budget=1)
        >>> 0 <= s.mean("age", 0, 100, privacy=1).value <= 100
        True
        """
        whole = self._is_whole(column)
        values = ClampedColumn(column=column, lower=lower, upper=upper, grid=grid, whole=whole)
        return self._ask_ratio(Mean(values=values), privacy, where, loss, by, expected_rows, min_rows, fresh)

    @query_method
    def variance(
        self,
        column: str,
        lower: Number,
        upper: Number,
        privacy: Privacy = None,
        *,
        grid: Number | None = None,
        where: Condition = None,
        loss: str = "absolute",
        by: Keys | None = None,
        expected_rows: ExpectedRows = None,
        min_rows: int | None = None,
        fresh: bool = False,
    ) -> Result:
        """The variance of a column and its standard deviation, values clamped to lower..upper and rounded to the grid.

        The variance is the mean squared distance from the mean: divided by how many values there are, not by one less.
        Nulls take no part.

        Parameters
        ----------
        column : str
            A column of numbers, or of text that is read as numbers.
        lower, upper : numbers
            The public range of a value, multiples of the grid, lower below upper; what lies outside counts as the
            nearer end. It must not be read off the table.
        privacy : level or number
            What this answer may spend, as for `count`.
        grid : number, optional
            The step that values are rounded to, half up; a range of at most 2^24 steps. Without it whole numbers (a
            column of an integer type, whole bounds) are not rounded, and other values are rounded to as fine a step
            as 2^24 steps allow: of more than about 100,000/epsilon rows rounding may be more than 1 % of the expected
            error. Intervals contain it, and so do planned errors.
        where : condition, optional
            Only rows with this condition take part.
        loss : "absolute" or "squared"
            What the noise is best for.
        by : um.keys, optional
            Answer once for every public key, as for `count`; all groups together cost `privacy`. Then the values are
            variances.
        expected_rows : number, mapping or list, optional
            Roughly how many rows the answer, or each group, is made of, as for `mean`: the plan's error is for it.
        min_rows : int, optional
            With `by`: groups whose released number of rows is below this are listed without a value, as for `mean`.
        fresh : bool
            True draws and spends again although the identical question was answered before.

        Returns
        -------
        Answer (of a session) or Plan (of `session.plan`)
            `answer.value` is a dict with "variance" and "standard deviation"; `answer.intervals` holds, for each, an
            interval with that of the clamped values with 95 %. `answer.after.rows` is how many rows it is made of, as
            far as what was released says, `answer.after.rows_between` holds that number with 95 %, and
            `answer.after.expected` is the expected loss with so many rows and values as spread as the answer says. With
            `by`, `answer.table` has them for each group, as for `mean`.

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"age": [70, 25, 80, 41] * 25})
        >>> s = um.Session(table, "survey", um.rows(at_most=120), "add-remove", budget=1)
        >>> found = s.variance("age", 0, 100, privacy=1)
        >>> 0 <= found.value["standard deviation"] <= 50
        True
        """
        whole = self._is_whole(column)
        values = ClampedColumn(column=column, lower=lower, upper=upper, grid=grid, whole=whole)
        if by is not None:
            require_keys(by)
        aggregate = Variance(values=values)
        return self._ask_ratio(aggregate, privacy, where, loss, by, expected_rows, min_rows, fresh)

    @query_method
    def covariance(
        self,
        x: str,
        y: str,
        x_range: Sequence[Number],
        y_range: Sequence[Number],
        privacy: Privacy = None,
        *,
        x_grid: Number | None = None,
        y_grid: Number | None = None,
        where: Condition = None,
        loss: str = "absolute",
        expected_rows: ExpectedRows = None,
        fresh: bool = False,
    ) -> Result:
        """Covariance and correlation of two columns, and the slope of the line that predicts y from x.

        Of rows that have both values. Divided by how many there are; the slope is covariance over variance of x.

        Parameters
        ----------
        x, y : str
            Columns of numbers, or of text that is read as numbers.
        x_range, y_range : pairs of numbers
            The public ranges (lower, upper) of both, multiples of their grids; what lies outside counts as the nearer
            end. They must not be read off the table.
        privacy : level or number
            What this answer may spend, as for `count`; all three numbers together.
        x_grid, y_grid : numbers, optional
            The steps that values are rounded to, half up; the ranges have at most 2^24 pairs of steps, or widths whose
            least common multiple is at most 2^24 steps. Without them whole numbers are not rounded where that is
            possible, and other ranges are divided as finely as these numbers allow, into at most 10^7 steps. Intervals
            contain what rounding can do, and so do planned errors.
        where : condition, optional
            Only rows with this condition take part.
        loss : "absolute" or "squared"
            What the noise is best for.
        expected_rows : number, optional
            Roughly how many rows have both values, as for `mean`: the plan's error is for it.
        fresh : bool
            True draws and spends again although the identical question was answered before.

        Returns
        -------
        Answer (of a session) or Plan (of `session.plan`)
            `answer.value` is a dict with "covariance", "correlation" and "slope"; each of `answer.intervals` contains
            that number of the clamped column, before rounding, with at least 95 %.

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"age": [70, 25, 80, 41] * 250, "hours": [30, 10, 40, 20] * 250})
        >>> s = um.Session(table, "survey", um.rows(at_most=1200), "add-remove", budget=1)
        >>> s.covariance("age", "hours", (0, 100), (0, 50), privacy=1).value["correlation"] > 0.5
        True
        """
        whole = self._is_whole(x), self._is_whole(y)
        aggregate = Covariance(x=x, y=y, x_range=x_range, y_range=y_range, x_grid=x_grid, y_grid=y_grid, whole=whole)
        return self._ask(
            SeveralSums, privacy, where, fresh, aggregate=aggregate, loss=loss, expected_rows=expected_rows
        )

    @query_method
    def share(
        self,
        where: Condition,
        privacy: Privacy = None,
        *,
        among: int,
        of: Of = "rows",
        loss: str = "absolute",
        fresh: bool = False,
    ) -> Result:
        """Which share of the rows (or people) has a condition; `answer.test(theta)` tests a population's share with it.

        The answer is unbiased: the noisy count over the public number of rows, possibly below 0 or above 1.

        Parameters
        ----------
        where : condition
            What is counted, such as "age >= 65".
        privacy : level or number
            What this answer may spend, as for `count`. Tests and intervals made of it cost nothing more.
        among : int
            How many rows (or people) there are. It is public, since rows are replaced and none come or go; a session
            whose neighbours are "add-remove" has no shares.
        of : "rows" or "people"
            What is counted; of people with several rows, a person counts once if one of them has the condition.
        loss : "absolute" or "squared"
            What the noise is best for.
        fresh : bool
            True draws and spends again although the identical question was answered before.

        Returns
        -------
        Answer (of a session) or Plan (of `session.plan`)
            `answer.interval` is about the rows of the table; `answer.test(theta)` about the population they are drawn
            from: a p-value that is exactly uniform if its share is theta, and a confidence interval.

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"age": [70, 25, 80, 41] * 250})
        >>> s = um.Session(table, "survey", um.rows(at_most=1000), "replace", budget=1)
        >>> answer = s.share("age >= 65", among=1000, privacy=1)
        >>> found = answer.test(0.4)                                   # is it more than 40 % of the population?
        >>> found.p_value < 0.01 and found.interval[0] > 0.4
        True
        """
        return self._ask(Share, privacy, where, fresh, among=among, of=of, loss=loss)

    @query_method
    def majority(
        self,
        where: Condition,
        privacy: Privacy = None,
        *,
        loss: str = "zero-one",
        prior: Prior = None,
        by: Keys | None = None,
        fresh: bool = False,
    ) -> Result:
        """Whether a condition is true of more rows than it is false of; where it is unknown, a row does not vote.

        Parameters
        ----------
        where : condition
            What rows vote on, such as ``"answer = 'yes'"``; required.
        privacy : level or number
            What this answer may spend, as for `count`.
        loss : "zero-one"
            The answer is right or wrong.
        prior : sequence of probabilities, optional
            How likely each difference, yes less no, is thought to be, in increasing order. Uniform without it.
        by : um.keys, optional
            Answer once for every public key. Where rows come or go all groups together cost what one costs; a person
            with k rows pays for k steps in all groups, and twice as many where rows are replaced.
        fresh : bool
            True draws and spends again although the identical question was answered before.

        Returns
        -------
        Answer (of a session) or Plan (of `session.plan`)
            `answer.value` is True or False; a tie is no. By keys it is {key: True or False}, and `answer.table` an
            Arrow table that has how likely each is right.

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"agrees": ["yes", "yes", "no", None] * 25})
        >>> s = um.Session(table, "survey", um.rows(at_most=120), "add-remove", budget=5)
        >>> s.majority("agrees = 'yes'", privacy=5).value
        True
        """
        return self._ask(Majority, privacy, where, fresh, by=by, loss=loss, prior=prior)

    @query_method
    def threshold(
        self,
        where: Condition,
        at_least: int,
        privacy: Privacy = None,
        *,
        of: Of = "rows",
        loss: str = "zero-one",
        prior: Prior = None,
        by: Keys | None = None,
        fresh: bool = False,
    ) -> Result:
        """Whether a condition is true of at least so many rows (or people).

        Parameters
        ----------
        where : condition
            Which rows are counted; None counts every row.
        at_least : int
            The border: a whole number from 1 to the most there can be.
        privacy : level or number
            What this answer may spend, as for `count`.
        of : "rows" or "people"
            What is counted.
        loss : "zero-one"
            The answer is right or wrong.
        prior : sequence of probabilities, optional
            How likely each count is thought to be, in increasing order. Uniform without it.
        by : um.keys, optional
            Answer once for every public key, as for `majority`.
        fresh : bool
            True draws and spends again although the identical question was answered before.

        Returns
        -------
        Answer (of a session) or Plan (of `session.plan`)
            `answer.value` is True or False; by keys {key: True or False}.

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"age": [70, 25, 80, 41] * 25})
        >>> s = um.Session(table, "survey", um.rows(at_most=120), "add-remove", budget=9)
        >>> s.threshold("age >= 65", 20, privacy=9).value
        True
        """
        return self._ask(Threshold, privacy, where, fresh, by=by, at_least=at_least, of=of, loss=loss, prior=prior)

    @query_method
    def counts(
        self,
        conditions: Mapping[str, Condition] | Sequence[Condition],
        privacy: Privacy = None,
        *,
        of: Of = "rows",
        loss: str = "absolute",
        fresh: bool = False,
    ) -> Result:
        """How many rows (or people) have each of several conditions, which may overlap; the answer is a dict.

        All counts together spend `privacy`: one vector of noise, made for what one row can do to all of them, is more
        accurate than asking each with its share. Counts are unbiased: noisy whole numbers, possibly below 0, whose
        errors have mean 0.

        Conditions in SQL that compare one column with literals are recognised, from their text alone, if no row can
        have two of them (`age < 20`, `age >= 65`) or if they lie inside each other (`age >= 20`, `age >= 65`). Then
        less noise is needed: that of a histogram, or noise on the cells between them, which are added up.

        Parameters
        ----------
        conditions : list of conditions, or mapping {name: condition}
            At most 100 of them; without names they are called by their own text.
        privacy : level or number
            What all counts together may spend, as for `count`.
        of : "rows" or "people"
            What is counted. A person counts in every condition that one of their rows fulfils, as in `count`; so people
            may have several conditions that exclude each other for a row.
        loss : "absolute", "squared", "zero-one" or such as "within 5"
            What the mechanism is best for: the loss of one count, averaged over them.
        fresh : bool
            True draws and spends again although the identical question was answered before.

        Returns
        -------
        Answer (of a session) or Plan (of `session.plan`)
            `answer.value` is {name: count}.

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"age": [70, 25, 80, 41] * 25})
        >>> s = um.Session(table, "survey", um.rows(at_most=120), "add-remove", budget=1)
        >>> list(s.counts({"grown": "age >= 18", "old": "age >= 65"}, privacy=1).value)
        ['grown', 'old']
        """
        named = named_conditions(conditions, self.source)
        return self._ask(Counts, privacy, None, fresh, conditions=named, of=of, loss=loss)

    @query_method
    def histogram(
        self,
        column: str | Sequence[str],
        categories: Values | Sequence[Values] | Mapping[str, Values],
        privacy: Privacy = None,
        *,
        other: str | None = None,
        where: Condition = None,
        of: Of = "rows",
        loss: str = "absolute",
        fresh: bool = False,
    ) -> Result:
        """How many rows (or people) each category of one or two columns has; the answer is a dict.

        Cells are disjoint, so all of them together spend `privacy` once. Counts are unbiased: noisy whole numbers,
        possibly below 0, whose errors have mean 0.

        Parameters
        ----------
        column : str, or list of two
            Whose values are counted.
        categories : list of values, um.bins, or list of two of these
            The public values that have a cell, or the bins that numbers are put into (a bin holds its lower edge and
            not its upper one); never read off the table.
        privacy : level or number
            What all cells together may spend, as for `count`.
        other : str, optional
            A name under which all other values are counted, null included; without it they are dropped.
        where : condition, optional
            Only rows with this condition are counted.
        of : "rows" or "people"
            What is counted. A person with rows in several cells counts in one of them, that of one of their rows chosen
            at random; `count` with ``by=um.keys(...)`` counts them in up to ``um.people(..., groups_each=g)`` groups.
        loss : "absolute", "squared", "zero-one" or such as "within 5"
            What the mechanism is best for: the loss of one cell, averaged over them.
        fresh : bool
            True draws and spends again although the identical question was answered before.

        Returns
        -------
        Answer (of a session) or Plan (of `session.plan`)
            `answer.value` is {category: count}; of two columns, {"first, second": count}.

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"town": ["Ash", "Briar", "Ash", None] * 25})
        >>> s = um.Session(table, "survey", um.rows(at_most=120), "add-remove", budget=1)
        >>> list(s.histogram("town", ["Ash", "Briar"], privacy=1, other="elsewhere").value)
        ['Ash', 'Briar', 'elsewhere']
        >>> table = pyarrow.table({"age": [17, 18, 64, 70] * 25})
        >>> s = um.Session(table, "survey", um.rows(at_most=120), "add-remove", budget=1)
        >>> list(s.histogram("age", um.bins([0, 18, 65, 120]), privacy=1).value)
        ['[0, 18)', '[18, 65)', '[65, 120)']
        """
        listed = as_column_categories(column, categories)
        return self._ask(Histogram, privacy, where, fresh, categories=listed, other=other, of=of, loss=loss)

    @query_method
    def cdf(
        self,
        column: str,
        edges: Values,
        privacy: Privacy = None,
        *,
        where: Condition = None,
        of: Of = "rows",
        monotone: bool = True,
        loss: str = "absolute",
        fresh: bool = False,
    ) -> Result:
        """How many rows (or people) have a value at or below each edge; the answer is a dict.

        The rows between neighbouring edges are disjoint, so all of them together spend `privacy` once; they get noise
        and are added up (or the counts themselves get it, where that errs less: few edges, rows replaced). Then counts
        that fall are made to increase; with ``monotone=False`` they are unbiased instead.

        With eight edges or more, weighted sums of cells are tried, too, and taken where they err less: a tree (up to
        128 edges), and at Gaussian levels the best factorisation (up to 256): a hundred edges at mu = 1 err by 1.8,
        where cells added up err by 5.5.

        Parameters
        ----------
        column : str
            A column of numbers, or of text that is read as numbers. Values are compared as floating-point numbers.
        edges : list of numbers, or um.bins
            At most 1000 public numbers in increasing order; never read off the table. ``um.bins(0, 100, 5)`` stands for
            its edges 0, 5, ..., 100.
        privacy : level or number
            What all counts together may spend, as for `count`.
        where : condition, optional
            Only rows with this condition are counted.
        of : "rows" or "people"
            What is counted. A person is counted by one of their rows chosen at random; `counts` with ``of="people"``
            counts everybody who has a row at or below an edge.
        monotone : bool
            Counts are made to increase: where noisy ones fall, neighbours take their mean. That makes errors smaller on
            the whole, and no longer of mean 0; False gives the noisy counts themselves.
        loss : "absolute", "squared", "zero-one" or such as "within 5"
            What the mechanism is best for: the loss of one count, averaged over them.
        fresh : bool
            True draws and spends again although the identical question was answered before.

        Returns
        -------
        Answer (of a session) or Plan (of `session.plan`)
            `answer.value` is {"<= edge": count}, `answer.intervals` holds each true count with 95 %, and
            `answer.released` the cells where these are added up.

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"age": [70, 25, 80, 41] * 25})
        >>> s = um.Session(table, "survey", um.rows(at_most=120), "add-remove", budget=1)
        >>> list(s.cdf("age", [20, 40, 60, 80], privacy=1).value)
        ['<= 20', '<= 40', '<= 60', '<= 80']
        """
        parameters = {"column": column, "edges": edges, "of": of, "monotone": monotone, "loss": loss}
        return self._ask(Cdf, privacy, where, fresh, **parameters)

    @query_method
    def ranges(
        self,
        column: str,
        edges: Values,
        privacy: Privacy = None,
        *,
        where: Condition = None,
        of: Of = "rows",
        fresh: bool = False,
    ) -> Result:
        """How many rows (or people) have a value between any two of several edges; the answer is a dict.

        All ranges together spend `privacy` once. Cells between neighbouring edges are released with noise, or weighted
        sums of cells where that errs less: fifty cells at mu = 1 have ranges of variance 4.9 on average, where cells
        added up have 18.8. All ranges are made of these by least squares, so they agree: a range and the next one add
        up to the range of both, exactly.

        Parameters
        ----------
        column : str
            A column of numbers, or of text that is read as numbers. Values are compared as floating-point numbers.
        edges : list of numbers, or um.bins
            2 to 65 public numbers in increasing order; never read off the table. A range holds its lower edge and not
            its upper one. ``um.bins(0, 100, 5)`` stands for its edges 0, 5, ..., 100.
        privacy : level or number
            What all ranges together may spend, as for `count`.
        where : condition, optional
            Only rows with this condition are counted.
        of : "rows" or "people"
            What is counted. A person is counted by one of their rows chosen at random; `counts` with ``of="people"``
            counts everybody who has a row in a range.
        fresh : bool
            True draws and spends again although the identical question was answered before.

        Returns
        -------
        Answer (of a session) or Plan (of `session.plan`)
            `answer.value` is {"[low, high)": number}, for every two edges. Numbers are exact fractions, unbiased,
            possibly below 0; `answer.intervals` holds each true count with 95 %.

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"age": [70, 25, 80, 41] * 25})
        >>> s = um.Session(table, "survey", um.rows(at_most=120), "add-remove", budget=1)
        >>> value = s.ranges("age", [0, 18, 65, 120], privacy=1).value
        >>> list(value)
        ['[0, 18)', '[0, 65)', '[0, 120)', '[18, 65)', '[18, 120)', '[65, 120)']
        >>> value["[0, 18)"] + value["[18, 65)"] == value["[0, 65)"]
        True
        """
        return self._ask(Ranges, privacy, where, fresh, column=column, edges=edges, of=of)

    @query_method
    def hierarchy(
        self,
        levels: Sequence[str],
        keys: Keys,
        privacy: Privacy = None,
        *,
        where: Condition = None,
        fresh: bool = False,
    ) -> Result:
        """How many rows each node of a public hierarchy has, from the total to the finest level; the counts add up.

        All levels together spend `privacy` once, split between them as is best for the mean variance of all counts.

        Parameters
        ----------
        levels : list of columns
            The coarsest first, such as ``["country", "region", "town"]``.
        keys : um.keys
            The leaves: a public frame (or the path of a CSV file) with a row for each, in the columns of `levels`; a
            product of lists is a hierarchy, too. A row of the table that is in none of them takes no part.
        privacy : level or number
            What all counts together may spend, as for `count`.
        where : condition, optional
            Only rows with this condition are counted.
        fresh : bool
            True draws and spends again although the identical question was answered before.

        Returns
        -------
        Answer (of a session) or Plan (of `session.plan`)
            `answer.value` is {key: number}, a key having a value for every column of `keys`, and `...` where a column
            is summed over: ``("A", ...)`` is country A. Numbers are exact fractions, unbiased. `answer.intervals`,
            `answer.table` and `answer.rounded()` are as for `marginals`.

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"country": ["A", "A", "B"] * 40, "town": ["Ash", "Briar", "Cole"] * 40})
        >>> s = um.Session(table, "survey", um.rows(at_most=200), "add-remove", budget=1)
        >>> leaves = um.keys(pyarrow.table({"country": ["A", "A", "B"], "town": ["Ash", "Briar", "Cole"]}))
        >>> answer = s.hierarchy(["country", "town"], leaves, privacy=1)
        >>> value = answer.value
        >>> value["A", "Ash"] + value["A", "Briar"] == value["A", ...]
        True
        >>> value["A", ...] + value["B", ...] == value[..., ...]
        True
        """
        return self._ask(HierarchyOf, privacy, where, fresh, by=keys, levels=levels)

    @query_method
    def marginals(
        self,
        keys: Keys,
        of: int | Sequence[Sequence[str]] = 2,
        privacy: Privacy = None,
        *,
        where: Condition = None,
        fresh: bool = False,
    ) -> Result:
        """How many rows each combination of values has, for many sets of columns at once, all tables in agreement.

        All tables together spend `privacy` once. A few of them, or tables within them, are released with noise of
        well-chosen sizes; all that are wanted are made of these by least squares. So they are more accurate than tables
        asked one by one, and what two of them imply about the same rows is the same number, exactly.

        Parameters
        ----------
        keys : um.keys
            The public values of every column: ``um.keys(town=["Ash", "Briar"], age=um.bins(0, 100, 10))``. A row
            without a listed value in one of the columns takes no part in any table, unless keys have `other=`.
        of : int, or list of sets of columns
            How many columns each table has: 2 gives the tables of every pair. Or the wanted tables themselves, such as
            ``[("town", "age"), ("town",), ()]``; () is the total.
        privacy : level or number
            What all tables together may spend, as for `count`.
        where : condition, optional
            Only rows with this condition are counted.
        fresh : bool
            True draws and spends again although the identical question was answered before.

        Returns
        -------
        Answer (of a session) or Plan (of `session.plan`)
            `answer.value` is {key: number}: a key has a value for every column of `keys`, and `...` where a column is
            summed over, such as ``("Ash", ...)``. Numbers are exact fractions, unbiased, possibly below 0.
            `answer.intervals` holds each true count with 95 %, `answer.table` is all of it in Arrow, and
            `answer.rounded()` gives whole numbers, none below 0, that agree as well.

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"town": ["Ash", "Briar"] * 50, "agrees": [True, True, False, True] * 25})
        >>> s = um.Session(table, "survey", um.rows(at_most=120), "add-remove", budget=1)
        >>> keys = um.keys(town=["Ash", "Briar"], agrees=[True, False])
        >>> answer = s.marginals(keys, [("town", "agrees"), ("town",), ()], privacy=1)
        >>> value = answer.value
        >>> value["Ash", True] + value["Ash", False] == value["Ash", ...]
        True
        >>> whole = answer.rounded()
        >>> whole["Ash", ...] + whole["Briar", ...] == whole[..., ...]
        True
        """
        return self._ask(Marginals, privacy, where, fresh, by=keys, tables=of)

    @query_method
    def plurality(
        self,
        column: str,
        candidates: Values,
        privacy: Privacy = None,
        *,
        where: Condition = None,
        of: Of = "rows",
        loss: str = "zero-one",
        prior: TallyPrior = None,
        fresh: bool = False,
    ) -> Result:
        """Which of the candidates most rows name; their order is public and breaks ties; other values do not vote.

        Parameters
        ----------
        column : str
            Whose value is a row's vote.
        candidates : list or um.bins
            2 to 100 public values of the column, or the bins that its numbers are put into (a bin holds its lower edge
            and not its upper one); of those with the most votes the first wins.
        privacy : level or number
            What this answer may spend, as for `count`.
        where : condition, optional
            Only rows with this condition vote.
        of : "rows" or "people"
            Whose votes count: all kept rows, or one row of each person.
        loss : "zero-one" or "shortfall"
            Whether the named one is the winner, or by how many votes it is behind the winner.
        prior : {tally: probability}, optional
            A tally is a tuple of votes; uniform over all tallies without it.
        fresh : bool
            True draws and spends again although the identical question was answered before.

        Returns
        -------
        Answer (of a session) or Plan (of `session.plan`)
            `answer.value` is a candidate.

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"town": ["Ash", "Briar", "Ash", None] * 25})
        >>> s = um.Session(table, "survey", um.rows(at_most=120), "add-remove", budget=5)
        >>> s.plurality("town", ["Ash", "Briar"], privacy=5).value
        'Ash'
        >>> table = pyarrow.table({"age": [17, 18, 64, 70] * 25})
        >>> s = um.Session(table, "ages", um.rows(at_most=120), "add-remove", budget=5)
        >>> s.plurality("age", um.bins([0, 18, 65, 120]), privacy=5).value
        '[18, 65)'
        """
        parameters = {"column": column, "candidates": candidates, "of": of, "loss": loss, "prior": prior}
        return self._ask(Plurality, privacy, where, fresh, **parameters)

    @query_method
    def quantile(
        self,
        column: str,
        q: Number | Sequence[Number],
        candidates: Values | None = None,
        privacy: Privacy = None,
        *,
        lower: Number | None = None,
        upper: Number | None = None,
        grid: Number | None = None,
        where: Condition = None,
        of: Of = "rows",
        loss: str | None = None,
        prior: TallyPrior = None,
        by: Keys | None = None,
        fresh: bool = False,
    ) -> Result:
        """The q-quantile of a column (q = 0.5: the median), or several, between public bounds.

        The q-quantile is the least value with at least a share q of the rows at or below it, of the column clamped to
        the bounds: NumPy's ``quantile(..., method="inverted_cdf")``. Rows without a value take no part; if no row has
        one there is no quantile, and the answer means nothing.

        Parameters
        ----------
        column : str
            A column of numbers, or of text that is read as numbers.
        q : number, or list of numbers
            A share between 0 and 1, or up to 100 of them.
        candidates : sequence of numbers, optional
            Public numbers in increasing order, such as ``range(0, 101, 5)``, in place of `lower` and `upper`; the
            answer is one of them. Up to 200 may be any numbers; more are as a grid, at equal distances, up to a million
            (or any numbers, up to 1000).
        privacy : level or number
            What this answer may spend, as for `count`; all quantiles of a list together.
        lower, upper : number
            Public bounds that values are clamped to; never read off the table.
        grid : number, optional
            The step of the candidates between them. Without it, 1 for a column of whole numbers with whole bounds, else
            a round number so small that there are about 100,000 candidates.
        where : condition, optional
            Only rows with this condition take part.
        of : "rows" or "people"
            Whose values count: all kept rows, or one row of each person.
        loss : "absolute", "zero-one" or "rank", optional
            Without it the answer is off by few rows, and has an interval. With it, of one quantile among up to 200
            listed candidates, a candidate is named by the best choice for this loss: how far the named value is from
            the quantile; whether it is it; how many rows it is off. Nothing but the name is released then.
        prior : {tally: probability}, optional
            Of one quantile among listed candidates, with a loss; a tally is the rows at each, and all are alike
            without it.
        by : um.keys, optional
            Answer once for every public key, as for `majority`; keys times candidates are at most a million.
        fresh : bool
            True draws and spends again although the identical question was answered before.

        Returns
        -------
        Answer (of a session) or Plan (of `session.plan`)
            `answer.value` is a number, of a list {q: number}. `answer.interval` (`answer.intervals`) holds the quantile
            of the clamped column with 95 % at every table, in the unit of the column: the distance of candidates is
            part of it. A plan says by how many rows values are expected to be off, and whether they are chosen one by
            one or read off a noisy CDF: whichever is off by less.

            With a loss the interval is all candidates below epsilon = 2.94, since nothing but a name is released;
            `answer.after.rows_within` says how many rows it may be off, and `answer.after.likely` where the quantile
            lies with 95 % given the prior.

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"age": [70, 25, 80, 41, 44] * 250})
        >>> s = um.Session(table, "survey", um.rows(at_most=1500), "add-remove", budget=8)
        >>> answer = s.quantile("age", 0.5, lower=0, upper=120, privacy=4)
        >>> answer.value, answer.interval
        (44, (44, 44))
        >>> list(s.quantile("age", [0.1, 0.5, 0.9], lower=0, upper=120, privacy=1).value)
        [0.1, 0.5, 0.9]
        >>> table = pyarrow.table({"age": [70, 25, 80, 41, 44] * 25})
        >>> s = um.Session(table, "survey", um.rows(at_most=150), "add-remove", budget=8)
        >>> s.quantile("age", 0.5, range(20, 81, 20), privacy=8).value
        40
        >>> s = um.Session(table, "survey", um.rows(at_most=150), "add-remove", budget=8)
        >>> list(s.quantile("age", [0.1, 0.5, 0.9], range(20, 81, 20), privacy=1).value)
        [0.1, 0.5, 0.9]
        """
        return self._ask(
            quantile_query,
            privacy,
            where,
            fresh,
            column=column,
            q=q,
            candidates=candidates,
            bounds={"lower": lower, "upper": upper, "grid": grid},
            whole=self._is_whole(column),
            of=of,
            loss=loss,
            prior=prior,
            by=by,
        )

    @query_method
    def clamped(
        self,
        column: str,
        lower: Number,
        upper: Number,
        privacy: Privacy = None,
        *,
        where: Condition = None,
        loss: str = "absolute",
        unbiased: bool = False,
        fresh: bool = False,
    ) -> Result:
        """How many values of a column lie outside lower..upper, so that a sum or mean with this range cuts them.

        Parameters
        ----------
        column, lower, upper, where
            As of the sum or mean in question.
        privacy : level or number
            What this answer may spend, as for `count`: it is a spend of its own.
        loss : "absolute", "squared", "zero-one" or such as "within 5"
            What the mechanism is best for.
        unbiased : bool
            True gives the noisy number itself, whose error has mean 0, instead of the best guess.
        fresh : bool
            True draws and spends again although the identical question was answered before.

        Returns
        -------
        Answer (of a session) or Plan (of `session.plan`)

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"late": [20, 999, -5]})
        >>> s = um.Session(table, "flights", um.rows(at_most=9), "add-remove", budget=20)
        >>> s.clamped("late", 0, 180, privacy=20).value
        2
        """
        aggregate = Clamped(column=column, lower=lower, upper=upper)
        return self._ask(OneNumber, privacy, where, fresh, aggregate=aggregate, loss=loss, unbiased=unbiased)

    @query_method
    def left_out(
        self,
        where: Condition = None,
        privacy: Privacy = None,
        *,
        up_to: int | None = None,
        loss: str = "absolute",
        unbiased: bool = False,
        fresh: bool = False,
    ) -> Result:
        """How many people have more rows with a condition than take part in an answer about them.

        Where the unit is `um.people(..., rows_each=k)`, at most k rows of every person take part. This says of how
        many people some rows are left out, so that a reader can judge whether an answer about rows means what it says.

        Parameters
        ----------
        where : condition, optional
            The condition of the answer in question; every row without it.
        privacy : level or number
            What this answer may spend, as for `count`: it is a spend of its own.
        up_to : int, optional
            Counts the rows that are left out instead of the people, of each person at most so many: somebody may have
            any number of rows, and the noise must hide all that are counted of one.
        loss : "absolute", "squared", "zero-one" or such as "within 5"
            What the mechanism is best for.
        unbiased : bool
            True gives the noisy number itself, whose error has mean 0, instead of the best guess.
        fresh : bool
            True draws and spends again although the identical question was answered before.

        Returns
        -------
        Answer (of a session) or Plan (of `session.plan`)

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"who": [1] * 9 + [2, 3, 4], "late": [20] * 12})
        >>> s = um.Session(table, "flights", um.people("who", rows_each=3, at_most=10), "add-remove", budget=20)
        >>> s.left_out("late > 15", privacy=20).value
        1
        >>> s = um.Session(table, "flights", um.people("who", rows_each=3, at_most=10), "add-remove", budget=200)
        >>> s.left_out("late > 15", privacy=200, up_to=10).value  # nine of the first person, of which three take part
        6
        """
        aggregate = LeftOut(unit=self.terms.unit, up_to=up_to)
        return self._ask(OneNumber, privacy, where, fresh, aggregate=aggregate, loss=loss, unbiased=unbiased)

    @query_method
    def share_left_out(
        self, where: Condition = None, privacy: Privacy = None, *, loss: str = "absolute", fresh: bool = False
    ) -> Result:
        """Of which share of the people rows are dropped, of the people who have rows with a condition.

        `left_out` says of how many people; this of how many out of those that there are. How many people lose rows and
        how many lose none are released together, for the noise of one count; the interval contains both noises.

        Parameters
        ----------
        where : condition, optional
            The condition of the answer in question; every row without it.
        privacy : level or number
            What this answer may spend, as for `count`: it is a spend of its own.
        loss : "absolute" or "squared"
            What the mechanism is best for.
        fresh : bool
            True draws and spends again although the identical question was answered before.

        Returns
        -------
        Answer (of a session) or Plan (of `session.plan`)
            `answer.value` is a share from 0 to 1; `answer.released` has both counts.

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"who": [1] * 9 + [2, 3, 4], "late": [20] * 12})
        >>> s = um.Session(table, "flights", um.people("who", rows_each=3), "add-remove", budget=40)
        >>> s.share_left_out(privacy=40).value  # one of four
        0.25
        """
        return self._ask(ShareLeftOut, privacy, where, fresh, loss=loss)

    @query_method
    def rows_per_person(
        self,
        where: Condition = None,
        privacy: Privacy = None,
        *,
        largest: int = DEFAULT_LARGEST,
        loss: str = "absolute",
        fresh: bool = False,
    ) -> Result:
        """How many people have how many rows with a condition, in bins: 1, 2, ..., 6, 7 to 8, 9 to 10, 11 to 12, ...

        All rows are counted, before truncation. A person is in one bin, so all bins together spend `privacy` once, and
        the noise does not grow with the rows of anybody. Counts are unbiased: noisy whole numbers, possibly below 0.
        `session.suggest_rows_each` makes a suggestion for `rows_each` of it.

        Parameters
        ----------
        where : condition, optional
            Only rows with this condition are counted; people without any are in no bin.
        privacy : level or number
            What all bins together may spend, as for `count`.
        largest : int
            The last bin is of people with more rows than this; a public number.
        loss : "absolute", "squared", "zero-one" or such as "within 5"
            What the mechanism is best for: the loss of one bin, averaged over them.
        fresh : bool
            True draws and spends again although the identical question was answered before.

        Returns
        -------
        Answer (of a session) or Plan (of `session.plan`)
            `answer.value` is {number of rows: people}.

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"who": [1] * 9 + [2, 3, 4, 4]})
        >>> s = um.Session(table, "flights", um.people("who", rows_each=3), "add-remove", budget=40)
        >>> s.rows_per_person(privacy=40, largest=10).value
        {'1': 2, '2': 1, '3': 0, '4': 0, '5': 0, '6': 0, '7 to 8': 0, '9 to 10': 1, 'more than 10': 0}
        """
        return self._ask(RowsPerPerson, privacy, where, fresh, largest=largest, loss=loss)

    @query_method
    def keys(
        self,
        column: str | Sequence[str],
        privacy: Privacy = None,
        *,
        where: Condition = None,
        keys_each: int = 1,
        fresh: bool = False,
    ) -> Result:
        """Which values a column, or which combinations several columns have: as many as the level allows to show.

        A key that n rows (or people) have is shown with the greatest probability that any mechanism of this level shows
        it with: `plan.curve` has it for every n, before anything is read. A key that only one has is shown with
        probability delta.

        Parameters
        ----------
        column : str or list of str
            Whose values are the keys; rows with a null among them take no part.
        privacy : ApproxDP or ApproxGaussianDP
            What this answer may spend, such as ``um.ApproxDP(1, 1e-6)`` or ``um.ApproxGaussianDP(0.5, 1e-6)``. Without
            a delta no key could be shown.
        where : condition, optional
            Only rows with this condition take part.
        keys_each : int
            Of one person, so many keys take part at most, chosen by a keyed hash.
        fresh : bool
            True draws and spends again although the identical question was answered before.

        Returns
        -------
        Answer (of a session) or Plan (of `session.plan`)
            `answer.value` is the sorted list of the keys that are shown, of several columns as tuples; `answer.table`
            an Arrow table of them, which `um.keys` takes for further questions.

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"dest": ["ORD"] * 60 + ["LAX"] * 50 + ["my own airfield"]})
        >>> s = um.Session(table, "flights", um.rows(at_most=1000), "add-remove", budget=um.ApproxDP(1, 1e-6))
        >>> s.keys("dest", um.ApproxDP(1, 1e-6)).value
        ['LAX', 'ORD']
        """
        by = as_discover(column, keys_each)
        return self._ask(ShownKeys, privacy, where, fresh, by=by)

    @query_method
    def top(
        self,
        column: str,
        k: int,
        candidates: Values | None = None,
        privacy: Privacy = None,
        *,
        where: Condition = None,
        of: Of = "rows",
        keys_each: int = 1,
        fresh: bool = False,
    ) -> Result:
        """The k most frequent values of a column, the most frequent first.

        With a list of candidates the best of two mechanisms names k of them: noise on all counts, or k rounds of
        geometric noisy max. Without one, keys are found privately, with their counts, and the k largest are named; a
        level with a delta is needed then, and fewer than k are named where fewer are shown.

        Parameters
        ----------
        column : str
            Whose values are counted; without candidates, also a list of columns.
        k : int
            How many are named.
        candidates : list or um.bins, optional
            Public values of the column, or the bins that its numbers are put into, in the order that breaks ties;
            others do not count. Without it, any value of the column may be named.
        privacy : level or number
            What this answer may spend, as for `count`; without candidates with a delta: ``um.ApproxDP(1, 1e-6)``.
        where : condition, optional
            Only rows with this condition count.
        of : "rows" or "people"
            What is counted: all kept rows, or one row of each person. Without candidates a person counts once for each
            of at most `keys_each` keys.
        keys_each : int
            Without candidates: of one person, so many keys take part at most.
        fresh : bool
            True draws and spends again although the identical question was answered before.

        Returns
        -------
        Answer (of a session) or Plan (of `session.plan`)
            `answer.value` is a list, the most frequent first. The plan has the expected recall: the share of the true k
            that is among those named. Without candidates `answer.intervals` holds the true counts of all that are named
            at once with 95 %.

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"dest": ["ORD"] * 90 + ["LAX"] * 60 + ["SFO"] * 20 + ["my own airfield"]})
        >>> s = um.Session(table, "flights", um.rows(at_most=1000), "add-remove", budget=um.ApproxDP(9, 1e-6))
        >>> s.top("dest", 2, privacy=um.ApproxDP(3, 1e-6)).value
        ['ORD', 'LAX']
        >>> s.top("dest", 1, ["LAX", "ORD", "SFO"], privacy=3).value
        ['ORD']
        """
        if candidates is None:
            aggregate, by = Count(counted=as_of(of, self.terms.unit)), as_discover(column, keys_each)
            return self._ask(TopFound, privacy, where, fresh, aggregate=aggregate, by=by, k=k)
        return self._ask(Top, privacy, where, fresh, column=column, k=k, candidates=candidates, of=of)
