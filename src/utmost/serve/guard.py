"""What every request passes: who asks, how much, how often; and when an answer leaves.

Nothing about a request is written to a log but the kind of an error nobody expected.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import math
import secrets
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from utmost.errors import UtmostError
from utmost.serve.connections import Places, network_of
from utmost.serve.credentials import NAME, described, fits, hash_of, name_in
from utmost.serve.problems import NO_KEY, UNEXPECTED, UNKNOWN_KEY, Refused, problem_response
from utmost.serve.settings import Settings, Visitor, is_loopback

Found = TypeVar("Found")
log = logging.getLogger("utmost.serve")

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
POOLS = {"questions": (6, 256), "keys": (1, 1024), "explore": (1, 16)}
"""For each kind of work: how many threads do it, and how much of it may wait before more is sent away.

Keys that are checked and pictures for people without one hold up nobody's question.
"""
BURST = 5.0
"""How many seconds' worth of requests somebody may make at once."""
MOST_COUNTED = 10_000
"""How many visitors and addresses are counted at a time."""
KEY_RATE, KEY_BURST = 0.2, 10.0
"""How often one address may try new keys for one name: so many a second, and so many at once."""
BODY_SECONDS = 30.0
"""How long the body of a request may take to arrive."""


class Rates:
    """How often each of many may come: so many times a second, and a few seconds' worth at once."""

    def __init__(self, rate: float, seconds: float = BURST) -> None:
        self._rate, self._seconds, self._seen = rate, seconds, dict[str, tuple[float, float]]()

    def take(self, who: str) -> None:
        """Count one request, or refuse it."""
        now, most = time.monotonic(), self._rate * self._seconds
        if len(self._seen) > MOST_COUNTED:
            self._seen = {name: (left, at) for name, (left, at) in self._seen.items() if now - at < self._seconds}
        left, at = self._seen.get(who, (most, now))
        left = min(most, left + (now - at) * self._rate)
        self._seen[who] = (max(left - 1, 0.0), now)
        if left < 1:
            wait = math.ceil((1 - left) / self._rate)
            words = f"more than {self._rate:g} requests a second came from you; wait {wait} s, and ask again."
            raise Refused(429, words, wait)


class Work:
    """Runs what takes long in threads; what was begun is finished, also for a client who has gone."""

    def __init__(self, tick: float) -> None:
        self._tick, self._waiting = tick, dict.fromkeys(POOLS, 0)
        self._pools = {name: ThreadPoolExecutor(threads, f"utmost-{name}") for name, (threads, _) in POOLS.items()}

    async def run(self, work: Callable[..., Found], *arguments: Any, pool: str = "questions") -> Found:
        """The result of a function, from another thread."""
        if self._waiting[pool] >= POOLS[pool][1]:
            raise Refused(429, "too many requests are waiting here; try again in a few seconds.", 5)
        self._waiting[pool] += 1
        future = asyncio.get_running_loop().run_in_executor(self._pools[pool], work, *arguments)
        future.add_done_callback(lambda done: self._done(pool, done))
        return await asyncio.shield(future)

    def _done(self, pool: str, future: Any) -> None:
        self._waiting[pool] -= 1
        if not future.cancelled():
            future.exception()  # looked at, so that nobody prints it

    async def run_to_tick(self, work: Callable[..., Found], *arguments: Any) -> Found:
        """The same, handed over, result or error, at the next tick of the public clock after it is known."""
        try:
            return await self.run(work, *arguments)
        finally:
            await asyncio.sleep(self._tick - time.time() % self._tick)

    def close(self) -> None:
        """Wait for what was begun."""
        for pool in self._pools.values():
            pool.shutdown(wait=True)


class Gate:
    """Knows visitors by their keys. A wrong key takes as long as a right one, whoever it names.

    Checking a key that was not seen before costs a slow hash, so how often an address may have one checked is counted
    first, for each name and in all; and an address has one key checked at a time, so that no other waits for all of
    its keys.
    """

    def __init__(self, settings: Settings, work: Work) -> None:
        self.settings, self._work = settings, work
        self._nobody = hash_of(secrets.token_urlsafe(32))
        self._secret, self._known = secrets.token_bytes(32), dict[bytes, str]()
        self._checking: dict[bytes, asyncio.Future[bool]] = {}
        self._of_name, self._of_address = Rates(KEY_RATE, KEY_BURST / KEY_RATE), Rates(settings.rate)
        self._turns = WeakValueDictionary[str, asyncio.Lock]()

    async def visitor_of(self, key: str, request: Request) -> Visitor:
        """The visitor whose key it is; 401 for any other, 429 for an address that tries too many."""
        mark = hmac.digest(self._secret, key.encode(errors="replace"), "sha256")
        if mark in self._known:
            return self.settings.visitors[self._known[mark]]
        named = self.settings.visitors.get(name_in(key))
        kept = named.key if named is not None and named.key else self._nobody
        if mark not in self._checking:  # who comes with the same key meanwhile waits for the same hash
            network = network_of(address_of(request))
            self._of_name.take(f"{network} {name_in(key) if NAME.fullmatch(name_in(key)) else ''}")
            self._of_address.take(network)
            self._checking[mark] = asyncio.ensure_future(self._checked(key, kept, network))
            self._checking[mark].add_done_callback(lambda done: self._forget(mark, done))
        right = await asyncio.shield(self._checking[mark])
        if not right or named is None or named.key is None:
            raise Refused(401, UNKNOWN_KEY.format(described(key)))
        self._known[mark] = named.name
        return named

    async def _checked(self, key: str, kept: str, network: str) -> bool:
        """Whether a key fits a hash, when it is the network's turn."""
        turn = self._turns.setdefault(network, asyncio.Lock())
        async with turn:
            return await self._work.run(fits, key, kept, pool="keys")

    def _forget(self, mark: bytes, done: asyncio.Future[bool]) -> None:
        self._checking.pop(mark, None)
        if not done.cancelled():
            done.exception()  # looked at, so that nobody prints it

    async def visitor(self, request: Request) -> Visitor:
        """Who makes a request of the API."""
        if self.settings.open_to is not None:
            return self.settings.open_to
        kind, _, key = request.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not key.strip():
            raise Refused(401, NO_KEY)
        return await self.visitor_of(key.strip(), request)


def address_of(request: Request) -> str:
    """The address that a request comes from; through a proxy of the settings, the one the proxy names."""
    return request.client.host if request.client else ""


def require_same_site(request: Request) -> None:
    """Refuse what another site's page sends: a browser says where a request comes from."""
    origin, host = request.headers.get("origin"), request.headers.get("host", "")
    if origin is not None and origin.partition("://")[2] != host:
        raise Refused(403, "this request comes from a page of another site; open this server's own pages.")
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise Refused(403, "this request comes from a page of another site; open this server's own pages.")


class Guard:
    """The outermost layer: bounds what is read, adds headers, and lets no trace of an error out."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app, self._settings, self._places = app, settings, Places(settings.most_connections)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        begun = False

        async def sending(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        request, network = Request(scope), ""
        try:
            self._require_host(request)
            _require_one_length(request)
            network = self._place_of(request)
            await self._app(scope, self._bounded(scope, receive), sending)
        except UtmostError as problem:
            if not begun:
                await problem_response(problem)(scope, receive, sending)
        except Exception as problem:
            place = problem.__traceback__
            while place is not None and place.tb_next is not None:
                place = place.tb_next
            where = "" if place is None else f"{place.tb_frame.f_code.co_filename}:{place.tb_lineno}"
            log.error("unexpected %s at %s", type(problem).__name__, where)  # its words may hold what was asked
            if not begun:
                await problem_response(Refused(500, UNEXPECTED))(scope, receive, sending)
        finally:
            if network:
                self._places.leave(network)

    def _place_of(self, request: Request) -> str:
        """Count a request under way for the network it comes from; a proxy carries those of many."""
        network = network_of(address_of(request)) or "unknown"
        if not self._places.take(network):
            most = self._places.most
            raise Refused(429, f"{most} requests from your address are under way; wait until they are answered.", 5)
        return network

    def _bounded(self, scope: Scope, receive: Receive) -> Receive:
        """`receive` that refuses more bytes than a request may have, and a body that does not arrive in time."""
        most, read = self._settings.most_bytes, 0
        too_long = Refused(413, f"the request is longer than {most} bytes; ask for less at once.")
        stated = Request(scope).headers.get("content-length", "0")
        late, arriving = asyncio.get_running_loop().time() + BODY_SECONDS, True

        async def receiving() -> Message:
            nonlocal read, arriving
            if stated.isdecimal() and (len(stated) > 12 or int(stated) > most):
                raise too_long
            try:
                async with asyncio.timeout_at(late if arriving else None):
                    message = await receive()
            except TimeoutError:
                words = f"the body of the request did not arrive within {BODY_SECONDS:g} s; send it again."
                raise Refused(408, words) from None
            arriving = message.get("more_body", False)
            read += len(message.get("body", b""))
            if read > most:
                raise too_long
            return message

        return receiving

    def _require_host(self, request: Request) -> None:
        """Where no keys are asked for, refuse names that another site may have pointed at this machine."""
        host = request.headers.get("host", "").rpartition(":")
        name = host[0] if host[1] and host[2].isdecimal() else request.headers.get("host", "")
        if self._settings.open_to is not None and not is_loopback(name):
            raise Refused(403, "without keys this server answers to 127.0.0.1 and localhost only; use that address.")


def _require_one_length(request: Request) -> None:
    """Refuse a body whose end is stated twice: a proxy may see one request where this server sees two."""
    if "content-length" in request.headers and "transfer-encoding" in request.headers:
        raise Refused(400, "the request has Content-Length and Transfer-Encoding; send one of them.")
