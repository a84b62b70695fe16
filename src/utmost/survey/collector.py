"""Collect responses: each is checked against the form and appended to a file, with the day and nothing else.

No address, no time finer than a day, no header is stored. `FormSite` answers requests independently of the transport,
so that any server can mount it; `local_server` serves it over HTTP on this machine.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from io import FileIO
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from utmost.errors import BadFile, InvalidInput, NotKept
from utmost.exact.json_text import parse_json, parse_next
from utmost.exact.saved import NONSENSE, canonical
from utmost.survey.form import SHOWN, Form
from utmost.survey.respondent_page import MODULE, module_text, page_of_form, require_stateable
from utmost.survey.response_file import append, locked, log, read_lines, split_torn

if TYPE_CHECKING:
    from http.server import ThreadingHTTPServer

RECEIPT = re.compile(r"[0-9a-f]{32}")
SENT_TO = "responses"
"""The path, relative to the page, to which responses are sent."""


class Collector:
    """An append-only file of responses to one form, with one JSON object per line.

    Parameters
    ----------
    form : Form
        The form; responses to another form and impossible responses are refused.
    file : path
        The file to which responses are appended, in whole lines that are never changed; a line holds the day, the
        receipt made by the respondent's browser, and the responses. If a process is killed while it writes, the partial
        line is moved to FILE.torn when the file is opened again.

    Examples
    --------
    >>> import json, tempfile, utmost as um
    >>> pets = um.survey.form("Pets in 2026", {"A cat?": ["no", "yes"]}, 1.0)
    >>> collector = um.survey.Collector(pets, tempfile.mkdtemp() + "/responses.jsonl")
    >>> response = {"form": pets.identity[:16], "receipt": "0" * 32, "responses": ["yes"]}
    >>> collector.receive(json.dumps(response).encode()), collector.receive(json.dumps(response).encode())
    (True, False)
    >>> collector.responses()
    [('yes',)]
    """

    def __init__(self, form: Form, file: str | os.PathLike[str]) -> None:
        self.form, self.file = form, Path(file)
        self._lock, self._seen, self._read_to = Lock(), set[str](), 0
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            self.file.touch(mode=0o600)
        except OSError as problem:
            raise InvalidInput(f"{self.file} cannot be written: {problem.strerror}; name another file.") from None
        with locked(self.file) as stream:
            _read_file(self.file, form)  # a file of another form is refused before anything of it is changed
            self._catch_up(stream)

    @cached_property
    def most_bytes(self) -> int:
        """An upper bound on the size of a response to this form."""
        return 4096 + 8 * len(canonical(self.form.to_json()))

    def receive(self, body: bytes) -> bool:
        """Check a response and append it; return whether it is new, since a response sent twice is stored once.

        After `NotKept`, for instance because a disk is full, nothing of it is in the file, and it can be sent again.
        """
        if len(body) > self.most_bytes:
            raise InvalidInput(f"a response of {len(body)} bytes is not one to this form.")
        receipt, _ = read_sent(body, self.form)
        line = canonical(
            {
                "day": datetime.now(UTC).date().isoformat(),
                "form": self.form.identity[:SHOWN],
                "receipt": receipt,
                "responses": parse_json(body)["responses"],
            }
        )
        with self._lock, locked(self.file) as stream:
            self._catch_up(stream)
            if receipt in self._seen:
                return False
            append(stream, line)
        return True

    def _catch_up(self, stream: FileIO) -> None:
        """Read the receipts of new lines, including those of other processes."""
        for line in read_lines(stream, self.file, self._read_to, self.form.identity[:SHOWN]):
            self._read_to += len(line)
            with suppress(*NONSENSE):  # a line that somebody wrote by hand; estimating names it
                self._seen.add(str(parse_json(line)["receipt"]))

    def responses(self) -> list[tuple[Any, ...]]:
        """All received responses, each once."""
        return read_collected([self.file], self.form)


def read_sent(body: bytes | str, form: Form) -> tuple[str, tuple[Any, ...]]:
    """Parse a response sent by a browser, checked against the form: its receipt and its parts."""
    try:
        content = parse_json(body)
        identity, receipt, responses = (content[name] for name in ("form", "receipt", "responses"))
    except NONSENSE:
        raise InvalidInput("this is not a response as the page of a form makes it.") from None
    if identity != form.identity[:SHOWN]:
        raise InvalidInput(f"this is a response to another form, not to {form.identity[:SHOWN]}.")
    if not isinstance(receipt, str) or not RECEIPT.fullmatch(receipt):
        raise InvalidInput("the receipt of this response is not 32 hexadecimal digits.")
    return receipt, form.read([responses])[0]


def read_collected(files: Iterable[str | os.PathLike[str]], form: Form) -> list[tuple[Any, ...]]:
    """Read responses from files: a collector's, or those that people copied or saved, as a sequence of JSON objects.

    Each receipt counts once over all files. A response to another form is refused, with its place. An incomplete last
    line of a collector is omitted with a warning in the log.
    """
    collected: dict[str, tuple[Any, ...]] = {}
    for file in files:
        responses, torn = _read_file(Path(file), form)
        if torn:
            log.warning("the last line of %s was cut short, and is left out", file)
        collected = responses | collected
    return list(collected.values())


def _read_file(file: Path, form: Form) -> tuple[dict[str, tuple[Any, ...]], bytes]:
    """The responses of one file by their receipts, and the incomplete last line, if there is one."""
    collected: dict[str, tuple[Any, ...]] = {}
    try:
        whole, torn = split_torn(file.read_bytes(), form.identity[:SHOWN])
        text = whole.decode("utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise BadFile(f"{file} cannot be read: {problem}.") from None
    place, number = 0, 0
    while place < len(text):
        if text[place].isspace():
            place += 1
            continue
        number += 1
        try:
            content, place = parse_next(text, place)
            receipt, responses = read_sent(json.dumps(content), form)
        except (InvalidInput, *NONSENSE) as problem:
            why = problem if isinstance(problem, InvalidInput) else "it is not JSON, or cut short."
            raise InvalidInput(f"response number {number} of {file} cannot be used: {why}") from None
        collected.setdefault(receipt, responses)
    return collected, torn


class Reply(NamedTuple):
    """A reply to a request: status, content type and body."""

    status: int
    kind: str
    body: bytes


@dataclass(frozen=True)
class FormSite:
    """The pages and the endpoint of one form, for any server to mount: `answer` takes a method, a path and a body.

    Examples
    --------
    >>> import tempfile, utmost as um
    >>> pets = um.survey.form("Pets in 2026", {"A cat?": ["no", "yes"]}, 1.0)
    >>> site = um.survey.FormSite(um.survey.Collector(pets, tempfile.mkdtemp() + "/responses.jsonl"))
    >>> site.answer("GET", "/").status, site.answer("POST", "/responses", b"nonsense").status
    (200, 400)
    """

    collector: Collector

    def __post_init__(self) -> None:
        require_stateable(self.collector.form)

    @cached_property
    def page(self) -> bytes:
        """The page for respondents."""
        return page_of_form(self.collector.form, SENT_TO).encode()

    def answer(self, method: str, path: str, body: bytes = b"") -> Reply:
        """The reply to a request, which carries nothing about the sender."""
        place = path.partition("?")[0].strip("/")
        if method in ("GET", "HEAD"):
            if place in ("", "index.html"):
                return Reply(200, "text/html; charset=utf-8", self.page)
            if place == MODULE:
                return Reply(200, "text/javascript; charset=utf-8", module_text().encode())
            return _json_reply(404, "There is nothing here.")
        if method == "POST" and place == SENT_TO:
            try:
                new = self.collector.receive(body)
            except InvalidInput as problem:
                return _json_reply(400, str(problem))
            except NotKept:  # its message names a file of this machine
                return _json_reply(503, "The response could not be kept here; send it again later.")
            return _json_reply(200, "kept" if new else "was kept already")
        return _json_reply(405, "This cannot be done here.")


def _json_reply(status: int, words: str) -> Reply:
    return Reply(status, "application/json", json.dumps({"said": words}).encode())


MOST_READ = 2**26
"""Bodies longer than this are not read: the largest forms have a million answers."""
HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def local_server(site: FormSite, host: str = "127.0.0.1", port: int = 0) -> ThreadingHTTPServer:
    """An HTTP server for one form on this machine; call its `serve_forever`. Nothing about requests is logged."""
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer  # the command starts without it

    class Handler(BaseHTTPRequestHandler):
        server_version, sys_version, timeout = "utmost", "", 30

        def do_GET(self) -> None:
            self._reply(site.answer("GET", self.path))

        def do_HEAD(self) -> None:
            self._reply(site.answer("HEAD", self.path), whole=False)

        def do_POST(self) -> None:
            length = self.headers.get("Content-Length", "")
            if "Transfer-Encoding" in self.headers:  # not read here; with a length beside it, the end would be unclear
                self.close_connection = True
                self._reply(_json_reply(411, "Send a response with its length."))
                return
            if not length.isdecimal() or int(length) > MOST_READ:
                self.close_connection = True
                self._reply(_json_reply(413, "That is too long for a response."))
                return
            body = self.rfile.read(int(length))  # even if it is refused, so that the sender receives the reply
            if len(body) > site.collector.most_bytes:
                self._reply(_json_reply(413, "That is too long for a response."))
            elif self.headers.get_content_type() != "application/json":  # another site's page cannot send this unasked
                self._reply(_json_reply(415, "Send JSON, with its content type."))
            else:
                self._reply(site.answer("POST", self.path, body))

        def _reply(self, reply: Reply, whole: bool = True) -> None:
            self.send_response(reply.status)
            headers = {**HEADERS, "Content-Type": reply.kind, "Content-Length": str(len(reply.body))}
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            if whole:
                self.wfile.write(reply.body)

        def log_message(self, format: str, *args: Any) -> None:
            """Log nothing about requests."""

    try:
        return ThreadingHTTPServer((host, port), Handler)
    except OSError as problem:
        raise InvalidInput(f"{host}:{port} cannot be used: {problem.strerror}; name another port.") from None
