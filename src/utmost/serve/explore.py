"""Interactive pages on the theories, without a table: sliders, a picture, the numbers, the proof, and Python code."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from utmost.accounting import compose
from utmost.design import binary, finite, local, multiparty, rainbow
from utmost.errors import InvalidInput, shown
from utmost.exact import as_rational
from utmost.queries.report.pictures import bars
from utmost.serve.drawings import curve, number, steps
from utmost.space.families import counts
from utmost.space.integers import Tallies

EPSILON = ("epsilon", "privacy ε: smaller tells less about each person", 0.1, 3.0, 0.1, 1.0)


@dataclass(frozen=True)
class Slider:
    """A slider for a number."""

    name: str
    label: str
    least: float
    most: float
    step: float
    start: float

    def read(self, text: str | None) -> Any:
        """Parse a number within the slider's range; a whole number if the steps are whole."""
        try:
            value = self.start if text is None or not text.strip() else float(text.encode("ascii"))
        except ValueError:
            value = math.nan
        if not self.least <= value <= self.most:
            raise InvalidInput(f"{self.name} is {shown(text)}; give a number from {self.least:g} to {self.most:g}.")
        return round(value) if float(self.step).is_integer() else float(f"{value:.6g}")


@dataclass(frozen=True)
class View:
    """The content of a topic at some values of its sliders."""

    picture: str
    facts: tuple[tuple[str, str], ...]
    proof: tuple[tuple[str, bool, str], ...]
    code: str


@dataclass(frozen=True)
class Topic:
    """A topic: its question in words, its sliders, and the function that makes its view."""

    name: str
    title: str
    words: str
    sliders: tuple[Slider, ...]
    make: Callable[..., View]

    def read(self, query: Mapping[str, str]) -> dict[str, Any]:
        """The values of the sliders in a query string."""
        return {slider.name: slider.read(query.get(slider.name)) for slider in self.sliders}

    def show(self, values: Mapping[str, Any]) -> View:
        """The view at these values."""
        return _cached_view(self.name, tuple(sorted(values.items())))


@lru_cache(maxsize=256)
def _cached_view(name: str, values: tuple[tuple[str, Any], ...]) -> View:
    return TOPICS[name].make(**dict(values))


def majority(people: int, epsilon: float) -> View:
    """A majority of n people: the optimal yes or no."""
    half = people // 2
    solution = binary.balanced(counts(people), lambda yes: yes > half, epsilon)
    near = [max(0, half - 20), min(people, half + 21)]
    chances = [float(solution.mechanism.probability(yes, True)) for yes in range(near[0], near[1] + 1)]
    closest = float(solution.mechanism.probability(half + 1, True))
    return View(
        steps(
            [
                (f"{near[0]} say yes", chances[0]),
                *((str(near[0] + i), c) for i, c in enumerate(chances[1:-1], 1)),
                (f"{near[1]} say yes", chances[-1]),
            ],
            "How likely the answer is “yes”, by how many said yes: a step that is as steep as the promise allows.",
            "Pr[yes]",
        ),
        (
            ("right on average over all counts", f"{solution.value:.6f}"),
            ("right in the closest race", f"{closest:.6f}"),
            ("optimal", f"{solution.certificate.reason}: no private answer is right more often at any count"),
        ),
        _checks(solution.verify()),
        "import utmost as um\n"
        f"solution = um.binary.balanced(um.counts({people}), lambda yes: yes > {half}, {epsilon})\n"
        "print(solution, solution.verify())",
    )


def winner(candidates: int, people: int, epsilon: float) -> View:
    """A vote among several candidates: the mechanism with the least probability of a wrong winner."""
    tallies = Tallies(candidates, people, "add-remove")
    solution = rainbow.best_winner(tallies, epsilon, programs=False)
    lead = range(0, min(41, people // 2))
    behind = [(people - ahead) // candidates for ahead in lead]
    tallied = np.array([[b + ahead] + [b] * (candidates - 1) for ahead, b in zip(lead, behind, strict=True)])
    chances = [float(row[0]) for row in solution.mechanism.probabilities(tallied)]
    picture = curve(
        {"": (list(lead), chances)},
        "votes that the first is ahead of the second",
        "Pr[the true winner]",
        "How likely the true winner is named, by the lead.",
    )
    certificate = solution.certificate
    bound = "" if certificate.bound is None else f", and no private mechanism is below {certificate.bound:.4g}"
    return View(
        picture,
        (
            ("a wrong name, on average over all tallies", f"{solution.value:.4g}{bound}"),
            ("mechanism", certificate.method),
            ("why", certificate.reason),
        ),
        _checks(solution.verify()),
        "from utmost.design.rainbow import best_winner; from utmost.space.integers import Tallies\n"
        f'solution = best_winner(Tallies({candidates}, {people}, "add-remove"), {epsilon}, programs=False)\n'
        "print(solution, solution.verify())",
    )


def prior(people: int, expected: float, epsilon: float) -> View:
    """A count with an informative prior: noise with optimal post-processing."""
    share = as_rational(str(expected))
    beliefs = [math.comb(people, k) * float(share) ** k * float(1 - share) ** (people - k) for k in range(people + 1)]
    solution = finite.optimal(counts(people), epsilon, beliefs, loss="absolute")
    flat = finite.optimal(counts(people), epsilon, loss="absolute").mechanism.expected_loss(beliefs, "absolute", "none")
    likely = round(people * expected)
    row = [float(solution.mechanism.probability(likely, k)) for k in range(people + 1)]
    first, last = (f"answer {k}" for k in (0, people))
    return View(
        steps(
            [(first, row[0]), *((str(k), row[k]) for k in range(1, people)), (last, row[people])],
            f"How likely each answer is when the truth is {likely}.",
            "probability",
            likely,
        ),
        (
            ("expected error with this prior", f"{solution.value:.4g}"),
            ("the same, designed for no prior", f"{float(flat):.4g}"),
            ("optimal", solution.certificate.reason),
        ),
        _checks(solution.verify()),
        "import math; import utmost as um\n"
        f"prior = [math.comb({people}, k) * {expected}**k * (1 - {expected})**({people} - k) "
        f"for k in range({people + 1})]\n"
        f'print(um.finite.optimal(um.counts({people}), {epsilon}, prior, loss="absolute").verify())',
    )


def survey(answers: int, people: int, epsilon: float) -> View:
    """A survey under local privacy: every respondent's device adds the noise."""
    names = [f"answer {i + 1}" for i in range(answers)]
    mechanism = local.survey(names, epsilon)
    sizes = sorted({max(10, round(people * 10 ** (i / 4))) for i in range(-6, 5)} | {people})
    errors = [mechanism.standard_error(size) for size in sizes]
    expected = mechanism.standard_error(people)
    return View(
        curve(
            {"": (sizes, errors)},
            "people who answer",
            "standard error of a share",
            "How far an estimated share is from the truth, by how many people answer.",
            (people, expected),
            True,
        ),
        (
            ("standard error of a share", f"{expected:.4f}"),
            ("a response names", f"{mechanism.size} of {answers} answers"),
            ("optimal", str(mechanism.optimal)),
        ),
        (
            (
                "privacy",
                bool(mechanism.verify()),
                "the probability of a response changes by a factor of at most e^ε, proved exactly",
            ),
        ),
        "import utmost as um\n"
        f"survey = um.local.survey({names}, {epsilon})\n"
        f"print(survey, survey.standard_error({people}), survey.respond({names[0]!r}))",
    )


def parties(people: int, epsilon: float) -> View:
    """Several parties with one bit each, and one function of all bits."""
    functions = {name: multiparty.optimal(name, [epsilon] * people) for name in ("majority", "and", "or", "xor")}
    protocol = functions["majority"]
    return View(
        bars(
            {name: design.value() for name, design in functions.items()},
            "Pr[the right answer], by function.",
            "majority",
        ),
        (
            ("right about the majority", f"{protocol.value():.6f}"),
            ("every party says", "its bit, after randomised response: the best protocol there is, interactive or not"),
        ),
        _checks(protocol.verify()),
        "import utmost as um\n"
        f'protocol = um.multiparty.optimal("majority", [{epsilon}] * {people})\n'
        "print(protocol.value(), protocol.verify())",
    )


def composition(releases: int, epsilon: float, delta: int) -> View:
    """Composition: many releases about the same people."""
    small = f"1e-{delta}"
    many = sorted({1, releases, *(max(1, round(releases * i / 6)) for i in range(1, 7))})
    exact = [compose(epsilon, times=k).epsilon(small) for k in many]
    total = compose(epsilon, times=releases)
    low, high = total.bounds(total.epsilon(small))
    return View(
        curve(
            {"exactly": (many, exact), "the sum": (many, [epsilon * k for k in many])},
            "releases",
            "ε of all together",
            f"What {releases} releases of ε = {epsilon:g} promise together at δ = {small}.",
            (releases, exact[-1]),
        ),
        (
            ("together, exactly", f"ε = {exact[-1]:.5g} at δ = {small}"),
            ("the sum says", f"ε = {number(epsilon * releases)} at δ = 0"),
        ),
        (("bounds", as_rational(high) <= as_rational(small), f"δ at this ε lies in [{low:.6g}, {high:.6g}]"),),
        f"import utmost as um\ntogether = um.compose({epsilon}, times={releases})\nprint(together.epsilon({small}))",
    )


def _checks(verification: Any) -> tuple[tuple[str, bool, str], ...]:
    return tuple((check.name, bool(check.passed), check.detail) for check in verification.checks)


def _topic(name: str, title: str, words: str, make: Callable[..., View], *sliders: tuple[Any, ...]) -> Topic:
    return Topic(name, title, words, tuple(Slider(*values) for values in sliders), make)


TOPICS = {
    topic.name: topic
    for topic in (
        _topic(
            "majority",
            "A majority",
            "Do more than half of n people say yes? One private yes or no.",
            majority,
            ("people", "people", 3, 501, 2, 101),
            EPSILON,
        ),
        _topic(
            "winner",
            "A winner",
            "Which candidate has the most votes?",
            winner,
            ("candidates", "candidates", 2, 8, 1, 3),
            ("people", "votes at most", 50, 5000, 50, 1000),
            EPSILON,
        ),
        _topic(
            "prior",
            "A count with a prior",
            "How many are there, if something is known beforehand?",
            prior,
            ("people", "people", 5, 80, 1, 30),
            ("expected", "expected share", 0.05, 0.95, 0.05, 0.3),
            EPSILON,
        ),
        _topic(
            "survey",
            "A survey",
            "Everybody's own device adds the noise; nobody is trusted.",
            survey,
            ("answers", "answers to choose from", 2, 40, 1, 4),
            ("people", "people who answer", 100, 20_000, 100, 1000),
            EPSILON,
        ),
        _topic(
            "parties",
            "Several parties",
            "Each has one bit; all want to know a function of all bits.",
            parties,
            ("people", "parties", 2, 9, 1, 5),
            EPSILON,
        ),
        _topic(
            "promises",
            "How promises add up",
            "Many releases about the same people: what do all of them promise?",
            composition,
            ("releases", "releases", 1, 100, 1, 30),
            ("epsilon", "ε of each", 0.05, 1.0, 0.05, 0.1),
            ("delta", "δ is 10 to the minus", 2, 12, 1, 6),
        ),
    )
}
"""All topics by name, in the order of the page."""
