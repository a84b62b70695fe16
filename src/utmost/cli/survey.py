"""`utmost survey`: design surveys and forms, collect responses under local privacy, and estimate frequencies.

The true answer is read from a prompt or standard input, never from the command line; the response is kept on the
person's device, so that the same question asked again gets the same response.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from utmost.cli.form_file import read_form
from utmost.cli.output import (
    Accept,
    Json,
    ask_private,
    json_values,
    print_json,
    print_json_line,
    read_text,
    user_file,
    working,
)
from utmost.design import local
from utmost.errors import InvalidInput
from utmost.exact import is_digits
from utmost.exact.json_text import parse_next
from utmost.exact.saved import format_of, require_ours
from utmost.privacy import require_accepted
from utmost.space import label_from_json
from utmost.survey.collector import Collector, FormSite, local_server, read_collected
from utmost.survey.form import FORMAT as FORM_FORMAT
from utmost.survey.form import SHOWN, Form
from utmost.survey.respondent_page import MODULE, write_page
from utmost.survey.results_page import results_page
from utmost.theory.local.design.estimation import Estimate
from utmost.theory.local.design.survey import Survey

FACTOR = "another true answer changes the probability of a response by a factor of at most e^epsilon"
"""The proved privacy guarantee of a survey, in words."""
app = typer.Typer(
    help="Design a private survey or form, make its page, collect, respond, estimate.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
FormFile = Annotated[Path, typer.Argument(help="A survey or form saved by `utmost survey design` or `form`.")]


@app.command()
def design(
    categories: Annotated[list[str], typer.Argument(help="The answers a person can give.")],
    out: Annotated[Path, typer.Option(help="Where the survey is saved, for clients and the server.")],
    privacy: Annotated[str | None, typer.Option("--privacy", "--epsilon", help="The epsilon of each person.")] = None,
    ratio: Annotated[str | None, typer.Option(help="e^epsilon exactly, such as 3 or 3/2, instead.")] = None,
    question: Annotated[str, typer.Option(help="The question in words.")] = "",
    other: Annotated[str | None, typer.Option(help="The category for everything that is not listed.")] = None,
    people: Annotated[int, typer.Option(min=1, help="How many are asked: says what error to expect.")] = 1000,
    as_json: Json = False,
) -> None:
    """Make the survey with the least variance for these categories and save it."""
    from utmost.cli.problem_file import LevelTable

    with working("designing"):
        survey = local.survey(categories, LevelTable(epsilon=privacy, ratio=ratio).level(), question, other)
        survey.save(out)
    expected = survey.standard_error(people)
    summary = {
        "survey": survey.identity[:SHOWN],
        "saved": str(out),
        "categories": list(survey.categories),
        "privacy": str(survey.level),
        "named_in_a_response": survey.size,
        "optimal": survey.optimal,
        "private": survey.verify(),
        "people": people,
        "standard_error": expected if expected < float("inf") else None,
    }
    if as_json:
        print_json(summary)
        return
    print(f"{survey}\n  private: {FACTOR}, exactly proved\n  optimal: {survey.optimal}")
    print(f"  expected standard error of a frequency with {people} people: {expected:.4g}\n  saved: {out}")


@app.command()
def form(
    file: Annotated[Path, typer.Argument(help="The questions in TOML: title, epsilon, and [[question]] tables.")],
    out: Annotated[Path, typer.Option(help="Where the form is saved, for the page and the collector.")],
    people: Annotated[int, typer.Option(min=1, help="How many are asked: says what error to expect.")] = 1000,
    as_json: Json = False,
) -> None:
    """Make a form of several questions with one total level.

    The file has a title, an epsilon, perhaps an introduction, and for every question a table [[question]] with its
    text, its answers, and perhaps a share of the epsilon.
    """
    with working("designing"):
        questionnaire = read_form(file)
        questionnaire.save(out)
        report = _form_json(questionnaire, people) if as_json else questionnaire.report(people)
    if isinstance(report, dict):
        print_json(report | {"saved": str(out)})
        return
    print(f"{report}\n  saved: {out}")


@app.command()
def page(
    file: FormFile,
    out: Annotated[Path, typer.Option(help="A folder for index.html and respond.js.")],
    send: Annotated[str, typer.Option(help="Where responses go: https://..., or a path on the same server.")] = "",
    as_json: Json = False,
) -> None:
    """Make a static page on which the respondent's own browser draws the response; put it on any web server."""
    if file.suffix == ".toml":
        raise InvalidInput(f"{file} lists questions; design their form first: `utmost survey form`.")
    path = write_page(Form.load(file), out, send)
    if as_json:
        print_json({"page": str(path), "sent_to": send or None})
        return
    delivery = f"responses are sent to {send}" if send else "people copy their response or save it as a file"
    print(f"made: {path} and {path.parent / MODULE}; {delivery}")


@app.command()
def collect(
    file: FormFile,
    out: Annotated[Path, typer.Option(help="The file responses are appended to.")],
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")] = 8000,
) -> None:
    """Serve the page of a form on this machine and keep the responses it sends, until stopped by Ctrl+C.

    Each response is checked against the form and appended with the day; no address and no time is kept. For the public
    put a server that speaks https in front.
    """
    server = local_server(FormSite(Collector(Form.load(file), out)), host, port)
    print(f"http://{host}:{server.server_address[1]}/ (stop with Ctrl+C); responses go to {out}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
    finally:
        server.server_close()


@app.command()
def verify(file: FormFile, as_json: Json = False) -> None:
    """Re-prove a saved survey or form: the probabilities of its responses, exactly; exit code 1 if it fails."""
    if format_of(file) == FORM_FORMAT:
        questionnaire = Form.load(file)  # refuses what it cannot prove
        if as_json:
            print_json(_form_json(questionnaire, 1000) | {"verified": True})
        else:
            print(f"verified: private\n  {questionnaire}\n{questionnaire.report()}")
        return
    survey = Survey.load(file)
    private = survey.verify()
    if as_json:
        print_json(
            {
                "survey": survey.identity[:SHOWN],
                "categories": list(survey.categories),
                "privacy": str(survey.level),
                "promise": survey.promise,
                "named_in_a_response": survey.size,
                "optimal": survey.optimal,
                "private": private,
                "verified": private,
            }
        )
    else:
        print(
            f"{'verified: private' if private else 'NOT verified: NOT proved private'}, "
            f"optimality: {survey.optimal}\n  {survey}"
        )
        print(f"  {FACTOR}" + (", exactly proved" if private else ": FAIL"))
        print(f"  the promise to a person: {survey.promise}")
    if not private:
        raise typer.Exit(1)


@app.command()
def respond(
    file: FormFile,
    kept: Annotated[
        Path | None,
        typer.Option(help="Where the response is kept; among your own files, by the survey's identity, if not said."),
    ] = None,
    accept: Accept = False,
    as_json: Json = False,
) -> None:
    """Respond to a survey or form: answers come from a prompt or standard input; asked again, it repeats the response.

    The promise to you is shown before you are asked.
    """
    several = format_of(file) == FORM_FORMAT
    instrument: Any = Form.load(file) if several else Survey.load(file)
    path = kept or user_file("surveys", instrument.identity)
    repeats = path.exists()
    if not repeats:
        print(f"the promise to you: {instrument.promise}", file=sys.stderr)
        require_accepted(instrument.level, accept)
    answers = None if repeats else [_ask(part) for part in instrument.surveys] if several else _ask(instrument)
    if several:
        response = instrument.sent(answers, path, accept)
    else:  # a tuple is a list in JSON, and read back as a tuple
        response = {"survey": instrument.identity[:SHOWN], "response": instrument.respond(answers, path, accept)}
    if as_json:
        print_json({**response, "repeated": repeats, "kept": str(path), "promise": instrument.promise})
        return
    print(
        f"repeated from {path}: a second one would spend the promise again" if repeats else f"kept in {path}",
        file=sys.stderr,
    )
    print_json_line(response)


@app.command()
def estimate(
    file: FormFile,
    responses: Annotated[
        list[Path],
        typer.Argument(help="Responses one after the other: a collector's file, or as pages and `respond` gave them."),
    ],
    level: Annotated[float, typer.Option(help="How often an interval holds the frequency.")] = 0.95,
    cross: Annotated[
        list[str] | None, typer.Option(help="Two questions by number, such as 1,2, for a table of both; several times.")
    ] = None,
    page: Annotated[Path | None, typer.Option(help="Write a page with pictures here (.html).")] = None,
    as_json: Json = False,
) -> None:
    """Estimate the frequencies of the categories from responses, with intervals, cross-tables and a page."""
    if format_of(file) == FORM_FORMAT or _from_pages(responses):
        with working("reading responses"):
            questionnaire = Form.load(file)
            records = read_collected(responses, questionnaire)
        _estimate_form(questionnaire, records, level, cross or [], page, as_json)
        return
    with working("reading responses"):
        survey = Survey.load(file)
        answers = [response for path in responses for response in _read_responses(path, survey)]
    if page or cross:
        _estimate_form(Form.of(survey), [(response,) for response in answers], level, cross or [], page, as_json)
        return
    with working("estimating"):
        estimation = survey.estimate(answers)
    if not as_json:
        print(estimation.table(level))
        return
    print_json({"people": estimation.people, "level": level, "estimates": _estimates_json(estimation, level)})


def _estimate_form(
    questionnaire: Form,
    records: list[tuple[Any, ...]],
    level: float,
    cross: list[str],
    page: Path | None,
    as_json: bool,
) -> None:
    pairs = [_pair(text, len(questionnaire.surveys)) for text in cross]
    with working("estimating"):
        estimation = questionnaire.estimate(records)
        tables = [estimation.cross(*pair) for pair in pairs]
        page_text = None if page is None else results_page(estimation, level, tables)
    if page is not None:
        try:
            require_ours(page)
            page.write_text(str(page_text), encoding="utf-8", newline="\n")
        except OSError as problem:
            raise InvalidInput(f"{page} cannot be written: {problem.strerror}; name another file.") from None
    if as_json:
        questions = [
            {"question": name, "estimates": _estimates_json(part, level)}
            for name, part in zip(questionnaire.questions, estimation.estimates, strict=True)
        ]
        cross_tables = [
            {
                "questions": list(table.questions),
                "rows": [str(row) for row in table.rows],
                "columns": [str(column) for column in table.columns],
                "frequencies": table.frequencies.tolist(),
                "standard_errors": table.standard_errors.tolist(),
                "intervals": table.interval(level).tolist(),
            }
            for table in tables
        ]
        print_json({"people": estimation.people, "level": level, "questions": questions, "cross": cross_tables})
        return
    print("\n\n".join([estimation.table(level), *map(str, tables)]))
    if page is not None:
        print(f"\npage: {page}")


def _pair(text: str, count: int) -> tuple[int, int]:
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2 or not all(is_digits(part) and 1 <= int(part) <= count for part in parts):
        raise InvalidInput(f"--cross is {text!r}; give two questions by number, from 1 to {count}, such as 1,2.")
    return int(parts[0]) - 1, int(parts[1]) - 1


def _from_pages(files: list[Path]) -> bool:
    """Whether a file of responses comes from the page of a form, by its first record."""
    try:
        text = files[0].read_bytes().decode("utf-8", "replace").lstrip()  # a collector's last line may be cut short
        first, _ = parse_next(text, 0)
    except (OSError, ValueError, RecursionError):  # reported when all of it is read
        return False
    return isinstance(first, dict) and "form" in first


def _form_json(questionnaire: Form, people: int) -> dict[str, Any]:
    return {
        "form": questionnaire.identity[:SHOWN],
        "title": questionnaire.title,
        "privacy": str(questionnaire.level),
        "promise": questionnaire.promise,
        "private": questionnaire.verify(),
        "questions": [
            {
                "question": name,
                "answers": len(survey.categories),
                "privacy": str(survey.level),
                "named_in_a_response": survey.size,
                "standard_error": survey.standard_error(people),
            }
            for name, survey in zip(questionnaire.questions, questionnaire.surveys, strict=True)
        ],
        "people": people,
        "shuffled_epsilon": questionnaire.shuffled(people, 1e-6).epsilon,
        "shuffled_delta": 1e-6,
    }


def _estimates_json(estimation: Estimate, level: float) -> list[dict[str, Any]]:
    ends = estimation.interval(level)
    return [
        {
            "category": str(name),
            "frequency": float(estimation.frequencies[i]),
            "standard_error": float(estimation.standard_errors[i]),
            "interval": ends[i].tolist(),
            "on_simplex": float(estimation.on_simplex[i]),
            "likeliest": float(estimation.likeliest[i]),
        }
        for i, name in enumerate(estimation.categories)
    ]


def _ask(survey: Survey) -> Any:
    choices = ", ".join(map(str, survey.categories[:20]))
    text = ask_private(f"{survey.question or 'answer'} (not shown; one of {choices})")
    names = {str(category): category for category in survey.categories}
    if not text and text not in names:
        raise InvalidInput("no answer was given; type one, or send one line to standard input.")
    return names.get(text, text)


def _read_responses(path: Path, survey: Survey) -> list[Any]:
    """Read responses as `respond` prints them, or as bare JSON: a category, or a list of categories."""
    answers = []
    for number, data in enumerate(json_values(read_text(path), str(path), "responses as they were printed"), 1):
        record = data if isinstance(data, dict) and "response" in data else {"response": data}
        identity = record.get("survey", survey.identity[:SHOWN])
        if identity != survey.identity[:SHOWN]:
            raise InvalidInput(
                f"response number {number} of {path} belongs to the survey {str(identity)[:SHOWN]!r}, not to "
                f"{survey.identity[:SHOWN]!r}; drop it, or name its survey."
            )
        try:
            answers.append(label_from_json(record["response"]))
        except (LookupError, TypeError, RecursionError):
            raise InvalidInput(f"response number {number} of {path} is not a category or a list of them.") from None
    return answers
