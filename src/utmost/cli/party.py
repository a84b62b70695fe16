"""`utmost party`: design a protocol for several parties, respond as one of them, decide as a listener."""

from __future__ import annotations

import json
import secrets
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from utmost.cli.output import (
    Accept,
    Json,
    ask_private,
    checks_of,
    json_values,
    print_json,
    read_text,
    user_file,
    working,
)
from utmost.design.multiparty import Message, Protocol, optimal
from utmost.errors import BadFile, InvalidInput
from utmost.exact.saved import read_checked, write_checked
from utmost.privacy import ApproxDP, PureDP, require_accepted
from utmost.solution import Verification

app = typer.Typer(
    help="Several parties, one bit each, one function: the optimal private protocol.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
RECORD, RECORD_VERSION = "utmost-party-record", 1
File = Annotated[Path, typer.Option("--protocol", help="The protocol, saved by `utmost party design --out`.")]


@app.command()
def design(
    levels: Annotated[str, typer.Option(help="Each party's epsilon, or epsilon:delta: 1,1,2:0.001. inf: no promise.")],
    function: Annotated[
        str | None, typer.Option(help="xor, and, or, majority, sum, or 'threshold 3' (at least 3 ones).")
    ] = None,
    table: Annotated[
        str | None, typer.Option(help="Or the 2^k values, with commas; party 0 is the most significant bit.")
    ] = None,
    parties: Annotated[int, typer.Option(min=0, help="So many parties at one level.")] = 0,
    accuracy: Annotated[str, typer.Option(help="zero-one, 'within 2', absolute or squared.")] = "zero-one",
    criterion: Annotated[str, typer.Option(help="average (over fair bits) or worst (over the bits).")] = "average",
    name: Annotated[
        str, typer.Option(help="Which occasion this is; messages of another are refused. Random if left out.")
    ] = "",
    out: Annotated[Path | None, typer.Option(help="Save the protocol to this JSON file.")] = None,
    as_json: Json = False,
) -> None:
    """Find the most accurate protocol, print its value and its proof, and save it for everybody."""
    if (function is None) == (table is None):
        raise InvalidInput("give either --function or --table.")
    party_levels = [_level(text) for text in levels.split(",")]
    if parties and len(party_levels) > 1:
        raise InvalidInput(
            f"--parties repeats one level, but --levels has {len(party_levels)}; give one, or drop --parties."
        )
    task = function if table is None else [_number(cell.strip()) for cell in table.split(",")]
    occasion = name or secrets.token_hex(8)  # the same question asked twice must not share messages
    with working("designing"):
        protocol = optimal(task, party_levels * max(parties, 1), accuracy, criterion, name=occasion)  # type: ignore[arg-type]
        proof = protocol.verify()
    if out:
        protocol.save(out)
    _present(protocol, proof, out, as_json)
    if not proof and not (protocol.stated_value is None and proof.private):  # a value that is not stated is no failure
        raise typer.Exit(1)


@app.command()
def verify(protocol: File, as_json: Json = False) -> None:
    """Re-prove a saved protocol; exit code 1 if it fails."""
    with working("verifying"):
        loaded = Protocol.load(protocol)
        proof = loaded.verify()
    _present(loaded, proof, None, as_json)
    if not proof:
        raise typer.Exit(1)


@app.command()
def respond(
    protocol: File,
    party: Annotated[int, typer.Option(help="Which party you are, from 0.")],
    record: Annotated[
        Path | None,
        typer.Option(help="Where your message is recorded; among your own files, by the protocol, if left out."),
    ] = None,
    accept: Accept = False,
    as_json: Json = False,
) -> None:
    """Make your message from your bit (read from a prompt or standard input) once, and repeat it on later calls.

    The promise to you is shown before you are asked.
    """
    loaded = Protocol.load(protocol)
    loaded.mechanism(party)  # refuses a party that does not exist before anything is asked
    path = record or user_file("parties", f"{loaded.fingerprint}-party-{party}")
    if path.exists():
        message = _recorded(path, loaded, party)
        print(f"repeated from {path}: a second draw would spend the privacy again", file=sys.stderr)
    else:
        print(f"the promise to you: {loaded.promise(party)}", file=sys.stderr)
        require_accepted(loaded.levels[party], accept)
        message = _record(path, loaded.respond(party, _ask_bit(), accept), loaded)
        print(f"recorded in {path}", file=sys.stderr)
    print_json(json.loads(str(message))) if as_json else print(message)


@app.command()
def decide(
    protocol: File,
    messages: Annotated[
        list[Path] | None, typer.Argument(help="Files with messages; standard input if there are none.")
    ] = None,
    party: Annotated[
        int | None, typer.Option(help="Decide as this party, whose bit is read from a prompt or standard input.")
    ] = None,
    coin: Annotated[
        str | None, typer.Option(help="A number from 0 to 1, drawn at random for all listeners, where the rule tosses.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Conclude from everybody's messages: the best answer, and the probability of every value."""
    loaded = Protocol.load(protocol)
    if party is not None and not messages:
        raise InvalidInput("a party's own bit comes from standard input, so give the messages as files.")
    if messages:
        inbox = [message for file in messages for message in _messages(read_text(file), str(file))]
    else:
        inbox = _messages(_standard_input(), "standard input")
    decision = loaded.decide(inbox, party, None if party is None else _ask_bit(), coin)
    likely = {str(value): share for value, share in decision.posterior.items()}
    chances = {str(answer): share for answer, share in decision.chances.items()}
    if as_json:
        print_json({"answer": decision.answer, "chances": chances, "coin": coin, "posterior": likely})
        return
    print(decision.answer)
    if max(chances.values()) < 1:
        for answer, share in sorted(chances.items(), key=lambda item: -item[1])[:12]:
            print(f"  the best rule answers {answer} with probability {share:.6g}", file=sys.stderr)
        if coin is None:
            print("  tossed here: other listeners may conclude otherwise unless all use one --coin", file=sys.stderr)
    for value, share in sorted(likely.items(), key=lambda item: -item[1])[:12]:
        print(f"  Pr[{value}] = {share:.6g} given the messages", file=sys.stderr)


def _present(protocol: Protocol, proof: Verification, out: Path | None, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "protocol": protocol.fingerprint,
                "name": protocol.name,
                "parties": len(protocol.levels),
                "levels": [str(level) for level in protocol.levels],
                "function": protocol.question.title,
                "criterion": protocol.criterion,
                "value": protocol.stated_value,
                "optimal": proof.relies_on,
                "verified": bool(proof),
                "gap": proof.gap if proof else None,
                "checks": checks_of(proof.checks),
            }
        )
        return
    lines = [str(protocol), str(proof)]
    if protocol.stated_value is None and proof.private:  # str(protocol) says that the value is not computed, and why
        lines[1:] = [f"  {proof.checks[0]}"]
    print(*lines, *([f"saved: {out}"] if out else []), sep="\n")


def _level(text: str) -> ApproxDP:
    epsilon, colon, delta = text.strip().partition(":")
    return ApproxDP(epsilon, delta) if colon else PureDP(epsilon)


def _number(text: str) -> Any:
    """A cell of a table as a whole number, a float, or text."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _ask_bit() -> int:
    """A private bit from a prompt that does not show it, or from standard input."""
    text = ask_private("your bit, 0 or 1 (not shown)")
    if text.strip() not in ("0", "1"):
        raise InvalidInput("the bit is neither 0 nor 1 (it is private, so it is not shown here).")
    return int(text)


def _standard_input() -> str:
    try:
        return sys.stdin.read()
    except UnicodeDecodeError:
        raise InvalidInput("standard input is not text; send the messages as UTF-8.") from None


def _messages(text: str, source: str) -> list[Any]:
    """The messages in a text, as single values or in lists."""
    values = json_values(text, source, "messages as `utmost party respond` printed them")
    return [message for value in values for message in (value if isinstance(value, list) else [value])]


def _record(path: Path, message: Message, protocol: Protocol) -> Message:
    """Record a message before it is shown; if another process was first, return its message instead."""
    content = {"format": RECORD, "version": RECORD_VERSION, **json.loads(str(message))}
    try:
        write_checked(path, content, anew=True)
    except FileExistsError:
        return _recorded(path, protocol, message.party)
    return message


def _recorded(path: Path, protocol: Protocol, party: int) -> Message:
    """The recorded message; refused if it is of another protocol or party."""
    content = read_checked(path, RECORD, RECORD_VERSION, "party's record")
    try:
        message = Message(str(content["protocol"]), int(content["party"]), int(content["message"]))
    except (KeyError, TypeError, ValueError):
        raise BadFile(f"{path} lacks a part of a record; it was not made by `utmost party respond`.") from None
    if (message.protocol, message.party) != (protocol.fingerprint, party):
        raise InvalidInput(
            f"{path} records party {message.party} of the protocol {message.protocol!r}, not party {party} of "
            f"{protocol.fingerprint!r}; name another --record."
        )
    return message
