"""Formulas of the documentation as they are read: a hook of ProperDocs that raises exponents and lowers indices.

The pages write e^{-ε}, 2^62 and P_j in plain letters, so that they can be read as text too, and nothing is fetched to
draw them. Code is left as it is.
"""

from __future__ import annotations

import re
from typing import Any

TAG = re.compile(r"(<[^>]*>)")
KEPT = ("code", "pre", "script", "style", "svg", "title", "h1", "h2", "h3", "h4", "h5", "h6")
"""Elements whose text stays as it is written: headings, because links are made of them, and names of functions."""
BRACED = r"\{((?:[^{}]|\{[^{}]*\})*)\}|\(((?:[^()]|\([^()]*\))*)\)"
LETTER = "A-Za-z0-9\u0391-\u03c9\u2080-\u2089\u2113\u2202\u221e"
"""Of indices: Latin and Greek letters, digits, lowered digits, and the signs for a boundary and for infinity."""
QUANTITIES = "".join(
    f"|(?<={word})" for word in ("max", "min", "out", "Phi", "eps", "epsilon", "delta", "tau", "ACC", "Pr")
)
RAISED = re.compile(rf"(?<=[^\s_^({{\[,;])\^(?:{BRACED}|([-−]?[^\W_]+(?:_[^\W_]{{1,2}}(?!\w))?|½|∞|\*|‖z‖))")
LOWERED = re.compile(
    rf"(?<=[^\W_]|[\u0302\u0303')∂∼≤])(?:(?<![A-Za-z]{{2}}){QUANTITIES})"
    rf"_(?:{BRACED}|([{LETTER}]{{1,3}}|blue|blocks)(?![A-Za-z_]))"
)
"""An index: of a single letter, or of a word that is a quantity."""


def on_page_content(html: str, **_: Any) -> str:
    """What ProperDocs calls with the content of every page."""
    inside: list[str] = []
    found = []
    for part in TAG.split(html):
        if part.startswith("<"):
            name = re.match(r"</?([a-zA-Z0-9]+)", part)
            if name and name[1].lower() in KEPT and not part.endswith("/>"):
                inside.pop() if part.startswith("</") and inside else inside.append(name[1].lower())
            found.append(part)
        else:
            found.append(part if inside else typeset(part))
    return "".join(found)


def typeset(text: str) -> str:
    """Plain text with its exponents raised and its indices lowered.

    Examples
    --------
    >>> typeset("e^{−ε n} and 2^62")
    'e<sup>−ε n</sup> and 2<sup>62</sup>'
    >>> typeset("Σ_{i∈S} P_j(x) of read_lists")
    'Σ<sub>i∈S</sub> P<sub>j</sub>(x) of read_lists'
    """
    text = RAISED.sub(lambda m: f"<sup>{typeset(m[1] or m[2] or m[3])}</sup>", text)
    return LOWERED.sub(lambda m: f"<sub>{typeset(m[1] or m[2] or m[3])}</sub>", text)
