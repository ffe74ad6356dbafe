"""The queries as hand-written PySpark, where one streaming query of Spark's own operators can express them.

Left out: q4, q6 and q9 (an aggregate or a rank over a join that changes), q15 and q16 (distinct counts), q19 (top-N):
Structured Streaming refuses them. q18 is rewritten as an aggregate.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import broadcast, expr

from bench.measure import Cost, measured
from bench.nexmark.oracle import RANKS
from bench.nexmark.queries import TIMED
from bench.nexmark.source import LATENESS, EventSource
from millstream.spark import session
from millstream.spark.slots import Need

CHANNEL = (
    "CASE lower(channel) WHEN 'apple' THEN '0' WHEN 'google' THEN '1' WHEN 'facebook' THEN '2' WHEN 'baidu' THEN '3' "
    "ELSE regexp_extract(url, '(&|^)channel_id=([^&]*)', 2) END AS channel_id"
)
TIME_OF_DAY = (
    "CASE WHEN hour(date_time) BETWEEN 8 AND 18 THEN 'day' WHEN hour(date_time) <= 6 OR hour(date_time) >= 20 "
    "THEN 'night' ELSE 'other' END AS bid_time"
)


class Tables:
    """The three kinds of events. Each is its own scan: Spark shares none within a query."""

    def __init__(self, spark: SparkSession, source: EventSource, timed: bool) -> None:
        self.spark = spark
        self.source = source
        self.timed = timed

    def rows(self, kind: int, name: str) -> DataFrame:
        reader = self.source.reader()
        events = self.spark.readStream.format(reader.format).options(**dict(reader.options)).load()
        rows = events.where(f"kind = {kind}").select(f"{name}.*")
        return rows.withWatermark("date_time", LATENESS) if self.timed else rows

    @property
    def persons(self) -> DataFrame:
        return self.rows(0, "person")

    @property
    def auctions(self) -> DataFrame:
        return self.rows(1, "auction")

    @property
    def bids(self) -> DataFrame:
        return self.rows(2, "bid")


def q0(tables: Tables) -> DataFrame:
    return tables.bids.select("auction", "bidder", "price", "date_time", "extra")


def q1(tables: Tables) -> DataFrame:
    return tables.bids.selectExpr("auction", "bidder", "date_time", "extra", "0.908 * price AS price")


def q2(tables: Tables) -> DataFrame:
    return tables.bids.where("auction % 123 = 0").select("auction", "price")


def q3(tables: Tables) -> DataFrame:
    sellers = tables.persons.where("state IN ('OR', 'ID', 'CA')").alias("p")
    auctions = tables.auctions.where("category = 10").alias("a")
    return auctions.join(sellers, expr("a.seller = p.id")).selectExpr("p.name", "p.city", "p.state", "a.id")


def q5(tables: Tables) -> DataFrame:
    hops = tables.bids.groupBy(expr("window(date_time, '10 seconds', '2 seconds')"), "auction").count()
    most = hops.groupBy("window").agg(
        expr("max(count)").alias("most"), expr("collect_list(struct(auction, count))").alias("all")
    )
    return most.selectExpr("window.start", "inline(filter(all, x -> x.count = most))")


def q8(tables: Tables) -> DataFrame:
    window = "window(date_time, '10 seconds') AS window"
    persons = tables.persons.selectExpr("id", "name", window).dropDuplicates(["id", "name", "window"])
    sellers = tables.auctions.selectExpr("seller", window).dropDuplicates(["seller", "window"])
    both = persons.alias("p").join(sellers.alias("a"), expr("p.id = a.seller AND p.window = a.window"))
    return both.selectExpr("p.id", "p.name", "p.window.start")


def q11(tables: Tables) -> DataFrame:
    return tables.bids.groupBy("bidder", expr("session_window(date_time, '10 seconds')")).count()


def q12(tables: Tables) -> DataFrame:
    now = tables.bids.selectExpr("bidder", "window(current_timestamp(), '10 seconds') AS window")
    return now.groupBy("bidder", "window").count()


def q13(tables: Tables) -> DataFrame:
    side = tables.spark.range(10_000).selectExpr("id AS key", "concat('value-', id) AS side")
    joined = tables.bids.alias("b").join(broadcast(side), expr("b.auction % 10000 = key"))
    return joined.selectExpr("auction", "bidder", "price", "date_time", "side")


def q14(tables: Tables) -> DataFrame:
    chosen = tables.bids.where("0.908 * price > 1000000 AND 0.908 * price < 50000000")
    count = "length(extra) - length(replace(extra, 'c', '')) AS c_counts"
    return chosen.selectExpr("auction", "bidder", "date_time", "extra", "0.908 * price AS price", TIME_OF_DAY, count)


def q17(tables: Tables) -> DataFrame:
    figures = [f"count(CASE WHEN {condition} THEN 1 END) AS {rank}_bids" for rank, condition in RANKS]
    prices = [f"{name}(price) AS {name}_price" for name in ("min", "max", "avg", "sum")]
    grouped = tables.bids.groupBy("auction", expr("date(date_time)").alias("day"))
    return grouped.agg(*(expr(part) for part in ("count(*) AS total_bids", *figures, *prices)))


def q18(tables: Tables) -> DataFrame:
    last = "max_by(struct(price, channel, url, date_time, extra), date_time)"
    return tables.bids.groupBy("bidder", "auction").agg(expr(last).alias("last")).select("bidder", "auction", "last.*")


def q20(tables: Tables) -> DataFrame:
    auctions = tables.auctions.where("category = 10").alias("a")
    joined = tables.bids.alias("b").join(auctions, expr("b.auction = a.id"))
    names = ("item_name", "description", "initial_bid", "reserve", "expires", "seller", "category")
    rest = ("a.date_time AS auction_date_time", "a.extra AS auction_extra")
    return joined.selectExpr("b.*", *(f"a.{name}" for name in names), *rest)


def q21(tables: Tables) -> DataFrame:
    named = tables.bids.selectExpr("auction", "bidder", "price", "channel", CHANNEL)
    return named.where("channel_id <> ''")


def q22(tables: Tables) -> DataFrame:
    parts = [f"split_part(url, '/', {n + 3}) AS dir{n}" for n in (1, 2, 3)]
    return tables.bids.selectExpr("auction", "bidder", "price", "channel", *parts)


def q23(tables: Tables) -> DataFrame:
    with_person = tables.bids.alias("b").join(tables.persons.alias("p"), expr("b.bidder = p.id"))
    chosen = with_person.selectExpr(
        "b.auction", "b.bidder", "b.price", "b.channel", "b.date_time", "p.name", "p.city", "p.state"
    )
    joined = chosen.alias("b").join(tables.auctions.alias("a"), expr("b.bidder = a.seller"))
    return joined.selectExpr("b.*", "a.id", "a.item_name", "a.category")


QUERIES: dict[str, Callable[[Tables], DataFrame]] = {
    name: value for name, value in globals().items() if name[:1] == "q" and name[1:].isdigit() and callable(value)
}
UPDATE = ("q12", "q17", "q18")
"""Aggregates without an end: written in update mode."""


class Spark:
    """Hand-written queries in the session that our own jobs use, with the same store for state."""

    def __init__(self, spark: SparkSession, work: Path, source: EventSource, parallelism: int) -> None:
        self.spark = spark
        self.work = work
        self.source = source
        self.parallelism = parallelism
        self._runs = itertools.count()

    def cost(self, query: str, without: int | None) -> Cost:
        own = session.use(self.spark, Need(self.parallelism), self.parallelism)
        for rule in ("serializer.nestedSchemaPruning", "nestedSchemaPruning"):
            own.conf.set(f"spark.sql.optimizer.{rule}.enabled", "true")
        checkpoint = str(self.work / "checkpoints" / f"spark-{query}-{next(self._runs)}")

        def work() -> None:
            rows = QUERIES[query](Tables(own, self.source, query in TIMED))
            writer = rows.writeStream.format("noop").outputMode("update" if query in UPDATE else "append")
            writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start().awaitTermination()

        return measured(work, without=without)
