"""Files that are not what they were: other columns, other types, gone, changed, older than those before them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import millstream as ms
from millstream import files, journal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.connectors.files.sink import FileFormat

pytestmark = pytest.mark.slow
SCHEMA = "id INT, name STRING"


class Folder:
    """Files that a job copies into a topic, run by run."""

    def __init__(self, tmp_path: Path, spark: SparkSession) -> None:
        self.path = tmp_path / "in"
        self.path.mkdir()
        self.journal = str(tmp_path / "journal")
        journal.create(self.journal, "out", 1)
        self._spark = spark
        self._checkpoints = tmp_path / "checkpoints"

    def put(self, name: str, content: Any) -> Path:
        file = self.path / name
        if isinstance(content, str):
            file.write_text(content)
        else:
            parquet.write_table(pa.table(content), file)
        return file

    def run(self, format: FileFormat, checkpoint: str = "first") -> list[tuple[Any, ...]]:
        """All rows so far."""
        job = ms.Job("copy", checkpoint=str(self._checkpoints / checkpoint), parallelism=1)
        source = files.source(str(self.path), format=format, header=format == "csv", max_files_per_epoch=1)
        job.stream(source, SCHEMA).to(journal.sink("out", path=self.journal))
        job.run(ms.available_now(), spark=self._spark)
        rows = [record.json() for record in journal.read(self.journal, "out")]
        return [(row.get("id"), row.get("name")) for row in rows]

    def refused(self, format: FileFormat, checkpoint: str = "first") -> ms.MillstreamError:
        with pytest.raises(ms.MillstreamError) as error:
            self.run(format, checkpoint)
        return error.value


@pytest.fixture
def folder(tmp_path: Path, spark: SparkSession) -> Folder:
    return Folder(tmp_path, spark)


def test_json_with_other_fields(folder: Folder) -> None:
    """More fields are left out, missing ones are NULL; one of another type fails, and the job continues once it is
    fixed."""
    assert folder.run("json") == [], "nothing to read yet"
    folder.put("1.json", '{"id": 1, "name": "a", "city": "rome"}\n{"id": 2}\n')
    assert folder.run("json") == [(1, "a"), (2, None)]
    bad = folder.put("2.json", '{"id": "three", "name": "c"}\n')
    assert folder.refused("json").code == "MS-DECODE-001"
    bad.write_text('{"id": 99999999999, "name": "c"}\n')
    assert folder.refused("json").code == "MS-DECODE-001"
    bad.write_text('{"id": 3, "name": "c"}\n')
    assert folder.run("json") == [(1, "a"), (2, None), (3, "c")]


def test_a_bad_file_may_be_taken_away(folder: Folder) -> None:
    folder.put("1.json", '{"id": 1}\n')
    bad = folder.put("2.json", "no JSON")
    assert folder.refused("json").code == "MS-DECODE-001"
    bad.unlink()
    folder.put("3.json", '{"id": 3}\n')
    assert folder.run("json") == [(1, None), (3, None)]


def test_parquet_with_other_columns(folder: Folder) -> None:
    folder.put("1.parquet", {"id": pa.array([1], pa.int32()), "name": ["a"], "city": ["rome"]})
    folder.put("2.parquet", {"id": pa.array([2], pa.int32())})
    assert folder.run("parquet") == [(1, "a"), (2, None)]
    folder.put("3.parquet", {"id": ["three"], "name": ["c"]})
    error = folder.refused("parquet")
    assert error.code == "MS-FILES-003"
    assert "3.parquet" in (error.found or "")


def test_csv_with_other_columns(folder: Folder) -> None:
    """CSV has no names in its rows: whatever differs fails."""
    folder.put("1.csv", "id,name\n1,a\n")
    assert folder.run("csv") == [(1, "a")]
    wrong = {
        "more": "id,name,city\n2,b,rome\n",
        "fewer": "id\n2\n",
        "turned round": "name,id\nb,2\n",
        "another type": "id,name\ntwo,b\n",
        "a short row": "id,name\n2\n",
    }
    for what, text in wrong.items():
        file = folder.put("1.csv", text)
        assert folder.refused("csv", what).code == "MS-FILES-003", what
        file.unlink()


def test_files_that_are_taken_away_or_changed(folder: Folder) -> None:
    first = folder.put("1.json", '{"id": 1}\n')
    second = folder.put("2.json", '{"id": 2}\n')
    assert folder.run("json") == [(1, None), (2, None)]
    first.unlink()
    assert folder.run("json") == [(1, None), (2, None)]
    second.write_text('{"id": 2}\n{"id": 3}\n')
    os.utime(second, (1, 1))
    error = folder.refused("json")
    assert error.code == "MS-FILES-004"
    assert "2.json" in (error.found or "")


def test_a_file_that_is_older_than_those_before_it(folder: Folder) -> None:
    """As after a clock went back, or from an archive: a year old, so that Spark would skip it."""
    folder.put("1.json", '{"id": 1}\n')
    assert folder.run("json") == [(1, None)]
    old = folder.put("2.json", '{"id": 2}\n')
    year = 365 * 24 * 3600
    os.utime(old, (old.stat().st_mtime - year, old.stat().st_mtime - year))
    assert folder.run("json") == [(1, None), (2, None)]
