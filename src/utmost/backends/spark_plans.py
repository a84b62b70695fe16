"""Check by Spark's own plan that each row of a DataFrame comes from one row of a table.

A DataFrame may hide a join, a group, a limit, a sample or a Python function behind the same columns. With one of these
a row may come from many, or change from run to run, or fail, and no promise about rows holds. So the plan is walked
from the top: aliases, views of row-wise plans, chosen and renamed columns, and conditions that cannot fail, down to a
base table in Parquet or ORC files, or local rows; any other step is refused. Classic Spark shows the analysed plan; in
Spark Connect the client has the unresolved plan, and the server says whether a name is a base table.
"""

from __future__ import annotations

from typing import Any, NoReturn

from utmost.backends.source import BASE_TABLE, CONDITION, DISTINCT
from utmost.errors import InvalidInput, NotRowWise
from utmost.messages import Words

LOGICAL = "org.apache.spark.sql.catalyst.plans.logical."
EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions."
SOURCES = "org.apache.spark.sql.execution.datasources."
FORMATS = (f"{SOURCES}parquet.ParquetFileFormat", f"{SOURCES}orc.OrcFileFormat")
STORED = ("parquet", "orc")
LOCAL = ("LocalRelation", "Range")
COMPUTED = frozenset(
    (
        *("AttributeReference", "Alias", "Literal", "And", "Or", "Not", "IsNull", "IsNotNull", "In", "Cast"),
        *("EqualTo", "EqualNullSafe", "GreaterThan", "GreaterThanOrEqual", "LessThan", "LessThanOrEqual"),
        *("StartsWith", "EndsWith", "Contains"),
    )
)
"""Expressions of Spark that read one row and fail on none."""
STREAM = "the DataFrame is a stream, which has no end; give a table that is written."
WIDTHS = {"tinyint": 1, "smallint": 2, "int": 3, "bigint": 4}
REMEDIES = {
    "Join": "join beforehand, into a table with one row per unit",
    "Aggregate": "group beforehand, into a table with one row per unit",
    "Distinct": DISTINCT,
    "Limit": "give the whole table: which rows a limit keeps depends on the other rows",
    "Sample": "give the whole table, or a sample drawn beforehand",
    "Sort": "leave out the order: answers do not depend on the order of rows",
    "Union": "put the rows into one table beforehand",
    "Rdd": "write it to Parquet and read that: rows of an RDD may be computed by any program",
    "Sql": Words("give spark.table(name), and ", CONDITION),
    "Filter": Words("give the table without the filter, and ", CONDITION),
}
ALIKE = {
    **{"Deduplicate": "Distinct", "GlobalLimit": "Limit", "LocalLimit": "Limit", "Tail": "Limit", "Offset": "Limit"},
    **{"LogicalRDD": "Rdd", "ExternalRDD": "Rdd", "Set_op": "Union", "Unresolved_hint": "Hint"},
}


def row_wise_plan(frame: Any, connect: bool) -> list[str]:
    """The conditions and computed columns of a DataFrame, as text; raises `NotRowWise` if a step is not row-wise."""
    return _of_connect(frame) if connect else _of_classic(frame)


# ---- classic ----


def _of_classic(frame: Any) -> list[str]:
    if frame.isStreaming:
        raise NotRowWise(STREAM)
    node, derivation = frame._jdf.queryExecution().analyzed(), list[str]()
    while True:
        name = _class(node)
        step = name.removeprefix(LOGICAL)
        if name == f"{SOURCES}LogicalRelation":
            _require_stored(node.relation())
            return derivation
        if name.startswith(LOGICAL) and step in LOCAL:
            return derivation
        if not name.startswith(LOGICAL) or step not in ("Project", "Filter", "SubqueryAlias", "View"):
            _refuse_step(name.rpartition(".")[2])
        if step == "Filter":
            _require_computable(node.condition())
            derivation.append(node.condition().sql())
        for one in _seq(node.projectList()) if step == "Project" else []:
            if not _is_plain(one):
                _require_computable(one)
                derivation.append(one.sql())
        node = node.child()


def _require_stored(relation: Any) -> None:
    """Refuse tables that are not Parquet or ORC files: reading may fail on some row, or run a query."""
    kind = _class(relation)
    files = kind == f"{SOURCES}HadoopFsRelation"
    if not files or _class(relation.fileFormat()) not in FORMATS:
        what = _class(relation.fileFormat() if files else relation).rpartition(".")[2]
        _refuse_format(what)


def _refuse_format(what: str) -> NoReturn:
    raise NotRowWise(
        f"the table is read by {what}, which may fail on some row or run a query; store it as Parquet or ORC: "
        "frame.write.parquet(path), and give spark.read.parquet(path)."
    )


def _is_plain(expression: Any) -> bool:
    """Whether an expression is a column of the table below, under its own or another name."""
    kind = _class(expression).removeprefix(EXPRESSIONS)
    if kind == "Cast" and expression.dataType().simpleString() != expression.child().dataType().simpleString():
        return False
    return kind == "AttributeReference" or (kind in ("Alias", "Cast") and _is_plain(expression.child()))


def _require_computable(expression: Any) -> None:
    """Refuse expressions that may read other rows, change from run to run, or fail on some row."""
    name = _class(expression)
    kind = name.removeprefix(EXPRESSIONS)
    if not name.startswith(EXPRESSIONS) or kind not in COMPUTED:
        raise NotRowWise(
            f"the DataFrame filters by, or computes with, {name.rpartition('.')[2]}, which may look at other rows, "
            "change from run to run, or fail on some row; give the table without that, and ",
            CONDITION,
            ".",
        )
    type_name = expression.dataType().simpleString()
    literal = kind == "Cast" and _class(expression.child()) == f"{EXPRESSIONS}Literal"
    if kind == "AttributeReference" and type_name in ("float", "double"):
        raise NotRowWise(
            "the DataFrame filters by, or computes with, a column of floating-point numbers, where engines differ "
            "about NaN; give the table without that, and ",
            CONDITION,
            ".",
        )
    if kind == "Cast" and not literal:
        source_type = expression.child().dataType().simpleString()
        if not 0 < WIDTHS.get(source_type, 9) <= WIDTHS.get(type_name, 0):
            raise NotRowWise(
                f"the DataFrame casts a column from {source_type} to {type_name}, which fails on some row, or makes "
                "null of it; give the table without that."
            )
    for child in _seq(expression.children()):
        _require_computable(child)


def _class(thing: Any) -> str:
    return str(thing.getClass().getName())


def _seq(sequence: Any) -> list[Any]:
    """A Scala sequence as a list."""
    return [sequence.apply(i) for i in range(sequence.size())]


# ---- Connect ----


def _of_connect(frame: Any) -> list[str]:
    session = frame.sparkSession
    relation = frame._plan.to_proto(session.client).root
    while True:
        name = relation.WhichOneof("rel_type")
        step = getattr(relation, name) if name else None
        if name == "read":
            _require_base(session, step)
            return []
        if name in ("local_relation", "cached_local_relation", "chunked_cached_local_relation", "range"):
            return []
        if name not in ("project", "subquery_alias", "drop", "to_df", "with_columns_renamed") or step is None:
            _refuse_step(str(name).capitalize())
        if name == "project" and not all(_is_column_choice(one) for one in step.expressions):
            raise NotRowWise(
                "the DataFrame computes columns, and a client of Spark Connect cannot see whether that may fail; "
                "give the table with columns chosen and renamed only, and ",
                CONDITION,
                ".",
            )
        relation = step.input


def _is_column_choice(expression: Any) -> bool:
    kind = expression.WhichOneof("expr_type")
    return kind in ("unresolved_attribute", "unresolved_star") or (
        kind == "alias" and _is_column_choice(expression.alias.expr)
    )


def _require_base(session: Any, read_step: Any) -> None:
    """Refuse what is not a base table or a file in Parquet or ORC."""
    if read_step.is_streaming:
        raise NotRowWise(STREAM)
    if read_step.WhichOneof("read_type") == "data_source":
        if read_step.data_source.format.lower() not in STORED or read_step.data_source.predicates:
            _refuse_format(read_step.data_source.format or "the default format")
        return
    name = read_step.named_table.unparsed_identifier
    try:
        rows = [(row[0], row[1]) for row in session.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()]
    except Exception:
        rows = None
    if rows is None:
        raise InvalidInput(f"the server has no table {name!r} that can be described; give the name of a base table.")
    detail = [i for i, (key, _) in enumerate(rows) if key == "# Detailed Table Information"]
    details = dict(rows[detail[-1] :]) if detail else {}
    if details.get("Type") not in ("MANAGED", "EXTERNAL"):
        raise NotRowWise(f"{name!r} is a view, which may join, group or limit; ", BASE_TABLE, ".")
    if str(details.get("Provider")).lower() not in STORED:
        _refuse_format(str(details.get("Provider")))


def _refuse_step(name: str) -> NoReturn:
    remedy = REMEDIES.get(ALIKE.get(name, name), "give a base table, with columns chosen or renamed")
    raise NotRowWise(f"the DataFrame is made by {name}, so one row of it may stem from many; ", remedy, ".")
