"""Truncation to at most `rows_each` rows of each person, chosen once for the whole table, before any condition.

Conditions, columns, groups and cells come afterwards, so all answers about a table are about the same rows: the rows
with a condition and those without it add up to all rows, a share is a share of the same rows, and what is more frequent
in the truncated table is more frequent in every answer.

**Which rows.** Of a person with more rows than may be used, the rows with the least keyed hashes: MD5 of the data
set's secret, the id, and the row's text, integer, boolean and date columns; of an opaque column, whether it is null.
Rows with equal hashes are numbered, in the order of their texts, other numbers and times, and the number is hashed,
too: every row of a person has the same chance. Rows that are equal in all of this give the same contribution to every
query, so it makes no difference which of them an engine uses.

**Sensitivity.** The rows of a person that are used depend on the secret and on the set of that person's own rows: not
on the order of rows, nor on anybody else's. So a person who is added, removed or replaced changes the truncated table
by their own rows, at most `rows_each` of them (at most as many more where replaced). That holds for all ties and all
hashes: rows are numbered within a person, and no number above `rows_each` is used.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from utmost.backends.source import Source
from utmost.queries.expressions import values as expr
from utmost.queries.expressions.relations import Relation
from utmost.queries.expressions.values import Expression, literal
from utmost.queries.units import Unit

HASHED = ("text", "integer", "boolean", "date")
"""Kinds of columns that every engine converts to the same text."""
ORDERED = ("float", "timestamp", "instant")
"""Kinds of columns whose texts differ between engines, but not their order."""
APART = "\x1f"
"""Separator between the columns of a row: ASCII's unit separator."""
MOST_HASHED = 2**26
"""Most characters that are hashed: PostgreSQL cannot make a text of 2^30 bytes, and a character takes up to four."""
FIRST = datetime.date(1970, 1, 1)
RANK = "utmost: rank of row"
"""Column with the rank of a row among those of its person, by the hash."""
HASH, COPY, ROWS, CROWDED = "utmost: hash of row", "utmost: copy of row", "utmost: rows", "utmost: person"
"""Names of other intermediate columns, which no table has."""


def truncated_table(source: Source, unit: Unit, secret: bytes) -> Relation:
    """The table with at most `rows_each` rows of each person; rows with a null id are left out.

    The rows of people with no more than that are neither hashed nor sorted, which would take longest.
    """
    uncrowded, ranked = _split_and_rank(source, unit, secret)
    first_rows = ranked.filter(expr.compare("<=", ranked[RANK], literal(unit.rows_each)))
    return uncrowded.union(first_rows.select(*uncrowded.columns))


def dropped_rows_of(source: Source, unit: Unit, secret: bytes) -> Relation:
    """The rows that truncation drops: those beyond the first `rows_each` of a person."""
    uncrowded, ranked = _split_and_rank(source, unit, secret)
    return ranked.filter(expr.compare(">", ranked[RANK], literal(unit.rows_each))).select(*uncrowded.columns)


def _split_and_rank(source: Source, unit: Unit, secret: bytes) -> tuple[Relation, Relation]:
    """The rows of people with at most `rows_each` rows, and those of the other people with their ranks."""
    assert unit.id is not None
    who = source.column(unit.id)
    uncrowded, crowded = split_by_rows(source.table.filter(expr.is_not_null(who)), unit.id, unit.rows_each)
    return uncrowded, with_ranks(crowded, source, who, secret)


def split_by_rows(rows: Relation, id: str, most: int) -> tuple[Relation, Relation]:
    """The rows of people with at most so many rows, and the rows of people with more."""
    people = rows.aggregate([id], **{ROWS: expr.count()})
    crowded = people.filter(expr.compare(">", people[ROWS], literal(most)))
    crowd = crowded.select(**{CROWDED: crowded[id]})
    same_person = [expr.compare("=", rows[id], crowd[CROWDED])]
    return rows.join(crowd, same_person, "anti"), rows.join(crowd, same_person, "semi")


def with_ranks(rows: Relation, source: Source, who: Expression, secret: bytes) -> Relation:
    """Rows with their rank among those of the same person, by a keyed hash of their values."""
    hashed = with_hashes(rows, source, who, secret)
    return hashed.select(*rows.columns, **{RANK: expr.row_number([who], [hashed[HASH]])})


def with_hashes(rows: Relation, source: Source, who: Expression, secret: bytes) -> Relation:
    """Rows with a keyed hash of their values, and of their number among rows with equal values."""
    own = [name for name in source.columns if name not in source.refused and name not in source.public_columns]
    many = 1 + sum(rows.columns[name].kind == "text" for name in own)
    texts = [text for name in own if (text := hashable(rows[name], many)) is not None]
    order = [part for name in own if rows.columns[name].kind in ORDERED for part in nulls_first(rows[name])]
    order += _tie_breakers(rows, own)
    hashed = rows.extend(**{HASH: keyed_hash(secret, hashable(who, many) or who, *texts)})
    key = hashed[HASH]
    numbered = hashed.extend(**{COPY: expr.row_number([who, key], order)})
    key, copy = numbered[HASH], numbered[COPY]
    again = expr.md5(expr.concatenate(key, literal(APART), expr.as_text(copy)))
    own_hash = expr.where(expr.compare("=", copy, literal(1)), key, again)
    return numbered.select(*rows.columns, **{HASH: own_hash})


def _tie_breakers(rows: Relation, own: Sequence[str]) -> Sequence[Expression]:
    """Sort keys for rows with equal hashes: texts may contain the separator, or differ beyond the hashed characters."""
    texts = [rows[name] for name in own if rows.columns[name].kind == "text"]
    return [part for value in texts for part in nulls_first(value)]


def hashable(value: Expression, many: int = 1) -> Expression | None:
    """A value as a text that is never null and equal in every engine; None for kinds without such a text.

    Texts are cut off, so that `many` of them together are no longer than the longest text of any engine.
    """
    kind = value.type.kind
    if kind == "opaque":
        return expr.where(expr.is_not_null(value), literal("+"), literal("-"))
    if kind not in HASHED:
        return None
    if kind == "boolean":
        return expr.case([(value, literal("+t")), (~value, literal("+f"))], literal("-"))
    if kind == "text":
        value = expr.substring(value, 1, MOST_HASHED // many)
    if kind == "date":
        value = expr.days_between(value, literal(FIRST))
    return expr.coalesce(expr.concatenate(literal("+"), expr.as_text(value)), literal("-"))


def nulls_first(value: Expression) -> Sequence[Expression]:
    """Sort keys for a value that put null first in every engine."""
    return expr.is_not_null(value), value


def keyed_hash(secret: bytes, *texts: Expression) -> Expression:
    """A keyed hash of texts, in hexadecimal."""
    parts = [literal(secret.hex())]
    for text in texts:
        parts += [literal(APART), text]
    return expr.md5(expr.concatenate(*parts))
