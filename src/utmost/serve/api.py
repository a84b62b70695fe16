"""The HTTP API: what programs ask. `openapi.json` beside this file describes it, and a test holds it to the routes."""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from utmost.errors import InvalidInput, shown
from utmost.queries.answers import Answer, Plan
from utmost.queries.questions import Kind
from utmost.queries.questions.question import describe
from utmost.queries.report.page import STYLE, page_of
from utmost.serve.desk import Desk, Given
from utmost.serve.guard import Gate, Rates, Work, require_same_site
from utmost.serve.problems import Refused
from utmost.serve.settings import Visitor
from utmost.serve.wire import METHODS, parameters_of, read_asked, read_json, write_budget, write_entry
from utmost.solution.solution_file import solution_to_json

Handler = Callable[["Api", Request, Visitor], Awaitable[Response]]


class Api:
    """The routes of the API, each for a visitor who is known."""

    def __init__(self, desk: Desk, gate: Gate, work: Work) -> None:
        self.desk, self.gate, self.work = desk, gate, work
        self._rates = Rates(desk.settings.rate)
        self._router = Router([Route(path, self._endpoint(each), methods=[way]) for way, path, each in ROUTES])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Who asks comes first: without a key, what exists and what does not look the same."""
        scope["app"] = self  # the router then raises what it does not find
        request = Request(scope, receive)
        if request.url.path != "/api/openapi.json":
            scope["visitor"] = await self.gate.visitor(request)
            self._rates.take(scope["visitor"].name)
            if request.method not in ("GET", "HEAD"):
                require_same_site(request)
        try:
            await self._router(scope, receive, send)
        except HTTPException as problem:
            words = {404: "there is no such address in the API", 405: "this address does not take this method"}
            raise Refused(
                problem.status_code, f"{words.get(problem.status_code, 'no')}; see /api/openapi.json."
            ) from None

    def _endpoint(self, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            return await handler(self, request, request.scope.get("visitor", NOBODY))

        return endpoint

    async def description(self, request: Request, visitor: Visitor) -> Response:
        """The OpenAPI document."""
        return Response(openapi_text(), media_type="application/json")

    async def questions(self, request: Request, visitor: Visitor) -> Response:
        """What can be asked, and with which arguments."""
        return JSONResponse({"questions": [_declared(question) for question in METHODS.values()]})

    async def datasets(self, request: Request, visitor: Visitor) -> Response:
        """The data sets that the visitor may see."""
        shown = [{"name": d.name, "description": d.description} for d in self.desk.datasets(visitor)]
        return JSONResponse({"datasets": shown, "you": visitor.name, "custodian": visitor.custodian})

    async def dataset(self, request: Request, visitor: Visitor) -> Response:
        """The public facts of a data set."""
        name = request.path_params["dataset"]
        dataset = self.desk.dataset(visitor, name)
        kinds = await self.work.run(self.desk.columns, visitor, name)
        left = await self.work.run(self.desk.left, visitor, name)  # a ledger's lock may have to be waited for
        facts = {
            column: {k: v for k, v in asdict(f).items() if v not in (None, "", ())}
            for column, f in dataset.columns.items()
        }
        columns = [{"name": column, "kind": kind, **facts.get(column, {})} for column, kind in kinds.items()]
        return JSONResponse(
            {
                "name": name,
                "description": dataset.description,
                "unit": str(dataset.unit),
                "neighbours": dataset.neighbours,
                "budget": dataset.budget.to_json(),
                "left": left,
                "columns": columns,
            }
        )

    async def plan(self, request: Request, visitor: Visitor) -> Response:
        """What an answer would be like; nothing is read."""
        name = request.path_params["dataset"]
        self.desk.dataset(visitor, name)
        asked = read_asked(await _sent(request))
        return JSONResponse(await self.work.run(lambda: write_plan(self.desk.plan(visitor, name, asked))))

    async def ask(self, request: Request, visitor: Visitor) -> Response:
        """An answer, at the next tick."""
        name = request.path_params["dataset"]
        self.desk.dataset(visitor, name)
        asked = read_asked(await _sent(request))
        found = await self.work.run_to_tick(lambda: _written(self.desk.ask(visitor, name, asked)))
        return Response(found, media_type="application/json")

    async def batch(self, request: Request, visitor: Visitor) -> Response:
        """Answers to questions declared together, at the next tick."""
        name = request.path_params["dataset"]
        self.desk.dataset(visitor, name)
        content = await _sent(request)
        if not isinstance(content, dict) or not isinstance(content.get("questions"), list):
            raise InvalidInput(f'the batch is {shown(content)}; send {{"questions": [...], "delta": 1e-6}}.')
        asked = [read_asked(each) for each in content["questions"]]
        delta, fresh = content.get("delta"), content.get("fresh", False)
        if delta is not None and (isinstance(delta, bool) or not isinstance(delta, int | float | str)):
            raise InvalidInput(f"delta is {shown(delta)}; give a number, or leave it out.")
        if not isinstance(fresh, bool):
            raise InvalidInput(f"fresh is {shown(fresh)}; say true to draw and spend again, or leave it out.")

        def answers() -> str:
            return f"[{','.join(_written(a) for a in self.desk.batch(visitor, name, asked, delta, fresh))}]"

        return Response(await self.work.run_to_tick(answers), media_type="application/json")

    async def answers(self, request: Request, visitor: Visitor) -> Response:
        """What the visitor was answered; a custodian sees everybody's."""
        found = await self.work.run(self.desk.given, visitor, request.path_params["dataset"])
        return JSONResponse({"answers": [_listed(each) for each in found]})

    async def answer(self, request: Request, visitor: Visitor) -> Response:
        """A recorded answer again, with its proof; of a batch, all of its answers."""
        found = await self.work.run(lambda: f"[{','.join(_written(a) for a in self._recorded(request, visitor))}]")
        return Response(found, media_type="application/json")

    async def report(self, request: Request, visitor: Visitor) -> Response:
        """The page that defends a recorded answer."""
        page = await self.work.run(lambda: page_of(self._recorded(request, visitor), None))
        return styled_page(page, STYLE)

    async def verify(self, request: Request, visitor: Visitor) -> Response:
        """A recorded answer proved again, and the ledger's account checked."""

        def proved() -> dict[str, Any]:
            checked = [answer.verify() for answer in self._recorded(request, visitor)]
            account = self.desk.check(visitor, request.path_params["dataset"])
            checks = [asdict(check) for each in checked for check in each.checks]
            checks += [{**asdict(check), "name": f"ledger: {check.name}"} for check in account.checks]
            return {"verified": all(map(bool, checked)) and bool(account), "head": account.head, "checks": checks}

        return JSONResponse(await self.work.run(proved))

    async def budget(self, request: Request, visitor: Visitor) -> Response:
        """What is left and what was spent: of the data set, and of those who ask."""
        whole, each = await self.work.run(self.desk.budget, visitor, request.path_params["dataset"])
        analysts = {name: write_budget(own) for name, own in each.items()}
        return JSONResponse({"dataset": write_budget(whole), "analysts": analysts})

    def _recorded(self, request: Request, visitor: Visitor) -> list[Answer]:
        number = request.path_params["number"]
        return self.desk.answers(visitor, request.path_params["dataset"], number)


NOBODY = Visitor("", None, {})
DATASET = "/api/datasets/{dataset}"
ROUTES: tuple[tuple[str, str, Handler], ...] = (
    ("GET", "/api/openapi.json", Api.description),
    ("GET", "/api/questions", Api.questions),
    ("GET", "/api/datasets", Api.datasets),
    ("GET", DATASET, Api.dataset),
    ("POST", f"{DATASET}/plan", Api.plan),
    ("POST", f"{DATASET}/ask", Api.ask),
    ("POST", f"{DATASET}/batch", Api.batch),
    ("GET", f"{DATASET}/answers", Api.answers),
    ("GET", f"{DATASET}/answers/{{number:int}}", Api.answer),
    ("GET", f"{DATASET}/answers/{{number:int}}/report", Api.report),
    ("GET", f"{DATASET}/answers/{{number:int}}/verify", Api.verify),
    ("GET", f"{DATASET}/budget", Api.budget),
)
"""Every address of the API: its method, its path, and what answers."""


@cache
def openapi_text() -> str:
    """The committed OpenAPI document."""
    return Path(__file__).with_name("openapi.json").read_text(encoding="utf-8")


def write_plan(plan: Plan) -> dict[str, Any]:
    """A plan as plain data, from which a client makes it again."""
    described = describe(plan.question, plan.dataset)
    return {
        "format": "utmost-plan",
        **json.loads(json.dumps(described)),
        "left": plan.left,
        "readings": plan.readings,
        "solution": solution_to_json(plan.solution),
    }


def styled_page(page: str, style: str) -> HTMLResponse:
    """A page that brings its one style along, as it is served: the style is allowed by its hash."""
    digest = b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; frame-ancestors 'none'"
    return HTMLResponse(page, headers={"Content-Security-Policy": policy})


def _written(answer: Answer) -> str:
    content = json.loads(answer.to_json())
    return json.dumps({**content, "recorded": answer.recorded}, ensure_ascii=False)


def _listed(given: Given) -> dict[str, Any]:
    return {
        **{k: v for k, v in write_entry(given.entry).items() if k != "question"},
        "whose": list(given.whose),
        "asked": [asked.plain for asked in given.asked],
    }


def _declared(question: Kind) -> dict[str, Any]:
    options = {option.name: option for option in question.options}
    parameters = [
        {"name": name, "required": each.default is each.empty, "help": options[name].help if name in options else ""}
        for name, each in parameters_of(question.name).items()
    ]
    return {"name": question.name, "summary": question.summary, "parameters": parameters}


async def _sent(request: Request) -> Any:
    """The JSON that was sent; another site's page cannot send this type without being asked first."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Refused(415, "send JSON, with the header Content-Type: application/json.")
    return read_json(await request.body())
