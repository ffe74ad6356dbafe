"""Sinks to which Python carries committed epochs: what they have written, and which epoch their readers see."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from deltalake import DeltaTable

import millstream as ms
from millstream import delta, journal
from millstream.connectors.delta.carrier import DeltaCarrier
from millstream.plan.connectors import Carried
from tests.metrics.polling import poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def path(tmp_path: Path) -> str:
    made = str(tmp_path / "journal")
    journal.create(made, "orders", 1)
    with journal.producer(made, "orders") as producer:
        for n in range(50):
            producer.send({"id": n})
    return made


def job(path: str, folder: Path) -> ms.Job:
    """The first orders are in the first of three epochs: the others have nothing for their table."""
    made = ms.Job("orders", checkpoint=str(folder / "checkpoint"), parallelism=1)
    orders = made.stream(journal.source("orders", path=path, max_rows_per_epoch=20), "id INT")
    orders.to(delta.sink(str(folder / "orders")))
    orders.where("id < 10").to(delta.sink(str(folder / "first")))
    return made


def test_rows_and_epochs(path: str, tmp_path: Path, spark: SparkSession) -> None:
    run = job(path, tmp_path).start(ms.available_now(), spark=spark)
    run.wait()
    now = run.metrics()
    assert (now.sink("orders").rows, now.sink("first").rows) == (50, 10)
    assert (now.sink("orders").prepared, now.sink("orders").published) == (2, 2)
    assert (now.sink("first").prepared, now.sink("first").published) == (2, 2), "readers see all there is of it"
    assert DeltaTable(str(tmp_path / "orders")).count() == 50


def test_an_epoch_is_published_when_it_has_arrived(
    path: str, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table is slow with the second epoch."""
    original, go_on = DeltaCarrier.carry, threading.Event()

    def carry(self: DeltaCarrier, epoch: int, records: Iterable[Carried]) -> None:
        assert epoch == 0 or go_on.wait(60)
        original(self, epoch, records)

    monkeypatch.setattr(DeltaCarrier, "carry", carry)
    run = job(path, tmp_path).start(ms.micro_batch("10 ms"), spark=spark)
    try:
        poll(run, lambda now: now.sink("first").published == 2)
        assert (run.metrics().sink("orders").prepared, run.metrics().sink("orders").published) == (2, 0)
        assert DeltaTable(str(tmp_path / "orders")).count() == 20
        go_on.set()
        poll(run, lambda now: now.sink("orders").published == 2)
        assert DeltaTable(str(tmp_path / "orders")).count() == 50
    finally:
        go_on.set()
        run.stop()
