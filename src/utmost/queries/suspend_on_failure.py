"""The fuse: if a query cannot be finished after its charge, the account is suspended.

Whether an engine fails may depend on private rows, and that is not accounted for. Queries are built so that no row
makes them fail; the fuse is for what that misses. The first failure suspends the account, durably and for everybody,
with the same sentence that every later query gets, so that all failures together reveal one bit, once: that a query
failed, not why. The reason is in a log for the owner of the ledger, who alone can resume the account.

A failure is an exception of any kind while the engine reads or the answer is drawn, including a lost connection and a
lack of memory. Reading is tried twice, with a new connection where possible; drawing is not, because a draw that is
repeated when it fails has a different distribution. A process that ends in the middle counts as well
(`Reservation.running`); Ctrl-C does not, since the user chose the moment.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from utmost.accounting.account import Reservation
from utmost.accounting.entries import Entry
from utmost.backends.source import Source, Statement
from utmost.errors import AccountSuspended, EngineFailed, words_of
from utmost.queries.questions import Question

STOPPED = (KeyboardInterrupt, SystemExit)
"""Raised because somebody stops the program, not because a query fails."""


def answered(
    charge: Reservation, source: Source, queries: Sequence[tuple[Question, Statement]], together: bool = False
) -> Entry:
    """Execute, draw and record charged queries; on failure, suspend the account and raise `AccountSuspended`.

    Parameters
    ----------
    charge : Reservation
        The reserved spend.
    source : Source
        The table.
    queries : list of (Question, Statement)
        The query, or those of a batch.
    together : bool
        Whether it is a batch, whose record is a list.
    """
    reasons: list[str] = []
    with charge.running():
        released = _released(source, queries, reasons)
        if released is not None:
            return charge.complete(released if together else released[0])
        with suppress(Exception):  # a ledger that cannot be written: the mark of `running` stays
            charge.suspend(reasons)
    raise AccountSuspended


def _released(
    source: Source, queries: Sequence[tuple[Question, Statement]], reasons: list[str]
) -> list[dict[str, Any]] | None:
    """The released integers of each query; None if one of them fails. The private results are not kept."""
    try:
        return [question.draw(_point(source, question, statement, reasons)) for question, statement in queries]
    except BaseException as problem:
        _note(problem, reasons)
    return None


def _point(source: Source, question: Question, statement: Statement, reasons: list[str]) -> Any:
    try:
        return question.point(source.execute(statement))
    except BaseException as problem:
        _note(problem, reasons)
    with suppress(Exception):
        source.reconnect()
    return question.point(source.execute(statement))


def _note(problem: BaseException, reasons: list[str]) -> None:
    """Append the reason of a failure, unless somebody stopped the program."""
    if isinstance(problem, STOPPED):
        raise problem
    if isinstance(problem, EngineFailed) and problem.interrupted:
        raise KeyboardInterrupt from None
    reasons.append(problem.reason if isinstance(problem, EngineFailed) else words_of(problem))
