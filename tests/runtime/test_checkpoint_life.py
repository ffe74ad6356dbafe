"""How long checkpoints are kept, what is recorded about them, what is cleaned up, and that their folder may move."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

import millstream as ms
from millstream import journal
from millstream.cli.main import main

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE = 600


class Life:
    """A job that counts, in two stages, and its checkpoint."""

    def __init__(self, folder: Path, spark: SparkSession) -> None:
        self.folder, self.spark, self.topics = folder, spark, str(folder / "journal")
        self.checkpoint = folder / "checkpoint"
        for topic in ("rows", "out"):
            journal.create(self.topics, topic)

    def feed(self, *keys: str) -> None:
        with journal.producer(self.topics, "rows") as producer:
            for key in keys:
                producer.send({"k": key})

    def job(self) -> ms.Job:
        job = ms.Job("life", checkpoint=str(self.checkpoint))
        rows = job.stream(journal.source("rows", path=self.topics, max_rows_per_epoch=1), "k STRING")
        counts = rows.group_by("k").agg(n="count(*)").named("counts")
        counts.group_by("n").agg(keys="count(*)").named("spread").to(journal.sink("out", path=self.topics))
        return job

    def run(self, mode: ms.Mode | None = None, **options: Any) -> Any:
        return self.job().run(mode or ms.available_now(), spark=self.spark, **options)

    def spread(self) -> dict[int, int]:
        """By number of rows: how many keys have that many."""
        latest = {record.key: record for record in journal.read(self.topics, "out")}
        rows = [record.json() for record in latest.values() if record.value is not None]
        return {row["n"]: row["keys"] for row in rows}


@pytest.fixture
def life(tmp_path: Path, spark: SparkSession) -> Life:
    return Life(tmp_path, spark)


def test_a_history_tells_of_each_epoch_and_task_and_of_none_that_is_gone(life: Life) -> None:
    life.feed(*"abcabcab")
    run = life.run(checkpoints=ms.checkpoints(keep=3))
    records = run.checkpoints()
    assert [record.epoch for record in records] == [5, 6, 7]
    assert [record.retained for record in records] == [True] * 3
    last = records[-1]
    assert {(task.stage, task.task, task.operators) for task in last.tasks} == {
        (stage, task, (name,)) for stage, name in enumerate(("counts", "spread")) for task in (0, 1)
    }
    assert last.bytes == sum(task.bytes or 0 for task in last.tasks) > 0
    assert last.align_ms is None
    assert all(task.save_ms is not None for task in last.tasks)
    assert last.duration_ms >= last.phases_ms["addBatch"]
    told = CliRunner().invoke(main, ["checkpoints", str(life.checkpoint), "--json"])
    assert [one["epoch"] for one in json.loads(told.output)["checkpoints"]] == [5, 6, 7]
    assert "spread" in CliRunner().invoke(main, ["checkpoints", str(life.checkpoint), "--tasks"]).output


def test_barriers_are_noted_with_how_long_they_took_to_align(life: Life) -> None:
    life.feed(*"abc")
    run = life.job().start(
        ms.real_time("100 ms"), spark=life.spark, checkpoints=ms.checkpoints(keep=2, keep_for="1 minute", pause="50 ms")
    )
    for _ in range(PATIENCE):
        if run.poll(0.1) or life.spread() == {1: 3}:
            break
    run.stop()
    record = run.checkpoints()[0]
    assert (record.mode, record.epoch) == ("real time", 0)
    assert {(task.stage, task.task) for task in record.tasks} == {(0, 0), (0, 1), (1, 0), (1, 1)}
    assert all(task.align_ms is not None and task.sync_ms is not None for task in record.tasks)


def test_what_killed_runs_left_is_deleted(life: Life) -> None:
    life.feed("a", "b")
    life.run()
    state = life.checkpoint / "spark" / "state" / "0" / "1"
    left = [state / "9_0f.changelog", state / "9_0f.changelog.crc", state / "7_0f.zip", state / ".x.0f.part"]
    left += [life.checkpoint / ".millstream.json.0f.part"]
    for file in left:
        file.write_text("half")
    life.feed("a")
    life.run()
    assert [file.name for file in left if file.exists()] == []
    assert life.spread() == {1: 1, 2: 1}


def test_a_checkpoint_that_was_moved_goes_on_where_it_is_now(life: Life) -> None:
    life.feed(*"aab")
    life.run()
    before, life.checkpoint = life.checkpoint, life.folder / "elsewhere" / "moved"
    shutil.copytree(before, life.checkpoint)
    shutil.rmtree(before)
    life.feed(*"bbc")
    life.run()
    assert life.spread() == {1: 1, 2: 1, 3: 1}
    assert not before.exists()


def test_what_cannot_be_is_refused(life: Life) -> None:
    with pytest.raises(ms.MillstreamError, match=r"MS-CHECKPOINT-010.*keep = 1"):
        ms.checkpoints(keep=1)
    with pytest.raises(ms.MillstreamError, match=r"MS-CHECKPOINT-010.*tolerate = -1"):
        ms.checkpoints(tolerate=-1)
    with pytest.raises(ms.MillstreamError, match="MS-CHECKPOINT-011"):
        life.run(checkpoints=ms.checkpoints(keep_for="1 hour"))
    told = CliRunner().invoke(main, ["checkpoints", str(life.folder / "nothing")])
    assert told.exit_code == 1
    assert "MS-CHECKPOINT-009: there is no checkpoint at" in told.output


def test_the_number_that_is_kept_covers_the_time() -> None:
    policy = ms.checkpoints(keep=10, keep_for="1 minute")
    assert policy.retained(ms.real_time("1 second")) == 61
    assert policy.retained(ms.real_time("1 minute")) == 10
    assert policy.retained(ms.micro_batch("7 seconds")) == 10
