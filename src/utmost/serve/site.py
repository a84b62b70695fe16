"""The web pages. Every page works without JavaScript; with it, plans and pictures follow each change.

Pages are rendered from templates in `pages/`; nothing is fetched from other sites. A signed cookie identifies a visitor
who has signed in; every change comes by POST with an anti-forgery token made for that cookie.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from utmost.errors import UtmostError
from utmost.queries.answers import Plan
from utmost.queries.budget import levels_of
from utmost.queries.budget import query_in_words as asked_words
from utmost.queries.questions import QUESTIONS
from utmost.queries.report.page import STYLE, content_of, page_of, title_of
from utmost.queries.report.pictures import bars
from utmost.queries.report.words import expected_error, loss_in_words, times_rows
from utmost.queries.spelling import PAGE, spelled
from utmost.serve.api import styled_page
from utmost.serve.connections import network_of
from utmost.serve.credentials import SESSION_SECONDS, Signer
from utmost.serve.desk import Desk, strength
from utmost.serve.drawings import curve
from utmost.serve.explore import TOPICS
from utmost.serve.fields import as_python, examples, fields_of, query_of_form
from utmost.serve.forms import Forms
from utmost.serve.guard import Gate, Rates, Work, address_of, require_same_site
from utmost.serve.problems import Refused, status_of
from utmost.serve.settings import Visitor
from utmost.serve.wire import Query
from utmost.survey.results_page import STYLE as FORM_STYLE
from utmost.survey.results_page import results_page

MOST_ROWS = 500
"""The largest number of answers on a page, the latest ones; the API lists all."""
PAGES = Path(__file__).with_name("pages")
DATASET = "/datasets/{dataset}"


@dataclass(frozen=True)
class Visit:
    """A request for a page: the visitor, if signed in, and the browser's cookie, which may be new."""

    visitor: Visitor | None
    cookie: str
    is_new: bool


Shows = Callable[["Site", Request, Visit], Awaitable[Response]]


class Site:
    """The pages of a desk."""

    def __init__(self, desk: Desk, gate: Gate, work: Work, forms: Forms) -> None:
        self.desk, self.gate, self.work, self.forms, self.settings = desk, gate, work, forms, desk.settings
        self._signer, self._rates = Signer(), Rates(desk.settings.rate)
        self._name = "__Host-utmost" if self.settings.secure else "utmost"
        self._pages = Environment(loader=FileSystemLoader(PAGES), autoescape=True, undefined=StrictUndefined)

    @property
    def routes(self) -> list[BaseRoute]:
        """The routes of all pages."""
        return [Route(path, self._endpoint(shows), methods=[way]) for way, path, shows in ROUTES]

    def _endpoint(self, shows: Shows) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            visit = self._visit(request)
            try:
                client = visit.visitor.name if visit.visitor else f"at {network_of(address_of(request))}"
                self._rates.take(client)
                if request.method == "POST":
                    await self._require_own_form(request, visit)
                reply = await shows(self, request, visit)
            except UtmostError as problem:
                reply = self.problem(visit, problem)
            if visit.is_new:
                self._keep(reply, visit.cookie)
            return reply

        return endpoint

    def _visit(self, request: Request) -> Visit:
        cookie = request.cookies.get(self._name, "")
        session = self._signer.read(cookie) if cookie else None
        if session is None:
            return Visit(self.settings.open_to, self._signer.cookie(""), True)
        return Visit(self.settings.open_to or self.settings.visitors.get(session["name"]), cookie, False)

    def _keep(self, reply: Response, cookie: str) -> None:
        secure = self.settings.secure
        reply.set_cookie(self._name, cookie, SESSION_SECONDS, path="/", secure=secure, httponly=True, samesite="lax")

    async def _require_own_form(self, request: Request, visit: Visit) -> None:
        require_same_site(request)
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/x-www-form-urlencoded":
            raise Refused(415, "send a form of this server's own pages.")
        request.state.form = _form_fields((await request.body()).decode("utf-8", "replace"))
        if visit.is_new or not self._signer.allows(visit.cookie, request.state.form.pop("token", None)):
            raise Refused(403, "this form is not one that this browser was given, or too old; open the page anew.")

    def _page(self, template: str, visit: Visit, status: int = 200, **content: Any) -> HTMLResponse:
        text = self._pages.get_template(template).render(
            visitor=visit.visitor,
            keyless=self.settings.open_to is not None,
            token=self._signer.token(visit.cookie),
            **content,
        )
        return HTMLResponse(text, status)

    def problem(self, visit: Visit, problem: UtmostError) -> HTMLResponse:
        """The page of an error."""
        status = status_of(problem)
        return self._page(
            "problem.html", visit, status, code=status, words=spelled(str(problem), PAGE), title="That did not work"
        )

    async def datasets(self, request: Request, visit: Visit) -> Response:
        """The data sets that the visitor may see."""
        if visit.visitor is None:
            return RedirectResponse("/sign-in", 303)
        visitor = visit.visitor
        datasets = self.desk.datasets(visitor)
        remainders = {d.name: await self.work.run(self.desk.left, visitor, d.name) for d in datasets}
        forms = {name: site.collector.form for name, site in self.forms.sites.items() if visitor.custodian}
        return self._page("datasets.html", visit, datasets=datasets, left=remainders, forms=forms, title="Data sets")

    async def results(self, request: Request, visit: Visit) -> Response:
        """The results of a form, for a custodian."""
        if not _require_visitor(visit).custodian:
            raise Refused(403, "results of a form are for a custodian; sign in as one.")
        collector = self.forms.site(request.path_params["form"]).collector
        page = await self.work.run(lambda: results_page(collector.form.estimate(collector.responses())))
        return styled_page(page, FORM_STYLE)

    async def sign_in_page(self, request: Request, visit: Visit) -> Response:
        """The page for signing in with a key."""
        return self._page("sign_in.html", visit, problem="", title="Sign in")

    async def sign_in(self, request: Request, visit: Visit) -> Response:
        """Sign in: exchange a key for a session cookie."""
        try:
            visitor = await self.gate.visitor_of(request.state.form.get("key", "").strip(), request)
        except Refused as problem:
            return self._page("sign_in.html", visit, problem.status, problem=str(problem), title="Sign in")
        reply = RedirectResponse("/", 303)
        self._signer.end(visit.cookie)
        self._keep(reply, self._signer.cookie(visitor.name))
        return reply

    async def sign_out(self, request: Request, visit: Visit) -> Response:
        """Sign out: end the session, here and in the browser."""
        self._signer.end(visit.cookie)
        reply = RedirectResponse("/sign-in", 303)
        self._keep(reply, self._signer.cookie(""))
        return reply

    async def ask_page(self, request: Request, visit: Visit) -> Response:
        """The form of a question, with its plan if the form is filled."""
        values = _form_fields(request.url.query)
        return await self._render_ask_page(request, visit, values, planned="privacy" in values)

    async def look(self, request: Request, visit: Visit) -> Response:
        """The form with its plan, for a browser without JavaScript."""
        return await self._render_ask_page(request, visit, request.state.form, planned=True)

    async def ask(self, request: Request, visit: Visit) -> Response:
        """Answer a question at the next tick and show the answer; or show the form again, with the error."""
        visitor, name = _require_visitor(visit), request.path_params["dataset"]
        self.desk.dataset(visitor, name)
        values = request.state.form
        try:
            query = await self.work.run(self._query_of, visitor, name, values)
            answer = await self.work.run_to_tick(self.desk.ask, visitor, name, query)
        except Refused:
            raise
        except UtmostError as problem:
            return await self._render_ask_page(request, visit, values, True, problem)
        return RedirectResponse(f"/datasets/{name}/answers/{answer.ledger.entry}", 303)

    async def _render_ask_page(
        self, request: Request, visit: Visit, values: dict[str, str], planned: bool, problem: UtmostError | None = None
    ) -> Response:
        visitor, name = _require_visitor(visit), request.path_params["dataset"]
        dataset = self.desk.dataset(visitor, name)
        columns = await self.work.run(self.desk.columns, visitor, name)
        question = values.get("question", "count")
        if question not in QUESTIONS:
            raise Refused(404, f"there is no question of this name; there are {', '.join(QUESTIONS)}.")
        plan = await self._plan_html(visit, name, {**values, "question": question}) if planned else ""
        remainder = await self.work.run(self.desk.left, visitor, name)
        return self._page(
            "ask.html",
            visit,
            200 if problem is None else status_of(problem),
            dataset=dataset,
            columns=columns,
            questions=QUESTIONS,
            question=question,
            fields=fields_of(question, dataset, columns, values),
            examples=examples(dataset),
            left=remainder,
            plan=plan,
            problem="" if problem is None else spelled(str(problem), PAGE),
            may_ask=name in visitor.budgets,
            title=f"Ask {name}",
        )

    async def plan(self, request: Request, visit: Visit) -> Response:
        """The plan as a fragment, for the page's script."""
        _require_visitor(visit)
        return HTMLResponse(
            await self._plan_html(visit, request.path_params["dataset"], _form_fields(request.url.query))
        )

    async def _plan_html(self, visit: Visit, name: str, values: dict[str, str]) -> Markup:
        """A plan, or the error of planning it, as a fragment of a page."""
        visitor = _require_visitor(visit)
        template = self._pages.get_template("plan.html")
        try:
            query = await self.work.run(self._query_of, visitor, name, values)
            content = await self.work.run(self._plan_content, visitor, name, query)
        except Refused:
            raise
        except UtmostError as problem:
            return Markup(template.render(problem=spelled(str(problem), PAGE), plan=None))
        scheme = "https" if self.settings.secure else "http"
        code = as_python(query, name, f"{scheme}://{self.settings.host}:{self.settings.port}")
        return Markup(template.render(problem="", code=code, **content))

    def _query_of(self, visitor: Visitor, name: str, values: dict[str, str]) -> Query:
        dataset = self.desk.dataset(visitor, name)
        kinds = self.desk.column_types(visitor, name)
        question = values.get("question", "")
        if question not in QUESTIONS:
            raise Refused(404, f"there is no question of this name; there are {', '.join(QUESTIONS)}.")
        return query_of_form(question, dataset, kinds, values)

    def _plan_content(self, visitor: Visitor, name: str, query: Query) -> dict[str, Any]:
        plan, errors = self.desk.plan(visitor, name, query), self.desk.errors_near(visitor, name, query)
        return {"plan": plan, "pictures": Markup(_curve(plan, errors) + _comparison(plan)), **_facts(plan)}

    async def answer(self, request: Request, visit: Visit) -> Response:
        """An answer with its report."""
        name, number = request.path_params["dataset"], request.path_params["number"]
        answers = await self.work.run(self.desk.answers, _require_visitor(visit), name, number)
        content = await self.work.run(content_of, answers)
        return self._page(
            "answer.html", visit, dataset=name, number=number, content=Markup(content), title=title_of(answers)
        )

    async def report(self, request: Request, visit: Visit) -> Response:
        """The report as a page of its own, for saving."""
        name, number = request.path_params["dataset"], request.path_params["number"]
        answers = await self.work.run(self.desk.answers, _require_visitor(visit), name, number)
        return styled_page(await self.work.run(page_of, answers, None), STYLE)

    async def report_data(self, request: Request, visit: Visit) -> Response:
        """The report as JSON, for `utmost verify`."""
        name, number = request.path_params["dataset"], request.path_params["number"]
        answers = await self.work.run(self.desk.answers, _require_visitor(visit), name, number)
        texts = await self.work.run(lambda: [answer.to_json() for answer in answers])
        text = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
        disposition = f'attachment; filename="{name}-{number}.json"'
        return Response(text, media_type="application/json", headers={"Content-Disposition": disposition})

    async def budget(self, request: Request, visit: Visit) -> Response:
        """The budgets, and the entries with their questions and analysts."""
        visitor, name = _require_visitor(visit), request.path_params["dataset"]
        total, analyst_budgets = await self.work.run(self.desk.budget, visitor, name)
        records = await self.work.run(self.desk.records, visitor, name)
        rows = [
            {
                "number": record.entry.number,
                "time": record.entry.time[:16].replace("T", " "),
                "whose": ", ".join(record.holders) or "beside the table",
                "level": levels_of(record.entry),
                "asked": asked_words(record.entry),
                "readable": record.entry.state == "done" and bool(record.queries),
            }
            for record in records[: -MOST_ROWS - 1 : -1]
        ]
        pictures = {"all who ask": total, **analyst_budgets}
        summaries = {who: (str(b.left), b.left_of_tiers, Markup(b.picture())) for who, b in pictures.items()}
        return self._page("budget.html", visit, dataset=name, shown=summaries, rows=rows, title=f"Budget of {name}")

    async def explore(self, request: Request, visit: Visit) -> Response:
        """The list of interactive topics."""
        return self._page("explore.html", visit, topics=TOPICS, title="Explore")

    async def topic(self, request: Request, visit: Visit) -> Response:
        """A topic with its sliders."""
        topic, values, view = await self._topic(request)
        return self._page("topic.html", visit, topics=TOPICS, topic=topic, values=values, shown=view, title=topic.title)

    async def topic_shown(self, request: Request, visit: Visit) -> Response:
        """The view of a topic as a fragment, for the page's script."""
        _, _, view = await self._topic(request)
        return HTMLResponse(self._pages.get_template("shown.html").render(shown=view))

    async def _topic(self, request: Request) -> tuple[Any, dict[str, Any], Any]:
        topic = TOPICS.get(request.path_params["topic"])
        if topic is None:
            raise Refused(404, f"there is no topic of this name; there are {', '.join(TOPICS)}.")
        values = topic.read(_form_fields(request.url.query))
        return topic, values, await self.work.run(topic.show, values, pool="explore")

    async def style(self, request: Request, visit: Visit) -> Response:
        """The stylesheet of all pages."""
        return Response(style_text(), media_type="text/css")

    async def script(self, request: Request, visit: Visit) -> Response:
        """The script of the pages."""
        return Response((PAGES / "page.js").read_text(encoding="utf-8"), media_type="text/javascript")

    async def refused(self, request: Request, problem: Exception) -> Response:
        """The page of an error raised outside of the pages' handlers."""
        assert isinstance(problem, UtmostError)
        return self.problem(self._visit(request), problem)

    async def not_found(self, request: Request, problem: Exception) -> Response:
        """The page for an unknown address."""
        status = problem.status_code if isinstance(problem, HTTPException) else 404
        return self.problem(self._visit(request), Refused(status, "there is no such page; begin at the first one."))


ROUTES: tuple[tuple[str, str, Shows], ...] = (
    ("GET", "/", Site.datasets),
    ("GET", "/sign-in", Site.sign_in_page),
    ("POST", "/sign-in", Site.sign_in),
    ("POST", "/sign-out", Site.sign_out),
    ("GET", DATASET, Site.ask_page),
    ("GET", f"{DATASET}/plan", Site.plan),
    ("POST", f"{DATASET}/look", Site.look),
    ("POST", f"{DATASET}/ask", Site.ask),
    ("GET", f"{DATASET}/budget", Site.budget),
    ("GET", f"{DATASET}/answers/{{number:int}}", Site.answer),
    ("GET", f"{DATASET}/answers/{{number:int}}/report", Site.report),
    ("GET", f"{DATASET}/answers/{{number:int}}/report.json", Site.report_data),
    ("GET", "/forms/{form}/results", Site.results),
    ("GET", "/explore", Site.explore),
    ("GET", "/explore/{topic}", Site.topic),
    ("GET", "/explore/{topic}/shown", Site.topic_shown),
    ("GET", "/style.css", Site.style),
    ("GET", "/page.js", Site.script),
)
"""The routes of the pages: method, path and handler."""


@cache
def style_text() -> str:
    """The style of reports, with that of the pages added."""
    return STYLE + (PAGES / "style.css").read_text(encoding="utf-8")


def _require_visitor(visit: Visit) -> Visitor:
    if visit.visitor is None:
        raise Refused(401, "sign in first: this page is for those who have a key.")
    return visit.visitor


def _form_fields(text: str) -> dict[str, str]:
    """Parse the fields of a form or query string; the last one of each name counts."""
    try:
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=100))
    except ValueError:
        raise Refused(422, "the form has more than a hundred fields, or is unreadable; use the page's own.") from None


def _curve(plan: Plan, points: list[tuple[Any, float]]) -> str:
    if len(points) < 2:
        return plan.picture() if plan.before.average is None else ""
    levels, errors = [strength(level) for level, _ in points], [error for _, error in points]
    name = {"ApproxGaussianDP": "μ", "GaussianDP": "μ", "ZCDP": "ρ"}.get(type(plan.privacy).__name__, "ε")
    mark = (strength(plan.privacy), plan.question.average)
    what = _measured(plan)
    return curve({"": (levels, errors)}, name, what, f"The {what} by what is spent.", mark, logarithmic=True)


def _comparison(plan: Plan) -> str:
    loss = plan.before.loss
    losses = {name: by[loss] for name, by in plan.question.losses.items() if loss in by}
    what = f"{_measured(plan)}{times_rows(plan.before)}"
    return bars(losses, f"Against the usual alternatives: {what}; less is better.", "Utmost")


def _measured(plan: Plan) -> str:
    return loss_in_words(plan.before.loss) or "expected error"


def _facts(plan: Plan) -> dict[str, Any]:
    accuracy, certificate = plan.before, plan.solution.certificate
    return {
        "error": expected_error(accuracy),
        "measured": _measured(plan),
        "optimal": f"{certificate.claim}: {certificate.reason}",
        "notes": [spelled(note, PAGE) for note in (*plan.question.notes_with_truncation, *plan.readings)],
    }
