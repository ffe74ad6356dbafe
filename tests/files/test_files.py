"""Folders of files as sink and source, in every format."""

from __future__ import annotations

import csv
import json
import os
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyarrow import parquet

import millstream as ms
from millstream import files, journal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.connectors.files.sink import FileFormat

FORMATS = ("json", *(pytest.param(format, marks=pytest.mark.slow) for format in ("csv", "parquet")))
SCHEMA = "id BIGINT, price DECIMAL(8, 2), name STRING, at TIMESTAMP"
ROWS: list[dict[str, Any]] = [
    {
        "id": n,
        "price": n / 4,
        "name": ["plain", 'a "quoted", one', None][n % 3],
        "at": f"2026-01-0{n % 3 + 1}T00:00:00Z",
    }
    for n in range(60)
]
Files = Callable[[Path], list[dict[str, Any]]]


def lines_of_json(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def lines_of_csv(file: Path) -> list[dict[str, Any]]:
    with file.open(newline="") as lines:
        return list(csv.DictReader(lines, escapechar="\\", doublequote=False))


def parquet_rows(file: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = parquet.read_table(file, partitioning=None).to_pylist()
    return rows


READ: dict[FileFormat, Files] = {"json": lines_of_json, "csv": lines_of_csv, "parquet": parquet_rows}


@pytest.fixture
def orders(tmp_path: Path) -> str:
    path = str(tmp_path / "journal")
    journal.create(path, "orders", 2)
    with journal.producer(path, "orders") as producer:
        for row in ROWS:
            producer.send(row)
    return path


def published(folder: Path, format: FileFormat) -> list[dict[str, Any]]:
    """As a program that knows nothing about Millstream: all files that are not hidden."""
    found = sorted(file for file in folder.rglob(f"*.{format}") if not any(p.startswith("_") for p in file.parts))
    return [row for file in found for row in READ[format](file)]


def copy(path: str, folder: Path, format: FileFormat, **sink: Any) -> ms.Job:
    job = ms.Job("copy", checkpoint=f"{path}-checkpoint-{format}", parallelism=2)
    source = journal.source("orders", path=path, max_rows_per_epoch=7)
    job.stream(source, SCHEMA).to(files.sink(str(folder), format=format, **sink))
    return job


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_there_and_back(format: FileFormat, orders: str, tmp_path: Path, spark: SparkSession) -> None:
    """Written in several epochs and a batch, read as a stream in several epochs, and as a batch."""
    folder = tmp_path / "orders"
    header: dict[str, Any] = {"header": True} if format == "csv" else {}
    copy(orders, folder, format, **header).run(ms.available_now(), spark=spark)
    assert len(list(folder.glob("epoch=*"))) > 3
    check_manifests(folder, format)
    assert sorted(int(row["id"]) for row in published(folder, format)) == list(range(len(ROWS)))
    copy(orders, tmp_path / "batch", format, **header).run(ms.batch(), spark=spark)
    assert sorted(map(str, published(tmp_path / "batch", format))) == sorted(map(str, published(folder, format)))

    journal.create(orders, "again", 1)
    back = ms.Job("back", checkpoint=str(tmp_path / "back"), parallelism=2)
    source = files.source(str(folder), format=format, max_files_per_epoch=3, **header)
    back.stream(source, SCHEMA).to(journal.sink("again", path=orders))
    back.run(ms.available_now(), spark=spark)
    found = [record.json() for record in journal.read(orders, "again")]
    assert Counter(json.dumps(plain(row)) for row in found) == Counter(json.dumps(plain(row)) for row in ROWS)


def check_manifests(folder: Path, format: FileFormat) -> None:
    """Each epoch's manifest names its number and all its files, no more and no less."""
    for epoch in folder.glob("epoch=*"):
        told = json.loads((epoch / "_manifest.json").read_text())
        there = [str(file.relative_to(epoch)) for file in epoch.rglob(f"*.{format}") if file.name != "_manifest.json"]
        assert (told["format"], told["epoch"]) == (1, int(epoch.name.rsplit("-", 1)[1]))
        assert sorted(told["files"]) == sorted(there)


def plain(row: dict[str, Any]) -> list[Any]:
    return [row["id"], float(row["price"]), row.get("name"), row["at"][:10]]


def test_files_that_come_later_are_read_once(tmp_path: Path, spark: SparkSession) -> None:
    folder, path = tmp_path / "in", str(tmp_path / "journal")
    folder.mkdir()
    journal.create(path, "out", 1)

    def run() -> list[int]:
        job = ms.Job("late", checkpoint=str(tmp_path / "checkpoint"), parallelism=1)
        job.stream(files.source(str(folder), format="json"), "id INT").to(journal.sink("out", path=path))
        job.run(ms.available_now(), spark=spark)
        return sorted(record.json()["id"] for record in journal.read(path, "out"))

    (folder / "one.json").write_text('{"id": 1}\n\n{"id": 2}\n')
    assert run() == [1, 2]
    (folder / "two.json").write_text('{"id": 3}\n')
    assert run() == [1, 2, 3]


@pytest.mark.parametrize(("format", "text"), [("json", '{"id": 1}\n'), ("csv", "id\n1\n")])
def test_processing_time_is_when_a_file_was_written(
    format: FileFormat, text: str, tmp_path: Path, spark: SparkSession
) -> None:
    path = str(tmp_path / "journal")
    journal.create(path, "seen", 1)
    file = tmp_path / "in" / f"one.{format}"
    file.parent.mkdir()
    file.write_text(text)
    written = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
    os.utime(file, (written, written))
    job = ms.Job("seen", checkpoint=str(tmp_path / "checkpoint"))
    source = files.source(str(file.parent), format=format, header=format == "csv")
    job.stream(source, "id BIGINT", time=ms.processing_time("at")).to(journal.sink("seen", path=path))
    job.run(ms.available_now(), spark=spark)
    assert [record.json() for record in journal.read(path, "seen")] == [{"id": 1, "at": "2026-01-01T00:00:00.000000Z"}]


def test_folders_by_column(orders: str, tmp_path: Path, spark: SparkSession) -> None:
    job = ms.Job("days", checkpoint=str(tmp_path / "checkpoint"), parallelism=2)
    stream = job.stream(journal.source("orders", path=orders), SCHEMA)
    chosen = stream.select("id", day="date(at)", name="name")
    chosen.to(files.sink(str(tmp_path / "days"), format="parquet", partition_by=("day", "name")))
    job.run(ms.available_now(), spark=spark)
    found = spark.read.parquet(str(tmp_path / "days")).select("id", "day", "name").collect()
    want = {(row["id"], row["at"][:10], row["name"]) for row in ROWS}
    assert {(row["id"], str(row["day"]), row["name"]) for row in found} == want
    assert len(found) == len(ROWS)
    written = next((tmp_path / "days").rglob("*.parquet"))
    assert parquet.read_schema(written).names == ["id"]


@pytest.mark.parametrize("format", FORMATS)
def test_a_table_as_a_changelog(format: FileFormat, orders: str, tmp_path: Path, spark: SparkSession) -> None:
    """Every change of a table in files; read again, they sum up to the same table."""
    folder = tmp_path / "names"
    job = ms.Job("names", checkpoint=str(tmp_path / "checkpoint"), parallelism=2)
    stream = job.stream(journal.source("orders", path=orders, max_rows_per_epoch=7), SCHEMA)
    names = stream.where("name IS NOT NULL").group_by("name").agg(n="count(*)", most="max(price)")
    names.to(files.sink(str(folder), format=format, changelog=True))
    job.run(ms.available_now(), spark=spark)

    journal.create(orders, "total", 1)
    back = ms.Job("back", checkpoint=str(tmp_path / "back"), parallelism=2)
    source = files.source(str(folder), format=format, changelog=True)
    table = back.table(source, "name STRING, n BIGINT, most DECIMAL(8, 2)", key="name")
    table.select("name", "n", "most").to(journal.sink("total", path=orders))
    back.run(ms.batch(), spark=spark)
    found = {record.json()["name"]: record.json()["n"] for record in journal.read(orders, "total")}
    assert found == {"plain": 20, 'a "quoted", one': 20}


def test_lines_that_cannot_be_read(tmp_path: Path, spark: SparkSession) -> None:
    folder, path = tmp_path / "in", str(tmp_path / "journal")
    folder.mkdir()
    (folder / "one.json").write_text('{"id": 1}\nnonsense\n{"id": "two"}\n{"id": 4}\n')
    journal.create(path, "out", 1)
    job = ms.Job("bad", checkpoint=str(tmp_path / "checkpoint"), parallelism=1)
    bad = files.sink(str(tmp_path / "bad"), format="json")
    job.stream(files.source(str(folder), format="json", dead_letters=bad), "id INT").to(journal.sink("out", path=path))
    job.run(ms.available_now(), spark=spark)
    assert sorted(record.json()["id"] for record in journal.read(path, "out")) == [1, 4]
    assert len(published(tmp_path / "bad", "json")) == 2


def test_a_csv_file_that_does_not_fit_fails(tmp_path: Path, spark: SparkSession) -> None:
    folder, path = tmp_path / "in", str(tmp_path / "journal")
    folder.mkdir()
    (folder / "one.csv").write_text("1\nnonsense\n")
    journal.create(path, "out", 1)
    job = ms.Job("bad", checkpoint=str(tmp_path / "checkpoint"), parallelism=1)
    job.stream(files.source(str(folder), format="csv"), "id INT").to(journal.sink("out", path=path))
    with pytest.raises(ms.MillstreamError) as error:
        job.run(ms.available_now(), spark=spark)
    assert error.value.code == "MS-FILES-003"
    assert error.value.found is not None
    assert error.value.found.endswith("one.csv")
    assert list(journal.read(path, "out")) == []


def test_files_are_not_read_in_real_time(tmp_path: Path, spark: SparkSession) -> None:
    job = ms.Job("fast", checkpoint=str(tmp_path / "checkpoint"))
    job.stream(files.source(str(tmp_path), format="json"), "id INT").to(
        files.sink(str(tmp_path / "out"), format="json")
    )
    with pytest.raises(ms.MillstreamError) as error:
        job.run(ms.real_time(), spark=spark)
    assert error.value.code == "MS-RUN-007"
