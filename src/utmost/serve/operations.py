"""For whoever runs the server: whether it answers, how many requests it had, and a log of them.

Neither says who asked what: requests are counted by the area of their address, the method and the status. Nothing is
timed, since how long an answer took could tell something about private rows.
"""

from __future__ import annotations

import json
import logging
from collections import Counter

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from utmost.errors import UtmostError
from utmost.serve.problems import status_of
from utmost.serve.settings import is_loopback

log = logging.getLogger("utmost.serve.access")
AREAS = ("api", "survey", "explore")
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS")


class Operations:
    """Counts the requests of an application, and answers `/healthz` and, to this machine alone, `/metrics`."""

    def __init__(self, app: ASGIApp, is_logged: bool) -> None:
        self._app, self._is_logged = app, is_logged
        self._counts, self._running = Counter[tuple[str, str, int]](), 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, or the lifespan of the application."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if scope["method"] in ("GET", "HEAD") and scope["path"] == "/healthz":
            await PlainTextResponse("ok\n")(scope, receive, send)
            return
        if scope["method"] in ("GET", "HEAD") and scope["path"] == "/metrics" and _is_from_here(scope):
            await PlainTextResponse(self.metrics(), media_type="text/plain; version=0.0.4")(scope, receive, send)
            return
        status = 0

        async def counting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        self._running += 1
        try:
            await self._app(scope, receive, counting)
        except Exception as problem:  # answered by the layer around this one
            status = status or (status_of(problem) if isinstance(problem, UtmostError) else 500)
            raise
        finally:
            self._running -= 1
            self._count(scope, status)

    def _count(self, scope: Scope, status: int) -> None:
        first = scope["path"].split("/")[1] if "/" in scope["path"] else ""
        area = first if first in AREAS else "page"
        method = scope["method"] if scope["method"] in METHODS else "other"
        self._counts[area, method, status] += 1
        if self._is_logged:
            log.info(json.dumps({"area": area, "method": method, "status": status}))

    def metrics(self) -> str:
        """The counts as Prometheus reads them."""
        lines = [
            "# HELP utmost_requests_total Requests that were answered; status 0: not.",
            "# TYPE utmost_requests_total counter",
        ]
        for (area, method, status), count in sorted(self._counts.items()):
            lines.append(f'utmost_requests_total{{area="{area}",method="{method}",status="{status}"}} {count}')
        lines += [
            "# HELP utmost_requests_running Requests that are being answered.",
            "# TYPE utmost_requests_running gauge",
            f"utmost_requests_running {self._running}",
        ]
        return "\n".join(lines) + "\n"


def _is_from_here(scope: Scope) -> bool:
    """Whether a request comes from this machine and through no proxy, which could bring it from anywhere."""
    forwarded = {b"x-forwarded-for", b"forwarded", b"via"} & {name.lower() for name, _ in scope["headers"]}
    client = scope.get("client")
    return client is not None and is_loopback(client[0]) and not forwarded
