"""The whole server as one ASGI application, and the loop that runs it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from utmost.errors import UtmostError
from utmost.serve.api import Api
from utmost.serve.desk import Desk
from utmost.serve.forms import Forms
from utmost.serve.guard import Gate, Guard, Work
from utmost.serve.settings import Settings
from utmost.serve.site import Site


def make_app(settings: Settings) -> Guard:
    """The application for some settings: every table is opened, every account is there, nothing is read.

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

    async def both(scope: Scope, receive: Receive, send: Send) -> None:
        of_api = scope["type"] == "http" and scope["path"].startswith("/api/")
        await (api if of_api else pages)(scope, receive, send)

    return Guard(both, settings)


def run_server(settings: Settings) -> None:
    """Listen until stopped. Requests are not logged; questions that were begun are finished."""
    import uvicorn

    uvicorn.run(
        make_app(settings),
        host=settings.host,
        port=settings.port,
        log_level="warning",
        access_log=False,
        log_config=None,  # its own would switch on loggers that others have switched off, such as PySpark's
        server_header=False,
        h11_max_incomplete_event_size=64 * 1024,
        limit_concurrency=1000,
        timeout_graceful_shutdown=60,
    )
