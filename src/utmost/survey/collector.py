"""What receives responses: each is checked against the form and appended to a file, with the day and nothing else.

No address, no time finer than a day, no header is kept. `FormSite` answers requests without knowing who carries them,
so that any server can mount it; `local_server` carries them over HTTP on this machine.
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
"""Where, beside the page, responses are sent to."""


class Collector:
    """An append-only file of responses to one form, one JSON object in a line.

    Parameters
    ----------
    form : Form
        The form; responses to another are refused, and those that it cannot have led to.
    file : path
        Where responses are appended, in whole lines that are never changed; a line holds the day, the receipt that the
        respondent's browser made up, and the responses. If a process is killed while it writes, what it left of a line
        is set aside in FILE.torn when the next one opens the file.

    Examples
    --------
    >>> import json, tempfile, utmost as um
    >>> asked = um.survey.form("Pets in 2026", {"A cat?": ["no", "yes"]}, 1.0)
    >>> collector = um.survey.Collector(asked, tempfile.mkdtemp() + "/responses.jsonl")
    >>> sent = {"form": asked.identity[:16], "receipt": "0" * 32, "responses": ["yes"]}
    >>> collector.receive(json.dumps(sent).encode()), collector.receive(json.dumps(sent).encode())
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
        with locked(self.file) as opened:
            _read_file(self.file, form)  # a file of another form is refused before anything of it is changed
            self._catch_up(opened)

    @cached_property
    def most_bytes(self) -> int:
        """No response to this form is longer."""
        return 4096 + 8 * len(canonical(self.form.to_json()))

    def receive(self, body: bytes) -> bool:
        """Check a response as it was sent and append it; whether it is new: the same one sent twice is kept once.

        With `NotKept`, because a disk is full for instance, nothing of it is in the file, and it can be sent again.
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
        with self._lock, locked(self.file) as opened:
            self._catch_up(opened)
            if receipt in self._seen:
                return False
            append(opened, line)
        return True

    def _catch_up(self, opened: FileIO) -> None:
        """Read the receipts of lines that are new, also another process's."""
        for line in read_lines(opened, self.file, self._read_to, self.form.identity[:SHOWN]):
            self._read_to += len(line)
            with suppress(*NONSENSE):  # a line that somebody wrote by hand; estimating names it
                self._seen.add(str(parse_json(line)["receipt"]))

    def responses(self) -> list[tuple[Any, ...]]:
        """All responses that were received, each once."""
        return read_collected([self.file], self.form)


def read_sent(body: bytes | str, form: Form) -> tuple[str, tuple[Any, ...]]:
    """The receipt and the responses that a respondent's browser sent, checked against the form."""
    try:
        content = parse_json(body)
        whose, receipt, responses = (content[name] for name in ("form", "receipt", "responses"))
    except NONSENSE:
        raise InvalidInput("this is not a response as the page of a form makes it.") from None
    if whose != form.identity[:SHOWN]:
        raise InvalidInput(f"this is a response to another form, not to {form.identity[:SHOWN]}.")
    if not isinstance(receipt, str) or not RECEIPT.fullmatch(receipt):
        raise InvalidInput("the receipt of this response is not 32 hexadecimal digits.")
    return receipt, form.read([responses])[0]


def read_collected(files: Iterable[str | os.PathLike[str]], form: Form) -> list[tuple[Any, ...]]:
    """Responses out of files: a collector's, or what people copied or saved, one JSON object after the other.

    Each receipt counts once, in whatever file it stands. A response to another form is refused by its place. A last
    line of a collector that was cut short is left out, and said in the log.
    """
    found: dict[str, tuple[Any, ...]] = {}
    for file in files:
        responses, torn = _read_file(Path(file), form)
        if torn:
            log.warning("the last line of %s was cut short, and is left out", file)
        found = responses | found
    return list(found.values())


def _read_file(file: Path, form: Form) -> tuple[dict[str, tuple[Any, ...]], bytes]:
    """The responses of one file by their receipts, and what is left of a last line that was cut short."""
    found: dict[str, tuple[Any, ...]] = {}
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
        found.setdefault(receipt, responses)
    return found, torn


class Reply(NamedTuple):
    """What a request is answered with."""

    status: int
    kind: str
    body: bytes


@dataclass(frozen=True)
class FormSite:
    """The pages and the endpoint of one form, for any server to mount: `answer` takes a method, a path and a body.

    Examples
    --------
    >>> import tempfile, utmost as um
    >>> asked = um.survey.form("Pets in 2026", {"A cat?": ["no", "yes"]}, 1.0)
    >>> site = um.survey.FormSite(um.survey.Collector(asked, tempfile.mkdtemp() + "/responses.jsonl"))
    >>> site.answer("GET", "/").status, site.answer("POST", "/responses", b"nonsense").status
    (200, 400)
    """

    collector: Collector

    def __post_init__(self) -> None:
        require_stateable(self.collector.form)

    @cached_property
    def page(self) -> bytes:
        """The page respondents see."""
        return page_of_form(self.collector.form, SENT_TO).encode()

    def answer(self, method: str, path: str, body: bytes = b"") -> Reply:
        """The reply to a request; nothing about who asks is known here."""
        place = path.partition("?")[0].strip("/")
        if method in ("GET", "HEAD"):
            if place in ("", "index.html"):
                return Reply(200, "text/html; charset=utf-8", self.page)
            if place == MODULE:
                return Reply(200, "text/javascript; charset=utf-8", module_text().encode())
            return _said(404, "There is nothing here.")
        if method == "POST" and place == SENT_TO:
            try:
                new = self.collector.receive(body)
            except InvalidInput as problem:
                return _said(400, str(problem))
            except NotKept:  # whose words name a file of this machine
                return _said(503, "The response could not be kept here; send it again later.")
            return _said(200, "kept" if new else "was kept already")
        return _said(405, "This cannot be done here.")


def _said(status: int, words: str) -> Reply:
    return Reply(status, "application/json", json.dumps({"said": words}).encode())


MOST_READ = 2**26
"""No body longer than this is read at all: the largest forms have a million answers."""
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
                self._reply(_said(411, "Send a response with its length."))
                return
            if not length.isdecimal() or int(length) > MOST_READ:
                self.close_connection = True
                self._reply(_said(413, "That is too long for a response."))
                return
            body = self.rfile.read(int(length))  # also of what is refused, so that the sender hears why
            if len(body) > site.collector.most_bytes:
                self._reply(_said(413, "That is too long for a response."))
            elif self.headers.get_content_type() != "application/json":  # another site's page cannot send this unasked
                self._reply(_said(415, "Send JSON, with its content type."))
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
            """Keep nothing about who asked, or when."""

    try:
        return ThreadingHTTPServer((host, port), Handler)
    except OSError as problem:
        raise InvalidInput(f"{host}:{port} cannot be used: {problem.strerror}; name another port.") from None
