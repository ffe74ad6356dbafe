"""What an operator needs from each input row: a key, a payload, and which rows to leave out."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from pyspark.sql import DataFrame
from pyspark.sql.types import DataType

from millstream.plan.expressions import field
from millstream.plan.node import Node
from millstream.spark.lower.state import Kept
from millstream.spark.lower.told import Told

Place = Callable[[str], str]
"""Where a field is: SQL for its value."""


@dataclass(frozen=True)
class Shape:
    """SQL over the fields of the rows that come in, and the types it must have."""

    keys: tuple[str, ...]
    key_types: tuple[DataType, ...]
    payload: tuple[tuple[str, str], ...]
    payload_types: tuple[DataType, ...]
    condition: str | None = None


@dataclass(frozen=True)
class Unpacked:
    """How an operator's output struct is read: SQL for each field of the node, and a condition to meet."""

    fields: tuple[tuple[str, str], ...]
    condition: str | None = None


Frames = tuple[DataFrame, ...]
"""The rows of an operator's inputs, each by itself: the fields of its node, beside the hidden columns."""

N = TypeVar("N")


@dataclass(frozen=True)
class Lowering(Generic[N]):
    """How one kind of operator becomes Spark."""

    shapes: Callable[[N, Frames], tuple[Shape, ...]]
    """What it needs from each input's rows."""
    unpack: Callable[[N, Frames, str], Unpacked]
    """How its output struct, in the named column, is read."""
    told: Callable[[N, Frames], Told]
    """The kernel's settings."""
    kept: Callable[[N], Kept]
    """The key of its saved state, and its meaning."""
    batch: Callable[[N, Frames], DataFrame]
    """The same as plain SQL over all rows, without weights: the judge of the streaming side."""
    gathers: bool = False
    """Whether the kernel gathers rows of many keys, and must know when the input ends."""
    computes: Callable[[N, Frames], dict[str, str]] | None = None
    """What the figures in its saved state compute, by the number at the end of a field's name. They are found again by
    that, not by their place, when the step changes."""
    results: Callable[[N, Frames], dict[str, str]] | None = None
    """The results that are figures as they are kept, by that number."""
    layout: int = 1
    """The version of how its kernel lays out state."""


def plain(node: Node, rows: DataFrame) -> DataFrame:
    """A node's fields alone, in their order."""
    return rows.selectExpr(*(field(name) for name in node.carries))


def whole_row(node: Node, struct: str) -> Unpacked:
    """An output struct that is a row of the node."""
    return Unpacked(tuple((name, f"{struct}.{field(stored(name))}") for name in node.carries))


def stored(name: str) -> str:
    """A field's name in state, which takes letters, digits and _ only: a join's field `a.liker` is `a_x2e_liker`."""
    return re.sub(r"[^A-Za-z0-9_]", lambda found: f"_x{ord(found.group()):x}_", name)
