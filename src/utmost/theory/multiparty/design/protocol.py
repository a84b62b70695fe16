"""The optimal protocol: every party sends a randomised response, and every listener applies the best decision rule.

LIM Theorem 4.4.1: with delta = 0, whatever parties with these levels say to each other in any number of rounds can be
computed from their randomised responses. So one message each suffices, for every function, every measure of accuracy,
on average and in the worst case, for all listeners at once. With delta > 0 that holds among protocols without
interaction and shared coins only (see `xor_sharing_delta`), and the certificate says so.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from utmost.errors import BadFile, InvalidInput, SolverFailed, TooLarge, UnsupportedLevel, UtmostError
from utmost.exact import Number
from utmost.exact.arrays import Floats
from utmost.exact.citations import cites
from utmost.exact.saved import NONSENSE, canonical, read_checked, write_checked
from utmost.mechanism.certification import CertifiedMechanism, Check
from utmost.mechanism.violations import find_violation
from utmost.privacy import ApproxDP, Level, as_level, level_from_json, promise_in_words, require_accepted
from utmost.solution import Certificate, Verification
from utmost.solution.card import card
from utmost.space import label_from_json, label_to_json
from utmost.theory.multiparty.design.average import accuracy_by_state, best_accuracy
from utmost.theory.multiparty.design.decision import Decision, best_answer, posterior_of, read_coin, toss
from utmost.theory.multiparty.design.functions import (
    Accuracy,
    Question,
    question_from_json,
    read_accuracy,
    read_function,
    read_labels,
)
from utmost.theory.multiparty.design.messages import Message, collect, read_bit, require_party
from utmost.theory.multiparty.design.response import chances, promises_nothing, response
from utmost.theory.multiparty.design.symmetric_parties import Groups, find_groups
from utmost.theory.multiparty.design.worst import Rule, average_rule, best_rule

FORMAT, VERSION = "utmost-protocol", 1
ANY_PROTOCOL = (
    "LIM Theorem 4.4.1: whatever parties at these levels say to each other, in any number of rounds, can be computed "
    "from their randomised responses; so no private protocol, interactive or not, is more accurate"
)
NO_INTERACTION = (
    "optimal among non-interactive protocols, in which a message depends on its sender's bit and own coins only: "
    "whatever a party may send at its level can be computed from its randomised response (Blackwell; LIM 4.3). With "
    "delta > 0 interaction or shared coins can do better, contrary to LIM Theorem 4.4.1"
)
CLOSE = 1e-9
"""The tolerance between a stated and a recomputed value, relative to the largest accuracy."""
LOST = 1e-6
"""The largest gap of a decision rule that counts as optimal, relative to the largest accuracy."""


@dataclass(frozen=True, eq=False)
class Protocol:
    """The message of every party and the decision rule of every listener; made by `multiparty.optimal`.

    Attributes
    ----------
    question : Question
        The function that is computed.
    levels : tuple of ApproxDP
        The level of each party.
    answers : tuple
        The possible answers of a listener.
    accuracy : array of float
        The accuracy of each answer (column) at each value of the function (row).
    criterion : "average" or "worst"
        The average over fair bits, or the worst case over the bits.
    """

    question: Question
    levels: tuple[ApproxDP, ...]
    answers: tuple[Any, ...]
    accuracy: Floats
    criterion: Literal["average", "worst"]
    name: str = ""
    """The occasion, part of the fingerprint: messages of one occasion are refused by another."""
    stated_value: float | None = None
    """The central observer's accuracy as the designer computed it, or as a file states it."""
    agreed: str | None = None
    """For a listener's own question (`asking`), the fingerprint of the protocol whose messages it hears."""
    accuracies: dict[int | None, float] = field(default_factory=dict, repr=False)
    """Cache of accuracies, by listener."""
    rules: dict[tuple[int | None, int], Rule] = field(default_factory=dict, repr=False)
    """Cache of worst-case decision rules: of the central observer (None, 0), of a party with a bit."""

    @property
    def stated(self) -> float | None:
        """Former name of `stated_value`."""
        warnings.warn("Protocol.stated is called stated_value", DeprecationWarning, stacklevel=2)
        return self.stated_value

    def value(self, party: int | None = None) -> float:
        """The accuracy of the central observer, who hears the messages, or of a party, who also knows its own bit.

        Examples
        --------
        >>> import utmost as um
        >>> protocol = um.multiparty.optimal("xor", [1.0, 1.0])
        >>> round(protocol.value(), 6), round(protocol.value(0), 6)
        (0.606776, 0.731059)
        """
        if party is not None:
            party = require_party(party, len(self.levels))
        if party not in self.accuracies:
            views = self._views(party)
            if self.criterion == "worst":
                value = min(self._rule(party, i).value(view, self.accuracy) for i, view in enumerate(views))
            else:
                value = float(np.mean([best_accuracy(view, self.accuracy, view.evenly()) for view in views]))
            self.accuracies[party] = value
        return self.accuracies[party]

    def mechanism(self, party: int) -> CertifiedMechanism:
        """The mechanism by which a party's message depends on its bit: integer weights, certified exactly."""
        return response(self.levels[require_party(party, len(self.levels))])

    def promise(self, party: int) -> str:
        """The guarantee to a party, in words: to be read before anything is sent.

        Examples
        --------
        >>> import utmost as um
        >>> print(um.multiparty.optimal("xor", [1.0, 2.0]).promise(1))
        2-DP: whoever thinks two answers equally likely and sees your response guesses yours with probability 88.08 % at
        most (50 % without it).
        """
        return promise_in_words(self.levels[require_party(party, len(self.levels))])

    def respond(self, party: int, bit: int, accept: bool = False) -> Message:
        """The message of a party: drawn exactly, with the operating system's randomness.

        Every call draws anew and spends the party's level again: send one message and store it.
        `utmost party respond` keeps a record.

        Parameters
        ----------
        party : int
            The number of the party, from 0.
        bit : int
            Its bit, 0 or 1.
        accept : bool
            Respond although the party's guarantee is weaker than epsilon = 5 with delta = 0.01, which is otherwise
            refused (`WeakPromise`); for the party to decide, after reading `promise`.
        """
        mechanism = self.mechanism(party)
        require_accepted(self.levels[party], accept)
        return Message(self.fingerprint, int(party), mechanism.sample(read_bit(bit)))

    def decide(
        self,
        messages: Iterable[Any],
        party: int | None = None,
        own_bit: int | None = None,
        coin: Number | None = None,
    ) -> Decision:
        """The best answer to the messages, and the posterior of the function's values.

        Parameters
        ----------
        messages : sequence of Message, mapping or str
            The results of `respond`, one per party, as objects, mappings or lines of JSON, in any order.
        party : int, optional
            A party that decides for itself; its own message may then be left out.
        own_bit : int, optional
            The bit of that party.
        coin : number, optional
            For the worst case, where the best rule may be randomised: a number from 0 up to 1 that all listeners share,
            so that they decide alike from the same messages. The value holds for a coin that is uniform and independent
            of the bits, so draw it; do not compute it from the messages. Without one, every call tosses its own.

        Examples
        --------
        >>> import utmost as um
        >>> protocol = um.multiparty.optimal("and", [um.PureDP.from_ratio(3)] * 2)
        >>> messages = [um.multiparty.Message(protocol.fingerprint, i, 1) for i in (0, 1)]
        >>> protocol.decide(messages)
        Decision(answer=1, posterior={0: 0.4375, 1: 0.5625}, chances={0: 0.0, 1: 1.0})
        """
        if (party is None) != (own_bit is None):
            raise InvalidInput("a party that decides for itself gives both `party` and `own_bit`, others neither.")
        coin_value = None if coin is None else read_coin(coin)
        message_of = collect(messages, self.fingerprint, self.levels, party)
        likely = np.array([chances(level)[:, message_of.get(i, 0)] for i, level in enumerate(self.levels)])
        view = 0
        if party is not None:
            view = read_bit(own_bit)
            if party in message_of and not self.mechanism(party).weights[view, message_of[party]]:
                raise InvalidInput(f"party {party} cannot have sent that message with that bit; check both.")
            likely[party] = [1 - view, view]
        posterior = posterior_of(self.question, likely / likely.sum(axis=1, keepdims=True))
        posterior_by_value = dict(zip(self.question.values, posterior.tolist(), strict=True))
        if self.criterion == "average":
            best = best_answer(posterior, self.accuracy)
            rule = (np.arange(len(self.answers)) == best).astype(float)
        else:
            position = self._views(party)[view].transcript(message_of)
            rule = self._rule(party, view).chances[:, position]
            best = toss(rule, coin_value)
        return Decision(self.answers[best], posterior_by_value, dict(zip(self.answers, rule.tolist(), strict=True)))

    def asking(
        self,
        function: Any,
        accuracy: Accuracy | None = None,
        criterion: Literal["average", "worst"] = "average",
        answers: Sequence[Any] | None = None,
    ) -> Protocol:
        """The protocol of a listener with its own question about the same messages: as optimal, at no further cost.

        Examples
        --------
        >>> import utmost as um
        >>> protocol = um.multiparty.optimal("majority", [1.0, 1.0, 2.0])
        >>> messages = [protocol.respond(party, 1) for party in range(3)]
        >>> protocol.asking("sum", "absolute").decide(messages).answer in range(4)
        True
        """
        return _design(function, self.levels, accuracy, criterion, answers, self.name, self.fingerprint)

    @cached_property
    def certificate(self) -> Certificate:
        """The certificate of optimality for the central observer: the theorem, the bound and the gap."""
        value, bound = self.value(), self._bound(None)
        interactive = _allows_interaction(self.levels)
        largest_change = max(response(level).moved for level in set(self.levels))
        return Certificate(
            "theorem",
            ANY_PROTOCOL if interactive else NO_INTERACTION,
            f"accuracy, {'average over fair bits' if self.criterion == 'average' else 'worst case over the bits'}",
            "randomised response by every party, and for every transcript the best "
            + ("answer" if self.criterion == "average" else "mixture of answers, by linear programming where needed"),
            bound=bound,
            gap=max(bound - value, 0.0),
            notes=(f"in integers, no event about one party's message is moved by more than {largest_change:.1g}",),
        )

    def verify(self, party: int | None = None) -> Verification:
        """Re-prove privacy and optimality from the problem alone, for the central observer or a party.

        Privacy: in integers, for every level. Optimality: the decision rule is evaluated at every state of the inputs,
        and its accuracy compared with the upper bound on every rule.
        """
        mechanisms = {level: response(level) for level in self.levels}
        broken = [find_violation(m.weights, m.bits, m.levels) for m in mechanisms.values()]
        lost = sum(mechanisms[level].moved for level in self.levels) * float(np.ptp(self.accuracy))
        private, promised = not any(broken), _summary(self.levels)
        checks = [Check("privacy", private, next(filter(None, broken), f"{promised} proved in exact arithmetic"))]
        try:
            reached, bound = self._accuracy_of_rule(party), self._bound(party)
        except (TooLarge, SolverFailed) as reason:
            checks.append(Check("optimality", False, str(reason)))
            return Verification(private, "unproved", float("inf"), tuple(checks))
        scale = max(1.0, float(np.abs(self.accuracy).max()))
        if party is None and self.stated_value is not None:
            agrees = abs(self.stated_value - reached) <= CLOSE * scale
            checks.append(
                Check("value", agrees, f"stated {self.stated_value:.12g}, the decision rule reaches {reached:.12g}")
            )
        gap = max(bound - reached, 0.0) + lost
        detail = f"no decision rule exceeds {bound:.12g}; this one reaches {reached:.12g}"
        checks.append(Check("optimality", gap <= LOST * scale, detail))
        passed = all(check.passed for check in checks)
        relies = ANY_PROTOCOL if _allows_interaction(self.levels) else NO_INTERACTION
        return Verification(private, "theorem" if passed else "unproved", gap, tuple(checks), relies)

    @cached_property
    def fingerprint(self) -> str:
        """A hash that identifies the protocol: parties, levels, function, accuracy, criterion and name.

        For the worst case also the decision rule that all listeners use, since several may be best.
        """
        if self.agreed:
            return self.agreed
        content = _problem(self)
        if self.criterion == "worst":
            content["rule"] = self._rule(None, 0).chances.tolist()
        return hashlib.sha256(canonical(content)).hexdigest()[:32]

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the protocol as one JSON file for every party and listener; nothing in it is private."""
        if self.agreed:
            raise InvalidInput("this is one listener's own question; save the protocol that the parties agreed on.")
        rule = self.rules.get((None, 0)) if self.criterion == "worst" else None
        content = {"format": FORMAT, "version": VERSION, "problem": _problem(self), "value": self.stated_value}
        content["rule"] = rule and {
            "chances": rule.chances.tolist(),
            "least_favourable": rule.least_favourable.tolist(),
        }
        return write_checked(path, content)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Protocol:
        """Read a protocol written by `save`; `BadFile` if it was changed, truncated or is of another version.

        A decision rule is evaluated at every state of the inputs, and refused unless it is proved optimal.
        """
        return _from_plain(read_checked(path, FORMAT, VERSION, "protocol"))

    def __str__(self) -> str:
        lines = [f"{self.question.title} of {len(self.levels)} parties at {_summary(self.levels)}"]
        try:
            c = self.certificate
        except TooLarge as reason:
            return f"{lines[0]}\n  value: not computed: {reason}"
        lines += [f"  value: {self.value():.10g} ({c.quantity})", f"  optimal: {c.reason}", f"  found by: {c.method}"]
        lines += [f"  bound: no decision rule exceeds {c.bound:.10g} (gap {c.gap:.2g})"]
        return "\n".join(lines + [f"  note: {note}" for note in c.notes])

    def _repr_html_(self) -> str:
        return card(str(self))

    def __repr__(self) -> str:
        return f"Protocol({self.question.title}, {len(self.levels)} parties, {self.criterion} accuracy)"

    @cached_property
    def _groups(self) -> Groups:
        return find_groups(self.question, self.levels)

    def _views(self, party: int | None) -> list[Groups]:
        """The unknown bits from a listener's view: all of them, or for a party the others', one view per own bit."""
        if party is None:
            return [self._groups]
        return [self._groups.knowing(require_party(party, len(self.levels)), bit) for bit in (0, 1)]

    def _rule(self, party: int | None, view: int) -> Rule:
        """A listener's decision rule; those for the worst case are cached."""
        if self.criterion == "average":
            return average_rule(self._views(party)[view], self.accuracy)
        if (party, view) not in self.rules:
            self.rules[party, view] = best_rule(self._views(party)[view], self.accuracy)
        return self.rules[party, view]

    def _accuracy_of_rule(self, party: int | None) -> float:
        """The accuracy of the decision rule, from its accuracy at every state."""
        by_view = []
        for i, view in enumerate(self._views(party)):
            by_state = accuracy_by_state(view, self.accuracy, self._rule(party, i).chances)
            by_view.append(float(by_state.min() if self.criterion == "worst" else view.evenly() @ by_state))
        return min(by_view) if self.criterion == "worst" else float(np.mean(by_view))

    def _bound(self, party: int | None) -> float:
        """The upper bound on every decision rule."""
        by_view = [self._rule(party, i).bound(view, self.accuracy) for i, view in enumerate(self._views(party))]
        return min(by_view) if self.criterion == "worst" else float(np.mean(by_view))


@cites("LIM-theorem-4.4.1", "LIM-corollary-4.3.3")
def optimal(
    function: Any,
    levels: Sequence[Level | Number],
    accuracy: Accuracy | None = None,
    criterion: Literal["average", "worst"] = "average",
    answers: Sequence[Any] | None = None,
    name: str = "",
) -> Protocol:
    """The most accurate private protocol for parties with one bit each (LIM Theorem 4.4.1).

    Parameters
    ----------
    function : str, callable, array or by_count(...)
        A name ("xor", "and", "or", "majority": more than half, "sum", "threshold 3": at least 3), a callable of the
        tuple of bits, a table of 2^k values in which party 0 is the most significant bit, or `by_count(...)`.
    levels : sequence of levels or numbers
        One per party: PureDP, ApproxDP, or a number, which means that epsilon.
    accuracy : str, array or callable, optional
        "zero-one" (the default: 1 if right), "within 2", "absolute" and "squared" (errors, as negative numbers), a
        table (values x answers), or a callable accuracy(value, answer). Larger is better.
    criterion : "average" or "worst"
        The average over fair bits, or the worst case over the bits.
    answers : sequence, optional
        The possible answers; by default the values of the function.
    name : str
        The occasion, such as "vote of May": messages of another occasion are refused.

    Examples
    --------
    >>> import utmost as um
    >>> protocol = um.multiparty.optimal("majority", [1.0, 1.0, 2.0])
    >>> round(protocol.value(), 6), round(protocol.value(party=2), 6)
    (0.731059, 0.767223)
    >>> bits = [1, 0, 1]
    >>> protocol.decide([protocol.respond(i, bit) for i, bit in enumerate(bits)]).answer in (0, 1)
    True
    """
    if isinstance(levels, Level | str) or not isinstance(levels, Iterable):
        raise InvalidInput(f"levels is {levels!r}; give a list with one level per party, such as [1.0, 1.0, 2.0].")
    promised = tuple(_read_level(level, party) for party, level in enumerate(levels))
    if not promised:
        raise InvalidInput("there are no parties; give a list with one level per party.")
    if not isinstance(name, str):
        raise InvalidInput(f"name is {name!r}; give text.")
    return _design(function, promised, accuracy, criterion, answers, name, None)


def _design(
    function: Any,
    levels: tuple[ApproxDP, ...],
    accuracy: Accuracy | None,
    criterion: Literal["average", "worst"],
    answers: Sequence[Any] | None,
    name: str,
    agreed: str | None,
) -> Protocol:
    """The protocol of checked levels, with its value where that is not too large to compute."""
    if criterion not in ("average", "worst"):
        raise InvalidInput(f"criterion is {criterion!r}; say 'average' or 'worst'.")
    question = read_function(function, len(levels))
    labels = question.values if answers is None else read_labels(answers, "the answers")
    if not labels or len(set(labels)) != len(labels):
        raise InvalidInput(f"answers is {answers!r}; give every possible answer once, at least one.")
    table = read_accuracy(accuracy, question.values, labels)
    table.flags.writeable = False
    protocol = Protocol(question, levels, labels, table, criterion, name, agreed=agreed)
    try:
        return replace(protocol, stated_value=protocol.value())
    except TooLarge:
        if criterion == "worst":  # there is no rule to decide by; an average needs none
            raise
        return protocol


def _read_level(privacy: Level | Number, party: int) -> ApproxDP:
    """The level of a party, checked."""
    level = as_level(privacy)
    if not isinstance(level, ApproxDP):
        raise UnsupportedLevel(f"party {party} has {level}; parties need (epsilon, delta) levels, such as PureDP(1).")
    return level


def _allows_interaction(levels: Sequence[ApproxDP]) -> bool:
    """Whether the theorem covers interactive protocols too: every delta is 0 (or vacuous), or there is one party."""
    return len(levels) == 1 or all(level.delta == 0 or promises_nothing(level) for level in levels)


def _summary(levels: Sequence[ApproxDP]) -> str:
    """The parties' levels in words."""
    names = [str(level) for level in levels]
    if len(set(names)) == 1:
        return f"{names[0]} each"
    return ", ".join(names) if len(names) <= 6 else f"{len(set(names))} different levels"


def _problem(protocol: Protocol) -> dict[str, Any]:
    """The protocol's problem as plain JSON data."""
    return {
        "function": protocol.question.to_json(),
        "levels": [level.to_json() for level in protocol.levels],
        "answers": [label_to_json(answer) for answer in protocol.answers],
        "accuracy": protocol.accuracy.tolist(),
        "criterion": protocol.criterion,
        "name": protocol.name,
    }


def _from_plain(content: dict[str, Any]) -> Protocol:
    """The protocol of a file's content, checked."""
    try:
        problem = content["problem"]
        question = question_from_json(problem["function"])
        levels = tuple(level_from_json(level) for level in problem["levels"])
        approx_levels = tuple(level for level in levels if isinstance(level, ApproxDP))
        answers = tuple(label_from_json(answer) for answer in problem["answers"])
        table = np.array(problem["accuracy"], dtype=float)
        criterion, name = problem["criterion"], problem["name"]
        if len(approx_levels) != question.parties or len(levels) != question.parties:
            raise BadFile(f"the file has {len(approx_levels)} levels for {question.parties} parties.")
        if table.shape != (len(question.values), len(answers)) or not np.isfinite(table).all():
            raise BadFile("the file's accuracy does not fit its values and answers.")
        fits = criterion in ("average", "worst") and isinstance(name, str)
        if not fits or len(set(answers)) != len(answers) or not answers:
            raise BadFile("the file's criterion, name or answers are not those of a protocol.")
        stated = None if content["value"] is None else float(content["value"])
        protocol = Protocol(question, approx_levels, answers, table, criterion, name, stated)
        if (content["rule"] is None) != (criterion == "average"):
            raise BadFile("a decision rule belongs into the file for the worst case, and only then; save it again.")
        if criterion == "worst":
            protocol.rules[None, 0] = _read_rule(content["rule"], protocol)
        return protocol
    except BadFile:
        raise
    except UtmostError as reason:
        raise BadFile(f"the file holds an impossible protocol: {reason}") from None
    except NONSENSE as error:
        raise BadFile(f"the file lacks a part of a protocol, or holds nonsense ({error}); save it again.") from None


def _read_rule(data: Any, protocol: Protocol) -> Rule:
    """A file's decision rule, refused unless it is proved optimal."""
    (groups,) = protocol._views(None)
    rule = Rule(np.array(data["chances"], dtype=float), np.array(data["least_favourable"], dtype=float))
    shapes = (len(protocol.answers), groups.transcripts()), (groups.grid.size,)
    if (rule.chances.shape, rule.least_favourable.shape) != shapes:
        raise BadFile("the file's decision rule does not fit its protocol; save it again.")
    for part, totals in zip(rule, (rule.chances.sum(axis=0), rule.least_favourable.sum()), strict=True):
        if not ((part >= 0).all() and np.allclose(totals, 1, rtol=0, atol=1e-12)):
            raise BadFile("the file's decision rule is not made of probabilities; save it again.")
    reached, bound = rule.value(groups, protocol.accuracy), rule.bound(groups, protocol.accuracy)
    if bound - reached > LOST * max(1.0, float(np.abs(protocol.accuracy).max())):
        raise BadFile(
            f"the file's decision rule reaches {reached:.6g}, and {bound:.6g} is not ruled out: it is not the best "
            "rule, or its proof is wrong; ask for the file anew."
        )
    return rule
