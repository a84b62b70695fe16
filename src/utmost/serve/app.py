"""The whole server as one ASGI application, and the loop that runs it."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from utmost.errors import InvalidInput, UtmostError
from utmost.serve.api import Api
from utmost.serve.connections import BACKLOG, limited
from utmost.serve.desk import Desk
from utmost.serve.forms import Forms
from utmost.serve.guard import Gate, Guard, Work
from utmost.serve.settings import Settings
from utmost.serve.site import Site


def make_app(settings: Settings) -> Guard:
    """The ASGI application for some settings: it opens every table and account, and reads no row.

    Parameters
    ----------
    settings : Settings
        Made by `read_settings`.

    Returns
    -------
    Guard
        An ASGI application, for uvicorn or another server.
    """
    desk, work = Desk(settings), Work(settings.tick)
    gate = Gate(settings, work)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        work.close()
        desk.close()

    forms = Forms(settings, work)
    api, site = Api(desk, gate, work), Site(desk, gate, work, forms)
    unknown = {HTTPException: site.not_found, UtmostError: site.refused}
    pages = Starlette(routes=[*site.routes, *forms.routes], lifespan=lifespan, exception_handlers=unknown)

    async def by_address(scope: Scope, receive: Receive, send: Send) -> None:
        of_api = scope["type"] == "http" and scope["path"].startswith("/api/")
        await (api if of_api else pages)(scope, receive, send)

    return Guard(by_address, settings)


def run_server(settings: Settings, ready: Callable[[], None] = lambda: None) -> None:
    """Serve until stopped. Requests are not logged; running questions are finished.

    Parameters
    ----------
    settings : Settings
        Made by `read_settings`.
    ready : callable
        Called once, as soon as the server accepts requests.
    """
    _require_free(settings.host, settings.port)

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            ready()

    config = uvicorn_config(settings)
    with suppress(KeyboardInterrupt):
        Server(config).run()


def uvicorn_config(settings: Settings) -> uvicorn.Config:
    """The configuration of uvicorn: limits on connections, and no log of requests.

    Parameters
    ----------
    settings : Settings
        Made by `read_settings`.
    """
    proxies = settings.proxies if settings.secure else ()
    return uvicorn.Config(
        make_app(settings),
        host=settings.host,
        port=settings.port,
        http=limited(settings.most_connections, proxies),
        ws="none",
        log_level="warning",
        access_log=False,
        log_config=None,  # its own would switch on loggers that others have switched off, such as PySpark's
        server_header=False,
        proxy_headers=bool(proxies),  # these headers can be forged; only those of a trusted proxy are used
        forwarded_allow_ips=list(proxies),
        h11_max_incomplete_event_size=64 * 1024,
        backlog=BACKLOG,
        timeout_graceful_shutdown=60,
    )


def _require_free(host: str, port: int) -> None:
    """Refuse an address that is in use, before any table is opened."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.create_server((host, port), family=family).close()
    except OSError as problem:
        raise InvalidInput(
            f"nothing can listen at {host}, port {port} ({problem.strerror}); stop what listens there, or choose "
            "another port: --port of `utmost studio`, port in the settings of `utmost serve`."
        ) from None
