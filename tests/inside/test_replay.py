"""An epoch that is run again writes what it wrote, and nothing outside its sandbox changes."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import millstream as ms
from millstream.cli.jobfile import job_of
from millstream.replay import replay
from millstream.replay.as_test import write_test
from millstream.testing import Delete, Runner
from tests.inside.orders import Orders

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def published(orders: Orders) -> dict[str, dict[int, list[Any]]]:
    """By sink and epoch, what the job wrote: the names of segments tell the epoch."""
    found: dict[str, dict[int, list[Any]]] = {}
    for topic in ("totals", "minutes", "recent"):
        records = [record.value for record in ms.journal.read(orders.path, topic)]
        segments = sorted((orders.folder / "journal" / topic / "0").glob("*-*.seg"))
        starts = [int(segment.name.split("-")[0]) for segment in segments] + [len(records)]
        for segment, start, end in zip(segments, starts, starts[1:], strict=False):
            epoch = int(segment.name.split("-")[2])
            found.setdefault(topic, {}).setdefault(epoch, []).extend(
                json.loads(one or b"null") for one in records[start:end]
            )
    return found


def in_order(rows: list[Any]) -> list[str]:
    return sorted(json.dumps(row.row if isinstance(row, Delete) else row, sort_keys=True) for row in rows)


def test_every_epoch_writes_again_what_it_wrote(orders: Orders, spark: SparkSession) -> None:
    wrote, before = published(orders), orders.files()
    last = max(epoch for epochs in wrote.values() for epoch in epochs)
    for epoch in (0, 1, last):
        again = replay(orders.job(), epoch, spark=spark)
        for sink, epochs in wrote.items():
            assert in_order(again.outputs[sink]) == in_order(epochs.get(epoch, [])), (sink, epoch)
    assert orders.files() == before


def test_an_epoch_that_is_not_kept(orders: Orders, spark: SparkSession) -> None:
    with pytest.raises(ms.MillstreamError, match='MS-STATE-001: epoch 99 of job "orders" cannot be run again'):
        replay(orders.job(), 99, spark=spark)


def test_an_epoch_as_a_test_fails_when_the_result_is_another(
    orders: Orders, spark: SparkSession, millstream: Runner, tmp_path: Path
) -> None:
    """Without the topics: rows and state are data."""
    file, target = job_file(orders, tmp_path), tmp_path / "test_taken.py"
    found = write_test(job_of(file), file, 1, target, spark)
    assert found.outputs == replay(orders.job(), 1, spark=spark).outputs
    file.write_text(file.read_text().replace(orders.path, str(tmp_path / "gone")))
    taken = imported(target)
    taken.test_epoch_1_of_orders(millstream)
    taken.EXPECTED["totals"][0]["n"] += 1
    with pytest.raises(AssertionError):
        taken.test_epoch_1_of_orders(millstream)


def imported(file: Path) -> Any:
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def job_file(orders: Orders, folder: Path) -> Path:
    file = folder / "orders_job.py"
    lines = (
        "from pathlib import Path",
        "from tests.inside.orders import Orders",
        "made = Orders.__new__(Orders)",
        f"made.folder, made.path = Path({str(orders.folder)!r}), {orders.path!r}",
        "job = made.job()",
    )
    file.write_text("\n".join(lines))
    return file
