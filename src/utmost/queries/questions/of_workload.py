"""What questions share whose numbers are sums of cells: which sums to release is designed for all of them together.

The wanted numbers are least squares estimates made of released ones, so they agree with each other.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from utmost.queries.questions.question import Question

if TYPE_CHECKING:
    from utmost.design.workload import Workload
    from utmost.solution import Solution


OUTSIDE = (
    "numbers are unbiased and may lie below 0, and intervals are cut off at 0: a number may lie outside its own "
    "interval"
)


@dataclass(frozen=True, eq=False, kw_only=True)
class OfWorkload(Question):
    """A question that is designed as a workload: running counts, ranges, tables or a tree."""

    @property
    @abstractmethod
    def workload_of(self) -> Workload:
        """The sums of cells that are wanted."""

    def design(self) -> Solution:
        from utmost.design.workload import best_workload

        return best_workload(self.workload_of, self.privacy)

    def sketch(self) -> Solution | None:
        from utmost.design.workload import sketch_workload

        return sketch_workload(self.workload_of, self.privacy)
