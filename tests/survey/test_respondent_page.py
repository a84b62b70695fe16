"""The page as a file: nothing of the form can break out of it, and it may connect only to where responses go."""

import re

import pytest

import utmost as um
from utmost.errors import InvalidInput
from utmost.survey import results_page
from utmost.survey.respondent_page import page_of_form, write_page

EVIL = "</script><script>alert(1)</script>\"'&<b>"


def test_texts_of_a_form_stay_texts(tmp_path):
    made = um.survey.form(
        EVIL, {EVIL: [EVIL, "no"], "Many?": [f"{EVIL} {i}" for i in range(20)]}, 1.0, introduction=EVIL
    )
    page = write_page(made, tmp_path).read_text()
    assert "<script>alert" not in page
    assert "<b>" not in page
    assert page.count("<script") == 2
    rows = [made.respond([EVIL, f"{EVIL} 1"]) for _ in range(300)]
    found = made.estimate(rows)
    assert "<script" not in results_page(found, tables=[found.cross(0, 1)])


def test_nothing_is_fetched_from_elsewhere(tmp_path):
    page = write_page(um.survey.form("t", {"q": ["no", "yes"]}, 1.0), tmp_path).read_text()
    assert not re.search(r"(src|href)=\"(?!respond\.js)", page)
    assert "default-src &#x27;none&#x27;" in page
    assert "connect-src &#x27;none&#x27;" in page
    assert not re.search(r"https?://", (tmp_path / "respond.js").read_text())
    assert sorted(file.name for file in tmp_path.iterdir()) == ["index.html", "respond.js"]


@pytest.mark.parametrize(
    ("send", "allowed"),
    [
        ("responses", "&#x27;self&#x27;"),
        ("https://example.org/forms/1", "https://example.org"),
        ("http://localhost:8000/responses", "http://localhost:8000"),
    ],
)
def test_it_connects_only_to_where_responses_go(send, allowed):
    page = page_of_form(um.local.survey(["no", "yes"], 1.0), send)
    assert f"connect-src {allowed};" in page


@pytest.mark.parametrize("send", ["http://example.org/", "ftp://a.org", "https://a.org; script-src *", "//x.org/a b"])
def test_unsafe_addresses_are_refused(send):
    with pytest.raises(InvalidInput, match="https://"):
        page_of_form(um.local.survey(["no", "yes"], 1.0), send)


def test_only_the_data_of_a_page_depend_on_its_level():
    """So that nothing a person reads can differ from what is drawn: the module fills it in from the data."""
    pages = [page_of_form(um.local.survey(["no", "yes"], epsilon, "q")) for epsilon in (1, 9)]
    around = [re.sub(r'(?<=id="form-data">).*?(?=</script>)', "", page) for page in pages]
    assert around[0] == around[1]
    assert "times in 100" not in around[0]


@pytest.mark.parametrize("level", [11.52, 20, um.PureDP.from_ratio(100_000), 5000])
def test_a_level_that_no_page_can_state_is_refused(tmp_path, level):
    """Rounded up, the promise would be 100 times in 100; the largest that is below has a page."""
    made = um.survey.form("t", {"q": ["no", "yes"]}, level)
    with pytest.raises(InvalidInput, match=r"99\.999 times in 100\. Make the form with a smaller epsilon"):
        write_page(made, tmp_path)
    assert not list(tmp_path.iterdir())
    collector = um.survey.Collector(made, tmp_path / "responses.jsonl")
    with pytest.raises(InvalidInput, match="cannot state a promise"):
        um.survey.FormSite(collector)
    assert page_of_form(um.local.survey(["no", "yes"], um.PureDP.from_ratio(99_999)))


def test_numbers_that_browsers_round_are_refused():
    assert "9007199254740992" in page_of_form(um.local.survey([2**53, 1], 1.0))
    for name in (2**53 + 1, (1, -(2**60))):
        with pytest.raises(InvalidInput, match="browsers round"):
            page_of_form(um.local.survey([name, 1], 1.0))


@pytest.mark.parametrize("name", ["index.html", "respond.js"])
def test_a_page_that_somebody_else_made_is_not_replaced(tmp_path, name):
    made = um.survey.form("t", {"q": ["no", "yes"]}, 1.0)
    write_page(made, tmp_path)
    write_page(made, tmp_path)  # our own are
    (tmp_path / name).write_text("<html>mine")
    with pytest.raises(um.errors.InvalidInput, match="there already and not of Utmost"):
        write_page(made, tmp_path)
    assert (tmp_path / name).read_text() == "<html>mine"
