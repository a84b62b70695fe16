"""Means and variances of groups, each with the number of rows it is made of, as far as what was released says.

That number is made of the released sums alone (`theory/estimates/design/row_count.py`), so it costs nothing; so are the
decisions which answers are reliable and, with `min_rows`, which are shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from utmost.errors import InvalidInput, shown
from utmost.exact import as_whole
from utmost.queries.accuracy import After
from utmost.queries.questions.expected import OfRows

if TYPE_CHECKING:
    import pyarrow

SUPPRESSED = (
    "groups whose released number of rows is below {} are suppressed: they are listed without a value; an interval "
    "holds as often as stated over all draws, whether its group is suppressed or not"
)


def require_groups(min_rows: Any) -> None:
    """Refuse to suppress where there are no groups."""
    if min_rows is not None:
        raise InvalidInput(f"min_rows is {shown(min_rows)}, and there are no groups; leave it out, or give by=.")


@dataclass(frozen=True, eq=False, kw_only=True)
class GroupRows(OfRows):
    """A mean or variance of each of several groups, with the group's own number of rows.

    Attributes
    ----------
    min_rows : groups whose released number of rows is below this are listed without a value; None shows all
    """

    min_rows: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.min_rows is not None:
            self.settle(min_rows=as_whole(self.min_rows, "min_rows", 1))

    @property
    def expectation(self) -> dict[str, Any]:
        return {**super().expectation, **({} if self.min_rows is None else {"min_rows": self.min_rows})}

    def group_rows(self, released: Mapping[str, Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """For each group, how many rows it has as far as the released sums say, and the ends of an interval."""
        of: Any = self
        listed = [of.integers(released, part).astype(object) for part in of.parts]
        return self.rows_among(np.sum(listed, axis=0))

    def is_shown(self, released: Mapping[str, Any]) -> NDArray[np.bool_]:
        """For each group, whether enough rows seem to be in it."""
        return np.asarray(self.group_rows(released)[0] >= (self.min_rows or -1), dtype=np.bool_)

    def is_reliable(self, released: Mapping[str, Any]) -> NDArray[np.bool_]:
        """For each group, whether its interval is narrower than half of what is possible: else it is mostly noise."""
        of: Any = self
        _, lower, upper = of.columns(released)
        return np.asarray(upper - lower < of.span / 2, dtype=np.bool_)

    def value(self, released: Mapping[str, Any]) -> dict[Any, Any]:
        found: dict[Any, Any] = super().value(released)  # type: ignore[safe-super]
        shown = self.is_shown(released).tolist()
        return {key: value if ok else None for (key, value), ok in zip(found.items(), shown, strict=True)}

    def intervals(self, released: Mapping[str, Any]) -> dict[Any, tuple[Any, Any]]:
        """For each group that is shown, the ends of its interval."""
        found: dict[Any, tuple[Any, Any]] = super().intervals(released)  # type: ignore[misc]
        shown = self.is_shown(released).tolist()
        return {key: ends for (key, ends), ok in zip(found.items(), shown, strict=True) if ok}

    def after(self, released: Mapping[str, Any]) -> After:
        columns = [column.tolist() for column in (*self.group_rows(released), self.is_reliable(released))]
        of: Any = self
        labels = of.keys(released).labels
        groups = dict(zip(labels, zip(*columns, strict=True), strict=True))
        return replace(super().after(released), groups=groups)  # type: ignore[safe-super]

    def table(self, released: Mapping[str, Any]) -> pyarrow.Table:
        """The keys, and for each the answer, its interval, its number of rows with theirs, and if it is reliable."""
        import pyarrow

        found: pyarrow.Table = super().table(released)  # type: ignore[misc]
        hidden = ~self.is_shown(released)
        for name in ("value", "lower", "upper"):
            masked = pyarrow.array(found[name].to_numpy(), mask=hidden)
            found = found.set_column(found.schema.get_field_index(name), name, masked)
        more = (*self.group_rows(released), self.is_reliable(released))
        for name, column in zip(("rows", "rows_lower", "rows_upper", "reliable"), more, strict=True):
            found = found.append_column(name, pyarrow.array(column))
        return found

    @property
    def notes(self) -> tuple[str, ...]:
        suppressed = () if self.min_rows is None else (SUPPRESSED.format(self.min_rows),)
        return (*super().notes, *suppressed)
