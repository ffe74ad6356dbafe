"""A job continues from its checkpoint in another mode than it began in, and its result is the same."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import millstream as ms
from millstream import journal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow
PATIENCE = 600
"""Looks, a tenth of a second each, after which something hangs."""


@pytest.mark.parametrize("first", [ms.available_now(), ms.real_time("500 ms")], ids=["micro-batch", "real-time"])
def test_there_and_back(first: ms.Mode, tmp_path: Path, spark: SparkSession) -> None:
    """Joined with itself and counted, so that every part of the input meets the state of every other."""
    path = str(tmp_path / "journal")
    for topic in ("rows", "pairs", "counts"):
        journal.create(path, topic, 1)
    other = ms.real_time("500 ms") if first == ms.available_now() else ms.available_now()
    for part, mode in enumerate([first, other, first, other]):
        with journal.producer(path, "rows") as producer:
            for n in range(part * 20, part * 20 + 20):
                producer.send({"n": n})
        rows = part * 20 + 20
        run = job(tmp_path, path).start(mode, spark=spark)
        try:
            for _ in range(PATIENCE):
                if run.poll(0.1) or counted(path) == rows:
                    break
        finally:
            run.stop()
        want = {(a, b) for a in range(rows) for b in range(a) if a % 5 == b % 5}
        found = [(row["a"], row["b"]) for row in (record.json() for record in journal.read(path, "pairs"))]
        assert (set(found), len(found), counted(path)) == (want, len(want), rows)


def job(folder: Path, path: str) -> ms.Job:
    made = ms.Job("pairs", checkpoint=str(folder / "checkpoint"), parallelism=2)
    rows = made.stream(journal.source("rows", path=path), "n INT")
    keyed = rows.select("n", key="n % 5")
    pairs = keyed.as_("a").join(keyed.as_("b"), on="a.key = b.key").where("a.n > b.n").select(a="a.n", b="b.n")
    pairs.to(journal.sink("pairs", path=path))
    rows.agg(n="count(*)").to(journal.sink("counts", path=path))
    return made


def counted(path: str) -> int:
    return max((record.json()["n"] for record in journal.read(path, "counts")), default=0)
