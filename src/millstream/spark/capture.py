"""The records of one epoch of a source, as they are in its system."""

from __future__ import annotations

import json
import uuid
from datetime import datetime
from pathlib import Path
from shutil import copytree
from typing import NamedTuple

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from millstream.plan.connectors import Reader
from millstream.spark.lower.source import LINE
from millstream.storage import CheckpointFolder, for_hadoop


class Captured(NamedTuple):
    key: bytes | None
    value: bytes | None
    timestamp: datetime | None


def records(reader: Reader, place: int, epoch: int, sandbox: CheckpointFolder, spark: SparkSession) -> list[Captured]:
    """Reads a source again, by the offsets of the epoch in a sandbox. `place`: which of the sources it is."""
    root = Path(sandbox.root)
    folder, out = root / f"capture-{place}", root / f"captured-{place}"
    only(root / "spark", folder, place, epoch)
    rows = spark.readStream.format(reader.format).options(**dict(reader.options)).load()
    if reader.gives == "lines":
        rows = rows.where("trim(value) <> ''").selectExpr(*LINE)
    written = rows.select("key", "value", "timestamp").writeStream.format("parquet").trigger(once=True)
    written = written.option("checkpointLocation", for_hadoop(str(folder)))
    written.start(for_hadoop(str(out))).awaitTermination()
    files = sorted(out.glob("*.parquet"))
    return [Captured(**row) for file in files for row in pq.ParquetFile(file).read().to_pylist()]


def only(whole: Path, folder: Path, place: int, epoch: int) -> None:
    """The logs of a query that has this source alone."""
    for log in ("offsets", "commits"):
        (folder / log).mkdir(parents=True)
        for number in (epoch - 1, epoch):
            file = whole / log / str(number)
            if file.exists():
                lines = file.read_text().split("\n")
                kept = [*lines[:2], lines[2 + place]] if log == "offsets" else lines
                (folder / log / str(number)).write_text("\n".join(kept))
    (folder / "metadata").write_text(json.dumps({"id": str(uuid.uuid4())}))
    if (whole / "sources" / str(place)).exists():
        copytree(whole / "sources" / str(place), folder / "sources" / "0")
