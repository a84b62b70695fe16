"""A server that holds the tables: an HTTP API and web pages for analysts, and a client for the API.

    key -> visitor -> question in JSON -> plan, or: both budgets charged, read, drawn, recorded -> the next tick

`settings` reads `utmost.toml`; `credentials` makes and checks keys and signs cookies; `desk` is all that a visitor may
do, without HTTP; `wire` writes questions, plans and budgets as JSON and reads them back; `api` and `site` are the
routes of programs and of people; `forms` has those of surveys; `guard` limits sizes and rates and authenticates
requests; `client` asks from elsewhere. Needs the extra `serve`; `import utmost` loads none of it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from utmost.serve.app import make_app
    from utmost.serve.client import Client
    from utmost.serve.settings import Settings, read_settings

__all__ = ["Client", "Settings", "make_app", "read_settings"]

PLACES = {"Client": "client", "Settings": "settings", "make_app": "app", "read_settings": "settings"}


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name in PLACES:
        return getattr(import_module(f"utmost.serve.{PLACES[name]}"), name)
    raise AttributeError(f"module 'utmost.serve' has no attribute {name!r}")
