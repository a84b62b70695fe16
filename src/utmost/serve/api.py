"""The HTTP API. `openapi.json` beside this file describes it; a test compares it with the routes."""

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
from utmost.queries.methods import parameters_of
from utmost.queries.questions import Kind
from utmost.queries.questions.question import describe
from utmost.queries.report.page import STYLE, page_of
from utmost.serve.desk import Desk, RecordedAnswer
from utmost.serve.guard import Gate, Rates, Work, require_same_site
from utmost.serve.problems import Refused
from utmost.serve.settings import Visitor
from utmost.serve.wire import METHODS, read_json, read_query, write_budget, write_entry
from utmost.solution.solution_file import solution_to_json

Handler = Callable[["Api", Request, Visitor], Awaitable[Response]]


class Api:
    """The routes of the API, each for an authenticated visitor."""

    def __init__(self, desk: Desk, gate: Gate, work: Work) -> None:
        self.desk, self.gate, self.work = desk, gate, work
        self._rates = Rates(desk.settings.rate)
        self._router = Router(
            [Route(path, self._endpoint(handler), methods=[method]) for method, path, handler in ROUTES]
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Authenticate before routing: without a key, existing and missing addresses look the same."""
        scope["app"] = self  # with an app in its scope, the router raises 404 and 405 as exceptions
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
        """The kinds of questions, with their parameters."""
        return JSONResponse({"questions": [_question_json(question) for question in METHODS.values()]})

    async def datasets(self, request: Request, visitor: Visitor) -> Response:
        """The data sets that the visitor may see."""
        rows = [{"name": d.name, "description": d.description} for d in self.desk.datasets(visitor)]
        return JSONResponse({"datasets": rows, "you": visitor.name, "custodian": visitor.custodian})

    async def dataset(self, request: Request, visitor: Visitor) -> Response:
        """The public facts of a data set."""
        name = request.path_params["dataset"]
        dataset = self.desk.dataset(visitor, name)
        kinds = await self.work.run(self.desk.columns, visitor, name)
        remainder = await self.work.run(self.desk.left, visitor, name)  # a ledger's lock may have to be waited for
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
                "left": remainder,
                "columns": columns,
            }
        )

    async def plan(self, request: Request, visitor: Visitor) -> Response:
        """The plan of an answer; no row is read."""
        name = request.path_params["dataset"]
        self.desk.dataset(visitor, name)
        query = read_query(await _json_body(request))
        return JSONResponse(await self.work.run(lambda: write_plan(self.desk.plan(visitor, name, query))))

    async def ask(self, request: Request, visitor: Visitor) -> Response:
        """Answer a question, at the next tick."""
        name = request.path_params["dataset"]
        self.desk.dataset(visitor, name)
        query = read_query(await _json_body(request))
        text = await self.work.run_to_tick(lambda: _answer_json(self.desk.ask(visitor, name, query)))
        return Response(text, media_type="application/json")

    async def batch(self, request: Request, visitor: Visitor) -> Response:
        """Answer questions declared together, at the next tick."""
        name = request.path_params["dataset"]
        self.desk.dataset(visitor, name)
        content = await _json_body(request)
        if not isinstance(content, dict) or not isinstance(content.get("questions"), list):
            raise InvalidInput(f'the batch is {shown(content)}; send {{"questions": [...], "delta": 1e-6}}.')
        queries = [read_query(question) for question in content["questions"]]
        delta, fresh = content.get("delta"), content.get("fresh", False)
        if delta is not None and (isinstance(delta, bool) or not isinstance(delta, int | float | str)):
            raise InvalidInput(f"delta is {shown(delta)}; give a number, or leave it out.")
        if not isinstance(fresh, bool):
            raise InvalidInput(f"fresh is {shown(fresh)}; say true to draw and spend again, or leave it out.")

        def answers() -> str:
            return f"[{','.join(_answer_json(a) for a in self.desk.batch(visitor, name, queries, delta, fresh))}]"

        return Response(await self.work.run_to_tick(answers), media_type="application/json")

    async def answers(self, request: Request, visitor: Visitor) -> Response:
        """The visitor's recorded answers; for a custodian, everybody's."""
        records = await self.work.run(self.desk.records, visitor, request.path_params["dataset"])
        return JSONResponse({"answers": [_entry_json(record) for record in records]})

    async def answer(self, request: Request, visitor: Visitor) -> Response:
        """A recorded answer with its proof; for a batch, all of its answers."""
        text = await self.work.run(lambda: f"[{','.join(_answer_json(a) for a in self._recorded(request, visitor))}]")
        return Response(text, media_type="application/json")

    async def report(self, request: Request, visitor: Visitor) -> Response:
        """The release report of a recorded answer."""
        page = await self.work.run(lambda: page_of(self._recorded(request, visitor), None))
        return styled_page(page, STYLE)

    async def verify(self, request: Request, visitor: Visitor) -> Response:
        """Verify a recorded answer again, and check the ledger's account."""

        def proved() -> dict[str, Any]:
            verifications = [answer.verify() for answer in self._recorded(request, visitor)]
            account = self.desk.check(visitor, request.path_params["dataset"])
            checks = [asdict(check) for verification in verifications for check in verification.checks]
            checks += [{**asdict(check), "name": f"ledger: {check.name}"} for check in account.checks]
            return {"verified": all(map(bool, verifications)) and bool(account), "head": account.head, "checks": checks}

        return JSONResponse(await self.work.run(proved))

    async def budget(self, request: Request, visitor: Visitor) -> Response:
        """The remaining and the spent budget of the data set, and of its analysts."""
        total, analyst_budgets = await self.work.run(self.desk.budget, visitor, request.path_params["dataset"])
        analysts = {name: write_budget(own) for name, own in analyst_budgets.items()}
        return JSONResponse({"dataset": write_budget(total), "analysts": analysts})

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
"""The routes of the API: method, path and handler."""


@cache
def openapi_text() -> str:
    """The OpenAPI document, as committed."""
    return Path(__file__).with_name("openapi.json").read_text(encoding="utf-8")


def write_plan(plan: Plan) -> dict[str, Any]:
    """A plan as plain data, from which a client reconstructs it."""
    described = describe(plan.question, plan.dataset)
    return {
        "format": "utmost-plan",
        **json.loads(json.dumps(described)),
        "left": plan.left,
        "readings": plan.readings,
        "solution": solution_to_json(plan.solution),
    }


def styled_page(page: str, style: str) -> HTMLResponse:
    """The response for a page with one inline style, which the content security policy allows by its hash."""
    digest = b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; frame-ancestors 'none'"
    return HTMLResponse(page, headers={"Content-Security-Policy": policy})


def _answer_json(answer: Answer) -> str:
    content = json.loads(answer.to_json())
    return json.dumps({**content, "recorded": answer.recorded}, ensure_ascii=False)


def _entry_json(record: RecordedAnswer) -> dict[str, Any]:
    return {
        **{k: v for k, v in write_entry(record.entry).items() if k != "question"},
        "whose": list(record.holders),
        "asked": [query.plain for query in record.queries],
    }


def _question_json(question: Kind) -> dict[str, Any]:
    options = {option.name: option for option in question.options}
    parameters = [
        {
            "name": name,
            "required": parameter.default is parameter.empty,
            "help": options[name].help if name in options else "",
        }
        for name, parameter in parameters_of(question.name).items()
    ]
    return {"name": question.name, "summary": question.summary, "parameters": parameters}


async def _json_body(request: Request) -> Any:
    """The JSON body of a request; a page of another site cannot send this content type without a preflight request."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Refused(415, "send JSON, with the header Content-Type: application/json.")
    return read_json(await request.body())
