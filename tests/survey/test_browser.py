"""The page in a real browser: its draws against Python's integers, what it refuses, keyboard, phone, axe-core.

Needs Chromium; axe-core (npm) for the accessibility rules. What is not installed is skipped, in words.
"""

import itertools
import json
import math
import threading

import numpy as np
import pytest
from oracles.browser import CHROMIUM, Browser, axe_source
from scipy.stats import chi2

import utmost as um
from utmost.survey import results_page
from utmost.survey.collector import local_server

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed: apt-get install chromium")

FORMS = [
    um.survey.form("Two answers", {"a": ["no", "yes"]}, 1.0),
    um.survey.form("Three at a ratio", {"a": [1, 2, 3]}, um.PureDP.from_ratio("7/2")),
    um.survey.form("Sets of two and three", {"a": list("abcdef"), "b": list("abcdefg")}, 1.0, [3, 1]),
    um.survey.form("Weak", {"a": list("abcde"), "b": ["no", "yes"]}, 9.0, [8, 1]),
    um.survey.form("Says nothing", {"a": list("abcd")}, "1e-25"),
]


@pytest.fixture(scope="module")
def browser():
    with Browser() as found:
        yield found


@pytest.fixture
def serve(tmp_path):
    """A function that serves a form and returns its address and collector."""
    servers = []

    def start(form):
        collector = um.survey.Collector(form, tmp_path / f"{form.identity[:8]}.jsonl")
        server = local_server(um.survey.FormSite(collector))
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_address[1]}/", collector

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def opened(browser, url):
    browser.visit(url)
    browser.wait("document.getElementById('loading').hidden")


# ---- the law of the draws ----

DRAW = """(async () => {
  const { draw } = await import('/respond.js');
  const question = %s, counts = {}, k = question.categories.length;
  for (let i = 0; i < %d; i++) {
    const key = i %% k + ':' + draw(question, i %% k).join(',');
    counts[key] = (counts[key] || 0) + 1;
  }
  return counts;
})()"""


def departure(browser, asked, question, draws):
    """The chi-square probability of what the browser drew under Python's exact weights; every set must be possible."""
    counts = browser.run(DRAW % (json.dumps(question), draws))
    k, s = len(asked.categories), asked.size
    inside, beside = asked.inside / math.comb(k - 1, s - 1), (1 - asked.inside) / math.comb(k - 1, s)
    statistic = 0.0
    for truth in range(k):
        people = len(range(truth, draws, k))
        for chosen in itertools.combinations(range(k), s):
            expected = people * float(inside if truth in chosen else beside)
            seen = counts.pop(f"{truth}:{','.join(map(str, chosen))}", 0)
            statistic += (seen - expected) ** 2 / expected
    assert not counts  # nothing outside the support
    return chi2.sf(statistic, k * (math.comb(k, s) - 1))


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.title)
def test_the_browser_draws_pythons_law(browser, serve, form):
    """10^5 responses a form; 99.9 % chi-square, and once more before it counts, since draws are not seeded."""
    opened(browser, serve(form)[0])
    content = form.to_json()
    for asked, question in zip(form.surveys, content["questions"], strict=True):
        draws = 10**5 // len(form.surveys)
        found = [departure(browser, asked, question, draws)]
        if found[0] < 1e-3:
            found.append(departure(browser, asked, question, draws))
        assert max(found) >= 1e-3


# ---- what it proves before it asks ----

CHECK = """(async () => {
  const { checkForm } = await import('/respond.js');
  return %s.map((form) => { try { checkForm(form); return 'proved'; } catch (problem) { return problem.message; } });
})()"""


def test_every_form_is_proved_and_every_forgery_refused(browser, serve):
    """Levels from tiny to weak, sizes from 2 to 300 answers; then one integer more, a smaller total, a larger share."""
    opened(browser, serve(FORMS[0])[0])
    many = [*FORMS]
    for epsilon, k in itertools.product(("1e-9", "1/7", "1", "3", "11"), (2, 5, 300)):
        many.append(um.survey.form("t", {"a": range(k), "b": ["no", "yes"]}, epsilon, [2, 3]))
    assert set(browser.run(CHECK % json.dumps([form.to_json() for form in many]))) == {"proved"}

    def forged(change):
        content = um.survey.form("t", {"a": list("abcde"), "b": ["no", "yes"]}, "3/2").to_json()
        change(content, content["questions"][0])
        return content

    bad = [
        forged(lambda form, q: q.update(named=str(int(q["named"]) + 1))),
        forged(lambda form, q: q.update(named=str(int(q["named"]) // 8))),
        forged(lambda form, q: q.update(named=q["of"])),
        forged(lambda form, q: q.update(named="-1")),
        forged(lambda form, q: q.update(size=0)),
        forged(lambda form, q: q.update(size=5)),
        forged(lambda form, q: q.update(categories=["a", "a", "b", "c", "d"])),
        forged(lambda form, q: q["privacy"].update(epsilon="0.749")),
        forged(lambda form, q: q["privacy"].update(epsilon="749/1000")),
        forged(lambda form, q: form["privacy"].update(epsilon="149/100")),
        forged(lambda form, q: form.update(privacy={"kind": "approx", "epsilon": "9", "delta": "1/2"})),
        forged(lambda form, q: form["questions"].clear()),
        forged(lambda form, q: form.update(version=2)),
    ]
    assert "proved" not in browser.run(CHECK % json.dumps(bad))


def test_a_page_with_a_forged_form_asks_nothing(browser, serve, monkeypatch):
    """The page as a whole, with one integer too many in its form."""
    form = um.survey.form("Forged", {"a": ["no", "yes"]}, 1.0)
    url, _ = serve(form)
    honest = form.surveys[0].inside.numerator
    from utmost.survey import collector, respondent_page

    def changed(asked, send=""):
        return respondent_page.page_of_form(asked, send).replace(str(honest), str(honest + 2**52))

    monkeypatch.setattr(collector, "page_of_form", changed)
    opened(browser, url)
    assert "do not prove" in browser.run("document.getElementById('reason').textContent")
    assert browser.run("document.getElementById('questions').hidden")


GUESS = "document.getElementById('guess').textContent"
SHOWN = "getComputedStyle(document.getElementById('%s')).display !== 'none'"


def served_with(monkeypatch, change):
    """From now on pages are served with other data; nothing but the data block is changed."""
    from utmost.survey import collector, respondent_page

    def changed(asked, send=""):
        page = respondent_page.page_of_form(asked, send)
        start, rest = page.split('id="form-data">')
        data, end = rest.split("</script>", 1)
        content = json.loads(data)
        change(content["form"])
        return f'{start}id="form-data">{json.dumps(content)}</script>{end}'

    monkeypatch.setattr(collector, "page_of_form", changed)


def weaker(epsilon, named, of):
    """What a form of one question of two answers is changed to."""

    def change(form):
        form["privacy"]["epsilon"] = form["questions"][0]["privacy"]["epsilon"] = epsilon
        form["questions"][0].update(named=named, of=of)

    return change


def test_text_and_acceptance_follow_from_the_data_that_are_drawn_from(browser, serve, monkeypatch):
    """Integers that tell the truth 9999 times in 10000: the page says so, and draws only if that is accepted."""
    served_with(monkeypatch, weaker("10", "9999", "10000"))
    opened(browser, serve(um.survey.form("Data weakened", {"a": ["no", "yes"]}, 1.0))[0])
    assert "at most 99.996 times in 100" in browser.run(GUESS)
    assert "at most 99.99 times in 100" in browser.run("document.getElementById('shares').textContent")
    assert "10-DP" in browser.run("document.getElementById('level').textContent")
    assert browser.run(SHOWN % "weak")
    browser.run("document.querySelectorAll('[name=q0]')[1].click()")
    browser.run("document.querySelector('#questions button').click()")
    assert "weak promise" in browser.run("document.getElementById('missing').textContent")
    assert browser.run("document.getElementById('review').hidden")


def test_a_level_that_the_text_cannot_state_asks_nothing(browser, serve, monkeypatch):
    """Epsilon 20, proved by integers that tell the truth 99999999 times in 100000000."""
    served_with(monkeypatch, weaker("20", "99999999", "100000000"))
    opened(browser, serve(um.survey.form("Data of nothing", {"a": ["no", "yes"]}, 1.0))[0])
    assert "promises next to nothing" in browser.run("document.getElementById('reason').textContent")
    assert browser.run("document.getElementById('questions').hidden && document.getElementById('promise').hidden")
    assert browser.run("document.querySelector('[data-question]')") is None


def test_answers_are_those_of_the_data(browser, serve, monkeypatch):
    """What a button says is what a response names: words and draw cannot be about different lists."""
    served_with(monkeypatch, lambda form: form["questions"][0]["categories"].reverse())
    opened(browser, serve(um.survey.form("Data reversed", {"a": ["no", "yes"]}, 1.0))[0])
    labels = "[...document.querySelectorAll('label.answer:has([name=q0])')].map((label) => label.innerText)"
    assert browser.run(labels) == ["yes", "no"]


@pytest.mark.parametrize(
    ("level", "times"),
    [
        *[(1, "74"), (2, "89"), (4.9, "99.261"), (5, "99.331"), (0.001, "51"), (11.5, "99.999")],
        *[
            (um.PureDP.from_ratio(3), "75"),
            (um.PureDP.from_ratio("7/2"), "78"),
            (um.PureDP.from_ratio(99_999), "99.999"),
        ],
    ],
)
def test_how_sure_somebody_can_be_is_never_understated(browser, serve, level, times):
    """The promise in the page's words, and a box to tick from epsilon 5 on."""
    form = um.survey.form("Sure", {"a": ["no", "yes"]}, level)
    opened(browser, serve(form)[0])
    assert f"at most {times} times in 100" in browser.run(GUESS)
    assert float(times) >= 100 / (1 + math.exp(-form.level.log_growth)) - 1e-9
    assert browser.run(SHOWN % "weak") == (form.level.log_growth > 5)


# ---- a respondent ----

ANSWER = """(() => {
  const truths = %s;
  for (const field of document.querySelectorAll('[data-question]')) {
    const place = truths.shift(), list = field.querySelector('select');
    if (list) list.value = String(place); else field.querySelectorAll('input')[place].checked = true;
  }
  document.querySelector('#questions button').click();
  document.getElementById('send').click();
})()"""
SENT = "document.getElementById('status').textContent.includes('Thank you')"


def survey_through_the_page(browser, serve, people):
    """A form answered by so many simulated people, each with an empty storage; the true shares are returned too."""
    form = um.survey.form("Health", {"Sports?": ["no", "yes", "often"], "Town?": [f"t{i}" for i in range(14)]}, 4.0)
    url, collector = serve(form)
    rng = np.random.default_rng(5)
    truths = np.column_stack([rng.choice(3, people, p=[0.5, 0.3, 0.2]), rng.integers(0, 14, people)])
    for truth in truths.tolist():
        opened(browser, url)
        browser.run(ANSWER % truth)
        browser.wait(SENT)
        browser.run("localStorage.clear()")  # the next one is somebody else
    return form, collector, truths


def assert_estimated(form, collector, truths):
    found = form.estimate(collector.responses())
    assert found.people == len(truths)
    for i, estimate in enumerate(found.estimates):
        k = len(estimate.categories)
        shares, ends = np.bincount(truths[:, i], minlength=k) / len(truths), estimate.interval(1 - 1e-4 / k)
        assert ((ends[:, 0] <= shares) & (shares <= ends[:, 1])).all()


def test_a_survey_through_page_and_collector(browser, serve):
    assert_estimated(*survey_through_the_page(browser, serve, 15))


@pytest.mark.long
def test_a_survey_of_500_through_page_and_collector(browser, serve):
    assert_estimated(*survey_through_the_page(browser, serve, 500))


def test_coverage_of_responses_drawn_by_the_browser(browser, serve):
    """Two hundred repeats of sixty people, drawn by the module: intervals hold the shares as often as they say."""
    form = um.survey.form("Small", {"a": ["no", "yes", "often"]}, 2.0)
    opened(browser, serve(form)[0])
    law, rng = np.array([0.6, 0.3, 0.1]), np.random.default_rng(11)
    truths = rng.choice(3, 200 * 60, p=law)
    script = """(async () => {
      const { draw } = await import('/respond.js');
      return %s.map((truth) => draw(%s, truth)[0]);
    })()"""
    drawn = np.array(browser.run(script % (truths.tolist(), json.dumps(form.to_json()["questions"][0]))))
    names, held = np.array(["no", "yes", "often"]), []
    for repeat in names[drawn].reshape(200, 60):
        ends = form.surveys[0].estimate(repeat.tolist()).interval(0.95)
        held += ((ends[:, 0] <= law) & (law <= ends[:, 1])).tolist()
    assert np.mean(held) > 0.925  # 0.95 at least, three standard errors allowed


def test_reloading_does_not_draw_again(browser, serve):
    """Kept before it is shown; shown again after a reload, and in a second tab; sent once."""
    form = um.survey.form("Kept", {"a": [f"answer {i}" for i in range(12)]}, 1.0)
    url, collector = serve(form)
    opened(browser, url)
    before = len(browser.requests)
    browser.run("document.querySelectorAll('[name=q0]')[4].click()")
    browser.run("document.querySelector('#questions button').click()")
    first = browser.run("document.getElementById('text').value")
    assert form.read([json.loads(first)["responses"]])
    assert browser.run("document.activeElement.id") == "review-title"
    assert browser.run("document.querySelector('[name=q0]:checked')") is None  # the true answer is forgotten
    for _ in range(3):
        opened(browser, url)
        assert browser.run("document.getElementById('text').value") == first
        assert browser.run("document.getElementById('questions').hidden")
    assert not [one for one in browser.requests[before:] if one.endswith("/responses")]  # nothing was sent so far
    browser.run("document.getElementById('send').click()")
    browser.wait(SENT)
    opened(browser, url)
    assert browser.run(SENT)
    assert browser.run("document.getElementById('send').disabled")
    assert collector.responses() == form.read([json.loads(first)["responses"]])
    assert all(one.startswith((url, "data:", "about:")) for one in browser.requests[before:])


def test_by_keyboard_alone(browser, serve):
    """Tab to the answers, space and arrows to choose, Enter to draw; what is missing is said, and gets the focus."""
    form = um.survey.form("Keys", {"a": ["no", "yes"], "b": ["x", "y", "z"]}, 1.0)
    url, collector = serve(form)
    opened(browser, url)
    browser.run("document.querySelector('#questions button').focus()")
    browser.press("Enter")
    browser.wait("document.getElementById('missing').textContent.includes('question 1')")
    assert browser.run("document.activeElement.name") == "q0"
    browser.press(" ")
    browser.press("ArrowDown")
    assert browser.run("document.querySelector('[name=q0]:checked').value") == "1"
    browser.press("Tab")
    assert browser.run("document.activeElement.name") == "q1"
    browser.press(" ")
    browser.press("Tab")
    browser.press("Enter")
    browser.wait("!document.getElementById('review').hidden")
    browser.press("Tab")
    assert browser.run("document.activeElement.id") == "send"
    browser.press("Enter")
    browser.wait(SENT)
    assert len(collector.responses()) == 1


def test_a_weak_promise_is_accepted_first(browser, serve):
    opened(browser, serve(um.survey.form("Weak", {"a": ["no", "yes"]}, 6.0))[0])
    browser.run("document.querySelectorAll('[name=q0]')[1].click()")
    browser.run("document.querySelector('#questions button').click()")
    assert "weak promise" in browser.run("document.getElementById('missing').textContent")
    assert browser.run("document.getElementById('review').hidden")
    browser.run("document.getElementById('accept').click()")
    browser.run("document.querySelector('#questions button').click()")
    assert not browser.run("document.getElementById('review').hidden")


def test_the_page_cannot_reach_anybody_else(browser, serve):
    """The policy forbids it, whatever a script would try."""
    opened(browser, serve(FORMS[0])[0])
    script = "fetch('http://127.0.0.1:9/').then(() => 'reached', () => 'refused')"
    assert browser.run(script) == "refused"
    inline = "const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s);"
    assert browser.run(f"(() => {{ {inline} return window.ran === undefined; }})()")


# ---- phone and screen reader ----

LONG = um.survey.form(
    "A title of some length, with Donaudampfschifffahrtsgesellschaftskapitaenswitwe in it",
    {"A long question? " * 8: ["yes", "no", "Donaudampfschifffahrtsgesellschaftskapitaenswitwe " * 3], "b": range(40)},
    2.0,
)


@pytest.mark.parametrize("wide", [320, 390, 1200])
def test_nothing_is_wider_than_the_screen(browser, serve, wide):
    url, _ = serve(LONG)
    browser.size(wide, 700, phone=wide < 500)
    fits = "document.documentElement.scrollWidth <= window.innerWidth"
    opened(browser, url)
    assert browser.run(fits)
    browser.run("document.querySelectorAll('[name=q0]')[0].click(); document.getElementById('q1').value = '3'")
    browser.run("document.querySelector('#questions button').click()")
    assert browser.run(fits)


def test_fingers_can_hit_every_answer(browser, serve):
    browser.size(390, 800, phone=True)
    opened(browser, serve(LONG)[0])
    tall = "Math.min(...[...document.querySelectorAll('label.answer, select, button')]"
    assert browser.run(tall + ".filter((e) => e.offsetHeight).map((e) => e.offsetHeight))") >= 40


def violations(browser, axe):
    browser.run(f"{axe}; 0")
    found = browser.run("axe.run(document, { resultTypes: ['violations'] }).then((r) => r.violations.map((v) => v.id))")
    return found


@pytest.mark.skipif(axe_source() is None, reason="no axe-core: npm install axe-core, or name axe.min.js in AXE_CORE")
@pytest.mark.parametrize("dark", [False, True])
def test_axe_core_finds_nothing(browser, serve, tmp_path, dark):
    """Form, refusal to go on, review, sent; and the page of results."""
    form = um.survey.form("Axe", {"a": ["no", "yes"], "b": range(30)}, 6.0, introduction="Some words.")
    url, axe = serve(form)[0], axe_source()
    browser.size(390, 800, phone=True, dark=dark)
    opened(browser, url)
    browser.run("document.querySelector('details').open = true")
    assert violations(browser, axe) == []
    browser.run("document.querySelector('#questions button').click()")
    assert violations(browser, axe) == []
    browser.run("document.querySelectorAll('[name=q0]')[1].click(); document.getElementById('q1').value = '3'")
    browser.run("document.getElementById('accept').click(); document.querySelector('#questions button').click()")
    assert violations(browser, axe) == []
    browser.run("document.getElementById('send').click()")
    browser.wait(SENT)
    assert violations(browser, axe) == []
    found = form.estimate([form.respond(["yes", i % 30], accept=True) for i in range(200)])
    results = tmp_path / "results.html"
    results.write_text(results_page(found, tables=[found.cross(0, 1)]), encoding="utf-8")
    browser.visit(results.as_uri())
    assert violations(browser, axe) == []
