"""The join: keys of both sides in one type, rows of each side as payload.

The residual is asked by the kernel: before a pair is made, and where it must be known who has a partner. Only one that
depends on more than the rows is asked by the router, after an inner match.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.functions import expr
from pyspark.sql.types import DataType, IntegerType, MapType

from millstream.plan.expressions import Expr, field, momentary
from millstream.plan.node import Node
from millstream.plan.operators import Join
from millstream.spark.lower.ports import Frames, Lowering, Shape, Unpacked, stored
from millstream.spark.lower.types import common_type, sql_type, types_of

BUCKETS = 64
"""Rows with a NULL key are spread by their hash over so many groups."""
BATCH = {"full": "full_outer", "semi": "left_semi", "anti": "left_anti"}


def shapes(node: Join, rows: Frames) -> tuple[Shape, ...]:
    """What each side needs."""
    left, right = rows
    left_keys, right_keys = [pair[0].sql for pair in node.on], [pair[1].sql for pair in node.on]
    pairs = zip(types_of(left, left_keys), types_of(right, right_keys), strict=True)
    types = tuple(common_type(left, one, other) for one, other in pairs)
    sides = ((left, left_keys, node.left), (right, right_keys, node.right))
    return tuple(side(node, i, *part, types) for i, part in enumerate(sides))


def side(
    node: Join, which: int, rows: DataFrame, keys: list[str], input_: Node, key_types: tuple[DataType, ...]
) -> Shape:
    """Rows with a NULL key, or no time, match nothing: they are left out, unless those without a partner go out."""
    payload = tuple((stored(name), field(name)) for name in input_.carries)
    types = tuple(types_of(rows, [sql for _, sql in payload]))
    if node.within is not None:
        time = field(node.within.right if which else node.within.left)
        keys = [f"CASE WHEN {time} IS NOT NULL THEN {keys[0]} END", *keys[1:]]
    condition = None if node.alone[which] else " AND ".join(f"({key}) IS NOT NULL" for key in keys)
    if any(node.alone):
        spread = spreading(keys, payload, types) if node.alone[which] else "0"
        return Shape((*keys, spread), (*key_types, IntegerType()), payload, types, condition)
    return Shape(tuple(keys), key_types, payload, types, condition)


def spreading(keys: list[str], payload: tuple[tuple[str, str], ...], types: tuple[DataType, ...]) -> str:
    """One more key that keeps rows with a NULL key from all going to one task; 0 for all others."""
    hashed = [sql for (_, sql), type_ in zip(payload, types, strict=True) if not holds_map(type_)]
    if not hashed:
        return "0"
    missing = " OR ".join(f"({key}) IS NULL" for key in keys)
    return f"CASE WHEN {missing} THEN pmod(hash({', '.join(hashed)}), {BUCKETS}) ELSE 0 END"


def holds_map(type_: DataType) -> bool:
    """Spark gives maps no hash."""
    return isinstance(type_, MapType) or "MAP<" in sql_type(type_)


def unpack(node: Join, rows: Frames, struct: str) -> Unpacked:
    left, right = node.carried
    fields = [(new, f"{struct}.l.{field(stored(old))}") for old, new in left.items()]
    if node.pairs:
        fields += [(new, f"{struct}.r.{field(stored(old))}") for old, new in right.items()]
    condition = node.residual.over(dict(fields)) if node.residual and asked_later(node, node.residual) else None
    return Unpacked(tuple(fields), condition)


def asked_later(node: Join, residual: Expr) -> bool:
    """Whether the router asks: a kernel would not know the time of an epoch."""
    return not counted(node) and not (residual.repeatable and momentary(residual.tree) is None)


def counted(node: Join) -> bool:
    """Whether the kernel must know of each row if it has a partner, or how long it is kept."""
    return node.how != "inner" or any(node.lifetimes)


def spec(node: Join, rows: Frames) -> dict[str, object]:
    if not counted(node):
        return {"kind": "join", "append_only": [part.append_only for part in node.inputs]}
    return {
        "kind": "counted_join",
        "how": node.how,
        "append_only": node.left.append_only and node.right.append_only,
        "residual": node.residual.over(sides_of_pair(node)) if node.residual else None,
        "waits": node.within is not None,
        "lifetimes": [lifetime(node, 0), lifetime(node, 1)],
    }


def unsaved(node: Join, rows: Frames) -> dict[str, object]:
    """What pairs must meet says nothing about the rows that are kept."""
    if counted(node) or node.residual is None or asked_later(node, node.residual):
        return {}
    return {"residual": node.residual.over(sides_of_pair(node))}


def lifetime(node: Join, which: int) -> dict[str, object] | None:
    """How long a side's rows are kept. `exact`: what becomes of them then is seen."""
    found = node.lifetimes[which]
    if found is None:
        return None
    return {
        "at": node.inputs[which].carries.index(found.field),
        "keep_ms": found.keep_ms,
        "late_ms": -1 if found.late_ms is None else found.late_ms,
        "exact": node.within is not None and node.alone[which],
    }


def sides_of_pair(node: Join) -> dict[str, str]:
    """Where the kernel's condition finds each field."""
    left, right = node.carried
    places = {new: f"`l`.{field(stored(old))}" for old, new in left.items()}
    return places | {new: f"`r`.{field(stored(old))}" for old, new in right.items()}


def batch(node: Join, rows: Frames) -> DataFrame:
    """Plain SQL."""
    sides = []
    for frame, carried in zip(rows, node.carried, strict=True):
        sides.append(frame.selectExpr(*(f"{field(old)} AS {field(new)}" for old, new in carried.items())))
    conditions = [f"({one}) = ({other})" for one, other in keys_of_result(node)]
    if node.residual:
        conditions.append(f"({node.residual.sql})")
    return sides[0].join(sides[1], expr(" AND ".join(conditions)), BATCH.get(node.how, node.how))


def keys_of_result(node: Join) -> list[tuple[str, str]]:
    left, right = ({old: field(new) for old, new in side.items()} for side in node.carried)
    return [(one.over(left), other.over(right)) for one, other in node.on]


JOIN = Lowering(shapes, unpack, spec, batch, unsaved)
