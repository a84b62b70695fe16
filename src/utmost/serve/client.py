"""`um.Client`: the questions of a session, asked of a server that keeps the table.

What comes back are a session's own plans and answers, made again here from the question, its solution and the released
integers: values, intervals and proofs are computed on this side, and `answer.verify()` trusts the server for nothing
but that it drew.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from utmost.accounting import Price
from utmost.accounting.account import Filter, Left, Spent
from utmost.errors import BadFile, InvalidInput, UtmostError, shown
from utmost.exact import Number
from utmost.exact.json_text import parse_json
from utmost.exact.saved import NONSENSE
from utmost.privacy import Level, level_from_json
from utmost.queries.allotment import Allotment, allot, price
from utmost.queries.answers import Answer, Plan
from utmost.queries.asking import Questions, misused
from utmost.queries.budget import Budget
from utmost.queries.cut_offs import CutOffs, suggest
from utmost.queries.questions import Question, Terms
from utmost.queries.questions.rows_per_person import DEFAULT_LARGEST
from utmost.queries.report.proof import answer_from_json, question_from_public
from utmost.queries.rows_suggestion import RowsEach, suggest_rows
from utmost.queries.session import A_BATCH, Session
from utmost.queries.units import as_unit, require_neighbours
from utmost.serve.problems import Refused, problem_again
from utmost.serve.settings import is_loopback
from utmost.serve.wire import METHODS, read_budget, read_json, write_asked
from utmost.solution.solution_file import solution_from_json

if TYPE_CHECKING:
    Asking = Questions
else:

    class Asking:
        """What asks: every question of a session is a method, with the same arguments and the same help."""

        def __class_getitem__(cls, made: Any) -> Any:
            return cls


@dataclass(frozen=True, eq=False)
class RemotePlan(Plan):
    """A plan that a server made: what was sent, and how it says columns are read."""

    sent: Mapping[str, Any] | None = None
    read_as: tuple[str, ...] = ()

    @property
    def sent_now(self) -> dict[str, Any]:
        """What asks it at the level it has by now."""
        return {**(self.sent or {}), "privacy": self.privacy.to_json()}

    @property
    def readings(self) -> list[str]:
        """How the columns whose type nobody declared will be read."""
        return list(self.read_as)


@dataclass(frozen=True)
class RemoteAccount:
    """What is known here of an account on a server."""

    filter: Filter


class Client(Asking[Answer]):
    """A data set on a server: the questions, plans, batches and answers of a session, with a key instead of the rows.

    Parameters
    ----------
    url : text
        Where the server is, such as "https://privacy.example.org"; without https only on this machine, since the key
        would be read on the way.
    key : text, optional
        As `utmost serve key NAME` shows it once. A server on this machine that asks for none needs none.
    dataset : text, optional
        Which data set is asked about; it can be left out where there is only one that you may see.
    timeout : number
        For how many seconds an answer is waited for. One that comes later is recorded all the same: ask again.

    Examples
    --------
    >>> import utmost as um
    >>> um.Client("http://privacy.example.org", "ada:...")
    Traceback (most recent call last):
    utmost.errors.InvalidInput: http://privacy.example.org would send the key so that others can read it; use https.
    """

    def __init__(self, url: str, key: str | None = None, dataset: str | None = None, timeout: float = 120) -> None:
        try:
            import httpx
        except ImportError:
            raise UtmostError("a client needs httpx; install it with: pip install 'utmost[serve]'") from None
        place = urlsplit(url) if isinstance(url, str) else None
        if place is None or place.scheme not in ("http", "https") or not place.hostname:
            raise InvalidInput(f"the server is {shown(url)}; give its address, such as https://privacy.example.org.")
        if place.scheme == "http" and not is_loopback(place.hostname):
            raise InvalidInput(f"{url} would send the key so that others can read it; use https.")
        if key is not None and (not isinstance(key, str) or not key.isascii() or not key.strip()):
            raise InvalidInput("the key is no text such as 'ada:...'; give it as `utmost serve key` showed it.")
        headers = {"Authorization": f"Bearer {key.strip()}"} if key else {}
        self.url, self._failed = url.rstrip("/"), httpx.HTTPError
        self.source: Any = self  # plans say whose they are by it
        self._http = httpx.Client(base_url=self.url, headers=headers, timeout=timeout)
        try:
            self.dataset = dataset if dataset is not None else self._only_one()
        except BaseException:
            self.close()
            raise

    if TYPE_CHECKING:  # a session's own way to ask, which needs the table

        def ask(self, question: Question, fresh: bool) -> Answer: ...

    def _only_one(self) -> str:
        names = self.datasets
        if len(names) != 1:
            listed = ", ".join(names) or "no data set"
            raise InvalidInput(f"you may see {listed}; name one: Client(url, key, dataset=...).")
        return names[0]

    @property
    def datasets(self) -> list[str]:
        """The data sets that you may see."""
        return [str(each["name"]) for each in self._get("/api/datasets")["datasets"]]

    @property
    def facts(self) -> dict[str, Any]:
        """What is public about the data set: whose data are protected, its columns and their ranges, what is left."""
        found: dict[str, Any] = self._get(self._path)
        return found

    @cached_property
    def terms(self) -> Terms:  # type: ignore[override]  # found out when it is needed
        """Whose data are protected, and who neighbours whom."""
        facts = self.facts
        return Terms(as_unit(facts["unit"]), require_neighbours(facts["neighbours"]))

    @cached_property
    def plan(self) -> RemotePlanner:
        """The same questions, planned: expected accuracy, mechanism and spend, with nothing read and nothing spent."""
        return RemotePlanner(self)

    @property
    def budget(self) -> Budget:
        """What is left for you, and what you spent it on; where everybody spends from one budget, that."""
        found = self._get(f"{self._path}/budget")
        return read_budget(next(iter(found["analysts"].values()), found["dataset"]))

    @property
    def dataset_budget(self) -> Budget:
        """What is left for all who ask, with the entries that you may see."""
        return read_budget(self._get(f"{self._path}/budget")["dataset"])

    @property
    def left(self) -> Left:
        """What is left for you; the data set's own budget may allow less."""
        return self.budget.left

    @property
    def spent(self) -> Spent:
        """What you have spent."""
        return self.budget.spent

    @property
    def answers(self) -> dict[int, list[Answer]]:
        """What you were answered, by the number of the entry; a batch has several answers."""
        done = [each for each in self._get(f"{self._path}/answers")["answers"] if each["state"] == "done"]
        numbers = [int(each["number"]) for each in done if each["asked"]]
        return {n: [_answer(a) for a in self._get(f"{self._path}/answers/{n}")] for n in numbers}

    def smallest_privacy(self, question: Plan, accuracy: Number) -> Level:
        """The smallest epsilon, to three digits, whose expected loss is at most `accuracy`: as a session finds it.

        Parameters
        ----------
        question : a plan, at any level, such as client.plan.count("age >= 65", privacy=1)
        accuracy : the expected loss you can live with, in the unit of the answer
        """
        return Session.smallest_privacy(self, question, accuracy)  # type: ignore[arg-type]  # it asks nothing of a table

    def batch(self, plans: Sequence[Plan], delta: Number | None = None, *, fresh: bool = False) -> list[Answer]:
        """Answers to several questions that are declared together, before any of them is answered.

        Parameters
        ----------
        plans : made by `client.plan`, such as [client.plan.count("age >= 65", privacy=0.1), ...]
        delta : what the whole batch takes of the budget's delta; None charges the sum
        fresh : True draws again (and spends again) although the identical batch was answered before
        """
        if not isinstance(plans, Sequence) or not all(isinstance(p, RemotePlan) and p.source is self for p in plans):
            raise InvalidInput(f"the batch is {shown(plans)}; {A_BATCH}")
        asked = [
            {**(plan.sent or {}), "privacy": plan.privacy.to_json()} for plan in plans if isinstance(plan, RemotePlan)
        ]
        sent = {
            "questions": asked,
            "delta": None if delta is None else str(delta),
            "fresh": fresh,
        }
        return [_answer(content) for content in self._post(f"{self._path}/batch", sent)]

    def price(self, plans: Sequence[Plan], delta: Number | None = None) -> Price:
        """What several questions cost together, and under which accounting: as a session prices them.

        Parameters
        ----------
        plans : made by `client.plan`
        delta : how much of an (epsilon, delta) budget's delta they may use; all that is left without it
        """
        return price(self, plans, delta)  # type: ignore[arg-type]  # it asks for filter, left and batch alone

    def allot(
        self,
        targets: Mapping[Plan, Any],
        level: Number | None = 0.95,
        budget: Any = None,
        delta: Number | None = None,
    ) -> Allotment:
        """Levels of least price for questions of which the wanted accuracy is known: as a session allots them.

        Parameters
        ----------
        targets : mapping {plan: error}
            The error you can live with for each plan, or a pair (error, probability); (loss, None) is an expected loss.
        level : number or None
            With which probability an answer is off by at most its error; None: errors are expected losses.
        budget : level or number, optional
            The other way round: what all questions together may spend; then targets say what errors are relative to.
        delta : number, optional
            How much of an (epsilon, delta) budget's delta they may use; all that is left without it.
        """
        return allot(self, targets, level, budget, delta)  # type: ignore[arg-type]

    def suggest_bounds(
        self,
        column: str,
        privacy: Any = None,
        *,
        share: Number = "0.01",
        smallest: Number = 1,
        largest: Number = 10**6,
        where: Any = None,
        fresh: bool = False,
    ) -> CutOffs:
        """Ends for the values of a column, found privately: as a session suggests them, asked as one batch.

        Parameters
        ----------
        column : str
            The column whose values would be cut.
        privacy : level or number
            What the answers together may spend.
        share : number
            The part of rows that may lie beyond each end: 0.01 asks for the 1 % and the 99 % quantile.
        smallest, largest : numbers
            Where the public grid of ends begins beside 0, and where it stops.
        where : SQL text, optional
            Only rows with this condition are looked at.
        fresh : bool
            True draws and spends again although the identical question was answered before.
        """
        return suggest(self, column, privacy, share, smallest, largest, where, fresh)  # type: ignore[arg-type]

    def suggest_rows_each(
        self,
        privacy: Any = None,
        *,
        where: Any = None,
        largest: int = DEFAULT_LARGEST,
        asked_at: Any = None,
        fresh: bool = False,
    ) -> RowsEach:
        """How many rows of each person to use, found privately: as a session suggests it.

        Parameters
        ----------
        privacy : level or number
            What the answer may spend.
        where : SQL text, optional
            Only rows with this condition are counted.
        largest : int
            The largest candidate, a public number.
        asked_at : level or number, optional
            The level that answers will be asked at, which says how large their noise is; without it, `privacy`.
        fresh : bool
            True draws and spends again although the identical question was answered before.
        """
        return suggest_rows(self, privacy, where, largest, asked_at, fresh)  # type: ignore[arg-type]

    @property
    def account(self) -> RemoteAccount:
        """How your budget is counted."""
        return RemoteAccount(self.left.filter)

    def close(self) -> None:
        """Let go of the connection."""
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *wrong: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client of {self.url}, data set {self.dataset!r}: {self.left} left for you"

    @property
    def _path(self) -> str:
        return f"/api/datasets/{self.dataset}"

    def _made(self, sent: Mapping[str, Any]) -> Answer:
        return _answer(self._post(f"{self._path}/ask", sent))

    def _get(self, path: str) -> Any:
        return self._reply("GET", path, None)

    def _post(self, path: str, content: Any) -> Any:
        return self._reply("POST", path, content)

    def _reply(self, method: str, path: str, content: Any) -> Any:
        try:
            reply = self._http.request(method, path, json=content) if content else self._http.request(method, path)
        except self._failed as problem:
            raise UtmostError(
                f"{self.url} cannot be reached ({type(problem).__name__}). If a question was sent, its answer is "
                "recorded: asked again, it costs nothing more."
            ) from None
        if reply.status_code == 200:
            return read_json(reply.content)
        try:
            said = parse_json(reply.content)
        except ValueError:
            said = None
        raise problem_again(said, reply.status_code)


class RemotePlanner(Asking[Plan]):
    """`client.plan`: what answers would be like."""

    def __init__(self, client: Client) -> None:
        self.client = client

    if TYPE_CHECKING:

        def ask(self, question: Question, fresh: bool) -> Plan: ...

    def _made(self, sent: Mapping[str, Any]) -> Plan:
        client = self.client
        content = client._post(f"{client._path}/plan", {k: v for k, v in sent.items() if k != "fresh"})
        try:
            level = level_from_json({k: v for k, v in content["privacy"].items() if k not in ("words", "numbers")})
            solution = solution_from_json(content["solution"])
            question = question_from_public(content["question"], client.terms, level, solution)
            left, read_as = str(content["left"]), tuple(map(str, content["readings"]))
        except NONSENSE:
            raise BadFile("the server's reply is no plan; is it an Utmost server of this version?") from None
        return RemotePlan(question, str(content["dataset"]), left, client, sent, read_as)


def _answer(content: Any) -> Answer:
    """The answer that a server sent; nothing in it is believed but what was released, and what the ledger says."""
    if not isinstance(content, dict):
        raise BadFile("the server's reply is no answer; is it an Utmost server of this version?")
    answer = answer_from_json({name: part for name, part in content.items() if name != "recorded"})
    return replace(answer, recorded=content.get("recorded") is True)


def _asking(name: str) -> Callable[..., Any]:
    """The method that sends a question: the session's signature and help, and what it returns."""
    of_session = getattr(Questions, name)
    signature = inspect.signature(of_session)

    @functools.wraps(of_session)
    def method(self: Any, *given: Any, **named: Any) -> Any:
        try:
            bound = signature.bind(self, *given, **named)
        except TypeError:
            raise InvalidInput(misused(name, signature, (self, *given), named)) from None
        arguments = {key: value for key, value in bound.arguments.items() if key != "self"}
        return self._made(write_asked(name, arguments))

    return method


if not TYPE_CHECKING:
    for _name in METHODS:
        setattr(Asking, _name, _asking(_name))

__all__ = ["Client", "Refused", "RemotePlan"]
