"""Problem files: a question in TOML, read, checked and solved.

design = "balanced"                 # or best_boundary, extend; optimal, tight_constraints; rainbow.extend, ...

[space]
family = "counts"                   # or points = [...] and edges = [["a", "b"], ...]
people = 101

[truth]
at_least = 51                       # or yes_at = [...], or values = { a = "red", b = "blue" }

[privacy]
epsilon = 1.0                       # or ratio = "3/2"; delta = 1e-6; or mu = 1.0, or rho = 0.5
"""

from __future__ import annotations

import math
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from utmost.design import binary, finite, local, rainbow
from utmost.errors import InvalidInput
from utmost.exact import Number, as_rational
from utmost.privacy import ApproxDP, Level, PureDP
from utmost.privacy.level_text import NAMED_LEVELS
from utmost.solution import Solution
from utmost.space import Space, label_from_json
from utmost.space.edge_levels import EdgeLevels, per_edge
from utmost.space.families import space_from_json
from utmost.space.line import Line
from utmost.theory.scalar.design.line import best_on_line

LEVEL_ENTRIES = ("epsilon", "ratio", *NAMED_LEVELS)
"""The entries that name a level; exactly one of them is given."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)


class LevelTable(_Strict):
    """A privacy level: epsilon or ratio (with delta), or rho (zCDP), or mu (Gaussian)."""

    epsilon: float | str | None = None
    ratio: int | float | str | None = None
    delta: float | str = 0
    rho: float | str | None = None
    mu: float | str | None = None

    def level(self) -> Level:
        """The level that these entries describe."""
        names = [name for name in LEVEL_ENTRIES if getattr(self, name) is not None]
        if len(names) != 1:
            raise InvalidInput(
                f"a level needs exactly one of epsilon, ratio, rho and mu, not {names or 'none of them'}."
            )
        delta = as_rational(self.delta, "delta")
        if names[0] in NAMED_LEVELS:
            if delta:
                raise InvalidInput(
                    f"delta is {self.delta!r}, but a level by {names[0]} has none; drop delta, or give epsilon."
                )
            return NAMED_LEVELS[names[0]](getattr(self, names[0]))
        if self.ratio is not None:
            return ApproxDP.from_ratio(self.ratio, delta) if delta else PureDP.from_ratio(self.ratio)
        assert self.epsilon is not None
        return ApproxDP(self.epsilon, delta) if delta else PureDP(self.epsilon)


class EdgeTable(LevelTable):
    """The level of one edge."""

    between: tuple[Any, Any]


class PrivacyTable(LevelTable):
    """The level of all edges, with exceptions for some."""

    edges: list[EdgeTable] = Field(default_factory=list)

    def on(self, space: Space) -> Level | EdgeLevels:
        """The level, or levels by edge, on a space."""
        if not self.edges:
            return self.level()
        mapping: dict[tuple[Any, Any], Level | Number] = {}
        for edge in self.edges:
            one, other = (label_from_json(end) for end in edge.between)
            if (one, other) in mapping:
                raise InvalidInput(
                    f"the edge between {one!r} and {other!r} stands twice in privacy.edges; name it once."
                )
            mapping[one, other] = edge.level()
        has_default = any(getattr(self, name) is not None for name in LEVEL_ENTRIES)
        return per_edge(space, mapping, default=self.level() if has_default else None)


class TruthTable(_Strict):
    """The right answer at every point."""

    at_least: float | None = None
    yes_at: list[Any] | None = None
    values: dict[str, Any] | None = None

    def on(self, space: Space, outputs: tuple[Any, Any]) -> list[Any]:
        """The right answer at each point of a space, in order."""
        names = [name for name in ("at_least", "yes_at", "values") if getattr(self, name) is not None]
        if len(names) != 1:
            raise InvalidInput(
                f"truth needs exactly one of at_least, yes_at and values, not {names or 'none of them'}."
            )
        if self.at_least is not None:
            if not isinstance(space.points, range):
                raise InvalidInput("truth.at_least needs points that are numbers; use yes_at or values.")
            return [outputs[p >= self.at_least] for p in space.points]
        if self.yes_at is not None:
            yes = {space.index(label_from_json(p)) for p in self.yes_at}
            return [outputs[i in yes] for i in range(len(space.points))]
        assert self.values is not None
        return list(space.align(self.values, "truth.values"))


Distribution: TypeAlias = dict[str, float | str] | list[float | str]
"""Probabilities by output, or in the order of a ranking."""


class RankingTable(_Strict):
    """One ranking of the outputs: which points have it, and the mechanism at its boundary."""

    order: list[Any]
    at: list[Any] | None = None
    at_least: float | None = None
    boundary: Distribution | None = None

    @property
    def rainbow(self) -> tuple[Any, ...]:
        """The outputs, best first."""
        return tuple(label_from_json(output) for output in self.order)


def _preferences(tables: list[RankingTable], space: Space) -> list[tuple[Any, ...]]:
    """The ranking at each point: the one that names it, else the last that starts at or below it, else the default."""
    defaults = [table.rainbow for table in tables if table.at is None and table.at_least is None]
    if len(defaults) > 1:
        raise InvalidInput(
            f"{len(defaults)} rankings have neither at nor at_least; only one can hold at all the other points."
        )
    if any(table.at is not None and table.at_least is not None for table in tables):
        raise InvalidInput("a ranking has both at and at_least; give one of them, and a second table for the other.")
    rankings: list[tuple[Any, ...] | None] = [defaults[0] if defaults else None] * len(space.points)
    starts = sorted((t.at_least, i) for i, t in enumerate(tables) if t.at_least is not None)
    if starts and not isinstance(space.points, range):
        raise InvalidInput("at_least needs points that are numbers; list the points in at.")
    for (start, i), (next_start, _) in pairwise([*starts, (math.inf, -1)]):
        if start == next_start:
            raise InvalidInput(f"two rankings start at_least at {start:g}; give each its own start.")
        for position, point in enumerate(space.points):
            if start <= point < next_start:
                rankings[position] = tables[i].rainbow
    positions: set[int] = set()
    for table in tables:
        for point in table.at or ():
            position = space.index(label_from_json(point))
            if position in positions:
                raise InvalidInput(f"two rankings name the point {point!r}; name it once.")
            positions.add(position)
            rankings[position] = table.rainbow
    for point, ranking in zip(space.points, rankings, strict=True):
        if ranking is None:
            raise InvalidInput(f"no ranking holds at {point!r}; name it, or leave at and at_least out of one table.")
    return [ranking for ranking in rankings if ranking is not None]


def _boundaries(tables: list[RankingTable]) -> dict[tuple[Any, ...], Any]:
    """The mechanism at the boundary of each ranking that states one."""
    boundaries: dict[tuple[Any, ...], Any] = {}
    for table in tables:
        if table.boundary is not None:
            if boundaries.get(table.rainbow, table.boundary) != table.boundary:
                raise InvalidInput(f"the ranking {table.rainbow!r} has two boundaries; it can have one.")
            boundaries[table.rainbow] = table.boundary
    return boundaries


class LineTable(_Strict):
    """The range of an integer, and its sensitivity (`reach`)."""

    first: int = 0
    last: int
    reach: int = 1
    unbiased: bool = False

    def on(self) -> Line:
        """The line that these entries describe."""
        return Line(self.first, self.last, self.reach)


class KnownValue(_Strict):
    """The mechanism at one point."""

    point: Any
    value: float | str | Distribution


class ProblemFile(_Strict):
    """A whole problem file."""

    design: Literal[
        "balanced",
        "best_boundary",
        "extend",
        "optimal",
        "tight_constraints",
        "rainbow.best_boundary",
        "rainbow.extend",
        "rainbow.lexicographic",
        "noise",
        "testing",
        "information",
    ] = "balanced"
    outputs: tuple[Any, Any] | None = None
    space: dict[str, Any] | None = None
    line: LineTable | None = None
    p0: list[float] | None = None
    p1: list[float] | None = None
    divergence: str | None = None
    truth: TruthTable | None = None
    privacy: PrivacyTable
    rankings: list[RankingTable] | None = None
    known: dict[str, float | str | Distribution] | list[KnownValue] | None = None
    weights: list[float] | None = None
    prior: list[float] | None = None
    loss: str | list[list[float]] | None = None
    criterion: Literal["average", "worst"] | None = None

    def solve(self) -> Solution:
        """The solution of the problem."""
        self._require_entries()
        if self.space is None:
            return self._solve_without_space()
        space = _space(self.space)
        privacy, criterion = self.privacy.on(space), self.criterion or "average"
        if self.design == "tight_constraints":
            return finite.tight_constraints(space, privacy)
        if self.design == "optimal":
            return finite.optimal(space, privacy, self.prior, self.loss or "zero-one", criterion)
        entries = self.known or {}
        pairs = entries.items() if isinstance(entries, dict) else [(label_from_json(k.point), k.value) for k in entries]
        known_values: dict[Any, Any] = dict(pairs)
        if self.rankings is not None:
            return self._solve_ranked(space, privacy, known_values)
        outputs = self.outputs or (False, True)
        assert self.truth is not None
        truth = self.truth.on(space, outputs)
        if self.design == "balanced":
            return binary.balanced(space, truth, privacy, outputs)
        if self.design == "best_boundary":
            return binary.best_boundary(space, truth, privacy, self.prior, criterion, outputs)
        return binary.extend(space, truth, known_values, privacy, outputs)

    def _solve_without_space(self) -> Solution:
        """The solution of a problem without a graph: noise on a line, or a local mechanism."""
        level = self.privacy.level()
        if self.privacy.edges:
            raise InvalidInput(f"design = {self.design!r} has one level; drop privacy.edges.")
        if self.line is not None:
            if isinstance(self.loss, list):
                raise InvalidInput("the loss of a number goes by its name, such as 'absolute' or 'within 5'.")
            return best_on_line(self.line.on(), level, self.loss or "absolute", self.prior, self.line.unbiased)
        if self.design == "information":
            return local.for_information(self.prior or [], level)
        return local.for_testing(self.p0 or [], self.p1 or [], level, self.divergence or "kl")

    def _solve_ranked(self, space: Space, privacy: Level | EdgeLevels, known_values: dict[Any, Any]) -> Solution:
        """The solution of a problem with ranked answers."""
        assert self.rankings is not None
        preferences, boundaries = _preferences(self.rankings, space), _boundaries(self.rankings)
        if self.design == "rainbow.extend":
            return rainbow.extend(space, preferences, boundaries, privacy)
        if boundaries:
            raise InvalidInput(f"a boundary belongs to design = rainbow.extend, not to {self.design!r}; drop it.")
        if self.design == "rainbow.best_boundary":
            return rainbow.best_boundary(space, preferences, privacy, self.weights, self.prior)
        return rainbow.lexicographic(space, preferences, known_values, privacy)

    def _require_entries(self) -> None:
        """Refuse entries that this design does not use, and missing ones that it needs."""
        mandatory, optional = ENTRIES[self.design]
        for name in ENTRY_NAMES:
            present = getattr(self, name) is not None
            if present and name not in mandatory | optional:
                owners = ", ".join(d for d, (a, b) in ENTRIES.items() if name in a | b)
                raise InvalidInput(f"{name} belongs to design = {owners}, not to {self.design!r}; drop it.")
            if not present and name in mandatory:
                raise InvalidInput(f"design = {self.design!r} needs {name}; add it.")


ENTRIES: dict[str, tuple[set[str], set[str]]] = {
    "balanced": ({"space", "truth"}, {"outputs"}),
    "best_boundary": ({"space", "truth"}, {"outputs", "prior", "criterion"}),
    "extend": ({"space", "truth", "known"}, {"outputs"}),
    "optimal": ({"space"}, {"prior", "loss", "criterion"}),
    "tight_constraints": ({"space"}, set()),
    "rainbow.best_boundary": ({"space", "rankings"}, {"weights", "prior"}),
    "rainbow.extend": ({"space", "rankings"}, set()),
    "rainbow.lexicographic": ({"space", "rankings", "known"}, set()),
    "noise": ({"line"}, {"loss", "prior"}),
    "testing": ({"p0", "p1"}, {"divergence"}),
    "information": ({"prior"}, set()),
}
"""For each design, its mandatory entries beside privacy, and its optional ones."""
ENTRY_NAMES = tuple(sorted({name for both in ENTRIES.values() for names in both for name in names}))


def solve_file(path: Path) -> Solution:
    """Read a problem file and solve it."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise InvalidInput(f"{path} cannot be read: {problem.strerror or problem}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise InvalidInput(f"{path} is not TOML: {problem}.") from None
    try:
        return ProblemFile.model_validate(content).solve()
    except ValidationError as problem:
        first = problem.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise InvalidInput(f"{path}: the entry {where!r} is wrong: {first['msg']}.") from None


def _space(table: dict[str, Any]) -> Space:
    if "family" in table:
        return space_from_json(table)
    if unknown := set(table) - {"points", "edges"}:
        raise InvalidInput(f"space has no entry {sorted(unknown)[0]!r}; give a family, or points and edges.")
    edges = [tuple(label_from_json(end) for end in edge) for edge in table.get("edges", [])]
    points = [label_from_json(p) for p in table["points"]] if "points" in table else None
    return Space.from_edges(edges, points)
