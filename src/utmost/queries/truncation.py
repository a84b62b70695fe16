"""Truncation: at most so many rows of each person, chosen once for the whole table, before any condition.

Conditions, columns, groups and cells come afterwards, so all answers about a table are about the same rows: the rows
with a condition and those without it add up to all rows, a share is a share of the same rows, and what is more frequent
in the truncated table is more frequent in every answer.

**Which rows.** Of a person with more rows than may be used, the rows with the least keyed hashes: MD5 of the data
set's secret, who it is, and the row's text, whole number, truth value and date columns; of a column of another type, of
which one can only ask whether it is null, that is hashed. Rows with one hash are numbered, in the order of their texts,
other numbers and times, and the number is hashed, too: every row of a person has the same chance. Rows that are alike
in all of this answer every question alike, so it makes no difference which of them an engine uses.

**How far one neighbour moves it.** The rows of a person that are used depend on the secret and on the set of that
person's own rows: not on the order of rows, nor on anybody else's. So a person who is added, removed or replaced
changes the truncated table by their own rows, at most `rows_each` of them (at most as many more where replaced). That
holds however ties fall and whatever the hashes are: rows are numbered within a person, and no number above `rows_each`
is used.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from utmost.backends.source import Source
from utmost.queries.expressions import values as made
from utmost.queries.expressions.relations import Relation
from utmost.queries.expressions.values import Expression, literal
from utmost.queries.units import Unit

HASHED = ("text", "integer", "boolean", "date")
"""Kinds of columns that have one text in every engine."""
ORDERED = ("float", "timestamp", "instant")
"""Kinds of columns that have none, and an order on which engines agree."""
APART = "\x1f"
"""What stands between the columns of a row: ASCII's unit separator."""
MOST_HASHED = 2**26
"""So many characters are hashed at most: PostgreSQL fails to make a text of 2^30 bytes, and a character takes four."""
FIRST = datetime.date(1970, 1, 1)
RANK = "utmost: rank of row"
"""The place of a row among its person's, by the hash."""
HASH, COPY, ROWS, CROWDED = "utmost: hash of row", "utmost: copy of row", "utmost: rows", "utmost: person"
"""Other columns that are added on the way, under names that no table has."""


def truncated(source: Source, unit: Unit, secret: bytes) -> Relation:
    """The table with at most `rows_each` rows of each person; rows of nobody (the id is null) are left out.

    Who has no more rows than that is neither hashed nor sorted: that is what takes longest.
    """
    others, ranked = _parted(source, unit, secret)
    used = ranked.filter(made.compare("<=", ranked[RANK], literal(unit.rows_each)))
    return others.union(used.select(*others.columns))


def dropped(source: Source, unit: Unit, secret: bytes) -> Relation:
    """The rows that truncation leaves out: those of people with more than `rows_each`, beyond that."""
    others, ranked = _parted(source, unit, secret)
    return ranked.filter(made.compare(">", ranked[RANK], literal(unit.rows_each))).select(*others.columns)


def _parted(source: Source, unit: Unit, secret: bytes) -> tuple[Relation, Relation]:
    """The rows of people with at most `rows_each` of them, and those of all others with their ranks."""
    assert unit.id is not None
    who = source.column(unit.id)
    others, crowded = by_crowd(source.table.filter(made.is_known(who)), unit.id, unit.rows_each)
    return others, with_ranks(crowded, source, who, secret)


def by_crowd(rows: Relation, id: str, most: int) -> tuple[Relation, Relation]:
    """The rows of people with at most so many of them, and those of people with more."""
    people = rows.aggregate([id], **{ROWS: made.count()})
    crowded = people.filter(made.compare(">", people[ROWS], literal(most)))
    crowd = crowded.select(**{CROWDED: crowded[id]})
    same = [made.compare("=", rows[id], crowd[CROWDED])]
    return rows.join(crowd, same, "anti"), rows.join(crowd, same, "semi")


def with_ranks(rows: Relation, source: Source, who: Expression, secret: bytes) -> Relation:
    """Rows with their place among all of the same person's, by the hash of what they hold."""
    hashed = with_hashes(rows, source, who, secret)
    return hashed.select(*rows.columns, **{RANK: made.row_number([who], [hashed[HASH]])})


def with_hashes(rows: Relation, source: Source, who: Expression, secret: bytes) -> Relation:
    """Rows with a keyed hash of what they hold, and of which copy of it they are."""
    own = [name for name in source.columns if name not in source.refused and name not in source.added]
    many = 1 + sum(rows.columns[name].kind == "text" for name in own)
    texts = [text for name in own if (text := hashable(rows[name], many)) is not None]
    order = [part for name in own if rows.columns[name].kind in ORDERED for part in ordered(rows[name])]
    order += _apart(rows, own)
    hashed = rows.extend(**{HASH: keyed(secret, hashable(who, many) or who, *texts)})
    key = hashed[HASH]
    numbered = hashed.extend(**{COPY: made.row_number([who, key], order)})
    key, copy = numbered[HASH], numbered[COPY]
    again = made.md5(made.joined(key, literal(APART), made.as_text(copy)))
    own_hash = made.where(made.compare("=", copy, literal(1)), key, again)
    return numbered.select(*rows.columns, **{HASH: own_hash})


def _apart(rows: Relation, own: Sequence[str]) -> Sequence[Expression]:
    """What tells rows apart whose texts are hashed as one: they may hold what stands between columns, or be long."""
    written = [rows[name] for name in own if rows.columns[name].kind == "text"]
    return [part for value in written for part in ordered(value)]


def hashable(value: Expression, many: int = 1) -> Expression | None:
    """A value as a text that is never null and the same in every engine; None of a kind that has none.

    Of a text its beginning, so that `many` of them together are no longer than any engine's texts may be.
    """
    kind = value.type.kind
    if kind == "opaque":
        return made.where(made.is_known(value), literal("+"), literal("-"))
    if kind not in HASHED:
        return None
    if kind == "boolean":
        return made.case([(value, literal("+t")), (~value, literal("+f"))], literal("-"))
    if kind == "text":
        value = made.substring(value, 1, MOST_HASHED // many)
    if kind == "date":
        value = made.days_between(value, literal(FIRST))
    return made.coalesce(made.joined(literal("+"), made.as_text(value)), literal("-"))


def ordered(value: Expression) -> Sequence[Expression]:
    """What puts values in an order in which null is first in every engine."""
    return made.is_known(value), value


def keyed(secret: bytes, *texts: Expression) -> Expression:
    """A keyed hash of some texts in hexadecimal."""
    parts = [literal(secret.hex())]
    for text in texts:
        parts += [literal(APART), text]
    return made.md5(made.joined(*parts))
