"""The join: keys of both sides in one type, rows of each side as payload, the residual after the match."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.functions import expr

from millstream.plan.expressions import field
from millstream.plan.operators import Join
from millstream.spark.lower.ports import Frames, Lowering, Shape, Unpacked
from millstream.spark.lower.types import common_type, types_of


def shapes(node: Join, rows: Frames) -> tuple[Shape, ...]:
    """What each side needs; rows with a NULL key match nothing and are left out."""
    left, right = rows
    left_keys, right_keys = [pair[0].sql for pair in node.on], [pair[1].sql for pair in node.on]
    pairs = zip(types_of(left, left_keys), types_of(right, right_keys), strict=True)
    types = tuple(common_type(left, one, other) for one, other in pairs)
    sides = ((left, left_keys, node.left), (right, right_keys, node.right))
    made = []
    for frame, keys, input_ in sides:
        payload = tuple((name, field(name)) for name in input_.carries)
        condition = " AND ".join(f"({key}) IS NOT NULL" for key in keys)
        payload_types = tuple(types_of(frame, [sql for _, sql in payload]))
        made.append(Shape(tuple(keys), types, payload, payload_types, condition))
    return tuple(made)


def unpack(node: Join, rows: Frames, struct: str) -> Unpacked:
    left, right = node.carried
    fields = [(new, f"{struct}.l.{field(old)}") for old, new in left.items()]
    fields += [(new, f"{struct}.r.{field(old)}") for old, new in right.items()]
    condition = node.residual.over(dict(fields)) if node.residual else None
    return Unpacked(tuple(fields), condition)


def spec(node: Join, rows: Frames) -> dict[str, object]:
    return {"kind": "join", "append_only": node.append_only}


def batch(node: Join, rows: Frames) -> DataFrame:
    """Plain SQL."""
    sides = []
    for frame, carried in zip(rows, node.carried, strict=True):
        sides.append(frame.selectExpr(*(f"{field(old)} AS {field(new)}" for old, new in carried.items())))
    conditions = [f"({one}) = ({other})" for one, other in keys_of_result(node)]
    if node.residual:
        conditions.append(f"({node.residual.sql})")
    return sides[0].join(sides[1], expr(" AND ".join(conditions)))


def keys_of_result(node: Join) -> list[tuple[str, str]]:
    left, right = ({old: field(new) for old, new in side.items()} for side in node.carried)
    return [(one.over(left), other.over(right)) for one, other in node.on]


JOIN = Lowering(shapes, unpack, spec, batch)
