"""Top-N: the whole row as payload, with what it is sorted by."""

from __future__ import annotations

from itertools import zip_longest

from pyspark.sql import DataFrame
from pyspark.sql.functions import expr

from millstream.plan.closing import closes
from millstream.plan.expressions import field
from millstream.plan.nodes import is_field
from millstream.plan.operators import Ordering, Top
from millstream.spark.lower.ports import Frames, Lowering, Shape, Unpacked, stored
from millstream.spark.lower.state import Kept
from millstream.spark.lower.told import GroupEnds, OrderTold, TopTold
from millstream.spark.lower.types import sortable, types_of


def computed(node: Top) -> list[Ordering]:
    """What rows are sorted by and do not have as a field."""
    return [part for part in node.order if not is_field(part.expr)]


def shapes(node: Top, rows: Frames) -> tuple[Shape, ...]:
    """All rows are one group where there is no key."""
    keys = tuple(field(name) for name in node.per) or ("0",)
    payload = [(stored(name), field(name)) for name in node.input.carries]
    payload += [(f"_by{i}", part.expr.sql) for i, part in enumerate(computed(node))]
    types = types_of(rows[0], [*keys, *(sql for _, sql in payload)])
    return (Shape(keys, tuple(types[: len(keys)]), tuple(payload), tuple(types[len(keys) :])),)


def unpack(node: Top, rows: Frames, struct: str) -> Unpacked:
    row = f"{struct}.`row`" if node.rank else struct
    fields = [(name, f"{row}.{field(stored(name))}") for name in node.input.carries]
    return Unpacked((*fields, *([(node.rank, f"{struct}.`rank`")] if node.rank else [])))


def count(node: Top) -> int:
    """How many rows are wanted, limited to a number that the kernel can double: no group has that many."""
    return min(node.count, 2**61)


def told(node: Top, rows: Frames) -> TopTold:
    after = closes(node)
    return TopTold(
        count=count(node),
        order=tuple(OrderTold(sorted_by(node, part), part.descending, part.nulls_first) for part in node.order),
        ties=len(node.input.carries),
        ranked=node.rank is not None,
        append_only=node.input.append_only,
        ends=None if after is None else GroupEnds(*after),
    )


def sorted_by(node: Top, part: Ordering) -> str:
    """The payload's field."""
    return stored(next(iter(part.expr.fields))) if is_field(part.expr) else f"_by{computed(node).index(part)}"


def kept(node: Top) -> Kept:
    """If rows are never taken back, only the wanted ones are kept."""
    order = ", ".join(f"{part.expr.shown} {'DESC' if part.descending else 'ASC'} {nulls(part)}" for part in node.order)
    return Kept(node.per, (f"the first {count(node)} by {order}",))


def batch(node: Top, rows: Frames) -> DataFrame:
    """Plain SQL: `row_number()`."""
    asked, carried = [part.expr.sql for part in node.order], [field(name) for name in node.input.carries]
    by = [sortable(sql, type_) for sql, type_ in zip(asked + carried, types_of(rows[0], asked + carried), strict=True)]
    ways = [f"{'DESC' if part.descending else 'ASC'} {nulls(part)}" for part in node.order]
    order = [f"{sql} {way}" for sql, way in zip_longest(by, ways, fillvalue="")]
    per = f"PARTITION BY {', '.join(field(name) for name in node.per)} " if node.per else ""
    number = expr(f"CAST(row_number() OVER ({per}ORDER BY {', '.join(order)}) AS BIGINT)")
    found = rows[0].withColumn("_rank", number).where(f"_rank <= {count(node)}")
    rank = [f"_rank AS {field(node.rank)}"] if node.rank else []
    return found.selectExpr(*(field(name) for name in node.input.carries), *rank)


def nulls(part: Ordering) -> str:
    return f"NULLS {'FIRST' if part.nulls_first else 'LAST'}"


TOP = Lowering(shapes, unpack, told, kept, batch)
