"""The join: keys of both sides in one type, rows of each side as payload.

The kernel checks the residual, before a pair is made, and where it must know which rows have a partner. Only a residual
that depends on more than the rows is checked by the router, after an inner match.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.functions import expr
from pyspark.sql.types import DataType, DecimalType, IntegerType, LongType, StringType

from millstream.errors import MillstreamError
from millstream.plan.changing import steady
from millstream.plan.expressions import Expr, field
from millstream.plan.node import Node
from millstream.plan.two_sides import COPY, Join
from millstream.planner.rules.broadcast_joins import COPIES
from millstream.spark.lower.ports import Frames, Lowering, Shape, Unpacked, stored
from millstream.spark.lower.state import Kept
from millstream.spark.lower.told import CountedJoinTold, JoinTold, LifetimeTold
from millstream.spark.lower.types import common_type, floating, holds_map, spread, types_of

BUCKETS = 64
"""Rows with a NULL key are spread by their hash over this many groups."""
BATCH = {"full": "full_outer", "semi": "left_semi", "anti": "left_anti"}


def shapes(node: Join, rows: Frames) -> tuple[Shape, ...]:
    """What each side needs."""
    left, right = rows
    on = matched(node, left)
    left_keys, right_keys = [pair[0].sql for pair in on], [pair[1].sql for pair in on]
    pairs = zip(types_of(left, left_keys), types_of(right, right_keys), strict=True)
    compared = [(one, other, common_type(left, one, other)) for one, other in pairs]
    refuse_merged_keys(node, compared)
    types = tuple(common for _, _, common in compared)
    sides = ((left, left_keys, node.left), (right, right_keys, node.right))
    return tuple(side(node, i, *part, types) for i, part in enumerate(sides))


def matched(node: Join, left: DataFrame) -> list[tuple[Expr, Expr]]:
    """The pairs that must be equal. What spreads the left over copies of the right leaves out maps."""
    fields = [field(name) for name in node.left.key or node.left.carries]
    copied = [pair for pair in node.on if pair[1].sql == field(COPY)]
    if not copied or not any(map(holds_map, types := types_of(left, fields))):
        return list(node.on)
    return [pair if pair not in copied else (Expr(spread(fields, types, COPIES)), pair[1]) for pair in node.on]


def refuse_merged_keys(node: Join, compared: list[tuple[DataType, DataType, DataType]]) -> None:
    """A key that is compared in another type may match several rows of it, '1' and '01': then it is no key here."""
    for pair, types in zip(node.on, compared, strict=True):
        for which in (0, 1):
            if node.key and not node.tells[which] and node.pairs and merges(types[which], types[2]):
                raise MillstreamError(
                    "MS-JOIN-009",
                    f'step "{node.name}" compares {pair[which].shown}, by which it is matched, as '
                    f"{types[2].simpleString().upper()}: several values may be one then.",
                    at=node.at,
                    found=f"it is of type {types[which].simpleString().upper()}",
                    hint=f"cast the other side: CAST({pair[1 - which].shown} AS {types[which].simpleString().upper()})",
                )


def merges(type_: DataType, common: DataType) -> bool:
    texts = isinstance(type_, StringType) and not isinstance(common, StringType)
    return texts or (isinstance(type_, LongType | DecimalType) and floating(common))


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
        spreads = spreading(keys, payload, types) if node.alone[which] else "0"
        return Shape((*keys, spreads), (*key_types, IntegerType()), payload, types, condition)
    return Shape(tuple(keys), key_types, payload, types, condition)


def spreading(keys: list[str], payload: tuple[tuple[str, str], ...], types: tuple[DataType, ...]) -> str:
    """One more key that keeps rows with a NULL key from all going to one task; 0 for all others."""
    missing = " OR ".join(f"({key}) IS NULL" for key in keys)
    return f"CASE WHEN {missing} THEN {spread([sql for _, sql in payload], types, BUCKETS)} ELSE 0 END"


def unpack(node: Join, rows: Frames, struct: str) -> Unpacked:
    left, right = node.carried
    fields = [(new, f"{struct}.l.{field(stored(old))}") for old, new in left.items()]
    if node.pairs:
        fields += [(new, f"{struct}.r.{field(stored(old))}") for old, new in right.items()]
    condition = node.residual.over(dict(fields)) if node.residual and asked_later(node, node.residual) else None
    return Unpacked(tuple(fields), condition)


def asked_later(node: Join, residual: Expr) -> bool:
    """Whether the router checks it: a kernel would not know the time of an epoch."""
    return node.how == "inner" and not steady(residual)


def counted(node: Join) -> bool:
    """Whether the kernel must know for each row if it has a partner, or how long it is kept."""
    return node.how != "inner" or any(node.lifetimes)


def told(node: Join, rows: Frames) -> JoinTold | CountedJoinTold:
    sides = (node.left.append_only, node.right.append_only)
    if not counted(node):
        return JoinTold(sides, asked_of_pairs(node))
    return CountedJoinTold(
        how=node.how,
        append_only_sides=sides,
        residual=asked_of_pairs(node),
        waits=node.within is not None,
        lifetimes=(lifetime(node, 0), lifetime(node, 1)),
    )


def asked_of_pairs(node: Join) -> str | None:
    """What the kernel checks."""
    if node.residual is None or asked_later(node, node.residual):
        return None
    return node.residual.over(sides_of_pair(node))


def lifetime(node: Join, which: int) -> LifetimeTold | None:
    """How long a side's rows are kept."""
    found = node.lifetimes[which]
    if found is None:
        return None
    exact = node.within is not None and node.alone[which]
    return LifetimeTold(stored(found.field), found.keep_ms, found.late_ms, exact)


def kept(node: Join) -> Kept:
    """Where rows keep the number of their partners, saved state depends on what makes two rows partners."""
    residual = (f"on {node.residual.sql}",) if node.residual and node.how != "inner" else ()
    return Kept(matched_by(node.on), (f"{node.how} join", *residual))


def matched_by(on: tuple[tuple[Expr, Expr], ...]) -> tuple[str, ...]:
    return tuple(f"{one.shown} = {other.shown}" for one, other in on)


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
    conditions = [f"({one}) = ({other})" for one, other in keys_of_result(node, rows[0])]
    if node.residual:
        conditions.append(f"({node.residual.sql})")
    return sides[0].join(sides[1], expr(" AND ".join(conditions)), BATCH.get(node.how, node.how))


def keys_of_result(node: Join, rows: DataFrame) -> list[tuple[str, str]]:
    left, right = ({old: field(new) for old, new in side.items()} for side in node.carried)
    return [(one.over(left), other.over(right)) for one, other in matched(node, rows)]


JOIN = Lowering(shapes, unpack, told, kept, batch)
