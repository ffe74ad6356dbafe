"""Changes of a table key brought together: the whole row as payload."""

from __future__ import annotations

from pyspark.sql import DataFrame

from millstream.plan.expressions import field
from millstream.plan.nodes import Collapse
from millstream.spark.lower.ports import Shape, Unpacked
from millstream.spark.lower.types import types_of


def shape(node: Collapse, rows: DataFrame) -> Shape:
    keys = tuple(field(name) for name in node.by)
    payload = tuple((name, field(name)) for name in node.carries)
    types = types_of(rows, [*keys, *(sql for _, sql in payload)])
    return Shape(keys, tuple(types[: len(keys)]), payload, tuple(types[len(keys) :]))


def unpack(node: Collapse, struct: str) -> Unpacked:
    return Unpacked(tuple((name, f"{struct}.{field(name)}") for name in node.carries))


def spec(node: Collapse) -> dict[str, object]:
    return {"kind": "collapse"}
