"""Compacted topics between Python and Spark: each compacts, the other reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import millstream as ms
from millstream import journal
from millstream.spark import jvm
from tests.journal_spark.segment_bytes import Record, frame, header

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow
ROWS = [{"id": n % 7, "n": n} for n in range(200)]
LAST = {n % 7: n for n in range(200)}


def read_as_table(path: Path, spark: SparkSession, mode: ms.Mode, name: str, most: int | None = None) -> dict[int, int]:
    """Through a job that copies the topic as a table."""
    journal.create(path, name)
    job = ms.Job(name, checkpoint=str(path / f"checkpoint-{name}"), parallelism=1)
    source = journal.source("t", path=str(path), max_rows_per_epoch=most)
    job.table(source, "id INT, n INT", key="id", name="t").to(journal.sink(name, path=str(path)))
    job.run(mode, spark=spark)
    found: dict[int, int] = {}
    for record in journal.read(path, name):
        row: Any = record.json()
        found[row["id"]] = row["n"]
    return found


@pytest.mark.parametrize("most", [None, 3])
def test_a_job_reads_what_python_has_compacted(most: int | None, tmp_path: Path, spark: SparkSession) -> None:
    """Epochs begin and end in gaps, too."""
    journal.create(tmp_path, "t", compact=True)
    with journal.producer(tmp_path, "t", durable=False, segment_bytes=200) as out:
        for row in ROWS:
            out.send(row, key={"id": row["id"]})
    assert journal.compact(tmp_path, "t") > 150
    assert read_as_table(tmp_path, spark, ms.available_now(), "streamed", most) == LAST
    if most is None:
        assert read_as_table(tmp_path, spark, ms.batch(), "batched") == LAST


def test_python_reads_what_a_sink_has_compacted(tmp_path: Path, spark: SparkSession) -> None:
    journal.create(tmp_path, "t", compact=True)
    for epoch, row in enumerate(ROWS):
        record = Record(str(row["id"]).encode(), str(row["n"]).encode())
        name = f"{epoch:020d}-w-{epoch:012d}-00000.seg"
        (tmp_path / "t" / "0" / name).write_bytes(header() + frame(record))
    keep = jvm.named("millstream.journal.Retention$Keep")(2**63 - 1, 2**63 - 1, 1000)
    topic = jvm.named("millstream.journal.Topic").of(str(tmp_path), "t", 1, keep)
    compaction = jvm.named("millstream.journal.Compaction")
    nested = [jvm.named(f"millstream.journal.Merging${name}") for name in ("Waits", "Leave")]
    for _ in range(2):
        compaction.look(topic, 0, "w", len(ROWS), nested[0].NONE, nested[1].ALWAYS)
    files = {file.suffix for file in (tmp_path / "t" / "0").iterdir() if file.is_file()}
    assert files == {".cmp", ".seg"}
    found = {int(r.key or b""): int(r.value or b"") for r in journal.read(tmp_path, "t")}
    assert found == LAST
    assert len(list(journal.read(tmp_path, "t"))) == 8
    assert [r.offset for r in journal.read(tmp_path, "t", start={0: 198})] == [198, 199]
    assert journal.describe(tmp_path, "t").partitions[0].end == 200
