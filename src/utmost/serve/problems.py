"""Errors as `application/problem+json` (RFC 9457): the value, the rule and the remedy, never an engine's message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from utmost import errors
from utmost.errors import AccountSuspended, BudgetSpent, Disconnected, LedgerFailed, UtmostError

if TYPE_CHECKING:
    from starlette.responses import JSONResponse

NOT_YOURS = "there is nothing of this name that you may see; `GET /api/datasets` lists what you may ask about."
"""The same for data sets of others and for those that do not exist."""
NO_KEY = "give your key in the header Authorization, as 'Bearer NAME:...'; whoever keeps the data makes keys."
UNKNOWN_KEY = (
    "{}; give the whole key, as NAME:..., just as it was shown when it was made, or ask whoever "
    "keeps the data for a new one."
)
"""For a wrong key, with the name in it but not the rest; the same whether or not the name exists."""
UNEXPECTED = (
    "something went wrong here that is no fault of the question; whoever keeps the data finds its kind in the log."
)


class Refused(UtmostError):
    """A refused request, with the HTTP status of the reason."""

    title = "A refused request, with the HTTP status of the reason."

    def __init__(self, status: int, message: str, retry: int | None = None) -> None:
        super().__init__(message)
        self.status, self.retry = status, retry


def status_of(problem: UtmostError) -> int:
    """The HTTP status of an error."""
    if isinstance(problem, Refused):
        return problem.status
    if isinstance(problem, AccountSuspended | BudgetSpent):
        return 409
    return 503 if isinstance(problem, Disconnected | LedgerFailed) else 422


def problem_response(problem: UtmostError) -> JSONResponse:
    """The HTTP response for an error."""
    from starlette.responses import JSONResponse

    status = status_of(problem)
    headers = {"Retry-After": str(problem.retry)} if isinstance(problem, Refused) and problem.retry else {}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if status in (400, 408, 413):  # where the request ends is not known, or not waited for
        headers["Connection"] = "close"
    content = {
        "type": f"urn:utmost:{type(problem).__name__}",
        "title": problem.title,
        "status": status,
        "detail": str(problem),
    }
    return JSONResponse(content, status, headers, media_type="application/problem+json")


def error_from_reply(content: Any, status: int) -> UtmostError:
    """The error described by a server's reply, as a session would raise it."""
    kind, detail = "", f"the server answered with status {status} and nothing that says why; is it an Utmost server?"
    if isinstance(content, dict):
        kind, detail = str(content.get("type", "")).rpartition(":")[2], str(content.get("detail", detail))
    error_class = getattr(errors, kind, None)
    if status in (400, 401, 403, 404, 405, 413, 415, 429) or not isinstance(error_class, type):
        return Refused(status, detail)
    try:
        return error_class(detail) if issubclass(error_class, UtmostError) else Refused(status, detail)
    except TypeError:  # an error that carries more than words
        return UtmostError(detail)
