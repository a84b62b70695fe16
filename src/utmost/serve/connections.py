"""Limits on connections: their number per address, and the time for a request to arrive.

uvicorn waits without limit for the rest of a request, and at its limit refuses everybody. Here each address has its own
limit, a connection without a request in time is closed, and where all places are taken the connection that has been
idle longest is closed. So whoever sends a request is served, however many others only open connections. Addresses are
forgotten when their connections close.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import ClassVar, TypeAlias

from uvicorn.protocols.http.h11_impl import H11Protocol

Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

MOST_CONNECTIONS = 500
"""The largest number of connections at once; with those just accepted, below the 1024 files a process may open."""
BACKLOG = 128
"""The largest number of connections accepted at a time before they are counted."""
REQUEST_SECONDS = 10.0
"""Time limit from the opening of a connection, or the end of a reply, to the end of the next request's header."""
REPLY_SECONDS = 60.0
"""Time limit for a client to read a reply."""
TOO_MANY = b"HTTP/1.1 %b\r\nConnection: close\r\nContent-Length: 0\r\nRetry-After: 5\r\n\r\n"


def network_of(host: str) -> str:
    """The network of one client: an IPv4 address, or the /64 network of an IPv6 address.

    Examples
    --------
    >>> network_of("192.0.2.7"), network_of("2001:db8::1:2"), network_of("::ffff:192.0.2.7"), network_of("nonsense")
    ('192.0.2.7', '2001:db8::/64', '192.0.2.7', 'nonsense')
    """
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    mapped = address.ipv4_mapped
    return str(mapped) if mapped else str(ipaddress.ip_network((address, 64), strict=False))


class Places:
    """Counters with a limit per network; a network at zero is forgotten."""

    def __init__(self, most: int) -> None:
        self.most, self._held = most, Counter[str]()

    def take(self, network: str) -> bool:
        """Count one more for a network; False if it is at its limit."""
        if self._held[network] >= self.most:
            return False
        self._held[network] += 1
        return True

    def leave(self, network: str) -> None:
        """Count one less for a network."""
        self._held[network] -= 1
        if not self._held[network]:
            del self._held[network]


class LimitedConnection(H11Protocol):
    """A counted HTTP connection with time limits for its requests; `limited` makes the class."""

    places: ClassVar[Places]
    proxies: ClassVar[Sequence[Network]]
    waiting: ClassVar[dict[LimitedConnection, None]]
    """Connections without a request, the longest-waiting first."""
    network: str | None = None
    timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        host = self.client[0] if self.client else ""
        if not _is_within(host, self.proxies):
            network = network_of(host)
            if not self.places.take(network):
                self._refuse(b"429 Too Many Requests")
                return
            self.network = network
        if len(self.connections) > MOST_CONNECTIONS:
            if not self.waiting:
                self._refuse(b"503 Service Unavailable")
                return
            next(iter(self.waiting)).give_way()
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        if self.network is not None:
            self.places.leave(self.network)
            self.network = None
        super().connection_lost(exc)

    def handle_events(self) -> None:
        super().handle_events()
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        self._wait()
        super().on_response_complete()  # which may find the next request, sent ahead

    def give_way(self) -> None:
        """Close at once, to make room for another client."""
        self._stop_waiting()
        self.connections.discard(self)
        self.transport.abort()

    def _wait(self) -> None:
        self._stop_waiting()
        self.waiting[self] = None
        self.timer = self.loop.call_later(REQUEST_SECONDS, self._on_timeout, REPLY_SECONDS - REQUEST_SECONDS)

    def _stop_waiting(self) -> None:
        self.waiting.pop(self, None)
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    def _on_timeout(self, more: float) -> None:
        """Close, or wait `more` seconds first if a reply is still being read."""
        if more > 0 and self.transport.get_write_buffer_size():
            self.timer = self.loop.call_later(more, self._on_timeout, 0.0)
        else:
            self.give_way()

    def _refuse(self, status: bytes) -> None:
        with suppress(OSError):
            self.transport.write(TOO_MANY % status)
        self.transport.close()


def limited(most: int, proxies: Sequence[str] = ()) -> type[LimitedConnection]:
    """The HTTP protocol of uvicorn with these limits, for one server.

    Parameters
    ----------
    most : int
        The largest number of connections of one address at once.
    proxies : sequence of str
        Addresses or networks of proxies, which carry many clients' connections and have no limit.
    """
    trusted = [ipaddress.ip_network(proxy) for proxy in proxies]
    return type("LimitedHere", (LimitedConnection,), {"places": Places(most), "proxies": trusted, "waiting": {}})


def _is_within(host: str, networks: Sequence[Network]) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return any(address in network for network in networks)
