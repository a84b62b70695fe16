"""Survey forms on the server: a page for respondents and its endpoint, for each form of the settings.

Respondents have no key, and nothing about them is stored: no address, no cookie, no time finer than a day. The rate of
responses is limited for each form as a whole, so that no address needs to be remembered.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from utmost.serve.guard import Rates, Work, require_same_site
from utmost.serve.problems import Refused
from utmost.serve.settings import Settings
from utmost.survey.collector import Collector, FormSite
from utmost.survey.form import Form

RATE = 200.0
"""Requests per second for one form."""
POLICY = "frame-ancestors 'none'"
"""The page itself has a stricter policy, with the hash of its style."""


class Forms:
    """The forms of some settings, each with its collector."""

    def __init__(self, settings: Settings, work: Work) -> None:
        self._work, self._rates = work, Rates(RATE)
        self.sites = {
            name: FormSite(Collector(Form.load(place.form), place.responses)) for name, place in settings.forms.items()
        }

    @property
    def routes(self) -> list[BaseRoute]:
        """The routes of a form: its page, its module and its endpoint."""
        return [
            Route("/forms/{form}", self._with_slash, methods=["GET"]),
            Route("/forms/{form}/{rest:path}", self._answer, methods=["GET", "POST"]),
        ]

    def site(self, name: str) -> FormSite:
        """A form by its name."""
        if name not in self.sites:
            raise Refused(404, "there is no form of this name; look at the link once more.")
        return self.sites[name]

    async def _with_slash(self, request: Request) -> Response:
        return RedirectResponse(f"/forms/{request.path_params['form']}/", 308)

    async def _answer(self, request: Request) -> Response:
        name = request.path_params["form"]
        site = self.site(name)
        self._rates.take(name)
        body = b""
        if request.method == "POST":
            require_same_site(request)
            if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
                raise Refused(415, "send JSON, with its content type.")
            body = await request.body()
        reply = await self._work.run(site.answer, request.method, request.path_params["rest"], body)
        return Response(reply.body, reply.status, {"Content-Security-Policy": POLICY}, reply.kind)
