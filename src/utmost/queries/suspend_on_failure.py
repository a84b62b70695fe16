"""The fuse: if a question cannot be finished after its charge, no other question of its account is answered.

What an engine fails on may depend on private rows, and nothing pays for telling that. Questions are built so that no
row makes them fail; the fuse is for what that misses. The first failure suspends the account, durably and for
everybody, and says the same sentence that every later question gets, so that all failures together tell one bit, once:
that a question failed, not why. Why stands in a log for the owner of the ledger, who alone can resume.

A failure is: an exception of any kind while the engine reads or the answer is drawn, a lost connection and a lack of
memory included. Reading is tried twice, with a new connection where there is one to be had; drawing is not, because a
draw that is repeated when it fails has another law. A process that ends in the middle counts as well
(`Reservation.running`); Ctrl-C does not, since it is the user who chose the moment.
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
"""Raised because somebody stops the program, not because a question fails."""


def answered(
    charge: Reservation, source: Source, asked: Sequence[tuple[Question, Statement]], together: bool = False
) -> Entry:
    """Read, draw and record what was charged; or suspend the account, and raise `AccountSuspended`.

    Parameters
    ----------
    charge : Reservation
        The spend, reserved.
    source : Source
        The table.
    asked : list of (Question, Statement)
        The question, or those of a batch.
    together : bool
        Whether it is a batch, whose record is a list.
    """
    reasons: list[str] = []
    with charge.running():
        released = _released(source, asked, reasons)
        if released is not None:
            return charge.complete(released if together else released[0])
        with suppress(Exception):  # a ledger that cannot be written: the mark of `running` stays
            charge.suspend(reasons)
    raise AccountSuspended


def _released(
    source: Source, asked: Sequence[tuple[Question, Statement]], reasons: list[str]
) -> list[dict[str, Any]] | None:
    """What is released: integers read, placed, drawn; the private point is forgotten. None if one of them fails."""
    try:
        return [question.draw(_point(source, question, statement, reasons)) for question, statement in asked]
    except BaseException as problem:
        _note(problem, reasons)
    return None


def _point(source: Source, question: Question, statement: Statement, reasons: list[str]) -> Any:
    try:
        return question.point(source.found(statement))
    except BaseException as problem:
        _note(problem, reasons)
    with suppress(Exception):
        source.reconnect()
    return question.point(source.found(statement))


def _note(problem: BaseException, reasons: list[str]) -> None:
    """Note why something failed, unless somebody stopped it."""
    if isinstance(problem, STOPPED):
        raise problem
    if isinstance(problem, EngineFailed) and problem.interrupted:
        raise KeyboardInterrupt from None
    reasons.append(problem.reason if isinstance(problem, EngineFailed) else words_of(problem))
