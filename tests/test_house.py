"""The house itself: its names."""

from collections import defaultdict
from pathlib import Path

import utmost

SOURCE = Path(utmost.__file__).parent
SAME_THING = {
    "arguments": "what may be given to the functions of one package, checked at its door",
    "budget": "what is left of a budget, and the command that shows it",
    "canonical": "canonical noise: its law, and which is best",
    "choices": "one of a few candidates: the law, its check, and the kind of question",
    "covariance": "the covariance: its noise, and the question",
    "discovery": "keys found privately: the best way to find them, and its check",
    "finite": "finitely many results: the matrix, and the check of what `design/finite` makes of it",
    "gaussian": "the normal law: the level, the noise that keeps it, and what levels of the kind add up to",
    "lattice": "noise on vectors of integers: its law, and which is best",
    "line": "the line of integers: what can be said of any number on it, and the best yes or no and number",
    "local": "local privacy: the check and the pictures of what `design/local` makes",
    "marginals": "marginal tables: their noise, and the question",
    "mean": "the mean: its noise, and the question",
    "variance": "the variance: its noise, and the question",
    "nearby": "one dataset in a space too large to list, with two answers or with several",
    "partitions": "letters cut into blocks: the best cut, and the bound on all",
    "patterns": "patterns of letters: what they carry, and the bound on all",
    "plurality": "the winner of a vote: its design, and the question",
    "quantiles": "one of several quantiles: the mechanisms, and several at once as a question",
    "survey": "a survey: what it is, and the command that runs it",
    "window": "errors in a window: the evidence, and the check of it",
}
"""Names that several modules have, because they are about one thing: in each of the layers, what that layer does."""


def modules() -> list[str]:
    """Every module as a path below the package, without those that stand for a package."""
    paths = (path.relative_to(SOURCE).with_suffix("") for path in sorted(SOURCE.rglob("*.py")))
    return [path.as_posix() for path in paths if not path.name.startswith("__")]


def test_no_two_modules_have_one_name_for_two_things():
    found = defaultdict(list)
    for module in modules():
        found[module.rpartition("/")[2]].append(module)
    shared = {name: places for name, places in found.items() if len(places) > 1}
    assert {name: places for name, places in shared.items() if name not in SAME_THING} == {}
    assert SAME_THING.keys() - shared.keys() == set()  # no longer shared: take it off the list
