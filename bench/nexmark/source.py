"""The events as a source of Millstream's jobs."""

from __future__ import annotations

from dataclasses import dataclass

import millstream as ms
from bench.nexmark.log import SIDE
from millstream import files
from millstream.plan.connectors import Format, OnError, Reader

SCHEMA = (
    "kind INT, date_time TIMESTAMP, "
    "person STRUCT<id: BIGINT, name: STRING, email: STRING, credit_card: STRING, city: STRING, state: STRING, "
    "date_time: TIMESTAMP, extra: STRING>, "
    "auction STRUCT<id: BIGINT, item_name: STRING, description: STRING, initial_bid: BIGINT, reserve: BIGINT, "
    "date_time: TIMESTAMP, expires: TIMESTAMP, seller: BIGINT, category: BIGINT, extra: STRING>, "
    "bid STRUCT<auction: BIGINT, bidder: BIGINT, price: BIGINT, channel: STRING, url: STRING, date_time: TIMESTAMP, "
    "extra: STRING>"
)
LATENESS = "4 seconds"


@dataclass(frozen=True)
class EventSource:
    """The file of events, read by the bench's own data source of Spark: typed rows, nothing to decode."""

    folder: str
    events_per_epoch: int
    parts: int

    @property
    def system(self) -> str:
        return "nexmark"

    @property
    def label(self) -> str:
        return "events"

    @property
    def changelog(self) -> bool:
        return False

    @property
    def format(self) -> Format:
        return "rows"

    @property
    def on_error(self) -> OnError:
        return "fail"

    @property
    def dead_letters(self) -> None:
        return None

    @property
    def real_time(self) -> bool:
        return False

    def partitions(self) -> int:
        return self.parts

    def reader(self) -> Reader:
        options = {"folder": self.folder, "partitions": str(self.parts), "eventsPerEpoch": str(self.events_per_epoch)}
        return Reader("nexmark.spark.EventsProvider", tuple(options.items()), "rows")


class Events:
    """The three kinds of events, each its own stream; the file is read once. Beside them a small table."""

    def __init__(self, job: ms.Job, source: EventSource, timed: bool) -> None:
        self.job = job
        self.folder = source.folder
        time, lateness = ("date_time", LATENESS) if timed else (None, None)
        self.all = job.stream(source, SCHEMA, time=time, lateness=lateness)

    @property
    def persons(self) -> ms.Stream:
        fields = ("id", "name", "email", "credit_card", "city", "state", "extra")
        return self.all.where("kind = 0").select("date_time", *(f"person.{name}" for name in fields))

    @property
    def auctions(self) -> ms.Stream:
        fields = ("id", "item_name", "description", "initial_bid", "reserve", "expires", "seller", "category", "extra")
        return self.all.where("kind = 1").select("date_time", *(f"auction.{name}" for name in fields))

    @property
    def bids(self) -> ms.Stream:
        fields = ("auction", "bidder", "price", "channel", "url", "extra")
        return self.all.where("kind = 2").select("date_time", *(f"bid.{name}" for name in fields))

    @property
    def side(self) -> ms.Static:
        source = files.source(f"{self.folder}/{SIDE}", format="parquet")
        return self.job.static(source, "key BIGINT, side STRING", name="side")
