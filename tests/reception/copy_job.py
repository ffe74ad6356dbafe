"""A job that copies numbers from a source into a journal of its folder, to be killed: see `crash/serve.py`."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import millstream as ms
from millstream import journal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.runtime.run import Run

MODES: dict[str, ms.Mode] = {"real-time": ms.real_time("300 ms"), "micro-batch": ms.micro_batch("0 seconds")}


def start(spark: SparkSession, folder: str, module: str, target: str, mode: str) -> Run:
    """`module` has a function `source`, which gets the target."""
    job = ms.Job("copy", checkpoint=f"{folder}/checkpoint", parallelism=1)
    out = Path(folder, "journal")
    if not out.exists():
        journal.create(out, "out")
    source = import_module(module).source(target)
    job.stream(source, "n BIGINT", name="numbers").to(journal.sink("out", path=str(out)))
    return job.start(MODES[mode], restarts=ms.fixed_delay(100, "200 ms"), spark=spark)


def copied(folder: Path) -> list[int]:
    return [record.json()["n"] for record in journal.read(folder / "journal", "out")]
