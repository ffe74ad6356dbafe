"""Top-N: the whole row as payload, with what it is sorted by."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.functions import expr

from millstream.plan.closing import closes
from millstream.plan.expressions import field
from millstream.plan.nodes import is_field
from millstream.plan.operators import Ordering, Top
from millstream.spark.lower.ports import Frames, Lowering, Shape, Unpacked, stored
from millstream.spark.lower.types import types_of


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


def spec(node: Top, rows: Frames) -> dict[str, object]:
    places = list(node.input.carries)
    extra = computed(node)
    after = closes(node)
    order = []
    for part in node.order:
        own = is_field(part.expr)
        at = places.index(next(iter(part.expr.fields))) if own else len(places) + extra.index(part)
        order.append({"at": at, "descending": part.descending, "nulls_first": part.nulls_first})
    return {
        "kind": "top",
        "count": node.count,
        "order": order,
        "fields": len(places),
        "ranked": node.rank is not None,
        "append_only": node.input.append_only,
        **({} if after is None else {"closing": {"key": after[0], "after_ms": after[1]}}),
    }


def batch(node: Top, rows: Frames) -> DataFrame:
    """Plain SQL: `row_number()`."""
    order = [f"{part.expr.sql} {'DESC' if part.descending else 'ASC'} {nulls(part)}" for part in node.order]
    order += [field(name) for name in node.input.carries]
    per = f"PARTITION BY {', '.join(field(name) for name in node.per)} " if node.per else ""
    number = expr(f"CAST(row_number() OVER ({per}ORDER BY {', '.join(order)}) AS BIGINT)")
    found = rows[0].withColumn("_rank", number).where(f"_rank <= {node.count}")
    rank = [f"_rank AS {field(node.rank)}"] if node.rank else []
    return found.selectExpr(*(field(name) for name in node.input.carries), *rank)


def nulls(part: Ordering) -> str:
    return f"NULLS {'FIRST' if part.nulls_first else 'LAST'}"


TOP = Lowering(shapes, unpack, spec, batch)
