"""One family of errors. Every message names the value, the rule it breaks and what to change.

`except um.errors.UtmostError` catches all of them. Errors about input are also `ValueError`s, so that code which
knows nothing of Utmost treats them as it should.
"""

from __future__ import annotations

from numbers import Number
from typing import Any, ClassVar

import numpy as np

from utmost.messages import Part, Words

MOST_SHOWN, MOST_LISTED = 200, 20
MOST_WORDS = 10_000
SUSPENDED = (
    "this account is suspended: a question could not be finished after it was charged, and no other is answered until "
    "the owner of the ledger has looked at its log of failures, on the machine, and says "
    "`utmost budget resume LEDGER DATASET`. Nothing more is charged meanwhile; plans can still be made."
)
"""Said during the question that failed and of every later one alike, so that it tells one bit, once."""


class UtmostError(Exception):
    """Anything Utmost refuses to do, with the reason and the remedy.

    Parameters
    ----------
    *message : str, Name, Argument, Call or Words
        The message, piece by piece: see `utmost.messages`.

    Attributes
    ----------
    title : str
        What all errors of the class have in common, in a sentence: the title of a server's reply.
    """

    title: ClassVar[str] = "Anything Utmost refuses to do, with the reason and the remedy."

    def __init__(self, *message: Part) -> None:
        super().__init__(Words(*message))


class InvalidInput(UtmostError, ValueError):
    """A public argument breaks a rule: not a number, out of range, of the wrong shape."""

    title = "A public argument breaks a rule: not a number, out of range, of the wrong shape."


class UnknownPoint(InvalidInput):
    """A point, or an edge between two points, that the space does not have."""

    title = "A point, or an edge between two points, that the space does not have."


class NotSuitable(InvalidInput):
    """A pair of functions breaks an axiom of suitable pairs; the axiom and the alpha are named."""

    title = "A pair of functions breaks an axiom of suitable pairs"


class NotBoundaryHitting(InvalidInput):
    """The known points miss both ends of a boundary edge, so the optimum need not be unique."""

    title = "The known points miss both ends of a boundary edge, so the optimum need not be unique."

    def __init__(self, message: str, *, edge: tuple[Any, Any]) -> None:
        super().__init__(message)
        self.edge = edge


class NeedsFloor(InvalidInput):
    """A search that looks at part of a space needs a public bound on what lies beyond."""

    title = "A search that looks at part of a space needs a public bound on what lies beyond."


class UnsupportedLevel(UtmostError, TypeError):
    """This theory does not cover this kind of privacy level; the message names one that does."""

    title = "This theory does not cover this kind of privacy level"


class TooLarge(UtmostError):
    """The full table would not fit; the message names the way that does without it."""

    title = "The full table would not fit"


class NoExtension(UtmostError):
    """Two known values contradict each other: no private mechanism has both.

    Attributes
    ----------
    point, asked : the known point whose value is too high, and that probability of `output`
    forced_by, bound : the known point that forbids it, and the most it allows
    output : the output that both probabilities are of
    """

    title = "Two known values contradict each other: no private mechanism has both."

    def __init__(self, message: str, *, point: Any, asked: float, forced_by: Any, bound: float, output: Any) -> None:
        super().__init__(message)
        self.point = point
        self.asked = asked
        self.forced_by = forced_by
        self.bound = bound
        self.output = output


class NoSuchMechanism(UtmostError):
    """A mechanism of a certain form does not exist at this level; `entry` is what would be negative, `point` where."""

    title = "A mechanism of a certain form does not exist at this level"

    def __init__(self, message: str, *, point: Any, entry: float) -> None:
        super().__init__(message)
        self.point = point
        self.entry = entry


class CannotCertify(UtmostError):
    """A mechanism that is not private, or cannot be proved so in exact arithmetic; the message says where and why."""

    title = "A mechanism that is not private, or cannot be proved so in exact arithmetic"


class SolverFailed(UtmostError):
    """A numerical solver gave up, or (`infeasible`) found that nothing fits; nothing is claimed."""

    title = "A numerical solver gave up, or (`infeasible`) found that nothing fits"

    def __init__(self, message: str, *, infeasible: bool = False) -> None:
        super().__init__(message)
        self.infeasible = infeasible


class BadFile(InvalidInput):
    """A saved file that is not what it says: changed, cut short, or of another version."""

    title = "A saved file that is not what it says: changed, cut short, or of another version."


class WeakPromise(InvalidInput):
    """A survey or protocol promises a respondent too little to be answered unless they accept it; nothing was sent."""

    title = "A survey or protocol promises a respondent too little to be answered unless they accept it"


class Disconnected(InvalidInput):
    """The connection to a table has ended, or its server is gone; nothing was charged."""

    title = "The connection to a table has ended, or its server is gone"


class NotRowWise(InvalidInput):
    """A condition or table that looks at more than one row at a time, or could fail on a row: refused unread."""

    title = "A condition or table that looks at more than one row at a time, or could fail on a row: refused unread."


class EngineFailed(UtmostError):
    """The engine that holds a table failed after the spend was reserved; the message never says on what.

    Attributes
    ----------
    reason : the engine's own words, which may hold private values: for the log of the ledger's owner alone
    interrupted : whether somebody stopped the engine (Ctrl-C), as DuckDB says in its own way
    """

    title = "The engine that holds a table failed after the spend was reserved"

    def __init__(self, message: str, problem: BaseException | None = None) -> None:
        super().__init__(message)
        self.reason = "" if problem is None else words_of(problem)
        self.interrupted = False
        while problem is not None and not self.interrupted:
            self.interrupted = isinstance(problem, KeyboardInterrupt)
            problem = problem.__cause__ or problem.__context__


class AccountSuspended(UtmostError):
    """No question about a data set is answered until its owner resumes the account."""

    title = "No question about a data set is answered until its owner resumes the account."

    def __init__(self, message: str | None = None) -> None:
        super().__init__(SUSPENDED if message is None else message)


class BudgetSpent(UtmostError):
    """A budget does not allow this spend; nothing was charged. `asked` is what was asked for, `left` what is left."""

    title = "A budget does not allow this spend"

    def __init__(self, message: str, *, asked: Any = None, left: Any = None) -> None:
        super().__init__(message)
        self.asked = asked
        self.left = left


class BudgetMismatch(InvalidInput):
    """A data set is opened with another budget, unit, neighbours or filter than its account was made with."""

    title = "A data set is opened with another budget, unit, neighbours or filter than its account was made with."


class LedgerFailed(UtmostError):
    """A ledger's disk or server failed, or stayed busy; the message says what was recorded and what to do."""

    title = "A ledger's disk or server failed, or stayed busy"


class NotKept(UtmostError):
    """A response could not be written to its file: it was not taken, and can be sent again."""

    title = "A response could not be written to its file: it was not taken, and can be sent again."


class UnknownDataset(InvalidInput):
    """A ledger has no account of this name."""

    title = "A ledger has no account of this name."


def shown(value: Any) -> str:
    """A value as an error may show it: a text, a number, or a short list of these; of anything else, its type.

    Where a public value belongs, somebody may give a frame or a column by mistake, and its text would be private rows.

    Examples
    --------
    >>> shown("yes"), shown(["a", 1]), shown({"age": [70, 71]})
    ("'yes'", "['a', 1]", 'a dict')
    """
    if _is_plain(value):
        try:
            text = repr(value)
        except ValueError:  # Python writes no number of more than 4300 digits
            return "a number of thousands of digits"
        return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."
    if type(value) in (list, tuple) and len(value) <= MOST_LISTED and all(_is_plain(part) for part in value):
        listed = ", ".join(map(shown, value))
        if isinstance(value, list):
            return f"[{listed}]"
        return f"({listed},)" if len(value) == 1 else f"({listed})"
    name = type(value).__name__
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"


def words_of(problem: BaseException) -> str:
    """What an exception says, and its type; for a log that nobody but the owner reads."""
    try:
        words = str(problem)
    except Exception:
        words = "(it cannot be shown)"
    return f"{type(problem).__module__}.{type(problem).__qualname__}: {words}"[:MOST_WORDS]


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | Number | np.bool_)
