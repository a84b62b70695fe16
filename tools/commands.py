"""Writes docs/commands.md, the reference of the command, from the commands themselves: `python tools/commands.py`.

Every command and every command inside one, with its words, arguments, options and defaults; a test compares the page
with what this would write.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from utmost.cli import COMMANDS, Commands

PAGE = Path(__file__).parents[1] / "docs" / "commands.md"
FOREWORD = """\
# The commands

What `utmost COMMAND --help` says, on one page; made by `tools/commands.py` from the commands themselves. Start with
[a table](start.md), [a file of questions](publish.md), [a server](serve.md) or [a survey](surveys.md);
what the papers' symbols are here is in [notation](notation.md).

`utmost --version` prints the version, `utmost --install-completion` completes commands and options in your shell.
Every command that prints a result prints it as one JSON object with `--json`. The exit code is 0 when it is done, 1
when the answer is no (not private, no such mechanism, budget spent, account suspended), 2 for wrong use, 74 when the
output could not be written, 130 when somebody stopped it at a prompt. No private value is ever an argument: it comes
from a file, a prompt or standard input.
"""
KINDS = {int: "integer", float: "number", Path: "file"}
UNSAID = ("help", "install_completion", "show_completion")


def page() -> str:
    """The whole page: a list of the commands, then each of them."""
    group = Commands(name="utmost")
    found = [each for name in COMMANDS for each in _with_inner(f"utmost {name}", group.get_command(None, name))]
    listed = "\n".join(f"| [`{name}`](#{_anchor(name)}) | {_first_line(command)} |" for name, command in found)
    sections = "\n".join(_section(name, command) for name, command in found)
    return f"{FOREWORD}\n| command | what it does |\n|---|---|\n{listed}\n\n{sections}"


def _with_inner(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    """A command and those inside it; a group that does nothing by itself is only the heading of its own."""
    inner = getattr(command, "commands", {})
    if not inner or command.invoke_without_command:
        yield name, command
    for word, each in inner.items():
        yield from _with_inner(f"{name} {word}", each)


def _section(name: str, command: Any) -> str:
    options = [each for each in command.params if each.name not in UNSAID and not getattr(each, "hidden", False)]
    rows = [f"| {_names(each)} | {_words(each)} |" for each in options]
    table = "\n".join(["| argument or option | what it is |", "|---|---|", *rows, ""]) if rows else ""
    arguments = " ".join(_placeholder(each) for each in options if each.param_type_name == "argument")
    more = "[OPTIONS]" if any(each.param_type_name == "option" for each in options) else ""
    usage = " ".join(word for word in (name, arguments, more) if word)
    return f"## {name}\n\n```text\n{usage}\n```\n\n{_escaped(inspect.cleandoc(command.help or ''))}\n\n{table}"


def _first_line(command: Any) -> str:
    return _escaped(inspect.cleandoc(command.help or "").partition("\n")[0])


def _names(option: Any) -> str:
    """How an argument or option is written, what it takes, and whether it must be there."""
    if option.param_type_name == "argument":
        return f"`{_placeholder(option)}`"
    written = ", ".join(f"`{each}`" for each in (*option.opts, *option.secondary_opts))
    taken = "" if option.is_flag else f" {_kind(option)}"
    return f"{written}{taken}{', required' if option.required else ''}"


def _kind(option: Any) -> str:
    """What an option takes, in one word."""
    taken = option.type_descriptor.annotation
    return KINDS.get(taken, "text")


def _placeholder(argument: Any) -> str:
    name = (argument.metavar or argument.name).upper() + ("..." if argument.nargs == -1 else "")
    return name if argument.required else f"[{name}]"


def _words(option: Any) -> str:
    """What is said of an option, and what holds if it is left out."""
    said = _escaped(getattr(option, "help", "") or "")
    again = " May be given again." if getattr(option, "multiple", False) else ""
    default = option.default
    known = default not in (None, False, "", (), []) and not callable(default) and type(default).__name__ != "Sentinel"
    return f"{said}{again}" + (f" If left out: `{default}`." if known else "")


def _escaped(text: str) -> str:
    """Text for a cell or a paragraph: what Markdown would take for a rule of its own is meant as it stands."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def _anchor(name: str) -> str:
    return name.replace(" ", "-")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
