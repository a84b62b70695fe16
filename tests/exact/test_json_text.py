"""Text from outside has one reading: names given twice and numbers that are none are refused at every door."""

import json
import re
from pathlib import Path

import pyarrow
import pytest

import utmost as um
from utmost.accounting.ledger_file import read_line
from utmost.cli.output import json_values
from utmost.errors import BadFile, InvalidInput
from utmost.exact.json_text import parse_json, parse_next
from utmost.queries.report.proof import load_answers
from utmost.serve.wire import read_json
from utmost.solution import Solution
from utmost.survey.collector import read_collected, read_sent

FORM = um.survey.form("Title", {"Yes?": ["yes", "no"]}, 1.0)
PROTOCOL = um.multiparty.optimal("and", [1.0, 1.0])


def answer():
    table = pyarrow.table({"age": [20, 30, 40]})
    return um.Session(table, "d", um.rows(at_most=9), "replace", budget=9).count("age > 20", 1)


def saved(thing, folder):
    return thing.save(folder / "saved.json").read_text(encoding="utf-8")


def doors(folder):
    """What reads JSON that somebody else wrote: a genuine text, and who reads it."""
    ledger = folder / "ledger"
    um.Ledger(ledger).open("d", 1, "rows", "replace")
    opening = ledger.read_bytes().split(b"\n")
    opening = next(line for line in opening if b'"event"' in line).decode() + "\n"
    sent = json.dumps({"form": FORM.identity[:16], "receipt": "0" * 32, "responses": ["yes"]})
    message = str(PROTOCOL.respond(0, 1))

    def of_file(read):
        file = folder / "x.json"
        return lambda text: (file.write_text(text, encoding="utf-8"), read(file))[1]

    return {
        "text": ('{"n": 1}', parse_json),
        "bytes": ('{"n": 1}', lambda text: parse_json(text.encode())),
        "one of several": ('{"n": 1}', lambda text: parse_next(text, 0)),
        "request and reply": ('{"n": 1}', lambda text: read_json(text.encode())),
        "command": ('{"n": 1}', lambda text: json_values(text, "a file", "JSON")),
        "solution": (saved(um.binary.balanced(um.counts(3), lambda n: n > 1, 1.0), folder), of_file(Solution.load)),
        "survey": (saved(um.local.survey(["a", "b"], 1.0), folder), of_file(um.local.Survey.load)),
        "form": (saved(FORM, folder), of_file(um.survey.Form.load)),
        "protocol": (saved(PROTOCOL, folder), of_file(um.multiparty.Protocol.load)),
        "report": (answer().to_json(), of_file(load_answers)),
        "response": (sent, lambda text: read_sent(text, FORM)),
        "responses": (sent, of_file(lambda file: read_collected([file], FORM))),
        "message": (message, lambda text: PROTOCOL.decide([text, str(PROTOCOL.respond(1, 0))])),
        "ledger": (opening, lambda text: read_line(text.encode())),
    }


def test_no_door_takes_a_name_given_twice(tmp_path):
    """Even with the same value twice, where all else, checksums too, is as it was: only the reading is in doubt."""
    for name, (text, door) in doors(tmp_path).items():
        door(text)
        first, value = next(iter(json.loads(text).items()))
        double = text.replace("{", f"{{{json.dumps(first)}: {json.dumps(value)}, ", 1)
        assert json.loads(double) == json.loads(text), name
        with pytest.raises(InvalidInput):
            pytest.fail(f"{name} took {door(double)!r}")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
def test_no_number_is_read_that_json_does_not_have(number, tmp_path):
    """Nor one that is only infinite once it was rounded."""
    for text in (f'{{"n": {number}}}', f"[{number}]"):
        for read in (parse_json, lambda text: parse_next(text, 0), lambda text: read_json(text.encode())):
            with pytest.raises(InvalidInput):
                read(text)
    assert parse_json("[1e308, -0.0, 5e-324]") == [1e308, 0.0, 5e-324]


def test_a_report_says_which_name_it_gives_twice(tmp_path):
    """The last one is what verifies, the first one what a reader sees."""
    file = tmp_path / "a.json"
    file.write_text(answer().to_json().replace('"words":', '"words": "approved by the regulator", "words":', 1))
    with pytest.raises(BadFile, match="'words' twice"):
        load_answers(file)


def test_nothing_else_in_the_house_parses_json():
    """`json.loads` is left to round trips of what this process wrote itself; all else goes through `parse_json`."""
    own = re.compile(r"json\.loads\((json\.dumps|canonical|answer\.to_json|str\(message)")
    for file in Path(um.__file__).parent.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        if file.name != "json_text.py":
            assert not re.search(r"json\.load\(|JSONDecoder|\.json\(\)|validate_json", text), file
            assert text.count("json.loads(") == len(own.findall(text)), file
