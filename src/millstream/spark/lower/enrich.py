"""Enriching: a stream's rows and a table's rows, or its versions, by one key; the kernel checks the rest."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.functions import expr
from pyspark.sql.types import DataType, IntegerType

from millstream.plan.expressions import field
from millstream.plan.lookup import Lookup
from millstream.plan.node import Node
from millstream.plan.two_sides import Enrich
from millstream.spark.lower.join import matched_by, spreading
from millstream.spark.lower.ports import Frames, Lowering, Shape, Unpacked
from millstream.spark.lower.state import Kept
from millstream.spark.lower.told import AsOfTold, EnrichTold
from millstream.spark.lower.types import common_type, named_struct, types_of

Payload = tuple[tuple[str, str], ...]


def shapes(node: Enrich, rows: Frames) -> tuple[Shape, ...]:
    """A table's rows with a NULL key match nothing and are left out; a stream's, if they give no result. Otherwise they
    are spread over many groups, like those of a join."""
    left, right = ([pair[side].sql for pair in node.on] for side in (0, 1))
    pairs = zip(types_of(rows[0], left), types_of(rows[1], right), strict=True)
    types = tuple(common_type(rows[0], one, other) for one, other in pairs)
    asking = None if node.outer else present([*left, *([field(node.as_of)] if node.as_of else [])])
    answering = [present(right)]
    if node.since:
        answering.append(f"({field(node.since)} IS NOT NULL OR `_gone`)")
    asked, known = stream_payload(node), table_payload(node)
    if node.outer:
        spreads = spreading(left, asked, tuple(types_of(rows[0], [sql for _, sql in asked])))
        left, right, types = [*left, spreads], [*right, "0"], (*types, IntegerType())
    return shape(rows[0], left, types, asked, asking), shape(rows[1], right, types, known, " AND ".join(answering))


def present(keys: list[str]) -> str:
    return " AND ".join(f"({key}) IS NOT NULL" for key in keys)


def shape(
    rows: DataFrame, keys: list[str], types: tuple[DataType, ...], payload: Payload, condition: str | None
) -> Shape:
    return Shape(tuple(keys), types, payload, tuple(types_of(rows, [sql for _, sql in payload])), condition)


def stream_payload(node: Enrich) -> Payload:
    if node.as_of is None:
        return own(node.left)
    return ("row", named_struct(own(node.left))), ("at", field(node.as_of))


def table_payload(node: Enrich) -> Payload:
    row = own(node.table)
    if node.changes is None:
        return row
    change = (("row", named_struct(row)), ("gone", "`_gone`"), ("place", "`_offset`"))
    return change if node.since is None else (*change, ("time", field(node.since)), ("ended", "`_ended`"))


def own(node: Node) -> Payload:
    return tuple((name, field(name)) for name in node.carries)


def tombstones(node: Enrich) -> bool:
    """Whether the table's source takes rows away by their key alone."""
    return node.changes is not None and node.changes.tombstones


def unpack(node: Enrich, rows: Frames, struct: str) -> Unpacked:
    return Unpacked(tuple(fields(node, struct)))


def fields(node: Enrich, struct: str) -> list[tuple[str, str]]:
    """Where each field of the result is in a pair of rows."""
    left, right = node.pairing.carried
    found = [(new, f"{struct}.`l`.{field(old)}") for old, new in left.items()]
    return found + [(new, f"{struct}.`r`.{field(old)}") for old, new in right.items()]


def told(node: Enrich, rows: Frames) -> EnrichTold | AsOfTold:
    places = {new: sql.removeprefix("_.") for new, sql in fields(node, "_")}
    condition = node.residual.over(places) if node.residual else None
    if node.as_of:
        return AsOfTold(node.outer, tombstones(node), condition, node.left.lag or 0)
    replaced = node.right.key or () if node.replaces or node.changes is not None else ()
    return EnrichTold(node.outer, tombstones(node), condition, tuple(replaced))


def kept(node: Enrich) -> Kept:
    return Kept(matched_by(node.on), ("versions of the table" if node.as_of else "rows of the table",))


def batch(node: Enrich, rows: Frames) -> DataFrame:
    """Plain SQL. All of the table is known from the start: its last rows, or all of its versions."""
    if node.as_of is None:
        return together(node, rows[0], latest(node, rows[1]) if node.changes is not None else rows[1])
    return as_of(node, renamed(rows[0], node.pairing.carried[0]), validity(node, rows[1]))


def together(node: Enrich | Lookup, stream: DataFrame, table: DataFrame) -> DataFrame:
    """A plain join."""
    left, right = node.pairing.carried
    condition = " AND ".join([*equal(node), *([f"({node.residual.sql})"] if node.residual else [])])
    return renamed(stream, left).join(renamed(table, right), expr(condition), "left" if node.outer else "inner")


def latest(node: Enrich, changes: DataFrame) -> DataFrame:
    """Of each key the row that is last in the log, unless that is a delete."""
    assert node.changes is not None
    keys = [expr(field(name)) for name in node.changes.by]
    row, gone = f"max_by({named_struct(own(node.table))}, `_offset`)", "max_by(`_gone`, `_offset`)"
    last = changes.groupBy(*keys).agg(expr(row).alias("_row"), expr(gone).alias("_last"))
    return last.where("NOT `_last`").selectExpr("`_row`.*")


def renamed(rows: DataFrame, carried: dict[str, str]) -> DataFrame:
    return rows.selectExpr(*(f"{field(old)} AS {field(new)}" for old, new in carried.items()))


def equal(node: Enrich | Lookup) -> list[str]:
    left, right = ({old: field(new) for old, new in side.items()} for side in node.pairing.carried)
    return [f"({one.over(left)}) = ({other.over(right)})" for one, other in node.on]


def validity(node: Enrich, changes: DataFrame) -> DataFrame:
    """The table's versions: since when, until when if they were taken back, and a NULL row where a key was deleted."""
    assert node.since is not None
    carried = node.pairing.carried[1]
    fields_ = [f"{field(old)} AS {field(new)}" for old, new in carried.items()]
    if tombstones(node):
        since = f"CASE WHEN `_gone` THEN `_ended` ELSE {field(node.since)} END AS `_since`"
        until = "CAST(NULL AS TIMESTAMP) AS `_until`"
        return changes.selectExpr(*fields_, since, until, "`_gone`", "`_offset`")
    # The first time that a row is taken back ends the first time that it was added, and so on.
    same = ", ".join(field(old) for old in carried)
    numbered = changes.selectExpr("*", f"row_number() OVER (PARTITION BY {same}, `_gone` ORDER BY `_offset`) AS `_nth`")
    until = f"max(CASE WHEN `_gone` THEN `_ended` END) OVER (PARTITION BY {same}, `_nth`) AS `_until`"
    ended = numbered.selectExpr("*", until).where("NOT `_gone`")
    return ended.selectExpr(*fields_, f"{field(node.since)} AS `_since`", "`_until`", "`_gone`", "`_offset`")


def as_of(node: Enrich, stream: DataFrame, versions: DataFrame) -> DataFrame:
    """For each row of the stream the last version up to its time, if it was still valid then."""
    assert node.as_of is not None
    left, right = node.pairing.carried
    time = field(left[node.as_of])
    asked = stream.selectExpr("*", "monotonically_increasing_id() AS `_row`")
    found = asked.join(versions, expr(" AND ".join([*equal(node), f"`_since` <= {time}"])), "left")
    version = named_struct([(name, field(name)) for name in (*right.values(), "_until", "_gone")])
    kept = [expr(f"first({field(name)})").alias(name) for name in left.values()]
    last = found.groupBy("_row").agg(
        *kept,
        expr(f"max_by(CASE WHEN `_since` IS NOT NULL THEN {version} END, struct(`_since`, `_offset`))").alias("_last"),
    )
    places = {name: f"`_last`.{field(name)}" for name in right.values()} | {name: field(name) for name in left.values()}
    asked_too = f" AND ({node.residual.over(places)})" if node.residual else ""
    met = f"`_last` IS NOT NULL AND NOT `_last`.`_gone` AND ({time} < `_last`.`_until` OR `_last`.`_until` IS NULL)"
    answered = last.selectExpr("*", f"coalesce({met}{asked_too}, false) AS `_met`")
    if not node.outer:
        answered = answered.where("`_met`")
    chosen = [f"CASE WHEN `_met` THEN `_last`.{field(name)} END AS {field(name)}" for name in right.values()]
    return answered.selectExpr(*(field(name) for name in left.values()), *chosen)


ENRICH = Lowering(shapes, unpack, told, kept, batch)
