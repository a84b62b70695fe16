"""A budget that several people spend from, each up to a budget of their own: a spend fits both, or nobody is charged.

The account of a data set says what all answers together may tell; the account of a holder, in the same ledger, what one
of those who ask may be told. Both are charged in one transaction, which in a file is one line: a crash at any moment
leaves both charged or neither, and an answer recorded for both or for neither. A question that somebody else asked
before is drawn for nobody again: it costs the data set nothing, and the holder who had not heard the answer yet its
price. So no holder alone learns more than their own budget allows, and all of them together no more than the data
set's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from utmost.accounting.account import Account, CostOf, Event, Reservation, fold, following, plain, question_key
from utmost.accounting.entries import Entry
from utmost.accounting.storage import Book
from utmost.exact import Number
from utmost.privacy import Level, as_level


class HeldAccount(Account):
    """The account of a data set as one holder sees it: what they ask is charged to it and to an account of their own.

    Parameters
    ----------
    account : Account
        The data set's.
    own : Account
        The holder's, in the same ledger.
    note : mapping, optional
        What is recorded in the holder's account beside the number of the data set's entry, such as how it was asked.

    Examples
    --------
    >>> import utmost as um
    >>> ledger = um.Ledger(None)
    >>> survey = ledger.open("survey", 1, "rows, at most 500", "replace")
    >>> ada, bob = (HeldAccount(survey, ledger.open(name, 0.5, "rows, at most 500", "replace")) for name in "ab")
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
        """For every entry of the data set that was reserved here, the holder's."""

    def find(self, question: Any, level: Level | Number | None = None) -> Entry | None:
        """The entry whose answer the holder was given to this identical question, or None."""
        with self._storage.read() as book:
            return self._given(book, question_key(question), None if level is None else as_level(level))

    def given(self, number: int | None = None) -> list[tuple[Entry, dict[str, Any]]]:
        """What the holder was answered: the data set's entries, oldest first, each with what was noted.

        Parameters
        ----------
        number : only the data set's entry of this number, if the holder was given its answer
        """
        with self._storage.read() as book:
            mine = fold(book.events(self.own.dataset)[1:], self.own.filter)
            notes = [e.answer for e in mine if e.state == "done" and number in (None, e.answer["entry"])]
            return [(self._folded(book, note["entry"]), note) for note in notes]

    def _given(self, book: Book, key: str, level: Level | None) -> Entry | None:
        mine = self.own._find(book, key, level)
        return None if mine is None else self._folded(book, mine.answer["entry"])

    def _reserve(
        self, levels: tuple[Level, ...], price: CostOf, question: Any, slots: int, fresh: bool = True
    ) -> Reservation | Entry:
        asked, key = plain(question, "the question"), question_key(question)
        charge = self._charging(levels, price, asked, slots)
        charge_own = self.own._charging(levels, price, asked, slots)
        level = levels[0] if len(levels) == 1 else None
        with self._write() as book:
            self._require_active(book)
            if not fresh and (given := self._given(book, key, level)):
                return given
            known = None if fresh else self._find(book, key, level)
            if known:
                self._hand_on(book, charge_own, known)
                return known
            event = charge(book)
            self._charged[event.entry] = charge_own(book).entry  # what it refuses takes the other charge back
        return Reservation(self, event.entry, 0, asked, event.head)

    def _hand_on(self, book: Book, charge_own: Callable[[Book], Event], known: Entry) -> None:
        """Charge the holder alone, for an answer that somebody else was given before."""
        charged = charge_own(book)
        body = {"answer": self._noted(known.number), "spent": charged.body["spent"], "entries": charged.entry}
        book.add(following(charged, "complete", charged.entry, 0, body), question_key(charged.body["question"]))

    def _completed(self, book: Book, reservation: Reservation, answer: Any) -> list[Event]:
        events = super()._completed(book, reservation, answer)
        mine = self._charged.get(reservation.number)
        if mine is not None and not reservation.slot:
            charged = Reservation(self.own, mine, 0, reservation.question, "")
            self.own._completed(book, charged, self._noted(reservation.number))
        return events

    def _noted(self, number: int) -> Any:
        return plain({**self._note, "entry": number}, "the note")

    def _write(self) -> AbstractContextManager[Book]:
        return self._storage.write(self.dataset, self.own.dataset)
