"""Accounts with two budgets, the data set's and one analyst's: a spend must fit both, or neither is charged.

The account of a data set bounds what all answers together reveal; the account of a holder (an analyst), in the same
ledger, what that holder learns. Both are charged in one transaction, which in a file is one line: a crash at any moment
leaves both charged or neither, and an answer recorded for both or for neither. A question that another holder asked
before is not drawn again: it costs the data set nothing, and a holder who has not seen the answer its price. So no
holder alone learns more than their own budget allows, and all of them together no more than the data set's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from utmost.accounting.account import Account, CostOf, Event, Reservation, fold, next_event, plain, question_key
from utmost.accounting.entries import Entry
from utmost.accounting.storage import Book
from utmost.exact import Number
from utmost.privacy import Level, as_level


class HolderAccount(Account):
    """The account of a data set as one holder sees it: questions are charged to it and to the holder's own account.

    Parameters
    ----------
    account : Account
        The data set's account.
    own : Account
        The holder's account, in the same ledger.
    note : mapping, optional
        Recorded in the holder's account beside the number of the data set's entry, such as how the question was asked.

    Examples
    --------
    >>> import utmost as um
    >>> ledger = um.Ledger(None)
    >>> survey = ledger.open("survey", 1, "rows, at most 500", "replace")
    >>> ada, bob = (HolderAccount(survey, ledger.open(name, 0.5, "rows, at most 500", "replace")) for name in "ab")
    >>> [who.ask(0.4, {"count": "all"}, lambda: n).answer for n, who in enumerate((ada, bob, ada))]
    [0, 0, 0]
    >>> str(survey.left), str(ada.own.left), str(bob.own.left)
    ('epsilon 0.6 of 1', 'epsilon 0.1 of 0.5', 'epsilon 0.1 of 0.5')
    """

    def __init__(self, account: Account, own: Account, note: Mapping[str, Any] | None = None) -> None:
        super().__init__(account._storage, account.dataset, account.table)
        assert own._storage is account._storage, "one transaction needs one ledger"
        self.own, self._note = own, dict(note or {})
        self._charged: dict[int, int] = {}
        """The holder's entry for every entry of the data set reserved by this object."""

    def find(self, question: Any, level: Level | Number | None = None) -> Entry | None:
        """The entry whose answer this holder received to the identical question, or None."""
        with self._storage.read() as book:
            return self._received_entry(book, question_key(question), None if level is None else as_level(level))

    def received_entries(self, number: int | None = None) -> list[tuple[Entry, dict[str, Any]]]:
        """The data set's entries whose answers the holder received, oldest first, each with its note.

        Parameters
        ----------
        number : int, optional
            Return only the data set's entry of this number, if the holder received its answer.
        """
        with self._storage.read() as book:
            own_entries = fold(book.events(self.own.dataset)[1:], self.own.filter)
            notes = [e.answer for e in own_entries if e.state == "done" and number in (None, e.answer["entry"])]
            return [(self._read_entry(book, note["entry"]), note) for note in notes]

    def _received_entry(self, book: Book, key: str, level: Level | None) -> Entry | None:
        own_entry = self.own._find(book, key, level)
        return None if own_entry is None else self._read_entry(book, own_entry.answer["entry"])

    def _reserve(
        self, levels: tuple[Level, ...], price: CostOf, question: Any, slots: int, fresh: bool = True
    ) -> Reservation | Entry:
        plain_question, key = plain(question, "the question"), question_key(question)
        charge = self._charging(levels, price, plain_question, slots)
        charge_own = self.own._charging(levels, price, plain_question, slots)
        level = levels[0] if len(levels) == 1 else None
        with self._write() as book:
            self._require_active(book)
            if not fresh and (own_entry := self._received_entry(book, key, level)):
                return own_entry
            entry = None if fresh else self._find(book, key, level)
            if entry:
                self._charge_holder(book, charge_own, entry)
                return entry
            event = charge(book)
            self._charged[event.entry] = charge_own(
                book
            ).entry  # if it is refused, the transaction takes the other charge back
        return Reservation(self, event.entry, 0, plain_question, event.head)

    def _charge_holder(self, book: Book, charge_own: Callable[[Book], Event], entry: Entry) -> None:
        """Charge only the holder, for an answer that another holder received before."""
        event = charge_own(book)
        body = {"answer": self._note_for(entry.number), "spent": event.body["spent"], "entries": event.entry}
        book.add(next_event(event, "complete", event.entry, 0, body), question_key(event.body["question"]))

    def _completed(self, book: Book, reservation: Reservation, answer: Any) -> list[Event]:
        events = super()._completed(book, reservation, answer)
        own_number = self._charged.get(reservation.number)
        if own_number is not None and not reservation.slot:
            own_reservation = Reservation(self.own, own_number, 0, reservation.question, "")
            self.own._completed(book, own_reservation, self._note_for(reservation.number))
        return events

    def _note_for(self, number: int) -> Any:
        return plain({**self._note, "entry": number}, "the note")

    def _write(self) -> AbstractContextManager[Book]:
        return self._storage.write(self.dataset, self.own.dataset)
