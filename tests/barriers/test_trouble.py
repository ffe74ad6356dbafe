"""Barriers that are held up: by a slow sink, one that cannot prepare, a full disk."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import millstream as ms
from millstream import journal
from millstream.connectors.journal.sink import JournalSink
from millstream.spark import jvm
from millstream.testing.epochs import committed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.runtime.run import Run

pytestmark = pytest.mark.slow
PATIENCE = 120
ROWS, ROW_BYTES = 15_000, 20_000
MOST_BYTES = 224 << 20
"""Of memory, where the input has 300 MB: buffers, RocksDB's own and loaded classes, however much waits."""


@dataclass(frozen=True, kw_only=True)
class TroubledSink(JournalSink):
    trouble: str

    def writer(self) -> dict[str, str]:
        return {**super().writer(), "kind": "millstream.testing.TroubledSink", "trouble": self.trouble}


@dataclass(frozen=True)
class Troubled:
    """A job with a shuffle, each of whose rows comes out once, and the files that put its sink into trouble."""

    folder: Path
    disk: Path

    @property
    def slow(self) -> Path:
        return self.folder / "slow"

    @property
    def broken(self) -> Path:
        return self.folder / "broken"

    def job(self) -> ms.Job:
        path = str(self.folder / "journal")
        job = ms.Job("troubled", checkpoint=str(self.disk / "checkpoint"), parallelism=2)
        rows = job.stream(journal.source("rows", path=path), "id BIGINT, text STRING")
        sink = TroubledSink(topic="out", path=path, trouble=str(self.folder))
        rows.group_by("id").agg(n="count(*)", text="max(text)").to(sink)
        return job

    def send(self, count: int, length: int = 10) -> None:
        with journal.producer(self.folder / "journal", "rows") as producer:
            for number in range(count):
                producer.send({"id": number, "text": "x" * length}, key=str(number))

    def out(self) -> list[int]:
        return sorted(record.json()["id"] for record in journal.read(self.folder / "journal", "out"))

    def epochs(self) -> int:
        return len(committed(self.disk / "checkpoint"))


@pytest.fixture
def troubled(tmp_path: Path) -> Troubled:
    for topic in ("rows", "out"):
        journal.create(tmp_path / "journal", topic, 2)
    return Troubled(tmp_path, tmp_path)


def until(done: Callable[[], bool], run: Run) -> None:
    end = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < end, "nothing happens any more"
        assert not run.poll(0.05)


def in_use() -> int:
    """Bytes on the heap that are needed, and those that Netty holds beside it."""
    system, netty = jvm.named("java.lang.System"), jvm.named("io.netty.util.internal.PlatformDependent")
    runtime: Any = jvm.named("java.lang.Runtime").getRuntime()
    system.gc()
    return int(runtime.totalMemory()) - int(runtime.freeMemory()) + max(0, int(netty.usedDirectMemory()))


def finish(troubled: Troubled, count: int, spark: SparkSession) -> None:
    """A later run does what is left: nothing is lost or duplicated."""
    run = troubled.job().start(ms.real_time("200 ms"), spark=spark)
    try:
        until(lambda: len(troubled.out()) >= count, run)
    finally:
        run.stop()
    assert troubled.out() == list(range(count))


def test_a_slow_sink(troubled: Troubled, spark: SparkSession) -> None:
    """Rows wait in buffers of fixed size, up to the source; barriers come through behind them."""
    troubled.slow.touch()
    troubled.send(ROWS, ROW_BYTES)
    before = in_use()
    run = troubled.job().start(ms.real_time("200 ms"), spark=spark)
    try:
        until(lambda: troubled.epochs() > 0, run)
        assert len(troubled.out()) < ROWS, "the sink was not slow"
        assert in_use() - before < MOST_BYTES
        troubled.slow.unlink()
        until(lambda: len(troubled.out()) >= ROWS, run)
    finally:
        run.stop()
    assert troubled.out() == list(range(ROWS))


def test_a_barrier_that_waits_for_too_long(troubled: Troubled, spark: SparkSession) -> None:
    """Behind a slow sink's rows. The run says so, and nothing is lost."""
    own = spark.newSession()
    own.conf.set("spark.millstream.barriers.patience", "300")
    troubled.slow.touch()
    troubled.send(2000)
    with pytest.raises(ms.MillstreamError) as raised:
        troubled.job().run(ms.real_time("200 ms"), spark=own)
    assert raised.value.code == "MS-RUN-014"
    troubled.slow.unlink()
    finish(troubled, 2000, spark)


def test_a_sink_that_cannot_prepare(troubled: Troubled, spark: SparkSession) -> None:
    troubled.send(10)
    run = troubled.job().start(ms.real_time("200 ms"), spark=spark)
    until(lambda: len(troubled.out()) == 10, run)
    troubled.broken.touch()
    troubled.send(500)
    with pytest.raises(ms.MillstreamError) as raised:
        run.wait()
    assert "the sink is broken" in str(raised.value)
    assert len(troubled.out()) == 10
    troubled.broken.unlink()
    run = troubled.job().start(ms.real_time("200 ms"), spark=spark)
    try:
        until(lambda: len(troubled.out()) == 510, run)
    finally:
        run.stop()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "none", str(disk)], capture_output=True).returncode:
        pytest.skip("mounting a small disk needs root")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_full_disk(tmp_path: Path, small_disk: Path, spark: SparkSession) -> None:
    """The state does not fit beside a ballast: the run fails with that reason, and continues when there is room."""
    for topic in ("rows", "out"):
        journal.create(tmp_path / "journal", topic, 2)
    troubled, ballast = Troubled(tmp_path, small_disk), small_disk / "ballast"
    run = troubled.job().start(ms.real_time("200 ms"), spark=spark)
    until(lambda: troubled.epochs() > 0, run)
    ballast.write_bytes(b"x" * (5 << 20))
    troubled.send(300, 5_000)
    with pytest.raises(ms.MillstreamError) as raised:
        run.wait()
    assert raised.value.code == "MS-RUN-005"
    assert "disk is full" in raised.value.message
    ballast.unlink()
    finish(troubled, 300, spark)
