"""Release an answer: compile, prove, charge, execute, draw and record.

A query is compiled and rehearsed on public data; its mechanism is designed, proved private and rehearsed on extreme
results; the spend is reserved in the ledger, durably. Then the engine computes a few integers, an exact draw is made,
and the answer is recorded. Everything that can fail for a public reason fails before the spend; a failure after it
suspends the account, with one fixed sentence (`suspend_on_failure`). Descriptions, comparisons and worst cases are
computed only when somebody looks at the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from utmost.accounting import Schedule
from utmost.accounting.entries import Entry
from utmost.exact import Number
from utmost.queries.answers import Answer
from utmost.queries.questions import Question
from utmost.queries.questions.question import proved_private
from utmost.queries.rehearse_answer import rehearse_answer
from utmost.queries.suspend_on_failure import answered

if TYPE_CHECKING:
    from utmost.backends.source import Statement
    from utmost.queries.session import Session


def prepare(session: Session, queries: Sequence[Question]) -> list[tuple[Question, Statement]]:
    """Compile queries into statements, prove their mechanisms private, and rehearse both on public data."""
    session.account.require_active()
    prepared = [(query, query.statement(session.source, session.account.secret)) for query in queries]
    for query, statement in prepared:
        proved_private(query)
        rehearse_answer(query, statement)
    return prepared


def release(session: Session, query: Question, fresh: bool) -> Answer:
    """Answer a query; if the identical query was answered before, return its recorded answer without a charge.

    Parameters
    ----------
    session : Session
        The table and its account.
    query : Question
    fresh : bool
        Whether to draw and spend again although it was answered before.
    """
    prepared = prepare(session, [query])
    charge = session.account.take(query.privacy, session.identity(query), fresh)
    recorded = isinstance(charge, Entry)
    entry = charge if isinstance(charge, Entry) else answered(charge, session.source, prepared)
    return _answer(session, query, entry.answer, entry, recorded)


def release_together(session: Session, queries: Sequence[Question], delta: Number | None, fresh: bool) -> list[Answer]:
    """Answer a batch of queries that were declared together, charged by their exact composition.

    Parameters
    ----------
    session : Session
        The table and its account.
    queries : sequence of Question
    delta : number, optional
        What the whole batch takes of the budget's delta; None charges the sum.
    fresh : bool
        Whether to draw and spend again although the identical batch was answered before.
    """
    prepared = prepare(session, queries)
    declared = {
        "batch": [{"privacy": str(query.privacy), **session.identity(query)} for query in queries],
        "delta": None if delta is None else str(delta),
    }
    charge = session.account.take_batch([query.privacy for query in queries], declared, delta, fresh)
    recorded = isinstance(charge, Entry)
    entry = charge if isinstance(charge, Entry) else answered(charge, session.source, prepared, together=True)
    pairs = zip(queries, entry.answer, strict=True)
    return [_answer(session, query, released, entry, recorded) for query, released in pairs]


def release_in_slot(session: Session, query: Question, slots: Schedule) -> Answer:
    """Answer a query in the next slot of a schedule, which was charged when it was made."""
    prepared = prepare(session, [query])
    slot = slots.slot(session.identity(query))
    entry = answered(slot, session.source, prepared)
    return _answer(session, query, entry.used[slot.slot - 1][1], entry, recorded=False)


def _answer(session: Session, query: Question, released: Any, entry: Entry, recorded: bool) -> Answer:
    state = session.account.state_after(entry)
    return Answer(query, session.dataset, released, state, recorded, session.source)
