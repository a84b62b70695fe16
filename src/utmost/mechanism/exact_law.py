"""Mechanisms with an exact law: rational parameters, exact draws, and a self-contained proof of privacy.

Other mechanisms are tables of floats that `certify` turns into integers. Noise on integers, and choices made with
rational weights, need no rounding: their law is a formula with rational parameters, whose privacy is decided by
comparing exact numbers. Each kind is one class that is written to a file and read back, so that a checker can prove it
private again elsewhere, without the table.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Self

from utmost.errors import BadFile
from utmost.privacy import Level

if TYPE_CHECKING:
    from utmost.mechanism.certification import Check


class ExactMechanism(ABC):
    """A mechanism whose law is known exactly.

    A subclass names its `kind`, by which files identify it; `KINDS` says in which module it is.
    """

    kind: ClassVar[str]

    @abstractmethod
    def sample(self, point: Any) -> Any:
        """Draw a release at a private point, exactly, with the operating system's randomness."""

    @abstractmethod
    def prove(self, space: Any, level: Level) -> Check:
        """Whether the law satisfies the level for the sensitivity set of the space: decided in exact arithmetic.

        Parameters are untrusted, as they may come from a file: an invalid law fails the check.
        """

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """The parameters as plain JSON data; rationals as text such as "1/3"."""

    @classmethod
    @abstractmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The mechanism written by `to_json`; `InvalidInput` if the data are invalid."""


KINDS: dict[str, str] = {
    "yes or no by blocks": "utmost.theory.scalar.yes_or_no_blocks:Blocks",
    "line.noise": "utmost.theory.scalar.line:NoisyLine",
    "line.chains": "utmost.theory.scalar.line_chains:ChainLine",
    "line.table": "utmost.theory.scalar.line_table:TableLine",
    "noisy-max": "utmost.theory.selection.choices:NoisyMax",
    "permute-and-flip": "utmost.theory.selection.choices:PermuteAndFlip",
    "exponential": "utmost.theory.selection.choices:Exponential",
    "nearest-choice": "utmost.theory.selection.choices:NearestChoice",
    "three-ranks": "utmost.theory.selection.choices:ThreeRanks",
    "lead-lines": "utmost.theory.selection.choice_tables:LeadLines",
    "tally-table": "utmost.theory.selection.choice_tables:TallyTable",
    "folded-table": "utmost.theory.selection.choice_tables:FoldedTable",
    "top.noise": "utmost.theory.selection.top_lists:TopByNoise",
    "top.peeling": "utmost.theory.selection.top_lists:TopByPeeling",
    "ranks.choices": "utmost.theory.selection.ranks:RankChoices",
    "keys.kept": "utmost.theory.partition_selection.mechanism:ThresholdedKeys",
    "tiers.sums": "utmost.theory.scalar.tiers:TieredSums",
    "tiers.table": "utmost.theory.scalar.tiers:TieredTable",
    "tables.noise": "utmost.mechanism.noise.tables:NoisyTables",
    "vector.noise": "utmost.mechanism.noise.vector:NoisyVector",
}
"""The class of each kind, as "module:Class", imported when a file needs it."""


def law_to_json(mechanism: ExactMechanism) -> dict[str, Any]:
    """The mechanism as plain JSON data, with its kind; the inverse of `law_from_json`."""
    return {"kind": mechanism.kind, **mechanism.to_json()}


def law_from_json(data: Mapping[str, Any]) -> ExactMechanism:
    """The mechanism of a file, by its kind."""
    arguments = dict(data)
    kind = arguments.pop("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise BadFile(f"the file holds a mechanism of kind {kind!r}, which this version does not know; update Utmost.")
    module, _, name = KINDS[kind].partition(":")
    mechanism: ExactMechanism = getattr(import_module(module), name).from_json(arguments)
    return mechanism
