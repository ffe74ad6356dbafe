"""What cannot be restored is refused, with what was found; nothing is lost, and the job that was saved is untouched."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import millstream as ms
from millstream import journal
from millstream.runtime.savepoints.manifest import checksum

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Build = Callable[[ms.Stream], ms.Table]


def totals(orders: ms.Stream) -> ms.Table:
    return orders.group_by("customer").agg(n="count(*)", most="max(price)").named("totals")


def counted(orders: ms.Stream) -> ms.Table:
    return orders.group_by("customer").agg(n="count(*)", least="min(price)").named("totals")


def by_product(orders: ms.Stream) -> ms.Table:
    return orders.group_by("product").agg(n="count(*)", most="max(price)").named("totals")


def renamed(orders: ms.Stream) -> ms.Table:
    return orders.group_by("customer").agg(n="count(*)", most="max(price)").named("sums")


def upon(orders: ms.Stream) -> ms.Table:
    return totals(orders).group_by("n").agg(customers="count(*)").named("how_many")


class Saved:
    """A job that has stopped with a savepoint, and copies of both for tests that damage them."""

    def __init__(self, folder: Path, spark: SparkSession) -> None:
        self.folder, self.spark = folder, spark
        self.path = str(folder / "journal")
        for topic in ("orders", "out"):
            journal.create(self.path, topic, 1)
        self.feed()
        run = self.job(totals).start(ms.micro_batch("100 ms"), spark=spark)
        while not self.rows():
            run.poll(0.1)
        run.stop(savepoint=str(folder / "saved"))

    def feed(self) -> None:
        with journal.producer(self.path, "orders") as producer:
            for n in range(20):
                producer.send({"customer": f"c{n % 3}", "product": f"p{n % 2}", "price": n})

    def rows(self) -> list[Any]:
        return [record.json() for record in journal.read(self.path, "out")]

    def job(self, build: Build, checkpoint: str = "checkpoint", name: str = "orders", **more: Any) -> ms.Job:
        job = ms.Job(name, checkpoint=str(self.folder / checkpoint), **more)
        source = journal.source("orders", path=self.path)
        made = build(job.stream(source, "customer STRING, product STRING, price INT"))
        made.to(journal.sink("out", path=self.path, changelog=True))
        return job

    def refused(self, build: Build, code: str, savepoint: str = "saved", **choices: Any) -> ms.MillstreamError:
        """The checkpoint that was to be made is not there; the old one is as it was."""
        before = files(self.folder / "checkpoint")
        name = choices.pop("name", "orders")
        with pytest.raises(ms.MillstreamError) as caught:
            self.job(build, "next", name).restore(str(self.folder / savepoint), spark=self.spark, **choices)
        assert caught.value.code == code, caught.value
        assert not (self.folder / "next" / "millstream.json").exists()
        assert files(self.folder / "checkpoint") == before
        return caught.value

    def copied(self, name: str) -> Path:
        copy = self.folder / name
        shutil.rmtree(copy, ignore_errors=True)
        return Path(shutil.copytree(self.folder / "saved", copy))


def files(folder: Path) -> set[tuple[str, int]]:
    return {(str(path), path.stat().st_size) for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def saved(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Saved:
    return Saved(tmp_path_factory.mktemp("saved"), spark)


def test_of_another_job(saved: Saved) -> None:
    error = saved.refused(totals, "MS-SAVEPOINT-010", name="other")
    assert 'is of job "orders", not of "other"' in str(error)


def test_not_there(saved: Saved) -> None:
    saved.refused(totals, "MS-SAVEPOINT-002", "nowhere")


def test_half_written(saved: Saved) -> None:
    (saved.copied("half") / "savepoint.json").unlink()
    assert "is not whole" in str(saved.refused(totals, "MS-SAVEPOINT-002", "half"))


def test_of_a_newer_format(saved: Saved) -> None:
    file = saved.copied("newer") / "savepoint.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "format": 2}))
    assert "has format 2, not 1" in str(saved.refused(totals, "MS-SAVEPOINT-003", "newer"))


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 1}'])
def test_a_damaged_manifest(saved: Saved, text: str) -> None:
    (saved.copied("damaged") / "savepoint.json").write_text(text)
    saved.refused(totals, "MS-SAVEPOINT-004", "damaged")


def test_a_changed_manifest(saved: Saved) -> None:
    file = saved.copied("changed") / "savepoint.json"
    file.write_text(file.read_text().replace('"epoch": ', '"epoch": 1'))
    saved.refused(totals, "MS-SAVEPOINT-004", "changed")


def test_damaged_state(saved: Saved) -> None:
    part = next((saved.copied("flipped") / "state").rglob("*.parquet"))
    data = bytearray(part.read_bytes())
    data[len(data) // 2] ^= 1
    part.write_bytes(data)
    assert str(part) in str(saved.refused(totals, "MS-SAVEPOINT-004", "flipped"))


def test_lost_state(saved: Saved) -> None:
    next((saved.copied("lost") / "state").rglob("*.parquet")).unlink()
    saved.refused(totals, "MS-SAVEPOINT-004", "lost")


def test_the_checksum_is_of_the_content(saved: Saved) -> None:
    content = json.loads((saved.folder / "saved" / "savepoint.json").read_text())
    assert content.pop("sha256") == checksum(content)


def test_names_that_are_not_there(saved: Saved) -> None:
    assert "steps with state: totals" in str(saved.refused(totals, "MS-SAVEPOINT-007", drop=["sums"]))
    saved.refused(totals, "MS-SAVEPOINT-007", was={"sums": "totals"})
    saved.refused(totals, "MS-SAVEPOINT-007", was={"totals": "sums"})
    saved.refused(totals, "MS-SAVEPOINT-007", start_empty=["sums"])


def test_a_step_that_is_gone(saved: Saved) -> None:
    error = saved.refused(renamed, "MS-SAVEPOINT-008")
    assert "the job no longer has it" in str(error)


def test_a_new_step_over_a_table(saved: Saved) -> None:
    error = saved.refused(upon, "MS-SAVEPOINT-008")
    assert "how_many" in str(error)
    assert "never seen" in str(error)


def test_another_key(saved: Saved) -> None:
    error = saved.refused(by_product, "MS-SAVEPOINT-008")
    assert "its key was customer (string) and is product (string)" in str(error)


def test_the_target_is_not_new(saved: Saved) -> None:
    with pytest.raises(ms.MillstreamError, match="MS-SAVEPOINT-012"):
        saved.job(totals).restore(str(saved.folder / "saved"), spark=saved.spark)


def test_a_place_that_is_taken(saved: Saved) -> None:
    run = saved.job(totals).start(ms.available_now(), spark=saved.spark)
    run.wait()
    with pytest.raises(ms.MillstreamError, match="MS-SAVEPOINT-005"):
        run.savepoint(str(saved.folder / "saved"))


def test_a_restore_that_broke_off_is_begun_again(spark: SparkSession, tmp_path: Path) -> None:
    """No run begins before; a second try throws away what is there of the first."""
    own = Saved(tmp_path, spark)
    own.job(totals, "next").restore(str(tmp_path / "saved"), spark=spark)
    (tmp_path / "next" / "restoring.json").write_text("{}")
    with pytest.raises(ms.MillstreamError, match="MS-CHECKPOINT-014"):
        own.job(totals, "next").run(ms.available_now(), spark=spark)
    own.job(totals, "next").restore(str(tmp_path / "saved"), spark=spark)
    own.feed()
    own.job(totals, "next").run(ms.available_now(), spark=spark)
    assert {row["customer"]: row["n"] for row in own.rows() if row["op"] == "insert"} == {"c0": 14, "c1": 14, "c2": 12}
    with pytest.raises(ms.MillstreamError, match="MS-CHECKPOINT-015") as caught:
        own.job(totals).run(ms.available_now(), spark=spark)
    assert str(tmp_path / "next") in str(caught.value)
    with pytest.raises(ms.MillstreamError, match="MS-SAVEPOINT-009"):
        own.job(totals, "third").restore(str(tmp_path / "saved"), spark=spark)


def test_a_job_that_has_gone_on(spark: SparkSession, tmp_path: Path) -> None:
    """What it has written after the savepoint would be duplicated. It may be left as it is."""
    own = Saved(tmp_path, spark)
    own.feed()
    own.job(totals).run(ms.available_now(), spark=spark)
    own.refused(totals, "MS-SAVEPOINT-009")
    own.job(totals, "next").restore(str(tmp_path / "saved"), fork=True, spark=spark)
    own.feed()
    own.job(totals).run(ms.available_now(), spark=spark)
    own.job(totals, "next").run(ms.available_now(), spark=spark)


def test_a_copy_whose_original_has_gone_on(spark: SparkSession, tmp_path: Path) -> None:
    """The sink would treat its writes as already done."""
    own = Saved(tmp_path, spark)
    shutil.copytree(tmp_path / "checkpoint", tmp_path / "copy")
    for _ in range(2):
        own.feed()
        own.job(totals).run(ms.available_now(), spark=spark)
    with pytest.raises(ms.MillstreamError, match="MS-SINK-010"):
        own.job(totals, "copy").run(ms.available_now(), spark=spark)


def test_no_parts(saved: Saved) -> None:
    run = saved.job(totals, "parts").start(ms.micro_batch("100 ms"), spark=saved.spark)
    with pytest.raises(ms.MillstreamError, match="MS-PLAN-008"):
        run.rescale(0)
    assert run.state.value == "running"
    run.stop()


def test_nothing_committed_yet(saved: Saved, tmp_path: Path) -> None:
    run = saved.job(totals, "begun").start(ms.micro_batch("100 ms"), spark=saved.spark)
    run.stop()
    if not list((saved.folder / "begun" / "spark" / "commits").glob("[0-9]*")):
        with pytest.raises(ms.MillstreamError, match="MS-SAVEPOINT-006"):
            run.savepoint(str(tmp_path / "none"))
    assert not (tmp_path / "none").exists()


def test_a_full_disk(saved: Saved, tmp_path: Path) -> None:
    """Nothing is left of the savepoint, and the job keeps running."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "none", str(disk)], capture_output=True).returncode:
        pytest.skip("mounting a small disk needs root")
    try:
        run = saved.job(by_product, "tight").start(ms.micro_batch("100 ms"), spark=saved.spark)
        while run.progress() is None:
            run.poll(0.1)
        (disk / "ballast").write_bytes(b"x" * 4096 * 3)
        with pytest.raises(ms.MillstreamError, match="MS-SAVEPOINT-014"):
            run.savepoint(str(disk / "saved"))
        assert not (disk / "saved").exists()
        assert not run.poll(0.5)
        assert run.state.value == "running"
        run.stop()
    finally:
        # Plainly: a file that is still open would be told.
        subprocess.run(["umount", str(disk)], check=True)
