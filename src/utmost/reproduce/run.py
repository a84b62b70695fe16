"""Run the entries independently, so that a failure does not stop the rest."""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from utmost.errors import InvalidInput
from utmost.reproduce.entry import COMPUTATIONS, PAPERS, Claim, Entry, Judgement, claims, judge, plain


def run(
    keys: Iterable[str] = (),
    *,
    quick: bool = False,
    pictures: Path | None = None,
    started: Callable[[Claim], Any] | None = None,
    finished: Callable[[Entry], Any] | None = None,
) -> list[Entry]:
    """Compute the chosen claims, or all of them, and judge each.

    Parameters
    ----------
    keys : iterable of str
        Papers ("BIN"), items ("BIN-example-3") or beginnings of items ("LIM-figure-3"), in any case; all if empty.
    quick : bool
        Reduced sizes: fewer random instances, smaller tables.
    pictures : Path, optional
        A folder for the pictures; None draws none.
    started, finished : callable, optional
        Called before and after each entry, for a progress bar.

    Examples
    --------
    >>> from utmost.reproduce import run
    >>> entry = run(["BIN-example-3"])[0]
    >>> entry.verdict, entry.computed["blue at v2"]
    ('reproduced', 0.4)
    """
    entries = []
    for claim in choose(keys):
        if started:
            started(claim)
        entry = _compute(claim, quick, pictures)
        entries.append(entry)
        if finished:
            finished(entry)
    return entries


def choose(keys: Iterable[str]) -> Sequence[Claim]:
    """The claims with these keys, in the order of the papers; all of them without a key."""
    prefixes = [key.upper() for key in keys]
    available = claims()
    for key in prefixes:
        if not any(_named(claim, key) for claim in available):
            names = {c.key.upper(): c.key for c in available}
            suggestions = [names[name] for name in difflib.get_close_matches(key, names, n=3)]
            hint = f" Did you mean {', '.join(suggestions)}?" if suggestions else f" Papers: {', '.join(PAPERS)}."
            raise InvalidInput(f"no entry is called {key!r}.{hint}")
    return [c for c in available if not prefixes or any(_named(c, key) for key in prefixes)]


def _named(claim: Claim, key: str) -> bool:
    """Whether a key matches a claim: its whole key, or a beginning up to a dash, a dot or the letter of a panel."""
    start, key_of, rest = claim.key.upper().partition(key)
    if start or not key_of:
        return False
    return not rest or rest[0] in "-." or (key[-1].isdigit() and rest[0].isalpha())


def _compute(claim: Claim, quick: bool, pictures: Path | None) -> Entry:
    start = time.perf_counter()
    picture = None
    try:
        finding = COMPUTATIONS[claim.key](claim.given, quick)
        computed = plain(finding.computed)
        judgement = judge(claim, computed)
        if pictures is not None and finding.draw is not None:
            pictures.mkdir(parents=True, exist_ok=True)
            picture = f"{claim.key}.png"
            figure = finding.draw()
            figure.savefig(pictures / picture, dpi=110, bbox_inches="tight")
    except Exception as problem:  # an error of one entry becomes its verdict, and the others still run
        judgement = Judgement("not reproduced", None, None, f"{type(problem).__name__}: {problem}")
        computed, picture = {}, None
    return Entry(claim, computed, *judgement, picture=picture, seconds=time.perf_counter() - start)
