"""A job that starts with history: the result is the same as if history and source were one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import millstream as ms
from millstream import files, journal
from millstream.plan.modes import Mode

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "customer STRING, price INT, at TIMESTAMP"


def order(number: int) -> dict[str, Any]:
    at = f"2026-01-{1 + number // 144:02}T{number // 6 % 24:02}:{number % 6}0:00"
    return {"customer": f"c{number * 7 % 5}", "price": number * 13 % 17, "at": at}


class History:
    """Orders in files, and those that came later in a topic."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path, self.archive = folder, str(folder / "journal"), folder / "archive"
        self.archive.mkdir()
        for topic in ("orders", "names", "totals", "hourly", "dearest", "named"):
            journal.create(self.path, topic, 2 if topic == "orders" else 1)
        self.send("names", [{"customer": f"c{n}", "name": f"Customer {n}"} for n in range(4)])

    def send(self, topic: str, rows: list[dict[str, Any]]) -> None:
        with journal.producer(self.path, topic) as producer:
            for row in rows:
                producer.send(row)

    def write(self, name: str, rows: list[dict[str, Any]]) -> None:
        part = self.archive / f".{name}"
        part.write_text("".join(json.dumps(row) + "\n" for row in rows))
        # Spark reads files in the order of their times. Those that are written at once may have the same, and no order.
        second = 1_767_225_600 + len(list(self.archive.iterdir()))
        os.utime(part, (second, second))
        part.rename(self.archive / name)

    def job(self, checkpoint: str = "checkpoint", *, history: bool = True) -> ms.Job:
        job = ms.Job("orders", checkpoint=str(self.folder / checkpoint))
        past = files.source(str(self.archive), format="json", max_files_per_epoch=1) if history else None
        source = journal.source("orders", path=self.path)
        orders = job.stream(source, SCHEMA, time="at", lateness="2 days", history=past)
        names = job.table(journal.source("names", path=self.path), "customer STRING, name STRING", key="customer")
        totals = orders.group_by("customer").agg(n="count(*)", spent="sum(price)", most="max(price)").named("totals")
        totals.to(self.sink("totals", changelog=True))
        totals.top(2, by="spent DESC, customer").named("dearest").to(self.sink("dearest", changelog=True))
        hours = orders.window(ms.tumbling("1 hour")).group_by("customer").agg(n="count(*)").named("hourly")
        hours.final().to(self.sink("hourly"))
        named = orders.as_("o").join(names.as_("n"), on="o.customer = n.customer").named("named")
        named.select("n.name", price="o.price").to(self.sink("named", changelog=True))
        return job

    def sink(self, topic: str, *, changelog: bool = False) -> Any:
        return journal.sink(topic, path=self.path, changelog=changelog)

    def rows(self) -> dict[str, Counter[str]]:
        return {topic: self.table(topic) for topic in ("totals", "dearest", "hourly", "named")}

    def table(self, topic: str) -> Counter[str]:
        """The sum of all changes."""
        found: Counter[str] = Counter()
        for record in journal.read(self.path, topic):
            row = record.json()
            weight = -1 if row.pop("op", "insert") == "delete" else 1
            found[json.dumps(row, sort_keys=True)] += weight
        return Counter({text: count for text, count in found.items() if count})


def expected(folder: Path, spark: SparkSession, count: int) -> dict[str, Counter[str]]:
    """All rows came by the topic."""
    folder.mkdir()
    straight = History(folder)
    straight.send("orders", [order(number) for number in range(count)])
    straight.job(history=False).run(ms.available_now(), spark=spark)
    return straight.rows()


@pytest.mark.slow
@pytest.mark.parametrize("mode", [ms.available_now(), ms.real_time("500 ms")], ids=["micro-batch", "real time"])
def test_history_and_then_the_source(mode: Mode, spark: SparkSession, tmp_path: Path) -> None:
    own = History(tmp_path)
    for part in range(3):
        own.write(f"{part}.json", [order(number) for number in range(part * 100, part * 100 + 100)])
    own.send("orders", [order(number) for number in range(300, 360)])
    wanted = expected(tmp_path / "straight", spark, 360)
    run = own.job().start(mode, spark=spark, backfill=True)
    while not run.poll(0.2) and own.rows() != wanted:
        pass
    run.stop()
    assert own.rows() == wanted
    assert sorted(path.name for path in tmp_path.glob("checkpoint*")) == ["checkpoint"]
    own.send("orders", [order(number) for number in range(360, 400)])
    own.job().run(ms.available_now(), spark=spark, backfill=True)
    assert own.rows() == expected(tmp_path / "more", spark, 400)


def test_history_that_is_not_read_to_the_end_is_not_forgotten(spark: SparkSession, tmp_path: Path) -> None:
    own = History(tmp_path)
    (tmp_path / "checkpoint-history").mkdir()
    (tmp_path / "checkpoint-history" / "millstream.json").write_text("{}")
    with pytest.raises(ms.MillstreamError, match="MS-RUN-016"):
        own.job().start(ms.available_now(), spark=spark)


def test_what_cannot_be_history(spark: SparkSession, tmp_path: Path) -> None:
    own = History(tmp_path)
    with pytest.raises(ms.MillstreamError, match="no source has one"):
        own.job(history=False).run(ms.available_now(), backfill=True, spark=spark)
    with pytest.raises(ms.MillstreamError, match="a batch ends"):
        own.job().run(ms.batch(), backfill=True, spark=spark)
    job, source = ms.Job("bad"), journal.source("names", path=own.path)
    past = files.source(str(own.archive), format="json")
    with pytest.raises(ms.MillstreamError, match=r"MS-SOURCE-009.*whose rows have no order"):
        job.table(source, "customer STRING, name STRING", key="customer", history=past)
    changes = files.source(str(own.archive), format="json", changelog=True)
    with pytest.raises(ms.MillstreamError, match=r"MS-SOURCE-009.*reads rows, and its history"):
        job.stream(source, "customer STRING", history=changes)


IN_SPARK = ("sink.publish.before",)
"""Places where Spark's process is killed, and not that of Python."""
PLACES = (
    *IN_SPARK,
    "backfill.saved",
    "restore.laid_out",
    "restore.built",
    "restore.retired",
    "backfill.restored",
)
JOB = """
import sys
from pathlib import Path
sys.path.insert(0, {root!r})
import millstream as ms
from tests.savepoints.test_backfill import History
own = History.__new__(History)
folder = Path({folder!r})
own.folder, own.path, own.archive = folder, str(folder / "journal"), folder / "archive"
own.job().run(ms.available_now(), backfill=True)
"""


@pytest.mark.long
@pytest.mark.parametrize("place", PLACES)
def test_killed_on_the_way(place: str, spark: SparkSession, tmp_path: Path) -> None:
    own = History(tmp_path)
    for part in range(2):
        own.write(f"{part}.json", [order(number) for number in range(part * 100, part * 100 + 100)])
    own.send("orders", [order(number) for number in range(200, 260)])
    script = tmp_path / "run.py"
    script.write_text(JOB.format(root=str(Path(__file__).parents[2]), folder=str(tmp_path)))
    killed = subprocess.run(
        [sys.executable, script], env={**os.environ, "MILLSTREAM_FAULT": place}, capture_output=True
    )
    said = killed.stderr.decode()
    if place in IN_SPARK:
        assert (killed.returncode, "Spark's Java process has ended" in said) == (1, True), said
    else:
        assert killed.returncode == 137, said
    own.job().run(ms.available_now(), spark=spark, backfill=True)
    assert own.rows() == expected(tmp_path / "straight", spark, 260)
