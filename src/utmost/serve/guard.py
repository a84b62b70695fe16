"""Checks of every request: authentication, limits on size and rate, and the time at which an answer leaves.

Nothing about a request is logged but the kind of an unexpected error.
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
from utmost.serve.credentials import NAME, describe_key, hash_of, key_matches, name_in
from utmost.serve.problems import NO_KEY, UNEXPECTED, UNKNOWN_KEY, Refused, problem_response
from utmost.serve.settings import Settings, Visitor, is_loopback

Result = TypeVar("Result")
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
"""For each kind of work: its number of threads, and the length of its queue before requests are refused.

Checking keys, and pictures for visitors without a key, do not delay questions.
"""
BURST = 5.0
"""The burst of requests that a visitor may make at once, in seconds of the rate."""
MOST_COUNTED = 10_000
"""The number of counters beyond which full ones are dropped."""
KEY_RATE, KEY_BURST = 0.2, 10.0
"""The rate per second and the burst at which one address may try new keys for one name."""
BODY_SECONDS = 30.0
"""Time limit for the body of a request."""


class Rates:
    """Rate limits by name: a token bucket for each."""

    def __init__(self, rate: float, seconds: float = BURST) -> None:
        self._rate, self._seconds, self._seen = rate, seconds, dict[str, tuple[float, float]]()

    def take(self, visitor: str) -> None:
        """Count one request, or refuse it with status 429."""
        now, capacity = time.monotonic(), self._rate * self._seconds
        if len(self._seen) > MOST_COUNTED:
            self._seen = {name: (tokens, at) for name, (tokens, at) in self._seen.items() if now - at < self._seconds}
        tokens, at = self._seen.get(visitor, (capacity, now))
        tokens = min(capacity, tokens + (now - at) * self._rate)
        self._seen[visitor] = (max(tokens - 1, 0.0), now)
        if tokens < 1:
            wait = math.ceil((1 - tokens) / self._rate)
            words = f"more than {self._rate:g} requests a second came from you; wait {wait} s, and ask again."
            raise Refused(429, words, wait)


class Work:
    """Runs long work in threads; it is finished even if the client has disconnected."""

    def __init__(self, tick: float) -> None:
        self._tick, self._waiting = tick, dict.fromkeys(POOLS, 0)
        self._pools = {name: ThreadPoolExecutor(threads, f"utmost-{name}") for name, (threads, _) in POOLS.items()}

    async def run(self, work: Callable[..., Result], *arguments: Any, pool: str = "questions") -> Result:
        """Run a function in another thread and return its result."""
        if self._waiting[pool] >= POOLS[pool][1]:
            raise Refused(429, "too many requests are waiting here; try again in a few seconds.", 5)
        self._waiting[pool] += 1
        future = asyncio.get_running_loop().run_in_executor(self._pools[pool], work, *arguments)
        future.add_done_callback(lambda task: self._done(pool, task))
        return await asyncio.shield(future)

    def _done(self, pool: str, future: Any) -> None:
        self._waiting[pool] -= 1
        if not future.cancelled():
            future.exception()  # retrieved, so that asyncio does not log it

    async def run_to_tick(self, work: Callable[..., Result], *arguments: Any) -> Result:
        """Run a function and return its result, or raise its error, at the next tick of the public clock."""
        try:
            return await self.run(work, *arguments)
        finally:
            await asyncio.sleep(self._tick - time.time() % self._tick)

    def close(self) -> None:
        """Wait for all running work."""
        for pool in self._pools.values():
            pool.shutdown(wait=True)


class Gate:
    """Authenticates visitors by their API keys. A wrong key takes as long as a right one, whatever name it has.

    Checking an unknown key costs a slow hash, so the rate of such checks is limited first, for each address and name
    and for each address; and an address has one key checked at a time, so that others do not wait for all of its keys.
    """

    def __init__(self, settings: Settings, work: Work) -> None:
        self.settings, self._work = settings, work
        self._nobody = hash_of(secrets.token_urlsafe(32))
        self._secret, self._known = secrets.token_bytes(32), dict[bytes, str]()
        self._checking: dict[bytes, asyncio.Future[bool]] = {}
        self._of_name, self._of_address = Rates(KEY_RATE, KEY_BURST / KEY_RATE), Rates(settings.rate)
        self._turns = WeakValueDictionary[str, asyncio.Lock]()

    async def visitor_of(self, key: str, request: Request) -> Visitor:
        """Authenticate an API key: its visitor; 401 for an invalid key, 429 for an address that tries too many."""
        mark = hmac.digest(self._secret, key.encode(errors="replace"), "sha256")
        if mark in self._known:
            return self.settings.visitors[self._known[mark]]
        candidate = self.settings.visitors.get(name_in(key))
        key_hash = candidate.key if candidate is not None and candidate.key else self._nobody
        if mark not in self._checking:  # concurrent requests with the same key wait for the same hash
            network = network_of(address_of(request))
            self._of_name.take(f"{network} {name_in(key) if NAME.fullmatch(name_in(key)) else ''}")
            self._of_address.take(network)
            self._checking[mark] = asyncio.ensure_future(self._key_is_right(key, key_hash, network))
            self._checking[mark].add_done_callback(lambda task: self._forget(mark, task))
        is_right = await asyncio.shield(self._checking[mark])
        if not is_right or candidate is None or candidate.key is None:
            raise Refused(401, UNKNOWN_KEY.format(describe_key(key)))
        self._known[mark] = candidate.name
        return candidate

    async def _key_is_right(self, key: str, key_hash: str, network: str) -> bool:
        """Whether a key matches a hash, checked when it is the network's turn."""
        turn = self._turns.setdefault(network, asyncio.Lock())
        async with turn:
            return await self._work.run(key_matches, key, key_hash, pool="keys")

    def _forget(self, mark: bytes, future: asyncio.Future[bool]) -> None:
        self._checking.pop(mark, None)
        if not future.cancelled():
            future.exception()  # retrieved, so that asyncio does not log it

    async def visitor(self, request: Request) -> Visitor:
        """The authenticated visitor of an API request."""
        if self.settings.open_to is not None:
            return self.settings.open_to
        kind, _, key = request.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not key.strip():
            raise Refused(401, NO_KEY)
        return await self.visitor_of(key.strip(), request)


def address_of(request: Request) -> str:
    """The client address of a request; behind a proxy of the settings, the one that the proxy states."""
    return request.client.host if request.client else ""


def require_same_site(request: Request) -> None:
    """Refuse cross-site requests, by the headers that browsers send."""
    origin, host = request.headers.get("origin"), request.headers.get("host", "")
    if origin is not None and origin.partition("://")[2] != host:
        raise Refused(403, "this request comes from a page of another site; open this server's own pages.")
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise Refused(403, "this request comes from a page of another site; open this server's own pages.")


class Guard:
    """The outermost layer: limits the size of requests, adds headers, and hides the details of errors."""

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
            network = self._take_place(request)
            await self._app(scope, self._limited_receive(scope, receive), sending)
        except UtmostError as problem:
            if not begun:
                await problem_response(problem)(scope, receive, sending)
        except Exception as problem:
            place = problem.__traceback__
            while place is not None and place.tb_next is not None:
                place = place.tb_next
            where = "" if place is None else f"{place.tb_frame.f_code.co_filename}:{place.tb_lineno}"
            log.error("unexpected %s at %s", type(problem).__name__, where)  # its message may quote the question
            if not begun:
                await problem_response(Refused(500, UNEXPECTED))(scope, receive, sending)
        finally:
            if network:
                self._places.leave(network)

    def _take_place(self, request: Request) -> str:
        """Count a running request for its network; 429 if the network has too many."""
        network = network_of(address_of(request)) or "unknown"
        if not self._places.take(network):
            most = self._places.most
            raise Refused(429, f"{most} requests from your address are under way; wait until they are answered.", 5)
        return network

    def _limited_receive(self, scope: Scope, receive: Receive) -> Receive:
        """A `receive` that refuses bodies that are too long or do not arrive in time."""
        most, size = self._settings.most_bytes, 0
        too_long = Refused(413, f"the request is longer than {most} bytes; ask for less at once.")
        declared_length = Request(scope).headers.get("content-length", "0")
        late, arriving = asyncio.get_running_loop().time() + BODY_SECONDS, True

        async def receiving() -> Message:
            nonlocal size, arriving
            if declared_length.isdecimal() and (len(declared_length) > 12 or int(declared_length) > most):
                raise too_long
            try:
                async with asyncio.timeout_at(late if arriving else None):
                    message = await receive()
            except TimeoutError:
                words = f"the body of the request did not arrive within {BODY_SECONDS:g} s; send it again."
                raise Refused(408, words) from None
            arriving = message.get("more_body", False)
            size += len(message.get("body", b""))
            if size > most:
                raise too_long
            return message

        return receiving

    def _require_host(self, request: Request) -> None:
        """Without keys, refuse host names other than this machine's, against DNS rebinding."""
        host = request.headers.get("host", "").rpartition(":")
        name = host[0] if host[1] and host[2].isdecimal() else request.headers.get("host", "")
        if self._settings.open_to is not None and not is_loopback(name):
            raise Refused(403, "without keys this server answers to 127.0.0.1 and localhost only; use that address.")


def _require_one_length(request: Request) -> None:
    """Refuse a body with two statements of its length, against request smuggling behind a proxy."""
    if "content-length" in request.headers and "transfer-encoding" in request.headers:
        raise Refused(400, "the request has Content-Length and Transfer-Encoding; send one of them.")
