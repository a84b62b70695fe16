"""`um.Client`: the questions of a session, asked of a server that holds the table.

Its plans and answers are those of a session, reconstructed from the question, its solution and the released integers:
values, intervals and proofs are computed by the client, and `answer.verify()` trusts the server only for having drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from utmost.accounting.account import Left, Spent
from utmost.errors import BadFile, InvalidInput, UtmostError, shown
from utmost.exact import Number
from utmost.exact.json_text import parse_json
from utmost.exact.saved import NONSENSE
from utmost.privacy import level_from_json
from utmost.queries.answers import Answer, Plan
from utmost.queries.budget import Budget
from utmost.queries.budgeted_queries import BudgetedQueries
from utmost.queries.methods import QueryMethods
from utmost.queries.questions import Question, Terms
from utmost.queries.report.proof import answer_from_json, question_from_public
from utmost.queries.units import as_unit, require_neighbours
from utmost.serve.problems import Refused, error_from_reply
from utmost.serve.settings import is_loopback
from utmost.serve.wire import read_budget, read_json, write_query
from utmost.solution.solution_file import solution_from_json

SENT_BY_NAME = "a client sends a question by its method's name; ask client.count(...), client.mean(...) and so on."


@dataclass(frozen=True, eq=False)
class RemotePlan(Plan):
    """A plan made by a server, with the request that asked for it and the server's readings of columns."""

    sent: Mapping[str, Any] | None = None
    read_as: tuple[str, ...] = ()

    @property
    def request(self) -> dict[str, Any]:
        """The question as it is sent, at the level of the plan."""
        return {**(self.sent or {}), "privacy": self.privacy.to_json()}

    @property
    def readings(self) -> list[str]:
        """How columns without a declared type will be read."""
        return list(self.read_as)


class Client(BudgetedQueries):
    """A data set on a server: the questions, plans, batches and answers of a session, with an API key.

    Parameters
    ----------
    url : str
        Address of the server, such as "https://privacy.example.org"; without https only on this machine, since the
        key could be read in transit.
    key : str, optional
        The API key, as `utmost serve key NAME` showed it. A server without keys, on this machine, needs none.
    dataset : str, optional
        Name of the data set; optional if you may see only one.
    timeout : float
        Seconds to wait for an answer. A later one is recorded all the same: ask again.

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
        self.source: Any = self  # identifies the plans of this client
        self._http = httpx.Client(base_url=self.url, headers=headers, timeout=timeout)
        try:
            self.dataset = dataset if dataset is not None else self._only_one()
        except BaseException:
            self.close()
            raise

    def ask(self, question: Question, fresh: bool) -> Answer:
        """Refuse a query that is no method's: it is sent by the method's name."""
        raise InvalidInput(SENT_BY_NAME)

    def _only_one(self) -> str:
        names = self.datasets
        if len(names) != 1:
            words = ", ".join(names) or "no data set"
            raise InvalidInput(f"you may see {words}; name one: Client(url, key, dataset=...).")
        return names[0]

    @property
    def datasets(self) -> list[str]:
        """The data sets that you may see."""
        return [str(row["name"]) for row in self._get("/api/datasets")["datasets"]]

    @property
    def facts(self) -> dict[str, Any]:
        """The public facts about the data set: privacy unit, columns with their ranges, remaining budget."""
        content: dict[str, Any] = self._get(self._path)
        return content

    @cached_property
    def terms(self) -> Terms:  # type: ignore[override]  # fetched on first use
        """The privacy unit and the adjacency."""
        facts = self.facts
        return Terms(as_unit(facts["unit"]), require_neighbours(facts["neighbours"]))

    @cached_property
    def plan(self) -> RemotePlanner:
        """The same questions as plans: expected accuracy, mechanism and cost; nothing is read or spent."""
        return RemotePlanner(self)

    @property
    def budget(self) -> Budget:
        """Your budget with your entries; where all analysts share one budget, that one."""
        content = self._get(f"{self._path}/budget")
        return read_budget(next(iter(content["analysts"].values()), content["dataset"]))

    @property
    def dataset_budget(self) -> Budget:
        """The budget of the data set, with the entries that you may see."""
        return read_budget(self._get(f"{self._path}/budget")["dataset"])

    @property
    def left(self) -> Left:
        """Your remaining budget; that of the data set may allow less."""
        return self.budget.left

    @property
    def spent(self) -> Spent:
        """The budget that you have spent."""
        return self.budget.spent

    @property
    def answers(self) -> dict[int, list[Answer]]:
        """Your recorded answers by the number of their entry; a batch has several answers."""
        entries = [entry for entry in self._get(f"{self._path}/answers")["answers"] if entry["state"] == "done"]
        numbers = [int(entry["number"]) for entry in entries if entry["asked"]]
        return {n: [_answer(a) for a in self._get(f"{self._path}/answers/{n}")] for n in numbers}

    def _batch(self, plans: Sequence[Plan], delta: Number | None, fresh: bool) -> list[Answer]:
        questions = [plan.request for plan in plans if isinstance(plan, RemotePlan)]
        body = {"questions": questions, "delta": None if delta is None else str(delta), "fresh": fresh}
        return [_answer(content) for content in self._post(f"{self._path}/batch", body)]

    def close(self) -> None:
        """Close the connection."""
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

    def _call(self, method: Callable[..., Answer], arguments: Mapping[str, Any]) -> Answer:
        return _answer(self._post(f"{self._path}/ask", write_query(method.__name__, arguments)))

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
            error_content = parse_json(reply.content)
        except ValueError:
            error_content = None
        raise error_from_reply(error_content, reply.status_code)


class RemotePlanner(QueryMethods[Plan]):
    """`client.plan`: plans of answers."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def ask(self, question: Question, fresh: bool) -> Plan:
        """Refuse a query that is no method's: it is sent by the method's name."""
        raise InvalidInput(SENT_BY_NAME)

    def _call(self, method: Callable[..., Plan], arguments: Mapping[str, Any]) -> Plan:
        client, message = self.client, write_query(method.__name__, arguments)
        content = client._post(f"{client._path}/plan", {k: v for k, v in message.items() if k != "fresh"})
        try:
            level = level_from_json({k: v for k, v in content["privacy"].items() if k not in ("words", "numbers")})
            solution = solution_from_json(content["solution"])
            question = question_from_public(content["question"], client.terms, level, solution)
            remainder, read_as = str(content["left"]), tuple(map(str, content["readings"]))
        except NONSENSE:
            raise BadFile("the server's reply is no plan; is it an Utmost server of this version?") from None
        return RemotePlan(question, str(content["dataset"]), remainder, client, message, read_as)


def _answer(content: Any) -> Answer:
    """The answer in a server's reply; only the released integers and the ledger's state are taken on trust."""
    if not isinstance(content, dict):
        raise BadFile("the server's reply is no answer; is it an Utmost server of this version?")
    answer = answer_from_json({name: part for name, part in content.items() if name != "recorded"})
    return replace(answer, recorded=content.get("recorded") is True)


__all__ = ["Client", "Refused", "RemotePlan"]
