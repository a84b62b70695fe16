"""What a notebook shows: a card for everything one works with."""

import re
from xml.etree import ElementTree

import pyarrow
import pytest

import utmost as um
from utmost.solution.card import card, table

TABLE = pyarrow.table({"age": [70, 25, 80, 41] * 5, "town": ["<Ash>", "Briar", "<Ash>", None] * 5})


def shown():
    """One of each: (name, thing, what its card must say)."""
    s = um.Session(TABLE, "survey", um.rows(at_most=30), "add-remove", budget=um.ApproxDP("2/3", "1/1000000"))
    count = s.count("age >= 65", "1/3")
    asked = um.local.survey(["no", "<yes>"], 1, question="Do you?")
    found = asked.estimate([asked.respond("no") for _ in range(20)])
    form = um.survey.form("Two", {"A?": ["x", "y"], "B?": ["u", "v", "w"]}, 2)
    answers = [form.respond(["x", "u"]) for _ in range(20)]
    told = form.estimate(answers)
    return [
        ("session", s, "rows, at most 30; add-remove"),
        ("plan", s.plan.histogram("town", ["<Ash>"], "1/7", other="else"), "nothing was read"),
        ("answer", count, "1/3-DP"),
        ("table", s.histogram("town", ["<Ash>"], "1/7", other="else"), "&lt;Ash&gt;"),
        ("budget", s.budget, "histogram: town<"),
        ("solution", um.binary.balanced(um.counts(5), lambda yes: yes > 2, "1/3"), "optimal"),
        ("survey", asked, "categories</span> no, &lt;yes&gt;"),
        ("estimate", found, "95 % interval"),
        ("protocol", um.multiparty.optimal("xor", [1.0, um.PureDP("1/3")]), "optimal"),
        ("form", form, "B?"),
        ("form's estimate", told, "A?"),
        ("cross-table", told.cross("A?", "B?"), "A? (rows)"),
    ]


@pytest.fixture(scope="module")
def things():
    return {name: (thing, must) for name, thing, must in shown()}


NAMES = ("session", "plan", "answer", "table", "budget", "solution", "survey", "estimate", "protocol")


@pytest.mark.parametrize("name", [*NAMES, "form", "form's estimate", "cross-table"])
def test_everything_has_a_card(things, name):
    """Whole HTML, in the colours of the page around it, and without what only a programmer reads."""
    thing, must = things[name]
    text = thing._repr_html_()
    ElementTree.fromstring(f"<div>{text}</div>")
    assert text.startswith('<div class="utmost-card"')
    assert must in text
    assert "<Ash>" not in text
    assert "<yes>" not in text
    for said in (text, repr(thing), str(thing)):
        assert " object at 0x" not in said
        assert "Fraction(" not in said
        assert "array(" not in said
    own = re.findall(r"(?:color|background):([^;\"]+)", text)
    assert all(colour in ("inherit", "transparent") or colour.startswith("rgba(") for colour in own)


def test_a_line_has_a_name_where_it_begins_with_one():
    text = card("Title\n  optimal: yes: always\n  a very long beginning of a sentence: no name", "<p>x</p>")
    assert '<span style="opacity:.7">optimal</span> yes: always' in text
    assert "<div>a very long beginning of a sentence: no name</div>" in text
    assert '<div style="overflow-x:auto"><p>x</p></div>' in text
    assert "<div>kept (in memory: lost): yes</div>" in card("Title\n  kept (in memory: lost): yes")


def test_numbers_stand_to_the_right_and_texts_to_the_left():
    heads = re.findall(
        r"text-align:(\w+)\">(\w+)</th>", table(("n", "share", "asked"), [(1, "0.5", "a < b"), (2, "", "1")])
    )
    assert heads == [("left", "n"), ("right", "share"), ("left", "asked")]
