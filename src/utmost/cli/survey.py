"""`utmost survey design`, `verify`, `respond`, `estimate`: a private survey from the question to the frequencies.

The true answer is read from a prompt or standard input, never from the command line; the response is kept on the
person's device, so that the same question asked again gets the same response.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from utmost.cli.output import Accept, Json, ask_private, json_values, kept_file, print_json, read_text
from utmost.cli.problem_file import LevelTable
from utmost.design import local
from utmost.design.local.survey import Survey
from utmost.errors import InvalidInput
from utmost.privacy import require_accepted
from utmost.space import label_from_json

app = typer.Typer(
    help="Design a private survey, respond to it, estimate from its responses.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
SHOWN = 16
"""How many digits of a survey's identity travel with a response."""
SurveyFile = Annotated[Path, typer.Argument(help="A survey saved by `utmost survey design`.")]


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
    made = local.survey(categories, LevelTable(epsilon=privacy, ratio=ratio).level(), question, other)
    made.save(out)
    expected = made.standard_error(people)
    summary = {
        "survey": made.identity[:SHOWN],
        "saved": str(out),
        "categories": list(made.categories),
        "privacy": str(made.level),
        "named_in_a_response": made.size,
        "optimal": made.optimal,
        "private": made.verify(),
        "people": people,
        "standard_error": expected if expected < float("inf") else None,
    }
    if as_json:
        print_json(summary)
        return
    print(f"{made}\n  private: odds proved at most e^epsilon in exact arithmetic\n  optimal: {made.optimal}")
    print(f"  expected standard error of a frequency with {people} people: {expected:.4g}\n  saved: {out}")


@app.command()
def verify(file: SurveyFile, as_json: Json = False) -> None:
    """Re-prove a saved survey: the odds of its responses in exact arithmetic; exit code 1 if it fails."""
    made = Survey.load(file)
    private = made.verify()
    if as_json:
        print_json(
            {
                "survey": made.identity[:SHOWN],
                "categories": list(made.categories),
                "privacy": str(made.level),
                "promise": made.promise,
                "named_in_a_response": made.size,
                "optimal": made.optimal,
                "private": private,
                "verified": private,
            }
        )
    else:
        print(
            f"{'verified: private' if private else 'NOT verified: NOT private'}, optimality: {made.optimal}\n  {made}"
        )
        print("  the odds of every response are at most e^epsilon" + (", in exact arithmetic" if private else ": FAIL"))
        print(f"  the promise to a person: {made.promise}")
    if not private:
        raise typer.Exit(1)


@app.command()
def respond(
    file: SurveyFile,
    kept: Annotated[
        Path | None,
        typer.Option(help="Where the response is kept; among your own files, by the survey's identity, if not said."),
    ] = None,
    accept: Accept = False,
    as_json: Json = False,
) -> None:
    """Respond to the survey: the answer comes from a prompt or standard input; asked again, it repeats the response.

    The promise to you is shown before you are asked.
    """
    asked = Survey.load(file)
    where = kept or kept_file("surveys", asked.identity)
    again = where.exists()
    if not again:
        print(f"the promise to you: {asked.promise}", file=sys.stderr)
        require_accepted(asked.level, accept)
    response = asked.respond(None if again else _ask(asked), where, accept)
    sent = {
        "survey": asked.identity[:SHOWN],
        "response": response,
    }  # a tuple is a list in JSON, and read back as a tuple
    if as_json:
        print_json({**sent, "repeated": again, "kept": str(where), "promise": asked.promise})
        return
    print(
        f"repeated from {where}: a second one would spend the promise again" if again else f"kept in {where}",
        file=sys.stderr,
    )
    print(json.dumps(sent, ensure_ascii=False))


@app.command()
def estimate(
    file: SurveyFile,
    responses: Annotated[
        Path, typer.Argument(help="Responses one after the other, as `utmost survey respond` prints them.")
    ],
    level: Annotated[float, typer.Option(help="How often an interval holds the frequency.")] = 0.95,
    as_json: Json = False,
) -> None:
    """Estimate the frequencies of the categories from responses."""
    asked = Survey.load(file)
    found = asked.estimate(_read_responses(responses, asked))
    if not as_json:
        print(found.table(level))
        return
    ends = found.interval(level)
    rows = [
        {
            "category": str(name),
            "frequency": float(found.frequencies[i]),
            "standard_error": float(found.standard_errors[i]),
            "interval": ends[i].tolist(),
            "on_simplex": float(found.on_simplex[i]),
            "likeliest": float(found.likeliest[i]),
        }
        for i, name in enumerate(found.categories)
    ]
    print_json({"people": found.people, "level": level, "estimates": rows})


def _ask(asked: Survey) -> Any:
    listed = ", ".join(map(str, asked.categories[:20]))
    text = ask_private(f"{asked.question or 'answer'} (not shown; one of {listed})")
    names = {str(category): category for category in asked.categories}
    if not text and text not in names:
        raise InvalidInput("no answer was given; type one, or send one line to standard input.")
    return names.get(text, text)


def _read_responses(path: Path, asked: Survey) -> list[Any]:
    """Responses as `respond` prints them, or bare ones in JSON: a category, or a list of them."""
    found = []
    for number, data in enumerate(json_values(read_text(path), str(path), "responses as they were printed"), 1):
        sent = data if isinstance(data, dict) and "response" in data else {"response": data}
        whose = sent.get("survey", asked.identity[:SHOWN])
        if whose != asked.identity[:SHOWN]:
            raise InvalidInput(
                f"response number {number} of {path} belongs to the survey {str(whose)[:SHOWN]!r}, not to "
                f"{asked.identity[:SHOWN]!r}; drop it, or name its survey."
            )
        try:
            found.append(label_from_json(sent["response"]))
        except (LookupError, TypeError, RecursionError):
            raise InvalidInput(f"response number {number} of {path} is not a category or a list of them.") from None
    return found
