"""What is counted in a run: by source, operator, sink and epoch, in every mode, and separately for each run."""

from __future__ import annotations

import json
import time
import urllib.request
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

import millstream as ms
from millstream import journal
from tests.metrics.polling import poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "at TIMESTAMP, room STRING"
STREAMING: dict[str, ms.Mode] = {"micro_batch": ms.micro_batch("100 ms"), "real_time": ms.real_time("300 ms")}


@pytest.fixture
def path(tmp_path: Path) -> str:
    for topic in ("doors", "lamps", "out", "late"):
        journal.create(tmp_path / "journal", topic, 1)
    return str(tmp_path / "journal")


def at(minute: int, second: int = 0) -> str:
    return f"2026-01-01T00:{minute:02d}:{second:02d}Z"


def moment(minute: int, second: int = 0) -> datetime:
    return datetime(2026, 1, 1, 0, minute, second, tzinfo=UTC)


def send(path: str, topic: str, *values: dict[str, Any]) -> int:
    """How many bytes that is."""
    texts = [json.dumps(value) for value in values]
    with journal.producer(path, topic) as producer:
        for text in texts:
            producer.send(text)
    return sum(map(len, texts))


def per_minute(path: str, tmp_path: Path, name: str = "house") -> ms.Job:
    job = ms.Job(name, checkpoint=str(tmp_path / name))
    doors = job.stream(journal.source("doors", path=path, on_error="skip"), SCHEMA, time="at")
    minutes = doors.window(ms.tumbling("1 minute")).group_by("room").agg(n="count(*)").named("minutes")
    minutes.final().to(journal.sink("out", path=path))
    return job


def test_before_and_after(path: str, tmp_path: Path, spark: SparkSession) -> None:
    """All figures of a run that processes what there is."""
    rows = [{"at": at(0, second), "room": "hall"} for second in range(20)]
    sent = send(path, "doors", *rows, {"at": at(2), "room": "hall"})
    run = per_minute(path, tmp_path).start(ms.available_now(), spark=spark)
    assert repr(run).startswith("<Run of house: running")
    run.wait()
    now = run.metrics()
    assert (now.job, now.state, now.restarts) == ("house", "finished", 0)
    assert now.last_epoch is not None
    assert repr(run) == f"<Run of house: finished after epoch {now.last_epoch.epoch}>"
    doors, minutes, out = now.source("doors"), now.operator("minutes"), now.sink("out")
    assert (doors.rows, doors.bytes, doors.skipped, doors.lag) == (21, sent, 0, 0)
    assert doors.watermark == moment(2)
    assert (minutes.stage, minutes.rows_in, minutes.late, minutes.skipped) == (1, 21, 0, 0), "not what is left of them"
    assert minutes.rows_out == 1, "a window that is closed"
    assert (minutes.timers_set, minutes.timers_rung) == (2, 1)
    assert minutes.watermark == moment(2)
    assert minutes.state_bytes == now.state_bytes > 0
    assert minutes.state_rows is None, "the session does not count them"
    written = [record.value for record in journal.read(path, "out")]
    assert (out.rows, out.bytes) == (1, sum(len(value or b"") for value in written))
    assert out.prepared == out.published == now.last_epoch.epoch
    assert now.epochs == now.last_epoch.epoch + 1
    assert set(now.phases_ms) == {"offsets", "plan", "log", "rows", "commit"}
    assert 0 < sum(now.last_epoch.phases_ms.values()) <= now.last_epoch.duration_ms
    assert now.phases_ms["rows"] > now.last_epoch.phases_ms["rows"]


def test_late_and_skipped_rows(path: str, tmp_path: Path, spark: SparkSession) -> None:
    send(path, "doors", {"at": at(5), "room": "hall"})
    per_minute(path, tmp_path).run(ms.available_now(), spark=spark)
    send(path, "doors", {"at": at(0), "room": "hall"}, {"at": "no time", "room": "hall"}, {"at": at(9), "room": "hall"})
    run = per_minute(path, tmp_path).start(ms.available_now(), spark=spark)
    run.wait()
    now = run.metrics()
    assert (now.source("doors").rows, now.source("doors").skipped) == (3, 1), "of this run alone"
    assert (now.operator("minutes").late, now.late) == (1, 1)
    assert (run.late(), run.skipped()) == ({"minutes": 1}, {"doors": 1})


@pytest.mark.slow
@pytest.mark.parametrize("mode", STREAMING)
def test_jobs_with_equal_names_do_not_mix(mode: str, tmp_path: Path, spark: SparkSession) -> None:
    """At the same time, in one process: the same job, names and all, over two journals."""
    runs = []
    for number, count in enumerate((3, 5)):
        path = tmp_path / str(number)
        for topic in ("doors", "out"):
            journal.create(path, topic, 1)
        send(str(path), "doors", *({"at": at(0, second), "room": "hall"} for second in range(count)), {"at": at(2)})
        send(str(path), "doors", *({"at": "no time"} for _ in range(count)))
        runs.append(per_minute(str(path), tmp_path / f"of_{number}").start(STREAMING[mode], spark=spark))
    try:
        for run, count in zip(runs, (3, 5), strict=True):
            now = poll(
                run,
                lambda now, count=count: now.operator("minutes").rows_in > count and now.sink("out").rows > 0,  # type: ignore[misc]
            )
            assert now.source("doors").rows == 2 * count + 1
            assert now.operator("minutes").rows_in == count + 1
            assert run.skipped() == {"doors": count}
            assert now.sink("out").rows == 1
    finally:
        for run in runs:
            run.stop()


@pytest.mark.slow
def test_in_real_time_figures_come_while_the_epoch_goes_on(path: str, tmp_path: Path, spark: SparkSession) -> None:
    """Tasks last as long as the epoch: what they count comes with the executors' heartbeats."""
    job = per_minute(path, tmp_path)
    run = job.start(ms.real_time("10 minutes"), spark=spark)
    try:
        send(path, "doors", *({"at": at(0, second), "room": "hall"} for second in range(30)))
        now = poll(run, lambda now: now.operator("minutes").rows_in >= 30)
        assert now.epochs == 0
        assert now.last_epoch is None
        assert (now.source("doors").rows, now.operator("minutes").rows_in) == (30, 30)
        send(path, "doors", *({"at": at(1, second), "room": "hall"} for second in range(30)))
        now = poll(run, lambda now: now.operator("minutes").rows_in >= 60)
        assert (now.source("doors").rows, now.epochs) == (60, 0)
    finally:
        run.stop()


@pytest.mark.slow
@pytest.mark.parametrize("mode", STREAMING)
def test_who_holds_time_back_and_how_far_a_source_is_behind(
    mode: str, path: str, tmp_path: Path, spark: SparkSession
) -> None:
    job = ms.Job("house", checkpoint=str(tmp_path / "house"))
    few = journal.source("doors", path=path, max_rows_per_epoch=2 if mode == "micro_batch" else None)
    doors = job.stream(few, SCHEMA, time="at")
    lamps = job.stream(journal.source("lamps", path=path), SCHEMA, time="at")
    both = doors.union(lamps).window(ms.tumbling("1 minute")).agg(n="count(*)")
    both.final().to(journal.sink("out", path=path))
    send(path, "doors", *({"at": at(minute), "room": "hall"} for minute in range(5)))
    send(path, "lamps", {"at": at(1), "room": "hall"})
    run = job.start(STREAMING[mode], spark=spark)
    try:
        if mode == "micro_batch":
            behind = poll(run, lambda now: now.last_epoch is not None and now.source("doors").lag is not None)
            assert behind.source("doors").lag in (0, 1, 3)
        now = poll(run, lambda now: now.watermark == moment(1) and now.source("doors").watermark == moment(4))
        now = poll(run, lambda now: now.source("doors").lag == 0)
        assert now.held_back_by == "lamps"
        assert now.source("lamps").watermark == moment(1)
        assert now.source("doors").rows == 5
    finally:
        run.stop()


def test_every_operator_counts_for_itself(path: str, tmp_path: Path, spark: SparkSession) -> None:
    """Two operators in one stage, one behind them."""
    job = ms.Job("house", checkpoint=str(tmp_path / "house"))
    doors = job.stream(journal.source("doors", path=path), SCHEMA)
    lamps = job.stream(journal.source("lamps", path=path), SCHEMA)
    opened = doors.group_by("room").agg(n="count(*)").named("opened")
    lit = lamps.group_by("room").agg(n="count(*)").named("lit")
    both = opened.as_("a").join(lit.as_("b"), on="a.room = b.room").named("both")
    both.select("a.room", opened="a.n", lit="b.n").to(journal.sink("out", path=path, changelog=True))
    send(path, "doors", *({"room": room} for room in ("hall", "hall", "attic")))
    send(path, "lamps", {"room": "hall"})
    run = job.start(ms.available_now(), spark=spark)
    run.wait()
    now = run.metrics()
    found = {part.name: (part.stage, part.rows_in, part.rows_out) for part in now.operators}
    assert found == {"opened": (1, 3, 2), "lit": (1, 1, 1), "both": (2, 3, 1)}
    assert now.operator("both").state_bytes is not None
    assert now.operator("lit").state_bytes is None, "it shares a store"
    assert [stage.operators for stage in now.stages] == [("lit", "opened"), ("both",)]
    assert (now.watermark, now.held_back_by) == (None, None)


@pytest.mark.slow
def test_python_code(path: str, tmp_path: Path, spark: SparkSession) -> None:
    class Slow(ms.Process):
        output = "room STRING"

        def on_row(self, key: Any, row: Any) -> Any:
            time.sleep(0.2)
            yield {"room": {"hall": "HALL"}[row.room]}

    job = ms.Job("house", checkpoint=str(tmp_path / "house"))
    doors = job.stream(journal.source("doors", path=path), SCHEMA)
    known = doors.filter(lambda row: {"hall": True, "attic": True}[row.room], on_error="skip", name="known")
    known.key_by("room").process(Slow, on_error="skip", name="slow").to(journal.sink("out", path=path))
    send(path, "doors", *({"room": room} for room in ("hall", "attic", "cellar", "garden")))
    run = job.start(ms.available_now(), spark=spark)
    run.wait()
    now = run.metrics()
    assert run.skipped() == {"known": 2, "slow": 1}
    assert [(part.name, part.skipped) for part in now.functions] == [("known", 2)]
    slow = now.operator("slow")
    assert (slow.rows_in, slow.rows_out, slow.skipped) == (2, 1, 1)
    assert slow.seconds > 0.3, "of 0.4 in sleep alone"


def test_prometheus_reads_a_run(path: str, tmp_path: Path, spark: SparkSession) -> None:
    send(path, "doors", {"at": at(0), "room": "hall"}, {"at": at(2), "room": "hall"})
    run = per_minute(path, tmp_path).start(ms.micro_batch("100 ms"), spark=spark, metrics_port=0)
    try:
        poll(run, lambda now: now.sink("out").rows == 1 and now.sink("out").published is not None)
        assert run.metrics_url is not None
        with urllib.request.urlopen(run.metrics_url) as answer:
            families = text_string_to_metric_families(answer.read().decode())
        found = {sample.name: sample.value for family in families for sample in family.samples}
        assert found["millstream_source_rows_total"] == 2
        assert found["millstream_sink_rows_total"] == 1
        assert found["millstream_up"] == 1
    finally:
        run.stop()
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(run.metrics_url)


def test_a_port_that_is_taken(path: str, tmp_path: Path, spark: SparkSession) -> None:
    run = per_minute(path, tmp_path).start(ms.micro_batch("100 ms"), spark=spark, metrics_port=0)
    try:
        assert run.metrics_url is not None
        port = int(run.metrics_url.split(":")[2].split("/")[0])
        with pytest.raises(ms.MillstreamError) as refused:
            per_minute(path, tmp_path, "other").start(ms.micro_batch("100 ms"), spark=spark, metrics_port=port)
        assert refused.value.code == "MS-METRICS-001"
        assert not (tmp_path / "other").exists(), "nothing was begun"
    finally:
        run.stop()
