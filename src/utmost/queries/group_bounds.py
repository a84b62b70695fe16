"""Contribution bounds for groups: at most `groups_each` groups of each person, and `rows_each_group` rows in one.

**Order.** The table is truncated to `rows_each` rows of each person first (`truncation`), for all queries alike. Of
the listed groups that these rows are in, the `groups_each` with the least keyed hashes of who it is and of the group
are used; in each of them the `rows_each_group` rows with the least hashes. Conditions come afterwards. So groups hold
rows that all other answers are about, too, and the rows of a group with a condition and those without it add up to all
rows of the group. It would drop fewer rows to choose groups before the table is truncated; a person would then count
in groups with rows that are in no other answer, and groups would not be parts of the whole.

With `truncate="question"` the condition comes first, then groups, then rows in groups, then `rows_each` in all.

People are counted by group with any rows, truncated or not, in each of at most `groups_each` groups once.

**Sensitivity.** All three choices depend on the person's own rows alone. So a person has at most
`rows_each_group` rows in one group, in at most `groups_each` groups, and at most `rows_each` in all, however ties fall:
rows and groups are numbered, and no number above the bound is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from utmost.backends.source import Source
from utmost.queries.contributions import Contribution, any_not_null, keep_rows, require_id, with_ids
from utmost.queries.expressions import values as expr
from utmost.queries.expressions.relations import Relation
from utmost.queries.expressions.values import Expression, literal
from utmost.queries.truncation import HASH, split_by_rows, truncated_table, with_hashes
from utmost.queries.units import Unit

ROW_HASH = "row_hash"
"""The hash of a row in its group."""


@dataclass(frozen=True)
class GroupBounds:
    """At most so many groups of a person, and so many of their rows in one group; None for no bound."""

    groups_each: int | None = None
    rows_each_group: int | None = None

    def __bool__(self) -> bool:
        """Whether there is a bound."""
        return self.groups_each is not None or self.rows_each_group is not None


def rows_with_hashes(
    source: Source,
    unit: Unit,
    bounds: GroupBounds,
    columns: Mapping[str, Expression],
    contributions: Mapping[str, Contribution],
    secret: bytes,
) -> Relation:
    """The rows among which groups are chosen, with their contributions; and with a hash, if rows are chosen, too."""
    columns = {**columns, **{name: part.column for name, part in contributions.items()}}
    once, most = unit.truncate == "table", bounds.rows_each_group
    if most is None:
        rows = with_ids(source, unit, columns, secret=secret)
        return rows if once else rows.filter(any_not_null(rows, list(contributions)))
    require_id(source, unit.id)
    assert unit.id is not None
    who = source.column(unit.id)
    table: Relation = truncated_table(source, unit, secret) if once else source.table.filter(expr.is_not_null(who))
    if not once:
        table = table.filter(expr.any_of(*(expr.is_not_null(part.column) for part in contributions.values())))
    uncrowded, crowded = split_by_rows(table, unit.id, most)
    hashed = with_hashes(crowded, source, who, secret)
    table = uncrowded.extend(**{HASH: literal("")}).union(hashed)
    return table.select(who=who, **columns, **{ROW_HASH: table[HASH]})


def bound_contributions(
    cells: Relation, bounds: GroupBounds, unit: Unit, rows_each: int, names: tuple[str, ...], secret: bytes
) -> Relation:
    """Keep the rows in at most `groups_each` groups of each person, and at most `rows_each_group` rows in each."""
    if bounds.groups_each is not None:
        pairs = cells.aggregate(["who", "cell"], rows=expr.count())
        own = _few_groups(pairs, bounds.groups_each, secret)
        own_groups = own.select(of_who=own["who"], of_cell=own["cell"])
        conditions = [expr.compare("=", cells[name], own_groups[f"of_{name}"]) for name in ("who", "cell")]
        cells = cells.join(own_groups, conditions, "semi")
    if bounds.rows_each_group is not None:
        ranked = cells.extend(place=expr.row_number([cells["who"], cells["cell"]], [cells[ROW_HASH]]))
        cells = ranked.filter(expr.compare("<=", ranked["place"], literal(bounds.rows_each_group)))
    cells = cells.select("who", *names, "cell")
    return cells if unit.truncate == "table" else keep_rows(cells, ("cell", *names), rows_each, secret)


def people_in_groups(cells: Relation, bounds: GroupBounds, name: str, secret: bytes) -> Relation:
    """One row for each person and group, with at most `groups_each` groups: 1 if a row of theirs takes part, else 0."""
    assert bounds.groups_each is not None
    pairs = cells.aggregate(["who", "cell"], **{name: expr.count(cells[name])})
    return _few_groups(pairs.select("who", "cell", **{name: expr.clamp(pairs[name], 0, 1)}), bounds.groups_each, secret)


def _few_groups(pairs: Relation, groups_each: int, secret: bytes) -> Relation:
    return keep_rows(pairs, ("cell",), groups_each, secret, differ=True, hashed=True)
