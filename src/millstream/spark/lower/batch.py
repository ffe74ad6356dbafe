"""Batch: the same plan as plain Spark SQL over all rows. It shares no operator with the streaming side, so that it can
judge it."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr

from millstream.plan.expressions import field
from millstream.plan.lookup import Lookup
from millstream.plan.node import Node, Stateful
from millstream.plan.nodes import Sink, Source, Union, Versions
from millstream.plan.operators import Sliding
from millstream.spark.lower import source as sources
from millstream.spark.lower.enrich import together
from millstream.spark.lower.frames import hidden, steps
from millstream.spark.lower.operators import LOWERINGS
from millstream.spark.lower.ports import plain

CHECKED = """CASE WHEN `_n` < 0L
  THEN raise_error('MS-STATE-001: a changelog takes back rows that it never added') ELSE `_n` END"""

Endings = Callable[[Source], str | None]
"""Up to which offsets a source is read; None: all."""


class Batch:
    """Lowers nodes one by one; a node that several read is lowered once."""

    def __init__(self, spark: SparkSession, timed: tuple[Source, ...], endings: Endings, watermark: int | None) -> None:
        """`timed`: the sources with a time, which make the watermark where it is not given."""
        self.spark = spark
        self.timed = timed
        self.endings = endings
        self.given = watermark
        self.made: dict[Node, DataFrame] = {}

    def rows(self, node: Node) -> DataFrame:
        if node not in self.made:
            self.made[node] = self.lower(node)
        return self.made[node]

    def lower(self, node: Node) -> DataFrame:
        match node:
            case Source():
                rows = sources.batch(node, self.spark, self.endings(node))
                return summed(rows, node) if node.options.changelog else rows
            case Sliding():
                return weighed(LOWERINGS[Sliding].batch(node, (steps(self.rows(node.input), ()), self.watermark())))
            case Versions():
                # All changes, not their sum.
                source, chain = below(node)
                return steps(sources.batch(source, self.spark, self.endings(source)), (*chain, node))
            case Lookup():
                return weighed(together(node, *(steps(self.rows(part), ()) for part in node.inputs)))
            case Stateful():
                inputs = tuple(steps(self.rows(part), ()) for part in node.inputs)
                return weighed(LOWERINGS[type(node)].batch(node, inputs))
            case Union():
                return weighed(reduce(DataFrame.unionAll, (self.plain(part) for part in node.parts)))
            case Sink():
                return self.rows(node.input)
            case _:
                return steps(self.rows(node.inputs[0]), (node,))

    def watermark(self) -> DataFrame:
        """How far time has come when all input is read: the least of what the sources say."""
        if self.given is not None:
            return self.spark.range(1).selectExpr(f"{self.given}L AS `_watermark`")
        said = []
        for source in self.timed:
            assert source.time is not None
            latest = f"unix_millis(max({field(source.time)})) - {source.lateness_ms}L"
            said.append(self.rows(source).selectExpr(f"coalesce({latest}, 0L) AS `_watermark`"))
        return reduce(DataFrame.unionAll, said).selectExpr("min(`_watermark`) AS `_watermark`")

    def plain(self, node: Node) -> DataFrame:
        """A node's fields alone, in their order."""
        return plain(node, steps(self.rows(node), ()))


def below(node: Versions) -> tuple[Source, tuple[Node, ...]]:
    chain: list[Node] = []
    part = node.input
    while not isinstance(part, Source):
        chain.insert(0, part)
        (part,) = part.inputs
    return part, tuple(chain)


def weighed(rows: DataFrame) -> DataFrame:
    return rows.selectExpr("1L AS `_w`", "*")


def summed(rows: DataFrame, node: Source) -> DataFrame:
    """A changelog summed up: each row as often as its weights say."""
    fields = [field(name) for name in node.carries]
    kept = [part for part in hidden(rows) if part == "`_bad`"]
    total = rows.groupBy(*kept, *fields).agg(expr("sum(`_w`)").alias("_n"))
    repeated = total.selectExpr(*kept, *fields, f"explode(array_repeat(1L, CAST({CHECKED} AS INT))) AS `_w`")
    return repeated.selectExpr("`_w`", *kept, *fields)
