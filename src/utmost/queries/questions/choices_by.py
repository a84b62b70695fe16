"""Groupings of choices: one for the whole table, or one for each public key, such as a majority in every group.

A row is in at most one group, and the groups get independent draws of one mechanism. Neighbours differ by at most k
*steps*, each of which adds a row to a group or removes one: k is the contribution bound, or twice that where rows are
replaced. The mechanism of a group has a level for one step, such that any k steps together keep the level that is
spent:

* k = 1 (add/remove): the level itself. A neighbour changes one group only, so all groups together cost what one costs
  (parallel composition).
* (epsilon, delta): epsilon/k and delta/(1 + e^(epsilon/k) + ... + e^((k-1) epsilon/k)) each. For m steps in one group
  the epsilons add up and the deltas grow like that sum (group privacy); over groups both add up (composition), and k
  steps in one group are the worst case.
* Gaussian mu: mu/k each. For m steps in one group mu adds up, over groups its square does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from utmost.backends.source import Source, Statement
from utmost.errors import InvalidInput, UnsupportedLevel
from utmost.privacy import ApproxDP, GaussianDP, Level, PureDP
from utmost.queries.accuracy import After
from utmost.queries.keys import Keys, english_list, require_keys
from utmost.queries.questions.question import require_releasable
from utmost.queries.questions.selection import Confidence, Scope, Scores, Selection
from utmost.queries.units import Unit

if TYPE_CHECKING:
    import pyarrow

    from utmost.solution import Solution

IN_LEAST = ", of the group where that is least"
BELOW = 1 - 1e-12
"""Factor that brings a rounded quotient below the exact one."""


def level_of_step(level: Level, steps: int) -> Level:
    """The level of one step, such that any `steps` steps together keep `level`: see above.

    Examples
    --------
    >>> level_of_step(PureDP(1), 4), level_of_step(GaussianDP(1), 2)
    (PureDP(0.25), GaussianDP(0.5))
    """
    if steps == 1:
        return level
    if isinstance(level, GaussianDP):
        return GaussianDP(level.mu if level.mu == math.inf else Fraction(level.mu) / steps)
    if not isinstance(level, ApproxDP):
        raise UnsupportedLevel(
            f"{level} is not shared among {steps} steps: a unit has {steps} rows in groups, or one that is replaced; "
            "give PureDP, ApproxDP or GaussianDP."
        )
    if level.exponent == math.inf:
        return level
    exact = level.ratio == 1
    epsilon = Fraction(level.exponent) / steps if exact else Fraction(level.log_growth / steps * BELOW)
    if level.delta == 0:
        return PureDP(epsilon)
    growth = float(epsilon)
    delta_growth = sum(math.exp(growth * i) for i in range(steps)) if growth * steps < 700 else math.inf
    return ApproxDP(epsilon, Fraction(float(level.delta) / delta_growth * BELOW))


@dataclass(frozen=True)
class WholeTable:
    """The grouping with one selection, for all rows."""

    def scope(self, table_scope: Scope) -> Scope:
        """The scope of one selection, from that of the whole query."""
        return table_scope

    def composition(self, table_scope: Scope) -> str:
        """Why the level of one selection implies that of the whole answer, if the two differ; else empty."""
        return ""

    @property
    def public(self) -> dict[str, Any]:
        """The part of the query's `public` on the grouping."""
        return {}

    @property
    def identity(self) -> dict[str, Any]:
        """The part of the query's `identity` on the grouping."""
        return {}

    def sentence_clauses(self, rows_clause: str) -> tuple[str, str]:
        """The clauses on rows and groups, for the middle and for the end of the question's sentence."""
        return rows_clause, ""

    @property
    def certificate_subject(self) -> str:
        """What a certificate is about, if not the whole answer; else empty."""
        return ""

    def statement(self, scores: Scores, source: Source, unit: Unit, rows_each: int, secret: bytes) -> Statement:
        """The statement for the scores."""
        return scores.statement(source, unit, rows_each, secret)

    def point(self, scores: Scores, engine_result: Mapping[str, Any]) -> Any:
        """The exact scores, from the result of the statement. They are private."""
        return scores.point(engine_result)

    def draw(self, selection: Selection, solution: Solution, point: Any) -> Any:
        """Draw what is released, as plain data."""
        return selection.select(solution, point)

    def selected_answers(self, selection: Selection, released: Any) -> list[Any]:
        """The selected answer of every group, from released values, which may come from a report."""
        return [released]

    def label_numbers(self, names: Sequence[float], rows: Sequence[Sequence[Any]]) -> Any:
        """The numbers of every selection by their names in the answer."""
        (row,) = rows
        return dict(zip(names, row, strict=True)) if names else row[0]

    def after(self, selection: Selection, solution: Solution, answers: Sequence[Any], name: str, part: str) -> After:
        """The confidence that the selected answers give.

        Parameters
        ----------
        selection : Selection
            The selection of one group.
        solution : Solution
            Its design.
        answers : list
            The selected answer of every group.
        name : str
            The name of a single number.
        part : str
            Clause on the rows that are used.
        """
        (answer,) = answers
        confidence = selection.confidence(solution, answer)
        return After(
            dict(zip(selection.names or (name,), confidence.ends, strict=True)) if confidence.ends else {},
            given=selection.confidence_basis("", part),
            by_law=selection.by_law,
            probability_right=confidence.right,
            standard_error=confidence.error,
            rows_within=confidence.rows_within,
            likely=selection.credible_interval(solution, answer),
        )

    def column_headings(self, selection: Selection) -> tuple[str, ...]:
        """The headings of the columns of keys and names."""
        return (selection.heading,)


@dataclass(frozen=True, eq=False)
class PublicKeys:
    """The grouping with one selection for each public key, drawn independently; members as in `WholeTable`.

    Attributes
    ----------
    keys : Keys
        The public keys.
    """

    keys: Keys

    def scope(self, table_scope: Scope) -> Scope:
        """The scope of one group: one row added or removed, at the level of such a step."""
        return Scope(table_scope.rows, 1, "add-remove", level_of_step(table_scope.privacy, table_scope.steps))

    def composition(self, table_scope: Scope) -> str:
        if table_scope.steps == 1:
            return "one neighbour changes one group, so all groups together keep it"
        steps = f"one neighbour makes at most {table_scope.steps} steps in all groups"
        return f"{steps}, which together keep {table_scope.privacy}"

    @property
    def public(self) -> dict[str, Any]:
        return {"by": self.keys.public}

    @property
    def identity(self) -> dict[str, Any]:
        return {"by": {"columns": list(self.keys.names), "keys": self.keys.fingerprint}}

    def sentence_clauses(self, rows_clause: str) -> tuple[str, str]:
        return "", f"{rows_clause}, by {english_list(self.keys.names)}"

    @property
    def certificate_subject(self) -> str:
        return "each group"

    def statement(self, scores: Scores, source: Source, unit: Unit, rows_each: int, secret: bytes) -> Statement:
        return scores.statement_by(source, unit, rows_each, secret, self.keys)

    def point(self, scores: Scores, engine_result: Mapping[str, Any]) -> Any:
        return scores.points(engine_result, self.keys)

    def draw(self, selection: Selection, solution: Solution, point: Any) -> Any:
        return selection.select_many(solution, point)

    def selected_answers(self, selection: Selection, released: Any) -> list[Any]:
        plain = isinstance(released, list) and all(type(answer) is selection.answer_type for answer in released)
        if not plain or len(released) != self.keys.size:
            raise InvalidInput(f"there are {self.keys.size} keys, and as many answers must be released.")
        return list(released)

    def label_numbers(self, names: Sequence[float], rows: Sequence[Sequence[Any]]) -> dict[Any, Any]:
        labels = self.keys.labels
        if not names:
            return {label: row[0] for label, row in zip(labels, rows, strict=True)}
        keys = [label if isinstance(label, tuple) else (label,) for label in labels]
        return {
            (*key, name): number
            for key, row in zip(keys, rows, strict=True)
            for name, number in zip(names, row, strict=True)
        }

    def after(self, selection: Selection, solution: Solution, answers: Sequence[Any], name: str, part: str) -> After:
        confidences = confidences_of(selection, solution, answers)
        chances = [confidence.right for confidence in confidences]
        known_chances = [chance for chance in chances if chance is not None]
        ends = [confidence.ends for confidence in confidences]
        return After(
            self.label_numbers(selection.names, ends) if any(ends) else {},
            given=selection.confidence_basis(IN_LEAST, part),
            by_law=selection.by_law,
            probability_right=min(known_chances) if len(known_chances) == len(chances) else None,
            rows_within=confidences[0].rows_within,
        )

    def column_headings(self, selection: Selection) -> tuple[str, ...]:
        return (*self.keys.names, selection.heading) if selection.names else self.keys.names

    def plain_rows(self, names: Sequence[float], numbers: Sequence[Any]) -> list[list[Any]]:
        """Numbers in the order of `label_numbers`, each after its key, as plain data."""
        keys = [[*key, *name] for key in self.keys.plain_keys for name in ([[name] for name in names] or [[]])]
        return [[*key, number] for key, number in zip(keys, numbers, strict=True)]

    def table(self, selection: Selection, solution: Solution, answers: Sequence[Any]) -> pyarrow.Table:
        """Arrow table of the keys with their numbers, probabilities of being right, and interval ends."""
        import pyarrow

        table, rows = self.keys.table, [selection.values(answer) for answer in answers]
        confidences = confidences_of(selection, solution, answers)
        for place, suffix in enumerate([f" {float(name):g}" for name in selection.names] or [""]):
            table = table.append_column(f"value{suffix}", pyarrow.array(_plain([row[place] for row in rows])))
            if selection.states_chance:
                chances = [confidence.right for confidence in confidences]
                table = table.append_column("right", pyarrow.array(chances, pyarrow.float64()))
            for side, column in enumerate(("lower", "upper")) if confidences[0].ends else ():
                ends = [confidence.ends[place][side] for confidence in confidences]
                table = table.append_column(f"{column}{suffix}", pyarrow.array(_plain(ends)))
        return table


def confidences_of(selection: Selection, solution: Solution, answers: Sequence[Any]) -> list[Confidence]:
    """The confidence of each answer; computed once for equal answers."""
    different = {str(answer): answer for answer in answers}
    confidences = {name: selection.confidence(solution, answer) for name, answer in different.items()}
    return [confidences[str(answer)] for answer in answers]


def _plain(column: list[Any]) -> list[Any]:
    """Return integers and booleans as they are; any other column as floats."""
    return column if all(isinstance(number, int) for number in column) else [float(number) for number in column]


Grouping: TypeAlias = WholeTable | PublicKeys


def grouping_of(by: Any, table_scope: Scope) -> Grouping:
    """Return the grouping for `by`: None, or public keys; refuse a level too small to share among them."""
    if by is None:
        return WholeTable()
    grouping = PublicKeys(require_keys(by))
    require_releasable(grouping.scope(table_scope).privacy)
    return grouping
