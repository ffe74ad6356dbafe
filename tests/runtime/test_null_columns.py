"""Columns that are NULL are in the JSON that a sink writes, unless the sink is set to leave them out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import millstream as ms
from millstream import files, journal
from millstream.plan.modes import RealTime

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MODES = [ms.batch(), ms.available_now(), pytest.param(ms.real_time("500 ms"), marks=pytest.mark.slow)]
WHOLE = {"id": 1, "name": None, "home": {"city": "Rome", "street": None}}


@pytest.fixture
def path(tmp_path: Path) -> str:
    for topic in ("people", "whole", "short", "table"):
        journal.create(tmp_path / "journal", topic, 1)
    with journal.producer(tmp_path / "journal", "people") as producer:
        producer.send({"id": 1, "home": {"city": "Rome"}})
    return str(tmp_path / "journal")


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: type(mode).__name__)
def test_nulls_are_written(mode: ms.Mode, path: str, tmp_path: Path, spark: SparkSession) -> None:
    job = ms.Job("nulls", checkpoint=str(tmp_path / "checkpoint"), parallelism=1)
    people = job.stream(
        journal.source("people", path=path), "id INT, name STRING, home STRUCT<city: STRING, street: STRING>"
    )
    people.to(journal.sink("whole", path=path))
    people.to(journal.sink("short", path=path, nulls=False))
    people.agg(n="count(*)", last="max(name)").to(journal.sink("table", path=path))
    people.to(files.sink(str(tmp_path / "whole"), format="json"), name="whole_files")
    people.to(files.sink(str(tmp_path / "short"), format="json", nulls=False), name="short_files")
    run = job.start(mode, spark=spark)
    while isinstance(mode, RealTime) and not list(journal.read(path, "whole")):
        run.poll(0.1)
    run.stop() if isinstance(mode, RealTime) else run.wait()
    short = {"id": 1, "home": {"city": "Rome"}}
    assert [record.json() for record in journal.read(path, "whole")] == [WHOLE]
    assert [record.json() for record in journal.read(path, "short")] == [short]
    assert [record.json() for record in journal.read(path, "table")][-1] == {"n": 1, "last": None}
    assert [lines(tmp_path / "whole"), lines(tmp_path / "short")] == [[WHOLE], [short]]


def lines(folder: Path) -> list[object]:
    found = [file for file in folder.rglob("*.json") if not any(part.startswith(("_", ".")) for part in file.parts)]
    return [json.loads(line) for file in found for line in file.read_text().splitlines()]
