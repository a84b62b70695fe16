"""The pages without a script: forms, tokens, cookies, headers; and with one, in a real browser."""

import datetime
import html
import json
import re

import httpx
import pytest
from oracles.browser import CHROMIUM, Browser, axe_source
from oracles.served import KEYS, serving, signed_in, survey_server, token_of

import utmost as um
from utmost.cli.serve import studio_settings
from utmost.queries.questions import QUESTIONS
from utmost.queries.report.proof import load_answers
from utmost.serve.drawings import curve
from utmost.serve.explore import TOPICS
from utmost.serve.fields import as_python
from utmost.serve.wire import read_query, write_query


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    with survey_server(tmp_path_factory.mktemp("site"), own=1) as url:
        yield url


def said(reply):
    """The content of a page, without what stands around it."""
    return reply.text.partition("<main")[2]


def test_a_person_without_a_script(url, tmp_path):
    """Sign in, plan, ask, read the report, be refused with a remedy, see the budget."""
    with signed_in(url, "ada") as ada:
        page = ada.get("/datasets/survey")
        form = {"question": "sum", "column": "age", "privacy": "0.5", "token": token_of(page)}
        planned = ada.post("/datasets/survey/look", data=form)
        assert "What does age add up to, values cut to 18..90" in planned.text  # the range comes from the facts
        assert "epsilon 1 of 1 for you, epsilon 3 of 3 for all" in planned.text
        answer = ada.post("/datasets/survey/ask", data=form)
        assert answer.url.path == "/datasets/survey/answers/1"
        assert "Against the usual alternatives" in answer.text
        kept = tmp_path / "report.json"
        kept.write_text(ada.get("/datasets/survey/answers/1/report.json").text)
        assert all(found for _, found in load_answers(kept))
        refused = ada.post("/datasets/survey/ask", data={**form, "privacy": "0.6"})
        assert refused.status_code == 409
        assert "your own budget is insufficient for 0.6-DP" in refused.text
        assert "ask at a smaller level" in refused.text
        assert "epsilon 0.5 of 1 left" in ada.get("/datasets/survey/budget").text
        both = ada.get("/datasets/survey/plan?question=covariance&x=age&y=age&privacy=0.5")  # ranges from the facts
        assert "18..90" in both.text, both.text
        found = ada.get("/datasets/survey/plan?question=count&by=discover(town)&privacy=0.5,1e-6")
        assert "um.discover(&#39;town&#39;)" in found.text, found.text
        assert ada.get("/datasets/survey?question=count&where=nothing+%3E+3&privacy=1").status_code == 200
    with signed_in(url, "carol") as carol:
        assert ">ada<" in carol.get("/datasets/survey/budget").text
        assert "A custodian looks on" in carol.get("/datasets/survey").text


def test_groups_of_a_form(url):
    """One line, without a script: listed values, bins of a range, both; it proposes what the facts allow."""
    with signed_in(url, "bob") as bob:
        page = bob.get("/datasets/survey?question=count")
        assert '<option value="age=bins(10, 100, 10)" label="in bins">' in page.text  # 18 to 90, the 90 too
        assert '<option value="town" label="its listed values">' in page.text
        asked = {"question": "count", "privacy": "0.5", "by": "town; age=bins(10, 100, 45); other=elsewhere"}
        answer = bob.post("/datasets/survey/ask", data={**asked, "token": token_of(page)})
        number = answer.url.path.rpartition("/")[2]
        data = json.loads(bob.get(f"/datasets/survey/answers/{number}/report.json").text)
        keys = um.keys(town=["Ash", "Briar"], age=um.bins(10, 100, 45), other="elsewhere")
        assert data["question"]["by"] == keys.public
        plan = bob.get("/datasets/survey/plan", params=asked).text
        code = html.unescape(re.search(r"<pre[^>]*>(.*?)</pre>", plan, re.S)[1])
        assert "by=um.keys(town=['Ash', 'Briar'], age=um.bins([10, 55, 100]), other='elsewhere')" in code
        for wrong, words in {
            "age": "write|age=bins(10, 100, 10)",
            "age=bins(9, 3, 1)": "upper end above the lower one",
            "age=bins(0, 100, 7)": "end at 98 or 105",
            "age=bins(0, 10, 0.0001)": "at most 10,000",
            "town; town": "each column once",
            "/etc/hostname": "each column once",  # no file of the server's machine is opened
            "nothing=1,2": "no column",
            "town=1,2": "text",
            "town=": "an empty list",
        }.items():
            said_of_it = bob.get("/datasets/survey/plan", params={**asked, "by": wrong}).text
            assert any(word in html.unescape(said_of_it) for word in words.split("|")), (wrong, said_of_it)


@pytest.mark.parametrize(
    ("by", "written"),
    [
        ({"the town": ["Ash"]}, "by=um.keys({'the town': ['Ash']})"),
        ({"day": [datetime.date(2026, 1, 31)]}, "by=um.keys(day=[datetime.date(2026, 1, 31)])"),
        ({"frame": [1]}, "by=um.keys({'frame': [1]})"),
    ],
)
def test_groups_as_python(by, written):
    """The lines that a plan shows ask by the same keys."""
    asked = read_query(write_query("count", {"privacy": 0.5, "by": um.keys(by)}))
    code = as_python(asked, "survey", "http://localhost")
    assert written in code
    assert eval(written.removeprefix("by="), {"um": um, "datetime": datetime}).public == um.keys(by).public
    assert ("import datetime" in code) == ("datetime.date" in written)


def test_every_question_has_a_form(url):
    """As soon as it is declared: with a field for each of its parameters."""
    with signed_in(url, "bob") as bob:
        for name, question in QUESTIONS.items():
            page = bob.get(f"/datasets/survey?question={name}")
            assert page.status_code == 200
            for option in question.options:
                assert option.name == "of" or f'name="{option.name}"' in page.text, (name, option.name)
        begun = html.unescape(bob.get("/datasets/survey?question=sum").text)
        assert re.search(r'<option value="age"[^>]* selected', begun)  # the first column whose facts say its range
        asked = {"question": "sum", "column": "town", "privacy": ""}
        assert "fill in lower, upper and privacy." in bob.get("/datasets/survey/plan", params=asked).text


def test_forged_cookies_and_tokens(url):
    """A cookie that was not signed here is none; a form needs the token of its cookie; other sites send nothing."""
    with signed_in(url, "ada") as ada, signed_in(url, "bob") as bob:
        other = token_of(bob.get("/datasets/survey"))
        mine = token_of(ada.get("/datasets/survey"))
        form = {"question": "count", "privacy": "0.1"}
        for wrong in ({}, {"token": other}, {"token": mine[:-1] + ("A" if mine[-1] != "A" else "B")}):
            assert ada.post("/datasets/survey/ask", data={**form, **wrong}).status_code == 403
        for header in ({"Origin": "https://elsewhere.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}):
            assert ada.post("/datasets/survey/ask", data={**form, "token": mine}, headers=header).status_code == 403
        cookie = ada.cookies["utmost"]
        body, _, mark = cookie.partition(".")
        for forged in (f"{body}.", f"{body}.{mark[:-2]}", f"{body[:-4]}AAAA.{mark}", "x", "." * 50):
            reply = httpx.get(f"{url}/datasets/survey", cookies={"utmost": forged}, verify=False)
            assert reply.status_code == 401
            assert said(reply) == said(httpx.get(f"{url}/datasets/none", verify=False))
        assert said(ada.get("/datasets/hidden")) == said(ada.get("/datasets/x"))
        assert ada.get("/datasets/hidden").status_code == 403


def test_headers_and_cookies(url):
    """A strict policy on every page; the cookie is out of a script's reach."""
    reply = httpx.get(f"{url}/sign-in", verify=False)
    policy = reply.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    cookie = reply.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert httpx.get(f"{url}/nothing", verify=False).headers["content-security-policy"] == policy
    assert "<script>" not in reply.text


@pytest.mark.parametrize("name", TOPICS)
def test_the_python_of_a_topic_runs_and_says_what_the_page_says(name, capsys):
    """Three lines, which print the number that stands on the page; and every proof holds."""
    topic = TOPICS[name]
    shown = topic.show(topic.read({}))
    assert shown.code.count("\n") == 2
    assert all(passed for _, passed, _ in shown.proof)
    exec(shown.code, {})
    printed = capsys.readouterr().out
    number = re.search(r"\d+\.\d+", shown.facts[0][1])[0]
    assert re.search(re.escape(number[:5]), printed), (number, printed)


def test_pictures_have_room_for_large_numbers():
    """A number too long to stand beside its axis stands above it."""
    for top, words in ((99_999.0, ">1e+05<"), (398_868.0, "error, up to 398,868")):
        drawn = curve({"": ([1, 2], [top, 1.0])}, "ε", "error", "The error.")
        assert words in drawn
        beside = re.findall(r'x="52.0"[^>]*>([^<]*)<', drawn)
        assert all(len(word) * 8 <= 52 for word in beside)


def test_sliders_take_no_nonsense():
    """What lies outside a slider's range, or is no number, is refused."""
    for text in ("0", "nan", "1e9", "x", "inf"):
        with pytest.raises(um.errors.InvalidInput, match="from 3 to 501"):
            TOPICS["majority"].read({"people": text})


def test_the_studio_needs_no_key_and_answers_to_this_machine_only(tmp_path):
    """On loopback, everything is the visitor's; a name that points here from elsewhere is refused."""
    with serving(studio_settings(tmp_path, 8020)) as url:
        assert "survey-2026" in httpx.get(url, verify=False).text
        assert httpx.get(f"{url}/api/datasets", verify=False).json()["custodian"]
        for path in ("/", "/api/datasets"):
            assert httpx.get(f"{url}{path}", headers={"Host": "evil.example"}, verify=False).status_code == 403
        sent = {"question": "count", "privacy": 0.1}
        elsewhere = {"Origin": "https://evil.example"}
        assert (
            httpx.post(f"{url}/api/datasets/survey-2026/ask", json=sent, headers=elsewhere, verify=False).status_code
            == 403
        )
        with um.Client(url) as client:
            assert client.count("age >= 65", 0.5).verify()


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: install Debian's package chromium to run this")
def test_two_analysts_and_a_custodian_in_a_browser(tmp_path):
    """Plans follow the slider; answers, a refusal with its remedy, the report, the budget; desktop and phone."""
    with survey_server(tmp_path, own=1) as url, Browser() as browser:

        def sign_in(name):
            browser.visit(f"{url}/sign-in")
            browser.run(f"document.querySelector('#key').value = {KEYS[name][0]!r}")
            browser.run("document.querySelector('form.card button').click()")
            browser.wait("location.pathname === '/' && document.querySelector('article')")

        def change(field, value):
            browser.run(
                f"(field => {{ field.value = {value!r}; field.dispatchEvent(new Event('input', {{bubbles: true}})) }})"
                f"(document.querySelector({field!r}))"
            )

        def ask(where, privacy):
            browser.visit(f"{url}/datasets/survey?question=count")
            browser.wait("document.querySelector('#shown dl')")
            before = browser.run("document.querySelector('#shown').innerText")
            for name, value in (("where", where), ("privacy", privacy)):
                change(f"[name={name}]", value)
            browser.wait(f"document.querySelector('#shown').innerText.includes({where!r})")
            assert browser.run("document.querySelector('#shown').innerText") != before
            assert browser.run("document.querySelector('#shown svg circle') !== null")
            browser.run("document.querySelector('form[data-follow] .button').click()")
            done = "location.pathname.includes('/answers/') || document.querySelector('[role=alert]')"
            browser.wait(f"document.readyState === 'complete' && document.querySelector('h1') && ({done})")

        browser.size(1200, 900)
        sign_in("ada")
        ask("age >= 65", "0.7")
        assert "How many rows have age >= 65" in browser.run("document.querySelector('h1').innerText")
        ask("age >= 30", "0.5")
        refusal = browser.run("document.querySelector('[role=alert]').innerText")
        assert "your own budget is insufficient for 0.5-DP" in refusal
        assert "ask at a smaller level" in refusal
        browser.size(390, 800, phone=True, dark=True)
        sign_in("bob")
        ask("age >= 65", "0.7")
        browser.visit(f"{url}/explore/majority")
        change("[name=people]", "11")
        browser.wait("document.querySelector('#shown pre').innerText.includes('um.counts(11)')")
        for path in ("/", "/datasets/survey", "/datasets/survey/budget", "/explore", "/explore/winner"):
            browser.visit(f"{url}{path}")
            assert browser.run("document.documentElement.scrollWidth") <= 390, path
        sign_in("carol")
        browser.visit(f"{url}/datasets/survey/budget")
        words = browser.run("document.body.innerText")
        assert "ada, bob" in words
        assert "epsilon 2.3 of 3 left" in words
        assert {address.split("/")[2] for address in browser.requests if address.startswith("http")} == {url[7:]}
        assert not [words for words in browser.said if "Content Security Policy" in words]


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: install Debian's package chromium to run this")
@pytest.mark.skipif(axe_source() is None, reason="no axe-core: npm install axe-core, or name axe.min.js in AXE_CORE")
@pytest.mark.parametrize("dark", [False, True])
def test_axe_core_finds_nothing(tmp_path, dark):
    """Every kind of page, on a phone: data sets, a form with its plan, a refusal, an answer, budgets, a theory."""
    with serving(studio_settings(tmp_path, 8020)) as url, Browser() as browser, um.Client(url) as client:
        client.histogram("town", ["Ashford", "Briar"], 0.5)
        browser.size(390, 800, phone=True, dark=dark)
        asked = "/datasets/survey-2026?question={}&privacy=0.5"
        paths = ["/", *(asked.format(name) for name in ("count", "sum", "counts")), "/datasets/survey-2026/answers/1"]
        for path in [*paths, "/datasets/survey-2026/budget", "/explore", "/explore/majority", "/nothing", "/sign-in"]:
            browser.visit(f"{url}{path}")
            browser.run(f"{axe_source()}; 0")
            found = browser.run(
                "axe.run(document, { resultTypes: ['violations'] })"
                ".then((r) => r.violations.map((v) => [v.id, v.nodes[0].html]))"
            )
            assert found == [], path
