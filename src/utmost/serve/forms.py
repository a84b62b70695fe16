"""Surveys' forms on the server: a page for respondents and the endpoint it sends to, for each form of the settings.

Respondents have no key, and nothing about them is kept: no address, no cookie, no time finer than a day. How often
responses may come is counted for each form as a whole, so that not even an address is remembered for a second.
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
"""How many requests a second one form takes."""
POLICY = "frame-ancestors 'none'"
"""The page brings a stricter policy of its own, with the hash of its style."""


class Forms:
    """The forms of some settings, each with its collector."""

    def __init__(self, settings: Settings, work: Work) -> None:
        self._work, self._rates = work, Rates(RATE)
        self.sites = {
            name: FormSite(Collector(Form.load(place.form), place.responses)) for name, place in settings.forms.items()
        }

    @property
    def routes(self) -> list[BaseRoute]:
        """For each form its page, its module and its endpoint."""
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
