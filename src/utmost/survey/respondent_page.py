"""The page for respondents: one HTML file and one small ES module, in which their own browser draws the response.

Nothing is fetched from other sites, and a policy in the page forbids it. The words are for people who know nothing of
privacy levels; a response is shown before it is sent. The module fills in questions, guarantee and acceptance from the
data that it has proved and draws from: a page with changed data shows the guarantee of those data.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from utmost.errors import CannotCertify, InvalidInput
from utmost.exact.saved import require_ours
from utmost.mechanism.violations import growth_floor
from utmost.survey.form import Form
from utmost.theory.local.design.survey import Survey

PAGE, MODULE = "index.html", "respond.js"
MOST_ODDS = 99_999
"""The largest e^epsilon that a page can state, as in `respond.js`: a guess is right at most 99.999 times in 100."""
STYLE = (
    ":root{color-scheme:light dark;--page:#fff;--ink:#1d2126;--soft:#51575f;--line:#c9ced6;--strong:#1f5fa8;"
    "--strong-ink:#fff;--card:#f4f6f9;--bad:#a3231f}"
    "@media(prefers-color-scheme:dark){:root{--page:#16181b;--ink:#e9eaec;--soft:#b3b8c0;--line:#454b54;--strong:#8fbcf2;"
    "--strong-ink:#10151b;--card:#22262b;--bad:#ffaaa5}}"
    "*{box-sizing:border-box}"
    "body{font:1.0625rem/1.5 system-ui,sans-serif;margin:0;color:var(--ink);background:var(--page);"
    "overflow-wrap:anywhere}"
    "main{max-width:40rem;margin:0 auto;padding:1.5rem 1rem 4rem}"
    "h1{font-size:1.6rem;line-height:1.25;margin:.5rem 0 1rem}h2{font-size:1.25rem;margin:2rem 0 .5rem}"
    "[tabindex='-1']:focus{outline:none}"
    ".promise{background:var(--card);border-left:.3rem solid var(--strong);padding:.75rem 1rem;border-radius:.25rem}"
    ".promise p{margin:.4rem 0}"
    "fieldset{border:1px solid var(--line);border-radius:.5rem;margin:1.25rem 0;padding:.5rem 1rem 1rem;min-width:0}"
    "legend{font-weight:600;float:left;width:100%;padding:.5rem 0 .25rem}legend+*{clear:both}"
    "label.answer{display:flex;gap:.75rem;align-items:center;padding:.65rem .5rem;border-radius:.4rem;cursor:pointer}"
    "label.answer:hover{background:var(--card)}"
    "input[type=radio],input[type=checkbox]{width:1.3rem;height:1.3rem;flex:none;accent-color:var(--strong)}"
    "select,textarea{font:inherit;width:100%;padding:.6rem;color:inherit;background:var(--page);"
    "border:1px solid var(--soft);border-radius:.4rem}"
    "textarea{font-family:ui-monospace,monospace;font-size:.9rem;min-height:6rem}"
    "button{font:inherit;font-weight:600;padding:.75rem 1.25rem;margin:.25rem .5rem .25rem 0;border-radius:.5rem;"
    "border:2px solid var(--strong);background:var(--page);color:var(--strong);cursor:pointer}"
    "button.main{background:var(--strong);color:var(--strong-ink)}"
    "button:disabled{cursor:default;border-color:var(--soft);background:var(--page);color:var(--soft)}"
    ":focus-visible{outline:3px solid var(--strong);outline-offset:3px}"
    "dt{font-weight:600;margin-top:1rem}dd{margin:.1rem 0 0;padding:.5rem .75rem;background:var(--card);"
    "border-radius:.4rem}"
    "summary{cursor:pointer;padding:.5rem 0}.small{color:var(--soft);font-size:.95rem}"
    "#missing,#reason{color:var(--bad);font-weight:600}[hidden]{display:none!important}"
    "@media(max-width:30rem){button{width:100%;margin-right:0}}"
)


def write_page(asked: Form | Survey, folder: str | os.PathLike[str], send: str = "") -> Path:
    """Write the page of a form into a folder: `index.html` and `respond.js`, for any web server.

    Parameters
    ----------
    asked : Form or Survey
        The form. It must prove its level: the page checks it again in every browser.
    folder : path
        The folder for both files; made if it does not exist. Files of these names not made by Utmost are not replaced.
    send : str
        The address for responses: one beginning with https://, or a path on the same server, such as "responses".
        Without it, people copy the response or save it as a file.

    Examples
    --------
    >>> import tempfile, utmost as um
    >>> pets = um.survey.form("Pets in 2026", {"Do you have a cat?": ["no", "yes"]}, 1.0)
    >>> write_page(pets, tempfile.mkdtemp()).name
    'index.html'
    """
    text = page_of_form(asked, send)
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
        require_ours(target / PAGE)
        require_ours(target / MODULE, module_text().partition("\n")[0])
        (target / MODULE).write_text(module_text(), encoding="utf-8", newline="\n")
        (target / PAGE).write_text(text, encoding="utf-8", newline="\n")
    except OSError as problem:
        raise InvalidInput(f"{target} cannot be written: {problem.strerror or problem}; name another folder.") from None
    return target / PAGE


def module_text() -> str:
    """The module that draws in the browser, the same for every form."""
    return files("utmost.survey").joinpath(MODULE).read_text(encoding="utf-8")


def page_of_form(design: Form | Survey, send: str = "") -> str:
    """The page of a form, as HTML."""
    form = Form.of(design) if isinstance(design, Survey) else design
    if not form.verify():
        raise CannotCertify(f"the integers of this form do not prove {form.level}; make the form again.")
    require_stateable(form)
    for survey in form.surveys:
        for name in survey.categories:
            if _beyond_browsers(name):
                raise InvalidInput(f"the answer {name!r} is a number that browsers round; write it as text.")
    policy = (
        f"default-src 'none'; script-src 'self'; style-src '{_hash(STYLE)}'; connect-src {_origin(send)}; "
        "base-uri 'none'; form-action 'none'"
    )
    data = json.dumps({"form": form.to_json(), "identity": form.identity, "send": send}, ensure_ascii=False)
    data = data.replace("<", "\\u003c")  # no text of the form ends the element
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="generator" content="Utmost">
<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">
<meta name="viewport" content="width=device-width,initial-scale=1"><meta name="referrer" content="no-referrer">
<title>{html.escape(form.title)}</title><style>{STYLE}</style></head><body><main>
<h1 id="title">{html.escape(form.title)}</h1>
{PROMISE}
<noscript><p>This page needs JavaScript: your own browser has to draw the response, so that nobody else sees your
answers.</p></noscript>
<p id="loading">One moment… If nothing happens, open this page from its web address and not as a file.</p>
<div id="refused" role="alert" hidden><h2>This form is refused</h2><p id="reason"></p></div>
<form id="questions" autocomplete="off" novalidate hidden>
<div id="asked"></div>
{ACCEPTANCE}
<p id="missing" role="alert"></p>
<button class="main" type="submit">Draw my response</button>
<p class="small">Nothing is sent yet. Your browser draws a response and shows it to you first.</p>
</form>
<section id="review" aria-labelledby="review-title" hidden>
<h2 id="review-title" tabindex="-1">This is what will be sent, and nothing else</h2>
<p id="again" hidden>This response was drawn on this device before and is kept: drawing again would tell more about
you.</p>
<p>It was drawn at random. It may or may not name your own answers: <strong>whatever you chose, each of the possible
answers could have been sent.</strong></p>
<dl id="responses"></dl>
<h2 id="sending"></h2>
<button type="button" id="send" class="main" hidden>Send</button><button type="button" id="copy">Copy the text</button>
<button type="button" id="save">Save it as a file</button>
<p id="status" role="status"></p>
<label for="text">The same as text, exactly as it is sent:</label>
<textarea id="text" readonly></textarea>
</section>
</main>
<script type="application/json" id="form-data">{data}</script>
<script type="module" src="{MODULE}"></script>
</body></html>
"""


def _beyond_browsers(name: Any) -> bool:
    """Whether a name holds an integer that JavaScript cannot represent exactly."""
    if isinstance(name, tuple):
        return any(map(_beyond_browsers, name))
    return isinstance(name, int) and abs(name) > 2**53


def require_stateable(form: Form) -> None:
    """Refuse a level so weak that the page's guarantee, rounded up, would be 100 times in 100."""
    growth = growth_floor(form.level)
    if growth is None or growth > MOST_ODDS:
        raise InvalidInput(
            f"the form has {form.level} in all; a page cannot state a promise weaker than epsilon = 11.5, at which a "
            "guess is right 99.999 times in 100. Make the form with a smaller epsilon."
        )


PROMISE = """<div id="introduction"></div>
<div class="promise" id="promise" hidden><p><strong>Nobody sees your answers, not even those who ask.</strong> Your own
browser mixes them with chance before anything leaves this device. Whatever you choose, each of the possible answers
could be what is sent.</p>
<p id="guess"></p>
<details><summary>How does this work?</summary><p>It is as if you rolled dice in secret, and the dice decided whether to
say the truth. Nobody can tell from one response, but from many the totals can be worked out.</p>
<ul id="shares"></ul><p id="level"></p></details></div>"""
"""The guarantee in plain words, with a details section; the module adds the numbers."""
ACCEPTANCE = """<fieldset id="weak" hidden><legend>A weak promise</legend><label class="answer"><input type="checkbox"
id="accept"><span>I know that this promise is weak, and that somebody who sees my response can be nearly sure of my
answers. I take part all the same.</span></label></fieldset>"""
"""A box that must be ticked for a weak guarantee; the module shows it and asks for it."""


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _origin(send: str) -> str:
    """The origin that the page may connect to: that of the address for responses, or none."""
    if not send:
        return "'none'"
    parts = urlsplit(send)
    if not parts.scheme and not parts.netloc and not any(c in send for c in " ;,'\"\\"):
        return "'self'"
    local = parts.hostname in ("localhost", "127.0.0.1", "::1")
    safe = parts.scheme == "https" or (parts.scheme == "http" and local)
    if safe and parts.netloc and not any(c in parts.netloc for c in " ;,'\"\\@"):
        return f"{parts.scheme}://{parts.netloc}"
    raise InvalidInput(
        f"responses would be sent to {send!r}; give an address that begins with https://, or a path on the same server."
    )
