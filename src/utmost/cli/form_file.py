"""A form in TOML: its title, its total level, and its questions.

title = "Commuting in 2026"
epsilon = 2
introduction = "Ten seconds, three questions."      # optional

[[question]]
text = "How do you get to work?"
answers = ["car", "bus or train", "bicycle", "on foot", "I would rather not say"]
share = 2                                           # optional: twice as much of epsilon as a question without

[[question]]
text = "Are you happy with it?"
answers = ["yes", "no"]
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from utmost.cli.output import read_text
from utmost.errors import InvalidInput
from utmost.survey.form import Form, form


class QuestionTable(BaseModel):
    """One question."""

    model_config = ConfigDict(extra="forbid")

    text: str
    answers: list[str | int | bool | float]
    share: int | float | str = 1


class FormTable(BaseModel):
    """A form."""

    model_config = ConfigDict(extra="forbid")

    title: str
    epsilon: int | float | str
    introduction: str = ""
    question: list[QuestionTable]


def read_form(file: Path) -> Form:
    """The form that a TOML file describes; one error lists all mistakes with their places."""
    try:
        content: dict[str, Any] = tomllib.loads(read_text(file))
    except tomllib.TOMLDecodeError as problem:
        raise InvalidInput(f"{file} is not TOML: {problem}; see `utmost survey form --help`.") from None
    try:
        table = FormTable.model_validate(content)
    except ValidationError as problem:
        mistakes = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in problem.errors())
        raise InvalidInput(
            f"{file} does not describe a form: {mistakes}. Give title, epsilon and [[question]]."
        ) from None
    questions = [(row.text, row.answers) for row in table.question]
    return form(table.title, questions, table.epsilon, [row.share for row in table.question], table.introduction)
